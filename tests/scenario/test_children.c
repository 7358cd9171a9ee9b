/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_children.c -- S15, S19..S21, C5: children and detached starts. */
#include "../scratch.h"
#include "scene.h"

#include <sqlite3.h>
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
        pawl_ignore(pawl_sleep(ctx, 10));
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
    pawl_ignore(pawl_sleep(ctx, 0));
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
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Never")));
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

/* The same start twice: one instance, and the code hears of it. */
static pawl_result detach_twice(pawl_ctx *ctx, pawl_str input)
{
    bool ok[2];
    for (int i = 0; i < 2; i++)
        ok[i] = pawl_start_detached(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "one")).ok;
    return pawl_donef(ctx, "%d%d", ok[0], ok[1]);
}

SCENARIO(c05_detached_start_of_an_existing_id_is_refused)
{
    flows(s, detach_twice);
    scene_start(s, "Parent", "p", "x");
    scene_expect(s, "p", PAWL_COMPLETED, "10");
    scene_expect(s, "one", PAWL_COMPLETED, "kid x");
    scene_expect_empty(s);
}

/* ---- Very many ------------------------------------------------------------------------ */

/* A commit removes 2,000 at most.  Of a store on a server each is a question. */
#define MANY     6000
#define MANY_FAR 2500
static size_t many = MANY;

/* "open": the first child goes on without it. */
static pawl_result has_many(pawl_ctx *ctx, pawl_str input)
{
    pawl_task *tasks = pawl_alloc(ctx, many * sizeof(*tasks));
    size_t open = pawl_str_is(input, "open");
    pawl_child_opts left = {.flags = PAWL_CHILD_ABANDON};
    for (size_t i = 0; i < many; i++)
        tasks[i] = pawl_start_child(ctx, "One", i < open ? pawl_s("wait") : input, &left);
    pawl_result all = pawl_await_all(ctx, tasks + open, many - open);
    return all.ok ? pawl_done(ctx, "all") : all;
}

/* "wait" waits; "two" has a child of its own. */
static pawl_result one_of_many(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "wait"))
        return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (pawl_str_is(input, "two"))
        return pawl_call_child(ctx, "One", pawl_s("x"), NULL);
    return pawl_done_str(ctx, input);
}

static void take_status(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

static void take_reply(void *arg, const pawl_reply *reply)
{
    *(pawl_reply *)arg = *reply;
}

/* Passes until somebody else's start is answered. */
static int passes_for(struct scene *s, const char *id)
{
    pawl_status got = PAWL_BUSY;
    int passes = 0;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "One", .instance = id),
                                 take_status, &got, NULL),
              PAWL_OK);
    for (; got == PAWL_BUSY; passes++)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(got, PAWL_OK);
    return passes;
}

static void many_flows(struct scene *s)
{
    s->opts.max_history = 100000;
    scene_flow(s, "Many", has_many);
    scene_flow(s, "One", one_of_many);
    scene_up(s);
}

static void scene_very_many(struct scene *s)
{
    pawl_status got = PAWL_BUSY;
    many_flows(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Many", .instance = "p"),
                                 take_status, &got, NULL),
              PAWL_OK);
    while (got == PAWL_BUSY)
        (void)pawl_runtime_step(s->rt, 0);
    ck_assert_int_le(passes_for(s, "other"), 4);
    ck_assert_uint_lt(scene_depths(s).instances, many);
    scene_settle(s);
    scene_expect(s, "p", PAWL_COMPLETED, "all");
    expect_is(scene_row(s, "p").last_seq, 2 * many + 2);
    scene_expect_empty(s);
}

/* Its children, and their ends, are six commits and more; others are served between them.  (Hostile
 * it would replay its history for each.) */
SCENE_TEST(very_many, memory, SCENE_MEMORY)
SCENE_TEST(very_many, sqlite, SCENE_SQLITE)
SCENE_TEST(very_many, postgres, SCENE_POSTGRES)

/* For trees that have ended: these need no more than one piece and a half. */
static void ended_flows(struct scene *s)
{
    many = s->kind == SCENE_POSTGRES ? MANY_FAR : MANY;
    many_flows(s);
}

/* A tree of two levels, all ended; in pieces, children first, and others are served between them. */
static void scene_remove_many(struct scene *s)
{
    pawl_reply reply = {.status = PAWL_BUSY};
    ended_flows(s);
    scene_start(s, "Many", "p", "two");
    scene_settle(s);
    scene_expect(s, "p", PAWL_COMPLETED, "all");
    expect_is(scene_depths(s).instances, 2 * many + 1);
    expect_is(pawl_client_submit(s->c, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p"),
                                 take_reply, &reply, NULL),
              PAWL_OK);
    ck_assert_int_le(passes_for(s, "other"), 3);
    while (scene_depths(s).instances > many)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(reply.status, PAWL_BUSY);
    scene_crash(s);
    expect_is(reply.status, PAWL_SHUTDOWN); /* what is left is a tree, and goes when asked again */
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "p"), PAWL_OK);
    ck_assert_uint_lt(s->reply.instances, many);
    expect_is(scene_depths(s).instances, 1);
    scene_expect(s, "other", PAWL_COMPLETED, "");
}
SCENE_TEST(remove_many, sqlite, SCENE_SQLITE)
SCENE_TEST(remove_many, postgres, SCENE_POSTGRES)

/* One of them runs: nothing goes, unless by force. */
static void scene_remove_many_open(struct scene *s)
{
    ended_flows(s);
    scene_start(s, "Many", "p", "open");
    scene_settle(s);
    scene_expect(s, "p", PAWL_COMPLETED, "all");
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "p"), PAWL_CONFLICT);
    expect_text(s->reply.error.text, "instance 'p:1:1' is running");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = s->now + 1)), PAWL_OK);
    expect_is(s->reply.instances, 0);
    expect_is(scene_depths(s).instances, many + 1);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p", .force = true)),
              PAWL_OK);
    expect_is(s->reply.instances, many + 1);
    expect_is(scene_depths(s).instances, 0);
    scene_settle(s);
    scene_expect_empty(s);
}
SCENE_TEST(remove_many_open, memory, SCENE_MEMORY)

/* A row of it cannot be read: told, and what is left goes when it is asked again. */
static void scene_remove_many_damaged(struct scene *s)
{
    many_flows(s);
    scene_start(s, "Many", "p", "");
    scene_settle(s);
    scene_crash(s); /* nothing of it is in memory */
    scene_fail(s, FAULT_OP_find_uid, 10, 1, FAULT_BEFORE, PAWL_CORRUPT);
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "p"), PAWL_CORRUPT);
    expect_text(s->reply.error.text, "run pawl doctor");
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "p"), PAWL_OK);
    expect_is(scene_depths(s).instances, 0);
}
SCENE_TEST(remove_many_damaged, memory, SCENE_MEMORY)
SCENE_TEST(remove_many_open, sqlite, SCENE_SQLITE)
SCENE_TEST(remove_many_open, postgres, SCENE_POSTGRES)

/* Never rests: beside 2,500 that wait it has one more child in every pass, and each of those,
 * "twig", has as many of its own. */
static pawl_result spawns(pawl_ctx *ctx, pawl_str input)
{
    bool root = pawl_str_is(input, "root");
    for (int i = 0; root && i < 2500; i++)
        (void)pawl_start_child(ctx, "One", pawl_s("wait"), NULL);
    for (int i = 0; root || i < 20; i++) {
        (void)pawl_start_child(ctx, root ? "Spawns" : "One", pawl_s("twig"), NULL);
        pawl_ignore(pawl_sleep(ctx, 0));
    }
    return pawl_done(ctx, "");
}

/* Step until the removal is answered; others are served all the time.  How many were. */
static int fell_busy(struct scene *s, pawl_reply *reply)
{
    int others = 0;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p", .force = true),
                                 take_reply, reply, NULL),
              PAWL_OK);
    for (; others < 30 && reply->status == PAWL_BUSY; others++) {
        ck_assert_int_le(passes_for(s, scene_id(s, "other", others)), 4);
        for (int k = 0; k < 3; k++)
            (void)pawl_runtime_step(s->rt, 0);
    }
    return others;
}

/* One child after the other, so that one is started in each pass. */
static pawl_result has_six(pawl_ctx *ctx, pawl_str input)
{
    int n = 0;
    while (n < 6 && pawl_call_child(ctx, "One", input, NULL).ok)
        n++;
    return pawl_donef(ctx, "%d", n);
}

static void scene_remove_busy(struct scene *s)
{
    pawl_reply reply = {.status = PAWL_BUSY};
    many_flows(s);
    scene_flow(s, "Spawns", spawns);
    scene_flow(s, "Rests", has_six);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Spawns",
                                              .instance = "p", .data = pawl_s("root")),
                                 NULL, NULL, NULL),
              PAWL_OK);
    while (scene_depths(s).instances < 2600)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(pawl_client_submit(
                  s->c, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Rests", .instance = "mother"),
                  NULL, NULL, NULL),
              PAWL_OK);
    int others = fell_busy(s, &reply);
    expect_is(reply.status, PAWL_OK);
    ck_assert_uint_ge(reply.instances, 2600);
    scene_expect(s, "mother", PAWL_COMPLETED, "6"); /* no child of hers was held up */
    scene_settle(s);
    expect_is(scene_depths(s).instances, others + 7);
    scene_expect_empty(s);
}
SCENE_TEST(remove_busy, memory, SCENE_MEMORY)
SCENE_TEST(remove_busy, sqlite, SCENE_SQLITE)
SCENE_TEST(remove_busy, postgres, SCENE_POSTGRES)

/* Its removal has begun: most children have not, and its letters wait. */
static void begin_removal(struct scene *s, pawl_reply *reply)
{
    many_flows(s);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Many", .instance = "p",
                                              .data = pawl_s("x")),
                                 NULL, NULL, NULL),
              PAWL_OK);
    while (scene_depths(s).instances < 2100)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p", .force = true),
                                 take_reply, reply, NULL),
              PAWL_OK);
    (void)pawl_runtime_step(s->rt, 0);
    expect_is(reply->status, PAWL_BUSY);
    uint64_t events = scene_row(s, "p").last_seq, instances = scene_depths(s).instances;
    (void)pawl_runtime_step(s->rt, 0);
    (void)pawl_runtime_step(s->rt, 0);
    expect_is(scene_row(s, "p").last_seq, events); /* it stands still */
    expect_is(scene_depths(s).instances, instances);
    expect_is(reply->status, PAWL_BUSY);
}

/* The removal meets damage before anything is gone: all of the tree goes on. */
static void scene_removal_refused(struct scene *s)
{
    pawl_reply reply = {.status = PAWL_BUSY};
    begin_removal(s, &reply);
    scene_fail(s, FAULT_OP_list, 0, 1, FAULT_BEFORE, PAWL_CORRUPT);
    while (reply.status == PAWL_BUSY)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(reply.status, PAWL_CORRUPT);
    scene_settle(s);
    scene_expect(s, "p", PAWL_COMPLETED, "all");
    expect_is(scene_depths(s).instances, many + 1);
    scene_expect_empty(s);
}
SCENE_TEST(removal_refused, memory, SCENE_MEMORY)
SCENE_TEST(removal_refused, sqlite, SCENE_SQLITE)
SCENE_TEST(removal_refused, postgres, SCENE_POSTGRES)

/* Nothing of it is stored: after a crash nobody remembers it. */
static void scene_removal_forgotten(struct scene *s)
{
    pawl_reply reply = {.status = PAWL_BUSY};
    begin_removal(s, &reply);
    scene_crash(s);
    expect_is(reply.status, PAWL_SHUTDOWN);
    scene_settle(s);
    scene_expect(s, "p", PAWL_COMPLETED, "all");
    expect_is(scene_depths(s).instances, many + 1);
}
SCENE_TEST(removal_forgotten, memory, SCENE_MEMORY)
SCENE_TEST(removal_forgotten, sqlite, SCENE_SQLITE)
SCENE_TEST(removal_forgotten, postgres, SCENE_POSTGRES)

/* Beside small ones, which go at once. */
static void scene_prune_many(struct scene *s)
{
    ended_flows(s);
    scene_start(s, "One", "a", "x");
    scene_start(s, "Many", "p", "x");
    scene_start(s, "Many", "q", "x");
    scene_start(s, "One", "b", "x");
    scene_settle(s);
    scene_fail(s, FAULT_OP_commit, 4, 1, FAULT_BEFORE, PAWL_BUSY);
    uint64_t went = 0;
    do {
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = s->now + 1)), PAWL_OK);
        went += s->reply.instances;
    } while (s->reply.instances);
    expect_is(went, 2 * many + 4);
    expect_is(scene_depths(s).instances, 0);
}
SCENE_TEST(prune_many, sqlite, SCENE_SQLITE)
SCENE_TEST(prune_many, postgres, SCENE_POSTGRES)

static void scene_retire_many(struct scene *s)
{
    s->opts.retain_ms = 3600000;
    ended_flows(s);
    scene_start(s, "Many", "p", "x");
    scene_settle(s);
    expect_is(scene_depths(s).instances, many + 1);
    scene_advance(s, 2 * s->opts.retain_ms);
    expect_is(scene_depths(s).instances, 0);
    expect_is(scene_stats(s).retired, many + 1);
}
SCENE_TEST(retire_many, memory, SCENE_MEMORY)
SCENE_TEST(retire_many, sqlite, SCENE_SQLITE)
SCENE_TEST(retire_many, postgres, SCENE_POSTGRES)

/* ---- A detached start of an id that is taken --------------------------------------------------- */

static pawl_result detach_taken(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    pawl_result r = pawl_start_detached(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "taken"));
    pawl_result again =
        pawl_start_detached(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "taken"));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_donef(ctx, "%d %s, %d %s", r.ok, r.value.ptr, again.kind, again.value.ptr);
}

SCENARIO(s21_a_detached_start_of_a_taken_id_is_refused_to_the_code)
{
    flows(s, detach_taken);
    scene_start(s, "Kid", "taken", "wait");
    scene_start(s, "Parent", "p", "x");
    scene_raise(s, "p", "Go", "1");
    scene_crash(s); /* and the same when it is run again */
    scene_steer(s, PAWL_OP_TERMINATE, "taken");
    scene_raise(s, "p", "Go", "2");
    scene_expect(s, "p", PAWL_COMPLETED,
                 "0 instance 'taken' exists already, 8 instance 'taken' exists already");
}

SCENARIO(s21_a_detached_start_speaks_for_its_id_at_once)
{
    flows(s, detach_taken);
    scene_start(s, "Parent", "p", "wait");
    scene_start(s, "Parent", "q", "wait");
    scene_raise(s, "p", "Go", "1");
    scene_raise(s, "q", "Go", "1");
    scene_raise(s, "p", "Go", "2");
    scene_raise(s, "q", "Go", "2");
    scene_expect(s, "p", PAWL_COMPLETED, "1 taken, 8 instance 'taken' exists already");
    scene_expect(s, "q", PAWL_COMPLETED,
                 "0 instance 'taken' exists already, 8 instance 'taken' exists already");
    scene_raise(s, "taken", "Go", "mine");
    scene_expect(s, "taken", PAWL_COMPLETED, "mine");
}

static int refused, accepted;

static void count_reply(void *arg, const pawl_reply *reply)
{
    (void)arg;
    refused += reply->status == PAWL_EXISTS;
    accepted += reply->status == PAWL_OK;
}

/* Two that ask, and a client that starts the same id, in one group: one of them has it. */
SCENARIO(s21_a_detached_start_and_others_of_one_group)
{
    pawl_error err;
    refused = accepted = 0;
    flows(s, detach_taken);
    scene_start(s, "Parent", "p", "wait");
    scene_start(s, "Parent", "q", "wait");
    for (int i = 0; i < 2; i++)
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = i ? "q" : "p",
                                                  .name = "Go", .data = pawl_s("1")),
                                     count_reply, NULL, &err),
                  PAWL_OK);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = "taken",
                                              .name = "Kid", .data = pawl_s("other")),
                                 count_reply, NULL, &err),
              PAWL_OK);
    scene_settle(s);
    expect_is(accepted, 2);
    expect_is(refused, 1);
    scene_raise(s, "p", "Go", "2");
    scene_raise(s, "q", "Go", "2");
    scene_expect(s, "p", PAWL_COMPLETED, "1 taken, 8 instance 'taken' exists already");
    scene_expect(s, "q", PAWL_COMPLETED,
                 "0 instance 'taken' exists already, 8 instance 'taken' exists already");
}

SCENARIO(s21_a_store_that_does_not_answer_lets_no_detached_start_pass)
{
    flows(s, detach_taken);
    scene_start(s, "Kid", "taken", "wait");
    scene_start(s, "Parent", "p", "x");
    scene_crash(s); /* nobody is in memory */
    scene_fail(s, FAULT_OP_find, 1, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_raise(s, "p", "Go", "1");
    scene_advance(s, 1000);
    scene_raise(s, "p", "Go", "2");
    scene_expect(s, "p", PAWL_COMPLETED,
                 "0 instance 'taken' exists already, 8 instance 'taken' exists already");
}

SCENARIO(s21_a_store_that_does_not_answer_refuses_no_detached_start)
{
    flows(s, detach_taken);
    scene_start(s, "Parent", "p", "wait");
    scene_fail(s, FAULT_OP_find, 0, 2, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_raise(s, "p", "Go", "1");
    scene_advance(s, 1000);
    scene_advance(s, 1000);
    scene_raise(s, "p", "Go", "2");
    scene_expect(s, "p", PAWL_COMPLETED, "1 taken, 8 instance 'taken' exists already");
    scene_raise(s, "taken", "Go", "mine");
    scene_expect(s, "taken", PAWL_COMPLETED, "mine");
}

static pawl_result asks_after_kid(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_call_child(ctx, "Kid", pawl_s("wait"), PAWL_CHILD_OPTS(.instance = "first")));
    pawl_result r =
        pawl_start_detached(ctx, "Kid", pawl_s("x"), PAWL_CHILD_OPTS(.instance = "taken"));
    return pawl_donef(ctx, "%d %s", r.ok, r.value.ptr);
}

static void raise_go(struct scene *s, const char *id)
{
    pawl_error err;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = id, .name = "Go",
                                              .data = pawl_s("1")),
                                 NULL, NULL, &err),
              PAWL_OK);
}

/* The commit that makes the instance fails: its id stays spoken for until one has made it.  Found
 * by the simulation (I22). */
SCENARIO(s21_a_detached_start_speaks_for_its_id_until_it_is_there)
{
    flows(s, detach_taken);
    scene_flow(s, "Asks", asks_after_kid);
    scene_start(s, "Parent", "p", "wait");
    scene_start(s, "Asks", "q", "");
    scene_settle(s);
    raise_go(s, "first"); /* the end of "first" goes to q before p's start of "taken" goes out */
    raise_go(s, "p");
    scene_fail(s, FAULT_OP_commit, 1, 1, FAULT_BEFORE, PAWL_NO_MEMORY);
    scene_advance(s, 1000);
    scene_expect(s, "q", PAWL_COMPLETED, "0 instance 'taken' exists already");
    scene_raise(s, "p", "Go", "2");
    scene_expect(s, "p", PAWL_COMPLETED, "1 taken, 8 instance 'taken' exists already");
    scene_raise(s, "taken", "Go", "mine");
    scene_expect(s, "taken", PAWL_COMPLETED, "mine");
}

/* So many that some lie in the store and are fetched later.  One of those is damaged meanwhile and
 * goes to the quarantine: its id is free again. */
static pawl_result detach_many(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < MANY; i++)
        pawl_ignore(pawl_start_detached(
            ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = pawl_printf(ctx, "k%d", i).ptr)));
    return pawl_done(ctx, "all");
}

static void damage_start(struct scene *s, const char *id)
{
    sqlite3 *db = NULL;
    char sql[120];
    if (s->kind == SCENE_POSTGRES) {
        const char *schema = strstr(s->file, "pawl_schema=") + strlen("pawl_schema=");
        expect_is(scratch_number("WITH gone AS (UPDATE %s.message SET kind=NULL"
                                 " WHERE instance='%s' RETURNING 1) SELECT count(*) FROM gone",
                                 schema, id),
                  1);
        return;
    }
    (void)snprintf(sql, sizeof(sql), "UPDATE message SET kind=NULL WHERE instance='%s'", id);
    expect_is(sqlite3_open(s->file, &db), SQLITE_OK);
    expect_is(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    expect_is(sqlite3_changes(db), 1);
    sqlite3_close(db);
}

static void submit_start(struct scene *s, const char *flow, const char *id)
{
    pawl_error err;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = flow,
                                              .data = pawl_s("x")),
                                 count_reply, NULL, &err),
              PAWL_OK);
}

static void scene_a_damaged_start_frees_its_id(struct scene *s)
{
    flows(s, detach_many);
    accepted = 0;
    scene_up(s);
    submit_start(s, "Parent", "p");
    while (!accepted)
        (void)pawl_runtime_step(s->rt, 0);
    damage_start(s, "k5999");
    scene_settle(s);
    expect_is(scene_depths(s).instances, MANY); /* and p, but one */
    submit_start(s, "Kid", "k5999");
    for (int i = 0; i < 100 && accepted < 2; i++)
        (void)pawl_runtime_step(s->rt, 0);
    expect_is(accepted, 2);
    scene_expect(s, "k5999", PAWL_COMPLETED, "kid x");
}
SCENE_TEST(a_damaged_start_frees_its_id, sqlite, SCENE_SQLITE)
SCENE_TEST(a_damaged_start_frees_its_id, postgres, SCENE_POSTGRES)

/* ---- A cancel that meets somebody else -------------------------------------------------------------- */

static pawl_result starts_and_stops(pawl_ctx *ctx, pawl_str input)
{
    pawl_task child = pawl_start_child(ctx, "Waits", input, PAWL_CHILD_OPTS(.instance = "kid"));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Stop")));
    pawl_cancel(ctx, child);
    return pawl_done(ctx, "stopped");
}

static pawl_result waits_for_go(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static void submit(struct scene *s, const pawl_request *request)
{
    expect_is(pawl_client_submit(s->c, request, NULL, NULL, NULL), PAWL_OK);
}

/* The id was taken: the cancel is for a child, not for who has its name, and is gone. */
SCENARIO(s23_a_stranger_with_the_id_of_a_child_is_not_cancelled)
{
    scene_flow(s, "Flow", starts_and_stops);
    scene_flow(s, "Waits", waits_for_go);
    scene_start(s, "Waits", "kid", "");
    submit(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow", .instance = "p"));
    (void)pawl_runtime_step(s->rt, 0); /* its child is on its way; nobody has refused it yet */
    submit(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .name = "Stop", .instance = "p"));
    scene_expect(s, "p", PAWL_COMPLETED, "stopped");
    scene_advance(s, PAWL_HOURS(1));
    expect_is(scene_depths(s).messages, 0);
    expect_is(scene_depths(s).quarantine, 0);
    scene_raise(s, "kid", "Go", "on");
    scene_expect(s, "kid", PAWL_COMPLETED, "on");
}

/* Its child is removed at that moment, and a start of that name lies there for later: the cancel is
 * tried some times, each at its time, and then put aside. */
SCENARIO(s23_a_cancel_before_a_start_is_tried_at_its_time)
{
    scene_flow(s, "Flow", starts_and_stops);
    scene_flow(s, "Waits", waits_for_go);
    scene_start(s, "Flow", "p", "");
    scene_settle(s);
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_START,
                                   .instance = pawl_s("kid"),
                                   .visible_ms = s->now + PAWL_DAYS(1)});
    submit(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .name = "Stop", .instance = "p"));
    submit(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "kid", .force = true));
    scene_expect(s, "p", PAWL_COMPLETED, "stopped");
    expect_is(scene_depths(s).messages, 2);
    scene_advance(s, PAWL_HOURS(1));
    expect_is(scene_depths(s).messages, 1);
    expect_is(scene_depths(s).quarantine, 1);
}
