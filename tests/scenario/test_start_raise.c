/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_start_raise.c -- S38: a start brings events with it, both or none. */
#include "scene.h"

/* Says its input and the two events that it took. */
static pawl_result two(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_result b = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (!a.ok || !b.ok)
        return pawl_fail(ctx, "cancelled");
    return pawl_donef(ctx, "%s %s %s", input.ptr, a.value.ptr, b.value.ptr);
}

static const pawl_raise_item ab[] = {
    {.event = "Go", .data = {"a", 1}, .idempotency_key = "k-a"},
    {.event = "Go",             .data = {"b", 1}                },
};

static pawl_status start(struct scene *s, const char *id, const char *input,
                         pawl_if_exists if_exists, const pawl_raise_item *raises, size_t count)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Two", .instance = id,
                                    .data = pawl_s(input), .if_exists = if_exists, .raises = raises,
                                    .raise_count = count));
}

/* A store without atomic rounds refuses it and starts nothing. */
static bool works(struct scene *s)
{
    scene_flow(s, "Two", two);
    scene_up(s);
    if (s->kind != SCENE_JSONL)
        return true;
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, ab, 2), PAWL_UNSUPPORTED);
    expect_text(s->reply.error.text, "raise after the start");
    expect_is(scene_try_raise(s, "i", "Go", "c"), PAWL_NOT_FOUND);
    return false;
}

SCENARIO(s38_a_start_and_its_events_are_one_commit)
{
    if (!works(s))
        return;
    uint64_t before = scene_stats(s).commits;
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, ab, 2), PAWL_OK);
    expect_is(s->reply.created, true);
    scene_expect(s, "i", PAWL_COMPLETED, "x a b");
    if (s->kind != SCENE_HOSTILE)
        expect_is(scene_stats(s).commits - before, 1);
    scene_events(s, "i",
                 "OrchestrationStarted ExternalSubscribed#1 ExternalEvent#1 ExternalSubscribed#2 "
                 "ExternalEvent#2 OrchestrationCompleted");
    scene_expect_empty(s);
}

SCENARIO(s38_a_twin_raises_nothing_and_a_key_raises_once)
{
    if (!works(s))
        return;
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, ab, 1), PAWL_OK);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, ab, 2), PAWL_OK);
    expect_is(s->reply.created, false);
    expect_is(start(s, "i", "y", PAWL_IF_EXISTS_SAME, ab, 2), PAWL_EXISTS);
    scene_crash(s);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    expect_is(scene_info(s, "i").mailbox_count, 0);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                       .data = pawl_s("a"), .idempotency_key = "k-a")),
              PAWL_OK);
    scene_settle(s);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_raise(s, "i", "Go", "c");
    scene_expect(s, "i", PAWL_COMPLETED, "x a c");
    pawl_raise_item same[] = {ab[0], ab[0]};
    expect_is(start(s, "j", "x", PAWL_IF_EXISTS_SAME, same, 2), PAWL_OK);
    scene_settle(s);
    expect_is(scene_info(s, "j").state, PAWL_RUNNING);
    scene_raise(s, "j", "Go", "c");
    scene_expect(s, "j", PAWL_COMPLETED, "x a c");
    scene_expect_empty(s);
}

SCENARIO(s38_the_instance_that_is_used_gets_them)
{
    if (!works(s))
        return;
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_USE, ab, 1), PAWL_OK);
    expect_is(s->reply.created, true);
    scene_crash(s);
    expect_is(start(s, "i", "y", PAWL_IF_EXISTS_USE, ab, 1), PAWL_OK); /* its key is used */
    expect_is(s->reply.created, false);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    expect_is(start(s, "i", "y", PAWL_IF_EXISTS_USE, ab, 2), PAWL_OK);
    expect_is(s->reply.created, false);
    expect_is(s->reply.execution, 1);
    scene_expect(s, "i", PAWL_COMPLETED, "x a b");
    expect_is(start(s, "i", "y", PAWL_IF_EXISTS_USE, ab, 1),
              PAWL_OK); /* as it was answered first */
    expect_is(start(s, "i", "y", PAWL_IF_EXISTS_USE, ab, 2), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "has ended and gets no events");
    scene_expect_empty(s);
}

SCENARIO(s38_a_suspended_or_pending_one_keeps_them)
{
    if (!works(s))
        return;
    scene_start(s, "Two", "i", "x");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_USE, ab, 2), PAWL_OK);
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "x a b");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Two", .instance = "p",
                                       .data = pawl_s("p"), .delay_ms = 60000, .raises = ab,
                                       .raise_count = 1)),
              PAWL_OK);
    pawl_raise_item c = {
        .event = "Go", .data = {"c", 1}
    };
    expect_is(start(s, "p", "p", PAWL_IF_EXISTS_USE, &c, 1), PAWL_OK);
    scene_crash(s);
    expect_is(scene_info(s, "p").state, PAWL_PENDING);
    scene_advance(s, 61000);
    scene_expect(s, "p", PAWL_COMPLETED, "p a c");
    scene_expect_empty(s);
}

SCENARIO(s38_one_without_code_keeps_them_until_there_is_some)
{
    if (!works(s))
        return;
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Later", .instance = "i",
                                       .data = pawl_s("x"), .allow_unregistered = true,
                                       .raises = ab, .raise_count = 2)),
              PAWL_OK);
    scene_down(s);
    scene_flow(s, "Later", two);
    scene_up(s);
    scene_expect(s, "i", PAWL_COMPLETED, "x a b");
    scene_expect_empty(s);
}

SCENARIO(s38_one_that_runs_again_gets_them_in_its_next_execution)
{
    if (!works(s))
        return;
    expect_is(start(s, "i", "1", PAWL_IF_EXISTS_RERUN, ab, 2), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "1 a b");
    pawl_raise_item cd[] = {
        {.event = "Go", .data = {"c", 1}},
        {.event = "Go", .data = {"d", 1}}
    };
    expect_is(start(s, "i", "2", PAWL_IF_EXISTS_RERUN, cd, 2), PAWL_OK);
    expect_is(s->reply.execution, 2);
    scene_expect(s, "i", PAWL_COMPLETED, "2 c d");
    expect_is(start(s, "i", "3", PAWL_IF_EXISTS_RERUN, ab, 2), PAWL_OK); /* a key stays used */
    scene_settle(s);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    expect_is(start(s, "i", "4", PAWL_IF_EXISTS_TERMINATE, cd, 2), PAWL_OK);
    scene_crash(s);
    scene_expect(s, "i", PAWL_COMPLETED, "4 c d");
    expect_is(start(s, "i", "4", PAWL_IF_EXISTS_RERUN, NULL, 0), PAWL_OK);
    expect_is(start(s, "i", "5", PAWL_IF_EXISTS_RERUN, cd, 2), PAWL_CONFLICT);
    expect_is(scene_info(s, "i").mailbox_count, 0);
}

SCENARIO(s38_mail_kept_for_its_id_is_older)
{
    if (!works(s))
        return;
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                       .data = pawl_s("kept"), .idempotency_key = "k-a",
                                       .await_start = true)),
              PAWL_OK);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, ab, 2), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "x kept b"); /* and its key is the one of a */
    scene_expect_empty(s);
}

SCENARIO(s38_a_commit_that_fails_is_made_again_as_a_whole)
{
    if (!works(s))
        return;
    scene_fail(s, FAULT_OP_commit, 0, 2, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, ab, 2), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "x a b");
    scene_start(s, "Two", "j", "x");
    scene_fail(s, FAULT_OP_commit, 0, 2, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(start(s, "j", "x", PAWL_IF_EXISTS_USE, ab, 2), PAWL_OK);
    scene_expect(s, "j", PAWL_COMPLETED, "x a b");
    scene_start(s, "Two", "k", "x");
    scene_fail(s, FAULT_OP_has_key, 0, 2, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(start(s, "k", "x", PAWL_IF_EXISTS_USE, ab, 2), PAWL_OK);
    scene_expect(s, "k", PAWL_COMPLETED, "x a b");
    scene_expect_empty(s);
}

SCENARIO(s38_bad_ones_and_too_many_change_nothing)
{
    s->opts.max_mailbox = 3;
    if (!works(s))
        return;
    pawl_raise_item many[101] = {{0}}, bad = {.event = ""};
    for (size_t i = 0; i < 101; i++)
        many[i] = (pawl_raise_item){
            .event = "Other", .data = {"1", 1}
        };
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, many, 4), PAWL_LIMIT);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, &bad, 1), PAWL_INVALID);
    bad = (pawl_raise_item){.event = "Go", .idempotency_key = ""};
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, &bad, 1), PAWL_INVALID);
    bad = (pawl_raise_item){
        .event = "Go", .data = {many[0].data.ptr, (size_t)1 << 30}
    };
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, &bad, 1), PAWL_LIMIT);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, NULL, 1), PAWL_MISUSE);
    expect_is(scene_try_raise(s, "i", "Go", "c"), PAWL_NOT_FOUND);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_USE, many, 2), PAWL_OK);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_USE, many, 2), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "no room");
    expect_is(scene_info(s, "i").mailbox_count, 2);
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_USE, many, 1), PAWL_OK);
    scene_settle(s);
    expect_is(scene_info(s, "i").mailbox_count, 3);
}

SCENARIO(s38_a_hundred_events_and_not_one_more)
{
    if (!works(s))
        return;
    pawl_raise_item many[101];
    for (size_t i = 0; i < 101; i++)
        many[i] = (pawl_raise_item){
            .event = i < 98 ? "Other" : "Go", .data = {"1", 1}
        };
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, many, 101), PAWL_LIMIT);
    expect_text(s->reply.error.text, "at most 100");
    expect_is(start(s, "i", "x", PAWL_IF_EXISTS_SAME, many, 100), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "x 1 1");
    scene_expect_empty(s);
}
