/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_tasks.c -- S1..S6, C1, C6, E1..E3: tasks, waits, order. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- S1, S2 ------------------------------------------------------------------- */

static pawl_result two_starts(pawl_ctx *ctx, pawl_str input)
{
    pawl_task a = pawl_start(ctx, "Echo", pawl_s("a")), b = pawl_start(ctx, "Echo", pawl_s("b"));
    pawl_result c = pawl_call(ctx, "Echo", input);
    return pawl_donef(ctx, "%llu %llu %s %s", (unsigned long long)a.id, (unsigned long long)b.id,
                      c.value.ptr, pawl_await(ctx, b).value.ptr);
}

SCENARIO(s01_start_decides_at_the_call_with_the_next_id)
{
    scene_flow(s, "Flow", two_starts);
    scene_start(s, "Flow", "i", "c");
    scene_expect(s, "i", PAWL_COMPLETED, "1 2 c b");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityScheduled#2 ActivityScheduled#3 "
                 "ActivityCompleted#1 ActivityCompleted#2 ActivityCompleted#3 "
                 "OrchestrationCompleted");
    expect_is(scene_ran(s, "Echo"), 3);
}

static pawl_result await_twice(pawl_ctx *ctx, pawl_str input)
{
    pawl_task ok = pawl_start(ctx, "Echo", input), bad = pawl_start(ctx, "Fail", pawl_s("no"));
    pawl_result a = pawl_await(ctx, ok), b = pawl_await(ctx, ok);
    pawl_result c = pawl_await(ctx, bad), d = pawl_await(ctx, bad);
    bool same = pawl_str_eq(a.value, b.value) && pawl_str_eq(c.value, d.value) && !c.ok && !d.ok;
    return pawl_donef(ctx, "%s %s %d %d", b.value.ptr, d.value.ptr, same, pawl_is_done(ctx, bad));
}

SCENARIO(s02_awaiting_twice_gives_the_same_result)
{
    scene_flow(s, "Flow", await_twice);
    scene_start(s, "Flow", "i", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x no 1 1");
    expect_is(scene_ran(s, "Echo"), 1);
    expect_is(scene_ran(s, "Fail"), 1);
}

/* ---- S3 ------------------------------------------------------------------------ */

/* The input says which of three events fails the join: it is a child that fails. */
static pawl_result wait_for(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    (void)input;
    return pawl_str_is(r.value, "fail") ? pawl_fail(ctx, "failed") : r;
}

static void start_three(pawl_ctx *ctx, pawl_task t[3])
{
    static const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        t[i] = pawl_start_child(ctx, "Wait", pawl_s(""), PAWL_CHILD_OPTS(.instance = ids[i]));
}

static pawl_result join_all(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[3];
    (void)input;
    start_three(ctx, t);
    pawl_result all = pawl_await_all(ctx, t, 3);
    if (!all.ok)
        return pawl_failf(ctx, "%s after %d%d%d", all.value.ptr, pawl_is_done(ctx, t[0]),
                          pawl_is_done(ctx, t[1]), pawl_is_done(ctx, t[2]));
    return pawl_donef(ctx, "%s%s%s", pawl_await(ctx, t[0]).value.ptr,
                      pawl_await(ctx, t[1]).value.ptr, pawl_await(ctx, t[2]).value.ptr);
}

SCENARIO(s03_await_all_fails_at_first_failure)
{
    scene_flow(s, "Join", join_all);
    scene_flow(s, "Wait", wait_for);
    scene_start(s, "Join", "i", "");
    scene_raise(s, "b", "Go", "fail");
    scene_expect(s, "i", PAWL_FAILED, "failed after 010");
    scene_events(s, "i",
                 "OrchestrationStarted SubOrchestrationScheduled#1 SubOrchestrationScheduled#2 "
                 "SubOrchestrationScheduled#3 SubOrchestrationFailed#2 "
                 "SubOrchestrationCancelRequested#1 SubOrchestrationCancelRequested#3 "
                 "OrchestrationFailed");
    scene_expect(s, "a", PAWL_CANCELLED, "parent cancelled it");
    scene_expect(s, "c", PAWL_CANCELLED, "parent cancelled it");
    scene_expect_empty(s);
}

SCENARIO(s03_c06_await_all_gives_results_in_argument_order)
{
    scene_flow(s, "Join", join_all);
    scene_flow(s, "Wait", wait_for);
    scene_start(s, "Join", "i", "");
    scene_raise(s, "c", "Go", "3");
    scene_raise(s, "a", "Go", "1");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_raise(s, "b", "Go", "2");
    scene_expect(s, "i", PAWL_COMPLETED, "123");
}

static pawl_result settled(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[3];
    (void)input;
    start_three(ctx, t);
    pawl_ignore(pawl_await_settled(ctx, t, 3));
    return pawl_donef(ctx, "%d%d%d", pawl_await(ctx, t[0]).ok, pawl_await(ctx, t[1]).ok,
                      pawl_await(ctx, t[2]).ok);
}

SCENARIO(s03_settled_waits_for_all)
{
    scene_flow(s, "Join", settled);
    scene_flow(s, "Wait", wait_for);
    scene_start(s, "Join", "i", "");
    scene_raise(s, "b", "Go", "fail");
    scene_raise(s, "a", "Go", "");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_raise(s, "c", "Go", "");
    scene_expect(s, "i", PAWL_COMPLETED, "101");
}

/* ---- S4 ------------------------------------------------------------------------- */

static pawl_result any_then_rest(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_wait_event(ctx, "A"), pawl_wait_event(ctx, "B"), pawl_timer(ctx, 1000)};
    (void)input;
    int first = pawl_await_any(ctx, t, 3);
    int again = pawl_await_any(ctx, t, 3);
    pawl_result other = pawl_await(ctx, t[0]);
    return pawl_donef(ctx, "%d %d %s", first, again, other.value.ptr);
}

SCENARIO(s04_await_any_gives_the_first_in_history_and_leaves_the_rest)
{
    scene_flow(s, "Flow", any_then_rest);
    scene_start(s, "Flow", "i", "");
    scene_raise(s, "i", "B", "b");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 2000);
    scene_raise(s, "i", "A", "a");
    scene_expect(s, "i", PAWL_COMPLETED, "1 1 a");
    scene_events(s, "i",
                 "OrchestrationStarted ExternalSubscribed#1 ExternalSubscribed#2 TimerCreated#3 "
                 "ExternalEvent#2 TimerFired#3 ExternalEvent#1 OrchestrationCompleted");
}

static pawl_result race(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_wait_event(ctx, "Go"), pawl_timer(ctx, 1000),
                     pawl_start(ctx, "Nobody", input)};
    int first = pawl_race(ctx, t, 3);
    return pawl_donef(ctx, "%d %d%d%d", first, pawl_await(ctx, t[0]).ok, pawl_await(ctx, t[1]).ok,
                      pawl_await(ctx, t[2]).ok);
}

SCENARIO(s04_race_cancels_the_losers)
{
    scene_flow(s, "Flow", race);
    scene_start(s, "Flow", "event", "");
    scene_start(s, "Flow", "timer", "");
    scene_raise(s, "event", "Go", "");
    scene_expect(s, "event", PAWL_COMPLETED, "0 100");
    scene_advance(s, 1000);
    scene_expect(s, "timer", PAWL_COMPLETED, "1 010");
    scene_events(s, "event",
                 "OrchestrationStarted ExternalSubscribed#1 TimerCreated#2 ActivityScheduled#3 "
                 "ExternalEvent#1 TimerCancelled#2 ActivityCancelRequested#3 "
                 "OrchestrationCompleted");
    scene_events(s, "timer",
                 "OrchestrationStarted ExternalSubscribed#1 TimerCreated#2 ActivityScheduled#3 "
                 "TimerFired#2 ExternalCancelled#1 ActivityCancelRequested#3 "
                 "OrchestrationCompleted");
    scene_expect_empty(s);
}

/* Both are there before the wait looks: the one raised first wins, not the first argument. */
SCENARIO(s04_two_events_in_one_batch_first_raised_wins)
{
    scene_flow(s, "Flow", any_then_rest);
    scene_start(s, "Flow", "i", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_raise(s, "i", "B", "b");
    scene_raise(s, "i", "A", "a");
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "1 1 a");
}

/* ---- S5 -------------------------------------------------------------------------- */

static pawl_result leave_open(pawl_ctx *ctx, pawl_str input)
{
    pawl_start(ctx, "Nobody", input);
    pawl_timer(ctx, PAWL_DAYS(1));
    pawl_wait_event(ctx, "Never");
    pawl_start_child(ctx, "Wait", input, PAWL_CHILD_OPTS(.instance = "kid"));
    pawl_ignore(pawl_sleep(ctx, 10));
    return pawl_done(ctx, "left");
}

SCENARIO(s05_open_tasks_are_cancelled_before_the_terminal_event)
{
    scene_flow(s, "Flow", leave_open);
    scene_flow(s, "Wait", wait_for);
    scene_start(s, "Flow", "i", "");
    scene_advance(s, 10);
    scene_expect(s, "i", PAWL_COMPLETED, "left");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 TimerCreated#2 ExternalSubscribed#3 "
                 "SubOrchestrationScheduled#4 TimerCreated#5 TimerFired#5 "
                 "ActivityCancelRequested#1 TimerCancelled#2 ExternalCancelled#3 "
                 "SubOrchestrationCancelRequested#4 OrchestrationCompleted");
    scene_expect(s, "kid", PAWL_CANCELLED, "parent cancelled it");
    scene_expect_empty(s);
}

/* ---- S6, E1, E2 -------------------------------------------------------------------- */

static pawl_result by_message(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 3; i++) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
        (void)pawl_start(ctx, "Echo", r.value);
    }
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

SCENARIO(s06_messages_are_applied_one_at_a_time_with_their_decisions)
{
    scene_flow(s, "Flow", by_message);
    scene_start(s, "Flow", "i", "End");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    for (int i = 0; i < 3; i++)
        scene_raise(s, "i", "Go", "x");
    scene_steer(s, PAWL_OP_RESUME, "i");
    ck_assert_msg(strstr(scene_history(s, "i", 0),
                         "ExternalEvent#1 ActivityScheduled#2 ExternalSubscribed#3 ExternalEvent#3 "
                         "ActivityScheduled#4 ExternalSubscribed#5 ExternalEvent#5 "
                         "ActivityScheduled#6 ExternalSubscribed#7"),
                  "%s", scene_history(s, "i", 0));
    scene_raise(s, "i", "End", "over");
    scene_expect(s, "i", PAWL_COMPLETED, "over");
}

static int entered;

static pawl_result count_entries(pawl_ctx *ctx, pawl_str input)
{
    entered++;
    pawl_result a = pawl_call(ctx, "Echo", input);
    pawl_result b = pawl_call(ctx, "Echo", a.value);
    return pawl_await(ctx, pawl_wait_event(ctx, b.value.ptr));
}

/* One fiber resumed turn by turn; dropped at every await it is entered again each time. */
SCENARIO(c01_e02_code_is_resumed_not_run_again)
{
    entered = 0;
    scene_flow(s, "Flow", count_entries);
    scene_start(s, "Flow", "i", "Go");
    expect_is(entered, s->kind == SCENE_HOSTILE ? 3 : 1);
    scene_crash(s);
    scene_raise(s, "i", "Go", "done");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
    expect_is(scene_ran(s, "Echo"), 2);
    expect_is(entered, s->kind == SCENE_HOSTILE ? 4 : 2);
}

static pawl_result clock_and_dice(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    uint64_t dice = pawl_random(ctx) ^ pawl_random(ctx);
    pawl_str uuid = pawl_uuid(ctx);
    int64_t now = pawl_now(ctx);
    pawl_ignore(pawl_sleep(ctx, 500));
    return pawl_donef(ctx, "%llx %s %lld %lld", (unsigned long long)dice, uuid.ptr, (long long)now,
                      (long long)pawl_now(ctx));
}

SCENARIO(e01_s13_time_and_randomness_are_the_same_in_replay)
{
    scene_flow(s, "Flow", clock_and_dice);
    scene_start(s, "Flow", "i", "");
    scene_start(s, "Flow", "j", "");
    scene_advance(s, 100);
    scene_crash(s);
    scene_advance(s, 1000);
    const char *out = scene_info(s, "i").output.ptr;
    ck_assert_ptr_nonnull(out);
    ck_assert_str_ne(out, scene_info(s, "j").output.ptr);
    char tail[60];
    snprintf(tail, sizeof(tail), " %lld %lld", (long long)SCENE_T0, (long long)SCENE_T0 + 500);
    expect_text(out, tail);
    const char *uuid = strchr(out, ' ') + 1;
    expect_is(uuid[14], '7');
}

/* ---- C6, E3 ------------------------------------------------------------------------- */

SCENARIO(c06_many_completions_in_one_batch_are_safe)
{
    scene_flow(s, "Join", join_all);
    scene_flow(s, "Wait", wait_for);
    scene_start(s, "Join", "i", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_raise(s, "c", "Go", "3");
    scene_raise(s, "b", "Go", "2");
    scene_raise(s, "a", "Go", "1");
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "123");
    expect_text(scene_history(s, "i", 0), "SubOrchestrationCompleted#3 SubOrchestrationCompleted#2 "
                                          "SubOrchestrationCompleted#1");
}

static pawl_result start_and_cancel(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t = pawl_start(ctx, "Echo", input);
    pawl_cancel(ctx, t);
    pawl_result r = pawl_await(ctx, t);
    return pawl_donef(ctx, "%d %s", r.ok, pawl_call(ctx, "Echo", pawl_s("real")).value.ptr);
}

SCENARIO(e03_only_what_is_not_completed_or_withdrawn_is_dispatched)
{
    scene_flow(s, "Flow", start_and_cancel);
    scene_start(s, "Flow", "i", "never");
    scene_expect(s, "i", PAWL_COMPLETED, "0 real");
    expect_is(scene_ran(s, "Echo"), 1);
    scene_crash(s);
    expect_is(scene_ran(s, "Echo"), 1);
    scene_expect_empty(s);
}
