/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_mismatch.c -- S27, S28, E6, E14: code and history disagree. */
#include "pawl/replay.h"
#include "scene.h"

#include "base/attr.h"

static pawl_result original(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_call(ctx, "Echo", pawl_s("a"));
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
    return pawl_donef(ctx, "%s %s", a.value.ptr, r.value.ptr);
}

static pawl_result other_activity(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Fail", pawl_s("a")));
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

static pawl_result other_input(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s("b")));
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

static pawl_result timer_instead(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 10));
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

static pawl_result one_call_more(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", pawl_s("a")));
    (void)pawl_start(ctx, "Echo", pawl_s("extra"));
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

static pawl_result returns_early(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_done(ctx, "early");
}

/* Run to the wait with the original, then swap the code under the same version. */
static void swap(struct scene *s, pawl_orchestration_fn *fn)
{
    scene_flow(s, "Flow", original);
    scene_start(s, "Flow", "i", "Go");
    scene_new_code(s);
    scene_flow(s, "Flow", fn);
    scene_raise(s, "i", "Go", "went");
}

#define SO_FAR "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 ExternalSubscribed#2"

static const char *finding(struct scene *s)
{
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    scene_events(s, "i", SO_FAR); /* nothing was appended */
    return scene_info(s, "i").finding.ptr;
}

/* ---- S27, E6: what counts as a mismatch ------------------------------------------------ */

SCENARIO(s27_e06_other_activity)
{
    swap(s, other_activity);
    expect_text(finding(s), "nondeterministic");
    expect_text(finding(s), "'Echo'");
    expect_text(finding(s), "'Fail'");
    expect_text(finding(s), "event 2");
    expect_is(scene_ran(s, "Fail"), 0);
    expect_is(scene_stats(s).mismatches, 1);
}

SCENARIO(s27_e06_other_input)
{
    swap(s, other_input);
    expect_text(finding(s), "nondeterministic");
}

SCENARIO(s27_e06_other_kind)
{
    swap(s, timer_instead);
    expect_text(finding(s), "nondeterministic");
}

SCENARIO(s27_e06_frontier_a_call_too_many)
{
    swap(s, one_call_more);
    expect_text(finding(s), "nondeterministic");
    expect_is(scene_ran(s, "Echo"), 1);
}

/* Early return with leftover history goes unnoticed elsewhere (defect 13). */
SCENARIO(s27_e06_leftover_history_at_return)
{
    swap(s, returns_early);
    expect_text(finding(s), "left over");
}

static pawl_result logs_more(pawl_ctx *ctx, pawl_str input)
{
    pawl_log(ctx, PAWL_LOG_INFO, "a new line");
    (void)pawl_random(ctx);
    (void)pawl_now(ctx);
    return original(ctx, input);
}

SCENARIO(s27_logging_time_and_random_do_not_count)
{
    swap(s, logs_more);
    scene_expect(s, "i", PAWL_COMPLETED, "a went");
}

/* ---- S28, E14: park, mend, go on --------------------------------------------------------- */

SCENARIO(s28_e14_retry_after_the_code_is_mended_goes_on)
{
    swap(s, other_activity);
    (void)finding(s);
    scene_raise(s, "i", "Go", "more mail waits");
    expect_is(scene_try_steer(s, PAWL_OP_RETRY, "i"), PAWL_OK);
    (void)finding(s); /* same code, same finding */
    scene_new_code(s);
    scene_flow(s, "Flow", original);
    scene_expect(s, "i", PAWL_BLOCKED, NULL); /* nobody asked yet */
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "a went");
    expect_is(scene_ran(s, "Echo"), 1);
    expect_is(scene_info(s, "i").finding.len, 0);
    scene_expect_empty(s);
}

/* What it takes to go on cannot be read: refused, whichever it is, and asked again it goes on. */
static void scene_s28_b09_a_retry_that_cannot_be_read_is_refused(struct scene *s)
{
    static const enum fault_op reads[] = {FAULT_OP_read_history, FAULT_OP_read_messages};
    swap(s, other_activity);
    (void)finding(s);
    scene_new_code(s);
    scene_flow(s, "Flow", original);
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        scene_down(s); /* nothing of it is in memory */
        scene_up(s);
        scene_settle(s);
        scene_fail(s, reads[i], 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
        ck_assert_msg(scene_try_steer(s, PAWL_OP_RETRY, "i") == PAWL_UNAVAILABLE, "read %zu", i);
        expect_text(s->reply.error.text, "try again");
        scene_expect(s, "i", PAWL_BLOCKED, NULL);
    }
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "a went");
}
SCENE_TEST(s28_b09_a_retry_that_cannot_be_read_is_refused, memory, SCENE_MEMORY)
SCENE_TEST(s28_b09_a_retry_that_cannot_be_read_is_refused, sqlite, SCENE_SQLITE)
SCENE_TEST(s28_b09_a_retry_that_cannot_be_read_is_refused, postgres, SCENE_POSTGRES)

static pawl_result waits_again(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(original(ctx, input));
    return pawl_await(ctx, pawl_wait_event(ctx, "Then"));
}

SCENARIO(s28_one_that_goes_on_has_no_finding)
{
    swap(s, other_activity);
    (void)finding(s);
    scene_new_code(s);
    scene_flow(s, "Flow", waits_again);
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    expect_is(scene_info(s, "i").finding.len, 0);
}

SCENARIO(s28_a_process_without_the_code_keeps_the_finding)
{
    swap(s, other_activity);
    pawl_str was = pawl_mem_dup(s->mem, scene_info(s, "i").finding);
    scene_new_code(s);
    scene_raise(s, "i", "Go", "more mail");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    ck_assert_str_eq(scene_info(s, "i").finding.ptr, was.ptr);
    scene_new_code(s);
    scene_flow(s, "Flow", original);
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "a went");
}

static pawl_result third_is_greedy(pawl_ctx *ctx, pawl_str input)
{
    if (input.len == 3)
        (void)pawl_alloc(ctx, (size_t)-8);
    return pawl_continue_as_new(ctx, pawl_printf(ctx, "%s+", input.ptr), NULL);
}

static pawl_result goes_well(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

/* Blocked with this input; without its code the finding stays, and with good code it ends. */
static void blocked_keeps_the_finding(struct scene *s, const char *input)
{
    scene_flow(s, "Flow", third_is_greedy);
    scene_start(s, "Flow", "i", input);
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    pawl_str was = pawl_mem_dup(s->mem, scene_info(s, "i").finding);
    expect_text(was.ptr, "its turn asked for");
    scene_new_code(s);
    scene_raise(s, "i", "Go", "mail");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    ck_assert_str_eq(scene_info(s, "i").finding.ptr, was.ptr);
    scene_new_code(s);
    scene_flow(s, "Flow", goes_well);
    (void)scene_try_steer(s, PAWL_OP_RETRY, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "+++");
}

/* Blocked in its first turn: its start is asked for again, and its code is missing. */
SCENARIO(s28_blocked_at_its_start_keeps_the_finding_without_the_code)
{
    blocked_keeps_the_finding(s, "+++");
}

/* Blocked with two executions done and the third not begun: the message that begins it asks
 * for the code in the next process too. */
SCENARIO(s28_blocked_between_executions_keeps_the_finding_without_the_code)
{
    blocked_keeps_the_finding(s, "+");
}

SCENARIO(s28_blocked_stops_nobody_else)
{
    swap(s, other_activity);
    (void)finding(s);
    scene_flow(s, "Fine", original);
    scene_start(s, "Fine", "j", "Go");
    scene_raise(s, "j", "Go", "ok");
    scene_expect(s, "j", PAWL_COMPLETED, "a ok");
}

SCENARIO(s28_blocked_can_be_terminated_and_removed)
{
    swap(s, other_activity);
    (void)finding(s);
    scene_steer(s, PAWL_OP_TERMINATE, "i");
    scene_expect(s, "i", PAWL_CANCELLED, "terminated: terminated by request");
    scene_expect_empty(s);
    scene_steer(s, PAWL_OP_REMOVE, "i");
    expect_is(scene_depths(s).instances, 0);
}

SCENARIO(s28_e06_mismatch_fails_on_request)
{
    s->opts.fail_on_mismatch = true;
    swap(s, other_activity);
    scene_settle(s);
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_FAILED);
    expect_text(info.error.ptr, "nondeterministic");
    scene_events(s, "i", SO_FAR " ExternalCancelled#2 OrchestrationFailed");
    scene_expect_empty(s);
}

SCENARIO(s28_parent_of_a_blocked_child_waits)
{
    scene_flow(s, "Flow", original);
    scene_start(s, "Flow", "i", "Go");
    scene_new_code(s);
    scene_flow(s, "Flow", other_activity);
    scene_raise(s, "i", "Go", "went");
    scene_crash(s);
    (void)finding(s);
    scene_restart(s);
    (void)finding(s);
}

/* ---- Completions that fit nothing (E6, E10, defect 10) --------------------------------------- */

static void inject(struct scene *s, int kind, uint64_t ref)
{
    scene_inject(s, (pawl_message){.kind = kind,
                                   .uid = scene_row(s, "i").uid,
                                   .execution = 1,
                                   .ref = ref,
                                   .data = pawl_s("forged")});
}

SCENARIO(e06_s31_completion_for_no_schedule_is_put_aside_not_fatal)
{
    scene_flow(s, "Flow", original);
    scene_start(s, "Flow", "i", "Go");
    inject(s, PAWL_MSG_ACTIVITY_COMPLETED, 999);
    inject(s, PAWL_MSG_TIMER_FIRED, 2); /* of another kind */
    scene_raise(s, "i", "Go", "went");
    scene_expect(s, "i", PAWL_COMPLETED, "a went");
    expect_is(scene_depths(s).quarantine, 2);
    pawl_message_list list;
    pawl_error err;
    expect_is(s->store->ops->read_quarantine(s->store, 10, s->mem, &list, &err), PAWL_OK);
    ck_assert_str_eq(list.items[0].data.ptr, "forged");
    expect_text(list.items[0].attrs.ptr, "mismatch");
    expect_text(list.items[1].attrs.ptr, "999");
}

SCENARIO(e06_completion_for_no_schedule_fails_on_request)
{
    s->opts.fail_on_mismatch = true;
    scene_flow(s, "Flow", original);
    scene_start(s, "Flow", "i", "Go");
    inject(s, PAWL_MSG_ACTIVITY_COMPLETED, 999);
    scene_settle(s);
    expect_is(scene_info(s, "i").state, PAWL_FAILED);
    expect_text(scene_info(s, "i").error.ptr, "nondeterministic");
    expect_text(scene_info(s, "i").error.ptr, "999");
}

/* ---- The seeds' await check ------------------------------------------------------------------- */

static pawl_result leaves_one(pawl_ctx *ctx, pawl_str input)
{
    (void)pawl_start(ctx, "Echo", pawl_s("loser"));
    pawl_ignore(pawl_sleep(ctx, 100));
    return pawl_await(ctx, pawl_wait_event(ctx, input.ptr));
}

SCENARIO(e06_s27_unawaited_completion_is_legal_by_default)
{
    scene_flow(s, "Flow", leaves_one);
    scene_start(s, "Flow", "i", "Go");
    scene_advance(s, 100);
    scene_raise(s, "i", "Go", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "x");
}

SCENARIO(e06_s27_strict_await_blocks_an_unawaited_completion)
{
    s->opts.strict_await = true;
    scene_flow(s, "Flow", leaves_one);
    scene_flow(s, "Good", original);
    scene_start(s, "Flow", "i", "Go");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    expect_text(scene_info(s, "i").finding.ptr, "not awaited this turn");
    scene_start(s, "Good", "j", "Go");
    scene_raise(s, "j", "Go", "x");
    scene_expect(s, "j", PAWL_COMPLETED, "a x");
}

/* ---- Paranoid ------------------------------------------------------------------------------------ */

static int entered;

/* Not deterministic, and nobody would notice before the next restart. */
static pawl_result hidden_state(pawl_ctx *ctx, pawl_str input)
{
    int mine = ++entered;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_call(ctx, mine == 1 ? "Echo" : "Fail", input);
}

SCENARIO(s28_e06_paranoid_finds_hidden_state_in_the_turn_it_shows)
{
    entered = 0;
    s->opts.paranoid = true;
    scene_flow(s, "Flow", hidden_state);
    scene_flow(s, "Good", original);
    scene_start(s, "Flow", "i", "x");
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", s->kind == SCENE_HOSTILE ? PAWL_FAILED : PAWL_BLOCKED, NULL);
    if (s->kind == SCENE_HOSTILE) /* entered afresh for every turn: it has no state to hide */
        return;
    expect_text(scene_info(s, "i").finding.ptr, "nondeterministic");
    scene_events(s, "i", "OrchestrationStarted ExternalSubscribed#1");
    expect_is(scene_ran(s, "Echo"), 0); /* nothing was handed out */
    scene_start(s, "Good", "j", "Go");
    scene_raise(s, "j", "Go", "x");
    scene_expect(s, "j", PAWL_COMPLETED, "a x");
}

static pawl_result first_turn_differs(pawl_ctx *ctx, pawl_str input)
{
    entered++;
    return pawl_call(ctx, entered % 2 ? "Echo" : "Fail", input);
}

SCENARIO(s28_paranoid_finds_it_in_the_first_turn)
{
    entered = 0;
    s->opts.paranoid = true;
    scene_flow(s, "Flow", first_turn_differs);
    scene_start(s, "Flow", "i", "x");
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    expect_is(scene_info(s, "i").history_length, 0);
    scene_new_code(s);
    scene_flow(s, "Flow", one_call_more);
    scene_steer(s, PAWL_OP_RETRY, "i");
    scene_raise(s, "i", "x", "mended");
    scene_expect(s, "i", PAWL_COMPLETED, "mended");
}

static pawl_app *replayed_app;

static pawl_result replays_inside(pawl_ctx *ctx, pawl_str input)
{
    pawl_error err = {0};
    pawl_replay_report report;
    pawl_info info = {.orchestration = pawl_s("Flow")};
    pawl_status rc = pawl_replay(replayed_app, &info, NULL, 0, NULL, &report, &err);
    return pawl_done_str(ctx, rc == PAWL_MISUSE && strstr(err.text, "not for orchestrations")
                                  ? pawl_s("refused")
                                  : input);
}

SCENARIO(c18_an_orchestration_may_not_replay)
{
    replayed_app = s->app;
    scene_flow(s, "Flow", replays_inside);
    scene_start(s, "Flow", "i", "x");
    scene_expect(s, "i", PAWL_COMPLETED, "refused");
}
