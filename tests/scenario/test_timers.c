/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_timers.c -- S12, S13, A8, C3: never early, never twice, never lost. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

static pawl_result sleep_for(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_sleep(ctx, atoll(input.ptr));
    return r.ok ? pawl_done(ctx, "woke") : r;
}

static pawl_str attrs_of(struct scene *s, const char *kind)
{
    pawl_history h;
    pawl_error err;
    expect_is(pawl_client_history(s->c, "i", 0, 0, 0, s->mem, &h, &err), PAWL_OK);
    for (size_t i = 0; i < h.count; i++)
        if (strcmp(h.events[i].kind, kind) == 0)
            return h.events[i].attrs;
    ck_abort_msg("no %s", kind);
}

SCENARIO(s12_a08_timer_is_never_early)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "5000");
    expect_is(pawl_json_int(attrs_of(s, "TimerCreated"), "/delay_ms", 0), 5000);
    expect_is(pawl_json_int(attrs_of(s, "TimerCreated"), "/fire_at_ms", 0), SCENE_T0 + 5000);
    scene_advance(s, 4999);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 1);
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
    expect_is(pawl_json_int(attrs_of(s, "TimerFired"), "/fire_at_ms", 0), SCENE_T0 + 5000);
}

SCENARIO(s12_timer_survives_a_crash_before_and_after_it_is_due)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "5000");
    scene_start(s, "Sleep", "j", "100");
    scene_down(s);
    s->now += 3000; /* dead while j is due */
    s->mono = 77;   /* another boot */
    scene_up(s);
    scene_expect(s, "j", PAWL_COMPLETED, "woke");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 2000);
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
    expect_is(scene_kind_count(s, "i", "TimerFired"), 1);
}

/* Between the look at the store and the question for the next due time. */
SCENARIO(s12_timer_due_while_the_engine_was_busy_is_not_missed)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "100");
    scene_down(s);
    scene_up(s);
    scene_fail(s, FAULT_OP_fetch_work, 0, 3, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
}

SCENARIO(s12_backward_clock_step_never_fires_twice_and_never_early)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "1000");
    scene_start(s, "Sleep", "j", "3000");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
    s->now -= 100000; /* somebody set the clock back; mono goes on */
    scene_advance(s, 50000);
    scene_expect(s, "j", PAWL_RUNNING, NULL);
    scene_crash(s);
    scene_finish(s, "j");
    scene_expect(s, "j", PAWL_COMPLETED, "woke");
    expect_is(scene_kind_count(s, "i", "TimerFired"), 1);
    expect_is(scene_kind_count(s, "j", "TimerFired"), 1);
    expect_is(s->now, SCENE_T0 + 3000);
}

SCENARIO(s12_forward_clock_jump_fires_what_is_due)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "86400000");
    scene_settle(s);
    s->now += PAWL_DAYS(2); /* a laptop woke up */
    s->mono += PAWL_HOURS(1);
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
}

SCENARIO(s12_zero_fires_in_the_next_turn)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "0");
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
    expect_is(s->now, SCENE_T0);
    scene_events(s, "i", "OrchestrationStarted TimerCreated#1 TimerFired#1 OrchestrationCompleted");
}

SCENARIO(s12_a_hundred_years)
{
    char century[30];
    scene_flow(s, "Sleep", sleep_for);
    snprintf(century, sizeof(century), "%lld", (long long)PAWL_DAYS(36600));
    scene_start(s, "Sleep", "i", century);
    snprintf(century, sizeof(century), "%lld", (long long)PAWL_DAYS(36600) + 1);
    scene_start(s, "Sleep", "longer", century);
    expect_is(scene_info(s, "longer").state, PAWL_FAILED);
    expect_text(scene_info(s, "longer").error.ptr, "100 years");
    scene_start(s, "Sleep", "negative", "-1");
    expect_is(scene_info(s, "negative").state, PAWL_FAILED);
    s->now += PAWL_DAYS(36600) - 1;
    scene_crash(s);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 1);
    scene_expect(s, "i", PAWL_COMPLETED, "woke");
}

static pawl_result three_timers(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_timer(ctx, 300), pawl_timer(ctx, 100), pawl_timer(ctx, 200)};
    pawl_str order = input;
    for (int i = 0; i < 3; i++) {
        int first = pawl_await_any(ctx, t, 3);
        order = pawl_printf(ctx, "%s%d", order.ptr, first);
        t[first] = pawl_timer(ctx, 10000);
    }
    return pawl_done_str(ctx, order);
}

SCENARIO(s12_timers_fire_in_order_of_their_times)
{
    scene_flow(s, "Flow", three_timers);
    scene_start(s, "Flow", "i", "");
    scene_crash(s);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "120");
    scene_expect_empty(s);
}

static pawl_result sleep_twice(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_donef(ctx, "%lld", (long long)pawl_now(ctx));
}

SCENARIO(s12_second_timer_measures_from_its_own_start)
{
    scene_flow(s, "Flow", sleep_twice);
    scene_start(s, "Flow", "i", "");
    scene_down(s);
    s->now += 10000; /* the first fires late */
    scene_up(s);
    scene_settle(s);
    scene_advance(s, 999);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 1);
    char at[30];
    snprintf(at, sizeof(at), "%lld", (long long)SCENE_T0 + 11000);
    scene_expect(s, "i", PAWL_COMPLETED, at);
}

static pawl_result nows(pawl_ctx *ctx, pawl_str input)
{
    int64_t a = pawl_now(ctx);
    struct scene *s = pawl_user(ctx);
    s->now += 50; /* the world goes on; the code does not see it */
    bool same = pawl_now(ctx) == a;
    s->now -= 50;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, input.ptr)));
    return pawl_donef(ctx, "%d %d", same, pawl_now(ctx) >= a);
}

SCENARIO(s13_now_is_constant_between_messages_and_never_goes_back)
{
    scene_flow(s, "Flow", nows);
    scene_start(s, "Flow", "i", "Go");
    s->now -= 5000;
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_COMPLETED, "1 1");
}

/* A timer is a message on the orchestrator queue with delayed visibility; a store
 * without it has no row, and the timer follows from the history. */
SCENARIO(c03_a03_timers_ride_the_orchestrator_queue)
{
    scene_flow(s, "Sleep", sleep_for);
    scene_start(s, "Sleep", "i", "5000");
    pawl_stats st = scene_stats(s);
    int rows = s->kind == SCENE_JSONL ? 0 : 1;
    expect_is(st.orchestrator_queue, rows);
    expect_is(st.timers_near, rows);
    expect_is(st.timer_queue, 0);
    expect_is(st.worker_queue, 0);
    scene_advance(s, 5000);
    expect_is(scene_stats(s).orchestrator_queue, 0);
    expect_is(scene_stats(s).timers_fired, 1);
}
