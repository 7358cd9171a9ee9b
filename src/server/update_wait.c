/* SPDX-License-Identifier: MIT */
/*
 * server/update_wait.c -- POST …/updates/{name} and GET …/updates/{update}.
 *
 * The walk of a POST: it is submitted, and hangs in the runtime until the code has answered or its
 * time is over (runtime/instance/updates.h); it holds no thread, and a client that goes is
 * withdrawn.  A key that was used before, and a GET, look for the answer: a reader looks into the
 * mail and the histories, and the call sleeps in the list of its instance until a commit answers an
 * update of it, ends it or removes it (long_poll.c).
 */
#include "base/clock.h"
#include "base/json.h"
#include "server/handlers.h"
#include "view/render.h"

#define WAIT_DEFAULT_MS 10000
#define WAIT_MAX_MS     60000

/* What a call is about; c->data. */
struct update_ask {
    bool started;         /* it came with the start that c->reply is about */
    pawl_str id;          /* of the update */
    const pawl_str *body; /* what it must have asked; NULL: that is not known */
    bool repeated;
};

/* ---- Answers --------------------------------------------------------------------------- */

static void answer_result(struct call *c, pawl_str id, pawl_str value)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "update");
    pawl_json_str(w, id);
    render_payload(w, c->mem, "result", "encoding", value);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

static void answer_open(struct call *c, pawl_str id)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "update");
    pawl_json_str(w, id);
    pawl_json_end(w);
    answer_json(c, 202, w);
}

static void answer_rejected(struct call *c, pawl_str text)
{
    answer_error(c, 409, "rejected", "%.*s", PAWL_FMT(text));
}

/* What the check of a wait refused is well formed: 422, and not 400. */
static void answer_refused(struct call *c, const pawl_error *err)
{
    if (err->status == PAWL_INVALID)
        answer_error(c, 422, "refused", "%s", err->text);
    else
        answer_failure(c, err);
}

/* ---- Looking for it -------------------------------------------------------------------- */

static pawl_status find(struct call *c, pawl_result *ret, pawl_error *err)
{
    const struct update_ask *a = c->data;
    *err = (pawl_error){0};
    return pawl_client_update_result(c->srv->client, c->args[0], a->id.ptr, a->body, 0, c->mem, ret,
                                     err);
}

/* The start happened, whatever became of its update. */
static void answer_started(struct call *c, pawl_status rc, const pawl_result *r,
                           const pawl_error *err)
{
    const struct update_ask *a = c->data;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    start_members(c, w);
    pawl_json_key(w, "update");
    pawl_json_object(w);
    render_text(w, "update", a->id);
    if (rc == PAWL_OK && r->ok)
        render_payload(w, c->mem, "result", "encoding", r->value);
    else if (rc == PAWL_OK)
        render_text(w, "rejected", r->value);
    else if (rc != PAWL_TIMEOUT)
        render_text(w, "error", pawl_s(err->text));
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, c->reply.created ? 201 : 200, w);
}

static void answer_found(struct call *c, pawl_status rc, const pawl_result *r,
                         const pawl_error *err)
{
    const struct update_ask *a = c->data;
    if (a->started)
        answer_started(c, rc, r, err);
    else if (rc == PAWL_TIMEOUT)
        answer_open(c, a->id);
    else if (rc != PAWL_OK)
        answer_failure(c, err);
    else if (r->ok)
        answer_result(c, a->id, r->value);
    else
        answer_rejected(c, r->value);
}

/* [reader] As it is now. */
static void answer_now(struct call *c)
{
    pawl_result r;
    pawl_error err;
    c->place.on_back = NULL;
    pawl_status rc = find(c, &r, &err);
    answer_found(c, rc, &r, &err);
}

/* [reader] Is it answered? */
static void look(struct call *c)
{
    pawl_result r;
    pawl_error err;
    pawl_status rc = find(c, &r, &err);
    if (rc == PAWL_TIMEOUT)
        return;
    wait_leave(c);
    c->place.on_back = NULL;
    answer_found(c, rc, &r, &err);
}

static void look_until(struct call *c, int64_t until_mono_ms)
{
    poll_until(c, (struct long_poll){&c->srv->update_waiting, look, answer_now}, until_mono_ms);
}

void handle_update_result(struct call *c)
{
    int64_t wait_ms;
    if (!call_number(c, "wait_ms", 0, WAIT_MAX_MS, 0, &wait_ms))
        return;
    struct update_ask *a = pawl_mem_alloc(c->mem, sizeof(*a));
    *a = (struct update_ask){.id = pawl_s(c->args[1])};
    c->data = a;
    look_until(c, clock_mono_ms() + wait_ms);
}

/* ---- With a start ------------------------------------------------------------------------ */

bool read_start_update(struct call *c, pawl_request *q)
{
    pawl_str object = call_field(c, c->json, "update");
    int64_t timeout;
    if (!object.ptr || json_type(object) == JSON_NULL)
        return true;
    if (!shape_check(c, object, &takes_start_update, "update", 0) ||
        !call_text(c, object, "name", &q->update) || !call_text(c, object, "key", &q->update_key) ||
        !call_integer(c, object, "timeout_ms", 0, WAIT_MAX_MS, WAIT_DEFAULT_MS, &timeout))
        return false;
    if (!q->update) {
        answer_error(c, 400, "invalid", "say which update: {\"name\":\"NAME\",\"data\":…}");
        return false;
    }
    q->update_data = call_member(object, "data");
    struct update_ask *a = pawl_mem_alloc(c->mem, sizeof(*a));
    pawl_str *body = pawl_mem_alloc(c->mem, sizeof(*body));
    *body = q->update_data;
    *a = (struct update_ask){
        .started = true, .id = pawl_s(q->update_key ? q->update_key : "start"), .body = body};
    c->data = a;
    c->place.until.key = clock_mono_ms() + timeout;
    return true;
}

bool follow_start_update(struct call *c)
{
    const struct update_ask *a = c->data;
    if (!a || !a->started)
        return false;
    c->args[0] = pawl_mem_dup(c->mem, pawl_s(c->reply.instance)).ptr;
    look_until(c, c->place.until.key);
    return true;
}

/* ---- Asking ---------------------------------------------------------------------------- */

/* On the engine thread; the call is ours until call_done(). */
static void on_reply(void *arg, const pawl_reply *reply)
{
    struct call *c = arg;
    struct update_ask *a = c->data;
    a->id = pawl_mem_dup(c->mem, reply->update);
    a->repeated = reply->repeated;
    if (reply->status != PAWL_OK)
        answer_refused(c, &reply->error);
    else if (reply->answered && reply->rejected)
        answer_rejected(c, reply->value);
    else if (reply->answered)
        answer_result(c, a->id, reply->value);
    else
        answer_open(c, a->id);
    call_done(c);
}

/* Back on the loop: the answer stands, unless the key was used before. */
static void asked(struct call *c)
{
    const struct update_ask *a = c->data;
    if (c->place.asker == ASKER_LOST)
        call_drop(c);
    else if (c->caller.revoked)
        answer_error(c, 401, "unauthorized", "the token was revoked");
    else if (a->repeated)
        look_until(c, c->place.until.key);
}

void handle_update(struct call *c)
{
    int64_t timeout;
    pawl_error err;
    if (!call_check_key(c) ||
        !call_number(c, "timeout_ms", 0, WAIT_MAX_MS, WAIT_DEFAULT_MS, &timeout))
        return;
    struct update_ask *a = pawl_mem_alloc(c->mem, sizeof(*a));
    pawl_str *body = pawl_mem_alloc(c->mem, sizeof(*body));
    *body = buf_slice(&c->body);
    *a = (struct update_ask){.body = body};
    c->data = a;
    c->place.until.key = clock_mono_ms() + timeout;
    c->place.on_back = asked;
    call_linger(c);
    if (pawl_client_submit(c->srv->client,
                           PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = c->args[0],
                                        .name = c->args[1], .data = *body,
                                        .idempotency_key = c->given.idempotency_key,
                                        .wait_ms = timeout),
                           on_reply, c, &err) == PAWL_OK)
        return;
    answer_failure(c, &err);
    call_done(c);
}
