/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_leases.c -- S10, S11: the end of a lease, to the millisecond.
 *
 * A worker outside has a call until its lease ends: nobody else gets it before, and
 * nothing it says counts after.  Normally the engine sees the end first and clears the
 * row; while deadlines cannot be read, each guard stands alone, and here it has to.
 */
#include "pawl/worker.h"
#include "runtime/activity.h"
#include "scene.h"

#include <stdio.h>

struct got {
    bool answered;
    pawl_status status;
    size_t count;
    char token[80], key[80];
    uint32_t attempt;
};

static void on_reply(void *arg, const pawl_worker_reply *reply)
{
    struct got *got = arg;
    *got = (struct got){.answered = true, .status = reply->status, .count = reply->count};
    if (!reply->count)
        return;
    (void)snprintf(got->token, sizeof(got->token), "%.*s", PAWL_FMT(reply->leases[0].token));
    (void)snprintf(got->key, sizeof(got->key), "%.*s", PAWL_FMT(reply->leases[0].key));
    got->attempt = reply->leases[0].attempt;
}

static pawl_result remote(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Away", input);
}

static void begin(struct scene *s)
{
    scene_flow(s, "Flow", remote);
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
}

/* Some answers need a moment: a poll without work, or any while the store is in trouble. */
static void until_answered(struct scene *s, const struct got *got)
{
    for (int i = 0; i < 300 && !got->answered; i++)
        scene_advance(s, 1);
    ck_assert(got->answered);
}

/* Ask for work, without waiting for it, with a lease of a second. */
static struct got poll_for(struct scene *s, const char *name)
{
    const char *const names[] = {name};
    struct got got = {0};
    pawl_error err = {0};
    scene_up(s);
    pawl_status rc = pawl_worker_poll(
        s->c, PAWL_POLL(.activities = names, .activity_count = 1, .max = 10, .lock_ms = 1000),
        on_reply, &got, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    until_answered(s, &got);
    return got;
}

static struct got poll_once(struct scene *s)
{
    return poll_for(s, "Away");
}

static struct got leased(struct scene *s)
{
    struct got got = poll_once(s);
    expect_is(got.status, PAWL_OK);
    expect_is(got.count, 1);
    return got;
}

static pawl_status complete(struct scene *s, const char *token, const char *result)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token, .data = pawl_s(result)));
}

static pawl_status extend(struct scene *s, const char *token)
{
    struct got got = {0};
    pawl_error err = {0};
    expect_is(pawl_worker_extend(s->c, token, 1000, on_reply, &got, &err), PAWL_OK);
    until_answered(s, &got);
    return got.status;
}

static pawl_status give_back(struct scene *s, const char *token)
{
    struct got got = {0};
    pawl_error err = {0};
    expect_is(pawl_worker_abandon(s->c, token, 0, on_reply, &got, &err), PAWL_OK);
    until_answered(s, &got);
    return got.status;
}

/* The lease has ended, and the engine cannot see that: deadlines are not readable. */
static void end_unseen(struct scene *s)
{
    s->now += 1500;
    s->mono += 1500;
    scene_fail(s, FAULT_OP_fetch_deadlines, 0, 1000, FAULT_BEFORE, PAWL_UNAVAILABLE);
}

static void end_seen(struct scene *s)
{
    scene_fail(s, FAULT_OP_fetch_deadlines, 0, 0, FAULT_NONE, PAWL_OK);
    scene_advance(s, 2000);
}

/* Whatever happened before, the call is given out again and recorded once. */
static void ends_well(struct scene *s, const struct got *first, uint32_t attempt)
{
    struct got again = leased(s);
    expect_is(again.attempt, attempt);
    ck_assert_str_eq(again.key, first->key);
    ck_assert_str_ne(again.token, first->token);
    expect_is(complete(s, first->token, "stale"), PAWL_LOST);
    expect_is(complete(s, again.token, "right"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 1);
    scene_expect_empty(s);
}

SCENARIO(s10_a_result_after_the_end_of_its_lease_is_lost)
{
    begin(s);
    struct got got = leased(s);
    end_unseen(s);
    expect_is(complete(s, got.token, "late"), PAWL_LOST);
    end_seen(s);
    ends_well(s, &got, 2);
}

SCENARIO(s10_a_lease_that_has_ended_cannot_be_extended_or_given_back)
{
    begin(s);
    struct got got = leased(s);
    end_unseen(s);
    expect_is(extend(s, got.token), PAWL_LOST);
    expect_is(give_back(s, got.token), PAWL_LOST);
    end_seen(s);
    ends_well(s, &got, 2);
}

SCENARIO(s10_nobody_gets_it_before_the_end_and_somebody_after)
{
    begin(s);
    struct got got = leased(s);
    expect_is(poll_once(s).count, 0);
    scene_advance(s, 500);
    expect_is(poll_once(s).count, 0);
    expect_is(extend(s, got.token), PAWL_OK);
    scene_advance(s, 800);
    expect_is(poll_once(s).count, 0);
    scene_advance(s, 1000);
    ends_well(s, &got, 2);
}

/* Seen to be free once; then the clock steps back, and the lease has not ended. */
SCENARIO(s10_a_clock_that_steps_back_gives_the_lease_its_time_again)
{
    begin(s);
    struct got got = leased(s);
    end_unseen(s);
    expect_is(poll_for(s, "Other").count, 0);
    s->now -= 1500;
    expect_is(poll_once(s).count, 0);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
}

/* The poll itself finds it: the row still carries the lease that has ended. */
SCENARIO(s11_a_poll_that_finds_an_ended_lease_counts_the_loss)
{
    begin(s);
    struct got got = leased(s);
    end_unseen(s);
    struct got again = leased(s);
    expect_is(again.attempt, 2);
    expect_is(complete(s, again.token, "right"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
    expect_is(complete(s, got.token, "stale"), PAWL_LOST);
}

static void lose_it(struct scene *s, uint32_t times, bool seen)
{
    for (uint32_t n = 1; n <= times; n++) {
        struct got got = leased(s);
        expect_is(got.attempt, n);
        if (seen)
            scene_advance(s, 2000);
        else
            end_unseen(s);
    }
}

SCENARIO(s11_three_lost_leases_are_poison)
{
    s->opts.max_attempts = 3;
    begin(s);
    lose_it(s, 3, true);
    scene_expect(s, "i", PAWL_FAILED, "poison: activity 'Away' lost its lease 3 times");
    expect_is(poll_once(s).count, 0);
}

SCENARIO(s11_three_lost_leases_are_poison_to_the_poll_that_finds_out)
{
    s->opts.max_attempts = 3;
    begin(s);
    lose_it(s, 3, false);
    expect_is(poll_once(s).count, 0);
    scene_settle(s);
    scene_expect(s, "i", PAWL_FAILED, "poison: activity 'Away' lost its lease 3 times");
}

static pawl_result echo_away(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

/* Given back with a delay, leased again, and the delay of before comes due: in this process, which
 * has the activity now, nobody begins what a worker outside has. */
SCENARIO(s10_a_delay_that_comes_due_does_not_take_a_lease_away)
{
    begin(s);
    struct got got = leased(s);
    pawl_error err = {0};
    struct got back = {0};
    expect_is(pawl_worker_abandon(s->c, got.token, 1500, on_reply, &back, &err), PAWL_OK);
    scene_settle(s);
    expect_is(back.status, PAWL_OK);
    scene_advance(s, 1501);
    struct got again = leased(s);
    scene_activity(s, "Away", echo_away);
    scene_advance(s, 900);
    expect_is(scene_ran(s, "Away"), 0);
    expect_is(complete(s, again.token, "right"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
}

/* It came in time and is about to be recorded; the commit fails, and meanwhile the lease ends. */
SCENARIO(s10_a_result_in_time_is_not_given_away_by_a_failed_commit)
{
    static const char *const names[] = {"Away"};
    struct got waiting = {0};
    pawl_error err = {0};
    begin(s);
    struct got got = leased(s);
    expect_is(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 1, .wait_ms = 60000,
                                         .lock_ms = 1000),
                               on_reply, &waiting, &err),
              PAWL_OK);
    scene_advance(s, 900);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = got.token,
                                              .data = pawl_s("in time")),
                                 NULL, NULL, &err),
              PAWL_OK);
    (void)pawl_runtime_step(s->rt, 0);
    s->now += 500;
    s->mono += 500;
    scene_settle(s);
    scene_expect(s, "i", PAWL_COMPLETED, "in time");
    ck_assert(!waiting.answered || waiting.count == 0);
}

/* ---- Work that was not done -------------------------------------------------------------- */

static pawl_result not_at_first(pawl_activity *act, pawl_str input)
{
    struct scene *s = scene_of(act);
    scene_count(act);
    if (scene_ran(s, "Not") > 1)
        return pawl_ok_str(act, input);
    s->now += 200; /* it took longer than it might have waited */
    s->mono += 200;
    return activity_skip(act);
}

static pawl_result call_not(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(
        ctx, "Not", input,
        PAWL_CALL_OPTS(.schedule_to_start_ms = 100, .schedule_to_close_ms = 60000));
}

/* An attempt that could not be recorded is begun again, though the change of its deadline in the
 * same commit says that somebody has it. */
SCENARIO(s08_work_that_was_not_done_is_begun_again)
{
    scene_activity(s, "Not", not_at_first);
    scene_flow(s, "Flow", call_not);
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    scene_expect(s, "i", PAWL_COMPLETED, "x");
    expect_is(scene_ran(s, "Not"), 2);
    scene_expect_empty(s);
}
