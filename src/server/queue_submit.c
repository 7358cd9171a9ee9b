/* SPDX-License-Identifier: MIT */
/*
 * server/queue_submit.c -- what the routes of the queues share: the way to the engine and
 * back, refusals in the seed's words, numbers and times as the API writes them.
 *
 * A request in seed form gets exactly the seed's keys in the seed's order.
 * Answers are written on the engine thread, because a reply is valid only there;
 * the call is the engine's from queue_submit() until then.
 *
 * Called by queues.c, queue_admin.c, queue_manage.c and queue_config.c.
 */
#include "server/queues.h"

#include "base/digits.h"
#include "base/json.h"
#include "view/render.h"

struct queue_call {
    void (*write)(struct call *c, const pawl_queue_reply *reply);
    pawl_queue_op op;
};

static bool is_lock_op(pawl_queue_op op)
{
    return op == PAWL_QUEUE_ACK || op == PAWL_QUEUE_EXTEND || op == PAWL_QUEUE_RELEASE ||
           op == PAWL_QUEUE_DEADLETTER;
}

void answer_lock_trouble(struct call *c, const pawl_queue_reply *reply)
{
    if (reply->status == PAWL_LOST)
        answer_text(c, 410, NULL,
                    pawl_s("{\"success\":false,\"message\":\"Lock has expired\","
                           "\"error_code\":\"LOCK_EXPIRED\"}"));
    else if (reply->status == PAWL_NOT_FOUND)
        answer_error(c, 404, "not_found", "No active lock found");
    else if (reply->status == PAWL_INVALID)
        answer_error(c, 400, "invalid", "Invalid lock_id");
    else
        answer_failure(c, &reply->error);
}

static void answer_locked(struct call *c, const pawl_queue_reply *reply)
{
    int64_t left = reply->locked_until_ms - pawl_client_now(c->srv->client);
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "message");
    pawl_json_cstr(w, "Queue is locked pending acknowledgement");
    write_seconds(w, "lock_expires_at", reply->locked_until_ms);
    pawl_json_end(w);
    answer_json(c, 423, w);
    c->answer.retry_after = left > 0 ? (unsigned)((left + 999) / 1000) : 1;
}

/* It is not known when there is room again: soon, if a client pops. */
static void answer_full(struct call *c, const char *text)
{
    answer_error(c, 429, "full", "%s", text);
    c->answer.retry_after = 1;
}

static void answer_trouble(struct call *c, pawl_queue_op op, const pawl_queue_reply *reply)
{
    if (op == PAWL_QUEUE_POP && reply->status == PAWL_CONFLICT)
        answer_locked(c, reply);
    else if (op == PAWL_QUEUE_PUSH && reply->status == PAWL_BUSY)
        answer_full(c, reply->error.text);
    else if (is_lock_op(op))
        answer_lock_trouble(c, reply);
    else
        answer_failure(c, &reply->error);
}

/* On the engine thread; the call is ours until call_done(). */
static void on_reply(void *arg, const pawl_queue_reply *reply)
{
    struct call *c = arg;
    struct queue_call *q = c->data;
    if (reply->status == PAWL_OK ||
        (q->op == PAWL_QUEUE_ACK && c->queueing.extended && reply->outcome_count)) {
        q->write(c, reply);
    } else {
        answer_trouble(c, q->op, reply);
    }
    call_done_more(c, reply->more);
}

void queue_submit(struct call *c, pawl_queue_request *request,
                  void (*write)(struct call *c, const pawl_queue_reply *reply), bool lingers)
{
    struct queue_call *q = pawl_mem_alloc(c->mem, sizeof(*q));
    pawl_error err;
    request->queue = c->args[0];
    *q = (struct queue_call){write, request->op};
    c->data = q;
    if (lingers)
        call_linger(c);
    else
        call_away(c);
    if (pawl_queue_submit(c->srv->client, request, on_reply, c, &err) == PAWL_OK) {
        atomic_store_explicit(&c->srv->has_work, true, memory_order_relaxed);
        return;
    }
    if (request->op == PAWL_QUEUE_PUSH && err.status == PAWL_BUSY)
        answer_full(c, err.text);
    else
        answer_failure(c, &err);
    call_done(c);
}

void write_seconds(pawl_json *w, const char *key, int64_t ms)
{
    char text[32], *end = text + sizeof(text), *at = end - 4;
    uint64_t n = ms > 0 ? (uint64_t)ms : 0;
    pawl_json_key(w, key);
    if (!n) {
        pawl_json_null(w);
        return;
    }
    (void)digits_before(end, n % 1000 + 1000); /* the first one becomes the point */
    *at = '.';
    at = digits_before(at, n / 1000);
    json_put(w, (pawl_str){at, (size_t)(end - at)});
}

void write_count(pawl_json *w, const char *key, uint64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)n);
}

void answer_done(struct call *c, const char *message, const char *key, uint64_t count)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, true);
    if (message) {
        pawl_json_key(w, "message");
        pawl_json_cstr(w, message);
    }
    if (key) {
        pawl_json_key(w, key);
        pawl_json_num(w, (int64_t)count);
    }
    pawl_json_end(w);
    answer_json(c, 200, w);
}

bool read_seconds(struct call *c, pawl_str object, const char *key, int64_t min, int64_t max,
                  int64_t *retms)
{
    pawl_str raw = call_field(c, object, key);
    *retms = -1;
    if (!raw.ptr || json_type(raw) == JSON_NULL)
        return true;
    double seconds = pawl_json_number(raw, "", -1);
    if (json_type(raw) == JSON_NUMBER && seconds >= (double)min && seconds <= (double)max) {
        *retms = (int64_t)(seconds * 1000 + 0.5);
        return true;
    }
    answer_error(c, 400, "invalid", "%s must be a number from %lld to %lld", key, (long long)min,
                 (long long)max);
    return false;
}

void write_id(pawl_json *w, uint64_t id)
{
    char text[24], *end = text + sizeof(text), *at = digits_before(end, id);
    pawl_json_str(w, (pawl_str){at, (size_t)(end - at)});
}

void write_message_members(pawl_json *w, const pawl_queue_message *m)
{
    pawl_json_key(w, "id");
    write_id(w, m->id);
    pawl_json_key(w, "priority");
    pawl_json_num(w, m->priority);
    pawl_json_key(w, "delivery_count");
    pawl_json_num(w, m->delivery_count);
    write_seconds(w, "enqueued_at", m->enqueued_ms);
    render_text(w, "group", m->group);
    pawl_json_key(w, "headers");
    if (m->headers.len) /* checked when they were pushed */
        json_put(w, m->headers);
    else
        pawl_json_null(w);
}
