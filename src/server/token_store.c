/* SPDX-License-Identifier: MIT */
/*
 * server/token_store.c -- tokens in a store: made, listed and revoked there, and watched by a
 * server.
 *
 * A store behind a network may hang, and the loop must not: so a thread of its own reads, and the
 * loop never waits for it.  What it read is used for a second as it is, for FRESH_MS while it reads
 * again, and no longer: a revoked token is let in for at most that time, also when the store is
 * away.
 *
 * Called by token_file.c (commands) and tokens.c (the server).
 */
#include "server/token_store.h"

#include "base/clock.h"
#include "base/deadline.h"
#include "base/limits.h"
#include "base/vec.h"
#include "pawl/provider.h"
#include "tables/schemes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS 1000 /* older ones are read again */
#define FRESH_MS 5000 /* older ones are not used */
#define WAIT_MS  3000 /* how long a server that starts waits for them */

bool token_store_is(const char *place)
{
    struct store_place p;
    return store_place_read(place, &p) && p.kind == PLACE_SERVER;
}

/* ---- One look, one change -------------------------------------------------------------- */

static pawl_store *open_store(const char *url, bool read_only, pawl_error *reterr)
{
    pawl_store *s = pawl_store_open(
        url, PAWL_STORE_OPTS(.read_only = read_only, .now_ms = clock_wall_ms()), reterr);
    if (!s || (s->ops->upkeep && s->ops->upkeep->read_tokens))
        return s;
    s->ops->close(s);
    error_set(reterr, PAWL_UNSUPPORTED, "this store keeps no tokens; name a file");
    return NULL;
}

static pawl_status read_all(pawl_store *s, pawl_mem *mem, struct token_list *ret,
                            pawl_error *reterr)
{
    pawl_text_list lines;
    struct token t;
    *ret = (struct token_list){0};
    pawl_status rc = s->ops->upkeep->read_tokens(s, mem, &lines, reterr);
    for (size_t i = 0; rc == PAWL_OK && i < lines.count; i++) {
        if (token_line_read(mem, pawl_mem_dup(mem, lines.items[i]).ptr, &t))
            *list_add(mem, ret) = t;
        else if (!ret->bad)
            ret->bad = i + 1;
    }
    return rc;
}

pawl_status token_store_add(const char *url, const struct token *t, pawl_error *reterr)
{
    pawl_error room = {.status = PAWL_UNAVAILABLE}, *err = reterr ? reterr : &room;
    pawl_store *s = open_store(url, false, err);
    if (!s)
        return err->status;
    pawl_mem *mem = pawl_mem_new();
    pawl_status rc =
        s->ops->upkeep->put_token(s, (pawl_str){(const char *)t->hash, sizeof(t->hash)},
                                  token_line(mem, t), t->info.created_ms, err);
    pawl_mem_free(mem);
    s->ops->close(s);
    return rc;
}

pawl_status token_store_list(const char *url, pawl_mem *mem, struct token_list *ret,
                             pawl_error *reterr)
{
    pawl_error room = {.status = PAWL_UNAVAILABLE}, *err = reterr ? reterr : &room;
    *ret = (struct token_list){0};
    pawl_store *s = open_store(url, true, err);
    if (!s) /* a store that was never made has none */
        return err->status == PAWL_NOT_FOUND ? PAWL_OK : err->status;
    pawl_status rc = read_all(s, mem, ret, err);
    s->ops->close(s);
    return rc;
}

static pawl_status drop(pawl_store *s, const char *id, pawl_mem *mem, pawl_error *err)
{
    struct token_list all;
    pawl_status rc = read_all(s, mem, &all, err);
    for (size_t i = 0; rc == PAWL_OK && i < all.count; i++)
        if (strcmp(all.items[i].info.id, id) == 0)
            return s->ops->upkeep->drop_token(
                s, (pawl_str){(const char *)all.items[i].hash, sizeof(all.items[i].hash)}, err);
    if (rc != PAWL_OK)
        return rc;
    error_set(err, PAWL_NOT_FOUND, "there is no token '%s'", id);
    return PAWL_NOT_FOUND;
}

pawl_status token_store_revoke(const char *url, const char *id, pawl_error *reterr)
{
    pawl_error room = {.status = PAWL_UNAVAILABLE}, *err = reterr ? reterr : &room;
    pawl_store *s = open_store(url, false, err);
    if (!s)
        return err->status;
    pawl_mem *mem = pawl_mem_new();
    pawl_status rc = drop(s, id, mem, err);
    pawl_mem_free(mem);
    s->ops->close(s);
    return rc;
}

/* ---- The thread of a server -------------------------------------------------------------- */

struct token_watch {
    char *url; /* owned */
    void (*on_look)(void *user);
    void *user;
    pthread_t thread;
    pawl_store *store; /* of the thread; NULL: not open */
    pthread_mutex_t lock;
    pthread_cond_t wake, told;
    /* under the lock */
    bool stop, wanted;
    int64_t good_ms; /* mono: when the last good look began; 0: never */
    uint64_t version;
    pawl_mem *mem; /* of list */
    struct token_list list;
    pawl_error trouble; /* of the last look */
    bool troubled;
};

static bool same_token(const struct token *a, const struct token *b)
{
    return memcmp(a->hash, b->hash, sizeof(a->hash)) == 0 && strcmp(a->info.id, b->info.id) == 0 &&
           strcmp(a->info.scope, b->info.scope) == 0 && a->info.api == b->info.api &&
           pawl_str_eq(a->info.queues, b->info.queues);
}

static bool same_list(const struct token_list *a, const struct token_list *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++)
        if (!same_token(&a->items[i], &b->items[i]))
            return false;
    return a->count == b->count;
}

/* Without the lock; then what was found is published under it. */
static void look_once(struct token_watch *w)
{
    pawl_mem *mem = pawl_mem_new(), *old = mem;
    struct token_list list = {0};
    pawl_error err = {.status = PAWL_UNAVAILABLE};
    int64_t began_ms = clock_mono_ms();
    if (!w->store)
        w->store = open_store(w->url, true, &err);
    bool good = w->store && read_all(w->store, mem, &list, &err) == PAWL_OK;
    pthread_mutex_lock(&w->lock);
    w->troubled = !good;
    w->trouble = err;
    if (good) {
        w->good_ms = began_ms;
        w->version += !w->version || !same_list(&list, &w->list);
        w->list = list;
        old = w->mem;
        w->mem = mem;
    }
    pthread_cond_broadcast(&w->told);
    pthread_mutex_unlock(&w->lock);
    pawl_mem_free(old);
    w->on_look(w->user);
}

static void *watch_thread(void *arg)
{
    struct token_watch *w = arg;
    for (;;) {
        pthread_mutex_lock(&w->lock);
        while (!w->wanted && !w->stop)
            pthread_cond_wait(&w->wake, &w->lock);
        bool stop = w->stop;
        w->wanted = false;
        pthread_mutex_unlock(&w->lock);
        if (stop)
            return NULL;
        look_once(w);
    }
}

struct token_watch *token_watch_open(const char *url, void (*told)(void *user), void *user)
{
    struct token_watch *w = calloc(1, sizeof(*w));
    char *copy = strdup(url);
    if (w && copy) {
        w->url = copy;
        w->on_look = told;
        w->user = user;
        w->mem = pawl_mem_new();
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->wake, NULL);
        deadline_cond_init(&w->told);
        if (pthread_create(&w->thread, NULL, watch_thread, w) == 0)
            return w;
        pawl_mem_free(w->mem);
    }
    free(copy);
    free(w);
    return NULL;
}

void token_watch_close(struct token_watch *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    if (w->store)
        w->store->ops->close(w->store);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->told);
    pawl_mem_free(w->mem);
    free(w->url);
    free(w);
}

void token_watch_again(struct token_watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->good_ms = 0;
    pthread_mutex_unlock(&w->lock);
}

static bool is_fresh(const struct token_watch *w)
{
    return w->good_ms && clock_mono_ms() - w->good_ms <= FRESH_MS;
}

/* Under the lock. */
static void want_look(struct token_watch *w)
{
    w->wanted = true;
    pthread_cond_signal(&w->wake);
}

void token_watch_wait(struct token_watch *w)
{
    struct timespec until = deadline_in(WAIT_MS);
    pthread_mutex_lock(&w->lock);
    want_look(w);
    while (!is_fresh(w) && !w->troubled)
        if (pthread_cond_timedwait(&w->told, &w->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&w->lock);
}

static void copy_list(const struct token_list *from, pawl_mem *mem, struct token_list *ret)
{
    *ret = (struct token_list){.bad = from->bad};
    for (size_t i = 0; i < from->count; i++) {
        struct token t = from->items[i];
        t.info.queues = pawl_mem_dup(mem, t.info.queues);
        t.info.name = pawl_mem_dup(mem, t.info.name);
        *list_add(mem, ret) = t;
    }
}

pawl_status token_watch_look(struct token_watch *w, pawl_mem *mem, struct token_list *ret,
                             uint64_t *version, pawl_error *reterr)
{
    pthread_mutex_lock(&w->lock);
    if (!w->good_ms || clock_mono_ms() - w->good_ms > AGAIN_MS)
        want_look(w);
    bool fresh = is_fresh(w), troubled = w->troubled;
    if (fresh && w->version != *version) {
        pawl_mem_reset(mem);
        copy_list(&w->list, mem, ret);
        *version = w->version;
    }
    if (!fresh)
        error_set(reterr, PAWL_UNAVAILABLE, "cannot read the tokens: %s",
                  troubled ? w->trouble.text : "the store does not answer");
    pthread_mutex_unlock(&w->lock);
    return fresh ? PAWL_OK : troubled ? PAWL_UNAVAILABLE : PAWL_EMPTY;
}
