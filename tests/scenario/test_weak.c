/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_weak.c -- B10, C3: stores that can do less; the runtime makes up for it.
 *
 * The jsonl store has neither rounds nor delayed visibility: the whole suite runs
 * on it.  Here: what is special about it, and a store that lacks only the second.
 */
#include "scene.h"

#include <unistd.h>

static const pawl_store_ops *real;
static pawl_store_ops weaker;

static void weak_caps(pawl_store *s, pawl_store_caps *ret)
{
    real->caps(s, ret);
    ret->delayed_visibility = false;
}

static void weaken(pawl_store *outer)
{
    real = outer->ops;
    weaker = *outer->ops;
    weaker.caps = weak_caps;
    outer->ops = &weaker;
}

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 50));
    return pawl_call_with(ctx, "Flaky", input, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 100));
}

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_timer(ctx, 100), pawl_timer(ctx, PAWL_DAYS(1)),
                     pawl_start_child(ctx, "Kid", pawl_s("3"), NULL)};
    int first = pawl_await_any(ctx, t, 3);
    pawl_cancel(ctx, t[1]);
    pawl_result k = pawl_await(ctx, t[2]);
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (pawl_execution(ctx) == 1)
        return pawl_continue_as_new(ctx, input, NULL);
    return pawl_donef(ctx, "%d %s %s", first, k.value.ptr, go.value.ptr);
}

static void run(struct scene *s, bool crash)
{
    scene_flow(s, "Flow", flow);
    scene_flow(s, "Kid", kid);
    scene_start(s, "Flow", "i", "");
    scene_raise(s, "i", "Go", "1");
    scene_raise(s, "i", "Go", "2");
    for (int i = 0; i < 40 && !pawl_state_is_terminal(scene_row(s, "i").state); i++) {
        if (crash)
            scene_crash(s);
        (void)scene_hop(s);
    }
    scene_expect(s, "i", PAWL_COMPLETED, "0 attempt 3 2");
    expect_is(scene_kind_count(s, "i", "TimerFired"), 1);
    expect_is(scene_ran(s, "Flaky"), 6);
    ck_assert(s->now - SCENE_T0 < PAWL_DAYS(1));
}

SCENARIO(c03_timers_in_process_when_the_store_has_no_delayed_visibility)
{
    s->decorate = weaken;
    run(s, false);
}

SCENARIO(b10_c03_a_crash_at_every_step)
{
    run(s, true);
}

/* ---- A timer that was held and has fired is held no longer -------------------------------- */

static pawl_result naps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_task both[] = {pawl_timer(ctx, 100), pawl_wait_event(ctx, "Go")};
    int first = pawl_await_any(ctx, both, 2);
    pawl_result go = pawl_await(ctx, both[1]);
    pawl_cancel(ctx, both[0]);
    return pawl_donef(ctx, "%d %s", first, go.value.ptr);
}

/* Its commit fails, so it is held once more; and the code cancels it when it has fired. */
SCENARIO(c03_a_held_timer_that_fired_is_forgotten)
{
    s->decorate = weaken;
    scene_flow(s, "Flow", naps);
    scene_start(s, "Flow", "i", "");
    scene_settle(s);
    scene_fail(s, FAULT_OP_commit, 0, 2, FAULT_BEFORE, PAWL_BUSY);
    for (int i = 0; i < 4; i++)
        scene_advance(s, 100);
    expect_is(scene_kind_count(s, "i", "TimerFired"), 1);
    scene_raise(s, "i", "Go", "on");
    scene_expect(s, "i", PAWL_COMPLETED, "0 on");
    scene_start(s, "Flow", "j", "");
    scene_advance(s, 100);
    scene_raise(s, "j", "Go", "on");
    scene_expect(s, "j", PAWL_COMPLETED, "0 on");
}

static pawl_result two_at_once(pawl_ctx *ctx, pawl_str input)
{
    int won = 0;
    (void)input;
    for (int i = 0; i < 8; i++) {
        pawl_task t[] = {pawl_timer(ctx, 100), pawl_timer(ctx, 100), pawl_timer(ctx, 100)};
        won += pawl_race(ctx, t, 3);
    }
    return pawl_donef(ctx, "%d", won);
}

/* All fire in one pass; the first is applied, and the code cancels the others. */
SCENARIO(c03_a_held_timer_is_cancelled_when_it_has_fired)
{
    s->decorate = weaken;
    scene_flow(s, "Flow", two_at_once);
    scene_start(s, "Flow", "i", "");
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "0");
    expect_is(scene_kind_count(s, "i", "TimerFired"), 8);
}

/* Seed 002's very layout: root/{instance}/{execution}.jsonl. */
TEST(c07_b10_layout_of_the_jsonl_store)
{
    struct scene *s = scene_open(SCENE_JSONL);
    run(s, false);
    const char *first = pawl_mem_printf(s->mem, "%s/i/1.jsonl", s->file).ptr;
    const char *second = pawl_mem_printf(s->mem, "%s/i/2.jsonl", s->file).ptr;
    ck_assert_msg(access(first, R_OK) == 0, "%s", first);
    ck_assert_msg(access(second, R_OK) == 0, "%s", second);
    scene_close(s);
}

static pawl_result wait_for_go(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

/* What the mending of one instance reads is damaged: that one is blocked, the others go on. */
TEST(b10_one_damaged_history_does_not_hold_up_the_mending_of_others)
{
    struct scene *s = scene_open(SCENE_JSONL);
    scene_flow(s, "Flow", wait_for_go);
    scene_start(s, "Flow", "i", "");
    scene_start(s, "Flow", "j", "");
    scene_start(s, "Flow", "k", "");
    scene_down(s);
    scene_fail(s, FAULT_OP_read_history, 0, 1, FAULT_BEFORE, PAWL_CORRUPT);
    scene_up(s);
    scene_settle(s);
    int blocked = 0;
    static const char *const ids[] = {"i", "j", "k"};
    for (int n = 0; n < 3; n++) {
        if (scene_row(s, ids[n]).state == PAWL_BLOCKED) {
            expect_text(scene_row(s, ids[n]).finding.ptr, "damaged");
            blocked++;
            scene_steer(s, PAWL_OP_RETRY, ids[n]); /* a backup was put back */
        }
        scene_raise(s, ids[n], "Go", "went");
        scene_expect(s, ids[n], PAWL_COMPLETED, "went");
    }
    expect_is(blocked, 1);
    scene_close(s);
}
