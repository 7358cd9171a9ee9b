/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_retain.c -- what ended longer ago than retain_ms goes by itself. */
#include "runtime/loop/loop.h"
#include "scene.h"

#include <stdio.h>

#define HOUR INT64_C(3600000)

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "done"))
        return pawl_done(ctx, "done");
    if (pawl_str_is(input, "child"))
        return pawl_call_child(ctx, "Flow", pawl_s("done"), NULL);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static void begin(struct scene *s, int64_t retain_ms)
{
    s->opts.retain_ms = retain_ms;
    scene_flow(s, "Flow", flow);
}

static bool is_there(struct scene *s, const char *id)
{
    pawl_info info;
    pawl_error err;
    pawl_status rc = pawl_client_get(s->c, id, 0, s->mem, &info, &err);
    ck_assert(rc == PAWL_OK || rc == PAWL_NOT_FOUND);
    return rc == PAWL_OK;
}

SCENARIO(retain_removes_what_ended_and_nothing_else)
{
    begin(s, HOUR);
    scene_start(s, "Flow", "done", "done");
    scene_start(s, "Flow", "tree", "child");
    scene_start(s, "Flow", "open", "x");
    scene_start(s, "Flow", "later", "x");
    scene_advance(s, HOUR - 1000);
    ck_assert(is_there(s, "done") && is_there(s, "tree"));
    scene_raise(s, "later", "Go", "\"end\"");
    scene_advance(s, HOUR / 8);
    ck_assert(!is_there(s, "done") && !is_there(s, "tree"));
    scene_expect(s, "later", PAWL_COMPLETED, "\"end\"");
    expect_is(scene_depths(s).instances, 2); /* the child went with its parent */
    scene_advance(s, HOUR);
    ck_assert(!is_there(s, "later"));
    scene_expect(s, "open", PAWL_RUNNING, NULL);
    scene_start(s, "Flow", "done", "done"); /* the id is free */
    ck_assert(s->reply.created);
}

SCENARIO(retain_zero_keeps_everything)
{
    begin(s, 0);
    scene_start(s, "Flow", "done", "done");
    scene_advance(s, 1000 * HOUR);
    scene_expect(s, "done", PAWL_COMPLETED, "done");
}

/* Many more than a batch, between instances that are kept. */
SCENARIO(retain_goes_through_many_in_small_commits)
{
    begin(s, HOUR);
    for (int i = 0; i < 450; i++) {
        scene_start(s, "Flow", scene_id(s, "d", i), "done");
        if (i % 5 == 0)
            scene_start(s, "Flow", scene_id(s, "o", i), "x");
    }
    scene_advance(s, HOUR - 60000);
    expect_is(scene_depths(s).instances, 540);
    uint64_t commits = scene_stats(s).commits;
    scene_advance(s, HOUR);
    expect_is(scene_depths(s).instances, 90);
    ck_assert_uint_ge(scene_stats(s).commits - commits, 5); /* a hundred trees at most */
    ck_assert(is_there(s, "o0") && is_there(s, "o445"));
}

/* When the last one is gone nothing wakes the engine any more. */
SCENARIO(retain_costs_nothing_at_rest)
{
    begin(s, HOUR);
    scene_up(s);
    scene_advance(s, 3 * HOUR);
    expect_is(loop_idle_until(s->rt), INT64_MAX);
    scene_start(s, "Flow", "open", "x");
    expect_is(loop_idle_until(s->rt), INT64_MAX);
    scene_start(s, "Flow", "done", "done");
    expect_is(loop_idle_until(s->rt), s->mono + HOUR + 1); /* not before it is due */
    int hops = 0;
    while (scene_hop(s))
        hops++;
    ck_assert_int_le(hops, 20);
    ck_assert(!is_there(s, "done"));
    expect_is(loop_idle_until(s->rt), INT64_MAX);
}

SCENARIO(retain_goes_on_after_a_crash)
{
    begin(s, HOUR);
    for (int i = 0; i < 250; i++)
        scene_start(s, "Flow", scene_id(s, "d", i), "done");
    scene_advance(s, HOUR / 2);
    scene_crash(s);
    scene_advance(s, HOUR / 4);
    expect_is(scene_depths(s).instances, 250);
    scene_crash(s);
    scene_advance(s, HOUR / 2);
    expect_is(scene_depths(s).instances, 0);
    scene_advance(s, HOUR);
    expect_is(loop_idle_until(s->rt), INT64_MAX);
    scene_expect_empty(s);
}

/* A store in trouble: nothing is forgotten, others go on. */
SCENARIO(retain_survives_a_store_in_trouble)
{
    begin(s, HOUR);
    for (int i = 0; i < 20; i++)
        scene_start(s, "Flow", scene_id(s, "d", i), "done");
    scene_advance(s, HOUR - 1000);
    scene_fail(s, FAULT_OP_list, 3, 5, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_advance(s, HOUR / 8);
    scene_fail(s, FAULT_OP_commit, 0, 3, FAULT_BEFORE, PAWL_BUSY);
    scene_start(s, "Flow", "new", "x");
    scene_advance(s, HOUR);
    expect_is(scene_depths(s).instances, 1);
    scene_expect(s, "new", PAWL_RUNNING, NULL);
}

/* A clock that was wrong for a while: late is allowed, never too early. */
SCENARIO(retain_is_never_too_early)
{
    begin(s, HOUR);
    scene_start(s, "Flow", "a", "done");
    s->now -= 10 * HOUR;
    scene_start(s, "Flow", "b", "done");
    scene_advance(s, HOUR / 2);
    ck_assert(is_there(s, "a") && is_there(s, "b"));
    s->now += 10 * HOUR;
    scene_advance(s, 3 * HOUR);
    ck_assert(!is_there(s, "a") && !is_there(s, "b"));
    expect_is(loop_idle_until(s->rt), INT64_MAX);
}

SCENARIO(retain_rides_with_other_work)
{
    begin(s, 1000);
    for (int i = 0; i < 100; i++) {
        scene_start(s, "Flow", scene_id(s, "d", i), i % 3 ? "done" : "child");
        scene_advance(s, 37);
    }
    pawl_depths now = scene_depths(s);
    ck_assert_uint_lt(now.instances, 100); /* those of the last seconds */
    scene_advance(s, 5000);
    expect_is(scene_depths(s).instances, 0);
}
