/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue_handle.c -- one request on a queue. [engine]
 *
 * Arguments were checked on the caller's thread (queue_client.c).  What the policy
 * needs from the store is fetched here: the next piece of the window, bytes of
 * entries, dedup ids.
 */
#include "base/limits.h"
#include "runtime/loop.h"
#include "runtime/queue_desk.h"

#include <stdlib.h>

#define WINDOW_LOW 128 /* bring more while it is cheap: before the group changes the queue */

/* ---- Answers ------------------------------------------------------------------- */

void queue_finish(struct queue_req *req, const pawl_queue_reply *reply)
{
    if (req->fn)
        req->fn(req->arg, reply);
    free(req);
}

void queue_refuse(struct queue_req *req, pawl_status status, const char *text)
{
    pawl_queue_reply reply = {.status = status};
    error_set(&reply.error, status, "%s", text);
    queue_finish(req, &reply);
}

void queue_answer(pawl_runtime *rt, struct seat *s, struct queue_req *req)
{
    struct queue_desk *d = rt->desk;
    if (!s->q->dirty) {
        queue_finish(req, req->reply);
        return;
    }
    req->next = NULL;
    *d->done_end = req;
    d->done_end = &req->next;
    d->ops++;
}

void queue_put_off(pawl_runtime *rt, struct seat *s, struct queue_req *req)
{
    struct queue_desk *d = rt->desk;
    if (s)
        s->held = true;
    req->next = NULL;
    *d->later_end = req;
    d->later_end = &req->next;
    d->later_count++;
}

void queue_unread(pawl_runtime *rt, struct seat *s, struct queue_req *req, pawl_status why)
{
    if (why == PAWL_CORRUPT)
        queue_refuse(req, PAWL_CORRUPT, "stored rows of this queue are damaged; run pawl doctor");
    else
        queue_put_off(rt, s, req);
}

/* ---- Pop ------------------------------------------------------------------------ */

/* Bytes of the entries a pop wants, or the trouble. */
static pawl_status fetch_bodies(pawl_runtime *rt, struct seat *s, size_t count)
{
    uint64_t ids[PAWL_QUEUE_POP_MAX];
    pawl_entry_list list;
    pawl_error err = {0};
    size_t n = queue_hollow(s->q, count, ids, PAWL_QUEUE_POP_MAX);
    arena_reset(&rt->load_mem);
    pawl_status rc =
        rt->store->ops->queues->read_entries(rt->store, ids, n, false, &rt->load_mem, &list, &err);
    if (rc == PAWL_OK && list.count < n) {
        rc = PAWL_CORRUPT;
        error_set(&err, rc, "queue '%.*s' lacks an entry it should have", PAWL_FMT(s->name));
    }
    if (rc != PAWL_OK)
        return desk_unread(rt, s, &err);
    for (size_t i = 0; i < list.count; i++)
        queue_fill(s->q, &list.items[i]);
    return PAWL_OK;
}

enum queue_verdict queue_try_pop(pawl_runtime *rt, struct seat *s, struct queue_req *req,
                                 pawl_status *retwhy)
{
    struct queue *q = s->q;
    *retwhy = PAWL_OK;
    if (!q->dirty && !q->complete && q->count < WINDOW_LOW)
        *retwhy = seat_refill(rt, s);
    if (*retwhy != PAWL_OK)
        return QUEUE_REFILL;
    for (;;) {
        *req->reply = (pawl_queue_reply){0};
        enum queue_verdict verdict = queue_pop(&rt->desk->group, q, &req->args, req->reply);
        if (verdict == QUEUE_REFILL)
            *retwhy = q->dirty ? PAWL_BUSY : seat_refill(rt, s);
        else if (verdict == QUEUE_BODIES)
            *retwhy = fetch_bodies(rt, s, req->args.count ? req->args.count : 1);
        else if (verdict == QUEUE_UNREAD)
            *retwhy = desk_unread(rt, s, &rt->desk->unlocked);
        else
            return verdict;
        if (*retwhy != PAWL_OK)
            return verdict;
    }
}

static void park(pawl_runtime *rt, struct seat *s, struct queue_req *req)
{
    req->seat = s;
    req->next = NULL;
    *s->waiters_end = req;
    s->waiters_end = &req->next;
    req->until.key = rt_mono(rt) + req->args.wait_ms;
    req->until.tie = ++rt->desk->wait_tie;
    need_memory(heap_push(&rt->desk->waits, &req->until));
    queue_parked(rt, req);
}

static void pop(pawl_runtime *rt, struct seat *s, struct queue_req *req)
{
    pawl_status why;
    enum queue_verdict verdict = queue_try_pop(rt, s, req, &why);
    if (why != PAWL_OK)
        queue_unread(rt, s, req, why);
    else if (req->args.wait_ms > 0 &&
             (verdict == QUEUE_EMPTY || (verdict == QUEUE_LOCKED && queue_waits_for_lock(req))))
        park(rt, s, req);
    else
        queue_answer(rt, s, req);
}

/* ---- Push ----------------------------------------------------------------------- */

/* The entries the store knows by the dedup ids, or the trouble. */
static pawl_status find_twins(pawl_runtime *rt, struct seat *s, const struct queue_req *req,
                              uint64_t **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < req->args.item_count && s->q->row.qid; i++) {
        pawl_queue_key key;
        pawl_error err = {0};
        if (!req->args.items[i].dedup_id.len)
            continue;
        if (!*ret)
            *ret = arena_array(&rt->group_mem, uint64_t, req->args.item_count);
        pawl_status rc = rt->store->ops->queues->find_key(rt->store, s->q->row.qid,
                                                          req->args.items[i].dedup_id, &key, &err);
        if (rc == PAWL_OK && key.expires_ms > rt->now_ms)
            (*ret)[i] = key.entry;
        if (rc != PAWL_OK && rc != PAWL_EMPTY)
            return desk_unread(rt, s, &err);
    }
    return PAWL_OK;
}

static void push(pawl_runtime *rt, struct seat *s, struct queue_req *req)
{
    uint64_t *twins;
    if (request_no_room(rt)) {
        queue_refuse(req, PAWL_DISK_FULL,
                     "the disk is full: new work is refused until space is freed");
        return;
    }
    pawl_status why = find_twins(rt, s, req, &twins);
    if (why != PAWL_OK) {
        queue_unread(rt, s, req, why);
        return;
    }
    queue_push(&rt->desk->group, s->q, &req->args, twins, req->reply);
    queue_answer(rt, s, req);
}

/* ---- All of them ------------------------------------------------------------------ */

static void bind_to(pawl_runtime *rt, struct seat *s, const struct queue_req *req)
{
    pawl_queue_config config = s->q->config;
    config.orchestration = pawl_s(req->args.orchestration);
    config.version = pawl_s(req->args.version);
    queue_configure(&rt->desk->group, s->q, &config);
}

/* Other queues this one may send entries to are in memory, or the trouble. */
static pawl_status open_dead_letters(pawl_runtime *rt, const struct seat *s, pawl_queue_op op)
{
    if (op != PAWL_QUEUE_DEADLETTER && !queue_may_bury(s->q))
        return PAWL_OK;
    struct seat *dead;
    return seat_open(rt, queue_dead_letters(s->q, &rt->group_mem), &dead);
}

static void act(pawl_runtime *rt, struct seat *s, struct queue_req *req)
{
    struct queue_group *g = &rt->desk->group;
    switch (req->args.op) {
    case PAWL_QUEUE_PUSH:
        push(rt, s, req);
        return;
    case PAWL_QUEUE_POP:
        pop(rt, s, req);
        return;
    case PAWL_QUEUE_PURGE:
        queue_do_purge(rt, s, req);
        return;
    case PAWL_QUEUE_REDRIVE:
        queue_do_redrive(rt, s, req);
        return;
    case PAWL_QUEUE_DELETE:
        queue_do_delete(rt, s, req);
        return;
    case PAWL_QUEUE_ACK:
    case PAWL_QUEUE_EXTEND:
    case PAWL_QUEUE_RELEASE:
    case PAWL_QUEUE_DEADLETTER:
        queue_settle(g, s->q, &req->args, req->reply);
        break;
    case PAWL_QUEUE_PAUSE:
    case PAWL_QUEUE_RESUME:
        queue_pause(g, s->q, req->args.op == PAWL_QUEUE_PAUSE);
        break;
    case PAWL_QUEUE_CONFIGURE:
        queue_configure(g, s->q, &req->config);
        break;
    case PAWL_QUEUE_BIND:
        bind_to(rt, s, req);
        break;
    }
    queue_answer(rt, s, req);
}

void queue_handle(pawl_runtime *rt, struct queue_req *req)
{
    if (queue_is_unwanted(req)) {
        queue_refuse(req, PAWL_LOST, "nobody waits for this any more");
        return;
    }
    struct seat *s = map_gets(&rt->desk->seats, pawl_s(req->args.queue));
    if (s && s->held) {
        queue_put_off(rt, s, req);
        return;
    }
    pawl_status why = seat_open(rt, pawl_s(req->args.queue), &s);
    if (why == PAWL_OK)
        why = open_dead_letters(rt, s, req->args.op);
    if (why != PAWL_OK) {
        queue_unread(rt, s, req, why);
        return;
    }
    rt->desk->group.now_ms = rt->now_ms;
    req->reply = arena_new(&rt->group_mem, pawl_queue_reply);
    act(rt, s, req);
}
