/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_delayed_start.c -- S34: a start whose time comes later. */
#include "scene.h"

static pawl_result take_one(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (!r.ok)
        return r;
    return pawl_donef(ctx, "%s %s at %lld", input.ptr, r.value.ptr,
                      (long long)(pawl_now(ctx) - SCENE_T0));
}

static pawl_status start_in(struct scene *s, const char *id, int64_t delay_ms)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = id,
                                    .data = pawl_s("\"in\""), .delay_ms = delay_ms));
}

SCENARIO(s34_it_is_pending_until_its_time_and_keeps_its_mail)
{
    scene_flow(s, "Flow", take_one);
    expect_is(start_in(s, "i", 60000), PAWL_OK);
    expect_is(s->reply.created, true);
    scene_raise(s, "i", "Go", "1");
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_PENDING);
    expect_is(info.start_ms, s->now + 60000);
    expect_text(info.input.ptr, "in");
    scene_advance(s, 59000);
    scene_crash(s);
    expect_is(scene_info(s, "i").state, PAWL_PENDING);
    expect_is(start_in(s, "i", 5), PAWL_OK); /* the same start: the first time holds */
    expect_is(s->reply.created, false);
    expect_is(scene_info(s, "i").start_ms, SCENE_T0 + 60000);
    scene_advance(s, 1000);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "\"in\" 1 at 60000");
    scene_events(
        s, "i", "OrchestrationStarted ExternalSubscribed#1 ExternalEvent#1 OrchestrationCompleted");
    scene_expect_empty(s);
}

SCENARIO(s34_never_early_when_the_clock_is_set_back)
{
    scene_flow(s, "Flow", take_one);
    expect_is(start_in(s, "i", 60000), PAWL_OK);
    scene_advance(s, 30000);
    s->now -= 20000;
    scene_advance(s, 40000);
    expect_is(scene_info(s, "i").state, PAWL_PENDING);
    scene_advance(s, 10000);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
}

SCENARIO(s34_at_an_instant_in_the_past_it_starts_at_once)
{
    scene_flow(s, "Flow", take_one);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                       .start_at_ms = SCENE_T0 - 5)),
              PAWL_OK);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "k",
                                       .start_at_ms = SCENE_T0 + 5000)),
              PAWL_OK);
    expect_is(scene_info(s, "k").state, PAWL_PENDING);
    scene_advance(s, 5000);
    expect_is(scene_info(s, "k").state, PAWL_RUNNING);
}

SCENARIO(s34_cancel_terminate_and_remove_work_before_it_starts)
{
    scene_flow(s, "Flow", take_one);
    expect_is(start_in(s, "c", PAWL_DAYS(36500)), PAWL_OK);
    expect_is(start_in(s, "t", 60000), PAWL_OK);
    expect_is(start_in(s, "r", 60000), PAWL_OK);
    scene_cancel(s, "c", "no more");
    scene_expect(s, "c", PAWL_CANCELLED, "no more");
    scene_steer(s, PAWL_OP_TERMINATE, "t");
    expect_is(scene_info(s, "t").state, PAWL_CANCELLED);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "r")), PAWL_CONFLICT);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "r", .force = true)),
              PAWL_OK);
    scene_settle(s);
    scene_expect_empty(s); /* their starts are gone, too */
    expect_is(start_in(s, "r", 1000), PAWL_OK);
    expect_is(s->reply.created, true);
    scene_crash(s);
    scene_advance(s, 60000);
    expect_is(scene_info(s, "r").state, PAWL_RUNNING);
    expect_is(scene_kind_count(s, "c", "OrchestrationStarted"), 1);
}

SCENARIO(s34_suspended_before_it_starts_it_waits_for_resume)
{
    scene_flow(s, "Flow", take_one);
    expect_is(start_in(s, "i", 60000), PAWL_OK);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_advance(s, 120000);
    expect_is(scene_info(s, "i").state, PAWL_SUSPENDED);
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_settle(s);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    expect_is(start_in(s, "k", 60000), PAWL_OK);
    scene_steer(s, PAWL_OP_SUSPEND, "k");
    scene_steer(s, PAWL_OP_RESUME, "k"); /* in time: it still starts at its time */
    expect_is(scene_info(s, "k").state, PAWL_PENDING);
    scene_advance(s, 60000);
    expect_is(scene_info(s, "k").state, PAWL_RUNNING);
}

SCENARIO(s34_bad_times_are_refused)
{
    scene_flow(s, "Flow", take_one);
    scene_up(s);
    expect_is(start_in(s, "i", -1), PAWL_INVALID);
    expect_is(start_in(s, "i", PAWL_DAYS(36700)), PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .start_at_ms = -1)),
              PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow",
                                       .start_at_ms = s->now + PAWL_DAYS(36700))),
              PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .start_at_ms = 5,
                                       .delay_ms = 5)),
              PAWL_INVALID);
    expect_is(scene_depths(s).instances, 0);
}
