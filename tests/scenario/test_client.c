/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_client.c -- submit, feed, wait, stepping; A3, C2, E4, E10. */
#include "scene.h"

#include "runtime/core/runtime.h"

#include <stdio.h>

static pawl_result wait_go(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return r;
}

/* ---- Submit ------------------------------------------------------------------------ */

struct answers {
    int count;
    pawl_reply last;
    bool durable; /* the instance was in the store when the callback ran */
    struct scene *s;
};

static void take(void *arg, const pawl_reply *reply)
{
    struct answers *a = arg;
    pawl_row row;
    pawl_error err;
    a->count++;
    a->last = *reply;
    a->durable = a->s->store->ops->find(a->s->store, pawl_s("i"), a->s->mem, &row, &err) == PAWL_OK;
}

SCENARIO(a04_submit_calls_back_once_after_the_commit)
{
    struct answers a = {.s = s};
    pawl_error err;
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i"),
                                 take, &a, &err),
              PAWL_OK);
    expect_is(a.count, 0);
    scene_settle(s);
    expect_is(a.count, 1);
    expect_is(a.last.status, PAWL_OK);
    ck_assert(a.last.created && a.durable);
}

SCENARIO(a04_no_answer_before_the_events_are_durable)
{
    struct answers a = {.s = s};
    pawl_error err;
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 0, 3, FAULT_BEFORE, PAWL_BUSY);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i"),
                                 take, &a, &err),
              PAWL_OK);
    scene_settle(s);
    expect_is(a.count, 0);
    expect_is(scene_ran(s, "Echo"), 0); /* nothing runs before its schedule is durable */
    for (int i = 0; i < 4; i++)
        (void)scene_hop(s);
    expect_is(a.count, 1);
    ck_assert(a.durable);
}

SCENARIO(e10_submit_is_answered_at_shutdown)
{
    struct answers a = {.s = s};
    pawl_error err;
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 0, 100, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i"),
                                 take, &a, &err),
              PAWL_OK);
    scene_settle(s);
    pawl_runtime_close(s->rt);
    s->rt = NULL;
    expect_is(a.count, 1);
    expect_is(a.last.status, PAWL_SHUTDOWN);
}

SCENARIO(s30_submit_refuses_at_once_what_is_wrong)
{
    struct answers a = {.s = s};
    pawl_error err;
    scene_up(s);
    expect_is(pawl_client_submit(s->c, PAWL_REQUEST(.op = (pawl_op)77), take, &a, &err),
              PAWL_MISUSE);
    expect_is(pawl_client_submit(s->c, PAWL_REQUEST(.op = PAWL_OP_START), take, &a, &err),
              PAWL_INVALID);
    expect_is(pawl_client_submit(s->c, PAWL_REQUEST(.op = PAWL_OP_CANCEL), take, &a, &err),
              PAWL_INVALID);
    scene_settle(s);
    expect_is(a.count, 0);
}

/* ---- The blocking form ------------------------------------------------------------------ */

static pawl_status call(struct scene *s, const pawl_request *request, pawl_reply *reply)
{
    memset(reply, 0x55, sizeof(*reply)); /* nothing of before may be left in it */
    return pawl_client_call(s->c, request, reply);
}

SCENARIO(a04_a_call_returns_what_submit_would_answer)
{
    const pawl_request *start = PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "i");
    pawl_reply reply;
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    expect_is(call(s, start, &reply), PAWL_OK);
    ck_assert(reply.created && reply.status == PAWL_OK && !reply.error.text[0]);
    ck_assert_str_eq(reply.instance, "i");
    expect_is(scene_row(s, "i").uid != 0, 1); /* durable on return */
    expect_is(call(s, start, &reply), PAWL_OK);
    ck_assert(!reply.created);
    expect_is(call(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i"), &reply), PAWL_CONFLICT);
    expect_is(reply.error.status, PAWL_CONFLICT);
    expect_is(call(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i", .force = true), &reply),
              PAWL_OK);
    expect_is(reply.instances, 1);
    expect_is(pawl_client_call(s->c, start, NULL), PAWL_OK); /* nobody asks for the reply */
}

static pawl_result one_child(pawl_ctx *ctx, pawl_str input)
{
    return pawl_await(ctx,
                      pawl_start_child(ctx, "Flow", input, PAWL_CHILD_OPTS(.instance = "kid")));
}

/* With every field set that this operation does not use. */
static void call_overfull(struct scene *s, pawl_op op, const char *instance)
{
    pawl_reply reply;
    const pawl_request *request =
        PAWL_REQUEST(.op = op, .instance = instance, .name = "E", .version = "no \"version\"",
                     .data = pawl_s("data"), .idempotency_key = "k");
    expect_is(call(s, request, &reply), PAWL_OK);
    scene_settle(s);
}

/* client.h: Pawl ignores the fields that `op` does not use. */
SCENARIO(a04_fields_that_an_operation_does_not_use_change_nothing)
{
    scene_flow(s, "Flow", wait_go);
    scene_flow(s, "Parent", one_child);
    scene_start(s, "Parent", "p", "0");
    scene_start(s, "Flow", "w", "0");
    scene_settle(s);
    call_overfull(s, PAWL_OP_CANCEL, "kid");
    expect_is(scene_info(s, "kid").state, PAWL_CANCELLED);
    call_overfull(s, PAWL_OP_SUSPEND, "w");
    expect_is(scene_info(s, "w").state, PAWL_SUSPENDED);
    call_overfull(s, PAWL_OP_RESUME, "w");
    expect_is(scene_info(s, "w").state, PAWL_RUNNING);
    call_overfull(s, PAWL_OP_TERMINATE, "w");
    expect_is(pawl_state_is_terminal(scene_info(s, "w").state), true);
}

SCENARIO(s30_a_call_that_is_wrong_is_refused_with_a_text)
{
    pawl_reply reply;
    scene_up(s);
    expect_is(call(s, PAWL_REQUEST(.op = (pawl_op)77), &reply), PAWL_MISUSE);
    expect_text(reply.error.text, "unknown operation 77");
    expect_is(call(s, PAWL_REQUEST(.op = PAWL_OP_CANCEL), &reply), PAWL_INVALID);
    expect_is(reply.status, PAWL_INVALID);
    expect_is(call(s, NULL, &reply), PAWL_MISUSE);
    expect_text(reply.error.text, "pawl_client_call");
    expect_is(pawl_client_call(NULL, PAWL_REQUEST(.op = PAWL_OP_CANCEL), &reply), PAWL_MISUSE);
    expect_text(reply.error.text, "a client");
    ck_assert(!reply.created && !reply.instance[0]);
}

/* ---- The feed ------------------------------------------------------------------------- */

static char fed[400];

static void feed(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        size_t at = strlen(fed);
        snprintf(fed + at, sizeof(fed) - at, "%s:%s:%llu+%u ", changes[i].instance.ptr,
                 pawl_state_name(changes[i].state), (unsigned long long)changes[i].last_seq,
                 changes[i].events);
    }
}

SCENARIO(e15_commit_feed_tells_what_changed)
{
    fed[0] = 0;
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    uint64_t subscription = pawl_client_feed(s->c, feed, NULL);
    ck_assert(subscription != 0);
    scene_start(s, "Flow", "i", "x");
    ck_assert_str_eq(fed, "i:running:2+2 i:running:4+2 ");
    fed[0] = 0;
    scene_raise(s, "i", "Go", "");
    ck_assert_str_eq(fed, "i:completed:6+2 ");
    pawl_client_unfeed(s->c, subscription);
    fed[0] = 0;
    scene_start(s, "Flow", "j", "x");
    ck_assert_str_eq(fed, "");
}

/* ---- Waiting ----------------------------------------------------------------------------- */

SCENARIO(e15_wait_tells_the_present_state_when_time_is_over)
{
    pawl_info info;
    pawl_error err;
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "x");
    expect_is(pawl_client_wait(s->c, "i", 0, 0, s->mem, &info, &err), PAWL_TIMEOUT);
    expect_is(info.state, PAWL_RUNNING);
    expect_text(err.text, "still running");
    expect_is(pawl_client_wait(s->c, "nobody", 0, 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    scene_raise(s, "i", "Go", "");
    expect_is(pawl_client_wait(s->c, "i", 0, 0, s->mem, &info, &err), PAWL_OK);
    ck_assert_str_eq(info.output.ptr, "x");
}

/* ---- Client calls inside an orchestration --------------------------------------------------- */

static int refused;

static pawl_result be_naughty(pawl_ctx *ctx, pawl_str input)
{
    struct scene *s = pawl_user(ctx);
    pawl_reply reply;
    pawl_error err;
    pawl_info info;
    pawl_page page;
    refused = 0;
    refused += pawl_client_start(s->c, "Flow", input, NULL, &reply) == PAWL_MISUSE;
    refused += pawl_client_raise(s->c, "i", "Go", input, NULL, &err) == PAWL_MISUSE;
    refused += pawl_client_get(s->c, "i", 0, s->mem, &info, &err) == PAWL_MISUSE;
    refused += pawl_client_list(s->c, NULL, s->mem, &page, &err) == PAWL_MISUSE;
    refused += pawl_client_wait(s->c, "i", 0, -1, s->mem, &info, &err) == PAWL_MISUSE;
    return pawl_done(ctx, err.text);
}

SCENARIO(s30_client_calls_inside_an_orchestration_are_refused)
{
    scene_flow(s, "Flow", be_naughty);
    scene_start(s, "Flow", "i", "");
    expect_is(refused, 5);
    expect_text(scene_info(s, "i").output.ptr, "not for orchestrations");
}

/* ---- Stepping without threads ------------------------------------------------------------------ */

SCENARIO(e04_step_runs_everything_on_the_callers_thread)
{
    pawl_reply reply;
    pawl_error err;
    pawl_info info;
    scene_flow(s, "Flow", wait_go);
    scene_up(s);
    expect_is(
        pawl_client_start(s->c, "Flow", pawl_s("x"), PAWL_START_OPTS(.instance = "i"), &reply),
        PAWL_OK); /* blocking calls step by themselves */
    expect_is(pawl_client_raise(s->c, "i", "Go", pawl_s(""), NULL, &err), PAWL_OK);
    expect_is(pawl_client_wait(s->c, "i", 0, 1000, s->mem, &info, &err), PAWL_OK);
    ck_assert_str_eq(info.output.ptr, "x");
    expect_is(pawl_runtime_start(s->rt, &err), PAWL_MISUSE); /* not both */
}

/* ---- Router, dispatchers, queues ----------------------------------------------------------------- */

SCENARIO(e04_finished_instances_leave_the_router)
{
    scene_flow(s, "Flow", wait_go);
    for (int i = 0; i < 5; i++)
        scene_start(s, "Flow", scene_id(s, "i", i), "x");
    expect_is(scene_stats(s).resident, s->kind == SCENE_HOSTILE ? 0 : 5);
    for (int i = 0; i < 5; i++)
        scene_raise(s, scene_id(s, "i", i), "Go", "");
    expect_is(scene_stats(s).resident, 0);
}

SCENARIO(a03_e05_depths_of_the_two_queues)
{
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "x");
    scene_raise(s, "i", "Other", "");
    pawl_stats st = scene_stats(s);
    expect_is(st.orchestrator_queue, 1);
    expect_is(st.worker_queue, 0);
    expect_is(st.timer_queue, 0);
    expect_is(st.activities_started, 1);
    expect_is(st.activities_completed, 1);
    ck_assert(st.healthy);
}

/* A call that succeeds, one that fails for good at its second attempt, a sleep, an event. */
static pawl_result one_of_each(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    pawl_ignore(pawl_call_with(ctx, "Fail", input, PAWL_CALL_OPTS(.attempts = 2)));
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static void scene_e05_figures_say_what_happened(struct scene *s)
{
    scene_flow(s, "Flow", one_of_each);
    scene_start(s, "Flow", "i", "x");
    scene_advance(s, 1000);
    scene_advance(s, 1000);
    pawl_stats st = scene_stats(s);
    expect_is(st.turns, 4);
    expect_is(st.rounds, 5);
    expect_is(st.commits, 5);
    expect_is(st.events, 8);
    expect_is(st.activities_started, 3);
    expect_is(st.activities_completed, 1);
    expect_is(st.activities_failed, 1);
    expect_is(st.activities_retried, 1);
    expect_is(st.timers_fired, 1);
    expect_is(st.schedule_to_start_count, 3);
    scene_crash(s);
    scene_raise(s, "i", "Go", "end");
    st = scene_stats(s);
    expect_is(st.replays, 1);
    expect_is(st.replayed_events, 8);
    scene_expect(s, "i", PAWL_COMPLETED, "end");
}
SCENE_TEST(e05_figures_say_what_happened, memory, SCENE_MEMORY)

/* ---- C2: incomplete instances resume by themselves -------------------------------------------------- */

static pawl_result with_later(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Later", input);
}

static pawl_result sleeper(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_call(ctx, "Echo", input);
}

static pawl_result later(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

SCENARIO(c02_e14_recovery_of_instances_of_many_shapes)
{
    scene_flow(s, "Wait", wait_go);
    scene_flow(s, "Work", with_later);
    scene_flow(s, "Sleep", sleeper);
    scene_start(s, "Wait", "w", "1");
    scene_start(s, "Work", "k", "2");
    scene_start(s, "Sleep", "s", "3");
    scene_crash(s); /* nobody starts or pokes anything */
    scene_activity(s, "Later", later);
    scene_advance(s, 1000);
    scene_expect(s, "k", PAWL_COMPLETED, "2");
    scene_expect(s, "s", PAWL_COMPLETED, "3");
    scene_expect(s, "w", PAWL_RUNNING, NULL);
    scene_raise(s, "w", "Go", "");
    scene_expect(s, "w", PAWL_COMPLETED, "1");
    expect_is(scene_ran(s, "Echo"), 2);
    expect_is(scene_ran(s, "Later"), 1);
}

/* ---- Custom status ------------------------------------------------------------------------------------ */

static pawl_result statuses(pawl_ctx *ctx, pawl_str input)
{
    pawl_set_status(ctx, "one");
    pawl_set_status(ctx, "two");
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, input.ptr)));
    pawl_set_status(ctx, "");
    return pawl_fail(ctx, "over");
}

SCENARIO(e15_custom_status_is_shown)
{
    scene_flow(s, "Flow", statuses);
    scene_start(s, "Flow", "i", "Go");
    ck_assert_str_eq(scene_info(s, "i").custom_status.ptr, "two");
    scene_crash(s);
    ck_assert_str_eq(scene_info(s, "i").custom_status.ptr, "two");
    scene_raise(s, "i", "Go", "");
    scene_expect(s, "i", PAWL_FAILED, "over");
    expect_is(scene_info(s, "i").custom_status.len, 0);
    expect_is(scene_kind_count(s, "i", "CustomStatusUpdated"), 3);
}
