/* SPDX-License-Identifier: MIT */
/*
 * server/queue_admin.c -- the other writing calls of a queue: extend, release,
 * dead letter, redrive, purge, pause, revoke.
 */
#include "server/queues.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Locks ------------------------------------------------------------------------ */

static void write_extended(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, true);
    pawl_json_key(w, "lock_id");
    pawl_json_cstr(w, c->queueing.lock_id);
    write_seconds(w, "new_expires_at", reply->locked_until_ms);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_extend(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_EXTEND};
    int64_t more, ttl;
    c->queueing.lock_id = queue_lock_id(c);
    if (!c->queueing.lock_id ||
        !read_seconds(c, c->json, "additional_ttl_seconds", 1, 300, &more) ||
        !read_seconds(c, c->json, "ttl_seconds", 1, 300, &ttl))
        return;
    if (ttl > 0 && more < 0)
        q.ttl_ms = ttl;
    else
        q.extend_ms = more > 0 ? more : 30000;
    q.lock_ids = &c->queueing.lock_id;
    q.lock_count = 1;
    queue_submit(c, &q, write_extended, false);
}

static void write_released(struct call *c, const pawl_queue_reply *reply)
{
    answer_done(c, "Items released", "items_released", reply->count);
}

void handle_release(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_RELEASE};
    int64_t delay;
    c->queueing.lock_id = queue_lock_id(c);
    if (!c->queueing.lock_id || !read_seconds(c, c->json, "delay_seconds", 0, 604800, &delay) ||
        !call_reason(c, &q.reason))
        return;
    q.delay_ms = delay > 0 ? delay : 0;
    q.has_delay = delay >= 0;
    q.lock_ids = &c->queueing.lock_id;
    q.lock_count = 1;
    queue_submit(c, &q, write_released, false);
}

static void write_buried(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, true);
    pawl_json_key(w, "message");
    pawl_json_cstr(w, "Item moved to dead letter queue");
    pawl_json_key(w, "dlq_id");
    pawl_json_str(w, reply->target);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_deadletter(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_DEADLETTER};
    c->queueing.lock_id = queue_lock_id(c);
    if (!c->queueing.lock_id || !call_reason(c, &q.reason))
        return;
    q.lock_ids = &c->queueing.lock_id;
    q.lock_count = 1;
    queue_submit(c, &q, write_buried, false);
}

/* ---- The queue ---------------------------------------------------------------------- */

static void write_moved(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, true);
    write_count(w, "items_moved", reply->count);
    write_warning(w, reply->warning);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_redrive(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_REDRIVE};
    int64_t max, rate;
    if (!call_integer(c, c->json, "max", 1, INT64_MAX, 0, &max) ||
        !call_integer(c, c->json, "rate_per_second", 1, 1000000, 0, &rate) ||
        !call_some_text(c, c->json, "target", &q.target) || (q.target && !guard_queue(c, q.target)))
        return;
    q.max = (uint64_t)max;
    q.rate_per_second = (uint32_t)rate;
    queue_submit(c, &q, write_moved, false);
}

static void write_purged(struct call *c, const pawl_queue_reply *reply)
{
    answer_done(c, NULL, "items_purged", reply->count);
}

void handle_purge(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_PURGE};
    if (!call_integer(c, c->json, "priority", 0, INT64_MAX, -1, &q.priority))
        return;
    q.has_priority = q.priority >= 0;
    queue_submit(c, &q, write_purged, false);
}

static void write_paused(struct call *c, const pawl_queue_reply *reply)
{
    (void)reply;
    answer_done(c, "Queue paused", NULL, 0);
}

static void write_unpaused(struct call *c, const pawl_queue_reply *reply)
{
    (void)reply;
    answer_done(c, "Queue resumed", NULL, 0);
}

void handle_pause(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_PAUSE};
    queue_submit(c, &q, write_paused, false);
}

void handle_unpause(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_RESUME};
    queue_submit(c, &q, write_unpaused, false);
}

static void write_revoked(struct call *c, const pawl_queue_reply *reply)
{
    (void)reply;
    answer_done(c, "Message removed", NULL, 0);
}

void handle_revoke(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_DELETE};
    if (queue_message_id(c, &q.message))
        queue_submit(c, &q, write_revoked, false);
}

static void write_removed(struct call *c, const pawl_queue_reply *reply)
{
    answer_done(c, "Queue removed", "items_removed", reply->count);
}

void handle_remove_queue(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_REMOVE};
    if (call_flag(c, "force", &q.force))
        queue_submit(c, &q, write_removed, false);
}

bool queue_message_id(struct call *c, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(c->args[1], &end, 10);
    if (c->args[1][0] >= '0' && c->args[1][0] <= '9' && !*end && !errno)
        return true;
    answer_error(c, 404, "not_found", "there is no message '%s'", c->args[1]);
    return false;
}
