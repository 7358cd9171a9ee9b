/* SPDX-License-Identifier: MIT */
/*
 * server/schedule_steer.c -- schedules over HTTP: the calls that write.
 *
 * Each is one submitted request; the answer goes out when the commit that records it is
 * durable.  That of a trigger waits for the pass after it, which makes the instance, so that a
 * client finds what it was told of.  A PUT is looked at by a reader first, which may have to read the file of a time zone.
 * Called by routes.c.
 */
#include "base/clock.h"
#include "server/condition.h"
#include "server/handlers.h"
#include "server/schedules.h"
#include "view/schedule_view.h"

#include <string.h>

#define SHOWN_NEXT 3
#define BEGIN_MS   5000 /* a triggered run is waited for */

static void answer_refused(struct call *c)
{
    const pawl_error *err = &c->reply.error;
    if (condition_failed(c))
        return;
    if (c->data && err->status == PAWL_LIMIT) /* a PUT */
        schedule_refuse(c, err);
    else
        answer_failure(c, err);
}

/* An answer with the name of the schedule; NULL: the call was refused, and that was answered. */
static pawl_json *begin_answer(struct call *c)
{
    if (c->reply.status != PAWL_OK) {
        answer_refused(c);
        return NULL;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "name");
    pawl_json_cstr(w, c->args[0]);
    return w;
}

/* ---- Store ----------------------------------------------------------------------------- */

struct put {
    pawl_schedule spec;
    int64_t next[SHOWN_NEXT];
    size_t next_count;
};

static void put_done(struct call *c)
{
    const struct put *p = c->data;
    if (c->reply.status == PAWL_NOT_FOUND) { /* a wrong body, not a wrong path */
        answer_error(c, 400, "unknown_orchestration", "%s", c->reply.error.text);
        return;
    }
    pawl_json *w = begin_answer(c);
    if (!w)
        return;
    pawl_json_key(w, "revision");
    pawl_json_num(w, (int64_t)c->reply.revision);
    render_preview_members(w, p->spec.zone, p->next, p->next_count);
    pawl_json_end(w);
    answer_json(c, c->reply.revision == 1 ? 201 : 200, w);
}

void handle_put_schedule(struct call *c)
{
    struct put *p = pawl_mem_alloc(c->mem, sizeof(*p));
    pawl_request q = {
        .size = sizeof(q), .op = PAWL_OP_SCHEDULE_PUT, .name = c->args[0], .data = c->json};
    pawl_error err;
    c->data = p;
    if (!condition_read(c, &q.if_revision))
        return;
    if (pawl_schedule_from_json(c->json, c->mem, &p->spec, &err) != PAWL_OK ||
        pawl_schedule_next(&p->spec, pawl_client_now(c->srv->client), p->next, SHOWN_NEXT,
                           &p->next_count, &err) != PAWL_OK) {
        schedule_refuse(c, &err);
        return;
    }
    reader_keep();
    call_hand_in(c, &q, put_done);
}

/* ---- Steer ----------------------------------------------------------------------------- */

static void steered(struct call *c, const char *key)
{
    pawl_json *w = begin_answer(c);
    if (!w)
        return;
    if (c->reply.instance[0]) {
        pawl_json_key(w, "instance");
        pawl_json_cstr(w, c->reply.instance);
    }
    pawl_json_key(w, key);
    pawl_json_truth(w, true);
    pawl_json_end(w);
    answer_json(c, strcmp(key, "removed") == 0 ? 200 : 202, w);
}

static void accepted(struct call *c)
{
    steered(c, "accepted");
}

static void removed(struct call *c)
{
    steered(c, "removed");
}

#define STEER_REQUEST(OP)                                                                          \
    (pawl_request)                                                                                 \
    {                                                                                              \
        .size = sizeof(pawl_request), .op = PAWL_OP_SCHEDULE_##OP, .name = c->args[0]              \
    }

void handle_remove_schedule(struct call *c)
{
    pawl_request q = STEER_REQUEST(REMOVE);
    if (condition_read(c, &q.if_revision))
        call_submit(c, &q, removed);
}

void handle_pause_schedule(struct call *c)
{
    pawl_request q = STEER_REQUEST(PAUSE);
    const char *reason;
    if (!call_reason(c, &reason))
        return;
    q.data = pawl_s(reason);
    call_submit(c, &q, accepted);
}

void handle_resume_schedule(struct call *c)
{
    pawl_request q = STEER_REQUEST(RESUME);
    call_submit(c, &q, accepted);
}

/* ---- Trigger --------------------------------------------------------------------------- */

static bool is_there(struct call *c)
{
    pawl_state state;
    return pawl_client_state(c->srv->client, c->args[0], c->mem, &state, NULL) == PAWL_OK;
}

static void answer_triggered(struct call *c, bool started)
{
    pawl_json *w = pawl_json_new(c->mem);
    c->place.on_back = NULL;
    pawl_json_object(w);
    pawl_json_key(w, "name");
    pawl_json_cstr(w, c->args[1]);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, c->args[0]);
    pawl_json_key(w, "accepted");
    pawl_json_truth(w, true);
    pawl_json_key(w, "started");
    pawl_json_truth(w, started);
    pawl_json_end(w);
    answer_json(c, 202, w);
}

/* [reader] Answer when the instance is there. */
static void look_for_run(struct call *c)
{
    if (!is_there(c))
        return;
    wait_leave(c);
    answer_triggered(c, true);
}

/* [reader] Time is up: the start is stored, and will be made. */
static void tell_run(struct call *c)
{
    answer_triggered(c, is_there(c));
}

/* From here on the call waits for an instance: args[0] names that, args[1] the schedule. */
static void triggered(struct call *c)
{
    if (c->reply.status != PAWL_OK || !c->reply.instance[0]) {
        accepted(c);
        return;
    }
    c->args[1] = c->args[0];
    c->args[0] = pawl_mem_dup(c->mem, pawl_s(c->reply.instance)).ptr;
    struct long_poll poll = {&c->srv->begin_waiting, look_for_run, tell_run};
    poll_until(c, poll, clock_mono_ms() + BEGIN_MS);
}

void handle_trigger_schedule(struct call *c)
{
    pawl_request q = STEER_REQUEST(TRIGGER);
    if (!call_check_key(c))
        return;
    q.idempotency_key = c->given.idempotency_key;
    call_submit(c, &q, triggered);
}

void handle_backfill_schedule(struct call *c)
{
    pawl_request q = STEER_REQUEST(BACKFILL);
    q.data = c->json;
    call_submit(c, &q, accepted);
}
