/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_deadline.c -- S36: an instance that must end in time. */
#include "scene.h"

#include <stdlib.h>

static pawl_result wait_for_go(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    (void)input;
    return r.ok ? pawl_done_str(ctx, r.value) : r;
}

static pawl_status start_until(struct scene *s, const char *flow, const char *id,
                               int64_t deadline_ms)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = flow, .instance = id,
                                    .data = pawl_s("0"), .deadline_ms = deadline_ms));
}

SCENARIO(s36_at_its_deadline_it_is_cancelled)
{
    scene_flow(s, "Flow", wait_for_go);
    expect_is(start_until(s, "Flow", "i", 5400000), PAWL_OK);
    expect_is(scene_info(s, "i").deadline_ms, SCENE_T0 + 5400000);
    scene_advance(s, 5399999);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_crash(s);
    scene_advance(s, 1);
    scene_expect(s, "i", PAWL_CANCELLED, "deadline of 1h30m passed");
    scene_events(s, "i",
                 "OrchestrationStarted ExternalSubscribed#1 OrchestrationCancelRequested "
                 "ExternalCancelled#1 OrchestrationCancelled");
    scene_expect_empty(s);
}

SCENARIO(s36_one_that_ends_in_time_leaves_nothing)
{
    scene_flow(s, "Flow", wait_for_go);
    expect_is(start_until(s, "Flow", "i", PAWL_DAYS(36500)), PAWL_OK);
    scene_crash(s);
    scene_raise(s, "i", "Go", "1");
    scene_expect(s, "i", PAWL_COMPLETED, "1");
    expect_is(scene_info(s, "i").deadline_ms, 0);
    expect_is(start_until(s, "Flow", "t", PAWL_HOURS(1)), PAWL_OK);
    scene_steer(s, PAWL_OP_TERMINATE, "t");
    scene_expect_empty(s);
}

/* Continues as new every second. */
static pawl_result tick(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_sleep(ctx, 1000);
    if (!r.ok)
        return r;
    return pawl_continue_as_new(ctx, pawl_printf(ctx, "%d", atoi(input.ptr) + 1), NULL);
}

SCENARIO(s36_continue_as_new_keeps_the_moment)
{
    scene_flow(s, "Tick", tick);
    expect_is(start_until(s, "Tick", "i", 3500), PAWL_OK);
    scene_advance(s, 2000);
    scene_crash(s);
    expect_is(scene_info(s, "i").deadline_ms, SCENE_T0 + 3500);
    scene_advance(s, 1500);
    scene_expect(s, "i", PAWL_CANCELLED, "deadline of 3s500ms passed");
    expect_is(scene_info(s, "i").execution, 4);
    scene_expect_empty(s);
}

SCENARIO(s36_suspended_it_is_cancelled_when_it_is_resumed)
{
    scene_flow(s, "Tick", tick);
    expect_is(start_until(s, "Tick", "i", 3500), PAWL_OK);
    scene_advance(s, 1500);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_advance(s, 60000);
    expect_is(scene_info(s, "i").state, PAWL_SUSPENDED);
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_settle(s);
    scene_expect(s, "i", PAWL_CANCELLED, "deadline of 3s500ms passed");
    scene_expect_empty(s);
}

static pawl_result compensate(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_sleep(ctx, PAWL_HOURS(5));
    if (r.ok)
        return r;
    pawl_shield(ctx);
    pawl_ignore(pawl_sleep(ctx, PAWL_HOURS(1)));
    pawl_ignore(pawl_call(ctx, "Echo", input));
    pawl_unshield(ctx);
    return r;
}

SCENARIO(s36_its_code_compensates_as_after_any_cancel)
{
    scene_flow(s, "Flow", compensate);
    expect_is(start_until(s, "Flow", "i", 1000), PAWL_OK);
    scene_advance(s, PAWL_HOURS(1) + 500);
    expect_is(scene_ran(s, "Echo"), 0);
    scene_advance(s, 500);
    scene_expect(s, "i", PAWL_CANCELLED, "deadline of 1s passed");
    expect_is(scene_ran(s, "Echo"), 1);
}

/* A child with the deadline of the input, in an instance that waits for it. */
static pawl_result with_child(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r =
        pawl_call_child(ctx, "Flow", pawl_s(""),
                        PAWL_CHILD_OPTS(.instance = "kid", .deadline_ms = atoi(input.ptr)));
    pawl_shield(ctx);
    pawl_ignore(pawl_sleep(ctx, 60000));
    return pawl_donef(ctx, "%s", r.value.ptr);
}

SCENARIO(s36_no_child_has_a_later_deadline_than_its_parent)
{
    scene_flow(s, "Flow", wait_for_go);
    scene_flow(s, "Parent", with_child);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Parent", .instance = "p",
                                       .data = pawl_s("9000"), .deadline_ms = 5000)),
              PAWL_OK);
    expect_is(scene_info(s, "kid").deadline_ms, SCENE_T0 + 5000);
    scene_crash(s);
    scene_advance(s, 5000);
    expect_is(scene_info(s, "kid").state, PAWL_CANCELLED);
    scene_finish(s, "p");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p")), PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Parent", .instance = "p",
                                       .data = pawl_s("3000"))),
              PAWL_OK);
    scene_advance(s, 3000);
    scene_expect(s, "kid", PAWL_CANCELLED, "deadline of 3s passed");
    scene_finish(s, "p");
    scene_expect(s, "p", PAWL_COMPLETED, "cancelled: deadline of 3s passed");
    scene_expect_empty(s);
}

SCENARIO(s36_it_counts_from_the_start_and_reaches_what_never_started)
{
    scene_flow(s, "Flow", wait_for_go);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                       .delay_ms = 60000, .deadline_ms = 5000)),
              PAWL_OK);
    expect_is(scene_info(s, "i").deadline_ms, SCENE_T0 + 65000);
    scene_advance(s, 64000);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_CANCELLED, "deadline of 5s passed");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Nowhere", .instance = "n",
                                       .allow_unregistered = true, .deadline_ms = 5000)),
              PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Nowhere", .instance = "m",
                                       .allow_unregistered = true, .deadline_ms = 5000)),
              PAWL_OK);
    scene_cancel(s, "m", "no");
    scene_advance(s, 5000);
    scene_expect(s, "n", PAWL_CANCELLED, "deadline of 5s passed");
    scene_expect_empty(s);
}

static pawl_result too_much(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    for (int i = 0; i < 100; i++)
        (void)pawl_start(ctx, "Echo", input);
    return pawl_done(ctx, "");
}

SCENARIO(s36_blocked_it_is_cancelled_after_retry)
{
    s->opts.max_history = 2;
    scene_flow(s, "Much", too_much);
    expect_is(start_until(s, "Much", "i", 5000), PAWL_OK);
    scene_settle(s);
    expect_is(scene_info(s, "i").state, PAWL_BLOCKED);
    scene_advance(s, 5000);
    expect_is(scene_info(s, "i").state, PAWL_BLOCKED);
    scene_down(s);
    s->opts.max_history = 1000;
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_settle(s);
    expect_is(pawl_state_is_terminal(scene_info(s, "i").state), true);
    scene_expect_empty(s);
}

SCENARIO(s36_bad_deadlines_are_refused)
{
    scene_flow(s, "Flow", wait_for_go);
    scene_up(s);
    expect_is(start_until(s, "Flow", "i", -1), PAWL_INVALID);
    expect_is(start_until(s, "Flow", "i", PAWL_DAYS(36700)), PAWL_INVALID);
    scene_flow(s, "Parent", with_child);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Parent", .instance = "p",
                                       .data = pawl_s("-1"))),
              PAWL_OK);
    scene_finish(s, "p");
    expect_text(scene_info(s, "p").output.ptr, "deadline is -1 ms");
}
