/* SPDX-License-Identifier: MIT */
/*
 * server/tokens.c -- the tokens as the server knows them, and the open calls under each.
 *
 * Tokens are in a file (token_file.c) or in a store (token_store.c).
 * A changed file is seen at the next request, a change in a store within a few seconds; while a call under a token waits or
 * listens, within a second, so that revoking reaches open streams, waits and pops.  A file
 * that cannot be read is trouble (503), not a server without tokens.  The whole hash
 * is compared in constant time; an unknown id is compared with a dummy.
 *
 * [loop]; called by guard.c, server.c and server_loop.c.
 */
#include "server/token_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_MS 1000

struct tokens {
    char *file;                /* owned */
    struct token_watch *watch; /* of a store; NULL: it is a file */
    uint64_t watched;          /* the watch's version of the list */
    const struct logger *log;
    struct stat seen;
    pawl_mem *mem;
    struct token_list list;
    bool unreadable; /* said so already */
    bool coming;     /* [loop] they are too old, and being read */
    pawl_server *srv;
    atomic_bool waits;     /* there are some of the last kind */
    atomic_bool told;      /* by the watch: they go on */
    struct call *unjudged; /* those, linked by await_next */
    pawl_error trouble;
    uint64_t version;        /* counts the times it was read */
    struct call *open_calls; /* calls with a token that wait or listen, linked by token_next */
    uint64_t judged; /* the version they were last looked up in; requests read the file, too */
    int64_t look_ms; /* mono: the next look at the file for these calls */
};

/* In the thread of the watch. */
static void on_look(void *user)
{
    struct tokens *t = user;
    atomic_store(&t->told, true);
    if (atomic_load(&t->waits))
        loop_wake(t->srv);
}

struct tokens *tokens_open(const char *file, const struct logger *log, pawl_server *s)
{
    struct tokens *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->file = file ? strdup(file) : NULL;
    t->log = log;
    t->srv = s;
    t->mem = pawl_mem_new();
    if (!file || !token_store_is(file) || (t->watch = token_watch_open(file, on_look, t)))
        return t;
    tokens_close(t);
    return NULL;
}

void tokens_close(struct tokens *t)
{
    if (!t)
        return;
    token_watch_close(t->watch);
    free(t->file);
    pawl_mem_free(t->mem);
    free(t);
}

/* ---- The file --------------------------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void note_trouble(struct tokens *t, bool failed)
{
    if (failed && !t->unreadable)
        log_error(t->log, "tokens", "no caller with a token is let in", "why=\"%s\"",
                  t->trouble.text);
    t->unreadable = failed;
}

static void read_again(struct tokens *t)
{
    pawl_mem_reset(t->mem);
    t->version++;
    note_trouble(t, token_file_read(t->file, t->mem, &t->list, &t->trouble) != PAWL_OK);
    if (t->list.bad)
        log_warn(t->log, "tokens", "a line is no token; going on without it",
                 "file=\"%s\" line=%llu", t->file, (unsigned long long)t->list.bad);
}

static void look_at_store(struct tokens *t)
{
    uint64_t before = t->watched;
    pawl_status rc = token_watch_look(t->watch, t->mem, &t->list, &t->watched, &t->trouble);
    t->coming = rc == PAWL_EMPTY;
    if (!t->coming)
        note_trouble(t, rc != PAWL_OK);
    t->version += t->watched != before;
}

static void look(struct tokens *t)
{
    struct stat st = {0};
    if (t->watch) {
        look_at_store(t);
        return;
    }
    if (!t->file || (stat(t->file, &st) != 0 && errno == ENOENT)) {
        t->version += t->list.count > 0 || t->unreadable;
        t->list = (struct token_list){0};
        t->unreadable = false;
        memset(&t->seen, 0, sizeof(t->seen));
    } else if (t->unreadable || !st.st_ino || !is_same(&st, &t->seen)) {
        t->seen = st;
        read_again(t);
    }
}

void tokens_look_again(struct tokens *t)
{
    memset(&t->seen, 0, sizeof(t->seen));
    if (t->watch)
        token_watch_again(t->watch);
    t->look_ms = 0;
}

bool tokens_exist(struct tokens *t, pawl_error *reterr)
{
    if (t->watch)
        token_watch_wait(t->watch);
    look(t);
    if (t->unreadable || t->coming)
        *reterr = t->trouble;
    return t->list.count > 0;
}

/* ---- One token ---------------------------------------------------------------------------- */

static bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

static const struct token *find(const struct tokens *t, const char *id, size_t n)
{
    for (size_t i = 0; i < t->list.count; i++)
        if (strlen(t->list.items[i].info.id) == n && memcmp(t->list.items[i].info.id, id, n) == 0)
            return &t->list.items[i];
    return NULL;
}

enum tokens_answer tokens_check(struct tokens *t, const char *token, struct call *c,
                                enum token_scope *ret)
{
    static const struct token nobody;
    uint8_t hash[32];
    look(t);
    *ret = SCOPE_PUBLIC;
    if (t->coming)
        return TOKENS_COMING;
    if (t->unreadable)
        return TOKENS_UNREADABLE;
    sha256(token, strlen(token), hash);
    const struct token *found = NULL;
    if (strncmp(token, "pawl_", 5) == 0)
        found = find(t, token + 5, strcspn(token + 5, "_"));
    bool same = same_bytes(hash, found ? found->hash : nobody.hash, sizeof(hash));
    if (!same || !found)
        return TOKENS_READ;
    memcpy(c->caller.token, found->info.id, sizeof(c->caller.token));
    c->caller.queues = pawl_mem_dup(c->mem, found->info.queues);
    c->caller.queues_only = c->caller.queues.len && !found->info.api;
    *ret = token_scope(found->info.scope);
    return TOKENS_READ;
}

/* ---- Calls whose token cannot be judged yet ------------------------------------------------------- */

void tokens_await(struct call *c)
{
    struct tokens *t = c->srv->tokens;
    c->caller.awaits_tokens = true;
    c->caller.await_next = t->unjudged;
    t->unjudged = c;
    atomic_store(&t->waits, true);
}

void tokens_await_no_more(struct call *c)
{
    struct tokens *t = c->srv->tokens;
    struct call **at = &t->unjudged;
    while (*at != c)
        at = &(*at)->caller.await_next;
    *at = c->caller.await_next;
    c->caller.awaits_tokens = false;
    atomic_store(&t->waits, t->unjudged != NULL);
}

void tokens_go_on(struct tokens *t)
{
    if (!t->unjudged || !atomic_exchange(&t->told, false))
        return;
    for (struct call *c = t->unjudged, *next; c; c = next) {
        next = c->caller.await_next;
        call_unpark(c); /* it is judged, or waits again: at the front of the list */
    }
}

/* ---- Open calls under a token ------------------------------------------------------------------- */

void tokens_hold(struct call *c)
{
    struct tokens *t = c->srv->tokens;
    if (!c->caller.token[0] || c->caller.on_token)
        return;
    c->caller.on_token = true;
    c->caller.prev = NULL;
    c->caller.next = t->open_calls;
    if (t->open_calls)
        t->open_calls->caller.prev = c;
    t->open_calls = c;
}

void tokens_let_go(struct call *c)
{
    struct tokens *t = c->srv->tokens;
    if (!c->caller.on_token)
        return;
    c->caller.on_token = false;
    *(c->caller.prev ? &c->caller.prev->caller.next : &t->open_calls) = c->caller.next;
    if (c->caller.next)
        c->caller.next->caller.prev = c->caller.prev;
}

int64_t tokens_tick(struct tokens *t, int64_t now_ms)
{
    if (!t->open_calls)
        return INT64_MAX;
    if (now_ms < t->look_ms)
        return t->look_ms;
    t->look_ms = now_ms + LOOK_MS;
    look(t);
    if (t->version == t->judged || t->unreadable || t->coming)
        return t->look_ms;
    t->judged = t->version;
    for (struct call *c = t->open_calls, *next; c; c = next) {
        next = c->caller.next;
        if (!find(t, c->caller.token, strlen(c->caller.token)))
            call_revoke(c); /* `c` may be freed now */
    }
    return t->look_ms;
}
