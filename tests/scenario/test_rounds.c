/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_rounds.c -- B1..B12, A10, A11: rounds, watched by a store that counts.
 *
 * The watching store is the real one with a commit that checks every committed
 * round: a schedule event comes with its work row or timer message, a
 * completion with the row it acks, an end is the last event.
 */
#include "scene.h"

#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The watching store -------------------------------------------------------------- */

struct watch {
    const pawl_store_ops *real;
    pawl_store_ops ops;
    bool delays; /* timers are messages */
    int commits, rounds, events, broken;
    char what[200];
};

static struct watch watch;

static void broken(const char *what, const pawl_event *e)
{
    watch.broken++;
    snprintf(watch.what, sizeof(watch.what), "%s: event %llu %s #%llu", what,
             (unsigned long long)e->seq, pawl_event_kind_name(e->kind), (unsigned long long)e->ref);
}

static bool has_work(const pawl_round *r, uint64_t id)
{
    for (size_t i = 0; i < r->work_count; i++)
        if (r->work[i].id == id)
            return true;
    return false;
}

static bool has_message(const pawl_round *r, uint64_t id)
{
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].id == id)
            return true;
    return false;
}

/* Withdrawn in the same round: no row is right. */
static bool is_withdrawn(const pawl_round *r, uint64_t ref)
{
    for (size_t i = 0; i < r->event_count; i++)
        if (r->events[i].ref == ref && (r->events[i].kind == PAWL_EV_ACTIVITY_CANCEL_REQUESTED ||
                                        r->events[i].kind == PAWL_EV_TIMER_CANCELLED))
            return true;
    return false;
}

static void look_at_round(const pawl_round *r)
{
    size_t completions = 0;
    watch.rounds++;
    for (size_t i = 0; i < r->event_count; i++) {
        const pawl_event *e = &r->events[i];
        watch.events++;
        completions += e->kind == PAWL_EV_ACTIVITY_COMPLETED || e->kind == PAWL_EV_ACTIVITY_FAILED;
        if (is_withdrawn(r, e->ref))
            continue;
        if (e->kind == PAWL_EV_ACTIVITY_SCHEDULED && !has_work(r, e->rid))
            broken("scheduled without its work row", e);
        if (e->kind == PAWL_EV_TIMER_CREATED && watch.delays && !has_message(r, e->rid))
            broken("created without its message", e);
        if (e->kind == PAWL_EV_ORCHESTRATION_COMPLETED && i + 1 != r->event_count)
            broken("not the last", e);
    }
    if (completions > r->need_work_count + r->drop_message_count)
        broken("completion without its ack", &r->events[0]);
}

static pawl_status watched_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds,
                                  size_t count, int64_t now_ms, pawl_error *reterr)
{
    pawl_status rc = watch.real->commit(s, fence, rounds, count, now_ms, reterr);
    watch.commits++;
    for (size_t i = 0; rc == PAWL_OK && i < count; i++)
        if (rounds[i].result == PAWL_OK)
            look_at_round(&rounds[i]);
    return rc;
}

/* The same store with another commit. */
static void wrap(pawl_store *outer)
{
    watch.real = outer->ops;
    watch.ops = *outer->ops;
    watch.ops.commit = watched_commit;
    watch.delays = store_caps(outer).delayed_visibility;
    outer->ops = &watch.ops;
}

static void watch_store(struct scene *s)
{
    watch = (struct watch){0};
    s->decorate = wrap;
}

static void expect_whole(void)
{
    ck_assert_msg(watch.broken == 0, "%s", watch.what);
    ck_assert(watch.rounds > 0);
}

/* ---- Something of everything ------------------------------------------------------------- */

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Echo", input);
}

static pawl_result everything(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_call(ctx, "Echo", input);
    pawl_task legs[] = {pawl_start(ctx, "Echo", pawl_s("b")), pawl_start(ctx, "Echo", pawl_s("c"))};
    pawl_ignore(pawl_await_all(ctx, legs, 2));
    pawl_ignore(pawl_sleep(ctx, 100));
    pawl_task t[] = {pawl_wait_event(ctx, "Go"), pawl_timer(ctx, 1000)};
    int first = pawl_race(ctx, t, 2);
    pawl_result k = pawl_call_child(ctx, "Kid", pawl_s("k"), NULL);
    if (pawl_execution(ctx) == 1)
        return pawl_continue_as_new(ctx, input, NULL);
    return pawl_donef(ctx, "%s%s%d%s", a.value.ptr, pawl_await(ctx, legs[1]).value.ptr, first,
                      k.value.ptr);
}

static void run_everything(struct scene *s, const char *id)
{
    scene_start(s, "All", id, "a");
    scene_finish(s, id);
    scene_expect(s, id, PAWL_COMPLETED, "ac1k");
    static const char life[] =
        "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 ActivityScheduled#2 "
        "ActivityScheduled#3 ActivityCompleted#2 ActivityCompleted#3 TimerCreated#4 TimerFired#4 "
        "ExternalSubscribed#5 TimerCreated#6 TimerFired#6 ExternalCancelled#5 "
        "SubOrchestrationScheduled#7 SubOrchestrationCompleted#7 ";
    char expected[600];
    snprintf(expected, sizeof(expected), "%sOrchestrationContinuedAsNew", life);
    scene_events_of(s, id, 1, expected);
    snprintf(expected, sizeof(expected), "%sOrchestrationCompleted", life);
    scene_events_of(s, id, 2, expected);
    scene_expect_empty(s);
}

static void all_flows(struct scene *s)
{
    scene_flow(s, "All", everything);
    scene_flow(s, "Kid", kid);
}

SCENARIO(b01_b04_b05_b11_rounds_are_whole)
{
    watch_store(s);
    all_flows(s);
    run_everything(s, "i");
    expect_whole();
    expect_is(scene_ran(s, "Echo"), 8);
}

/* One commit a step: completion, ack and what follows together. */
SCENARIO(b05_a07_completion_ack_and_next_schedule_are_one_round)
{
    watch_store(s);
    scene_flow(s, "Kid", kid);
    scene_start(s, "Kid", "i", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x");
    expect_whole();
    expect_is(watch.rounds, 2); /* start and schedule; completion and end */
    expect_is(watch.events, 4);
}

/* ---- Failure of commits -------------------------------------------------------------------- */

SCENARIO(b09_b11_injected_commit_failures_change_nothing)
{
    static const pawl_status kinds[] = {PAWL_BUSY, PAWL_UNAVAILABLE, PAWL_NO_MEMORY};
    watch_store(s);
    all_flows(s);
    for (int skip = 0; skip < 18; skip++) {
        const char *id = scene_id(s, "i", skip);
        scene_fail(s, FAULT_OP_commit, skip, 2, FAULT_BEFORE, kinds[skip % 3]);
        run_everything(s, id);
    }
    expect_whole();
    expect_is(scene_ran(s, "Echo"), 18 * 8); /* no activity ran twice: its result waited */
}

/* Store trouble never becomes a business failure (defect 11). */
SCENARIO(b09_fifty_failed_commits_then_healed)
{
    all_flows(s);
    scene_start(s, "All", "i", "a");
    scene_fail(s, FAULT_OP_commit, 0, 50, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_advance(s, PAWL_SECONDS(10));
    ck_assert(!scene_stats(s).healthy);
    expect_text(scene_stats(s).trouble, "store: ");
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "ac1k");
    ck_assert(scene_stats(s).healthy);
    ck_assert(scene_stats(s).store_errors >= 50);
    expect_is(scene_ran(s, "Echo"), 8);
}

SCENARIO(b09_reads_that_fail_are_tried_again)
{
    static const enum fault_op ops[] = {
        FAULT_OP_fetch_messages, FAULT_OP_fetch_work,   FAULT_OP_fetch_deadlines,
        FAULT_OP_next_due,       FAULT_OP_find,         FAULT_OP_find_uid,
        FAULT_OP_read_history,   FAULT_OP_read_messages};
    all_flows(s);
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        const char *id = scene_id(s, "i", i);
        scene_start(s, "All", id, "a");
        scene_down(s);
        scene_up(s);
        scene_fail(s, ops[i], 0, 3, FAULT_BEFORE, PAWL_UNAVAILABLE);
        scene_settle(s);
        for (int k = 0; k < 10; k++)
            (void)scene_hop(s);
        s->fault.left = 0;
        scene_finish(s, id);
        scene_expect(s, id, PAWL_COMPLETED, "ac1k");
    }
}

/* ---- Crashes around the commit ---------------------------------------------------------------- */

/* The commit happened, the reply was lost: the process stops and reads again (A10, B3). */
SCENARIO(a10_b03_b11_append_then_crash_before_ack)
{
    int reached = 0;
    all_flows(s);
    for (int skip = 0; skip < 18; skip++) {
        const char *id = scene_id(s, "i", skip);
        pawl_error err;
        scene_up(s);
        scene_fail(s, FAULT_OP_commit, skip, 1, FAULT_AFTER, PAWL_UNKNOWN);
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = PAWL_OP_START, .name = "All",
                                                  .instance = id, .data = pawl_s("a")),
                                     NULL, NULL, &err),
                  PAWL_OK);
        while (s->fault.left && scene_hop(s))
            ;
        reached += s->fault.left == 0;
        s->fault.left = 0;
        scene_crash(s);
        run_everything(s, id); /* the start is a no-op, the rest goes on */
    }
    ck_assert_int_ge(reached, 12);
}

/* The process died before the commit: everything is delivered again (B2). */
SCENARIO(b02_b11_failure_between_dequeue_and_append)
{
    all_flows(s);
    scene_start(s, "All", "i", "a");
    for (int i = 0; i < 12; i++) {
        scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_UNKNOWN);
        while (s->fault.left && scene_hop(s))
            ;
        if (s->fault.left)
            break;
        scene_crash(s);
    }
    s->fault.left = 0;
    scene_crash(s);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "ac1k");
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 3);
    expect_is(scene_kind_count(s, "i", "TimerFired"), 2);
}

/* A schedule event and its row are one: no crash falls between them. */
SCENARIO(b11_b04_crash_between_schedule_append_and_enqueue_cannot_be)
{
    watch_store(s);
    all_flows(s);
    for (int skip = 0; skip < 6; skip++) {
        const char *id = scene_id(s, "i", skip);
        scene_start(s, "All", id, "a");
        for (int i = 0; i < skip; i++)
            (void)scene_hop(s);
        scene_crash(s);
        run_everything(s, id);
    }
    expect_whole();
}

/* ---- Duplicates --------------------------------------------------------------------------------- */

static pawl_result wait_three(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_start(ctx, "Echo", input), pawl_timer(ctx, 100),
                     pawl_start_child(ctx, "Kid", input, NULL)};
    pawl_ignore(pawl_await_all(ctx, t, 3));
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

SCENARIO(b08_a10_duplicate_completions_are_acked_without_append)
{
    static const int kinds[] = {PAWL_MSG_ACTIVITY_COMPLETED, PAWL_MSG_ACTIVITY_FAILED,
                                PAWL_MSG_TIMER_FIRED, PAWL_MSG_CHILD_COMPLETED,
                                PAWL_MSG_CHILD_FAILED};
    static const uint64_t refs[] = {1, 1, 2, 3, 3};
    scene_flow(s, "Flow", wait_three);
    scene_flow(s, "Kid", kid);
    scene_start(s, "Flow", "i", "x");
    scene_advance(s, 100);
    const char *before = scene_history(s, "i", 0);
    for (int i = 0; i < 5; i++)
        scene_inject(s, (pawl_message){.kind = kinds[i],
                                       .uid = scene_row(s, "i").uid,
                                       .execution = 1,
                                       .ref = refs[i],
                                       .data = pawl_s("again")});
    scene_events(s, "i", before);
    expect_is(scene_depths(s).messages, 0);
    expect_is(scene_depths(s).quarantine, 0);
    scene_raise(s, "i", "Go", "end");
    scene_expect(s, "i", PAWL_COMPLETED, "end");
}

/* ---- Owners -------------------------------------------------------------------------------------- */

static void take_status(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

SCENARIO(b12_e11_a_second_runtime_takes_over_and_the_first_is_fenced)
{
    pawl_error err = {0};
    pawl_status first_status = PAWL_OK;
    all_flows(s);
    scene_start(s, "All", "i", "a");
    pawl_runtime *second = pawl_runtime_open(s->app, &s->opts, &err);
    ck_assert_msg(second, "%s", err.text);
    pawl_runtime *first = s->rt;
    expect_is(pawl_client_submit(pawl_runtime_client(first),
                                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go"),
                                 take_status, &first_status, &err),
              PAWL_OK);
    for (int i = 0; i < 5 && pawl_runtime_step(first, 0) >= 0; i++)
        ;
    expect_is(pawl_runtime_step(first, 0), -1);
    pawl_runtime_close(first);
    expect_is(first_status, PAWL_SHUTDOWN);
    s->rt = second;
    s->c = pawl_runtime_client(second);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "ac1k"); /* the timer won: the raise was refused */
}
