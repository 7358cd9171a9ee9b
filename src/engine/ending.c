/* SPDX-License-Identifier: MIT */
/*
 * engine/ending.c -- how an execution ends.
 *
 * The code returned, or it was ended from outside.  Either way: first the
 * open tasks are withdrawn, in id order, each with a recorded reason (abandoned
 * children are left alone; before a ContinueAsNew, events and updates no code was told of
 * go back to the mailbox; updates that wait for their answer are rejected); then the END event, always last; then deferred
 * functions, which may free what the return value pointed at.
 *
 * What the return means, strongest first: cancellation was requested
 * (Cancelled), pawl_continue_as_new() was called (ContinuedAsNew), ok
 * (Completed), not ok (Failed).  A value over the payload limit is a failure
 * with attrs "refused", which replay takes as it is (SEMANTICS 5, 22-24, 30).
 *
 * Called by: execution_run(), replay.c, the runtime (execution_finish).
 */
#include "base/misuse.h"
#include "engine/engine_private.h"
#include "pawl/json.h"

#include <stdio.h>

static void verdict(const execution *x, struct decision *d);
static void refuse_large(const execution *x, struct decision *d, const char *what);
static void check_leftover(execution *x, const struct decision *d);
static void withdraw_open(execution *x, int kind);
static void end_recorded(execution *x, const struct decision *d);
static void end_live(execution *x, struct decision *d);
static void set_ending(execution *x, int kind, pawl_str value, pawl_str version);

void ending_of_return(execution *x)
{
    struct decision d;

    verdict(x, &d);
    if (UNLIKELY(x->step) && d.kind != PAWL_EV_ORCHESTRATION_CANCELLED)
        remote_end_refusal(x, d.refusal, sizeof(d.refusal));
    if (x->phase == PHASE_REPLAY)
        check_leftover(x, &d);
    withdraw_open(x, d.kind);
    if (x->phase == PHASE_REPLAY)
        end_recorded(x, &d);
    else
        end_live(x, &d);
    scope_run_deferred(x);
}

void ending_replayed(execution *x, const pawl_event *e)
{
    set_ending(x, e->kind, e->data, pawl_json_text(&x->mem, e->attrs, "/version", ""));
}

enum engine_outcome execution_finish(execution *x, int kind, pawl_str reason, int64_t now_ms,
                                     struct turn *turn)
{
    if (!execution_enter(x, turn, now_ms, NULL))
        return x->outcome;
    if (setjmp(x->guard) == 0 && x->outcome != ENGINE_ENDED) {
        assert_that(event_class(kind) == CLASS_END && x->last_seq > 0);
        x->phase = PHASE_LIVE;
        x->forced = true;
        x->budget.most = SIZE_MAX;
        if (now_ms > x->now_ms)
            x->now_ms = now_ms;
        withdraw_open(x, kind);
        struct step *s = decide_append(x, kind, 0, (pawl_str){0}, reason);
        s->event.attrs = pawl_s("{\"forced\":true}");
        set_ending(x, kind, reason, (pawl_str){0});
        scope_run_deferred(x);
    }
    return execution_leave(x);
}

/* What the return of the code means, before any limit of the record. */
static void verdict(const execution *x, struct decision *d)
{
    *d = (struct decision){.api = "return"};
    if (x->cancel_requested) {
        d->kind = PAWL_EV_ORCHESTRATION_CANCELLED;
        d->data = x->cancel_reason;
    } else if (x->continuing) {
        d->kind = PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW;
        d->data = x->next_input;
        d->version = x->next_version;
        (void)snprintf(d->refusal, sizeof(d->refusal), "%s", x->next_refusal);
        refuse_large(x, d, "input of continue as new");
    } else {
        d->kind = x->returned.ok ? PAWL_EV_ORCHESTRATION_COMPLETED : PAWL_EV_ORCHESTRATION_FAILED;
        d->data = x->returned.value;
        if (is_odd(d->data)) {
            (void)snprintf(d->refusal, sizeof(d->refusal), "output has a length and no bytes");
            d->data = (pawl_str){0};
        }
        refuse_large(x, d, x->returned.ok ? "output" : "error text");
    }
}

static void refuse_large(const execution *x, struct decision *d, const char *what)
{
    size_t max = x->spec.rules.payload_max;

    if (max && d->data.len > max)
        (void)snprintf(d->refusal, sizeof(d->refusal), "%s is %zu bytes, limit %zu (--max-payload)",
                       what, d->data.len, max);
}

static void withdraw_open(execution *x, int kind)
{
    const char *reason = "orchestration ended";

    if (kind == PAWL_EV_ORCHESTRATION_COMPLETED)
        reason = "orchestration completed";
    else if (kind == PAWL_EV_ORCHESTRATION_FAILED)
        reason = "orchestration failed";
    else if (kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW)
        reason = "orchestration continued as new";
    else if (kind == PAWL_EV_ORCHESTRATION_CANCELLED)
        reason = "orchestration cancelled";
    else if (kind == PAWL_EV_ORCHESTRATION_TERMINATED)
        reason = "orchestration terminated";
    while (kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW && x->unseen_head)
        decide_return(x, x->unseen_head, reason, NULL);
    update_reject_left(x, reason);
    for (struct task *t = x->open_head, *next; t; t = next) {
        next = t->open_next;
        if (!t->abandon)
            decide_cancel(x, t, reason, "return", NULL);
    }
}

/* ---- Replaying ---------------------------------------------------------- */

/* The code returned: only withdrawals and the END may follow. */
static void check_leftover(execution *x, const struct decision *d)
{
    const pawl_event *e = decide_peek(x);
    char recorded[128];

    if (!e) {
        finding_set(x, NULL, d,
                    "nondeterministic: the code returned where the recorded history waits, after "
                    "event %llu",
                    (unsigned long long)x->last_seq);
        engine_stop(x, ENGINE_MISMATCH);
    }
    if (kind_belongs_to_end(e->kind) || event_class(e->kind) == CLASS_END)
        return;
    finding_describe_event(e, recorded, sizeof(recorded));
    finding_set(x, e, d,
                "nondeterministic: history left over at return: event %llu is %s, but the code "
                "has returned",
                (unsigned long long)e->seq, recorded);
    engine_stop(x, ENGINE_MISMATCH);
}

static void end_recorded(execution *x, const struct decision *d)
{
    check_leftover(x, d);
    const pawl_event *e = decide_peek(x);
    bool same = e->kind == d->kind && pawl_str_eq(e->data, d->data);

    if (!same && !event_is_refused(e)) {
        char recorded[96];
        finding_describe_event(e, recorded, sizeof(recorded));
        finding_set(x, e, d,
                    "nondeterministic: ending mismatch at event %llu: recorded %s (%zu bytes), the "
                    "code now ends with %s (%zu bytes)",
                    (unsigned long long)e->seq, recorded, e->data.len,
                    pawl_event_kind_name(d->kind), d->data.len);
        engine_stop(x, ENGINE_MISMATCH);
    }
    decide_met(x, e, NULL);
    ending_replayed(x, e);
}

/* ---- Live --------------------------------------------------------------- */

static void end_live(execution *x, struct decision *d)
{
    if (d->refusal[0]) {
        d->kind = PAWL_EV_ORCHESTRATION_FAILED;
        d->data = pawl_s(d->refusal);
        d->version = (pawl_str){0};
    }
    struct step *s = decide_append(x, d->kind, 0, (pawl_str){0}, d->data);

    if (d->refusal[0] || d->version.len) {
        pawl_json *w = pawl_json_new(x->turn->mem);
        pawl_json_object(w);
        pawl_json_key(w, d->refusal[0] ? "refused" : "version");
        pawl_json_str(w, d->refusal[0] ? pawl_s(d->refusal) : d->version);
        pawl_json_end(w);
        s->event.attrs = pawl_json_done(w);
        s->version = d->version.len ? arena_dup(x->turn->mem, d->version) : (pawl_str){0};
    }
    set_ending(x, d->kind, d->data, d->version);
}

static void set_ending(execution *x, int kind, pawl_str value, pawl_str version)
{
    x->ending = (struct execution_ending){
        .kind = kind, .value = arena_dup(&x->mem, value), .version = arena_dup(&x->mem, version)};
    x->outcome = ENGINE_ENDED;
    x->blocked = false;
}
