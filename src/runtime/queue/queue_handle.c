/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_handle.c -- one request on a queue. [engine]
 *
 * Arguments were checked on the caller's thread (queue_client.c).  This file fetches what the
 * policy needs from the store: the next piece of the window, bytes of entries, dedup ids.
 */
#include "runtime/queue/queue_handle.h"

#include "base/limits.h"
#include "runtime/core/health.h"
#include "runtime/core/owed.h"
#include "runtime/queue/queue_answer.h"
#include "runtime/queue/queue_batch.h"
#include "runtime/queue/queue_bridge.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_remove.h"
#include "runtime/queue/queue_take.h"
#include "runtime/work/jobs.h"
#include "store/store_queue.h"

/* ---- Pop ------------------------------------------------------------------------ */

static void park(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    owed_done(&req->item);
    req->cached = s;
    req->next = NULL;
    *s->waiters_end = req;
    s->waiters_end = &req->next;
    req->until.key = rt_mono(rt) + req->args.wait_ms;
    req->until.tie = ++rt->queue_cache->wait_tie;
    need_memory(heap_push(&rt->queue_cache->waits, &req->until));
    if (req->job)
        job_only_waits(rt, req->job);
}

static void pop(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    pawl_status why;
    enum queue_verdict verdict = queue_try_pop(rt, s, req, &why);
    if (why != PAWL_OK)
        queue_unread(rt, s, req, why);
    else if (req->args.wait_ms > 0 && /* an orchestration waits for the lock of others, too */
             (verdict == QUEUE_EMPTY || (verdict == QUEUE_LOCKED && req->job)))
        park(rt, s, req);
    else
        queue_answer(rt, s, req);
}

/* ---- Push ----------------------------------------------------------------------- */

/* The ids the store has under these keys, 0 for none that counts; the status of a failed read. */
static pawl_status find_keys(pawl_runtime *rt, struct cached_queue *s, const pawl_str *keys,
                             size_t count, uint64_t *ret)
{
    pawl_queue_key *rows = arena_array(&rt->group_mem, pawl_queue_key, count);
    pawl_error err = {0};
    pawl_status rc = store_find_keys(rt->store, s->q->row.qid, keys, count, rows, &err);
    for (size_t i = 0; i < count; i++)
        ret[i] = rc == PAWL_OK && rows[i].expires_ms > rt->now_ms ? rows[i].entry : 0;
    return rc == PAWL_OK ? PAWL_OK : queue_read_failed(rt, s, &err);
}

pawl_status queue_find_twin(pawl_runtime *rt, struct cached_queue *s, pawl_str dedup_id,
                            uint64_t *ret)
{
    *ret = 0;
    return dedup_id.len && s->q->row.qid ? find_keys(rt, s, &dedup_id, 1, ret) : PAWL_OK;
}

/* The entries the store knows by the dedup ids, and what was pushed with the key. */
static pawl_status find_known(pawl_runtime *rt, struct cached_queue *s, const struct queue_req *req,
                              struct queue_known *ret)
{
    const pawl_queue_item *items = req->args.items;
    size_t item_count = req->args.item_count, count = req->args.key != NULL, at = count;
    *ret = (struct queue_known){.print = req->print};
    if (req->args.key) /* no dedup id has a control character */
        ret->mark = pawl_mem_printf(&rt->group_mem, "\001%s", req->args.key);
    for (size_t i = 0; i < item_count; i++)
        count += items[i].dedup_id.len > 0;
    if (!count || !s->q->row.qid)
        return PAWL_OK;
    pawl_str *keys = arena_array(&rt->group_mem, pawl_str, count);
    uint64_t *entries = arena_array(&rt->group_mem, uint64_t, count);
    keys[0] = ret->mark;
    for (size_t i = 0; i < item_count; i++)
        if (items[i].dedup_id.len)
            keys[at++] = items[i].dedup_id;
    pawl_status rc = find_keys(rt, s, keys, count, entries);
    ret->printed = req->args.key ? *entries++ : 0;
    if (count > (req->args.key != NULL))
        ret->twins = arena_array(&rt->group_mem, uint64_t, item_count);
    for (size_t i = 0; i < item_count; i++)
        if (items[i].dedup_id.len)
            ret->twins[i] = *entries++;
    return rc;
}

static void push(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    struct queue_known known;
    if (health_no_room(rt)) {
        queue_refuse(req, PAWL_DISK_FULL,
                     "the disk is full: new work is refused until space is freed");
        return;
    }
    pawl_status why = find_known(rt, s, req, &known);
    if (why != PAWL_OK) {
        queue_unread(rt, s, req, why);
        return;
    }
    queue_push(&rt->queue_cache->group, s->q, &req->args, &known, req->reply);
    queue_answer(rt, s, req);
}

/* ---- All of them ------------------------------------------------------------------ */

static void bind_to(pawl_runtime *rt, struct cached_queue *s, const struct queue_req *req)
{
    pawl_queue_config config = s->q->config;
    config.orchestration = pawl_s(req->args.orchestration);
    config.version = pawl_s(req->args.version);
    queue_configure(&rt->queue_cache->group, s->q, &config);
}

static void configure(pawl_runtime *rt, struct cached_queue *s, const struct queue_req *req)
{
    pawl_queue_config all = req->config;
    if (req->args.some)
        all = queue_config_merge(s->q->config, &req->config, req->args.settings);
    queue_configure(&rt->queue_cache->group, s->q, &all);
}

/* The configuration as it is now: a later request of the same group may change it. */
static void tell_config(pawl_runtime *rt, const struct cached_queue *s, struct queue_req *req)
{
    pawl_queue_config *now = arena_new(&rt->group_mem, pawl_queue_config);
    pawl_str text = arena_dup(&rt->group_mem, s->q->row.config);
    *now = queue_config_read(text, &rt->group_mem);
    req->reply->config = now;
    req->reply->warning = queue_bound_warning(rt, now, &rt->group_mem);
}

/* Load the queues this one may send entries to; the status of a failed read. */
static pawl_status open_dead_letters(pawl_runtime *rt, const struct cached_queue *s,
                                     pawl_queue_op op)
{
    if (op != PAWL_QUEUE_DEADLETTER && !queue_may_bury(s->q))
        return PAWL_OK;
    struct cached_queue *dead;
    return cached_open(rt, queue_dead_letters(s->q, &rt->group_mem), &dead);
}

static void act(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    struct queue_group *g = &rt->queue_cache->group;
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
    case PAWL_QUEUE_REMOVE:
        queue_do_remove(rt, s, req);
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
        configure(rt, s, req);
        tell_config(rt, s, req);
        break;
    case PAWL_QUEUE_BIND:
        bind_to(rt, s, req);
        tell_config(rt, s, req);
        break;
    }
    queue_answer(rt, s, req);
}

/* A pop of an orchestration: was the call withdrawn while it was on its way here? */
static bool is_unwanted(const struct queue_req *req)
{
    return req->job && req->args.op == PAWL_QUEUE_POP && req->job->given_up;
}

void queue_handle(pawl_runtime *rt, struct queue_req *req)
{
    if (is_unwanted(req)) {
        queue_refuse(req, PAWL_LOST, "this answer is no longer wanted");
        return;
    }
    pawl_str name = pawl_s(req->args.queue);
    struct cached_queue *s = cached_find(rt->queue_cache, name);
    if (s && s->put_off) {
        queue_put_off(rt, s, req);
        return;
    }
    pawl_status why = cached_open(rt, name, &s);
    if (why == PAWL_OK)
        why = open_dead_letters(rt, s, req->args.op);
    if (why != PAWL_OK) {
        queue_unread(rt, s, req, why);
        return;
    }
    rt->queue_cache->group.now_ms = rt->now_ms;
    req->reply = arena_new(&rt->group_mem, pawl_queue_reply);
    act(rt, s, req);
}
