/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_leases.c -- S10, S11: the end of a lease, to the millisecond.
 *
 * A worker outside has a call until its lease ends: nobody else gets it before, and
 * nothing it says counts after.  Normally the engine sees the end first and clears the
 * row; while deadlines cannot be read, each guard stands alone, and here it has to.
 */
#include "pawl/worker.h"
#include "runtime/work/activity.h"
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
static struct got poll_tagged(struct scene *s, const char *name, const char *tag)
{
    const char *const names[] = {name}, *const tags[] = {tag};
    struct got got = {0};
    pawl_error err = {0};
    scene_up(s);
    pawl_status rc =
        pawl_worker_poll(s->c,
                         PAWL_POLL(.activities = names, .activity_count = 1, .tags = tags,
                                   .tag_count = tag != NULL, .max = 10, .lock_ms = 1000),
                         on_reply, &got, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    until_answered(s, &got);
    return got;
}

static struct got poll_for(struct scene *s, const char *name)
{
    return poll_tagged(s, name, NULL);
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
    static struct got waiting; /* answered when the scene closes */
    memset(&waiting, 0, sizeof(waiting));
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

/* The hostile scene takes one letter of an instance in a commit, so the result is put off; what
 * comes behind it speaks of a lease that is over. */
SCENARIO(s10_a_result_that_waits_for_its_turn_has_the_lease)
{
    struct got back = {0};
    pawl_error err = {0};
    begin(s);
    struct got got = leased(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Mail",
                                              .data = pawl_s("x")),
                                 NULL, NULL, &err),
              PAWL_OK);
    expect_is(pawl_client_submit(
                  s->c,
                  PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = got.token, .data = pawl_s("done")),
                  NULL, NULL, &err),
              PAWL_OK);
    expect_is(pawl_worker_abandon(s->c, got.token, 0, on_reply, &back, &err), PAWL_OK);
    scene_settle(s);
    until_answered(s, &back);
    expect_is(back.status, PAWL_LOST);
    scene_expect(s, "i", PAWL_COMPLETED, "done");
}

/* ---- Rounds that a store refuses ---------------------------------------------------------- */

static const pawl_store_ops *below;
static int refusals; /* so many commits more have no round that fits */

static pawl_status commit_nothing(pawl_store *s, pawl_fence *fence, pawl_round *rounds,
                                  size_t count, int64_t now_ms, pawl_error *reterr)
{
    if (refusals == 0)
        return below->commit(s, fence, rounds, count, now_ms, reterr);
    refusals--;
    for (size_t i = 0; i < count; i++)
        rounds[i].result = PAWL_CONFLICT;
    return below->commit(s, fence, NULL, 0, now_ms, reterr);
}

static void refuse_when_told(pawl_store *store)
{
    static pawl_store_ops ops;
    below = store->ops;
    ops = *store->ops;
    ops.commit = commit_nothing;
    store->ops = &ops;
}

/* Its work is still there, so the result is wanted: it is recorded by the next commit. */
static void scene_s10_a_result_whose_round_was_refused_is_recorded(struct scene *s)
{
    s->decorate = refuse_when_told;
    begin(s);
    struct got got = leased(s);
    refusals = 2;
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    expect_is(refusals, 0);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
}
SCENE_TEST(s10_a_result_whose_round_was_refused_is_recorded, memory, SCENE_MEMORY)
SCENE_TEST(s10_a_result_whose_round_was_refused_is_recorded, sqlite, SCENE_SQLITE)
SCENE_TEST(s10_a_result_whose_round_was_refused_is_recorded, postgres, SCENE_POSTGRES)

/* A poll that could not read the store is tried again by itself, and health says why it waits. */
static void scene_s10_a_poll_outlives_a_store_that_cannot_be_read(struct scene *s)
{
    static const char *const names[] = {"Away"};
    struct got got = {0};
    char said[PAWL_TROUBLE_BYTES];
    pawl_error err = {0};
    begin(s);
    scene_fail(s, FAULT_OP_fetch_work, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 1, .wait_ms = 60000,
                                         .lock_ms = 1000),
                               on_reply, &got, &err),
              PAWL_OK);
    (void)pawl_runtime_step(s->rt, 0);
    expect_is(s->fault.left, 0);
    ck_assert(!pawl_runtime_healthy(s->rt, said));
    until_answered(s, &got); /* within 300 ms */
    expect_is(got.count, 1);
    ck_assert(pawl_runtime_healthy(s->rt, said));
}
SCENE_TEST(s10_a_poll_outlives_a_store_that_cannot_be_read, memory, SCENE_MEMORY)
SCENE_TEST(s10_a_poll_outlives_a_store_that_cannot_be_read, sqlite, SCENE_SQLITE)
SCENE_TEST(s10_a_poll_outlives_a_store_that_cannot_be_read, postgres, SCENE_POSTGRES)

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

static pawl_result bounded(pawl_ctx *ctx, pawl_str input)
{
    pawl_call_opts opts = {.attempts = 2, .initial_ms = 1, .start_to_close_ms = 2500};
    pawl_result got = pawl_call_with(ctx, "Away", input, &opts);
    return got.ok ? got
                  : pawl_fail(ctx, pawl_printf(ctx, "%s: %.*s", pawl_result_kind_name(got.kind),
                                               PAWL_FMT(got.value))
                                       .ptr);
}

/* Each attempt has its 2.5 s, however often its lease is extended. */
SCENARIO(s08_extensions_do_not_begin_the_attempt_anew)
{
    scene_flow(s, "Flow", bounded);
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    for (uint32_t n = 1; n <= 2; n++) {
        struct got got = leased(s);
        expect_is(got.attempt, n);
        for (int i = 0; i < 3; i++) {
            scene_advance(s, 800);
            expect_is(extend(s, got.token), PAWL_OK);
        }
        scene_advance(s, 150);
        expect_is(complete(s, got.token, "late"), PAWL_LOST);
    }
    scene_expect(s, "i", PAWL_FAILED, "start_to_close: timeout: no result in time");
}

static pawl_result for_ever(pawl_ctx *ctx, pawl_str input)
{
    pawl_call_opts opts = {.attempts = UINT32_MAX, .initial_ms = 1};
    return pawl_call_with(ctx, "Away", input, &opts);
}

/* Lost leases are counted beside the attempts: the sum must not begin at 0 again. */
SCENARIO(s08_the_most_attempts_there_are_and_a_lost_one)
{
    scene_flow(s, "Flow", for_ever);
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    (void)leased(s);
    scene_advance(s, 2000);
    struct got got = leased(s);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = got.token, .failed = true,
                                       .data = pawl_s("not yet"))),
              PAWL_OK);
    scene_advance(s, 1000);
    expect_is(complete(s, leased(s).token, "right"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
}

/* ---- Results that are handed in twice ------------------------------------------------------- */

static pawl_status hand_in_failure(struct scene *s, const char *token, const char *error)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token, .failed = true,
                                    .data = pawl_s(error)));
}

SCENARIO(s07_the_same_result_again_is_recorded_and_another_is_lost)
{
    begin(s);
    struct got got = leased(s);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    expect_is(complete(s, got.token, "wrong"), PAWL_LOST);
    expect_is(hand_in_failure(s, got.token, "right"), PAWL_LOST);
    scene_crash(s);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 1);
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "i"), PAWL_OK);
    expect_is(complete(s, got.token, "right"), PAWL_LOST);
}

/* Nobody's turn has taken it yet; and both in one pass. */
SCENARIO(s07_a_result_that_waits_for_its_instance_is_recorded)
{
    pawl_error err;
    begin(s);
    struct got got = leased(s);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    expect_is(pawl_client_submit(
                  s->c,
                  PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = got.token, .data = pawl_s("right")),
                  NULL, NULL, &err),
              PAWL_OK);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    expect_is(complete(s, got.token, "wrong"), PAWL_LOST);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "right");
    expect_is(complete(s, got.token, "right"), PAWL_OK);
}

/* Equal, but not his: his lease had ended, and another's result counts. */
SCENARIO(s07_an_equal_result_of_another_attempt_is_lost)
{
    begin(s);
    struct got first = leased(s);
    scene_advance(s, 2000);
    struct got second = leased(s);
    expect_is(hand_in_failure(s, second.token, "same"), PAWL_OK);
    scene_expect(s, "i", PAWL_FAILED, "same");
    expect_is(hand_in_failure(s, first.token, "same"), PAWL_LOST);
    expect_is(hand_in_failure(s, second.token, "same"), PAWL_OK);
}

/* The instance is removed in the pass that the result comes in. */
SCENARIO(s07_a_result_that_meets_a_removal_is_lost)
{
    pawl_error err;
    begin(s);
    struct got got = leased(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i", .force = true),
                                 NULL, NULL, &err),
              PAWL_OK);
    expect_is(complete(s, got.token, "right"), PAWL_LOST);
    scene_settle(s);
    expect_is(scene_depths(s).instances, 0);
    scene_expect_empty(s);
}

/* ---- Who polls -------------------------------------------------------------------------------- */

static struct got poll_as(struct scene *s, const char *worker, const char *name, const char *tag)
{
    const char *const names[] = {name, "Other"}, *const tags[] = {tag};
    struct got got = {0};
    pawl_error err = {0};
    scene_up(s);
    expect_is(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 2, .tags = tags,
                                         .tag_count = 1, .lock_ms = 1000, .worker = worker),
                               on_reply, &got, &err),
              PAWL_OK);
    until_answered(s, &got);
    return got;
}

static pawl_worker_page workers(struct scene *s)
{
    pawl_worker_page page;
    pawl_error err;
    expect_is(pawl_worker_list(s->c, s->mem, &page, &err), PAWL_OK);
    return page;
}

SCENARIO(s10_a_worker_is_known_by_its_name_and_what_it_has)
{
    begin(s);
    expect_is(workers(s).count, 0);
    expect_is(poll_as(s, "zoe", "Nothing", "eu").count, 0);
    struct got got = poll_as(s, "adam", "Away", "gpu");
    pawl_worker_page page = workers(s);
    expect_is(page.count, 2);
    ck_assert_str_eq(page.items[0].worker.ptr, "adam");
    ck_assert_str_eq(page.items[0].activities[0].ptr, "Away");
    ck_assert_str_eq(page.items[0].tags[0].ptr, "gpu");
    expect_is(page.items[0].held_count, 1);
    ck_assert_str_eq(page.items[0].held[0].instance.ptr, "i");
    ck_assert_str_eq(page.items[1].worker.ptr, "zoe");
    expect_is(page.items[1].held_count, 0);
    pawl_info info = scene_info(s, "i");
    expect_is(info.waiting_count, 1);
    ck_assert_str_eq(info.waiting[0].worker.ptr, "adam");
    ck_assert(info.waiting[0].leased_ms > s->now && info.waiting[0].leased_ms <= s->now + 1000);
    expect_is(extend(s, got.token), PAWL_OK);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    expect_is(workers(s).items[0].held_count, 0);
    scene_advance(s, 601000);
    expect_is(workers(s).count, 0);
}

/* A lost lease is nobody's, and names that nobody uses do not pile up. */
SCENARIO(s10_workers_and_their_leases_are_forgotten)
{
    begin(s);
    (void)poll_as(s, "adam", "Away", "gpu");
    scene_advance(s, 2000);
    expect_is(workers(s).items[0].held_count, 0);
    expect_is(scene_info(s, "i").waiting[0].worker.len, 0);
    (void)leased(s); /* somebody without a name */
    ck_assert(scene_info(s, "i").waiting[0].leased);
    expect_is(scene_info(s, "i").waiting[0].worker.len, 0);
    for (int i = 0; i < 1100; i++) {
        pawl_error err;
        const char *const names[] = {scene_id(s, "Name", i)};
        struct got got = {0};
        expect_is(pawl_worker_poll(s->c,
                                   PAWL_POLL(.activities = names, .activity_count = 1,
                                             .worker = scene_id(s, "w", i)),
                                   on_reply, &got, &err),
                  PAWL_OK);
        (void)pawl_runtime_step(s->rt, 0);
        until_answered(s, &got);
    }
    expect_is(workers(s).count, 1000);
}

static pawl_result calls_many(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 10000; i++)
        (void)pawl_start(ctx, "Away", input);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result calls_far(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Far", input);
}

/* How many a worker got, of up to a hundred. */
static int polled(struct scene *s, const char *worker, const char *name)
{
    const char *const names[] = {name};
    struct got got = {0};
    expect_is(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 1, .max = 100,
                                         .lock_ms = PAWL_LEASE_MAX, .worker = worker),
                               on_reply, &got, NULL),
              PAWL_OK);
    until_answered(s, &got);
    return (int)got.count;
}

/* There are places for the holders of 10,000 leases: those of workers that went away without a
 * word are used again. */
static void scene_s10_places_of_ended_leases_are_used_again(struct scene *s)
{
    s->opts.max_history = 100000;
    scene_flow(s, "Many", calls_many);
    scene_flow(s, "Far", calls_far);
    scene_start(s, "Many", "many", "");
    scene_settle(s);
    for (int n = 0; n < 10000;)
        n += polled(s, "adam", "Away");
    scene_start(s, "Far", "i", "");
    expect_is(polled(s, "zoe", "Far"), 1);
    expect_is(scene_info(s, "i").waiting[0].worker.len, 0); /* all places are held */
    scene_advance(s, PAWL_LEASE_MAX);
    scene_start(s, "Far", "j", "");
    expect_is(polled(s, "zoe", "Far"), 2);
    ck_assert_str_eq(scene_info(s, "i").waiting[0].worker.ptr, "zoe");
    ck_assert_str_eq(scene_info(s, "j").waiting[0].worker.ptr, "zoe");
}
SCENE_TEST(s10_places_of_ended_leases_are_used_again, memory, SCENE_MEMORY)

SCENARIO(s30_a_poll_with_a_bad_name_is_refused_wherever_it_stands)
{
    const char *const good[] = {"a", "b", "c"};
    scene_up(s);
    for (int i = 0; i < 6; i++) {
        const char *bad[] = {"a", "b", "c"};
        struct got got = {0};
        pawl_error err;
        bad[i % 3] = i % 2 ? "" : "no\nname";
        expect_is(pawl_worker_poll(s->c,
                                   PAWL_POLL(.activities = i < 3 ? bad : good, .activity_count = 3,
                                             .tags = i < 3 ? good : bad, .tag_count = 3),
                                   on_reply, &got, &err),
                  PAWL_INVALID);
        expect_text(err.text, i < 3 ? "activity name" : "tag");
        scene_settle(s);
        ck_assert(!got.answered); /* refused by the call */
    }
}

SCENARIO(s10_an_activity_nobody_has_is_told_once_with_what_may_be_meant)
{
    scene_activity(s, "Awey", echo_away);
    s->opts.log_level = PAWL_LOG_WARN;
    begin(s);
    scene_start(s, "Flow", "j", "x");
    scene_settle(s);
    ck_assert(scene_logged(
        s, "this activity is not registered, and no worker has polled for it; it waits"));
    const char *first = strstr(s->log, "activity is not registered");
    ck_assert_ptr_null(strstr(first + 1, "activity is not registered"));
    pawl_info info = scene_info(s, "i");
    ck_assert(info.waiting[0].unknown);
    ck_assert_str_eq(info.waiting[0].meant.ptr, "Awey");
    expect_is(poll_once(s).count, 2);
    scene_advance(s, 2000);
    ck_assert(!scene_info(s, "i").waiting[0].unknown); /* somebody asked for it */
}

/* ---- Tags ---------------------------------------------------------------------------------- */

static pawl_result call_tagged(pawl_ctx *ctx, pawl_str input)
{
    pawl_call_opts opts = {.attempts = 2, .initial_ms = 100, .tag = "gpu"};
    return pawl_call_with(ctx, "Away", input, &opts);
}

static void begin_tagged(struct scene *s, int count)
{
    scene_flow(s, "Tagged", call_tagged);
    for (int i = 0; i < count; i++)
        scene_start(s, "Tagged", scene_id(s, "t", i), "x");
    scene_settle(s);
}

SCENARIO(s10_calls_with_a_tag_nobody_asks_for_hide_nothing)
{
    begin_tagged(s, 50);
    begin(s);
    struct got got = leased(s);
    expect_is(complete(s, got.token, "right"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "right");
    expect_is(poll_once(s).count, 0);
    expect_is(poll_tagged(s, "Away", "cpu").count, 0);
    expect_is(poll_tagged(s, "Away", "gpu").count, 10);
    scene_crash(s);
    expect_is(poll_once(s).count, 0);
    expect_is(poll_tagged(s, "Away", "gpu").count, 10);
}

static pawl_result flaky_away(pawl_activity *act, pawl_str input)
{
    ck_assert_str_eq(pawl_activity_name(act).ptr, "Away");
    scene_count(act);
    return pawl_activity_attempt(act) == 1 ? pawl_err(act, "once") : pawl_ok_str(act, input);
}

/* Not new, not after its retry's delay, not after a restart. */
SCENARIO(s10_no_thread_of_the_process_runs_a_tag_it_was_not_given)
{
    scene_activity(s, "Away", flaky_away);
    begin_tagged(s, 1);
    scene_advance(s, 1000);
    expect_is(scene_ran(s, "Away"), 0);
    scene_crash(s);
    scene_advance(s, 1000);
    struct got got = poll_tagged(s, "Away", "gpu");
    expect_is(got.count, 1);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = got.token, .failed = true,
                                       .data = pawl_s("once"))),
              PAWL_OK);
    scene_advance(s, 1000);
    expect_is(scene_ran(s, "Away"), 0);
    expect_is(complete(s, poll_tagged(s, "Away", "gpu").token, "right"), PAWL_OK);
    scene_expect(s, "t0", PAWL_COMPLETED, "right");
    scene_expect_empty(s);
}

SCENARIO(s10_no_thread_runs_a_tag_because_it_ran_the_same_without_one)
{
    scene_activity(s, "Away", flaky_away);
    begin(s);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_FAILED, "once"); /* its call has one attempt */
    long ran = scene_ran(s, "Away");
    begin_tagged(s, 1);
    scene_advance(s, 1000);
    expect_is(scene_ran(s, "Away"), ran);
    expect_is(poll_tagged(s, "Away", "gpu").count, 1);
}

SCENARIO(s10_a_process_that_was_given_the_tag_runs_it)
{
    s->opts.tags = "eu, gpu";
    scene_activity(s, "Away", flaky_away);
    begin_tagged(s, 1);
    scene_advance(s, 1000);
    expect_is(scene_ran(s, "Away"), 2);
    scene_expect(s, "t0", PAWL_COMPLETED, "x");
    scene_expect_empty(s);
}

TEST(a_tag_that_cannot_be_one_is_refused_at_open)
{
    pawl_error err = {0};
    pawl_app *app = pawl_app_new();
    ck_assert_ptr_null(
        pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:", .tags = "a,b/c"), &err));
    expect_is(err.status, PAWL_INVALID);
    expect_text(err.text, "tag has a '/'");
    pawl_app_free(app);
}
