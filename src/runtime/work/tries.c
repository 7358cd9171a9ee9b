/* SPDX-License-Identifier: MIT */
/* runtime/work/tries.c -- see tries.h.  Called by attempt.c, lease.c, query.c and jobs.c. */
#include "runtime/work/tries.h"

#include "pawl/json.h"
#include "runtime/work/jobs.h"

#include <stdlib.h>
#include <string.h>

struct try_made {
    uint32_t n;
    int64_t from_ms, to_ms;
    char *worker, *error; /* owned; NULL: none */
};

/* A call, in the list of all by its last attempt. */
struct tried_call {
    uint64_t work_id, uid;
    char *instance, *activity; /* owned; NULL: no memory */
    struct tried_call *older, *newer;
    size_t count;
    struct try_made made[TRIES_KEPT]; /* oldest first */
};

static void free_try(struct try_made *t)
{
    free(t->worker);
    free(t->error);
}

static void unlink_call(struct tries *t, struct tried_call *c)
{
    *(c->older ? &c->older->newer : &t->oldest) = c->newer;
    *(c->newer ? &c->newer->older : &t->newest) = c->older;
}

static void link_newest(struct tries *t, struct tried_call *c)
{
    c->older = t->newest;
    c->newer = NULL;
    *(t->newest ? &t->newest->newer : &t->oldest) = c;
    t->newest = c;
}

static void forget(struct tries *t, struct tried_call *c)
{
    map_remove(&t->calls, c->work_id);
    unlink_call(t, c);
    for (size_t i = 0; i < c->count; i++)
        free_try(&c->made[i]);
    free(c->instance);
    free(c->activity);
    free(c);
}

/* The entry of a call, which is now the newest; NULL: out of memory. */
static struct tried_call *call_of(struct tries *t, const pawl_work *w)
{
    struct tried_call *c = map_get(&t->calls, w->id);
    if (c) {
        unlink_call(t, c);
        link_newest(t, c);
        return c;
    }
    if (t->calls.count >= TRIES_CALLS)
        forget(t, t->oldest);
    c = calloc(1, sizeof(*c));
    if (!c || !map_put(&t->calls, w->id, c)) {
        free(c);
        return NULL;
    }
    c->work_id = w->id;
    c->uid = w->uid;
    c->instance = strndup(w->instance.ptr ? w->instance.ptr : "", w->instance.len);
    c->activity = strndup(w->name.ptr ? w->name.ptr : "", w->name.len);
    link_newest(t, c);
    return c;
}

/* The attempt `n` of it; a commit that failed brings the same one again. */
static struct try_made *try_of(struct tried_call *c, uint32_t n)
{
    if (c->count && c->made[c->count - 1].n == n) {
        free_try(&c->made[c->count - 1]);
    } else if (c->count == TRIES_KEPT) {
        free_try(&c->made[0]);
        memmove(&c->made[0], &c->made[1], (TRIES_KEPT - 1) * sizeof(c->made[0]));
    } else {
        c->count++;
    }
    return &c->made[c->count - 1];
}

/* The beginning of a text, cut between characters; NULL: it is empty, or out of memory. */
static char *cut(pawl_str text)
{
    size_t n = text.len < TRIES_TEXT ? text.len : TRIES_TEXT;
    while (n && n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
        n--;
    return n ? strndup(text.ptr, n) : NULL;
}

void tries_note(pawl_runtime *rt, const pawl_work *w, int64_t started_ms, pawl_str worker,
                pawl_str error)
{
    struct tries *t = jobs_tries(rt);
    uint32_t n = w->attempt + 1;
    pthread_mutex_lock(&t->lock);
    struct tried_call *c = call_of(t, w);
    if (c)
        *try_of(c, n) = (struct try_made){n, started_ms, rt->now_ms, cut(worker), cut(error)};
    pthread_mutex_unlock(&t->lock);
}

static void put_time(pawl_json *j, const char *key, int64_t ms)
{
    if (!ms)
        return;
    pawl_json_key(j, key);
    pawl_json_num(j, ms);
}

static void put_text(pawl_json *j, const char *key, const char *text)
{
    if (!text)
        return;
    pawl_json_key(j, key);
    pawl_json_cstr(j, text);
}

static void put_try(pawl_json *j, const struct try_made *t)
{
    pawl_json_object(j);
    pawl_json_key(j, "n");
    pawl_json_num(j, t->n);
    put_time(j, "from", t->from_ms);
    put_time(j, "to", t->to_ms);
    put_text(j, "worker", t->worker);
    put_text(j, "error", t->error);
    pawl_json_end(j);
}

pawl_str tries_text(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem)
{
    struct tries *t = jobs_tries(rt);
    pawl_str text = {0};
    pthread_mutex_lock(&t->lock);
    const struct tried_call *c = map_get(&t->calls, work_id);
    if (c) {
        pawl_json *j = pawl_json_new(mem);
        pawl_json_array(j);
        for (size_t i = 0; i < c->count; i++)
            put_try(j, &c->made[i]);
        pawl_json_end(j);
        text = pawl_json_done(j);
    }
    pthread_mutex_unlock(&t->lock);
    return text;
}

void tries_each(pawl_runtime *rt, pawl_retry_fn *fn, void *arg)
{
    struct tries *t = jobs_tries(rt);
    pthread_mutex_lock(&t->lock);
    for (const struct tried_call *c = t->newest; c; c = c->older) {
        const struct try_made *last = &c->made[c->count - 1];
        fn(arg, &(pawl_retry){.uid = c->uid,
                              .instance = pawl_s(c->instance),
                              .activity = pawl_s(c->activity),
                              .attempts = last->n,
                              .failed_ms = last->to_ms,
                              .error = pawl_s(last->error)});
    }
    pthread_mutex_unlock(&t->lock);
}

void tries_forget(pawl_runtime *rt, uint64_t work_id)
{
    struct tries *t = jobs_tries(rt);
    pthread_mutex_lock(&t->lock);
    struct tried_call *c = map_get(&t->calls, work_id);
    if (c)
        forget(t, c);
    pthread_mutex_unlock(&t->lock);
}

void tries_open(struct tries *t)
{
    pthread_mutex_init(&t->lock, NULL);
    map_init(&t->calls);
}

void tries_close(struct tries *t)
{
    while (t->oldest)
        forget(t, t->oldest);
    map_deinit(&t->calls);
    pthread_mutex_destroy(&t->lock);
}
