/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_memory.c -- E8, S6 and fan-in: dehydration, many tasks, deferred clean-up. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- E8 ----------------------------------------------------------------------------- */

static pawl_result three_waits(pawl_ctx *ctx, pawl_str input)
{
    pawl_str all = input;
    for (int i = 0; i < 3; i++) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
        all = pawl_printf(ctx, "%s%s", all.ptr, pawl_call(ctx, "Echo", r.value).value.ptr);
    }
    return pawl_done_str(ctx, all);
}

#define MANY 200

SCENARIO(e08_many_instances_under_a_tiny_memory_budget)
{
    s->opts.fiber_memory = 1 << 20; /* a dozen stacks */
    scene_flow(s, "Flow", three_waits);
    for (int i = 0; i < MANY; i++)
        scene_start(s, "Flow", scene_id(s, "i", i), ">");
    ck_assert(scene_stats(s).resident < 20);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < MANY; i++)
            scene_raise(s, scene_id(s, "i", i), "Go", round == 0 ? "a" : round == 1 ? "b" : "c");
    for (int i = 0; i < MANY; i++)
        scene_expect(s, scene_id(s, "i", i), PAWL_COMPLETED, ">abc");
    expect_is(scene_ran(s, "Echo"), 3 * MANY);
    ck_assert(scene_stats(s).evictions >= MANY);
    ck_assert(scene_stats(s).replays >= MANY);
}

SCENARIO(e08_resident_instances_are_not_replayed)
{
    scene_flow(s, "Flow", three_waits);
    scene_start(s, "Flow", "i", ">");
    for (int i = 0; i < 3; i++)
        scene_raise(s, "i", "Go", "x");
    scene_expect(s, "i", PAWL_COMPLETED, ">xxx");
    if (s->kind == SCENE_HOSTILE)
        ck_assert(scene_stats(s).replays > 3);
    else
        expect_is(scene_stats(s).replays, 0);
}

static int opened, closed;

static void close_it(void *arg)
{
    (void)arg;
    closed++;
}

static pawl_result with_defer(pawl_ctx *ctx, pawl_str input)
{
    opened++;
    pawl_defer(ctx, close_it, NULL);
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

SCENARIO(e08_deferred_clean_up_runs_at_eviction_and_at_the_end)
{
    opened = closed = 0;
    scene_flow(s, "Flow", with_defer);
    scene_start(s, "Flow", "i", "Go");
    expect_is(opened - closed, s->kind == SCENE_HOSTILE ? 0 : 1);
    scene_crash(s);
    expect_is(opened - closed, 0);
    scene_raise(s, "i", "Go", "end");
    scene_expect(s, "i", PAWL_COMPLETED, "end");
    expect_is(opened, closed);
    expect_is(opened, 2);
}

/* A kilobyte and more a level. */
__attribute__((noinline)) static int dig(int depth)
{
    volatile char frame[1024];
    frame[0] = frame[1023] = (char)depth;
    return depth ? dig(depth - 1) + frame[1023] - frame[0] : 7;
}

static pawl_result deep(pawl_ctx *ctx, pawl_str input)
{
    int found = dig(100);
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
    return pawl_donef(ctx, "%s %d", r.value.ptr, found);
}

SCENARIO(e08_stack_size_is_an_option)
{
    expect_is(pawl_register_orchestration_with(s->app, "Deep", "1.0.0", deep,
                                               PAWL_REGISTER_OPTS(.stack_bytes = 2048 * 1024)),
              PAWL_OK);
    scene_start(s, "Deep", "i", "Go");
    scene_raise(s, "i", "Go", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x 7");
}

/* ---- Fan-in (the relative hung above 30) ------------------------------------------------- */

static pawl_result fan_in(pawl_ctx *ctx, pawl_str input)
{
    size_t n = (size_t)atoi(input.ptr);
    pawl_task *t = pawl_alloc(ctx, n * sizeof(*t));
    for (size_t i = 0; i < n; i++)
        t[i] = pawl_start(ctx, "Echo", pawl_printf(ctx, "%zu", i));
    pawl_result all = pawl_await_all(ctx, t, n);
    size_t right = 0;
    for (size_t i = 0; i < n; i++)
        right += (size_t)atoi(pawl_await(ctx, t[i]).value.ptr) == i;
    return pawl_donef(ctx, "%d %zu", all.ok, right);
}

SCENARIO(c06_s03_fan_in_of_31_100_and_2000)
{
    scene_flow(s, "Flow", fan_in);
    scene_start(s, "Flow", "a", "31");
    scene_expect(s, "a", PAWL_COMPLETED, "1 31");
    scene_start(s, "Flow", "b", "100");
    scene_expect(s, "b", PAWL_COMPLETED, "1 100");
    scene_start(s, "Flow", "c", s->kind == SCENE_HOSTILE ? "500" : "2000");
    scene_expect(s, "c", PAWL_COMPLETED, s->kind == SCENE_HOSTILE ? "1 500" : "1 2000");
    expect_is(scene_kind_count(s, "b", "ActivityCompleted"), 100);
    scene_expect_empty(s);
}

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 10));
    return pawl_done_str(ctx, input);
}

static pawl_result many_kids(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[100];
    for (int i = 0; i < 100; i++)
        t[i] = pawl_start_child(ctx, "Kid", input, NULL);
    return pawl_await_all(ctx, t, 100).ok ? pawl_await(ctx, t[99]) : pawl_fail(ctx, "no");
}

SCENARIO(c06_fan_in_of_100_children_over_a_crash)
{
    scene_flow(s, "Kid", kid);
    scene_flow(s, "Flow", many_kids);
    scene_start(s, "Flow", "i", "x");
    scene_crash(s);
    scene_advance(s, 10);
    scene_expect(s, "i", PAWL_COMPLETED, "x");
    expect_is(scene_kind_count(s, "i", "SubOrchestrationCompleted"), 100);
    scene_expect_empty(s);
}

/* ---- Long loops ------------------------------------------------------------------------------ */

static pawl_result scoped_loop(pawl_ctx *ctx, pawl_str input)
{
    int n = atoi(input.ptr);
    for (int i = 0; i < n; i++) {
        pawl_scope_begin(ctx);
        pawl_ignore(pawl_call(ctx, "Echo", input));
        pawl_scope_end(ctx);
    }
    return pawl_done(ctx, "looped");
}

SCENARIO(e12_a_loop_of_300_steps)
{
    scene_flow(s, "Flow", scoped_loop);
    scene_start(s, "Flow", "i", "300");
    scene_expect(s, "i", PAWL_COMPLETED, "looped");
    expect_is(scene_ran(s, "Echo"), 300);
    expect_is(scene_info(s, "i").history_length, 602);
    expect_is(scene_stats(s).turns, 301);
}
