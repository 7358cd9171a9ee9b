/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_limited.c -- S45 to S47: stored limits on activities.
 *
 * Instances make one call each; their input names its key ("acme/ann:", or ":" for none).  A worker
 * outside leases as many as it is given, or threads of the process run them.  What is out at a time
 * is what the rules are about.  jsonl has no limits: every call on them is refused.
 */
#include "pawl/limit.h"
#include "pawl/worker.h"
#include "scene.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static pawl_result call_one(pawl_ctx *ctx, const char *activity, pawl_str input)
{
    char text[80], *mark;
    (void)snprintf(text, sizeof(text), "%.*s", PAWL_FMT(input));
    if ((mark = strchr(text, ':')))
        *mark = 0;
    return pawl_call_with(ctx, activity, input,
                          PAWL_CALL_OPTS(.key = text[0] ? text : NULL, .attempts = 3,
                                         .priority = mark ? (uint32_t)atoi(mark + 1) : 0,
                                         .initial_ms = 100));
}

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    return call_one(ctx, "Charge", input);
}

static pawl_result refund(pawl_ctx *ctx, pawl_str input)
{
    return call_one(ctx, "Refund", input);
}

/* No options at all: the shortest path there is. */
static pawl_result plain(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Charge", input);
}

#define HELD 24

/* What a worker outside has. */
struct held {
    bool answered;
    size_t count, fresh;
    char token[HELD][80], input[HELD][40];
};

static void on_reply(void *arg, const pawl_worker_reply *reply)
{
    struct held *g = arg;
    g->answered = true;
    g->fresh = reply->count;
    for (size_t i = 0; i < reply->count; i++, g->count++) {
        ck_assert(g->count < HELD);
        (void)snprintf(g->token[g->count], sizeof(g->token[0]), "%.*s",
                       PAWL_FMT(reply->leases[i].token));
        (void)snprintf(g->input[g->count], sizeof(g->input[0]), "%.*s",
                       PAWL_FMT(reply->leases[i].input));
    }
}

static const char *const names[] = {"Charge", "Refund"};

/* Lease all there is. */
static size_t poll_all(struct scene *s, struct held *g, int64_t lock_ms)
{
    pawl_error err = {0};
    g->answered = false;
    g->fresh = 0;
    scene_up(s);
    expect_is(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 2, .max = HELD,
                                         .lock_ms = lock_ms),
                               on_reply, g, &err),
              PAWL_OK);
    for (int i = 0; i < 300 && !g->answered; i++)
        scene_advance(s, 1);
    ck_assert(g->answered);
    return g->fresh;
}

static void complete(struct scene *s, struct held *g, size_t i)
{
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = g->token[i],
                                       .data = pawl_s("done"))),
              PAWL_OK);
    g->count--;
    memmove(g->token[i], g->token[g->count], sizeof(g->token[0]));
    memmove(g->input[i], g->input[g->count], sizeof(g->input[0]));
}

static int held_of(const struct held *g, const char *input)
{
    int n = 0;
    for (size_t i = 0; i < g->count; i++)
        n += strcmp(g->input[i], input) == 0;
    return n;
}

static pawl_status put(struct scene *s, const char *name, const char *json)
{
    scene_up(s);
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_PUT, .name = name, .data = pawl_s(json)));
}

/* False: the store has no limits, and says so. */
static bool limit(struct scene *s, const char *json)
{
    pawl_status rc = put(s, "l", json);
    expect_is(rc, s->kind == SCENE_JSONL ? PAWL_UNSUPPORTED : PAWL_OK);
    return rc == PAWL_OK;
}

static void calls(struct scene *s, const char *flow_name, const char *input, int count)
{
    static int number;
    for (int i = 0; i < count; i++)
        scene_start(s, flow_name, scene_id(s, "i", number++), input);
    scene_settle(s);
}

static void flows(struct scene *s)
{
    scene_flow(s, "Flow", flow);
    scene_flow(s, "Refunds", refund);
    scene_flow(s, "Plain", plain);
}

static const char *look(struct scene *s, const char *name)
{
    pawl_str got;
    pawl_error err;
    expect_is(pawl_limit_get(s->c, name, s->mem, &got, &err), PAWL_OK);
    return got.ptr;
}

/* ---- Concurrency ---------------------------------------------------------------------- */

SCENARIO(s45_no_key_has_more_than_its_places)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"by\":\"key\",\"concurrency\":2}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "a:", 5);
    calls(s, "Flow", "b:", 3);
    calls(s, "Flow", ":", 3);
    expect_is(poll_all(s, &g, 60000), 6);
    expect_is(held_of(&g, "a:"), 2);
    expect_is(held_of(&g, "b:"), 2);
    expect_is(held_of(&g, ":"), 2);
    expect_is(poll_all(s, &g, 60000), 0);
    expect_text(look(s, "l"), "\"in_use\":6,\"waiting\":5");
    while (g.count) {
        complete(s, &g, 0);
        (void)poll_all(s, &g, 60000);
        ck_assert(held_of(&g, "a:") <= 2 && held_of(&g, "b:") <= 2 && held_of(&g, ":") <= 2);
    }
    expect_is(scene_stats(s).activities_completed, 11);
    scene_expect_empty(s);
}

SCENARIO(s45_one_limit_for_all_activities_that_it_names)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"},{\"activity\":\"Ref*\"}],"
                  "\"concurrency\":3}"))
        return;
    struct held g = {0};
    calls(s, "Plain", "x:", 2);
    calls(s, "Refunds", "y:", 2);
    calls(s, "Flow", "z:", 2);
    expect_is(poll_all(s, &g, 60000), 3);
    complete(s, &g, 0);
    expect_is(poll_all(s, &g, 60000), 1);
    while (g.count) {
        complete(s, &g, 0);
        (void)poll_all(s, &g, 60000);
        ck_assert_uint_le(g.count, 3);
    }
    scene_expect_empty(s);
}

SCENARIO(s45_a_bucket_for_each_first_level)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"*\"}],\"by\":\"first\",\"concurrency\":1}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "acme/ann:", 2);
    calls(s, "Flow", "acme/bob:", 2);
    calls(s, "Flow", "zoo:", 1);
    expect_is(poll_all(s, &g, 60000), 2);
    expect_is(held_of(&g, "zoo:"), 1);
}

SCENARIO(s45_room_in_every_limit_or_none)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"by\":\"key\",\"concurrency\":2}"))
        return;
    expect_is(put(s, "all", "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":3}"), PAWL_OK);
    struct held g = {0};
    calls(s, "Flow", "a:", 5);
    calls(s, "Flow", "b:", 5);
    expect_is(poll_all(s, &g, 60000), 3);
    ck_assert(held_of(&g, "a:") <= 2 && held_of(&g, "b:") <= 2);
    expect_text(look(s, "all"), "\"in_use\":3");
    expect_text(look(s, "l"), "\"in_use\":3");
}

SCENARIO(s45_what_is_leased_counts_after_a_crash)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":2}"))
        return;
    struct held g = {0};
    calls(s, "Plain", "p", 3);
    calls(s, "Flow", "a:", 3);
    expect_is(poll_all(s, &g, 5000), 2);
    scene_crash(s);
    expect_is(poll_all(s, &g, 5000), 0);
    expect_text(look(s, "l"), "\"in_use\":2");
    complete(s, &g, 0);
    expect_is(poll_all(s, &g, 60000), 1);
    scene_crash(s);
    scene_advance(s, 6000); /* the other lease of the first ends: its place is free */
    expect_is(poll_all(s, &g, 60000), 1);
    expect_is(poll_all(s, &g, 60000), 0);
}

SCENARIO(s45_a_failed_attempt_leaves_its_place_until_it_is_due)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "a:", 1);
    calls(s, "Flow", "b:", 1);
    expect_is(poll_all(s, &g, 60000), 1);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = g.token[0], .failed = true,
                                       .data = pawl_s("no"))),
              PAWL_OK);
    g.count = 0;
    expect_is(poll_all(s, &g, 60000), 1);
    ck_assert_str_eq(g.input[0], "b:");
    scene_advance(s, 5000);
    expect_is(poll_all(s, &g, 60000), 0);
    complete(s, &g, 0);
    expect_is(poll_all(s, &g, 60000), 1);
    ck_assert_str_eq(g.input[0], "a:");
}

SCENARIO(s45_withdrawn_work_frees_its_place_with_that_commit)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "a:", 1);
    char id[513];
    (void)snprintf(id, sizeof(id), "%s", s->reply.instance);
    calls(s, "Flow", "b:", 2);
    expect_is(poll_all(s, &g, 60000), 1);
    scene_steer(s, PAWL_OP_TERMINATE, id);
    scene_settle(s);
    expect_is(poll_all(s, &g, 60000), 1);
    expect_is(held_of(&g, "b:"), 1);
}

SCENARIO(s45_a_poll_that_was_not_committed_takes_no_place_and_no_token)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1,"
                  "\"rate\":{\"count\":1,\"per_ms\":86400000}}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "a:", 2);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    expect_is(poll_all(s, &g, 60000), 1);
    complete(s, &g, 0);
    expect_is(poll_all(s, &g, 60000), 0); /* not for a day */
}

/* ---- Threads of the process --------------------------------------------------------------- */

static int running, most, together; /* until so many were inside once, the first ones wait */
static pthread_mutex_t counts = PTHREAD_MUTEX_INITIALIZER;

static pawl_result charge_here(pawl_activity *act, pawl_str input)
{
    struct timespec nap = {.tv_nsec = 2000000};
    pthread_mutex_lock(&counts);
    running++;
    most = running > most ? running : most;
    for (int i = 0; i == 0 || (i < 500 && most < together); i++) {
        pthread_mutex_unlock(&counts);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&counts);
    }
    running--;
    pthread_mutex_unlock(&counts);
    scene_count(act);
    return pawl_ok_str(act, input);
}

static void wait_all(struct scene *s, int count)
{
    struct timespec nap = {.tv_nsec = 5000000};
    for (int i = 0; i < 4000 && scene_ran(s, "Charge") < count; i++)
        nanosleep(&nap, NULL);
    expect_is(scene_ran(s, "Charge"), count);
}

SCENARIO(s45_threads_of_the_process_keep_a_limit)
{
    running = most = 0;
    together = 3;
    s->opts.workers = 16;
    scene_threads(s);
    flows(s);
    scene_activity(s, "Charge", charge_here);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":3}"))
        return;
    for (int i = 0; i < 60; i++)
        scene_start(s, i % 2 ? "Plain" : "Flow", scene_id(s, "t", i), "k:");
    wait_all(s, 60);
    expect_is(most, 3);
}

/* ---- Rate ----------------------------------------------------------------------------------- */

#define TEN_A_SECOND                                                                               \
    "{\"match\":[{\"activity\":\"Charge\"}],"                                                      \
    "\"rate\":{\"count\":10,\"per_ms\":1000,\"burst\":3}}"

SCENARIO(s46_a_burst_and_then_evenly)
{
    flows(s);
    if (!limit(s, TEN_A_SECOND))
        return;
    struct held g = {0};
    calls(s, "Plain", "p", 10);
    expect_is(poll_all(s, &g, 600000), 3);
    expect_is(poll_all(s, &g, 600000), 0);
    scene_advance(s, 100);
    expect_is(poll_all(s, &g, 600000), 1);
    scene_advance(s, 1000);
    expect_is(poll_all(s, &g, 600000), 3); /* what was not used is not saved beyond the burst */
}

SCENARIO(s46_what_was_used_survives_a_crash)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"by\":\"key\","
                  "\"rate\":{\"count\":2,\"per_ms\":86400000,\"burst\":2}}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "a:", 4);
    calls(s, "Flow", "b:", 1);
    expect_is(poll_all(s, &g, 5000), 3);
    while (g.count)
        complete(s, &g, 0);
    scene_crash(s);
    expect_is(poll_all(s, &g, 5000), 0);
    scene_advance(s, 43200000);
    expect_is(poll_all(s, &g, 5000), 1); /* one in half a day */
    scene_crash(s);
    expect_is(poll_all(s, &g, 5000), 0);
}

static pawl_result just_count(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

SCENARIO(s46_a_thread_of_the_process_begins_when_it_is_paid_for)
{
    scene_activity(s, "Charge", just_count);
    flows(s);
    if (!limit(s, TEN_A_SECOND))
        return;
    calls(s, "Plain", "p", 6);
    expect_is(scene_ran(s, "Charge"), 3);
    scene_crash(s);
    scene_settle(s);
    expect_is(scene_ran(s, "Charge"), 3);
    scene_advance(s, 99);
    expect_is(scene_ran(s, "Charge"), 3);
    scene_advance(s, 1);
    expect_is(scene_ran(s, "Charge"), 4);
    scene_fail(s, FAULT_OP_commit, 0, 3, FAULT_BEFORE, PAWL_BUSY); /* nothing begins unpaid */
    scene_advance(s, 5000);
    expect_is(scene_ran(s, "Charge"), 6);
    expect_is(scene_stats(s).activities_completed, 6 - 3);
    scene_expect_empty(s);
}

SCENARIO(s46_a_cancelled_call_that_waits_for_its_payment_does_not_begin)
{
    scene_activity(s, "Charge", just_count);
    flows(s);
    if (!limit(s, TEN_A_SECOND))
        return;
    calls(s, "Plain", "p", 3);
    calls(s, "Plain", "late", 1);
    char id[513];
    (void)snprintf(id, sizeof(id), "%s", s->reply.instance);
    scene_steer(s, PAWL_OP_TERMINATE, id);
    scene_advance(s, 1000);
    expect_is(scene_ran(s, "Charge"), 3);
    calls(s, "Plain", "p", 1);
    expect_is(scene_ran(s, "Charge"), 4);
    scene_expect_empty(s);
}

SCENARIO(s46_nothing_is_left_of_a_rate_that_is_not_used)
{
    pawl_object_list list;
    pawl_error err;
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"by\":\"key\","
                  "\"rate\":{\"count\":10,\"per_ms\":1000}}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "a:", 1);
    calls(s, "Flow", "b:", 1);
    expect_is(poll_all(s, &g, 60000), 2);
    expect_is(s->store->ops->list_objects(s->store, PAWL_OBJECT_RATE, (pawl_str){0}, (pawl_str){0},
                                          10, s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 2);
    while (g.count)
        complete(s, &g, 0);
    scene_advance(s, 2000);
    expect_is(s->store->ops->list_objects(s->store, PAWL_OBJECT_RATE, (pawl_str){0}, (pawl_str){0},
                                          10, s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 0);
    calls(s, "Flow", "c:", 1);
    expect_is(poll_all(s, &g, 60000), 1);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = "l")), PAWL_OK);
    scene_settle(s);
    expect_is(s->store->ops->list_objects(s->store, PAWL_OBJECT_RATE, (pawl_str){0}, (pawl_str){0},
                                          10, s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 0);
}

/* ---- Changing -------------------------------------------------------------------------------- */

SCENARIO(s47_a_new_limit_counts_what_is_leased_already)
{
    flows(s);
    struct held g = {0};
    if (s->kind == SCENE_JSONL)
        return;
    calls(s, "Plain", "p", 6);
    calls(s, "Flow", "a:", 2);
    expect_is(poll_all(s, &g, 60000), 8);
    calls(s, "Plain", "p", 3);
    (void)limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":4}");
    expect_text(look(s, "l"), "\"in_use\":8");
    expect_is(poll_all(s, &g, 60000), 0);
    for (int i = 0; i < 4; i++) {
        complete(s, &g, 0);
        expect_is(poll_all(s, &g, 60000), 0);
    }
    complete(s, &g, 0);
    expect_is(poll_all(s, &g, 60000), 1);
}

SCENARIO(s47_lowering_takes_nothing_back_and_raising_acts_at_once)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":3}"))
        return;
    struct held g = {0};
    calls(s, "Plain", "p", 9);
    expect_is(poll_all(s, &g, 60000), 3);
    (void)limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1}");
    complete(s, &g, 0);
    complete(s, &g, 0);
    expect_is(poll_all(s, &g, 60000), 0);
    (void)limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":4}");
    expect_is(poll_all(s, &g, 60000), 3);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = "l")), PAWL_OK);
    expect_is(poll_all(s, &g, 60000), 3);
    while (g.count)
        complete(s, &g, 0);
    expect_is(scene_stats(s).activities_completed, 9);
    scene_expect_empty(s);
}

SCENARIO(s47_a_waiting_poll_is_answered_when_the_limit_goes)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1}"))
        return;
    struct held g = {0};
    calls(s, "Plain", "p", 2);
    expect_is(poll_all(s, &g, 60000), 1);
    struct held later = {0};
    pawl_error err;
    expect_is(pawl_worker_poll(s->c,
                               PAWL_POLL(.activities = names, .activity_count = 2, .max = 1,
                                         .lock_ms = 1000, .wait_ms = 60000),
                               on_reply, &later, &err),
              PAWL_OK);
    scene_advance(s, 10);
    ck_assert(!later.answered);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = "l")), PAWL_OK);
    scene_settle(s);
    expect_is(later.fresh, 1);
}

static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool is_open;
static int inside;

/* The first ones wait inside until the door is opened. */
static pawl_result charge_behind_door(pawl_activity *act, pawl_str input)
{
    pthread_mutex_lock(&counts);
    bool first = !is_open;
    inside += first;
    while (!is_open)
        pthread_cond_wait(&opened, &counts);
    pthread_mutex_unlock(&counts);
    if (!first)
        return charge_here(act, input);
    scene_count(act);
    return pawl_ok_str(act, input);
}

SCENARIO(s47_jobs_in_memory_wait_for_their_turn_from_then_on)
{
    running = most = inside = together = 0;
    is_open = false;
    s->opts.workers = 4;
    scene_threads(s);
    flows(s);
    scene_activity(s, "Charge", charge_behind_door);
    if (s->kind == SCENE_JSONL)
        return;
    scene_up(s);
    for (int i = 0; i < 50; i++)
        scene_start(s, "Plain", scene_id(s, "t", i), "k");
    pthread_mutex_lock(&counts);
    while (inside < 4) {
        pthread_mutex_unlock(&counts);
        sched_yield();
        pthread_mutex_lock(&counts);
    }
    pthread_mutex_unlock(&counts);
    (void)limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1}");
    struct timespec nap = {.tv_nsec =
                               5000000}; /* it is in force; trays are looked at a bit later */
    for (int i = 0; i < 2000 && !strstr(look(s, "l"), "\"waiting\":46"); i++)
        nanosleep(&nap, NULL);
    expect_text(look(s, "l"), "\"in_use\":4,\"waiting\":46");
    pthread_mutex_lock(&counts);
    is_open = true;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&counts);
    wait_all(s, 50);
    expect_is(most, 1);
}

static void on_done(void *arg, const pawl_reply *reply)
{
    *(int *)arg += reply->status == PAWL_OK;
}

/* The row is made and the limit goes in one commit: the row comes by its turn, and stays free. */
SCENARIO(s47_a_limit_that_goes_with_the_commit_of_a_call)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"*\"}],\"concurrency\":1}"))
        return;
    int done = 0;
    pawl_error err;
    struct held g = {0};
    expect_is(pawl_client_submit(s->c, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = "l"),
                                 on_done, &done, &err),
              PAWL_OK);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Plain",
                                              .instance = "same", .data = pawl_s("x")),
                                 on_done, &done, &err),
              PAWL_OK);
    scene_settle(s);
    expect_is(done, 2);
    expect_is(poll_all(s, &g, 60000), 1);
    complete(s, &g, 0);
    scene_expect_empty(s);
}

SCENARIO(s47_limits_are_objects_with_a_revision)
{
    static const char one[] = "{\"match\":[{\"activity\":\"Charge\"}],\"concurrency\":1}";
    if (!limit(s, one))
        return;
    expect_is(s->reply.revision, 1);
    (void)limit(s, one);
    expect_is(s->reply.revision, 2);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_PUT, .name = "l", .data = pawl_s(one),
                                       .if_revision = 1)),
              PAWL_CONFLICT);
    expect_text(s->reply.error.text, "has revision 2, not 1");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_PUT, .name = "l", .data = pawl_s(one),
                                       .if_revision = PAWL_IF_NEW)),
              PAWL_EXISTS);
    scene_crash(s);
    expect_text(look(s, "l"), "\"revision\":2");
    expect_text(look(s, "l"), "\"concurrency\":1");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = "l")), PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = "l")), PAWL_NOT_FOUND);
    expect_text(s->reply.error.text, "there is no limit 'l'");
}

/* ---- Why --------------------------------------------------------------------------------------- */

SCENARIO(s47_a_call_says_which_limit_it_waits_for_and_its_place)
{
    flows(s);
    if (!limit(s, "{\"match\":[{\"activity\":\"Charge\"}],\"by\":\"key\",\"concurrency\":2}"))
        return;
    struct held g = {0};
    calls(s, "Flow", "acme:", 5);
    expect_is(poll_all(s, &g, 60000), 2);
    calls(s, "Flow", "acme:", 1);
    pawl_info info = scene_info(s, s->reply.instance);
    expect_is(info.waiting_count, 1);
    const pawl_waiting *w = &info.waiting[0];
    ck_assert(pawl_str_is(w->limit, "l") && pawl_str_is(w->limit_key, "acme"));
    expect_is(w->limit_in_use, 2);
    expect_is(w->limit_of, 2);
    expect_is(w->limit_before, 3);
}

SCENARIO(s47_a_call_says_when_the_rate_has_room_for_it)
{
    flows(s);
    if (!limit(s, TEN_A_SECOND))
        return;
    struct held g = {0};
    calls(s, "Plain", "p", 5);
    expect_is(poll_all(s, &g, 60000), 3);
    int64_t now = s->now;
    pawl_info info = scene_info(s, s->reply.instance);
    ck_assert(pawl_str_is(info.waiting[0].limit, "l"));
    expect_is(info.waiting[0].limit_before, 1);
    ck_assert_int_ge(info.waiting[0].limit_ms, now + 150);
    ck_assert_int_le(info.waiting[0].limit_ms, now + 200);
    expect_text(look(s, "l"), "\"next_ms\":");
}

/* ---- Bad input ------------------------------------------------------------------------------------ */

#define MATCH "\"match\":[{\"activity\":\"A\"}]"

SCENARIO(s47_bad_limits_are_refused_and_nothing_is_stored)
{
    static const struct {
        const char *json, *says;
    } bad[] = {
        {"",                                                            "a limit must be a JSON object"},
        {"[]",                                                          "a limit must be a JSON object"},
        {"{" MATCH "}",                                                 "limits nothing"               },
        {"{\"concurrency\":1}",                                         "match is missing"             },
        {"{\"match\":[],\"concurrency\":1}",                            "match is missing"             },
        {"{\"match\":{},\"concurrency\":1}",                            "match must be a list"         },
        {"{\"match\":[{}],\"concurrency\":1}",                          "names nothing"                },
        {"{\"match\":[\"A\"],\"concurrency\":1}",                       "must be a JSON object"        },
        {"{\"match\":[{\"activity\":\"\"}],\"concurrency\":1}",         "activity of a match"          },
        {"{\"match\":[{\"activity\":\"A*B\"}],\"concurrency\":1}",      "may only be its last"         },
        {"{\"match\":[{\"activity\":\"a/b\"}],\"concurrency\":1}",      "has a '/'"                    },
        {"{\"match\":[{\"activty\":\"A\"}],\"concurrency\":1}",         "did you mean 'activity'?"     },
        {"{" MATCH ",\"concurrency\":0}",                               "from 1 to 1000000"            },
        {"{" MATCH ",\"concurrency\":1000001}",                         "from 1 to 1000000"            },
        {"{" MATCH ",\"concurrency\":\"5\"}",                           "concurrency must be a whole"  },
        {"{" MATCH ",\"concurrency\":1,\"by\":\"tenant\"}",             "one of all, key, first"       },
        {"{" MATCH ",\"concurency\":1}",                                "did you mean 'concurrency'?"  },
        {"{" MATCH ",\"concurrency\":1,\"concurrency\":2}",             "given twice"                  },
        {"{" MATCH ",\"rate\":{\"count\":0,\"per_ms\":1}}",             "count of rate must be"        },
        {"{" MATCH ",\"rate\":{\"count\":1}}",                          "rate needs count and per_ms"  },
        {"{" MATCH ",\"rate\":{\"count\":1,\"per_ms\":0}}",             "per_ms of rate must be"       },
        {"{" MATCH ",\"rate\":{\"count\":1,\"per_ms\":31622400001}}",   "to 31622400000"               },
        {"{" MATCH ",\"rate\":{\"count\":1,\"per_ms\":1,\"burst\":0}}", "burst of rate"                },
        {"{" MATCH ",\"rate\":100}",                                    "rate must be a JSON object"   },
        {"{" MATCH ",\"weights\":{\"a\":0}}",                           "weight of 'a'"                },
        {"{" MATCH ",\"weights\":{\"a\":1001}}",                        "from 1 to 1000"               },
        {"{" MATCH ",\"weights\":{\"\":1}}",                            "key is empty"                 },
        {"{" MATCH ",\"weights\":[1]}",                                 "weights must be an object"    },
    };
    pawl_str list;
    pawl_error err;
    if (s->kind == SCENE_JSONL)
        return;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_is(put(s, "l", bad[i].json), PAWL_INVALID);
        expect_text(s->reply.error.text, bad[i].says);
    }
    char name[PAWL_LIMIT_NAME_MAX + 2];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    expect_is(put(s, name, "{" MATCH ",\"concurrency\":1}"), PAWL_LIMIT);
    expect_is(put(s, "a/b", "{" MATCH ",\"concurrency\":1}"), PAWL_INVALID);
    expect_is(pawl_limit_list(s->c, NULL, NULL, 0, s->mem, &list, &err), PAWL_OK);
    ck_assert_str_eq(list.ptr, "[]");
    expect_is(put(s, name + 1, "{" MATCH ",\"concurrency\":1000000}"), PAWL_OK);
    expect_is(put(s, "m",
                  "{" MATCH ",\"rate\":{\"count\":1000000,\"per_ms\":31622400000,"
                  "\"burst\":1000000},\"weights\":{\"a\":1000,\"b\":1}}"),
              PAWL_OK);
    expect_text(look(s, "m"), "\"weights\":{\"a\":1000,\"b\":1}");
}

SCENARIO(s47_sixteen_matches_and_a_thousand_limits)
{
    if (s->kind == SCENE_JSONL || s->kind == SCENE_HOSTILE)
        return;
    pawl_limit_match match[17];
    pawl_error err;
    char name[20];
    for (int i = 0; i < 17; i++)
        match[i].activity = "A";
    scene_threads(s); /* the blocking form waits for the engine's thread */
    scene_up(s);
    expect_is(pawl_limit_put(
                  s->c,
                  PAWL_LIMIT_SPEC(.name = "x", .match = match, .match_count = 17, .concurrency = 1),
                  0, &err),
              PAWL_INVALID);
    for (int i = 0; i < PAWL_LIMITS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "l%d", i);
        expect_is(pawl_limit_put(s->c,
                                 PAWL_LIMIT_SPEC(.name = name, .match = match, .match_count = 16,
                                                 .concurrency = 1),
                                 0, &err),
                  PAWL_OK);
    }
    pawl_limit_match one = {"A"};
    const pawl_limit *more =
        PAWL_LIMIT_SPEC(.name = "x", .match = &one, .match_count = 1, .concurrency = 1);
    expect_is(pawl_limit_put(s->c, more, 0, &err), PAWL_LIMIT);
    expect_text(err.text, "there are 1000 limits already");
    expect_is(pawl_limit_remove(s->c, "l7", &err), PAWL_OK);
    expect_is(pawl_limit_put(s->c, more, 0, &err), PAWL_OK);
}
