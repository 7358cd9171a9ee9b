/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_answer.c -- see queue_answer.h. */
#include "runtime/queue/queue_answer.h"

#include "base/limits.h"
#include "runtime/core/owed.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_fit.h"

/* For a program whose structs have other sizes than ours. */
static void answer_fitted(const struct queue_req *req, const pawl_queue_reply *reply)
{
    pawl_mem mem;
    arena_init(&mem);
    req->fn(req->arg, queue_fit_reply(&mem, reply, req->sizes));
    arena_deinit(&mem);
}

void queue_finish(struct queue_req *req, const pawl_queue_reply *reply)
{
    owed_done(&req->item);
    if (req->fn && LIKELY(!req->sizes))
        req->fn(req->arg, reply);
    else if (req->fn)
        answer_fitted(req, reply);
    free(req);
}

void queue_refuse(struct queue_req *req, pawl_status status, const char *text)
{
    pawl_queue_reply reply = {.status = status};
    error_set(&reply.error, status, "%s", text);
    queue_finish(req, &reply);
}

void queue_answer(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    struct queue_cache *d = rt->queue_cache;
    if (!s->q->dirty) {
        queue_finish(req, req->reply);
        return;
    }
    req->next = NULL;
    *d->done_end = req;
    d->done_end = &req->next;
    d->ops++;
}

void queue_put_off(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    struct queue_cache *d = rt->queue_cache;
    if (s)
        s->put_off = true;
    owed_take(rt, &req->item); /* a pop whose wait is over is owed its answer again */
    req->next = NULL;
    *d->later_end = req;
    d->later_end = &req->next;
}

void queue_unread(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req, pawl_status why)
{
    if (why == PAWL_CORRUPT)
        queue_refuse(req, PAWL_CORRUPT, "stored rows of this queue are damaged; run pawl doctor");
    else
        queue_put_off(rt, s, req);
}
