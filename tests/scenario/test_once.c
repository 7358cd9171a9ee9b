/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_once.c -- call options about attempts whose end nobody knows: at_most_once,
 * max_crashes, and attempts without a limit.
 */
#include "scene.h"

#include "pawl/worker.h"

#include <semaphore.h>
#include <stdio.h>

static const char *word(pawl_ctx *ctx, pawl_result r)
{
    return pawl_donef(ctx, "%s %u", pawl_result_kind_name(r.kind), r.attempts).value.ptr;
}

static pawl_result once(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_with(ctx, "Echo", input, PAWL_CALL_OPTS(.at_most_once = true));
    return pawl_done(ctx, word(ctx, r));
}

SCENARIO(s07_at_most_once_a_result_that_was_not_recorded_is_lost)
{
    scene_flow(s, "Flow", once);
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 2, 1000, FAULT_BEFORE, PAWL_BUSY); /* start, mark; no result */
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    expect_is(scene_ran(s, "Echo"), 1);
    s->fault.left = 0;
    scene_crash(s);
    scene_expect(s, "i", PAWL_COMPLETED, "lost 1");
    expect_is(scene_ran(s, "Echo"), 1);
    ck_assert(scene_logged(s, "activity lost"));
    scene_expect_empty(s);
}

SCENARIO(s07_at_most_once_what_had_not_begun_runs_after_a_crash)
{
    scene_flow(s, "Flow", once);
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 1, 1000, FAULT_BEFORE, PAWL_BUSY); /* start; no mark */
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    expect_is(scene_ran(s, "Echo"), 0); /* nothing begins before its row says so */
    s->fault.left = 0;
    scene_crash(s);
    scene_expect(s, "i", PAWL_COMPLETED, "ok 1");
    expect_is(scene_ran(s, "Echo"), 1);
}

static pawl_result once_flaky(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r =
        pawl_call_with(ctx, "Flaky", input, PAWL_CALL_OPTS(.attempts = 5, .at_most_once = true));
    return pawl_done(ctx, word(ctx, r));
}

SCENARIO(s08_at_most_once_an_error_that_was_told_is_retried)
{
    scene_flow(s, "Flow", once_flaky);
    scene_start(s, "Flow", "i", "3");
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "ok 3");
    expect_is(scene_ran(s, "Flaky"), 3);
}

static pawl_result pend(pawl_activity *act, pawl_str input)
{
    (void)input;
    scene_count(act);
    return pawl_pending(act);
}

static pawl_result once_pending(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_with(
        ctx, "Pend", input,
        PAWL_CALL_OPTS(.attempts = 5, .start_to_close_ms = 1000, .at_most_once = true));
    return pawl_done(ctx, word(ctx, r));
}

SCENARIO(s08_at_most_once_a_time_out_is_not_retried)
{
    scene_flow(s, "Flow", once_pending);
    scene_activity(s, "Pend", pend);
    scene_start(s, "Flow", "i", "");
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "start_to_close 1");
    expect_is(scene_ran(s, "Pend"), 1);
}

/* ---- Remote workers ------------------------------------------------------------------ */

static pawl_result remote_once(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_with(ctx, "Remote", input, PAWL_CALL_OPTS(.at_most_once = true));
    return pawl_done(ctx, word(ctx, r));
}

static pawl_result remote_twice(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_with(ctx, "Remote", input, PAWL_CALL_OPTS(.max_crashes = 2));
    return pawl_done(ctx, word(ctx, r));
}

static int leased;

static void take_leases(void *arg, const pawl_worker_reply *reply)
{
    (void)arg;
    leased += (int)reply->count;
}

static void poll_once(struct scene *s)
{
    pawl_error err = {0};
    const char *names[] = {"Remote"};
    pawl_poll poll = {
        .size = sizeof(poll), .activities = names, .activity_count = 1, .max = 1, .lock_ms = 1000};
    ck_assert_msg(pawl_worker_poll(s->c, &poll, take_leases, NULL, &err) == PAWL_OK, "%s",
                  err.text);
    scene_settle(s);
}

SCENARIO(s07_at_most_once_a_lease_that_ran_out_is_lost)
{
    leased = 0;
    scene_flow(s, "Flow", remote_once);
    scene_start(s, "Flow", "i", "");
    scene_settle(s);
    poll_once(s);
    expect_is(leased, 1);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "lost 1");
    poll_once(s);
    expect_is(leased, 1);
}

/* The poll itself may be the first to see that the lease is over. */
SCENARIO(s07_at_most_once_a_poll_does_not_take_over_a_lease_that_ran_out)
{
    leased = 0;
    scene_flow(s, "Flow", remote_once);
    scene_start(s, "Flow", "i", "");
    scene_settle(s);
    poll_once(s);
    s->now += 1000;
    s->mono += 1000;
    poll_once(s);
    expect_is(leased, 1);
    scene_expect(s, "i", PAWL_COMPLETED, "lost 1");
}

SCENARIO(s11_max_crashes_of_the_call_bounds_lost_leases)
{
    leased = 0;
    scene_flow(s, "Flow", remote_twice);
    scene_start(s, "Flow", "i", "");
    for (int i = 0; i < 3; i++) {
        scene_settle(s);
        poll_once(s);
        scene_advance(s, 1000);
    }
    expect_is(leased, 2);
    scene_expect(s, "i", PAWL_COMPLETED, "poison 0");
}

/* ---- No limit --------------------------------------------------------------------------- */

static pawl_result unlimited(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_with(
        ctx, "Flaky", input,
        PAWL_CALL_OPTS(.attempts = PAWL_UNLIMITED, .backoff = PAWL_BACKOFF_FIXED, .initial_ms = 1));
    return pawl_done(ctx, word(ctx, r));
}

SCENARIO(s08_attempts_without_a_limit_go_on)
{
    scene_flow(s, "Flow", unlimited);
    scene_start(s, "Flow", "i", "40");
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "ok 40");
}

/* ---- An orderly end loses nothing -------------------------------------------------------- */

static sem_t began, doors;

static pawl_result block(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    sem_post(&began);
    while (sem_wait(&doors) != 0)
        ;
    return pawl_ok_str(act, input);
}

static pawl_result once_many(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[19];
    for (int i = 0; i < 7; i++) /* all that may run: the others are marked, and wait */
        t[i] = pawl_start(ctx, "Block", input);
    for (int i = 7; i < 19; i++)
        t[i] = pawl_start_with(ctx, "Block", input, PAWL_CALL_OPTS(.at_most_once = true));
    return pawl_await_all(ctx, t, 19);
}

SCENARIO(e10_at_most_once_an_orderly_close_loses_nothing)
{
    pawl_info info;
    pawl_error err = {0};
    sem_init(&began, 0, 0);
    sem_init(&doors, 0, 0);
    s->opts.workers = 8;
    scene_threads(s);
    scene_activity(s, "Block", block);
    scene_flow(s, "Many", once_many);
    scene_start(s, "Many", "i", "");
    for (int i = 0; i < 7; i++)
        while (sem_wait(&began) != 0)
            ;
    for (int i = 0; i < 19; i++)
        sem_post(&doors);
    scene_restart(s);
    pawl_status rc = pawl_client_wait(s->c, "i", 0, 20000, s->mem, &info, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    expect_is(info.state, PAWL_COMPLETED);
    expect_is(scene_ran(s, "Block"), 19);
}

/* ---- Places -------------------------------------------------------------------------- */

static void wait_ok(struct scene *s, const char *id)
{
    pawl_info info;
    pawl_error err = {0};
    pawl_status rc = pawl_client_wait(s->c, id, 0, 20000, s->mem, &info, &err);
    ck_assert_msg(rc == PAWL_OK, "%s: %s", id, err.text);
    expect_is(info.state, PAWL_COMPLETED);
}

SCENARIO(e14_at_most_once_calls_that_block_keep_no_other_activity_waiting)
{
    sem_init(&began, 0, 0);
    sem_init(&doors, 0, 0);
    s->opts.workers = 8;
    scene_threads(s);
    scene_activity(s, "Block", block);
    scene_flow(s, "Many", once_many);
    scene_flow(s, "Flow", once);
    scene_start(s, "Many", "many", "");
    for (int i = 0; i < 7; i++)
        while (sem_wait(&began) != 0)
            ;
    scene_start(s, "Flow", "other", "x"); /* while they block */
    wait_ok(s, "other");
    expect_is(scene_ran(s, "Block"), 7);
    for (int i = 0; i < 19; i++)
        sem_post(&doors);
    wait_ok(s, "many");
    expect_is(scene_ran(s, "Block"), 19);
}
