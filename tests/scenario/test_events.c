/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_events.c -- S16..S18, A9, B6: events, the mailbox, early ones. */
#include "scene.h"

/* Sleeps for a second, then takes as many "Go" as the input says. */
static pawl_result take_late(pawl_ctx *ctx, pawl_str input)
{
    pawl_str all = pawl_s("");
    pawl_ignore(pawl_sleep(ctx, 1000));
    for (int i = 0; i < input.ptr[0] - '0'; i++) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
        if (!r.ok)
            return r;
        all = pawl_printf(ctx, "%s%s,", all.ptr, r.value.ptr);
    }
    return pawl_done_str(ctx, all);
}

static pawl_status raise_key(struct scene *s, const char *id, const char *data, const char *key)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = id, .name = "Go",
                                    .data = pawl_s(data), .idempotency_key = key));
}

static pawl_status raise_early(struct scene *s, const char *id, const char *data)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = id, .name = "Go",
                                    .data = pawl_s(data), .await_start = true));
}

/* ---- S16 ----------------------------------------------------------------------- */

SCENARIO(s16_a09_early_event_is_kept_until_a_wait_takes_it)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "2");
    scene_raise(s, "i", "Go", "1");
    scene_raise(s, "i", "Other", "x");
    scene_raise(s, "i", "Go", "2");
    expect_is(scene_info(s, "i").mailbox_count, 3);
    scene_crash(s);
    expect_is(scene_info(s, "i").mailbox_count, 3);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "1,2,");
    scene_events(s, "i",
                 "OrchestrationStarted TimerCreated#1 TimerFired#1 ExternalSubscribed#2 "
                 "ExternalEvent#2 ExternalSubscribed#3 ExternalEvent#3 OrchestrationCompleted");
    scene_expect_empty(s); /* the mail nobody took went with the instance */
}

SCENARIO(s16_b11_late_external_event_reaches_the_open_wait)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "1");
    scene_advance(s, 5000);
    scene_crash(s);
    scene_raise(s, "i", "Go", "late");
    scene_expect(s, "i", PAWL_COMPLETED, "late,");
}

SCENARIO(s16_equal_events_are_two_events)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "2");
    scene_raise(s, "i", "Go", "same");
    scene_raise(s, "i", "Go", "same");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "same,same,");
}

static pawl_result lose_then_take(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_wait_event(ctx, "Go"), pawl_timer(ctx, 1000)};
    int first = pawl_race(ctx, t, 2);
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    (void)input;
    return pawl_donef(ctx, "%d %s", first, r.value.ptr);
}

SCENARIO(s16_cancelled_wait_does_not_consume)
{
    scene_flow(s, "Flow", lose_then_take);
    scene_start(s, "Flow", "i", "");
    scene_advance(s, 1000);
    scene_raise(s, "i", "Go", "kept");
    scene_expect(s, "i", PAWL_COMPLETED, "1 kept");
}

SCENARIO(s16_raise_to_finished_or_unknown_is_refused)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "0");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "");
    expect_is(scene_try_raise(s, "i", "Go", ""), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "already completed");
    expect_is(scene_try_raise(s, "nobody", "Go", ""), PAWL_NOT_FOUND);
    expect_text(s->reply.error.text, "'nobody' does not exist");
    scene_events(s, "i", "OrchestrationStarted TimerCreated#1 TimerFired#1 OrchestrationCompleted");
    scene_expect_empty(s);
}

SCENARIO(s16_event_kept_for_the_start_of_its_instance)
{
    scene_flow(s, "Flow", take_late);
    expect_is(raise_early(s, "i", "first"), PAWL_OK);
    scene_crash(s);
    expect_is(raise_early(s, "i", "second"), PAWL_OK);
    expect_is(scene_depths(s).messages, 2);
    scene_start(s, "Flow", "other", "0");
    scene_start(s, "Flow", "i", "2");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "first,second,");
    scene_expect_empty(s);
}

static pawl_result take_then_continue(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_str all = pawl_printf(ctx, "%s%s", input.ptr, r.value.ptr);
    return all.len == 3 ? pawl_done_str(ctx, all) : pawl_continue_as_new(ctx, all, NULL);
}

SCENARIO(s16_mailbox_goes_along_with_continue_as_new)
{
    scene_flow(s, "Flow", take_then_continue);
    scene_start(s, "Flow", "i", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_raise(s, "i", "Go", "a");
    scene_raise(s, "i", "Go", "b");
    scene_raise(s, "i", "Go", "c");
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "abc");
    expect_is(scene_info(s, "i").execution, 3);
    scene_expect_empty(s);
}

/* ---- S17 ------------------------------------------------------------------------- */

SCENARIO(s17_b06_early_events_are_dropped_with_a_warning_on_request)
{
    s->opts.drop_early_events = true;
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "1");
    scene_raise(s, "i", "Go", "early");
    ck_assert(scene_logged(s, "no wait expects this event; dropped"));
    expect_is(scene_info(s, "i").mailbox_count, 0);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_raise(s, "i", "Go", "in time");
    scene_expect(s, "i", PAWL_COMPLETED, "in time,");
    ck_assert_ptr_null(strstr(scene_history(s, "i", 0), "ExternalEvent#0"));
    scene_expect_empty(s);
}

static pawl_result only_fresh(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 1000));
    (void)input;
    return pawl_await(ctx, pawl_wait_event_with(ctx, "Go", PAWL_EVENT_DROP_EARLY));
}

SCENARIO(s17_a_wait_may_discard_earlier_mail)
{
    scene_flow(s, "Flow", only_fresh);
    scene_start(s, "Flow", "i", "");
    scene_raise(s, "i", "Go", "old");
    scene_raise(s, "i", "Go", "older");
    scene_raise(s, "i", "Other", "stays");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_is(scene_info(s, "i").mailbox_count, 1);
    scene_raise(s, "i", "Go", "fresh");
    scene_expect(s, "i", PAWL_COMPLETED, "fresh");
}

/* ---- S18 ------------------------------------------------------------------------- */

SCENARIO(s18_idempotent_raise_happens_once)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "2");
    expect_is(raise_key(s, "i", "a", "key-1"), PAWL_OK);
    expect_is(raise_key(s, "i", "a", "key-1"), PAWL_OK);
    scene_crash(s);
    expect_is(raise_key(s, "i", "a", "key-1"), PAWL_OK);
    expect_is(scene_info(s, "i").mailbox_count, 1);
    expect_is(raise_key(s, "i", "b", "key-2"), PAWL_OK);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "a,b,");
}

static void count_ok(void *arg, const pawl_reply *reply)
{
    *(int *)arg += reply->status == PAWL_OK;
}

/* Three at once: one commit has one event and all answers. */
static void scene_s18_raises_with_one_key_in_one_commit_are_one(struct scene *s)
{
    int answers = 0;
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "1");
    for (int i = 0; i < 3; i++)
        expect_is(
            pawl_client_submit(s->c,
                               PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                            .data = pawl_s("a"), .idempotency_key = "key"),
                               count_ok, &answers, NULL),
            PAWL_OK);
    uint64_t before = scene_stats(s).commits;
    (void)pawl_runtime_step(s->rt, 0);
    expect_is(answers, 3);
    expect_is(scene_stats(s).commits, before + 1);
    expect_is(scene_info(s, "i").mailbox_count, 1);
}
SCENE_TEST(s18_raises_with_one_key_in_one_commit_are_one, memory, SCENE_MEMORY)
SCENE_TEST(s18_raises_with_one_key_in_one_commit_are_one, sqlite, SCENE_SQLITE)
SCENE_TEST(s18_raises_with_one_key_in_one_commit_are_one, postgres, SCENE_POSTGRES)

SCENARIO(s18_key_is_remembered_after_the_event_was_taken_and_per_instance)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "2");
    scene_start(s, "Flow", "j", "1");
    scene_advance(s, 1000);
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    expect_is(raise_key(s, "i", "again", "key"), PAWL_OK);
    expect_is(raise_key(s, "j", "mine", "key"), PAWL_OK);
    scene_expect(s, "j", PAWL_COMPLETED, "mine,");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_raise(s, "i", "Go", "b");
    scene_expect(s, "i", PAWL_COMPLETED, "a,b,");
}

/* The answer was lost, and meanwhile the instance ended: the first answer again, as for a start. */
SCENARIO(s18_key_is_remembered_after_the_end)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "1");
    scene_advance(s, 1000);
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "a,");
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    expect_is(raise_key(s, "i", "a", "another"), PAWL_CONFLICT);
    expect_is(scene_try_raise(s, "i", "Go", "a"), PAWL_CONFLICT);
    scene_crash(s);
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    scene_expect_empty(s);
    scene_steer(s, PAWL_OP_REMOVE, "i");
    expect_is(raise_key(s, "i", "a", "key"), PAWL_NOT_FOUND);
}

/* Twice in one batch, while no turn can run. */
SCENARIO(s18_key_counts_while_suspended)
{
    scene_flow(s, "Flow", take_late);
    scene_start(s, "Flow", "i", "2");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    scene_crash(s);
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_advance(s, 1000);
    scene_raise(s, "i", "Go", "b");
    scene_expect(s, "i", PAWL_COMPLETED, "a,b,");
}

/* With a key and no instance yet. */
SCENARIO(s18_key_counts_before_the_start)
{
    scene_flow(s, "Flow", take_late);
    for (int i = 0; i < 2; i++)
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                           .data = pawl_s("a"), .idempotency_key = "key",
                                           .await_start = true)),
                  PAWL_OK);
    scene_start(s, "Flow", "i", "2");
    expect_is(raise_key(s, "i", "a", "key"), PAWL_OK);
    scene_raise(s, "i", "Go", "b");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "a,b,");
}

/* ---- Mail for a start that has trouble ------------------------------------------------ */

SCENARIO(s16_kept_event_survives_a_failed_commit_of_the_start)
{
    scene_flow(s, "Flow", take_late);
    expect_is(raise_early(s, "i", "kept"), PAWL_OK);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    scene_start(s, "Flow", "i", "1");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "kept,");
}

SCENARIO(s16_kept_event_survives_a_store_that_does_not_answer)
{
    scene_flow(s, "Flow", take_late);
    expect_is(raise_early(s, "i", "kept"), PAWL_OK);
    scene_fail(s, FAULT_OP_read_messages, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_start(s, "Flow", "i", "1");
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "kept,");
}

SCENARIO(s16_kept_event_reaches_an_instance_that_waited_for_code)
{
    expect_is(raise_early(s, "i", "kept"), PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                       .data = pawl_s("2"), .allow_unregistered = true)),
              PAWL_OK);
    scene_expect(s, "i", PAWL_PENDING, NULL);
    scene_raise(s, "i", "Go", "later");
    scene_flow(s, "Flow", take_late);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "kept,later,");
}

static void ignore(void *arg, const pawl_reply *reply)
{
    (void)arg;
    expect_is(reply->status, PAWL_OK);
}

/* Signal and start handed in together: one group. */
SCENARIO(s16_kept_event_and_start_in_one_group)
{
    pawl_error err;
    scene_flow(s, "Flow", take_late);
    scene_up(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                              .data = pawl_s("first"), .await_start = true),
                                 ignore, NULL, &err),
              PAWL_OK);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = "i", .name = "Flow",
                                              .data = pawl_s("1")),
                                 ignore, NULL, &err),
              PAWL_OK);
    scene_settle(s);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "first,");
}

/* ---- Taken, and nobody saw it --------------------------------------------------------------- */

static pawl_result take_two(pawl_ctx *ctx)
{
    pawl_result one = pawl_await(ctx, pawl_wait_event(ctx, "E"));
    pawl_result two = pawl_await(ctx, pawl_wait_event(ctx, "E"));
    return pawl_donef(ctx, "%s %s", one.value.ptr, two.value.ptr);
}

static pawl_result give_up_later(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) > 1)
        return take_two(ctx);
    pawl_task wait = pawl_wait_event(ctx, "E");
    pawl_ignore(pawl_sleep(ctx, 1000));
    if (pawl_str_is(input, "continue"))
        return pawl_continue_as_new(ctx, input, NULL);
    pawl_cancel(ctx, wait);
    pawl_ignore(pawl_sleep(ctx, 1000));
    return take_two(ctx);
}

static void give_up(struct scene *s, const char *how)
{
    scene_flow(s, "Flow", give_up_later);
    scene_start(s, "Flow", "i", how);
    scene_raise(s, "i", "E", "1");
    scene_raise(s, "i", "E", "2");
    expect_is(scene_info(s, "i").mailbox_count, 1);
    scene_crash(s);
    scene_advance(s, 1000);
}

SCENARIO(s16_an_event_nobody_saw_is_back_in_the_mailbox_after_a_cancel)
{
    give_up(s, "cancel");
    expect_is(scene_info(s, "i").mailbox_count, 2);
    scene_crash(s);
    expect_is(scene_info(s, "i").mailbox_count, 2);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "1 2");
    scene_events(s, "i",
                 "OrchestrationStarted ExternalSubscribed#1 TimerCreated#2 ExternalEvent#1 "
                 "TimerFired#2 ExternalCancelled#1 TimerCreated#3 TimerFired#3 "
                 "ExternalSubscribed#4 ExternalEvent#4 ExternalSubscribed#5 ExternalEvent#5 "
                 "OrchestrationCompleted");
    scene_expect_empty(s);
}

SCENARIO(s24_an_event_nobody_saw_goes_to_the_next_execution)
{
    give_up(s, "continue");
    scene_expect(s, "i", PAWL_COMPLETED, "1 2");
    scene_expect_empty(s);
}

SCENARIO(s16_given_back_survives_a_failed_commit)
{
    scene_flow(s, "Flow", give_up_later);
    scene_start(s, "Flow", "i", "cancel");
    scene_raise(s, "i", "E", "1");
    scene_raise(s, "i", "E", "2");
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    scene_advance(s, 3000);
    scene_advance(s, 3000);
    scene_expect(s, "i", PAWL_COMPLETED, "1 2");
}

/* Mail of before is taken and given back in one and the same turn: its row stays. */
static pawl_result in_one_turn(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_task wait = pawl_wait_event(ctx, "E");
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "X")));
    pawl_cancel(ctx, wait);
    pawl_ignore(pawl_sleep(ctx, 1000));
    return take_two(ctx);
}

SCENARIO(s16_taken_and_given_back_in_one_round)
{
    scene_flow(s, "Flow", in_one_turn);
    scene_start(s, "Flow", "i", "");
    scene_raise(s, "i", "E", "1");
    scene_raise(s, "i", "X", "x");
    scene_raise(s, "i", "E", "2");
    scene_advance(s, 1000);
    expect_is(scene_info(s, "i").mailbox_count, 2);
    scene_crash(s);
    expect_is(scene_info(s, "i").mailbox_count, 2);
    scene_advance(s, 1000);
    scene_expect(s, "i", PAWL_COMPLETED, "1 2");
    scene_expect_empty(s);
}
