/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_doubt.c -- a commit whose reply was lost, on stores that can be asked.
 *
 * The runtime asks until it knows and goes on; nobody hears a guess.  (jsonl cannot be asked: there
 * UNKNOWN is the end of the process, see test_rounds.c.)
 */
#include "scene.h"

#include "queue_verbs.h"
#include "runtime/core/doubt.h"
#include "runtime/core/health.h"

/* On the stores that have outcome(). */
#define DOUBT(name)                                                                                \
    static void scene_##name(struct scene *s);                                                     \
    SCENE_TEST(name, memory, SCENE_MEMORY)                                                         \
    SCENE_TEST(name, sqlite, SCENE_SQLITE)                                                         \
    SCENE_TEST(name, hostile, SCENE_HOSTILE)                                                       \
    SCENE_TEST(name, postgres, SCENE_POSTGRES)                                                     \
    static void scene_##name(struct scene *s)

static pawl_result two_steps(pawl_ctx *ctx, pawl_str input)
{
    pawl_result first = pawl_call(ctx, "Echo", input);
    if (!first.ok || !pawl_await(ctx, pawl_timer(ctx, 1000)).ok)
        return pawl_fail(ctx, "it was cut short");
    return pawl_call(ctx, "Echo", first.value);
}

static void lose(struct scene *s, int skip, enum fault_kind kind)
{
    scene_fail(s, FAULT_OP_commit, skip, 1, kind, PAWL_UNKNOWN);
}

/* Each commit of a flow is lost in turn, done or not: every call is made and recorded once. */
static void lose_each(struct scene *s, enum fault_kind kind)
{
    int lost = 0;
    s->answers = 3;
    scene_flow(s, "Flow", two_steps);
    for (int skip = 0; skip < 6; skip++) {
        const char *id = scene_id(s, "i", skip);
        scene_up(s);
        lose(s, skip, kind);
        scene_start(s, "Flow", id, "x");
        scene_finish(s, id);
        scene_expect(s, id, PAWL_COMPLETED, "x");
        expect_is(scene_kind_count(s, id, "ActivityCompleted"), 2);
        expect_is(scene_kind_count(s, id, "TimerFired"), 1);
        lost += s->fault.left == 0;
    }
    ck_assert_int_ge(lost, 4);
    expect_is(s->asked, 3 * lost);
    expect_is(scene_ran(s, "Echo"), 12); /* nothing was given up: no activity ran twice */
    scene_expect_empty(s);
}

DOUBT(b03_a_commit_that_was_done_goes_on_as_committed)
{
    lose_each(s, FAULT_AFTER);
    expect_is(scene_stats(s).store_errors, 0);
}

DOUBT(b02_a_commit_that_was_not_done_is_made_again)
{
    lose_each(s, FAULT_BEFORE);
    ck_assert_int_ge((int)scene_stats(s).store_errors, 4);
}

static void note(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

/* Submit a start and step once: its commit is in doubt. */
static void start_in_doubt(struct scene *s, enum fault_kind kind, pawl_status *ret)
{
    pawl_error err;
    *ret = PAWL_EMPTY;
    scene_flow(s, "Flow", two_steps);
    scene_up(s);
    lose(s, 0, kind);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                              .data = pawl_s("x")),
                                 note, ret, &err),
              PAWL_OK);
    scene_settle(s);
    ck_assert(doubt_is(s->rt));
}

DOUBT(nobody_hears_anything_while_there_is_doubt_and_health_is_bad)
{
    char trouble[PAWL_TROUBLE_BYTES];
    pawl_status first, second = PAWL_EMPTY;
    pawl_error err;
    s->answers = 1000;
    start_in_doubt(s, FAULT_AFTER, &first);
    expect_is(pawl_client_submit(s->c, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = "i"), note,
                                 &second, &err),
              PAWL_OK);
    scene_advance(s, 10000);
    expect_is(first, PAWL_EMPTY);
    expect_is(second, PAWL_EMPTY);
    ck_assert(!pawl_runtime_healthy(s->rt, trouble));
    expect_text(trouble, "store: ");
    ck_assert_int_ge(s->asked, 5);
    ck_assert_int_le(s->asked, 20); /* later and later */
    s->answers = 1;
    scene_advance(s, 5000);
    expect_is(first, PAWL_OK);
    expect_is(second, PAWL_OK);
    ck_assert(pawl_runtime_healthy(s->rt, trouble));
    scene_finish(s, "i");
    scene_expect_empty(s);
}

DOUBT(closing_in_doubt_says_that_nobody_knows)
{
    pawl_status status;
    s->answers = 1000;
    start_in_doubt(s, FAULT_AFTER, &status);
    pawl_runtime_close(s->rt);
    s->rt = NULL;
    expect_is(status, PAWL_UNKNOWN);
    s->answers = 1;
    scene_finish(s, "i"); /* it had happened */
    scene_expect(s, "i", PAWL_COMPLETED, "x");
}

DOUBT(closing_asks_once_more)
{
    pawl_status status;
    s->answers = 2;
    start_in_doubt(s, FAULT_AFTER, &status);
    pawl_runtime_close(s->rt);
    s->rt = NULL;
    expect_is(status, PAWL_OK);
}

DOUBT(another_owner_ends_the_doubt_and_callers_hear_that_nobody_knows)
{
    pawl_status status;
    pawl_fence other;
    pawl_error err;
    s->answers = 2;
    start_in_doubt(s, FAULT_BEFORE, &status);
    expect_is(s->store->ops->take(s->store, s->now, &other, &err), PAWL_OK);
    s->mono += 1000;
    expect_is(pawl_runtime_step(s->rt, 0), -1);
    expect_is(health_dead(s->rt), PAWL_FENCED);
    scene_down(s);
    expect_is(status, PAWL_UNKNOWN);
}

DOUBT(a_purge_in_doubt_is_made_again)
{
    static const enum fault_kind kinds[] = {FAULT_BEFORE, FAULT_AFTER};
    s->answers = 2;
    scene_flow(s, "Flow", two_steps);
    for (int i = 0; i < 2; i++) {
        const char *id = scene_id(s, "i", i);
        scene_start(s, "Flow", id, "x");
        scene_finish(s, id);
        scene_fail(s, FAULT_OP_purge, 0, 1, kinds[i], PAWL_UNKNOWN);
        scene_steer(s, PAWL_OP_REMOVE, id);
        scene_advance(s, 5000);
        expect_is(s->fault.left, 0);
        expect_is(s->asked, 2 * (i + 1));
    }
    expect_is(scene_depths(s).instances, 0);
    scene_start(s, "Flow", "after", "x");
    scene_finish(s, "after");
    scene_expect(s, "after", PAWL_COMPLETED, "x");
}

static pawl_result twice(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "first"))
        return pawl_continue_as_new(ctx, pawl_s("second"), NULL);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static void lose_prune(struct scene *s, enum fault_kind kind, int left)
{
    s->answers = 2;
    scene_flow(s, "Twice", twice);
    scene_start(s, "Twice", "i", "first");
    scene_advance(s, 1000);
    scene_fail(s, FAULT_OP_prune_executions, 0, 1, kind, PAWL_UNKNOWN);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = s->now)),
              PAWL_UNAVAILABLE);
    ck_assert(doubt_is(s->rt));
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = s->now)), PAWL_OK);
    expect_is(s->asked, 2);
    expect_is(s->reply.executions, left);
    scene_raise(s, "i", "Go", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x");
}

DOUBT(a_prune_that_was_done_in_doubt_leaves_nothing_to_prune)
{
    lose_prune(s, FAULT_AFTER, 0);
}

DOUBT(a_prune_that_was_not_done_is_made_when_asked_again)
{
    lose_prune(s, FAULT_BEFORE, 1);
}

static void lose_queue_calls(struct scene *s, enum fault_kind kind)
{
    const char *data, *lock;
    s->answers = 2;
    scene_up(s);
    lose(s, 0, kind);
    q_push(s, "q", "a", 0);
    lose(s, 0, kind);
    q_push(s, "q", "b", 0);
    expect_str(q_all(s, "q"), "a:ready b:ready");
    lose(s, 0, kind);
    lock = q_lock(s, "q", 1, 60000, &data);
    expect_str(data, "a");
    lose(s, 0, kind);
    expect_is(q_ack(s, "q", lock), PAWL_OK);
    lose(s, 0, kind);
    expect_str(q_pop(s, "q", 5), "b");
    expect_is(s->fault.left, 0);
    expect_is(s->asked, 10);
    expect_str(q_counts(s, "q"), "0 0 0 0");
}

QUEUE_SCENARIO(queue_calls_in_doubt_that_were_done_are_answered)
{
    lose_queue_calls(s, FAULT_AFTER);
}

QUEUE_SCENARIO(queue_calls_in_doubt_that_were_not_done_are_made_again)
{
    lose_queue_calls(s, FAULT_BEFORE);
}

/* It may have happened: the caller must not hear that it can be tried again. */
DOUBT(a_store_that_is_gone_in_doubt_leaves_it_unknown)
{
    pawl_status status;
    s->answers = 2;
    start_in_doubt(s, FAULT_AFTER, &status);
    scene_fail(s, FAULT_OP_outcome, 0, 1000, FAULT_BEFORE, PAWL_NOT_FOUND);
    s->mono += 5000;
    for (int i = 0; i < 5; i++)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(status, PAWL_UNKNOWN);
}
