/* SPDX-License-Identifier: MIT */
/*
 * engine/replay.c -- walk a recorded history, with or without code.
 *
 * First the shape is checked (is this a history at all?), then it is walked.
 * With code: a recorded message is applied and the code runs until it blocks;
 * its calls consume the decisions that follow (decide.c), so that when it
 * blocks the next event must be a message again.  Without code the same events
 * fill the same tables.
 *
 * Two ends differ: an execution that was ended from outside (terminate, cancel
 * deadline; attrs "forced") has cancel decisions and an END that the blocked
 * code never made; they are walked like tables.
 *
 * Called by: the runtime on load, tests.  message_act() is shared with apply.c.
 */
#include "engine/engine_private.h"
#include "pawl/json.h"

static void replay(execution *x, const pawl_event *events, size_t count);
static void check_shape(execution *x);
static void check_event(execution *x, const pawl_event *e, uint64_t seq, uint64_t *tasks);
static void check_carried(execution *x, const pawl_event *e, size_t i);
static void add_patch_marker(execution *x, pawl_str name);
static void walk_code(execution *x);
static void recall_carried(execution *x);
static void walk_tables(execution *x);
static void table_decision(execution *x, const pawl_event *e);
static const pawl_event *advance(execution *x, const pawl_event *e);
static bool ends_by_force(const execution *x);
NORETURN static void stuck(execution *x, const pawl_event *e);
NORETURN static void odd(execution *x, const pawl_event *e, const struct task *t);

enum engine_outcome execution_replay(execution *x, const pawl_event *events, size_t count,
                                     struct engine_finding *ret)
{
    assert_that(x->phase != PHASE_LIVE);
    assert_that(x->last_seq == 0 || execution_is_tables(x));
    if (!execution_enter(x, NULL, 0, ret))
        return x->outcome;
    if (setjmp(x->guard) == 0)
        replay(x, events, count);
    return execution_leave(x);
}

static void replay(execution *x, const pawl_event *events, size_t count)
{
    if (count == 0)
        return;
    x->phase = PHASE_REPLAY;
    x->events = events;
    x->event_count = count;
    x->cursor = 0;
    check_shape(x);
    if (execution_is_tables(x))
        walk_tables(x);
    else
        walk_code(x);
}

/* ---- Is it a history? --------------------------------------------------- */

static void check_shape(execution *x)
{
    uint64_t tasks = x->task_count;

    for (size_t i = 0; i < x->event_count; i++) {
        const pawl_event *e = &x->events[i];
        bool after_end = i > 0 ? event_class(e[-1].kind) == CLASS_END : x->ending.kind != 0;

        if (after_end)
            finding_corrupt(x, e, "event %llu comes after the end of the history",
                            (unsigned long long)e->seq);
        check_event(x, e, x->last_seq + i + 1, &tasks);
        check_carried(x, e, i);
        if (e->kind == PAWL_EV_PATCH_RECORDED)
            add_patch_marker(x, e->name);
    }
}

static void check_event(execution *x, const pawl_event *e, uint64_t seq, uint64_t *tasks)
{
    enum event_class class = event_class(e->kind);

    if (class == CLASS_NONE)
        finding_corrupt(x, e, "event %llu has kind %d, which does not exist",
                        (unsigned long long)e->seq, e->kind);
    if (e->seq != seq)
        finding_corrupt(x, e, "event %llu stands where event %llu belongs",
                        (unsigned long long)e->seq, (unsigned long long)seq);
    if (e->execution != x->spec.execution)
        finding_corrupt(x, e, "event %llu belongs to execution %llu, not %llu",
                        (unsigned long long)seq, (unsigned long long)e->execution,
                        (unsigned long long)x->spec.execution);
    if ((class == CLASS_START) != (seq == 1))
        finding_corrupt(x, e,
                        seq == 1 ? "the first event (%llu) is not OrchestrationStarted"
                                 : "event %llu starts the history a second time",
                        (unsigned long long)seq);
    if (kind_opens_task(e->kind) && e->ref != ++*tasks)
        finding_corrupt(x, e, "event %llu opens task %llu where task %llu is next",
                        (unsigned long long)seq, (unsigned long long)e->ref,
                        (unsigned long long)*tasks);
}

/* What is carried comes right behind the start. */
static void check_carried(execution *x, const pawl_event *e, size_t i)
{
    int before = i > 0 ? e[-1].kind : 0;

    if (e->kind != PAWL_EV_STATE_CARRIED || before == PAWL_EV_STATE_CARRIED ||
        before == PAWL_EV_ORCHESTRATION_STARTED || (i == 0 && execution_is_tables(x)))
        return;
    finding_corrupt(x, e, "event %llu carries state in the middle of the history",
                    (unsigned long long)e->seq);
}

static void add_patch_marker(execution *x, pawl_str name)
{
    struct patch *p = arena_new(&x->mem, struct patch);

    *p = (struct patch){.next = x->patches, .name = arena_dup(&x->mem, name), .applied = true};
    x->patches = p;
}

/* ---- With code ---------------------------------------------------------- */

static void walk_code(execution *x)
{
    const pawl_event *e = advance(x, &x->events[0]);

    execution_message(x, e->seq, e->at_ms);
    execution_open(x, e->name, e->data, e->attrs);
    recall_carried(x);
    execution_run(x);
    while (x->outcome == ENGINE_WAITING && (e = decide_peek(x))) {
        if (event_class(e->kind) == CLASS_MESSAGE) {
            advance(x, e);
            execution_message(x, e->seq, e->at_ms);
            message_act(x, e);
        } else if (ends_by_force(x)) {
            walk_tables(x);
        } else {
            stuck(x, e);
        }
    }
}

/* The code runs with what the execution before had published. */
static void recall_carried(execution *x)
{
    while (x->cursor < x->event_count && x->events[x->cursor].kind == PAWL_EV_STATE_CARRIED)
        state_act(x, advance(x, &x->events[x->cursor]));
}

void message_act(execution *x, const pawl_event *e)
{
    switch (e->kind) {
    case PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED:
        x->cancel_requested = true;
        x->cancel_reason = arena_dup(&x->mem, e->data);
        wait_interrupt(x);
        if (x->blocked && x->wait.interrupted)
            execution_run(x);
        return;
    case PAWL_EV_ORCHESTRATION_SUSPENDED:
    case PAWL_EV_ORCHESTRATION_RESUMED:
        x->suspended = e->kind == PAWL_EV_ORCHESTRATION_SUSPENDED;
        return;
    default: { /* a completion */
        struct task *t = task_find(x, e->ref);
        if (!t || t->kind != kind_schedule_of(e->kind))
            odd(x, e, t);
        if (t->state != TASK_OPEN)
            finding_corrupt(x, e, "event %llu completes task %llu, which is closed already",
                            (unsigned long long)e->seq, (unsigned long long)e->ref);
        if (t->channel) /* before it was recorded: the event itself is younger than its mail */
            t->message = (uint64_t)pawl_json_int(e->attrs, "/message", (int64_t)e->rid);
        execution_resolve(x, t, e->kind, e->data, e->attrs);
    }
    }
}

/* The code blocks where the history shows a decision or the end. */
static void stuck(execution *x, const pawl_event *e)
{
    struct decision d = {.api = "pawl_await", .site = x->wait.site};
    char recorded[128], waits[96];

    finding_describe_event(e, recorded, sizeof(recorded));
    finding_describe_wait(x, waits, sizeof(waits));
    finding_set(x, e, &d,
                "nondeterministic: await mismatch at event %llu: recorded %s, but the code %s",
                (unsigned long long)e->seq, recorded, waits);
    engine_stop(x, ENGINE_MISMATCH);
}

static void odd(execution *x, const pawl_event *e, const struct task *t)
{
    finding_completion(x, e, e->kind, e->ref, t);
    engine_stop(x, execution_is_tables(x) ? ENGINE_CORRUPT : ENGINE_MISMATCH);
}

/* True when only withdrawals and a forced END are left. */
static bool ends_by_force(const execution *x)
{
    const pawl_event *last = &x->events[x->event_count - 1];

    if (event_class(last->kind) != CLASS_END || !pawl_json_bool(last->attrs, "/forced", false))
        return false;
    for (const pawl_event *e = &x->events[x->cursor]; e < last; e++)
        if (event_class(e->kind) != CLASS_MARK && !kind_belongs_to_end(e->kind))
            return false;
    return true;
}

static const pawl_event *advance(execution *x, const pawl_event *e)
{
    decide_met(x, e, NULL);
    return e;
}

/* ---- Without code ------------------------------------------------------- */

static void walk_tables(execution *x)
{
    while (x->cursor < x->event_count) {
        const pawl_event *e = advance(x, &x->events[x->cursor]);

        switch (event_class(e->kind)) {
        case CLASS_START:
            execution_message(x, e->seq, e->at_ms);
            execution_open(x, e->name, e->data, e->attrs);
            break;
        case CLASS_MESSAGE:
            execution_message(x, e->seq, e->at_ms);
            message_act(x, e);
            break;
        case CLASS_DECISION:
            table_decision(x, e);
            break;
        case CLASS_END:
            ending_replayed(x, e);
            break;
        case CLASS_MARK:
            state_act(x, e);
            break;
        case CLASS_NONE: /* check_shape() has thrown these out */
            break;
        }
    }
}

static void table_decision(execution *x, const pawl_event *e)
{
    int schedule = kind_schedule_of(e->kind);

    if (schedule) {
        struct task *t = task_find(x, e->ref);
        bool back = t && t->state == TASK_DONE && t->channel && (!t->update || t->update->owed);
        if (!t || t->kind != schedule || (t->state != TASK_OPEN && !back))
            finding_corrupt(x, e, "event %llu withdraws task %llu, which is not open",
                            (unsigned long long)e->seq, (unsigned long long)e->ref);
        if (back && t->update)
            update_given_back(x, t);
        if (back) /* what it took was given back */
            t->state = TASK_CANCELLED;
        else
            task_close(x, t, TASK_CANCELLED, e->data);
    } else if (kind_opens_task(e->kind)) {
        task_from_event(x, e);
    } else if (e->kind == PAWL_EV_UPDATE_ANSWERED) {
        update_act(x, e);
    } else {
        state_act(x, e);
    }
}
