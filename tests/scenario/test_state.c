/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_state.c -- S60: published state, read without running code. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

/* What a reader sees: "key=value/version " of each, in order. */
static void add_item(void *arg, pawl_str key, pawl_str value, uint64_t version, int64_t updated_ms)
{
    char *text = arg;
    size_t n = strlen(text);
    ck_assert(updated_ms > 0);
    (void)snprintf(text + n, 4000 - n, "%.*s=%.*s/%llu ", PAWL_FMT(key), PAWL_FMT(value),
                   (unsigned long long)version);
}

static void expect_state(struct scene *s, const char *id, const char *key, const char *expected)
{
    char text[4000] = "";
    pawl_error err;
    scene_up(s);
    expect_is(pawl_client_published(s->c, id, key, add_item, text, &err), PAWL_OK);
    ck_assert_str_eq(text, expected);
}

static void expect_not_set(struct scene *s, const char *id, const char *key, const char *why)
{
    char text[4000] = "";
    pawl_error err;
    expect_is(pawl_client_published(s->c, id, key, add_item, text, &err), PAWL_NOT_FOUND);
    ck_assert_str_eq(err.text, why);
}

/* A number that is read, changed and set again. */
static void add(pawl_ctx *ctx, const char *key, int more)
{
    pawl_str was = pawl_state_get(ctx, key);
    pawl_str now = pawl_printf(ctx, "%d", (was.ptr ? atoi(was.ptr) : 0) + more);
    ck_assert(pawl_state_set(ctx, key, now).ok);
}

/* Adds what is raised until that is 0. */
static pawl_result counter(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (;;) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "add"));
        if (!r.ok)
            return r;
        if (atoi(r.value.ptr) == 0)
            return pawl_done_str(ctx, pawl_state_get(ctx, "total"));
        add(ctx, "total", atoi(r.value.ptr));
        add(ctx, "calls", 1);
    }
}

SCENARIO(s60_a_reader_sees_what_the_last_commit_has)
{
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    scene_settle(s);
    expect_state(s, "i", NULL, "");
    expect_not_set(s, "i", "total", "state key 'total' is not set");
    expect_not_set(s, "none", NULL, "instance 'none' does not exist");
    scene_raise(s, "i", "add", "5");
    scene_raise(s, "i", "add", "7");
    scene_settle(s);
    expect_state(s, "i", NULL, "calls=2/2 total=12/2 ");
    expect_state(s, "i", "total", "total=12/2 ");
    expect_not_set(s, "i", "tota", "state key 'tota' is not set");
    expect_not_set(s, "i", "a/b", "state key 'a/b' is not set");
}

SCENARIO(s60_read_modify_write_survives_crashes_and_the_end)
{
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    for (int k = 1; k <= 5; k++) {
        scene_raise(s, "i", "add", "2");
        scene_settle(s);
        scene_crash(s);
    }
    scene_raise(s, "i", "add", "0");
    scene_expect(s, "i", PAWL_COMPLETED, "10");
    expect_state(s, "i", NULL, "calls=5/5 total=10/5 ");
    scene_restart(s);
    expect_state(s, "i", "total", "total=10/5 ");
}

SCENARIO(s60_it_is_read_while_nobody_has_the_code)
{
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    scene_raise(s, "i", "add", "3");
    scene_settle(s);
    scene_new_code(s);
    expect_state(s, "i", NULL, "calls=1/1 total=3/1 ");
}

/* Three executions, each adds one; "old" is cleared by the second. */
static pawl_result three(pawl_ctx *ctx, pawl_str input)
{
    add(ctx, "runs", 1);
    if (pawl_execution(ctx) == 1)
        ck_assert(pawl_state_set(ctx, "old", pawl_s("x")).ok);
    if (pawl_execution(ctx) == 2)
        ck_assert(pawl_state_clear(ctx, "old").ok);
    pawl_ignore(pawl_call(ctx, "Echo", input));
    if (pawl_execution(ctx) < 3)
        return pawl_continue_as_new(ctx, input, NULL);
    return pawl_donef(ctx, "%s %s", pawl_state_get(ctx, "runs").ptr,
                      pawl_state_get(ctx, "old").ptr ? "old" : "new");
}

SCENARIO(s60_s24_the_next_execution_has_it_and_its_history_says_so)
{
    scene_flow(s, "Three", three);
    scene_start(s, "Three", "i", "");
    scene_expect(s, "i", PAWL_COMPLETED, "3 new");
    scene_events_of(s, "i", 2,
                    "OrchestrationStarted StateCarried StateCarried StateChanged StateChanged "
                    "ActivityScheduled#1 ActivityCompleted#1 OrchestrationContinuedAsNew");
    scene_events_of(s, "i", 3,
                    "OrchestrationStarted StateCarried StateChanged ActivityScheduled#1 "
                    "ActivityCompleted#1 OrchestrationCompleted");
    expect_state(s, "i", NULL, "runs=3/3 ");
}

SCENARIO(s60_s24_a_crash_between_two_executions_loses_nothing)
{
    scene_flow(s, "Three", three);
    for (int skip = 0; skip < 6; skip++) {
        const char *id = scene_id(s, "i", skip);
        scene_fail(s, FAULT_OP_commit, skip, 1, FAULT_BEFORE, PAWL_BUSY);
        scene_start(s, "Three", id, "");
        scene_crash(s);
        scene_expect(s, id, PAWL_COMPLETED, "3 new");
        expect_state(s, id, NULL, "runs=3/3 ");
    }
}

/* Nothing is left of any instance. */
static void expect_no_objects(struct scene *s)
{
    pawl_object_list list;
    pawl_error err;
    expect_is(s->store->ops->list_objects(s->store, PAWL_OBJECT_STATE, (pawl_str){0}, (pawl_str){0},
                                          10, s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 0);
}

SCENARIO(s60_it_goes_with_its_instance)
{
    scene_flow(s, "Counter", counter);
    for (int k = 0; k < 2; k++) {
        scene_start(s, "Counter", "i", "");
        scene_raise(s, "i", "add", "1");
        scene_raise(s, "i", "add", "0");
        scene_expect(s, "i", PAWL_COMPLETED, "1");
        if (k == 0)
            scene_crash(s); /* what is known about objects is found out again */
        scene_up(s);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i")), PAWL_OK);
        scene_settle(s);
        expect_no_objects(s);
    }
}

/* Many changes of one key, and many keys, in one turn. */
static pawl_result busy(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (int k = 0; k < 300; k++)
        add(ctx, k % 2 ? "odd" : "even", 1);
    ck_assert(pawl_state_set(ctx, "gone", pawl_s("x")).ok);
    ck_assert(pawl_state_clear(ctx, "gone").ok);
    ck_assert(pawl_state_clear(ctx, "never").ok);
    ck_assert(pawl_state_set(ctx, "empty", pawl_s("")).ok);
    return pawl_done(ctx, pawl_state_get(ctx, "gone").ptr ? "there" : "gone");
}

SCENARIO(s60_changes_of_one_turn_are_one_version)
{
    scene_flow(s, "Busy", busy);
    scene_start(s, "Busy", "i", "");
    scene_expect(s, "i", PAWL_COMPLETED, "gone");
    expect_state(s, "i", NULL, "empty=/1 even=150/1 odd=150/1 ");
}

/* As many keys as there may be, and one more; as many bytes, and one more. */
static pawl_result full(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = {.ok = true};
    char key[40];
    char *large = pawl_alloc(ctx, 65537);
    (void)memset(large, 'v', 65536);
    int n = 0;
    for (; r.ok; n++) {
        (void)snprintf(key, sizeof(key), "k%04d", n);
        r = pawl_state_set(ctx, key, pawl_str_is(input, "keys") ? pawl_s("v") : pawl_s(large));
    }
    return pawl_donef(ctx, "%d: %.*s", n - 1, PAWL_FMT(r.value));
}

SCENARIO(s60_s30_what_is_over_a_limit_is_refused)
{
    scene_flow(s, "Full", full);
    scene_start(s, "Full", "keys", "keys");
    scene_expect(
        s, "keys", PAWL_COMPLETED,
        "1000: state would have 1001 keys and 6006 bytes, limit 1000 keys and 1048576 bytes");
    scene_start(s, "Full", "bytes", "bytes");
    scene_expect(
        s, "bytes", PAWL_COMPLETED,
        "15: state would have 16 keys and 1048656 bytes, limit 1000 keys and 1048576 bytes");
}

SCENARIO(s60_a_rerun_goes_on_with_it)
{
    scene_flow(s, "Counter", counter);
    scene_start(s, "Counter", "i", "");
    scene_raise(s, "i", "add", "4");
    scene_raise(s, "i", "add", "0");
    scene_expect(s, "i", PAWL_COMPLETED, "4");
    for (int k = 0; k < 2; k++) {
        if (k)
            scene_crash(s);
        scene_up(s);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = "i")), PAWL_OK);
        scene_raise(s, "i", "add", "1");
        scene_raise(s, "i", "add", "0");
        scene_expect(s, "i", PAWL_COMPLETED, k ? "6" : "5");
    }
    expect_state(s, "i", NULL, "calls=3/3 total=6/3 ");
}

SCENARIO(s60_a_child_has_its_own)
{
    scene_flow(s, "Counter", counter);
    scene_flow(s, "Three", three);
    scene_start(s, "Counter", "a", "");
    scene_start(s, "Counter", "b", "");
    scene_raise(s, "a", "add", "1");
    scene_raise(s, "b", "add", "2");
    scene_settle(s);
    expect_state(s, "a", "total", "total=1/1 ");
    expect_state(s, "b", "total", "total=2/1 ");
}
