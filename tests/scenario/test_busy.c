/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_busy.c -- instances that have a message in every pass stop nobody: a request
 * that needs them at rest goes before their letters, and what the letters leave no room for goes
 * first in the next pass.
 */
#include "scene.h"

#define SOON 12 /* passes in which an answer must come */

struct answer {
    int count;
    pawl_status status;
};

static void take(void *arg, const pawl_reply *reply)
{
    struct answer *a = arg;
    a->count++;
    a->status = reply->status;
}

static void ask(struct scene *s, struct answer *a, const pawl_request *request)
{
    pawl_error err = {0};
    *a = (struct answer){0};
    ck_assert_msg(pawl_client_submit(s->c, request, take, a, &err) == PAWL_OK, "%s", err.text);
}

static void pass(struct scene *s, int n)
{
    for (int i = 0; i < n; i++)
        (void)pawl_runtime_step(s->rt, 0);
}

static pawl_status answer_soon(struct scene *s, struct answer *a)
{
    for (int i = 0; i < SOON && !a->count; i++)
        pass(s, 1);
    ck_assert_msg(a->count == 1, "not answered in %d passes", SOON);
    return a->status;
}

/* ---- Busy in every way -------------------------------------------------------------- */

static pawl_result naps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (int i = 0; i < 10000; i++)
        if (!pawl_sleep(ctx, 0).ok)
            break;
    return pawl_done(ctx, "");
}

static pawl_result again(pawl_ctx *ctx, pawl_str input)
{
    return pawl_continue_as_new(ctx, input, NULL);
}

static pawl_result at_once(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_done(ctx, "");
}

static pawl_result breeds(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 10000; i++)
        if (!pawl_call_child(ctx, "Child", input, NULL).ok)
            break;
    return pawl_done(ctx, "");
}

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call_child(ctx, "Naps", input, NULL));
    return pawl_done(ctx, "");
}

static const char *const busy[] = {"Naps", "Again", "Breeds", "Waits"};
#define BUSY (sizeof(busy) / sizeof(busy[0]))

static void crowd(struct scene *s)
{
    struct answer a;
    s->opts.max_history = 100000;
    scene_flow(s, "Naps", naps);
    scene_flow(s, "Again", again);
    scene_flow(s, "Child", at_once);
    scene_flow(s, "Breeds", breeds);
    scene_flow(s, "Waits", waits);
    scene_up(s);
    for (size_t i = 0; i < BUSY; i++) {
        ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_START, .name = busy[i], .instance = busy[i]));
        expect_is(answer_soon(s, &a), PAWL_OK);
    }
    pass(s, 3);
}

SCENARIO(s20_a_busy_instance_is_removed_and_nobody_waits_for_it)
{
    struct answer removed[BUSY], started;
    crowd(s);
    for (size_t i = 0; i < BUSY; i++)
        ask(s, &removed[i], PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = busy[i], .force = true));
    ask(s, &started, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Child", .instance = "other"));
    for (size_t i = 0; i < BUSY; i++)
        expect_is(answer_soon(s, &removed[i]), PAWL_OK);
    expect_is(answer_soon(s, &started), PAWL_OK);
    scene_settle(s); /* nobody is busy any more */
    scene_expect(s, "other", PAWL_COMPLETED, "");
    scene_expect_empty(s);
}

SCENARIO(s28_retry_and_remove_of_a_busy_instance_are_refused_at_once)
{
    struct answer a, ended;
    crowd(s);
    for (size_t i = 0; i < BUSY; i++) {
        ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_RETRY, .instance = busy[i]));
        expect_is(answer_soon(s, &a), PAWL_CONFLICT);
        ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = busy[i]));
        ask(s, &ended, PAWL_REQUEST(.op = PAWL_OP_TERMINATE, .instance = busy[i]));
        expect_is(answer_soon(s, &a), PAWL_CONFLICT);
        expect_is(answer_soon(s, &ended), PAWL_OK);
    }
    scene_settle(s);
}

/* Requests of one client are done in the order it made them. */
SCENARIO(s20_what_was_asked_before_a_removal_is_done_before_it)
{
    struct answer ended[BUSY], removed[BUSY];
    crowd(s);
    for (size_t i = 0; i < BUSY; i++) {
        ask(s, &ended[i], PAWL_REQUEST(.op = PAWL_OP_TERMINATE, .instance = busy[i]));
        ask(s, &removed[i], PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = busy[i], .force = true));
    }
    for (size_t i = 0; i < BUSY; i++) {
        expect_is(answer_soon(s, &ended[i]), PAWL_OK);
        expect_is(answer_soon(s, &removed[i]), PAWL_OK);
    }
    scene_settle(s);
}

SCENARIO(e10_close_with_a_removal_of_a_busy_instance_comes_back)
{
    struct answer a;
    crowd(s);
    ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "Naps", .force = true));
    pass(s, 1);
    pawl_runtime_close(s->rt);
    s->rt = NULL;
    expect_is(a.count, 1);
}

/* ---- More letters than a group has room for ------------------------------------------- */

SCENARIO(e14_a_crowd_of_busy_instances_leaves_room_for_requests_and_timers)
{
    struct answer a;
    s->opts.group_limit = 2;
    crowd(s);
    ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Child", .instance = "other"));
    expect_is(answer_soon(s, &a), PAWL_OK);
    ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "Naps", .force = true));
    expect_is(answer_soon(s, &a), PAWL_OK);
    ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_TERMINATE, .instance = "Again"));
    expect_is(answer_soon(s, &a), PAWL_OK);
}

static pawl_result sleeps(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_done(ctx, "awake");
}

static void scene_s12_a_timer_of_the_store_fires_beside_a_thousand_busy_instances(struct scene *s);
SCENE_TEST(s12_a_timer_of_the_store_fires_beside_a_thousand_busy_instances, memory, SCENE_MEMORY)
static void scene_s12_a_timer_of_the_store_fires_beside_a_thousand_busy_instances(struct scene *s)
{
    struct answer a;
    scene_flow(s, "Naps", naps);
    scene_flow(s, "Sleeps", sleeps);
    scene_start(s, "Sleeps", "i", "");
    for (int i = 0; i < 1100; i++)
        ask(s, &a, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Naps"));
    for (int i = 0; i < SOON && a.count < 1100; i++)
        pass(s, 1);
    expect_is(a.count, 1100);
    s->now += 1000;
    s->mono += 1000;
    pass(s, SOON);
    expect_is(scene_row(s, "i").state, PAWL_COMPLETED);
}
