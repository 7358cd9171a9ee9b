/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_remove.c -- a queue is removed, with all it has. [engine]
 *
 * In the store it is one row of one commit, however long the queue was: the store's purge
 * deletes the rest a piece at a time (Q12).  In memory it must be the last change of its group,
 * because dead letters and pushes of orchestrations reach a queue without a request.  So the
 * request is kept until the group is sealed; if something reached the queue by then, the next
 * group tries again.
 */
#include "runtime/queue/queue_remove.h"

#include "base/limits.h"
#include "runtime/core/due.h"
#include "runtime/queue/queue_answer.h"
#include "runtime/queue/queue_cache.h"

#include <stdio.h>

#define PASSES_MAX 100 /* give up after this many in which something reached the queue */

static uint64_t messages(const struct queue *q)
{
    return q->row.ready + q->row.delayed + q->row.locked;
}

/* False: it was refused. */
static bool may_go(const struct cached_queue *s, struct queue_req *req)
{
    char text[400];
    unsigned long long n = messages(s->q);
    if (!s->q->row.qid)
        (void)snprintf(text, sizeof(text), "there is no queue '%.*s'", PAWL_FMT(s->name));
    else if (n && !req->args.force)
        (void)snprintf(text, sizeof(text),
                       "queue '%.*s' has %llu message%s: purge it, or remove it with force=true",
                       PAWL_FMT(s->name), n, n == 1 ? "" : "s");
    else
        return true;
    queue_refuse(req, s->q->row.qid ? PAWL_CONFLICT : PAWL_NOT_FOUND, text);
    return false;
}

void queue_do_remove(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    struct queue_cache *d = rt->queue_cache;
    if (s->q->dirty) {
        queue_put_off(rt, s, req);
        return;
    }
    if (!may_go(s, req))
        return;
    s->put_off = true; /* requests behind this one find a new queue */
    req->next = NULL;
    *d->removals_end = req;
    d->removals_end = &req->next;
}

static void remove_now(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    if (s)
        s->put_off = false;
    if (!s || !s->q || s->q->dirty) {
        if (++req->at.moved > PASSES_MAX)
            queue_refuse(req, PAWL_CONFLICT, "messages reach this queue all the time; try again");
        else
            queue_put_off(rt, s, req);
        return;
    }
    if (!may_go(s, req))
        return;
    req->reply->count = messages(s->q);
    queue_remove(&rt->queue_cache->group, s->q);
    queue_answer(rt, s, req);
}

void queue_seal_removals(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    struct queue_req *req = d->removals;
    d->removals = NULL;
    d->removals_end = &d->removals;
    for (struct queue_req *next; req; req = next) {
        next = req->next;
        remove_now(rt, cached_find(d, pawl_s(req->args.queue)), req);
    }
}

void queue_removed(pawl_runtime *rt, struct cached_queue *const *gone, size_t count)
{
    const pawl_queue_reply nothing = {.status = PAWL_OK};
    if (count)
        due_purge(rt);
    for (size_t i = 0; i < count; i++) {
        for (struct queue_req *req; (req = gone[i]->waiters);) {
            queue_unpark(rt->queue_cache, req);
            queue_finish(req, &nothing);
        }
        cached_evict(rt, gone[i]);
    }
}
