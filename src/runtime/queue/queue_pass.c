/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_pass.c -- queues over one pass: what is due, pops that wait, the commit.
 * [engine]
 *
 * A queue's row says when to look at it again, so a restart forgets nothing and an idle queue
 * costs nothing.  Every request on a queue also looks at its locks.
 */
#include "runtime/queue/queue_pass.h"

#include "base/limits.h"
#include "runtime/core/audience.h"
#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/queue/queue_answer.h"
#include "runtime/queue/queue_batch.h"
#include "runtime/queue/queue_bridge.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_handle.h"
#include "runtime/queue/queue_remove.h"
#include "runtime/queue/queue_take.h"
#include "store/store_queue.h"

#define DUE_AT_ONCE 100
#define PIECE       500
#define OPS_MAX     4096
#define BYTES_MAX   ((size_t)16 << 20)
#define TRIES_MAX   8

/* ---- Time ---------------------------------------------------------------------- */

static int64_t time_of(const pawl_queue_entry *e, pawl_entry_order order)
{
    return order == PAWL_ENTRIES_DELAYED ? e->visible_ms : e->expires_ms;
}

/* Delayed entries whose time has come, or entries past their ttl; *retnext is the
 * next such time. */
static pawl_status move_due(pawl_runtime *rt, struct cached_queue *s, pawl_entry_order order,
                            int64_t *retnext)
{
    pawl_entry_list list;
    pawl_error err = {0};
    pawl_entry_query query = {
        .qid = s->q->row.qid, .order = order, .limit = PIECE + 1, .heads = true};
    arena_reset(&rt->load_mem);
    if (store_query_entries(rt->store, &query, &rt->load_mem, &list, &err) != PAWL_OK)
        return queue_read_failed(rt, s, &err);
    struct queue_group *g = &rt->queue_cache->group;
    size_t i = 0;
    for (; i < list.count && i < PIECE && time_of(&list.items[i], order) <= rt->now_ms; i++)
        if (order == PAWL_ENTRIES_DELAYED)
            queue_promote(g, s->q, &list.items[i]);
        else
            queue_expire(g, s->q, &list.items[i]);
    *retnext = i < list.count ? time_of(&list.items[i], order) : 0;
    return PAWL_OK;
}

static bool is_past(int64_t at_ms, int64_t now_ms)
{
    return at_ms && at_ms <= now_ms;
}

/* Do what is due in a queue, up to a limit; the next pass does the rest. */
static pawl_status tick(pawl_runtime *rt, struct cached_queue *s)
{
    struct queue *q = s->q;
    struct queue_cache *d = rt->queue_cache;
    struct cached_queue *dead;
    pawl_status rc = PAWL_OK;
    if (q->row.qid && queue_may_bury(q))
        rc = cached_open(rt, queue_dead_letters(q, &rt->group_mem), &dead);
    if (!q->row.qid || rc != PAWL_OK)
        return rc;
    d->group.now_ms = rt->now_ms;
    int64_t before = q->row.due_ms;
    queue_tick(&d->group, q);
    if (!q->dirty && is_past(q->next_delayed_ms, rt->now_ms))
        rc = move_due(rt, s, PAWL_ENTRIES_DELAYED, &q->next_delayed_ms);
    if (rc == PAWL_OK && !q->dirty && is_past(q->next_expire_ms, rt->now_ms))
        rc = move_due(rt, s, PAWL_ENTRIES_EXPIRING, &q->next_expire_ms);
    if (rc != PAWL_OK)
        return rc;
    if (!q->dirty && queue_due_ms(q) != before) /* the row only had a guess: correct it */
        queue_touch(&d->group, q);
    if (is_past(q->next_delayed_ms, rt->now_ms) || is_past(q->next_expire_ms, rt->now_ms))
        d->look_due = true;
    return PAWL_OK;
}

/* Look at a queue that may be due.  False: it backs off, because its rows are damaged. */
static bool look_at(pawl_runtime *rt, pawl_str name)
{
    struct queue_cache *d = rt->queue_cache;
    struct cached_queue *s = cached_find(d, name);
    if (s && backs_off(rt, &s->due))
        return false;
    pawl_status rc = cached_open(rt, name, &s);
    if (rc == PAWL_OK)
        rc = tick(rt, s);
    if (rc == PAWL_CORRUPT) {
        s = cached_find(d, name);
        back_off_start(rt, &s->due);
    } else if (rc != PAWL_OK) {
        d->look_due = true;
    }
    if (s && s->q && queue_is_bound(s->q)) {
        d->again = true;
        return !backs_off(rt, &s->starts);
    }
    return rc != PAWL_CORRUPT;
}

static void look_due(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    pawl_queue_row_list list;
    pawl_error err = {0};
    d->look_due = false;
    if (backs_off(rt, &d->due))
        return;
    arena_reset(&rt->load_mem);
    if (store_due_queues(rt->store, rt->now_ms, DUE_AT_ONCE, &rt->load_mem, &list, &err) !=
        PAWL_OK) {
        d->look_due = queue_read_failed(rt, NULL, &err) != PAWL_CORRUPT;
        if (!d->look_due)
            back_off_start(rt, &d->due);
        return;
    }
    bool moved = false;
    pawl_str names[DUE_AT_ONCE];
    for (size_t i = 0; i < list.count; i++)
        names[i] = arena_dup(&rt->group_mem, list.items[i].name);
    for (size_t i = 0; i < list.count; i++)
        moved |= look_at(rt, names[i]);
    d->look_due |= list.count == DUE_AT_ONCE && moved;
}

/* ---- Waiting pops ---------------------------------------------------------------- */

/* Answer the pops whose wait is over with what there is, usually nothing. */
static void look_waits(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    struct heap_node *top = heap_top(&d->waits);
    int64_t mono = top ? rt_mono(rt) : 0;
    for (; top && top->key <= mono; top = heap_top(&d->waits)) {
        struct queue_req *req = CONTAINER_OF(top, struct queue_req, until);
        queue_unpark(d, req);
        req->args.wait_ms = 0;
        queue_handle(rt, req);
    }
}

static struct queue_req *waiting_for(pawl_runtime *rt, const void *arg)
{
    if (!rt->queue_cache || !heap_top(&rt->queue_cache->waits))
        return NULL;
    for (struct cached_queue *s = rt->queue_cache->oldest; s; s = s->newer)
        for (struct queue_req *req = s->waiters; req; req = req->next)
            if (req->arg == arg)
                return req;
    return NULL;
}

void queue_stop_waiting(pawl_runtime *rt, const void *arg)
{
    struct queue_req *req = waiting_for(rt, arg);
    if (!req)
        return;
    heap_remove(&rt->queue_cache->waits, &req->until);
    req->until.key = INT64_MIN;
    need_memory(heap_push(&rt->queue_cache->waits, &req->until));
}

void queue_withdraw(pawl_runtime *rt, const void *arg)
{
    struct queue_req *req = waiting_for(rt, arg);
    if (!req)
        return;
    queue_unpark(rt->queue_cache, req);
    queue_refuse(req, PAWL_LOST, "this item is no longer wanted");
}

/* Find a pop that was put off to the next pass, and take it off the list. */
static struct queue_req *take_put_off(struct queue_cache *d, const void *arg)
{
    for (struct queue_req **at = &d->later; *at; at = &(*at)->next) {
        struct queue_req *req = *at;
        if (req->arg != arg || req->args.op != PAWL_QUEUE_POP)
            continue;
        *at = req->next;
        if (!*at)
            d->later_end = at;
        return req;
    }
    return NULL;
}

void queue_end_wait(pawl_runtime *rt, const void *arg)
{
    struct queue_req *req = waiting_for(rt, arg);
    if (req)
        queue_unpark(rt->queue_cache, req);
    else if (rt->queue_cache)
        req = take_put_off(rt->queue_cache, arg);
    if (req)
        queue_finish(req, &(pawl_queue_reply){.status = PAWL_OK});
}

/* Items came, or a lock ended: serve waiting pops in the order they came. */
static bool serve(pawl_runtime *rt, struct cached_queue *s)
{
    bool served = false;
    for (struct queue_req *req = s->waiters, *next; req && !s->put_off; req = next) {
        pawl_status why;
        next = req->next;
        req->reply = arena_new(&rt->group_mem, pawl_queue_reply);
        enum queue_verdict verdict = queue_try_pop(rt, s, req, &why);
        if (why == PAWL_CORRUPT) { /* refuse it like a new one: waiting does not help */
            queue_unpark(rt->queue_cache, req);
            queue_unread(rt, s, req, why);
            continue;
        }
        if (why != PAWL_OK) {
            rt->queue_cache->again = true;
            return served;
        }
        if (verdict != QUEUE_DONE)
            continue; /* another one may ask for less */
        queue_unpark(rt->queue_cache, req);
        queue_answer(rt, s, req);
        served = true;
    }
    return served;
}

/* ---- The pass ------------------------------------------------------------------------ */

/* Load the queue, and its dead letter queue if a pop may move entries there; the status of a
 * failed read. */
static pawl_status bring(pawl_runtime *rt, const struct cached_queue *s)
{
    struct cached_queue *at;
    pawl_status rc = PAWL_OK;
    if (!s->q)
        rc = cached_open(rt, s->name, &at);
    if (rc == PAWL_OK && s->waiters && queue_may_bury(s->q))
        rc = cached_open(rt, queue_dead_letters(s->q, &rt->group_mem), &at);
    return rc;
}

static bool serve_cached(pawl_runtime *rt, struct cached_queue *s)
{
    pawl_status why = bring(rt, s);
    while (why == PAWL_CORRUPT && s->waiters) {
        struct queue_req *req = s->waiters;
        queue_unpark(rt->queue_cache, req);
        queue_unread(rt, s, req, why);
    }
    if (why != PAWL_OK) {
        rt->queue_cache->again |= why != PAWL_CORRUPT;
        return false;
    }
    queue_start_bound(rt, s);
    return s->waiters && serve(rt, s);
}

/* Serve the waiting pops of all queues, or only of those that changed. */
static void serve_all(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    if (d->again) {
        d->again = false;
        for (struct cached_queue *s = d->oldest, *newer; s; s = newer) {
            newer = s->newer; /* opening a queue moves it to the end: it is visited at most twice */
            if (s->waiters || s->q)
                (void)serve_cached(rt, s);
        }
    }
    for (bool served = true; served;) {
        served = false;
        for (struct queue *q = d->group.dirty; q; q = q->next)
            served |= serve_cached(rt, q->owner);
    }
}

void queue_look(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    if (!d || health_is_dead(rt))
        return;
    d->ops = 0;
    d->group.now_ms = rt->now_ms;
    struct queue_req *later = d->later;
    d->later = NULL;
    d->later_end = &d->later;
    for (struct queue_req *r = later; r; r = r->next) {
        struct cached_queue *s = cached_find(d, pawl_s(r->args.queue));
        if (s)
            s->put_off = false;
    }
    back_off_look(rt);
    if (d->look_due)
        look_due(rt);
    for (struct queue_req *next; later; later = next) {
        next = later->next;
        queue_handle(rt, later);
    }
    look_waits(rt);
    if (d->again)
        serve_all(rt);
    queue_cache_trim(rt);
}

void queue_seal(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    if (!d)
        return;
    serve_all(rt);
    if (d->removals)
        queue_seal_removals(rt);
    if (!d->group.dirty)
        return;
    (void)queue_stage(rt);
    queue_group_seal(&d->group, &d->round);
    RT_POINT(rt, "queue.sealed");
}

static void note_due(pawl_runtime *rt, const struct queue *q)
{
    int64_t due = q->row.due_ms;
    if (!due)
        return;
    if (due <= rt->now_ms)
        rt->queue_cache->look_due = true;
    else
        due_at(rt, due);
}

static bool is_gone(const struct queue *q)
{
    return q->gone;
}

/* It was configured to keep the order of groups, or not to any more: read it again. */
static bool is_stale(const struct queue *q)
{
    return q->stale && !q->gone;
}

/* Those that this group changed and of which it holds. */
static struct cached_queue **cached_that(pawl_runtime *rt, bool (*holds)(const struct queue *),
                                         size_t *ret)
{
    size_t n = 0;
    for (const struct queue *q = rt->queue_cache->group.dirty; q; q = q->next)
        n += holds(q);
    struct cached_queue **cached = n ? arena_array(&rt->group_mem, struct cached_queue *, n) : NULL;
    for (const struct queue *q = n ? rt->queue_cache->group.dirty : NULL; q; q = q->next)
        if (holds(q))
            cached[(*ret)++] = q->owner;
    return cached;
}

void queue_committed(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    struct queue_req *done = d->done;
    d->done = NULL;
    d->done_end = &d->done;
    d->stage = NULL;
    for (const struct queue *q = d->group.dirty; q; q = q->next) {
        note_due(rt, q);
        audience_queue(rt, q->row.name);
    }
    for (struct queue_req *next; done; done = next) {
        next = done->next;
        RT_POINT(rt, "queue.answer");
        done->reply->more = next && next->fn == done->fn;
        queue_finish(done, done->reply);
    }
    size_t n = 0, old = 0;
    struct cached_queue **gone = cached_that(rt, is_gone, &n);
    struct cached_queue **stale = cached_that(rt, is_stale, &old);
    queue_group_done(&d->group);
    queue_removed(rt, gone, n);
    for (size_t i = 0; i < old; i++)
        cached_evict(rt, stale[i]);
    d->again |= old > 0;
}

struct item *queue_undone(pawl_runtime *rt, bool refused)
{
    struct queue_cache *d = rt->queue_cache;
    struct item *first = NULL, **end = &first;
    for (struct queue_req *req = d->done, *next; req; req = next) {
        next = req->next;
        queue_piece_undone(rt, req);
        req->tries += refused;
        if (req->tries > TRIES_MAX) {
            queue_refuse(req, PAWL_CONFLICT, "the store refused it again and again");
            continue;
        }
        req->item.next = NULL;
        *end = &req->item;
        end = &req->item.next;
    }
    for (struct queue_req *req = d->later; req; req = req->next)
        queue_piece_undone(rt, req);
    d->done = NULL;
    d->done_end = &d->done;
    d->stage = NULL;
    d->look_due = d->again = true;
    struct queue *dirty = d->group.dirty;
    size_t n = 0;
    for (const struct queue *q = dirty; q; q = q->next)
        n++;
    struct cached_queue **cached = arena_array(&rt->group_mem, struct cached_queue *, n + 1);
    n = 0;
    for (const struct queue *q = dirty; q; q = q->next)
        cached[n++] = q->owner;
    queue_group_done(&d->group);
    for (size_t i = 0; i < n; i++)
        cached_evict(rt, cached[i]);
    return first;
}

bool queue_has_work(const pawl_runtime *rt)
{
    return rt->queue_cache &&
           (rt->queue_cache->later || rt->queue_cache->look_due || rt->queue_cache->again);
}

bool queue_is_full(const pawl_runtime *rt)
{
    return rt->queue_cache &&
           (rt->queue_cache->ops >= OPS_MAX || rt->queue_cache->group.bytes >= BYTES_MAX);
}

int64_t queue_next_wait(const pawl_runtime *rt)
{
    struct heap_node *top = rt->queue_cache ? heap_top(&rt->queue_cache->waits) : NULL;
    int64_t back_off = rt->queue_cache ? rt->queue_cache->back_off_ms : INT64_MAX;
    return top && top->key < back_off ? top->key : back_off;
}
