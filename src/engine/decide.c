/* SPDX-License-Identifier: MIT */
/*
 * engine/decide.c -- a call of the code becomes an event, or meets one.
 *
 * Live, a decision is appended to the turn.  Replaying, it must be the very next
 * recorded event that is not a MARK: same kind, name and input; for timers the
 * delay, for children instance and version, for cancels the task.  A decision
 * too many is a *frontier* mismatch, a different one a *schedule* mismatch, one
 * too few is found by replay.c and ending.c (SEMANTICS 27).
 *
 * A call that breaks a limit is refused: it takes its id, is recorded as
 * scheduled (attrs "refused", no input) and closed by the event right behind
 * it.  Replay takes both from history and never asks the limit again, so
 * raising a limit cannot change a replay (SEMANTICS 30).
 *
 * Called by: api_*.c on the fiber, ending.c outside it.
 */
#include "base/limits.h"
#include "base/vec.h"
#include "engine/engine_private.h"

#include <stdio.h>
#include <string.h>

#define REFUSED_ATTRS "{\"kind\":\"refused\",\"attempts\":0}"

static void compare(execution *x, const pawl_event *e, const struct decision *d);
static void compare_answer(execution *x, const pawl_event *e, const struct decision *d);
static void compare_child(execution *x, const pawl_event *e, const struct decision *d);
NORETURN static void differs(execution *x, const pawl_event *e, const struct decision *d,
                             const char *format, ...) PAWL_PRINTF(4, 5);
NORETURN static void frontier(execution *x, const pawl_event *e, const struct decision *d);
static struct task *start_recorded(execution *x, struct decision *d);
static struct task *start_live(execution *x, struct decision *d);
static struct task *refuse_live(execution *x, struct decision *d);
static void recall_refusal(execution *x, const pawl_event *e, struct decision *d);
static pawl_str attrs_of(execution *x, const struct decision *d, struct step *s);
static pawl_str attrs_refused(pawl_mem *mem, const char *text);

struct task *decide_start(execution *x, struct decision *d)
{
    d->ref = x->task_count + 1;
    d->name = decide_name(d->name);
    return x->phase == PHASE_REPLAY ? start_recorded(x, d) : start_live(x, d);
}

void decide_plain(execution *x, struct decision *d, pawl_str attrs)
{
    if (x->phase == PHASE_REPLAY) {
        recall_refusal(x, decide_match(x, d), d);
        return;
    }
    bool refused = d->refusal[0] != '\0';
    const pawl_str none = {0};
    struct step *s = decide_append(x, d->kind, d->ref, d->name, refused ? none : d->data);

    s->event.attrs = refused ? attrs_refused(x->turn->mem, d->refusal) : attrs;
    s->refused = refused;
}

void decide_cancel(execution *x, struct task *t, const char *reason, const char *api, void *site)
{
    struct decision d = {.kind = kind_cancel_of(t->kind), .ref = t->id, .api = api, .site = site};

    if (x->phase == PHASE_REPLAY) {
        (void)decide_match(x, &d);
    } else {
        struct step *s = decide_append(x, d.kind, t->id, (pawl_str){0}, pawl_s(reason));
        s->target_rid = t->rid;
        s->asks = task_asks(t);
        s->child = t->child.len && !s->asks ? arena_dup(x->turn->mem, t->child) : (pawl_str){0};
    }
    task_close(x, t, TASK_CANCELLED, pawl_s("cancelled"));
    t->result = PAWL_RESULT_CANCELLED;
}

/* Does the history say that this wait was given up here?  Older ones do not, and are believed;
 * there were no updates then. */
static bool meets_withdrawal(execution *x, const struct task *t, void *site)
{
    if (t->update) {
        struct decision d = {.kind = kind_cancel_of(t->kind),
                             .ref = t->id,
                             .api = "the end of a wait",
                             .site = site};
        return decide_match(x, &d) != NULL;
    }
    const pawl_event *e = decide_peek(x);

    if (!e || e->kind != kind_cancel_of(t->kind) || e->ref != t->id)
        return false;
    decide_met(x, e, site);
    return true;
}

void decide_return(execution *x, struct task *t, const char *reason, void *site)
{
    unseen_remove(x, t);
    if (x->phase == PHASE_REPLAY) {
        if (!meets_withdrawal(x, t, site)) {
            x->dropped++;
            return;
        }
    } else {
        (void)decide_append(x, kind_cancel_of(t->kind), t->id, (pawl_str){0}, pawl_s(reason));
        mailbox_give_back(x, t);
    }
    if (t->update)
        update_given_back(x, t);
    t->state = TASK_CANCELLED;
    t->result = PAWL_RESULT_CANCELLED;
    t->value = pawl_s("cancelled");
}

void decide_leave(execution *x, struct task *t, const char *reason, void *site)
{
    if (x->phase == PHASE_REPLAY && !meets_withdrawal(x, t, site)) {
        channel_close_wait(t); /* it takes nothing any more */
        t->channel = NULL;
        return;
    }
    if (x->phase == PHASE_LIVE)
        decide_append(x, kind_cancel_of(t->kind), t->id, (pawl_str){0}, pawl_s(reason))->asks =
            task_asks(t);
    task_close(x, t, TASK_CANCELLED, pawl_s("cancelled"));
    t->result = PAWL_RESULT_CANCELLED;
}

const pawl_event *decide_peek(execution *x)
{
    while (x->cursor < x->event_count) {
        const pawl_event *e = &x->events[x->cursor];
        if (event_class(e->kind) != CLASS_MARK)
            return e;
        decide_met(x, e, NULL);
    }
    return NULL;
}

void decide_met(execution *x, const pawl_event *e, void *site)
{
    x->cursor++;
    x->last_seq = e->seq;
    if (x->spec.trace)
        x->spec.trace(x->spec.trace_user, TRACE_EVENT, e, engine_site(x, site));
}

struct step *decide_append(execution *x, int kind, uint64_t ref, pawl_str name, pawl_str data)
{
    pawl_mem *mem = x->turn->mem;

    return decide_record(x, kind, ref, arena_dup(mem, name), arena_dup(mem, data));
}

struct step *decide_record(execution *x, int kind, uint64_t ref, pawl_str name, pawl_str data)
{
    struct turn *turn = x->turn;
    uint32_t max = x->spec.rules.history_max;

    assert_that(turn && x->phase == PHASE_LIVE);
    if (max && x->last_seq >= max && !x->forced) {
        finding_set(x, NULL, NULL,
                    "the history has %llu events, limit %u (--max-history): raise the limit, or "
                    "continue as new earlier",
                    (unsigned long long)x->last_seq, (unsigned)max);
        engine_stop(x, ENGINE_LIMIT);
    }
    if (turn->count == turn->cap)
        list_grow(turn->mem, &turn->steps, &turn->cap, turn->count, sizeof(*turn->steps));
    pawl_event event = {.execution = x->spec.execution,
                        .seq = x->last_seq + 1,
                        .ref = ref,
                        .kind = kind,
                        .name = name,
                        .data = data,
                        .at_ms = x->now_ms};
    struct step *s = &turn->steps[turn->count++];
    *s = (struct step){.event = event};
    x->last_seq++;
    return s;
}

void decide_discard(execution *x, uint64_t message_id)
{
    struct turn *turn = x->turn;

    if (turn->discarded_count == turn->discarded_cap)
        list_grow(turn->mem, &turn->discarded, &turn->discarded_cap, turn->discarded_count,
                  sizeof(*turn->discarded));
    turn->discarded[turn->discarded_count++] = message_id;
}

pawl_str decide_name(pawl_str name)
{
    if (name.len > LIMIT_NAME_BYTES)
        name.len = LIMIT_NAME_BYTES;
    while (name.len > 0 && !utf8_valid(name))
        name.len--; /* a cut character, or not text at all */
    return name;
}

/* ---- Replaying ---------------------------------------------------------- */

const pawl_event *decide_match(execution *x, const struct decision *d)
{
    const pawl_event *e = decide_peek(x);

    if (!e || event_class(e->kind) != CLASS_DECISION)
        frontier(x, e, d);
    compare(x, e, d);
    decide_met(x, e, d->site);
    return e;
}

static void compare(execution *x, const pawl_event *e, const struct decision *d)
{
    if (e->kind != d->kind)
        differs(x, e, d, "another kind of call");
    if (d->kind == PAWL_EV_CUSTOM_STATUS_UPDATED)
        return;
    if (e->ref != d->ref)
        differs(x, e, d, "recorded for task #%llu", (unsigned long long)e->ref);
    if (kind_schedule_of(d->kind))
        return; /* a cancel: kind and task say it all */
    if (!pawl_str_eq(e->name, d->name))
        differs(x, e, d, "another name");
    if (d->kind == PAWL_EV_UPDATE_ANSWERED)
        compare_answer(x, e, d);
    if (event_is_refused(e) || d->left)
        return;
    if (d->kind == PAWL_EV_STATE_CHANGED && state_is_cleared(e) != d->cleared)
        differs(x, e, d, "recorded is that it was %s", d->cleared ? "set" : "cleared");
    if (!pawl_str_eq(e->data, d->data)) {
        size_t at = 0;
        while (at < e->data.len && at < d->data.len && e->data.ptr[at] == d->data.ptr[at])
            at++;
        differs(x, e, d, "input differs at byte %zu (recorded %zu bytes, now %zu)", at, e->data.len,
                d->data.len);
    }
    if (d->kind == PAWL_EV_TIMER_CREATED) {
        int64_t delay = pawl_json_int(e->attrs, "/delay_ms", d->delay_ms);
        if (delay != d->delay_ms)
            differs(x, e, d, "recorded delay is %lld ms", (long long)delay);
    }
    if (d->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED || kind_is_sent(d->kind))
        compare_child(x, e, d);
}

/* The text of an end may change between versions: it is not compared. */
static void compare_answer(execution *x, const pawl_event *e, const struct decision *d)
{
    bool rejected = pawl_json_bool(e->attrs, "/rejected", false);

    if (pawl_json_bool(e->attrs, "/left", false) != d->left)
        differs(x, e, d, "recorded is that %s", d->left ? "the code answered" : "the end did");
    if (rejected != d->rejected && !event_is_refused(e))
        differs(x, e, d, "recorded is that it was %s", rejected ? "rejected" : "answered");
}

static void compare_child(execution *x, const pawl_event *e, const struct decision *d)
{
    struct arena_mark mark = arena_mark(&x->mem);
    pawl_str child = pawl_json_text(&x->mem, e->attrs, "/instance", "");
    pawl_str version = pawl_json_text(&x->mem, e->attrs, "/version", "");

    if (!pawl_str_eq(child, d->child))
        differs(x, e, d, "recorded instance is '%.*s', now '%.*s'", PAWL_FMT(child),
                PAWL_FMT(d->child));
    if (!pawl_str_eq(version, d->version))
        differs(x, e, d, "recorded version is '%.*s', now '%.*s'", PAWL_FMT(version),
                PAWL_FMT(d->version));
    arena_rewind(&x->mem, mark);
}

static void differs(execution *x, const pawl_event *e, const struct decision *d, const char *format,
                    ...)
{
    char why[160], recorded[96], attempted[96];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    finding_describe_event(e, recorded, sizeof(recorded));
    finding_describe_call(d, attempted, sizeof(attempted));
    finding_set(x, e, d,
                "nondeterministic: schedule mismatch at event %llu: recorded %s, the code "
                "now calls %s: %s",
                (unsigned long long)e->seq, recorded, attempted, why);
    engine_stop(x, ENGINE_MISMATCH);
}

static void frontier(execution *x, const pawl_event *e, const struct decision *d)
{
    char recorded[128] = "nothing: the recorded history waits here", attempted[128];

    if (e)
        finding_describe_event(e, recorded, sizeof(recorded));
    finding_describe_call(d, attempted, sizeof(attempted));
    finding_set(x, e, d,
                "nondeterministic: new schedules introduced at same decision frontier: after event "
                "%llu the code now calls %s, recorded is %s",
                (unsigned long long)x->last_seq, attempted, recorded);
    engine_stop(x, ENGINE_MISMATCH);
}

static struct task *start_recorded(execution *x, struct decision *d)
{
    const pawl_event *e = decide_match(x, d);
    struct task *t = task_from_event(x, e);

    recall_refusal(x, e, d);
    if (!event_is_refused(e))
        return t;
    int closing = kind_refusal_of(e->kind);
    if (closing) {
        const pawl_event *c = decide_peek(x);
        if (!c || c->kind != closing || c->ref != e->ref)
            finding_corrupt(x, e, "event %llu: a refused call is not followed by its failure",
                            (unsigned long long)e->seq);
        decide_met(x, c, d->site);
        task_close(x, t, TASK_FAILED, c->data);
        t->result = PAWL_RESULT_REFUSED;
    }
    return t;
}

/* Whether a call was refused, and why, is what was recorded. */
static void recall_refusal(execution *x, const pawl_event *e, struct decision *d)
{
    d->refusal[0] = '\0';
    if (!event_is_refused(e))
        return;
    struct arena_mark mark = arena_mark(&x->mem);
    pawl_str text = pawl_json_text(&x->mem, e->attrs, "/refused", "refused");
    (void)snprintf(d->refusal, sizeof(d->refusal), "%.*s", PAWL_FMT(text));
    arena_rewind(&x->mem, mark);
}

/* ---- Live --------------------------------------------------------------- */

static struct task *start_live(execution *x, struct decision *d)
{
    if (d->refusal[0])
        return refuse_live(x, d);
    struct step *s = decide_append(x, d->kind, d->ref, d->name, d->data);
    struct task *t = task_add(x, d->kind, 0, x->now_ms);

    if (d->kind == PAWL_EV_TIMER_CREATED)
        s->fire_at_ms = t->fire_at_ms = x->clock_ms + d->delay_ms;
    s->abandon = t->abandon = d->abandon;
    s->inherit = d->inherit;
    s->await_start = d->await_start;
    s->event.attrs = attrs_of(x, d, s);
    if (d->kind == PAWL_EV_EXTERNAL_SUBSCRIBED || d->kind == PAWL_EV_UPDATE_WAITED)
        channel_open_wait(x, t, d->name);
    if (UNLIKELY(d->ask.len))
        t->child = arena_dup(&x->mem, d->ask);
    if (d->child.len) {
        s->child = arena_dup(x->turn->mem, d->child);
        s->version = d->version.len ? arena_dup(x->turn->mem, d->version) : (pawl_str){0};
    }
    if (kind_is_sent(d->kind))
        task_close(x, t, TASK_DONE, (pawl_str){0});
    else if (d->child.len)
        t->child = arena_dup(&x->mem, d->child);
    return t;
}

static struct task *refuse_live(execution *x, struct decision *d)
{
    int closing = kind_refusal_of(d->kind);
    struct step *s = decide_append(x, d->kind, d->ref, d->name, (pawl_str){0});

    s->event.attrs = attrs_refused(x->turn->mem, d->refusal);
    s->refused = true;
    if (closing) {
        s = decide_append(x, closing, d->ref, (pawl_str){0}, pawl_s(d->refusal));
        s->event.attrs = kind_is_failure(closing) ? pawl_s(REFUSED_ATTRS) : (pawl_str){0};
        s->refused = true;
    }
    struct task *t = task_add(x, d->kind, 0, x->now_ms);
    task_close(x, t, closing ? TASK_FAILED : TASK_DONE, pawl_s(d->refusal));
    t->result = PAWL_RESULT_REFUSED;
    return t;
}

/* The deadline of what is started: its own, and that of its parent if that is earlier. */
static void put_deadline(const execution *x, const struct decision *d, struct step *s, pawl_json *w)
{
    int64_t own = d->deadline_ms ? x->clock_ms + d->deadline_ms : 0;
    int64_t parents = d->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED ? x->deadline_ms : 0;
    bool inherited = parents && (!own || parents < own);

    s->deadline_ms = inherited ? parents : own;
    s->limit_ms = inherited ? 0 : d->deadline_ms;
    if (!s->deadline_ms)
        return;
    pawl_json_key(w, "deadline_ms");
    pawl_json_num(w, s->deadline_ms);
    if (!s->limit_ms)
        return;
    pawl_json_key(w, "limit_ms");
    pawl_json_num(w, s->limit_ms);
}

static pawl_str attrs_of(execution *x, const struct decision *d, struct step *s)
{
    pawl_mem *mem = x->turn->mem;

    if (d->kind == PAWL_EV_TIMER_CREATED)
        return pawl_mem_printf(mem, "{\"delay_ms\":%lld,\"fire_at_ms\":%lld}",
                               (long long)d->delay_ms, (long long)s->fire_at_ms);
    if (d->kind == PAWL_EV_ACTIVITY_SCHEDULED && d->opts) {
        struct call_policy *policy = arena_new(mem, struct call_policy);
        *policy = policy_of(d->opts, mem);
        s->policy = policy;
        return policy_format(policy, mem);
    }
    if (d->ask.len)
        return pawl_mem_printf(mem, "{\"ask\":%.*s}", PAWL_FMT(d->ask));
    if (d->child.len == 0)
        return (pawl_str){.ptr = "", .len = 0};
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_str(w, d->child);
    if (d->version.len) {
        pawl_json_key(w, "version");
        pawl_json_str(w, d->version);
    }
    if (d->inherit) {
        pawl_json_key(w, "inherit");
        pawl_json_truth(w, true);
    }
    if (d->abandon || d->await_start) {
        pawl_json_key(w, d->abandon ? "abandon" : "await_start");
        pawl_json_truth(w, true);
    }
    put_deadline(x, d, s, w);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static pawl_str attrs_refused(pawl_mem *mem, const char *text)
{
    pawl_json *w = pawl_json_new(mem);

    pawl_json_object(w);
    pawl_json_key(w, "refused");
    pawl_json_str(w, pawl_s(text));
    pawl_json_end(w);
    return pawl_json_done(w);
}
