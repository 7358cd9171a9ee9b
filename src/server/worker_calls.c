/* SPDX-License-Identifier: MIT */
/*
 * server/worker_calls.c -- remote activity workers: poll, complete, fail, heartbeat,
 * abandon (pawl/worker.h over HTTP).
 *
 * A lease is durable before its answer goes out.  Waiting polls wait in the
 * runtime; answers are written on the engine thread, because what they report
 * is valid only there.
 */
#include "server/worker_calls.h"

#include "base/json.h"
#include "pawl/worker.h"
#include "server/handlers.h"
#include "view/render.h"

#include <string.h>

/* ---- Poll ------------------------------------------------------------------------ */

static void write_lease(struct call *c, pawl_json *w, const pawl_lease *l)
{
    pawl_json_object(w);
    render_text(w, "token", l->token);
    render_text(w, "instance", l->instance);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)l->execution);
    pawl_json_key(w, "id");
    pawl_json_num(w, (int64_t)l->id);
    render_text(w, "activity", l->activity);
    render_payload(w, c->mem, "input", "encoding", l->input);
    pawl_json_key(w, "attempt");
    pawl_json_num(w, l->attempt);
    render_text(w, "key", l->key);
    pawl_json_key(w, "locked_until");
    pawl_json_num(w, l->locked_until_ms);
    if (l->details.len)
        render_payload(w, c->mem, "details", "details_encoding", l->details);
    pawl_json_end(w);
}

typedef void write_fn(struct call *c, pawl_json *w, const pawl_worker_reply *reply);

/* On the engine thread; the call is ours until call_done(). */
static void replied(struct call *c, const pawl_worker_reply *reply, write_fn *write_members)
{
    if (reply->status != PAWL_OK) {
        answer_failure(c, &reply->error);
    } else {
        pawl_json *w = pawl_json_new(c->mem);
        pawl_json_object(w);
        write_members(c, w, reply);
        pawl_json_end(w);
        answer_json(c, 200, w);
    }
    call_done(c);
}

static void write_polled(struct call *c, pawl_json *w, const pawl_worker_reply *reply)
{
    pawl_json_key(w, "items");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->count; i++)
        write_lease(c, w, &reply->leases[i]);
    pawl_json_end(w);
}

static void polled(void *arg, const pawl_worker_reply *reply)
{
    replied(arg, reply, write_polled);
}

/* An array of texts, absent when `optional`; false: 400 was answered. */
static bool read_words(struct call *c, const char *key, bool optional, const char *const **ret,
                       size_t *retcount)
{
    pawl_str raw = call_member(c->json, key);
    struct json_iter it;
    const char **list = pawl_mem_alloc(c->mem, (PAWL_POLL_NAMES_MAX + 1) * sizeof(*list));
    size_t n = 0;
    bool ok = raw.ptr ? json_type(raw) == JSON_ARRAY : optional;
    if (ok && raw.ptr)
        for (json_begin(&it, raw); ok && json_next(&it); n++) {
            pawl_str text = {0};
            ok = n < PAWL_POLL_NAMES_MAX && json_type(it.value) == JSON_STRING;
            if (ok) {
                text = pawl_json_text(c->mem, it.value, "", "");
                ok = !memchr(text.ptr, 0, text.len);
            }
            if (ok)
                list[n] = text.ptr;
        }
    if (!ok)
        answer_error(c, 400, "invalid", "%s must be an array of at most %d texts", key,
                     PAWL_POLL_NAMES_MAX);
    *ret = list;
    *retcount = n;
    return ok;
}

void handle_poll(struct call *c)
{
    pawl_poll poll = {.size = sizeof(poll)};
    int64_t max;
    pawl_error err;
    if (!read_words(c, "activities", false, &poll.activities, &poll.activity_count) ||
        !read_words(c, "tags", true, &poll.tags, &poll.tag_count) ||
        !call_integer(c, c->json, "max", 1, PAWL_POLL_MAX, 1, &max) ||
        !call_integer(c, c->json, "wait_ms", 0, PAWL_POLL_WAIT_MAX, 0, &poll.wait_ms) ||
        !call_integer(c, c->json, "lock_ms", PAWL_LEASE_MIN, PAWL_LEASE_MAX, 30000,
                      &poll.lock_ms) ||
        !call_text(c, c->json, "worker", &poll.worker))
        return;
    poll.max = (uint32_t)max;
    call_linger(c);
    if (pawl_worker_poll(c->srv->client, &poll, polled, c, &err) == PAWL_OK)
        return;
    answer_failure(c, &err);
    call_done(c);
}

/* ---- By token ----------------------------------------------------------------------- */

static void recorded(struct call *c)
{
    if (c->reply.status != PAWL_OK)
        answer_failure(c, &c->reply.error);
    else
        answer_text(c, 200, NULL, pawl_s("{\"recorded\":true}"));
}

void handle_complete(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_COMPLETE, .name = c->args[0]};
    q.data = call_member(c->json, "result");
    call_submit(c, &q, recorded);
}

void handle_fail(struct call *c)
{
    pawl_request q = {
        .size = sizeof(q), .op = PAWL_OP_COMPLETE, .name = c->args[0], .failed = true};
    bool retryable = true;
    pawl_str raw = call_member(c->json, "error");
    if (!call_truth(c, c->json, "retryable", &retryable))
        return;
    q.final = !retryable;
    /* errors are texts for people; another value is kept as it is written */
    q.data = raw.ptr && json_type(raw) == JSON_STRING ? pawl_json_text(c->mem, raw, "", "")
             : raw.ptr                                ? raw
                                                      : pawl_s("failed");
    call_submit(c, &q, recorded);
}

static void write_changed(struct call *c, pawl_json *w, const pawl_worker_reply *reply)
{
    if (c->route->handle == handle_beat) {
        pawl_json_key(w, "cancelled");
        pawl_json_truth(w, reply->cancelled);
        render_number(w, "locked_until", reply->locked_until_ms);
    } else {
        pawl_json_key(w, "abandoned");
        pawl_json_truth(w, true);
    }
}

static void changed(void *arg, const pawl_worker_reply *reply)
{
    replied(arg, reply, write_changed);
}

void handle_beat(struct call *c)
{
    int64_t lock_ms;
    pawl_error err;
    if (!call_integer(c, c->json, "lock_ms", PAWL_LEASE_MIN, PAWL_LEASE_MAX, 30000, &lock_ms))
        return;
    call_away(c);
    pawl_str details = call_member(c->json, "details"); /* kept as it is written */
    if (pawl_worker_beat(c->srv->client, c->args[0], lock_ms, details, changed, c, &err) == PAWL_OK)
        return;
    answer_failure(c, &err);
    call_done(c);
}

void handle_abandon(struct call *c)
{
    int64_t delay_ms;
    pawl_error err;
    if (!call_integer(c, c->json, "delay_ms", 0, PAWL_DAYS(7), 0, &delay_ms))
        return;
    call_away(c);
    if (pawl_worker_abandon(c->srv->client, c->args[0], delay_ms, changed, c, &err) == PAWL_OK)
        return;
    answer_failure(c, &err);
    call_done(c);
}

/* ---- Workers ------------------------------------------------------------------------ */

static void write_words(pawl_json *w, const char *key, const pawl_str *words, size_t count)
{
    pawl_json_key(w, key);
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++)
        pawl_json_str(w, words[i]);
    pawl_json_end(w);
}

static void write_worker(pawl_json *w, const pawl_worker_info *info)
{
    pawl_json_object(w);
    render_text(w, "worker", info->worker);
    write_words(w, "activities", info->activities, info->activity_count);
    write_words(w, "tags", info->tags, info->tag_count);
    render_number(w, "seen_at", info->seen_ms);
    pawl_json_key(w, "polls");
    pawl_json_num(w, (int64_t)info->polls);
    pawl_json_key(w, "leases");
    pawl_json_array(w);
    for (size_t i = 0; i < info->held_count; i++) {
        pawl_json_object(w);
        render_text(w, "instance", info->held[i].instance);
        pawl_json_key(w, "id");
        pawl_json_num(w, (int64_t)info->held[i].id);
        render_text(w, "activity", info->held[i].activity);
        render_number(w, "locked_until", info->held[i].until_ms);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_end(w);
}

void handle_workers(struct call *c)
{
    pawl_worker_page page;
    pawl_error err;
    if (pawl_worker_list(c->srv->client, c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "items");
    pawl_json_array(w);
    for (size_t i = 0; i < page.count; i++)
        write_worker(w, &page.items[i]);
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
