/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_plain.c -- the exported names without _sized, which other languages may call: each
 * does what the inline function of its name does, and gives its status.
 */
#define PAWL_PLAIN 1
#include "../harness.h"

#include "base/clock.h"
#include "pawl.h"
#include "pawl/turns.h"
#include "pawl/worker.h"

#include <stdio.h>

static pawl_app *app;
static pawl_runtime *rt;
static pawl_client *c;
static pawl_mem *mem;
static pawl_error err;

static pawl_result calls(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Away", input);
}

static void open_world(void)
{
    app = pawl_app_new();
    mem = pawl_mem_new();
    pawl_register_orchestration(app, "Calls", "1.0.0", calls);
    rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
    ck_assert_msg(rt, "%s", err.text);
    c = pawl_runtime_client(rt);
}

static void close_world(void)
{
    pawl_runtime_close(rt);
    pawl_app_free(app);
    pawl_mem_free(mem);
}

#define IS(call, status) ck_assert_msg((call) == (status), "%s", #call)

struct told {
    pawl_status status;
    char token[64];
};

static void on_worker(void *arg, const pawl_worker_reply *reply)
{
    struct told *t = arg;
    t->status = reply->status;
    if (reply->count)
        (void)snprintf(t->token, sizeof(t->token), "%s", reply->leases[0].token.ptr);
}

static void on_queue(void *arg, const pawl_queue_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

static void on_reply(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

static pawl_status wait_for(pawl_status *status)
{
    while (*status == PAWL_BUSY)
        ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
    return *status;
}

TEST(plain_calls_of_clients)
{
    pawl_reply reply;
    pawl_info info;
    pawl_page page;
    pawl_history history;
    pawl_status got = PAWL_BUSY;
    open_world();
    IS(pawl_client_start(c, "", pawl_s(""), NULL, &reply), PAWL_INVALID);
    IS(pawl_client_start(c, "Calls", pawl_s(""), PAWL_START_OPTS(.instance = "i"), &reply),
       PAWL_OK);
    IS(pawl_client_get(c, "none", 0, mem, &info, &err), PAWL_NOT_FOUND);
    IS(pawl_client_get(c, "i", 0, mem, &info, &err), PAWL_OK);
    ck_assert(pawl_str_is(info.instance, "i"));
    IS(pawl_client_wait(c, "none", 0, 0, mem, &info, &err), PAWL_NOT_FOUND);
    IS(pawl_client_wait(c, "i", 0, 0, mem, &info, &err), PAWL_TIMEOUT);
    IS(pawl_client_list(c, PAWL_FILTER(.limit = 2000), mem, &page, &err), PAWL_LIMIT);
    IS(pawl_client_list(c, NULL, mem, &page, &err), PAWL_OK);
    ck_assert_uint_eq(page.count, 1);
    IS(pawl_client_history(c, "none", 0, 0, 0, mem, &history, &err), PAWL_NOT_FOUND);
    IS(pawl_client_history(c, "i", 0, 0, 0, mem, &history, &err), PAWL_OK);
    IS(pawl_client_submit(c, PAWL_REQUEST(.op = PAWL_OP_CANCEL), NULL, NULL, &err), PAWL_INVALID);
    IS(pawl_client_submit(c, PAWL_REQUEST(.op = PAWL_OP_TERMINATE, .instance = "i"), on_reply, &got,
                          &err),
       PAWL_OK);
    ck_assert_int_eq(wait_for(&got), PAWL_OK);
    IS(pawl_client_call(c, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = "none"), &reply),
       PAWL_NOT_FOUND);
    IS(pawl_client_remove(c, "none", false, &reply), PAWL_NOT_FOUND);
    IS(pawl_client_remove(c, "i", false, &reply), PAWL_OK);
    IS(pawl_client_prune(c, 1, 0, &reply), PAWL_OK);
    close_world();
}

/* A refusal commits nothing: who steps the engine is answered all the same without waiting. */
TEST(refusals_come_at_once_to_who_steps)
{
    open_world();
    int64_t began = clock_mono_ms();
    for (int i = 0; i < 10; i++)
        IS(pawl_client_cancel(c, "none", NULL, &err), PAWL_NOT_FOUND);
    ck_assert_int_lt(clock_mono_ms() - began, 5000);
    close_world();
}

TEST(plain_calls_of_workers)
{
    static const char *const names[] = {"Away"};
    struct told t = {PAWL_BUSY, ""};
    pawl_worker_page page;
    pawl_reply reply;
    open_world();
    IS(pawl_client_start(c, "Calls", pawl_s(""), NULL, &reply), PAWL_OK);
    IS(pawl_worker_poll(c, PAWL_POLL(.activity_count = 0), on_worker, &t, &err), PAWL_INVALID);
    while (!t.token[0]) {
        t.status = PAWL_BUSY;
        IS(pawl_worker_poll(c, PAWL_POLL(.activities = names, .activity_count = 1, .worker = "w"),
                            on_worker, &t, &err),
           PAWL_OK);
        ck_assert_int_eq(wait_for(&t.status), PAWL_OK);
    }
    IS(pawl_worker_list(c, mem, &page, &err), PAWL_OK);
    ck_assert_uint_eq(page.count, 1);
    IS(pawl_worker_list(c, mem, NULL, &err), PAWL_MISUSE);
    t.status = PAWL_BUSY;
    IS(pawl_worker_extend(NULL, t.token, 1000, on_worker, &t, &err), PAWL_MISUSE);
    IS(pawl_worker_extend(c, t.token, 1000, on_worker, &t, &err), PAWL_OK);
    ck_assert_int_eq(wait_for(&t.status), PAWL_OK);
    t.status = PAWL_BUSY;
    IS(pawl_worker_beat(NULL, t.token, 1000, pawl_s("half"), on_worker, &t, &err), PAWL_MISUSE);
    IS(pawl_worker_beat(c, t.token, 1000, pawl_s("half"), on_worker, &t, &err), PAWL_OK);
    ck_assert_int_eq(wait_for(&t.status), PAWL_OK);
    t.status = PAWL_BUSY;
    IS(pawl_worker_abandon(NULL, t.token, 0, on_worker, &t, &err), PAWL_MISUSE);
    IS(pawl_worker_abandon(c, t.token, 0, on_worker, &t, &err), PAWL_OK);
    ck_assert_int_eq(wait_for(&t.status), PAWL_OK);
    close_world();
}

TEST(plain_calls_of_queues)
{
    pawl_status got = PAWL_BUSY;
    pawl_queue_message m;
    pawl_queue_messages messages;
    pawl_queue_stats stats;
    pawl_queue_config config = pawl_queue_config_default();
    pawl_queue_page page;
    pawl_queue_locks locks;
    pawl_queue_reply reply;
    open_world();
    ck_assert_int_eq(config.default_ttl_ms, 30000);
    IS(pawl_client_push(c, "..", pawl_s("1"), NULL, NULL, &err), PAWL_INVALID);
    IS(pawl_client_push(c, "q", pawl_s("1"), NULL, NULL, &err), PAWL_OK);
    IS(pawl_client_pop(c, "..", 0, mem, &m, &err), PAWL_INVALID);
    IS(pawl_client_pop(c, "q", 0, mem, &m, &err), PAWL_OK);
    IS(pawl_client_push(c, "q", pawl_s("1"), NULL, NULL, &err), PAWL_OK);
    IS(pawl_client_pop_locked(c, "..", 0, 0, mem, &m, &err), PAWL_INVALID);
    IS(pawl_client_pop_locked(c, "q", 0, 0, mem, &m, &err), PAWL_OK);
    IS(pawl_queue_get_message(c, "..", 1, mem, &m, &err), PAWL_INVALID);
    IS(pawl_queue_get_message(c, "q", m.id, mem, &m, &err), PAWL_OK);
    IS(pawl_queue_browse_messages(c, "..", NULL, mem, &messages, &err), PAWL_INVALID);
    IS(pawl_queue_browse_messages(c, "q", NULL, mem, &messages, &err), PAWL_OK);
    IS(pawl_queue_get_locks(c, "..", mem, &locks, &err), PAWL_INVALID);
    IS(pawl_queue_get_locks(c, "q", mem, &locks, &err), PAWL_OK);
    ck_assert_uint_eq(locks.count, 1);
    IS(pawl_queue_get_stats(c, "..", mem, &stats, &err), PAWL_INVALID);
    IS(pawl_queue_get_stats(c, "q", mem, &stats, &err), PAWL_OK);
    IS(pawl_queue_get_config(c, "..", mem, &config, &err), PAWL_INVALID);
    IS(pawl_queue_get_config(c, "q", mem, &config, &err), PAWL_OK);
    IS(pawl_queue_list(c, NULL, NULL, 0, mem, &page, &err), PAWL_OK);
    ck_assert_uint_eq(page.count, 1);
    IS(pawl_queue_submit(c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = ".."), NULL, NULL,
                         &err),
       PAWL_INVALID);
    IS(pawl_queue_submit(c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = "q"), on_queue,
                         &got, &err),
       PAWL_OK);
    ck_assert_int_eq(wait_for(&got), PAWL_OK);
    IS(pawl_queue_call(c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PAUSE, .queue = ".."), mem, &reply),
       PAWL_INVALID);
    IS(pawl_queue_call(c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_RESUME, .queue = "q"), mem, &reply),
       PAWL_OK);
    close_world();
}

/* ---- Schedules -------------------------------------------------------------------------- */

static pawl_str member(pawl_str json, const char *path)
{
    return pawl_json_text(mem, json, path, "");
}

TEST(plain_calls_of_schedules)
{
    pawl_str got = {0};
    open_world();
    const pawl_schedule *daily =
        PAWL_SCHEDULE(.name = "daily", .every_ms = PAWL_DAYS(1), .orchestration = "Calls");
    IS(pawl_schedule_put(c, PAWL_SCHEDULE(.name = "x", .orchestration = "Calls"), 0, &err),
       PAWL_INVALID);
    ck_assert_int_eq(err.status, PAWL_INVALID);
    ck_assert(err.text[0]);
    IS(pawl_schedule_put(c, daily, PAWL_IF_NEW, &err), PAWL_OK);
    IS(pawl_schedule_put(c, daily, PAWL_IF_NEW, NULL), PAWL_EXISTS);
    IS(pawl_schedule_put(c, daily, 99, &err), PAWL_CONFLICT);
    ck_assert_int_eq(err.status, PAWL_CONFLICT);
    IS(pawl_schedule_get(c, "daily", mem, &got, &err), PAWL_OK);
    ck_assert(pawl_str_is(member(got, "/name"), "daily"));
    ck_assert(pawl_str_is(member(got, "/spec/orchestration"), "Calls"));
    int64_t revision = pawl_json_int(got, "/revision", 0);
    ck_assert_int_gt(revision, 0);
    ck_assert_int_eq(pawl_json_int(got, "/next_ms", 0) % PAWL_DAYS(1), 0);
    IS(pawl_schedule_put(c, daily, (uint64_t)revision, &err), PAWL_OK);
    IS(pawl_schedule_pause(c, "daily", "holidays", &err), PAWL_OK);
    IS(pawl_schedule_get(c, "daily", mem, &got, NULL), PAWL_OK);
    ck_assert(pawl_json_bool(got, "/paused", false));
    ck_assert(pawl_str_is(member(got, "/reason"), "holidays"));
    IS(pawl_schedule_resume(c, "daily", &err), PAWL_OK);
    IS(pawl_schedule_get(c, "daily", mem, &got, &err), PAWL_OK);
    ck_assert(!pawl_json_bool(got, "/paused", false));
    IS(pawl_schedule_trigger(c, "daily", "k", &err), PAWL_OK);
    IS(pawl_schedule_trigger(c, "daily", "k", &err), PAWL_OK);
    for (int i = 0; i < 20; i++)
        ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
    pawl_info info;
    IS(pawl_client_get(c, "daily@manual-k", 0, mem, &info, &err), PAWL_OK);
    IS(pawl_schedule_remove(c, "daily", &err), PAWL_OK);
    IS(pawl_schedule_get(c, "daily", mem, &got, &err), PAWL_NOT_FOUND);
    ck_assert_str_eq(err.text, "there is no schedule 'daily'");
    close_world();
}

TEST(plain_backfills_of_schedules)
{
    pawl_str got = {0};
    pawl_info info;
    open_world();
    const pawl_schedule *daily =
        PAWL_SCHEDULE(.name = "s", .every_ms = PAWL_DAYS(1), .orchestration = "Calls");
    IS(pawl_schedule_put(c, daily, 0, &err), PAWL_OK);
    IS(pawl_schedule_backfill(c, "s", 0, PAWL_DAYS(2), true,
                              PAWL_SCHEDULE(.every_ms = PAWL_DAYS(1), .offset_ms = PAWL_DAYS(2)),
                              &err),
       PAWL_INVALID);
    ck_assert_int_eq(err.status, PAWL_INVALID);
    IS(pawl_schedule_backfill(c, "none", PAWL_DAYS(1), PAWL_DAYS(2), true, NULL, NULL),
       PAWL_NOT_FOUND);
    /* Three days, all at once, at noon; then one of them again, which exists. */
    IS(pawl_schedule_backfill(c, "s", PAWL_DAYS(1), PAWL_DAYS(4), true,
                              PAWL_SCHEDULE(.every_ms = PAWL_DAYS(1), .offset_ms = PAWL_HOURS(12)),
                              &err),
       PAWL_OK);
    for (int i = 0; i < 40; i++)
        ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
    IS(pawl_client_get(c, "s@1970-01-02T12:00:00Z", 0, mem, &info, &err), PAWL_OK);
    IS(pawl_client_get(c, "s@1970-01-04T12:00:00Z", 0, mem, &info, &err), PAWL_OK);
    IS(pawl_client_get(c, "s@1970-01-05T12:00:00Z", 0, mem, &info, &err), PAWL_NOT_FOUND);
    IS(pawl_schedule_get(c, "s", mem, &got, &err), PAWL_OK);
    ck_assert_int_eq(pawl_json_int(got, "/backfill/started", 0), 3);
    ck_assert(pawl_json_bool(got, "/backfill/allow", false));
    /* One after the other: the second waits for the end of the first. */
    IS(pawl_schedule_backfill(c, "s", PAWL_DAYS(10), PAWL_DAYS(12), false, NULL, &err), PAWL_OK);
    for (int i = 0; i < 40; i++)
        ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
    IS(pawl_client_get(c, "s@1970-01-11T00:00:00Z", 0, mem, &info, &err), PAWL_OK);
    IS(pawl_client_get(c, "s@1970-01-12T00:00:00Z", 0, mem, &info, &err), PAWL_NOT_FOUND);
    close_world();
}

static void on_turns(void *arg, const pawl_turns_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

TEST(turns)
{
    const pawl_turn_code code = {pawl_s("Elsewhere"), pawl_s("1.0.0")};
    pawl_turns q = {.protocol = PAWL_TURNS_PROTOCOL, .session = pawl_s("0123456789abcdef")};
    pawl_status told = PAWL_MISUSE;
    open_world();
    IS(pawl_turns_exchange(c, NULL, on_turns, &told, &err), PAWL_MISUSE);
    q.code = &code;
    q.code_count = 1;
    q.has_code = true;
    IS(pawl_turns_exchange(c, &q, on_turns, &told, &err), PAWL_OK);
    while (pawl_runtime_step(rt, 0) > 0)
        ;
    ck_assert_int_eq(told, PAWL_OK);
    close_world();
}

TEST(plain_lists_of_schedules)
{
    pawl_str got = {0};
    open_world();
    for (int i = 0; i < 5; i++) {
        char name[] = "a0";
        name[1] = (char)('0' + i);
        IS(pawl_schedule_put(
               c, PAWL_SCHEDULE(.name = name, .every_ms = 60000, .orchestration = "Calls"), 0,
               &err),
           PAWL_OK);
    }
    IS(pawl_schedule_put(c, PAWL_SCHEDULE(.name = "b", .every_ms = 60000, .queue = "q"), 0, &err),
       PAWL_OK);
    IS(pawl_schedule_list(c, NULL, NULL, 0, mem, &got, &err), PAWL_OK);
    ck_assert(pawl_str_is(member(got, "/0/name"), "a0"));
    ck_assert(pawl_str_is(member(got, "/5/name"), "b"));
    ck_assert_uint_eq(pawl_json_get(got, "/6").len, 0);
    IS(pawl_schedule_list(c, "a", "a1", 2, mem, &got, NULL), PAWL_OK);
    ck_assert(pawl_str_is(member(got, "/0/name"), "a2"));
    ck_assert(pawl_str_is(member(got, "/1/name"), "a3"));
    ck_assert_uint_eq(pawl_json_get(got, "/2").len, 0);
    IS(pawl_schedule_list(c, NULL, NULL, 1001, mem, &got, &err), PAWL_INVALID);
    ck_assert_str_eq(err.text, "limit is 1001; give 1 to 1000");
    IS(pawl_schedule_list(c, NULL, NULL, 1000, mem, &got, &err), PAWL_OK);
    IS(pawl_schedule_get(c, "a/b", mem, &got, NULL), PAWL_INVALID);
    close_world();
}
