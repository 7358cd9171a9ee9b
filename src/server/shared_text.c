/* SPDX-License-Identifier: MIT */
/* server/shared_text.c -- see shared_text.h.  Called by overview.c. */
#include "server/shared_text.h"

#include <pthread.h>
#include <stdlib.h>

struct shared_text {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t rest;  /* it is not being made any more */
    bool making;
    uint64_t begun_changes; /* of the one that is made */
    int64_t begun_ms;
    pawl_mem *mem; /* of the text */
    pawl_str text; /* none: NULL */
    uint64_t as_of, made;
    int64_t until_ms, still_until_ms;
};

static bool lasts(const struct shared_text *t, int64_t now_ms, uint64_t changes)
{
    return now_ms < (changes == t->as_of ? t->still_until_ms : t->until_ms);
}

static struct shared_view view_of(const struct shared_text *t, pawl_str text, uint64_t changes)
{
    return (struct shared_view){text, t->as_of, changes == t->as_of, t->made};
}

bool shared_look(struct shared_text *t, int64_t now_ms, uint64_t changes, pawl_mem *mem,
                 struct shared_view *ret)
{
    pthread_mutex_lock(&t->lock);
    while (t->making && !t->text.ptr)
        pthread_cond_wait(&t->rest, &t->lock);
    bool has = t->text.ptr && (t->making || lasts(t, now_ms, changes));
    if (has) {
        *ret = view_of(t, pawl_mem_dup(mem, t->text), changes);
    } else {
        t->making = true;
        t->begun_changes = changes;
        t->begun_ms = now_ms;
    }
    pthread_mutex_unlock(&t->lock);
    return has;
}

static void end_making(struct shared_text *t)
{
    t->making = false;
    pthread_cond_broadcast(&t->rest);
}

void shared_put(struct shared_text *t, pawl_str text, uint64_t as_of, int64_t lasts_ms,
                struct shared_view *ret)
{
    pthread_mutex_lock(&t->lock);
    pawl_mem_reset(t->mem);
    t->text = pawl_mem_dup(t->mem, text);
    t->as_of = as_of;
    t->until_ms = t->begun_ms + lasts_ms;
    t->still_until_ms = t->begun_ms + (lasts_ms < SHARED_STILL_MS ? SHARED_STILL_MS : lasts_ms);
    t->made++;
    *ret = view_of(t, text, t->begun_changes);
    end_making(t);
    pthread_mutex_unlock(&t->lock);
}

void shared_give_up(struct shared_text *t)
{
    pthread_mutex_lock(&t->lock);
    end_making(t);
    pthread_mutex_unlock(&t->lock);
}

struct shared_text *shared_create(void)
{
    struct shared_text *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->mem = pawl_mem_new();
    if (!t->mem) {
        free(t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->rest, NULL);
    return t;
}

void shared_destroy(struct shared_text *t)
{
    if (!t)
        return;
    pawl_mem_free(t->mem);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->rest);
    free(t);
}
