/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_versions.c -- S26, S29, E9: versions, pinning, parking, patches. */
#include "scene.h"

static pawl_result tell_version(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "wait"))
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_donef(ctx, "%s %s", pawl_name(ctx).ptr, pawl_version(ctx).ptr);
}

static pawl_status start_version(struct scene *s, const char *id, const char *version,
                                 const char *input)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = id,
                                    .version = version, .data = pawl_s(input)));
}

SCENARIO(s26_e09_latest_by_default_exact_on_request)
{
    scene_flow_at(s, "Flow", "1.9.0", tell_version);
    scene_flow_at(s, "Flow", "1.10.0", tell_version);
    scene_flow_at(s, "Flow", "1.10.0-rc.1", tell_version);
    scene_start(s, "Flow", "latest", "");
    scene_expect(s, "latest", PAWL_COMPLETED, "Flow 1.10.0");
    expect_is(start_version(s, "exact", "1.9.0", ""), PAWL_OK);
    scene_expect(s, "exact", PAWL_COMPLETED, "Flow 1.9.0");
    expect_is(start_version(s, "none", "1.0.0", ""), PAWL_NOT_FOUND);
    expect_text(s->reply.error.text, "no version 1.0.0 here");
    expect_is(start_version(s, "bad", "one", ""), PAWL_INVALID);
    expect_is(scene_try_start(s, "Unknown", "u", ""), PAWL_NOT_FOUND);
    expect_text(s->reply.error.text, "not registered");
}

SCENARIO(s26_e09_running_instances_keep_their_version)
{
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_start(s, "Flow", "old", "wait");
    scene_flow_at(s, "Flow", "2.0.0", tell_version); /* while it runs */
    scene_start(s, "Flow", "new", "wait");
    scene_crash(s);
    scene_raise(s, "old", "Go", "");
    scene_raise(s, "new", "Go", "");
    scene_expect(s, "old", PAWL_COMPLETED, "Flow 1.0.0");
    scene_expect(s, "new", PAWL_COMPLETED, "Flow 2.0.0");
    ck_assert_str_eq(scene_info(s, "old").version.ptr, "1.0.0");
}

/* ---- Suspending what cannot run ----------------------------------------------------- */

SCENARIO(s25_a_pending_one_is_suspended_from_the_answer_on)
{
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                       .allow_unregistered = true)),
              PAWL_OK);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    expect_is(scene_try_steer(s, PAWL_OP_SUSPEND, "i"), PAWL_CONFLICT);
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_crash(s);
    scene_settle(s);
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_events(s, "i", "");
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "Flow 1.0.0");
    scene_expect_empty(s);
}

SCENARIO(s25_one_without_code_is_suspended_from_the_answer_on)
{
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_start(s, "Flow", "i", "wait");
    scene_new_code(s);
    scene_raise(s, "i", "Go", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_settle(s);
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_crash(s);
    scene_settle(s);
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "Flow 1.0.0");
    expect_is(scene_kind_count(s, "i", "OrchestrationSuspended"), 2);
    scene_expect_empty(s);
}

static pawl_result another_way(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    return pawl_done(ctx, "not this");
}

SCENARIO(s25_a_blocked_one_is_suspended_when_it_is_retried)
{
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_start(s, "Flow", "i", "wait");
    scene_new_code(s);
    scene_flow_at(s, "Flow", "1.0.0", another_way);
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    expect_is(scene_try_steer(s, PAWL_OP_SUSPEND, "i"), PAWL_CONFLICT);
    scene_new_code(s);
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_settle(s);
    scene_expect(s, "i", PAWL_SUSPENDED, NULL);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "Flow 1.0.0");
    scene_expect_empty(s);
}

/* ---- A version nobody has ----------------------------------------------------------- */

SCENARIO(e09_s26_missing_version_parks_until_registered)
{
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_start(s, "Flow", "i", "wait");
    scene_new_code(s);
    scene_flow_at(s, "Flow", "2.0.0", tell_version);
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_text(scene_info(s, "i").finding.ptr, "version 1.0.0 is not registered here");
    scene_start(s, "Flow", "other", ""); /* nobody else waits */
    scene_expect(s, "other", PAWL_COMPLETED, "Flow 2.0.0");
    scene_crash(s);
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_expect(s, "i", PAWL_COMPLETED, "Flow 1.0.0");
    expect_is(scene_info(s, "i").finding.len, 0);
    scene_expect_empty(s);
}

SCENARIO(e09_missing_version_cancels_on_request)
{
    s->opts.cancel_missing_version = true;
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_start(s, "Flow", "i", "wait");
    scene_new_code(s);
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_CANCELLED, "version 1.0.0 of 'Flow' is not registered");
    scene_expect_empty(s);
}

SCENARIO(s26_unregistered_start_stays_pending_on_request)
{
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                       .data = pawl_s("in"), .version = "3.0.0",
                                       .allow_unregistered = true)),
              PAWL_OK);
    scene_expect(s, "i", PAWL_PENDING, NULL);
    ck_assert_str_eq(scene_info(s, "i").input.ptr, "in");
    scene_crash(s);
    scene_flow_at(s, "Flow", "2.0.0", tell_version);
    scene_expect(s, "i", PAWL_PENDING, NULL);
    scene_flow_at(s, "Flow", "3.0.0", tell_version);
    scene_expect(s, "i", PAWL_COMPLETED, "Flow 3.0.0");
}

/* ---- ContinueAsNew ------------------------------------------------------------------- */

static pawl_result go_on(pawl_ctx *ctx, pawl_str how)
{
    if (pawl_execution(ctx) == 2)
        return pawl_done_str(ctx, pawl_version(ctx));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    if (pawl_str_is(how, "latest"))
        return pawl_continue_as_new(ctx, how, NULL);
    return pawl_continue_as_new(ctx, how, pawl_str_is(how, "same") ? PAWL_SAME_VERSION : how.ptr);
}

SCENARIO(e09_s26_continue_as_new_latest_same_or_explicit)
{
    static const char *const how[][2] = {
        {"latest", "3.0.0"},
        {"same",   "1.0.0"},
        {"2.0.0",  "2.0.0"},
    };
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    for (int i = 0; i < 3; i++)
        scene_start(s, "Flow", how[i][0], how[i][0]);
    scene_flow_at(s, "Flow", "2.0.0", go_on);
    scene_flow_at(s, "Flow", "3.0.0", go_on);
    for (int i = 0; i < 3; i++) {
        scene_raise(s, how[i][0], "Go", "");
        scene_expect(s, how[i][0], PAWL_COMPLETED, how[i][1]);
    }
}

SCENARIO(e09_continue_as_new_to_a_missing_version_parks)
{
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_start(s, "Flow", "i", "2.0.0");
    scene_raise(s, "i", "Go", "");
    ck_assert(!pawl_state_is_terminal(scene_info(s, "i").state));
    expect_text(scene_info(s, "i").finding.ptr, "version 2.0.0 is not registered");
    expect_is(scene_try_raise(s, "i", "Mail", "in between"), PAWL_OK);
    scene_crash(s);
    scene_flow_at(s, "Flow", "2.0.0", go_on);
    scene_expect(s, "i", PAWL_COMPLETED, "2.0.0");
    scene_expect_empty(s);
}

SCENARIO(s26_child_of_an_exact_version)
{
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_flow_at(s, "Flow", "2.0.0", tell_version);
    scene_flow(s, "Parent", tell_version);
    expect_is(start_version(s, "c", "1.0.0", ""), PAWL_OK);
    scene_expect(s, "c", PAWL_COMPLETED, "Flow 1.0.0");
    scene_start(s, "Parent", "p", "");
    scene_expect(s, "p", PAWL_COMPLETED, "Parent 1.0.0");
}

/* ---- …and by option is not waited for -------------------------------------------------- */

SCENARIO(e09_continue_as_new_to_a_missing_version_cancels_on_request)
{
    s->opts.cancel_missing_version = true;
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_start(s, "Flow", "i", "2.0.0");
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_CANCELLED, "version 2.0.0 of 'Flow' is not registered");
    scene_events_of(s, "i", 2, "OrchestrationStarted OrchestrationCancelled");
    scene_expect_empty(s);
}

/* It waited in a process that lets it wait; the next one does not. */
SCENARIO(e09_one_that_waits_between_executions_is_cancelled_on_request)
{
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_start(s, "Flow", "i", "2.0.0");
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    s->opts.cancel_missing_version = true;
    scene_crash(s);
    scene_settle(s);
    scene_expect(s, "i", PAWL_CANCELLED, "version 2.0.0 of 'Flow' is not registered");
    scene_expect_empty(s);
}

static pawl_result parent_of(pawl_ctx *ctx, pawl_str version)
{
    pawl_child_opts opts = {.instance = "child", .version = version.len ? version.ptr : NULL};
    return pawl_call_child(ctx, "Flow", pawl_s("input"), &opts);
}

SCENARIO(e09_a_child_of_a_missing_version_is_cancelled_on_request)
{
    s->opts.cancel_missing_version = true;
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_flow(s, "Parent", parent_of);
    scene_start(s, "Parent", "p", "2.0.0");
    scene_expect(s, "child", PAWL_CANCELLED, "version 2.0.0 of 'Flow' is not registered");
    ck_assert_str_eq(scene_info(s, "child").input.ptr, "input");
    scene_expect(s, "p", PAWL_FAILED, "cancelled: version 2.0.0 of 'Flow' is not registered");
    scene_expect_empty(s);
}

SCENARIO(e09_a_child_that_waits_is_told_which_version_it_misses_and_cancelled_on_request)
{
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_flow(s, "Parent", parent_of);
    scene_start(s, "Parent", "p", "2.0.0");
    scene_expect(s, "child", PAWL_PENDING, NULL);
    expect_text(scene_info(s, "child").finding.ptr,
                "orchestration 'Flow' version 2.0.0 is not registered here");
    s->opts.cancel_missing_version = true;
    scene_crash(s);
    scene_settle(s);
    scene_expect(s, "child", PAWL_CANCELLED, "version 2.0.0 of 'Flow' is not registered");
    ck_assert_str_eq(scene_info(s, "child").input.ptr, "input");
    scene_expect(s, "p", PAWL_FAILED, "cancelled: version 2.0.0 of 'Flow' is not registered");
    scene_expect_empty(s);
}

/* Who asked for a start without code gets what he asked for. */
SCENARIO(e09_a_start_that_may_wait_for_code_is_not_cancelled)
{
    s->opts.cancel_missing_version = true;
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i",
                                       .allow_unregistered = true)),
              PAWL_OK);
    scene_crash(s);
    scene_settle(s);
    scene_expect(s, "i", PAWL_PENDING, NULL);
    scene_flow_at(s, "Flow", "1.0.0", tell_version);
    scene_expect(s, "i", PAWL_COMPLETED, "Flow 1.0.0");
}

/* ---- S29 ------------------------------------------------------------------------------- */

static pawl_result unpatched(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s("old")));
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

static pawl_result patched(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_patched(ctx, "new-check"))
        pawl_ignore(pawl_call(ctx, "Echo", pawl_s("new")));
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s("old")));
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
    return pawl_donef(ctx, "%s%s", r.value.ptr, pawl_patched(ctx, "new-check") ? " patched" : "");
}

SCENARIO(s29_e14_patch_is_off_for_those_before_and_on_for_those_after)
{
    scene_flow(s, "Flow", unpatched);
    scene_start(s, "Flow", "before", "Go");
    scene_new_code(s);
    scene_flow(s, "Flow", patched);
    scene_start(s, "Flow", "after", "Go");
    scene_crash(s);
    scene_raise(s, "before", "Go", "x");
    scene_raise(s, "after", "Go", "x");
    scene_expect(s, "before", PAWL_COMPLETED, "x");
    scene_expect(s, "after", PAWL_COMPLETED, "x patched");
    scene_events(s, "after",
                 "OrchestrationStarted PatchRecorded ActivityScheduled#1 ActivityCompleted#1 "
                 "ActivityScheduled#2 ActivityCompleted#2 ExternalSubscribed#3 ExternalEvent#3 "
                 "OrchestrationCompleted");
    expect_is(scene_kind_count(s, "before", "PatchRecorded"), 0);
    expect_is(scene_ran(s, "Echo"), 3);
}

static pawl_result patch_later(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s("old")));
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
    if (pawl_patched(ctx, "later"))
        pawl_ignore(pawl_call(ctx, "Echo", pawl_s("new")));
    return r;
}

SCENARIO(s29_patch_reached_live_is_on_for_a_running_instance)
{
    scene_flow(s, "Flow", unpatched);
    scene_start(s, "Flow", "i", "Go");
    scene_new_code(s);
    scene_flow(s, "Flow", patch_later);
    scene_raise(s, "i", "Go", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x");
    expect_text(scene_history(s, "i", 0), "ExternalEvent#2 PatchRecorded ActivityScheduled#3");
}

static pawl_result parent_of_flow(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call_child(ctx, "Flow", input, PAWL_CHILD_OPTS(.instance = "i"));
    return pawl_donef(ctx, "%d %s", r.ok, r.value.ptr);
}

/* Between two executions, the code of the next one missing. */
static void park_between(struct scene *s)
{
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_flow(s, "Parent", parent_of_flow);
    scene_start(s, "Parent", "p", "2.0.0");
    scene_raise(s, "i", "Go", "");
    expect_text(scene_info(s, "i").finding.ptr, "version 2.0.0 is not registered");
}

SCENARIO(e09_terminate_between_executions_tells_the_parent)
{
    park_between(s);
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    scene_expect(s, "p", PAWL_COMPLETED, "0 terminated: terminated by request");
    scene_expect(s, "i", PAWL_CANCELLED, "terminated: terminated by request");
    scene_events(s, "i", "OrchestrationStarted OrchestrationTerminated");
    expect_is(scene_info(s, "i").execution, 2);
    scene_expect_empty(s);
}

static pawl_result wait_for_ever(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Never"));
}

/* It waits for the code of the next execution, which may have something to undo. */
SCENARIO(e09_cancel_between_executions_is_not_lost)
{
    park_between(s);
    scene_cancel(s, "p", "stop");
    scene_expect(s, "p", PAWL_CANCELLED, "stop");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_crash(s);
    scene_flow_at(s, "Flow", "2.0.0", wait_for_ever);
    scene_expect(s, "i", PAWL_CANCELLED, "parent cancelled it");
    scene_expect_empty(s);
}
