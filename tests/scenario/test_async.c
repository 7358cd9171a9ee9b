/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_async.c -- results by token: from anywhere, over restarts (S7..S9). */
#include "scene.h"

#include "pawl/worker.h"

#include <stdio.h>

static char token[64];
static uint32_t attempt;

static pawl_result hand_out(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    (void)input;
    snprintf(token, sizeof(token), "%s", pawl_activity_token(act));
    attempt = pawl_activity_attempt(act);
    return pawl_pending(act);
}

static const pawl_call_opts *policy;

static pawl_result call_it(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_start_with(ctx, "Later", input, policy), pawl_wait_event(ctx, "Stop")};
    return pawl_race(ctx, t, 2) == 1 ? pawl_fail(ctx, "stopped") : pawl_await(ctx, t[0]);
}

static void call(struct scene *s, const pawl_call_opts *opts)
{
    policy = opts;
    scene_activity(s, "Later", hand_out);
    scene_flow(s, "Call", call_it);
    scene_start(s, "Call", "i", "");
}

static pawl_status complete(struct scene *s, const char *by, const char *data, bool failed)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = by, .data = pawl_s(data),
                                    .failed = failed));
}

SCENARIO(s07_result_by_token_is_recorded_once)
{
    call(s, NULL);
    scene_advance(s, PAWL_DAYS(3));
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_is(complete(s, token, "late news", false), PAWL_OK);
    expect_is(complete(s, token, "other", false), PAWL_LOST);
    scene_expect(s, "i", PAWL_COMPLETED, "late news");
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 1);
    expect_is(scene_ran(s, "Later"), 1);
}

static void no_lease(void *arg, const pawl_worker_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

/* Whoever has the token gives the work back: this process runs the activity, so it begins anew. */
SCENARIO(s07_work_that_is_given_back_is_begun_again_at_once)
{
    pawl_status got = PAWL_BUSY;
    call(s, NULL);
    expect_is(scene_ran(s, "Later"), 1);
    expect_is(pawl_worker_abandon(s->c, token, 0, no_lease, &got, NULL), PAWL_OK);
    scene_settle(s);
    expect_is(got, PAWL_OK);
    expect_is(scene_ran(s, "Later"), 2);
    expect_is(complete(s, token, "done", false), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "done");
}

static void take_status(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

/* Both are on their way at once: the result comes too late, as by any other way. */
SCENARIO(s07_result_that_meets_the_end_of_its_instance_is_lost)
{
    static const pawl_op ways[] = {PAWL_OP_CANCEL, PAWL_OP_TERMINATE, PAWL_OP_RAISE};
    for (int i = 0; i < 3; i++) {
        pawl_status ended = PAWL_BUSY, told = PAWL_BUSY;
        if (i)
            scene_start(s, "Call", "i", "");
        else
            call(s, NULL);
        const char *by = pawl_mem_dup(s->mem, pawl_s(token)).ptr;
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = ways[i], .instance = "i", .name = "Stop"),
                                     take_status, &ended, NULL),
                  PAWL_OK);
        expect_is(pawl_client_submit(
                      s->c, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = by, .data = pawl_s("x")),
                      take_status, &told, NULL),
                  PAWL_OK);
        scene_settle(s);
        expect_is(ended, PAWL_OK);
        expect_is(told, PAWL_LOST);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i")), PAWL_OK);
    }
    scene_expect_empty(s);
}

SCENARIO(s07_token_outlives_the_runtime)
{
    call(s, NULL);
    scene_crash(s);
    scene_restart(s);
    scene_advance(s, PAWL_HOURS(1));
    expect_is(scene_ran(s, "Later"), 1); /* leased out: nobody runs it again */
    expect_is(complete(s, token, "after two lives", false), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "after two lives");
}

SCENARIO(s08_failed_by_token_is_retried_with_a_new_token)
{
    call(s, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 100));
    char first[64];
    snprintf(first, sizeof(first), "%s", token);
    expect_is(complete(s, token, "no", true), PAWL_OK);
    scene_advance(s, 100);
    expect_is(attempt, 2);
    ck_assert_str_ne(first, token);
    expect_is(complete(s, first, "stale", false), PAWL_LOST);
    expect_is(complete(s, token, "no again", true), PAWL_OK);
    scene_expect(s, "i", PAWL_FAILED, "no again");
}

static struct scene *scene;
static pawl_status early;

/* The worker it was handed to is quicker than its return, and the store is busy just then. */
static pawl_result fail_early(pawl_activity *act, pawl_str input)
{
    pawl_result pending = hand_out(act, input);
    if (attempt > 1)
        return pending;
    expect_is(pawl_client_submit(scene->c,
                                 PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token,
                                              .data = pawl_s("no"), .failed = true),
                                 take_status, &early, NULL),
              PAWL_OK);
    scene_fail(scene, FAULT_OP_commit, 0, 2, FAULT_BEFORE, PAWL_BUSY);
    return pending;
}

SCENARIO(s08_failed_by_token_before_it_returned_survives_a_busy_store)
{
    scene = s;
    early = PAWL_TIMEOUT;
    policy = PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 100);
    scene_activity(s, "Later", fail_early);
    scene_flow(s, "Call", call_it);
    scene_start(s, "Call", "i", "");
    scene_advance(s, 1000);
    expect_is(early, PAWL_OK);
    expect_is(attempt, 2);
    expect_is(complete(s, token, "yes", false), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "yes");
    expect_is(scene_ran(s, "Later"), 2);
}

SCENARIO(s08_final_by_token_is_not_retried)
{
    call(s, PAWL_CALL_OPTS(.attempts = 9));
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token,
                                       .data = pawl_s("never"), .failed = true, .final = true)),
              PAWL_OK);
    scene_expect(s, "i", PAWL_FAILED, "never");
}

SCENARIO(s08_time_outs_go_on_while_a_result_is_pending)
{
    call(s, PAWL_CALL_OPTS(.start_to_close_ms = 1000));
    scene_crash(s);
    scene_advance(s, 999);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 1);
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_FAILED);
    expect_text(info.error.ptr, "timeout: ");
    expect_is(complete(s, token, "too late", false), PAWL_LOST);
}

SCENARIO(s08_heartbeat_by_token_keeps_it_alive)
{
    call(s, PAWL_CALL_OPTS(.heartbeat_ms = 1000));
    for (int i = 0; i < 5; i++) {
        scene_advance(s, 800);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token)), PAWL_OK);
    }
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 1000);
    expect_is(scene_info(s, "i").state, PAWL_FAILED);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token)), PAWL_LOST);
}

/* The attempt began when its function did, not when that returned, and not at the last sign of life. */
SCENARIO(s08_heartbeats_by_token_do_not_begin_the_attempt_anew)
{
    call(s, PAWL_CALL_OPTS(.heartbeat_ms = 1000, .start_to_close_ms = 2500));
    for (int i = 0; i < 3; i++) {
        scene_advance(s, 800);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token)), PAWL_OK);
        if (i == 1)
            scene_crash(s);
    }
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 100);
    expect_is(scene_info(s, "i").state, PAWL_FAILED);
    expect_is(complete(s, token, "too late", false), PAWL_LOST);
}

SCENARIO(s09_cancelled_work_has_no_use_for_its_token)
{
    call(s, NULL);
    scene_raise(s, "i", "Stop", "");
    scene_expect(s, "i", PAWL_FAILED, "stopped");
    expect_is(complete(s, token, "late", false), PAWL_LOST);
    scene_expect_empty(s);
}

SCENARIO(s30_tokens_that_are_none_are_refused)
{
    call(s, NULL);
    char wrong[64];
    snprintf(wrong, sizeof(wrong), "%s", token);
    wrong[strlen(wrong) - 1] ^= 1;
    expect_is(complete(s, wrong, "", false), PAWL_LOST);
    expect_is(complete(s, "", "", false), PAWL_LOST);
    expect_is(complete(s, "w", "", false), PAWL_LOST);
    expect_is(complete(s, "w99999999999999999999999", "", false), PAWL_LOST);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
}
