/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_rerun.c -- S37: an id is run again. */
#include "scene.h"

/* Says its input and the event that it took. */
static pawl_result say(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (!r.ok)
        return r;
    if (pawl_str_is(r.value, "fail"))
        return pawl_fail(ctx, "as told");
    return pawl_donef(ctx, "%s %s", input.ptr, r.value.ptr);
}

static pawl_status again(struct scene *s, const char *id, const char *input)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = id,
                                    .data = input ? pawl_s(input) : (pawl_str){0}));
}

static pawl_status start_if(struct scene *s, const char *id, const char *input,
                            pawl_if_exists if_exists)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Say", .instance = id,
                                    .data = pawl_s(input), .if_exists = if_exists));
}

SCENARIO(s37_an_ended_instance_runs_again_with_its_input_or_another)
{
    scene_flow(s, "Say", say);
    scene_start(s, "Say", "i", "1");
    expect_is(again(s, "i", NULL), PAWL_CONFLICT);
    scene_raise(s, "i", "Go", "fail");
    scene_expect(s, "i", PAWL_FAILED, "as told");
    expect_is(again(s, "i", NULL), PAWL_OK);
    expect_is(s->reply.execution, 2);
    expect_is(s->reply.created, false);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_crash(s);
    scene_raise(s, "i", "Go", "a");
    scene_expect(s, "i", PAWL_COMPLETED, "1 a");
    expect_is(again(s, "i", "2"), PAWL_OK);
    scene_raise(s, "i", "Go", "b");
    scene_crash(s);
    scene_expect(s, "i", PAWL_COMPLETED, "2 b");
    scene_events_of(
        s, "i", 1, "OrchestrationStarted ExternalSubscribed#1 ExternalEvent#1 OrchestrationFailed");
    scene_events_of(s, "i", 3,
                    "OrchestrationStarted ExternalSubscribed#1 ExternalEvent#1 "
                    "OrchestrationCompleted");
    pawl_info first;
    pawl_error err;
    expect_is(pawl_client_get(s->c, "i", 1, s->mem, &first, &err), PAWL_OK);
    expect_is(first.state, PAWL_FAILED);
    expect_text(first.error.ptr, "as told");
    expect_is(pawl_client_get(s->c, "i", 2, s->mem, &first, &err), PAWL_OK);
    expect_is(first.state, PAWL_COMPLETED);
    expect_text(first.output.ptr, "1 a");
    scene_expect_empty(s);
    expect_is(again(s, "none", NULL), PAWL_NOT_FOUND);
}

SCENARIO(s37_the_same_start_is_the_first_or_one_that_ran_again)
{
    scene_flow(s, "Say", say);
    scene_start(s, "Say", "i", "1");
    scene_raise(s, "i", "Go", "a");
    expect_is(again(s, "i", "2"), PAWL_OK);
    expect_is(scene_try_start(s, "Say", "i", "1"), PAWL_OK);
    expect_is(scene_try_start(s, "Say", "i", "2"), PAWL_OK);
    expect_is(s->reply.execution, 2);
    expect_is(scene_try_start(s, "Say", "i", "3"), PAWL_EXISTS);
}

SCENARIO(s37_a_start_says_what_to_do_when_the_id_exists)
{
    scene_flow(s, "Say", say);
    expect_is(start_if(s, "i", "1", PAWL_IF_EXISTS_RERUN), PAWL_OK);
    expect_is(s->reply.created, true);
    expect_is(start_if(s, "i", "2", PAWL_IF_EXISTS_SAME), PAWL_EXISTS);
    expect_is(start_if(s, "i", "2", PAWL_IF_EXISTS_USE), PAWL_OK);
    expect_is(s->reply.created, false);
    expect_is(start_if(s, "i", "2", PAWL_IF_EXISTS_RERUN), PAWL_CONFLICT);
    scene_raise(s, "i", "Go", "a");
    scene_expect(s, "i", PAWL_COMPLETED, "1 a");
    expect_is(start_if(s, "i", "2", PAWL_IF_EXISTS_USE), PAWL_OK);
    expect_is(s->reply.execution, 1);
    expect_is(start_if(s, "i", "2", PAWL_IF_EXISTS_RERUN), PAWL_OK);
    expect_is(s->reply.execution, 2);
    scene_raise(s, "i", "Go", "b");
    scene_expect(s, "i", PAWL_COMPLETED, "2 b");
    expect_is(start_if(s, "i", "3", PAWL_IF_EXISTS_TERMINATE), PAWL_OK);
    scene_raise(s, "i", "Other", "x");
    expect_is(start_if(s, "i", "4", PAWL_IF_EXISTS_TERMINATE), PAWL_OK);
    expect_is(s->reply.execution, 4);
    scene_crash(s);
    expect_is(scene_info(s, "i").mailbox_count, 0);
    scene_events_of(s, "i", 3,
                    "OrchestrationStarted ExternalSubscribed#1 ExternalCancelled#1 "
                    "OrchestrationTerminated");
    scene_raise(s, "i", "Go", "d");
    scene_expect(s, "i", PAWL_COMPLETED, "4 d");
    scene_expect_empty(s);
}

SCENARIO(s37_terminate_ends_suspended_and_pending_ones_with_their_mail)
{
    scene_flow(s, "Say", say);
    scene_start(s, "Say", "i", "1");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_raise(s, "i", "Go", "old");
    scene_cancel(s, "i", "old");
    expect_is(start_if(s, "i", "2", PAWL_IF_EXISTS_TERMINATE), PAWL_OK);
    scene_settle(s);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_raise(s, "i", "Go", "new");
    scene_expect(s, "i", PAWL_COMPLETED, "2 new");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Say", .instance = "p",
                                       .data = pawl_s("1"), .delay_ms = 60000)),
              PAWL_OK);
    expect_is(start_if(s, "p", "2", PAWL_IF_EXISTS_TERMINATE), PAWL_OK);
    scene_raise(s, "p", "Go", "new");
    scene_advance(s, 120000);
    scene_expect(s, "p", PAWL_COMPLETED, "2 new");
    scene_expect_empty(s);
}

static pawl_result at_once(pawl_ctx *ctx, pawl_str input)
{
    if (input.ptr[0] == '3')
        return pawl_continue_as_new(ctx, pawl_s("2"), NULL);
    if (input.ptr[0] == '2')
        return pawl_continue_as_new(ctx, pawl_s("1"), NULL);
    return pawl_done_str(ctx, input);
}

SCENARIO(s37_it_may_end_and_continue_as_new_at_once)
{
    scene_flow(s, "Once", at_once);
    scene_start(s, "Once", "i", "1");
    scene_expect(s, "i", PAWL_COMPLETED, "1");
    expect_is(again(s, "i", NULL), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "1");
    expect_is(again(s, "i", "3"), PAWL_OK);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "1");
    expect_is(scene_info(s, "i").execution, 5);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i")), PAWL_OK);
    expect_is(s->reply.executions, 5);
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Say", input, PAWL_CHILD_OPTS(.instance = "kid"));
    pawl_result e = pawl_await(ctx, pawl_wait_event(ctx, "End"));
    return pawl_donef(ctx, "%s %s", r.value.ptr, e.value.ptr);
}

SCENARIO(s37_the_parent_of_a_rerun_child_hears_nothing)
{
    scene_flow(s, "Say", say);
    scene_flow(s, "Parent", parent);
    scene_start(s, "Parent", "p", "1");
    scene_raise(s, "kid", "Go", "a");
    expect_is(again(s, "kid", NULL), PAWL_OK);
    scene_raise(s, "kid", "Go", "b");
    scene_expect(s, "kid", PAWL_COMPLETED, "1 b");
    scene_raise(s, "p", "End", "z");
    scene_expect(s, "p", PAWL_COMPLETED, "1 a z");
    expect_is(scene_kind_count(s, "p", "SubOrchestrationCompleted"), 1);
    scene_expect_empty(s);
}

SCENARIO(s37_a_rerun_has_its_own_deadline_or_none)
{
    scene_flow(s, "Say", say);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Say", .instance = "i",
                                       .data = pawl_s("1"), .deadline_ms = 5000)),
              PAWL_OK);
    scene_raise(s, "i", "Go", "a");
    expect_is(again(s, "i", NULL), PAWL_OK);
    scene_advance(s, 10000);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_raise(s, "i", "Go", "a");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = "i", .deadline_ms = 2000)),
              PAWL_OK);
    scene_advance(s, 2000);
    scene_expect(s, "i", PAWL_CANCELLED, "deadline of 2s passed");
    scene_expect_empty(s);
}

static pawl_result count_up(pawl_ctx *ctx, pawl_str input)
{
    pawl_str old = pawl_state_get(ctx, "runs");
    pawl_ignore(pawl_state_set(ctx, "runs", pawl_printf(ctx, "%s1", old.len ? old.ptr : "")));
    (void)input;
    return pawl_done_str(ctx, pawl_state_get(ctx, "runs"));
}

SCENARIO(s37_published_state_goes_on)
{
    scene_flow(s, "Count", count_up);
    scene_start(s, "Count", "i", "1");
    scene_expect(s, "i", PAWL_COMPLETED, "1");
    scene_crash(s);
    expect_is(again(s, "i", NULL), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "11");
}

SCENARIO(s37_bad_reruns_are_refused_and_change_nothing)
{
    scene_flow(s, "Say", say);
    scene_start(s, "Say", "i", "1");
    scene_raise(s, "i", "Go", "a");
    expect_is(start_if(s, NULL, "1", PAWL_IF_EXISTS_RERUN), PAWL_INVALID);
    expect_is(start_if(s, "i", "1", (pawl_if_exists)9), PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Say", .instance = "i",
                                       .if_exists = PAWL_IF_EXISTS_RERUN, .delay_ms = 5000)),
              PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = "i", .version = "9.9.9")),
              PAWL_NOT_FOUND);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = "i", .version = "one")),
              PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = "i", .deadline_ms = -1)),
              PAWL_INVALID);
    scene_expect(s, "i", PAWL_COMPLETED, "1 a");
    expect_is(scene_info(s, "i").execution, 1);
}
