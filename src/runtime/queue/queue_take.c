/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_take.c -- see queue_take.h. */
#include "runtime/queue/queue_take.h"

#include "base/limits.h"
#include "runtime/queue/queue_cache.h"
#include "store/store_queue.h"

#define REFILLS_AT_ONCE 16 /* others have their turn before a pop has passed over more */

/* Fetch the bytes of the entries a pop takes; the status of a failed read. */
static pawl_status fetch_bodies(pawl_runtime *rt, struct cached_queue *s,
                                const pawl_queue_request *args)
{
    uint64_t ids[PAWL_QUEUE_POP_MAX];
    pawl_entry_list list;
    pawl_error err = {0};
    size_t n = queue_hollow(s->q, queue_reach(s->q, args), ids, PAWL_QUEUE_POP_MAX);
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_entries(rt->store, ids, n, false, &rt->load_mem, &list, &err);
    if (rc == PAWL_OK && list.count < n) {
        rc = PAWL_CORRUPT;
        error_set(&err, rc, "queue '%.*s' lacks an entry it should have", PAWL_FMT(s->name));
    }
    if (rc != PAWL_OK)
        return queue_read_failed(rt, s, &err);
    for (size_t i = 0; i < list.count; i++)
        queue_fill(s->q, &list.items[i]);
    return PAWL_OK;
}

enum queue_verdict queue_try_pop(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req,
                                 pawl_status *retwhy)
{
    struct queue *q = s->q;
    *retwhy = PAWL_OK;
    if (!q->dirty && queue_is_low(q)) /* now, before the group makes the queue dirty */
        *retwhy = cached_refill(rt, s);
    if (*retwhy != PAWL_OK)
        return QUEUE_REFILL;
    for (size_t refills = 0;;) {
        *req->reply = (pawl_queue_reply){0};
        enum queue_verdict verdict = queue_pop(&rt->queue_cache->group, q, &req->args, req->reply);
        if (verdict == QUEUE_REFILL)
            *retwhy = q->dirty || refills++ == REFILLS_AT_ONCE ? PAWL_BUSY : cached_refill(rt, s);
        else if (verdict == QUEUE_BODIES)
            *retwhy = fetch_bodies(rt, s, &req->args);
        else if (verdict == QUEUE_UNREAD)
            *retwhy = queue_read_failed(rt, s, &rt->queue_cache->unlocked);
        else
            return verdict;
        if (*retwhy != PAWL_OK)
            return verdict;
    }
}
