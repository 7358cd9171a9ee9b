/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_endings.c -- S9, S22, S23, S25: return, cancel, terminate, suspend. */
#include "scene.h"

static pawl_result as_told(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "ok"))
        return pawl_done(ctx, "fine");
    if (pawl_str_is(input, "empty"))
        return (pawl_result){.ok = true};
    if (pawl_str_is(input, "wait"))
        return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_fail(ctx, "not fine");
}

SCENARIO(s22_return_decides_the_ending)
{
    scene_flow(s, "Flow", as_told);
    scene_start(s, "Flow", "ok", "ok");
    scene_start(s, "Flow", "empty", "empty");
    scene_start(s, "Flow", "bad", "bad");
    scene_expect(s, "ok", PAWL_COMPLETED, "fine");
    scene_expect(s, "empty", PAWL_COMPLETED, "");
    scene_expect(s, "bad", PAWL_FAILED, "not fine");
    scene_events(s, "ok", "OrchestrationStarted OrchestrationCompleted");
    scene_events(s, "bad", "OrchestrationStarted OrchestrationFailed");
    ck_assert_str_eq(scene_info(s, "bad").input.ptr, "bad");
}

/* ---- S23 ------------------------------------------------------------------------- */

static pawl_result compensate(pawl_ctx *ctx, pawl_str input)
{
    pawl_result paid = pawl_call(ctx, "Echo", pawl_s("pay"));
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Ship"));
    if (!r.cancelled)
        return r;
    pawl_result plain = pawl_call(ctx, "Echo", pawl_s("interrupted"));
    pawl_shield(ctx);
    pawl_result refund = pawl_call(ctx, "Echo", pawl_s("refund"));
    if (pawl_str_is(input, "slow"))
        pawl_ignore(pawl_sleep(ctx, PAWL_MINUTES(10)));
    pawl_unshield(ctx);
    return pawl_donef(ctx, "%s %d%d %s %d", paid.value.ptr, plain.ok, plain.cancelled,
                      refund.value.ptr, pawl_cancelled(ctx));
}

SCENARIO(s23_cancel_lets_the_code_compensate)
{
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "");
    scene_crash(s);
    scene_cancel(s, "i", "changed my mind");
    scene_expect(s, "i", PAWL_CANCELLED, "changed my mind");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 "
                 "ExternalSubscribed#2 OrchestrationCancelRequested ActivityScheduled#3 "
                 "ActivityScheduled#4 ActivityCompleted#3 ActivityCompleted#4 ExternalCancelled#2 "
                 "OrchestrationCancelled");
    scene_advance(s, PAWL_MINUTES(1)); /* the end of the grace finds nobody */
    scene_expect_empty(s);
}

SCENARIO(s23_second_cancel_changes_nothing_and_first_reason_stays)
{
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "slow");
    scene_cancel(s, "i", "first");
    scene_cancel(s, "i", "second");
    scene_crash(s);
    scene_cancel(s, "i", "third");
    expect_is(scene_kind_count(s, "i", "OrchestrationCancelRequested"), 1);
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    expect_is(scene_try_steer(s, PAWL_OP_CANCEL, "i"), PAWL_CONFLICT);
}

SCENARIO(s23_compensation_is_not_cut_by_a_restart_or_a_grace)
{
    s->opts.cancel_grace_ms = 1000;
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "slow");
    scene_cancel(s, "i", "stop");
    scene_crash(s);
    scene_advance(s, PAWL_MINUTES(9));
    expect_is(scene_info(s, "i").cancel_left_ms, 1000);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, PAWL_MINUTES(1));
    scene_expect(s, "i", PAWL_CANCELLED, "stop");
    expect_is(scene_kind_count(s, "i", "TimerCancelled"), 0);
    scene_expect_empty(s);
}

SCENARIO(s23_compensation_has_no_limit_by_default)
{
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "slow");
    scene_cancel(s, "i", "stop");
    scene_advance(s, 61000);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_is(scene_info(s, "i").cancel_left_ms, -1);
    expect_is(scene_info(s, "i").cancel_ms, SCENE_T0);
    scene_advance(s, PAWL_MINUTES(9));
    scene_expect(s, "i", PAWL_CANCELLED, "stop");
    expect_is(scene_info(s, "i").cancel_ms, 0);
}

SCENARIO(s23_terminate_is_the_force)
{
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "slow");
    scene_cancel(s, "i", "stop");
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    expect_is(scene_info(s, "i").state, PAWL_CANCELLED);
    expect_is(scene_kind_count(s, "i", "TimerCancelled"), 1);
}

/* What the first execution did, the second one undoes. */
static pawl_result undo_next(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) < 40)
        return pawl_continue_as_new(ctx, input, NULL);
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Never"));
    pawl_shield(ctx);
    pawl_result undone = pawl_call(ctx, "Echo", pawl_s("undo"));
    pawl_unshield(ctx);
    return undone.ok ? r : undone;
}

static void ignore(void *arg, const pawl_reply *reply)
{
    (void)arg;
    expect_is(reply->status, PAWL_OK);
}

SCENARIO(s23_a_cancel_between_two_executions_waits_for_the_next)
{
    pawl_error err;
    scene_flow(s, "Flow", undo_next);
    scene_up(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = "i", .name = "Flow",
                                              .data = pawl_s("x")),
                                 ignore, NULL, &err),
              PAWL_OK);
    for (int i = 0; i < 3; i++) /* it is on its way from one to the next */
        (void)pawl_runtime_step(s->rt, 0);
    ck_assert_int_lt((int)scene_info(s, "i").execution, 40);
    scene_cancel(s, "i", "stop");
    scene_settle(s);
    scene_expect(s, "i", PAWL_CANCELLED, "stop");
    expect_is(scene_ran(s, "Echo"), 1);
}

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_start(ctx, "Nobody", input), pawl_timer(ctx, 1000)};
    int any = pawl_await_any(ctx, t, 2);
    pawl_result all = pawl_await_all(ctx, t, 2), settled = pawl_await_settled(ctx, t, 2);
    pawl_result slept = pawl_sleep(ctx, 10);
    return pawl_start_detached(
        ctx, "Report",
        pawl_printf(ctx, "%d %d %d %d", any, all.cancelled, settled.cancelled, slept.cancelled),
        PAWL_CHILD_OPTS(.instance = "report"));
}

static pawl_result report(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

SCENARIO(s23_every_wait_is_interrupted)
{
    scene_flow(s, "Flow", waits);
    scene_flow(s, "Report", report);
    scene_start(s, "Flow", "i", "");
    scene_cancel(s, "i", "x");
    scene_expect(s, "i", PAWL_CANCELLED, "x");
    scene_expect(s, "report", PAWL_COMPLETED, "-1 1 1 1");
    scene_expect_empty(s);
}

/* The relative froze for ever (defect 1): a cancel for nobody stops nobody. */
SCENARIO(s23_s31_cancel_for_an_unknown_instance_freezes_nobody)
{
    scene_flow(s, "Flow", as_told);
    scene_flow(s, "Slow", compensate);
    expect_is(scene_try_steer(s, PAWL_OP_CANCEL, "typo"), PAWL_NOT_FOUND);
    scene_start(s, "Slow", "before", "");
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_CANCEL, .instance = pawl_s("typo")});
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_CANCEL, .uid = 424242});
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_ACTIVITY_COMPLETED, .uid = 424242, .ref = 1});
    scene_start(s, "Flow", "after", "ok");
    scene_expect(s, "after", PAWL_COMPLETED, "fine");
    scene_raise(s, "before", "Ship", "sent");
    scene_expect(s, "before", PAWL_COMPLETED, "sent");
    scene_advance(s, PAWL_HOURS(1)); /* looked at for a while, then put aside with a reason */
    expect_is(scene_depths(s).quarantine, 1);
    scene_expect_empty(s);
    pawl_message_list list;
    pawl_error err;
    expect_is(s->store->ops->read_quarantine(s->store, 10, s->mem, &list, &err), PAWL_OK);
    expect_text(list.items[0].attrs.ptr, "does not exist");
}

SCENARIO(s23_terminate_ends_at_once_without_the_code)
{
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_TERMINATE, .instance = "i", .reason = "now")),
              PAWL_OK);
    scene_expect(s, "i", PAWL_CANCELLED, "terminated: now");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 "
                 "ExternalSubscribed#2 ExternalCancelled#2 OrchestrationTerminated");
    expect_is(scene_ran(s, "Echo"), 1);
    expect_is(scene_try_steer(s, PAWL_OP_TERMINATE, "i"), PAWL_CONFLICT);
}

SCENARIO(s23_cancel_before_the_code_ever_ran)
{
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Later", .instance = "i",
                                       .allow_unregistered = true)),
              PAWL_OK);
    scene_expect(s, "i", PAWL_PENDING, NULL);
    scene_cancel(s, "i", "never mind");
    scene_expect(s, "i", PAWL_CANCELLED, "never mind");
    scene_flow(s, "Later", as_told);
    scene_settle(s);
    scene_events(s, "i", "OrchestrationStarted OrchestrationCancelled");
    scene_expect_empty(s);
}

SCENARIO(s23_cancel_wins_over_continue_as_new_and_reaches_the_newest_execution)
{
    scene_flow(s, "Flow", as_told);
    scene_start(s, "Flow", "i", "wait");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_cancel(s, "i", "while suspended");
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_CANCELLED, "while suspended");
}

/* ---- S9 ---------------------------------------------------------------------------- */

static pawl_result one_activity(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t = pawl_start(ctx, "Nobody", input);
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Stop"));
    pawl_cancel(ctx, t);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "End")));
    return r;
}

static pawl_result count_it(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

SCENARIO(s09_withdrawn_work_is_never_run)
{
    scene_flow(s, "Flow", one_activity);
    scene_start(s, "Flow", "i", "");
    expect_is(scene_depths(s).work, 1);
    scene_raise(s, "i", "Stop", "");
    expect_is(scene_depths(s).work, 0);
    scene_activity(s, "Nobody", count_it);
    scene_crash(s);
    expect_is(scene_ran(s, "Nobody"), 0);
}

/* ---- S25 ---------------------------------------------------------------------------- */

static pawl_result ticks(pawl_ctx *ctx, pawl_str input)
{
    pawl_task timer = pawl_timer(ctx, 1000), event = pawl_wait_event(ctx, "Go");
    pawl_result a = pawl_call(ctx, "Echo", input);
    pawl_ignore(pawl_await(ctx, timer));
    return pawl_donef(ctx, "%s %s", a.value.ptr, pawl_await(ctx, event).value.ptr);
}

SCENARIO(s25_suspend_holds_every_message_until_resume)
{
    scene_flow(s, "Flow", ticks);
    scene_start(s, "Flow", "i", "x");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    uint64_t turns = scene_stats(s).turns;
    scene_raise(s, "i", "Go", "went");
    scene_advance(s, 5000);
    expect_is(scene_stats(s).turns, turns);
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    expect_is(scene_try_steer(s, PAWL_OP_SUSPEND, "i"), PAWL_CONFLICT);
    scene_crash(s);
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "x went");
    expect_text(scene_history(s, "i", 0), "OrchestrationSuspended OrchestrationResumed");
    expect_is(scene_kind_count(s, "i", "TimerFired"), 1);
    scene_expect_empty(s);
}

SCENARIO(s25_resume_of_a_running_one_is_refused)
{
    scene_flow(s, "Flow", as_told);
    scene_start(s, "Flow", "i", "wait");
    expect_is(scene_try_steer(s, PAWL_OP_RESUME, "i"), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "is running");
    expect_is(scene_try_steer(s, PAWL_OP_RETRY, "i"), PAWL_CONFLICT);
    expect_is(scene_try_steer(s, PAWL_OP_SUSPEND, "nobody"), PAWL_NOT_FOUND);
    expect_is(scene_try_steer(s, PAWL_OP_RETRY, "nobody"), PAWL_NOT_FOUND);
}

SCENARIO(s25_suspended_can_be_terminated)
{
    scene_flow(s, "Flow", ticks);
    scene_start(s, "Flow", "i", "x");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_advance(s, 2000); /* the timer fired into the pile */
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    scene_expect(s, "i", PAWL_CANCELLED, NULL);
    scene_expect_empty(s);
}

/* A result that comes while no turn can run is stored, its work row goes (ARCHITECTURE 3). */
static pawl_result suspend_me(pawl_activity *act, pawl_str input)
{
    struct scene *s = scene_of(act);
    pawl_error err;
    scene_count(act);
    expect_is(pawl_client_submit(
                  s->c,
                  PAWL_REQUEST(.op = PAWL_OP_SUSPEND, .instance = pawl_activity_instance(act).ptr),
                  NULL, NULL, &err),
              PAWL_OK);
    return pawl_ok_str(act, input);
}

static pawl_result call_it(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "SuspendMe", input);
}

SCENARIO(s25_completion_while_suspended_is_stored_and_not_run_again)
{
    scene_activity(s, "SuspendMe", suspend_me);
    scene_flow(s, "Flow", call_it);
    scene_start(s, "Flow", "i", "result");
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    expect_is(scene_depths(s).work, 0);
    expect_is(scene_depths(s).messages, 1);
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "result");
    expect_is(scene_ran(s, "SuspendMe"), 1);
}
