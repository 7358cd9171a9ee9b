/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_continue.c -- S24, B7, C7, E7, E12: ContinueAsNew and executions. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

static pawl_result count_down(pawl_ctx *ctx, pawl_str input)
{
    int left = atoi(input.ptr);
    if (left == 0)
        return pawl_donef(ctx, "done in %llu", (unsigned long long)pawl_execution(ctx));
    pawl_ignore(pawl_call(ctx, "Echo", input));
    return pawl_continue_as_new(ctx, pawl_printf(ctx, "%d", left - 1), NULL);
}

#define ONE_LIFE                                                                                   \
    "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 OrchestrationContinuedAsNew"

SCENARIO(s24_c07_each_execution_has_its_own_history_and_all_are_kept)
{
    scene_flow(s, "Flow", count_down);
    scene_start(s, "Flow", "i", "2");
    scene_expect(s, "i", PAWL_COMPLETED, "done in 3");
    scene_events_of(s, "i", 1, ONE_LIFE);
    scene_events_of(s, "i", 2, ONE_LIFE);
    scene_events_of(s, "i", 3, "OrchestrationStarted OrchestrationCompleted");
    expect_is(scene_ran(s, "Echo"), 2);
    pawl_info info;
    pawl_error err;
    expect_is(pawl_client_get(s->c, "i", 1, s->mem, &info, &err), PAWL_OK);
    expect_is(info.state, PAWL_CONTINUED_AS_NEW);
    ck_assert_str_eq(info.input.ptr, "2");
    expect_is(pawl_client_get(s->c, "i", 3, s->mem, &info, &err), PAWL_OK);
    ck_assert_str_eq(info.input.ptr, "0");
    expect_is(pawl_client_get(s->c, "i", 4, s->mem, &info, &err), PAWL_NOT_FOUND);
}

SCENARIO(s24_c07_waiting_for_an_execution_gives_an_empty_success)
{
    pawl_info info;
    pawl_error err;
    scene_flow(s, "Flow", count_down);
    scene_start(s, "Flow", "i", "1");
    expect_is(pawl_client_wait(s->c, "i", 1, 0, s->mem, &info, &err), PAWL_OK);
    expect_is(info.state, PAWL_COMPLETED);
    expect_is(info.output.len, 0);
    expect_is(pawl_client_wait(s->c, "i", 0, 0, s->mem, &info, &err), PAWL_OK);
    ck_assert_str_eq(info.output.ptr, "done in 2");
}

/* One round: never a moment without a current execution (defect 7). */
static int gaps;

static void look_for_gaps(void *arg, const pawl_change *changes, size_t count)
{
    struct scene *s = arg;
    for (size_t i = 0; i < count; i++) {
        pawl_row row = scene_row(s, changes[i].instance.ptr);
        gaps += row.state == PAWL_CONTINUED_AS_NEW || row.last_seq == 0;
    }
}

SCENARIO(b07_s24_closing_and_opening_are_one_round)
{
    gaps = 0;
    scene_flow(s, "Flow", count_down);
    scene_up(s);
    ck_assert(pawl_client_feed(s->c, look_for_gaps, s) != 0);
    scene_start(s, "Flow", "i", "5");
    scene_expect(s, "i", PAWL_COMPLETED, "done in 6");
    expect_is(gaps, 0);
}

SCENARIO(b07_failed_commit_of_continue_as_new_does_not_run_it_twice)
{
    scene_flow(s, "Flow", count_down);
    for (int skip = 0; skip < 5; skip++) {
        const char *id = scene_id(s, "i", skip);
        scene_fail(s, FAULT_OP_commit, skip, 1, FAULT_BEFORE, PAWL_BUSY);
        scene_start(s, "Flow", id, "2");
        scene_finish(s, id);
        scene_expect(s, id, PAWL_COMPLETED, "done in 3");
        scene_events_of(s, id, 2, ONE_LIFE);
    }
    expect_is(scene_ran(s, "Echo"), 10);
}

SCENARIO(s24_many_generations_at_once)
{
    scene_flow(s, "Flow", count_down);
    scene_start(s, "Flow", "i", "100");
    scene_expect(s, "i", PAWL_COMPLETED, "done in 101");
    scene_expect_empty(s);
}

static pawl_result spin(pawl_ctx *ctx, pawl_str input)
{
    int left = atoi(input.ptr);
    return left ? pawl_continue_as_new(ctx, pawl_printf(ctx, "%d", left - 1), NULL)
                : pawl_donef(ctx, "%llu", (unsigned long long)pawl_execution(ctx));
}

SCENARIO(s24_continue_without_a_wait)
{
    scene_flow(s, "Flow", spin);
    scene_start(s, "Flow", "i", "30");
    scene_expect(s, "i", PAWL_COMPLETED, "31");
    scene_events(s, "i", "OrchestrationStarted OrchestrationCompleted");
}

static pawl_result carry(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1) {
        pawl_set_status(ctx, "from one");
        (void)pawl_start(ctx, "Nobody", input);
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Next")));
        return pawl_continue_as_new(ctx, pawl_s("two"), NULL);
    }
    return pawl_await(ctx, pawl_wait_event(ctx, "End"));
}

SCENARIO(s24_custom_status_is_carried_over)
{
    scene_flow(s, "Flow", carry);
    scene_start(s, "Flow", "i", "one");
    ck_assert_str_eq(scene_info(s, "i").custom_status.ptr, "from one");
    scene_raise(s, "i", "Next", "");
    scene_crash(s);
    expect_is(scene_info(s, "i").execution, 2);
    ck_assert_str_eq(scene_info(s, "i").custom_status.ptr, "from one");
    ck_assert_str_eq(scene_info(s, "i").input.ptr, "two");
    scene_raise(s, "i", "End", "e");
    scene_expect(s, "i", PAWL_COMPLETED, "e");
}

/* ---- E7, A6: completions of other executions ------------------------------------------ */

static void inject_completion(struct scene *s, uint64_t execution, const char *data)
{
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_ACTIVITY_COMPLETED,
                                   .uid = scene_row(s, "i").uid,
                                   .execution = execution,
                                   .ref = 1,
                                   .data = pawl_s(data)});
}

static pawl_result second_waits(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1)
        return pawl_continue_as_new(ctx, input, NULL);
    return pawl_call(ctx, "Later", input);
}

static pawl_result later(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

SCENARIO(e07_a06_completion_of_other_execution_is_acked)
{
    scene_flow(s, "Flow", second_waits);
    scene_start(s, "Flow", "i", "real");
    inject_completion(s, 1, "old");
    inject_completion(s, 3, "future");
    inject_completion(s, 999, "far future");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_is(scene_depths(s).messages, 0);
    scene_activity(s, "Later", later);
    scene_expect(s, "i", PAWL_COMPLETED, "real");
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 "
                 "OrchestrationCompleted");
}

SCENARIO(e07_s24_activity_that_ends_after_continue_as_new_is_discarded)
{
    scene_flow(s, "Flow", carry);
    scene_start(s, "Flow", "i", "x");
    expect_is(scene_depths(s).work, 1);
    scene_raise(s, "i", "Next", "");
    expect_is(scene_depths(s).work, 0);
    inject_completion(s, 1, "late");
    scene_activity(s, "Nobody", later);
    scene_raise(s, "i", "End", "e");
    scene_expect(s, "i", PAWL_COMPLETED, "e");
    expect_is(scene_ran(s, "Nobody"), 0);
}

/* ---- C7: events go to the latest execution ----------------------------------------------- */

SCENARIO(c07_events_go_to_the_latest_execution)
{
    scene_flow(s, "Flow", carry);
    scene_start(s, "Flow", "i", "x");
    scene_raise(s, "i", "End", "kept from execution 1");
    scene_raise(s, "i", "Next", "");
    scene_expect(s, "i", PAWL_COMPLETED, "kept from execution 1");
    ck_assert_ptr_null(strstr(scene_history(s, "i", 1), "ExternalEvent#3"));
    scene_events(s, "i",
                 "OrchestrationStarted ExternalSubscribed#1 ExternalEvent#1 "
                 "OrchestrationCompleted");
}

/* ---- E12 ----------------------------------------------------------------------------------- */

static pawl_result months(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 12; i++) {
        pawl_ignore(pawl_sleep(ctx, PAWL_DAYS(30)));
        pawl_ignore(pawl_call(ctx, "Echo", input));
    }
    return pawl_donef(ctx, "%llu events", (unsigned long long)pawl_history_length(ctx));
}

SCENARIO(e12_a_year_with_a_crash_every_quarter)
{
    scene_flow(s, "Flow", months);
    scene_start(s, "Flow", "i", "x");
    for (int quarter = 0; quarter < 4; quarter++) {
        s->now += PAWL_DAYS(45);
        s->mono += PAWL_DAYS(45);
        scene_crash(s);
    }
    while (!pawl_state_is_terminal(scene_row(s, "i").state)) {
        s->now += PAWL_DAYS(10);
        s->mono += PAWL_DAYS(10);
        scene_settle(s);
    }
    scene_expect(s, "i", PAWL_COMPLETED, "49 events");
    expect_is(scene_ran(s, "Echo"), 12);
}

SCENARIO(e12_a_long_history_warns_before_the_limit)
{
    s->opts.max_history = 50;
    scene_flow(s, "Flow", months);
    scene_start(s, "Flow", "i", "x");
    for (int i = 0; i < 12; i++) {
        ck_assert(i > 8 || !scene_logged(s, "history is long"));
        s->now += PAWL_DAYS(30);
        s->mono += PAWL_DAYS(30);
        scene_settle(s);
    }
    ck_assert(scene_logged(s, "history is long; continue as new"));
    scene_expect(s, "i", PAWL_COMPLETED, "49 events");
}

/* ---- A long mailbox ---------------------------------------------------------------------- */

#define LETTERS 1000

static pawl_result eat_one(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1)
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Begin")));
    pawl_result got = pawl_await(ctx, pawl_wait_event(ctx, "Letter"));
    if (atoi(got.value.ptr) != atoi(input.ptr))
        return pawl_fail(ctx, "out of order");
    if (atoi(input.ptr) + 1 == LETTERS)
        return pawl_done(ctx, "all");
    return pawl_continue_as_new(ctx, pawl_printf(ctx, "%d", atoi(input.ptr) + 1), NULL);
}

static struct {
    const pawl_store_ops *real;
    pawl_store_ops ops;
    int reads;
} mail;

static pawl_status counted_read(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                pawl_message_list *ret, pawl_error *reterr)
{
    mail.reads++;
    return mail.real->read_messages(s, uid, instance, mem, ret, reterr);
}

static void count_reads(pawl_store *outer)
{
    mail.real = outer->ops;
    mail.ops = *outer->ops;
    mail.ops.read_messages = counted_read;
    outer->ops = &mail.ops;
}

/* Each execution takes one, and carries the rest over without reading them. */
static void scene_long_mailbox(struct scene *s)
{
    s->decorate = count_reads;
    scene_crash(s); /* with the decoration */
    scene_flow(s, "Eat", eat_one);
    scene_start(s, "Eat", "i", "0");
    for (int i = 0; i < LETTERS; i++)
        scene_raise(s, "i", "Letter", scene_id(s, "", i));
    mail.reads = 0;
    expect_is(pawl_client_submit(
                  s->c, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Begin"), NULL,
                  NULL, NULL),
              PAWL_OK);
    while (scene_row(s, "i").state == PAWL_RUNNING)
        (void)pawl_runtime_step(s->rt, 0);
    ck_assert_int_lt(mail.reads, 5);
    scene_expect(s, "i", PAWL_COMPLETED, "all");
    expect_is(scene_info(s, "i").execution, LETTERS);
    scene_expect_empty(s);
}
SCENE_TEST(long_mailbox, memory, SCENE_MEMORY)
SCENE_TEST(long_mailbox, sqlite, SCENE_SQLITE)
SCENE_TEST(long_mailbox, postgres, SCENE_POSTGRES)
SCENE_TEST(long_mailbox, jsonl, SCENE_JSONL)
