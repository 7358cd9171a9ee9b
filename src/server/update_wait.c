/* SPDX-License-Identifier: MIT */
/*
 * server/update_wait.c -- POST …/updates/{name} and GET …/updates/{update}.
 *
 * The walk of a POST: it is submitted, and hangs in the runtime until the code has answered or its
 * time is over (runtime/instance/updates.h); it holds no thread, and a client that goes is
 * withdrawn.  A key that was used before, and a GET, look for the answer: a reader looks into the
 * mail and the histories, and the call sleeps in the list of its instance until a commit answers an
 * update of it, ends it or removes it (as state_wait.c).
 */
#include "base/clock.h"
#include "server/handlers.h"
#include "view/render.h"

#define WAIT_DEFAULT_MS 10000
#define WAIT_MAX_MS     60000

/* What a call is about; c->data. */
struct update_ask {
    pawl_str id;          /* of the update */
    const pawl_str *body; /* what it must have asked; NULL: that is not known */
    bool repeated;
};

static void look(struct call *c);

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

static void answer_found(struct call *c, pawl_status rc, const pawl_result *r,
                         const pawl_error *err)
{
    const struct update_ask *a = c->data;
    if (rc == PAWL_TIMEOUT)
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
    c->on_back = NULL;
    pawl_status rc = find(c, &r, &err);
    answer_found(c, rc, &r, &err);
}

/* Into the list first, so that no answer between look and sleep is lost. */
static void look_while_listed(struct call *c)
{
    pthread_mutex_lock(&c->srv->lock);
    wait_hang(c, &c->srv->update_waiting);
    c->looks = true;
    pthread_mutex_unlock(&c->srv->lock);
    reader_post(c, look);
}

/* A commit answered, or time is up, or the client is gone. */
static void look_again(struct call *c)
{
    if (c->asker == ASKER_LOST)
        call_drop(c);
    else if (c->revoked)
        answer_error(c, 401, "unauthorized", "the token was revoked");
    else if (c->asker == ASKER_HERE && clock_mono_ms() < c->until.key)
        look_while_listed(c);
    else
        reader_post(c, answer_now);
}

static void sleep_on(struct call *c)
{
    wait_sleep(c, look_again);
}

/* [reader] Is it answered? */
static void look(struct call *c)
{
    pawl_result r;
    pawl_error err;
    c->on_back = sleep_on;
    pawl_status rc = find(c, &r, &err);
    if (rc == PAWL_TIMEOUT)
        return;
    wait_leave(c);
    c->on_back = NULL;
    answer_found(c, rc, &r, &err);
}

static void look_until(struct call *c, int64_t until_mono_ms)
{
    c->until.key = until_mono_ms;
    if (clock_mono_ms() < until_mono_ms)
        look_while_listed(c);
    else
        reader_post(c, answer_now);
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
    if (c->asker == ASKER_LOST)
        call_drop(c);
    else if (c->revoked)
        answer_error(c, 401, "unauthorized", "the token was revoked");
    else if (a->repeated)
        look_until(c, c->until.key);
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
    c->until.key = clock_mono_ms() + timeout;
    c->on_back = asked;
    call_linger(c);
    if (pawl_client_submit(c->srv->client,
                           PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = c->args[0],
                                        .name = c->args[1], .data = *body,
                                        .idempotency_key = c->idempotency_key, .wait_ms = timeout),
                           on_reply, c, &err) == PAWL_OK)
        return;
    answer_failure(c, &err);
    call_done(c);
}
