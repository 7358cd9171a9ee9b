/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_children.c -- S15, S19..S21, C5: children and detached starts. */
#include "scene.h"

#include <stdio.h>

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "wait"))
        return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (pawl_str_is(input, "fail"))
        return pawl_fail(ctx, "kid failed");
    if (pawl_str_is(input, "again"))
        return pawl_continue_as_new(ctx, pawl_s("wait"), NULL);
    return pawl_donef(ctx, "kid %s", input.ptr);
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Kid", input, NULL);
    return pawl_donef(ctx, "%d %s", r.ok, r.value.ptr);
}

static void flows(struct scene *s, pawl_orchestration_fn *fn)
{
    scene_flow(s, "Parent", fn);
    scene_flow(s, "Kid", kid);
}

/* ---- S15 ------------------------------------------------------------------------ */

static pawl_result generations(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Kid", input, NULL);
    if (pawl_execution(ctx) < 3)
        return pawl_continue_as_new(ctx, input, NULL);
    return r;
}

SCENARIO(s15_child_ids_are_unique_across_continue_as_new)
{
    flows(s, generations);
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "kid x");
    scene_expect(s, "p:1:1", PAWL_COMPLETED, "kid x");
    scene_expect(s, "p:2:1", PAWL_COMPLETED, "kid x");
    scene_expect(s, "p:3:1", PAWL_COMPLETED, "kid x");
    ck_assert_str_eq(scene_info(s, "p:3:1").parent.ptr, "p");
}

/* ---- S19 ------------------------------------------------------------------------ */

SCENARIO(s19_completion_reaches_the_parent_once_over_restarts)
{
    flows(s, parent);
    scene_start(s, "Parent", "p", "wait");
    scene_crash(s);
    scene_raise(s, "p:1:1", "Go", "result");
    scene_crash(s);
    scene_expect(s, "p", PAWL_COMPLETED, "1 result");
    scene_events(s, "p",
                 "OrchestrationStarted SubOrchestrationScheduled#1 SubOrchestrationCompleted#1 "
                 "OrchestrationCompleted");
    scene_expect_empty(s);
}

SCENARIO(s19_failed_or_cancelled_child_is_a_failed_result)
{
    flows(s, parent);
    scene_start(s, "Parent", "f", "fail");
    scene_expect(s, "f", PAWL_COMPLETED, "0 kid failed");
    scene_start(s, "Parent", "c", "wait");
    scene_cancel(s, "c:1:1", "by hand");
    scene_expect(s, "c", PAWL_COMPLETED, "0 cancelled: by hand");
    scene_start(s, "Parent", "t", "wait");
    scene_steer(s, PAWL_OP_TERMINATE, "t:1:1");
    scene_expect(s, "t", PAWL_COMPLETED, "0 terminated: terminated by request");
}

static pawl_result second_life(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1)
        return pawl_continue_as_new(ctx, input, NULL);
    return parent(ctx, input);
}

/* The execution id of the parent comes from the record, not from memory (relative: defect 4). */
SCENARIO(s19_parent_execution_is_known_after_a_restart)
{
    flows(s, second_life);
    scene_start(s, "Parent", "p", "wait");
    scene_crash(s);
    scene_raise(s, "p:2:1", "Go", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "1 x");
}

SCENARIO(s19_child_keeps_its_parent_over_continue_as_new)
{
    flows(s, parent);
    scene_start(s, "Parent", "p", "again");
    scene_crash(s);
    pawl_info info = scene_info(s, "p:1:1");
    expect_is(info.execution, 2);
    ck_assert_str_eq(info.parent.ptr, "p");
    scene_raise(s, "p:1:1", "Go", "second");
    scene_expect(s, "p", PAWL_COMPLETED, "1 second");
}

SCENARIO(s19_removed_child_is_a_failed_result)
{
    flows(s, parent);
    scene_start(s, "Parent", "p", "wait");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p:1:1", .force = true)),
              PAWL_OK);
    scene_expect(s, "p", PAWL_COMPLETED, "0 the child was removed");
}

static pawl_result no_such_child(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Unborn", input, NULL);
    return pawl_donef(ctx, "%d %s", r.ok, r.value.ptr);
}

SCENARIO(s19_child_without_code_waits_for_it)
{
    flows(s, no_such_child);
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_RUNNING, NULL);
    scene_expect(s, "p:1:1", PAWL_PENDING, NULL);
    expect_text(scene_info(s, "p:1:1").finding.ptr, "waits for code");
    scene_crash(s);
    scene_flow(s, "Unborn", kid);
    scene_expect(s, "p", PAWL_COMPLETED, "1 kid x");
}

/* ---- S20 ------------------------------------------------------------------------ */

static pawl_result grandparent(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_child(ctx, "Parent", input, PAWL_CHILD_OPTS(.instance = "p"));
}

SCENARIO(s20_cancel_reaches_children_and_theirs)
{
    flows(s, parent);
    scene_flow(s, "Grand", grandparent);
    scene_start(s, "Grand", "g", "wait");
    scene_crash(s);
    scene_cancel(s, "g", "enough");
    scene_expect(s, "g", PAWL_CANCELLED, "enough");
    scene_expect(s, "p", PAWL_CANCELLED, "parent cancelled it");
    scene_expect(s, "p:1:1", PAWL_CANCELLED, "parent cancelled it");
    scene_expect_empty(s);
}

SCENARIO(s20_terminate_reaches_children)
{
    flows(s, parent);
    scene_start(s, "Parent", "p", "wait");
    scene_steer(s, PAWL_OP_TERMINATE, "p");
    scene_expect(s, "p", PAWL_CANCELLED, "terminated: terminated by request");
    scene_expect(s, "p:1:1", PAWL_CANCELLED, "parent cancelled it");
}

SCENARIO(s20_deleting_a_parent_deletes_its_children)
{
    pawl_info info;
    pawl_error err;
    flows(s, parent);
    scene_flow(s, "Grand", grandparent);
    scene_start(s, "Grand", "g", "wait");
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "g"), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "cancel it first, or force it (--force, ?force=true)");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "g", .force = true)),
              PAWL_OK);
    expect_is(s->reply.instances, 3);
    static const char *const ids[] = {"g", "p", "p:1:1"};
    for (int i = 0; i < 3; i++)
        expect_is(pawl_client_get(s->c, ids[i], 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    scene_expect_empty(s);
}

static pawl_result continue_with_kids(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1) {
        pawl_start_child(ctx, "Kid", pawl_s("wait"), PAWL_CHILD_OPTS(.instance = "mine"));
        pawl_start_child(ctx, "Kid", pawl_s("wait"),
                         PAWL_CHILD_OPTS(.instance = "free", .flags = PAWL_CHILD_ABANDON));
        pawl_sleep(ctx, 10);
        return pawl_continue_as_new(ctx, input, NULL);
    }
    return pawl_await(ctx, pawl_wait_event(ctx, "End"));
}

SCENARIO(s20_continue_as_new_cancels_children_unless_abandoned)
{
    flows(s, continue_with_kids);
    scene_start(s, "Parent", "p", "");
    scene_advance(s, 10);
    scene_expect(s, "mine", PAWL_CANCELLED, "parent cancelled it");
    scene_expect(s, "free", PAWL_RUNNING, NULL);
    scene_raise(s, "free", "Go", "done");
    scene_expect(s, "free", PAWL_COMPLETED, "done");
    scene_raise(s, "p", "End", "end"); /* the late completion of execution 1 was ignored */
    scene_expect(s, "p", PAWL_COMPLETED, "end");
    scene_events(s, "p",
                 "OrchestrationStarted ExternalSubscribed#1 ExternalEvent#1 "
                 "OrchestrationCompleted");
}

/* Scheduled and given up in one turn: no message for a child that never was (defect 22). */
static pawl_result start_and_return(pawl_ctx *ctx, pawl_str input)
{
    pawl_start_child(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "never"));
    return pawl_done(ctx, "gone");
}

SCENARIO(s20_child_started_and_withdrawn_in_one_turn_never_is)
{
    pawl_info info;
    pawl_error err;
    flows(s, start_and_return);
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "gone");
    expect_is(pawl_client_get(s->c, "never", 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    scene_expect_empty(s);
}

/* ---- S21 ------------------------------------------------------------------------ */

static pawl_result same_id(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "taken"));
    return pawl_donef(ctx, "%d %s", r.ok, r.value.ptr);
}

SCENARIO(s21_existing_child_id_is_a_failed_result)
{
    flows(s, same_id);
    scene_start(s, "Kid", "taken", "wait");
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "0 instance 'taken' exists already");
    scene_raise(s, "taken", "Go", "mine");
    scene_expect(s, "taken", PAWL_COMPLETED, "mine");
    scene_start(s, "Parent", "q", "x"); /* a finished one is taken too */
    scene_expect(s, "q", PAWL_COMPLETED, "0 instance 'taken' exists already");
    ck_assert_str_eq(scene_info(s, "taken").parent.len ? "has parent" : "", "");
    scene_expect_empty(s);
}

/* Losing a race for the id must not cancel the one who has it. */
static pawl_result try_and_leave(pawl_ctx *ctx, pawl_str input)
{
    pawl_start_child(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "taken"));
    pawl_sleep(ctx, 0);
    return pawl_done(ctx, "left");
}

SCENARIO(s21_somebody_elses_instance_is_never_cancelled)
{
    flows(s, try_and_leave);
    scene_start(s, "Kid", "taken", "wait");
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "left");
    scene_expect(s, "taken", PAWL_RUNNING, NULL);
}

/* ---- C5 ------------------------------------------------------------------------- */

static pawl_result detach(pawl_ctx *ctx, pawl_str how)
{
    if (pawl_execution(ctx) > 1)
        return pawl_done(ctx, "second");
    if (pawl_str_is(how, "cancel"))
        (void)pawl_await(ctx, pawl_wait_event(ctx, "Never"));
    pawl_result r = pawl_start_detached(ctx, "Kid", how, PAWL_CHILD_OPTS(.instance = how.ptr));
    if (pawl_str_is(how, "continue"))
        return pawl_continue_as_new(ctx, how, NULL);
    return pawl_str_is(how, "fails") ? pawl_fail(ctx, "f") : pawl_done_str(ctx, r.value);
}

SCENARIO(c05_s05_detached_starts_are_honoured_in_every_ending)
{
    flows(s, detach);
    scene_start(s, "Parent", "a", "returns");
    scene_expect(s, "a", PAWL_COMPLETED, "returns");
    scene_expect(s, "returns", PAWL_COMPLETED, "kid returns");
    scene_start(s, "Parent", "b", "fails");
    scene_expect(s, "fails", PAWL_COMPLETED, "kid fails");
    scene_start(s, "Parent", "c", "continue");
    scene_expect(s, "c", PAWL_COMPLETED, "second");
    scene_expect(s, "continue", PAWL_COMPLETED, "kid continue");
    scene_start(s, "Parent", "d", "cancel");
    scene_cancel(s, "d", "stop");
    scene_expect(s, "d", PAWL_CANCELLED, "stop");
    scene_expect(s, "cancel", PAWL_COMPLETED, "kid cancel");
    ck_assert_int_eq((int)scene_info(s, "cancel").parent.len, 0);
    expect_text(scene_history(s, "d", 0),
                "OrchestrationChained#2 ExternalCancelled#1 OrchestrationCancelled");
}

/* The same start twice (the round was committed, the answer lost): one instance. */
static pawl_result detach_twice(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 2; i++)
        (void)pawl_start_detached(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "one"));
    return pawl_done(ctx, "");
}

SCENARIO(c05_detached_start_of_an_existing_id_is_ignored)
{
    flows(s, detach_twice);
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "");
    scene_expect(s, "one", PAWL_COMPLETED, "kid x");
    ck_assert(scene_logged(s, "detached start of an id that exists"));
    scene_expect_empty(s);
}
