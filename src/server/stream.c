/* SPDX-License-Identifier: MIT */
/*
 * server/stream.c -- readers of the stream: they come, batches are made for them, they go.
 *
 * A reader of all changes that comes back with Last-Event-ID goes on from the ring; when that is
 * too old (or from another life of the server, or of another kind) it gets `event: reset` and
 * should read its lists again.  A slow reader skips the same way: it costs no buffer.  The other
 * kinds keep nothing for readers that left: with an id they always begin with `reset`.
 *
 * Nothing is noted without a reader; for readers of all changes, a minute after the last one left.
 */
#include "server/stream.h"

#include "base/clock.h"
#include "server/handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PING_MS     15000
#define MEMORY_MS   60000 /* notes are taken for this long after the last reader left */
#define STREAMS_MAX 256

const struct notes_bounds stream_bounds[STREAM_KINDS] = {
    [STREAM_ALL] = {"",         100,  1, 1000, false},
    [STREAM_BRIEF] = {"brief-",   1000, 0, 12,   true },
    [STREAM_WATCHED] = {"watched-", 100,  1, 1000, false},
};

struct streams *streams_create(pawl_server *s)
{
    struct streams *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->srv = s;
    t->until_ms = INT64_MAX;
    pthread_mutex_init(&t->lock, NULL);
    map_init(&t->watched[0]);
    map_init(&t->watched[1]);
    for (size_t i = 0; i < STREAM_KINDS; i++)
        notes_init(&t->notes[i], &stream_bounds[i]);
    return t;
}

void streams_destroy(struct streams *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < STREAM_KINDS; i++)
        notes_deinit(&t->notes[i]);
    map_deinit(&t->watched[0]);
    map_deinit(&t->watched[1]);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- Notes: any thread -------------------------------------------------------------- */

/* An instance is watched under its own name and as a child, whose id is PARENT:REST. */
static bool is_watched(const struct streams *t, const pawl_change *c)
{
    if (c->queue.len)
        return map_gets(&t->watched[1], c->queue);
    if (!t->watched[0].count)
        return false;
    if (map_gets(&t->watched[0], c->instance))
        return true;
    for (size_t i = 1; i < c->instance.len; i++)
        if (c->instance.ptr[i] == ':' && map_gets(&t->watched[0], (pawl_str){c->instance.ptr, i}))
            return true;
    return false;
}

/* Under the lock. */
static bool note_watched(struct streams *t, const pawl_change *changes, size_t count)
{
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_watched(t, &changes[i]))
            continue;
        notes_take(&t->notes[STREAM_WATCHED], &changes[i]);
        seen++;
    }
    return seen && notes_count(&t->notes[STREAM_WATCHED], seen);
}

static bool note_names(struct notes *t, const pawl_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (notes_want(t, &changes[i]))
            notes_take(t, &changes[i]);
    return notes_count(t, count);
}

static bool is_on(const struct streams *t, enum stream_kind kind)
{
    return atomic_load_explicit(&t->notes[kind].on, memory_order_relaxed);
}

/* Is there anything but counting to do? */
static bool has_names(const struct streams *t, const pawl_change *changes, size_t count)
{
    if (is_on(t, STREAM_ALL) || is_on(t, STREAM_WATCHED))
        return true;
    for (size_t i = 0; i < count; i++)
        if (notes_want(&t->notes[STREAM_BRIEF], &changes[i]))
            return true;
    return false;
}

void streams_note(struct streams *t, const pawl_change *changes, size_t count)
{
    bool first = false, brief = is_on(t, STREAM_BRIEF);
    if (!brief && !is_on(t, STREAM_ALL) && !is_on(t, STREAM_WATCHED))
        return;
    if (has_names(t, changes, count)) {
        pthread_mutex_lock(&t->lock);
        if (is_on(t, STREAM_ALL))
            first |= note_names(&t->notes[STREAM_ALL], changes, count);
        if (brief)
            first |= note_names(&t->notes[STREAM_BRIEF], changes, count);
        if (is_on(t, STREAM_WATCHED))
            first |= note_watched(t, changes, count);
        pthread_mutex_unlock(&t->lock);
    } else {
        first = notes_count(&t->notes[STREAM_BRIEF], count);
    }
    if (first)
        loop_wake(t->srv);
}

/* ---- Batches: the loop ---------------------------------------------------------------- */

/* Any of them may be gone afterwards. */
static void rouse(struct streams *t, bool (*who)(const struct stream *r, enum stream_kind kind),
                  enum stream_kind kind)
{
    for (struct stream *r = t->readers, *next; r; r = next) {
        next = r->next;
        if (who(r, kind))
            httpd_rouse(r->c->conn);
    }
}

static bool is_of(const struct stream *r, enum stream_kind kind)
{
    return r->kind == kind;
}

static bool is_any(const struct stream *r, enum stream_kind kind)
{
    (void)kind;
    return r;
}

static void turn_off(struct streams *t, enum stream_kind kind)
{
    struct notes *n = &t->notes[kind];
    atomic_store(&n->on, false);
    pthread_mutex_lock(&t->lock);
    notes_drop(n);
    atomic_store(&n->count, 0);
    atomic_store(&n->some, false);
    pthread_mutex_unlock(&t->lock);
    n->last += NOTES_RING; /* a reader that comes back later missed something */
}

/* When the batch of this kind is due; INT64_MAX: there is nothing to tell. */
static int64_t tick_kind(struct streams *t, enum stream_kind kind, int64_t now_ms)
{
    struct notes *n = &t->notes[kind];
    if (!atomic_load(&n->some))
        return INT64_MAX;
    if (now_ms < n->batch_at_ms)
        return n->batch_at_ms;
    if (notes_batch(n, &t->lock, t->srv->started_ms, now_ms))
        rouse(t, is_of, kind);
    return INT64_MAX;
}

static void ping_all(struct streams *t, int64_t now_ms)
{
    t->ping_at_ms = now_ms + PING_MS;
    for (struct stream *r = t->readers; r; r = r->next)
        r->ping = true;
    rouse(t, is_any, 0);
}

int64_t streams_tick(struct streams *t, int64_t now_ms)
{
    int64_t at = INT64_MAX;
    for (enum stream_kind k = 0; k < STREAM_KINDS; k++) {
        int64_t due = is_on(t, k) ? tick_kind(t, k, now_ms) : INT64_MAX;
        at = due < at ? due : at;
    }
    if (t->count && now_ms >= t->ping_at_ms)
        ping_all(t, now_ms);
    if (now_ms >= t->until_ms) {
        turn_off(t, STREAM_ALL);
        t->until_ms = INT64_MAX;
    }
    if (t->count && t->ping_at_ms < at)
        at = t->ping_at_ms;
    return t->until_ms < at ? t->until_ms : at;
}

void streams_end(struct streams *t)
{
    for (struct stream *r = t->readers; r; r = r->next)
        r->ended = true;
    rouse(t, is_any, 0);
}

void streams_end_one(struct call *c)
{
    c->stream->ended = true;
    httpd_rouse(c->conn);
}

/* ---- Coming and going --------------------------------------------------------------------- */

/* From where: the number of "EPOCH-NUMBER", when it is of this life. */
static void set_start(struct stream *r)
{
    struct streams *t = r->c->srv->streams;
    const char *id = r->c->given.last_event_id;
    uint64_t last = t->notes[r->kind].last;
    unsigned long long life = 0, number = 0;
    r->want = last + 1;
    if (!id)
        return;
    if (r->kind != STREAM_ALL || sscanf(id, "%llx-%llu", &life, &number) != 2 ||
        life != (unsigned long long)t->srv->started_ms || number > last)
        r->reset = true;
    else
        r->want = number + 1;
}

/* One more reader of the name; NULL: none is given, or no memory. */
static struct watched_name *watch(struct streams *t, bool is_queue, const char *text)
{
    pawl_str name = pawl_s(text ? text : "");
    if (!name.len)
        return NULL;
    pthread_mutex_lock(&t->lock);
    struct watched_name *x = map_gets(&t->watched[is_queue], name);
    if (!x && (x = calloc(1, sizeof(*x) + name.len + 1))) {
        memcpy((char *)(x + 1), name.ptr, name.len);
        x->name = (pawl_str){(char *)(x + 1), name.len};
        if (!map_puts(&t->watched[is_queue], x->name, x)) {
            free(x);
            x = NULL;
        }
    }
    if (x)
        x->readers++;
    pthread_mutex_unlock(&t->lock);
    return x;
}

static void unwatch(struct streams *t, bool is_queue, struct watched_name *x)
{
    if (!x)
        return;
    pthread_mutex_lock(&t->lock);
    if (--x->readers == 0) {
        map_removes(&t->watched[is_queue], x->name);
        free(x);
    }
    pthread_mutex_unlock(&t->lock);
}

/* What the query asks for; false: answered. */
static bool read_kind(struct call *c, struct stream *r)
{
    const char *instance = call_param(c, "instance"), *queue = call_param(c, "queue");
    bool brief = false;
    if (!call_flag(c, "brief", &brief) || (queue && !guard_queue(c, queue)))
        return false;
    if (instance && c->caller.queues_only) {
        answer_error(c, 403, "forbidden", "the token is for queues only: leave out instance");
        return false;
    }
    if ((instance && !*instance) || (queue && !*queue) || (brief && (instance || queue))) {
        answer_error(c, 400, "invalid", "%s",
                     brief ? "brief is about all changes: leave out instance and queue"
                           : "instance and queue are names, and not empty");
        return false;
    }
    r->kind = brief ? STREAM_BRIEF : instance || queue ? STREAM_WATCHED : STREAM_ALL;
    r->instance = watch(c->srv->streams, false, instance);
    r->queue = watch(c->srv->streams, true, queue);
    if ((!instance || r->instance) && (!queue || r->queue))
        return true;
    answer_error(c, 503, "no_memory", "out of memory");
    return false;
}

static void join(struct streams *t, struct stream *r)
{
    r->next = t->readers;
    t->readers = r;
    if (t->count++ == 0)
        t->ping_at_ms = clock_mono_ms() + PING_MS;
    t->counts[r->kind]++;
    if (r->kind == STREAM_ALL)
        t->until_ms = INT64_MAX;
    atomic_store(&t->notes[r->kind].on, true);
}

void handle_stream(struct call *c)
{
    struct streams *t = c->srv->streams;
    struct stream *r = t->count < STREAMS_MAX ? calloc(1, sizeof(*r)) : NULL;
    if (!r) {
        answer_error(c, 429, "too_many", "there are %zu readers already", t->count);
        return;
    }
    r->c = c;
    if (!read_kind(c, r)) {
        unwatch(t, false, r->instance);
        unwatch(t, true, r->queue);
        free(r);
        return;
    }
    set_start(r);
    join(t, r);
    c->stream = r;
}

void streams_leave(struct call *c)
{
    struct streams *t = c->srv->streams;
    struct stream *r = c->stream;
    struct stream **at = &t->readers;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    t->count--;
    if (--t->counts[r->kind] == 0) {
        if (r->kind == STREAM_ALL)
            t->until_ms = clock_mono_ms() + MEMORY_MS;
        else
            turn_off(t, r->kind);
    }
    unwatch(t, false, r->instance);
    unwatch(t, true, r->queue);
    free(r);
    c->stream = NULL;
}
