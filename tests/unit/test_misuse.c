/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_misuse.c -- every public call with nothing where something is needed, with
 * lengths without bytes, and with options of another size.
 *
 * Each try runs in a child.  What has a status answers PAWL_MISUSE (or INVALID for a name); what has
 * none stops with a line that names the call; nothing ends with SIGSEGV.  The last test looks
 * through include/pawl for calls that nobody tries here.
 */
#include "child.h"

#include "base/attr.h"
#include "pawl.h"
#include "pawl/backup.h"
#include "pawl/event.h"
#include "pawl/limit.h"
#include "pawl/postgres.h"
#include "pawl/provider.h"
#include "pawl/queue.h"
#include "pawl/replay.h"
#include "pawl/schedule.h"
#include "pawl/server.h"
#include "pawl/sim.h"
#include "pawl/sqlite.h"
#include "pawl/test.h"
#include "pawl/turns.h"
#include "pawl/worker.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static const pawl_str odd = {NULL, 5}, some = {"1", 1};

/* ---- A world of its own in each child ------------------------------------------------- */

static pawl_app *app;
static pawl_runtime *rt;
static pawl_client *c;
static pawl_mem *mem;
static pawl_error err;

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

static pawl_result act(pawl_activity *a, pawl_str input)
{
    return pawl_ok_str(a, input);
}

static void open_world(void)
{
    app = pawl_app_new();
    mem = pawl_mem_new();
    ck_assert_int_eq(pawl_register_orchestration(app, "Flow", NULL, flow), PAWL_OK);
    ck_assert_int_eq(pawl_register_activity(app, "Act", act), PAWL_OK);
    rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
    ck_assert(rt);
    c = pawl_runtime_client(rt);
}

#define SAYS(status, call)                                                                         \
    do {                                                                                           \
        int got_ = (int)(call);                                                                    \
        if (got_ != (int)(status)) {                                                               \
            (void)fprintf(stderr, "%s is %d, want %s\n", #call, got_, #status);                    \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define MISUSE(call)  SAYS(PAWL_MISUSE, call)
#define INVALID(call) SAYS(PAWL_INVALID, call)
#define FINE(call)    SAYS(PAWL_OK, call)

/* ---- Calls with a status ---------------------------------------------------------------- */

static void nothing_done(void *arg, const pawl_reply *r)
{
    (void)arg, (void)r;
}

static void try_stored_schedules(void *arg)
{
    (void)arg;
    pawl_schedule s = {.size = sizeof(s), .name = "n", .every_ms = 60000, .orchestration = "Flow"};
    pawl_str json;
    open_world();
    MISUSE(pawl_schedule_put(NULL, &s, 0, &err));
    MISUSE(pawl_schedule_put(c, NULL, 0, NULL));
    MISUSE(pawl_schedule_remove(NULL, "n", &err));
    INVALID(pawl_schedule_remove(c, NULL, NULL));
    MISUSE(pawl_schedule_pause(NULL, "n", NULL, &err));
    INVALID(pawl_schedule_pause(c, NULL, NULL, NULL));
    MISUSE(pawl_schedule_resume(NULL, "n", &err));
    INVALID(pawl_schedule_resume(c, NULL, NULL));
    MISUSE(pawl_schedule_trigger(NULL, "n", NULL, &err));
    INVALID(pawl_schedule_trigger(c, "n", "", NULL));
    MISUSE(pawl_schedule_backfill(NULL, "n", 0, 1, false, NULL, &err));
    INVALID(pawl_schedule_backfill(c, "n", 1, 0, false, NULL, NULL));
    MISUSE(pawl_schedule_get(NULL, "n", mem, &json, &err));
    MISUSE(pawl_schedule_get(c, "n", NULL, &json, NULL));
    INVALID(pawl_schedule_get(c, NULL, mem, &json, NULL));
    MISUSE(pawl_schedule_list(NULL, NULL, NULL, 0, mem, &json, &err));
    MISUSE(pawl_schedule_list(c, NULL, NULL, 0, mem, NULL, NULL));
    INVALID(pawl_schedule_list(c, NULL, NULL, 1001, mem, &json, NULL));
}

static void try_limits(void *arg)
{
    (void)arg;
    pawl_limit_match one = {"A"};
    pawl_limit l = {
        .size = sizeof(l), .name = "n", .match = &one, .match_count = 1, .concurrency = 1};
    pawl_limit no_match = {.size = sizeof(l), .name = "n", .match_count = 1, .concurrency = 1};
    pawl_limit no_weights = l;
    pawl_str json;
    no_weights.weight_count = 1;
    open_world();
    MISUSE(pawl_limit_put(NULL, &l, 0, &err));
    MISUSE(pawl_limit_put(c, NULL, 0, NULL));
    MISUSE(pawl_limit_put(c, &no_match, 0, &err));
    MISUSE(pawl_limit_put(c, &no_weights, 0, &err));
    MISUSE(pawl_limit_to_json(NULL, mem, &json, &err));
    MISUSE(pawl_limit_to_json(&l, NULL, &json, NULL));
    MISUSE(pawl_limit_to_json(&l, mem, NULL, NULL));
    MISUSE(pawl_limit_remove(NULL, "n", &err));
    INVALID(pawl_limit_remove(c, NULL, NULL));
    MISUSE(pawl_limit_get(NULL, "n", mem, &json, &err));
    MISUSE(pawl_limit_get(c, "n", NULL, &json, NULL));
    INVALID(pawl_limit_get(c, NULL, mem, &json, NULL));
    MISUSE(pawl_limit_list(NULL, NULL, NULL, 0, mem, &json, &err));
    MISUSE(pawl_limit_list(c, NULL, NULL, 0, mem, NULL, NULL));
    INVALID(pawl_limit_list(c, NULL, NULL, 1001, mem, &json, NULL));
}

static void nothing_polled(void *arg, const pawl_worker_reply *r)
{
    (void)arg, (void)r;
}

static void nothing_moved(void *arg, const pawl_queue_reply *r)
{
    (void)arg, (void)r;
}

static void a_retry(void *arg, const pawl_retry *retry)
{
    (void)arg, (void)retry;
    abort();
}

static void a_value(void *arg, pawl_str key, pawl_str value, uint64_t version, int64_t updated_ms)
{
    (void)arg, (void)key, (void)value, (void)version, (void)updated_ms;
}

static void try_writes(void *arg)
{
    (void)arg;
    pawl_reply r;
    open_world();
    MISUSE(pawl_client_start(NULL, "Flow", some, NULL, &r));
    MISUSE(pawl_client_start(NULL, "Flow", some, NULL, NULL));
    MISUSE(pawl_client_start(c, "Flow", odd, NULL, &r));
    INVALID(pawl_client_start(c, NULL, some, NULL, &r));
    FINE(pawl_client_start(c, "Flow", some, NULL, NULL));
    MISUSE(pawl_client_raise(NULL, "i", "E", some, NULL, &err));
    MISUSE(pawl_client_raise(c, "i", "E", odd, NULL, NULL));
    INVALID(pawl_client_raise(c, NULL, "E", some, NULL, NULL));
    INVALID(pawl_client_raise(c, "i", NULL, some, NULL, NULL));
    pawl_str asks;
    MISUSE(pawl_client_count(NULL, NULL, "status", mem, &asks, &err));
    MISUSE(pawl_client_count(c, NULL, "status", NULL, &asks, NULL));
    MISUSE(pawl_client_count(c, NULL, "status", mem, NULL, &err));
    MISUSE(pawl_client_asks(NULL, NULL, mem, &asks, &err));
    MISUSE(pawl_client_asks(c, NULL, NULL, &asks, NULL));
    MISUSE(pawl_client_asks(c, NULL, mem, NULL, &err));
    MISUSE(pawl_client_set_attributes(NULL, "i", some, &err));
    MISUSE(pawl_client_set_attributes(c, "i", odd, NULL));
    INVALID(pawl_client_set_attributes(c, NULL, pawl_s("{}"), &err));
    INVALID(pawl_client_set_attributes(c, "i", pawl_s("[1]"), NULL));
    pawl_result answer;
    MISUSE(pawl_client_update(NULL, "i", "u", some, NULL, 0, mem, &answer, &err));
    MISUSE(pawl_client_update(c, "i", "u", odd, NULL, 0, mem, &answer, NULL));
    MISUSE(pawl_client_update(c, "i", "u", some, NULL, 0, NULL, &answer, &err));
    MISUSE(pawl_client_update(c, "i", "u", some, NULL, 0, mem, NULL, NULL));
    INVALID(pawl_client_update(c, NULL, "u", some, NULL, 0, mem, &answer, &err));
    INVALID(pawl_client_update(c, "i", NULL, some, NULL, 0, mem, &answer, NULL));
    MISUSE(pawl_client_update_result(NULL, "i", "u", NULL, 0, mem, &answer, &err));
    MISUSE(pawl_client_update_result(c, "i", "u", NULL, 0, NULL, &answer, NULL));
    MISUSE(pawl_client_update_result(c, "i", "u", NULL, 0, mem, NULL, &err));
    INVALID(pawl_client_update_result(c, NULL, "u", NULL, 0, mem, &answer, &err));
    MISUSE(pawl_client_update_result(c, "i", NULL, NULL, 0, mem, &answer, NULL));
    MISUSE(pawl_client_cancel(NULL, "i", NULL, &err));
    INVALID(pawl_client_cancel(c, NULL, NULL, NULL));
    MISUSE(pawl_client_terminate(NULL, "i", NULL, &err));
    INVALID(pawl_client_terminate(c, NULL, NULL, NULL));
    MISUSE(pawl_client_suspend(NULL, "i", NULL, &err));
    INVALID(pawl_client_suspend(c, NULL, NULL, NULL));
    MISUSE(pawl_client_resume(NULL, "i", NULL, &err));
    INVALID(pawl_client_resume(c, NULL, NULL, NULL));
    MISUSE(pawl_client_retry(NULL, "i", &err));
    INVALID(pawl_client_retry(c, NULL, NULL));
    MISUSE(pawl_client_remove(NULL, "i", false, &r));
    INVALID(pawl_client_remove(c, NULL, false, NULL));
    MISUSE(pawl_client_prune(NULL, 0, 0, &r));
    FINE(pawl_client_prune(c, 0, 0, NULL));
    MISUSE(pawl_client_complete(NULL, "w1", (pawl_result){.ok = true}, &err));
    MISUSE(pawl_client_complete(c, "w1", (pawl_result){.ok = true, .value = odd}, NULL));
    SAYS(PAWL_LOST, pawl_client_complete(c, NULL, (pawl_result){.ok = true}, NULL));
    MISUSE(pawl_client_heartbeat(NULL, "w1", &err));
    SAYS(PAWL_LOST, pawl_client_heartbeat(c, NULL, NULL));
    MISUSE(pawl_client_call(NULL, PAWL_REQUEST(.op = PAWL_OP_PRUNE), &r));
    MISUSE(pawl_client_call(c, NULL, NULL));
    MISUSE(pawl_client_call(c, PAWL_REQUEST(.op = (pawl_op)99), &r));
    FINE(pawl_client_call(c, PAWL_REQUEST(.op = PAWL_OP_PRUNE), NULL));
    MISUSE(pawl_client_submit(NULL, PAWL_REQUEST(.op = PAWL_OP_PRUNE), nothing_done, NULL, &err));
    MISUSE(pawl_client_submit(c, NULL, nothing_done, NULL, NULL));
    MISUSE(pawl_client_submit(c, PAWL_REQUEST(.op = (pawl_op)99), nothing_done, NULL, &err));
    FINE(pawl_client_submit(c, PAWL_REQUEST(.op = PAWL_OP_PRUNE), NULL, NULL, NULL));
    while (pawl_runtime_step(rt, 0) > 0)
        ;
}

static void try_reads(void *arg)
{
    (void)arg;
    pawl_info info;
    pawl_page page;
    pawl_state state;
    pawl_history history;
    open_world();
    MISUSE(pawl_client_get(NULL, "i", 0, mem, &info, &err));
    MISUSE(pawl_client_get(c, "i", 0, NULL, &info, NULL));
    MISUSE(pawl_client_get(c, "i", 0, mem, NULL, &err));
    INVALID(pawl_client_get(c, NULL, 0, mem, &info, NULL));
    MISUSE(pawl_client_state(NULL, "i", mem, &state, &err));
    MISUSE(pawl_client_state(c, "i", NULL, &state, &err));
    MISUSE(pawl_client_state(c, "i", mem, NULL, NULL));
    INVALID(pawl_client_state(c, NULL, mem, &state, NULL));
    pawl_client_retries(NULL, a_retry, NULL); /* they have nothing to tell */
    pawl_client_retries(c, NULL, NULL);
    MISUSE(pawl_client_published(NULL, "i", NULL, a_value, NULL, &err));
    MISUSE(pawl_client_published(c, "i", NULL, NULL, NULL, NULL));
    INVALID(pawl_client_published(c, NULL, NULL, a_value, NULL, NULL));
    MISUSE(pawl_client_wait(NULL, "i", 0, 0, mem, &info, &err));
    MISUSE(pawl_client_wait(c, "i", 0, 0, NULL, &info, &err));
    MISUSE(pawl_client_wait(c, "i", 0, 0, mem, NULL, NULL));
    INVALID(pawl_client_wait(c, NULL, 0, 0, mem, &info, NULL));
    MISUSE(pawl_client_list(NULL, NULL, mem, &page, &err));
    MISUSE(pawl_client_list(c, NULL, NULL, &page, &err));
    MISUSE(pawl_client_list(c, NULL, mem, NULL, NULL));
    FINE(pawl_client_list(c, NULL, mem, &page, NULL));
    MISUSE(pawl_client_history(NULL, "i", 0, 0, 0, mem, &history, &err));
    MISUSE(pawl_client_history(c, "i", 0, 0, 0, NULL, &history, &err));
    MISUSE(pawl_client_history(c, "i", 0, 0, 0, mem, NULL, NULL));
    INVALID(pawl_client_history(c, NULL, 0, 0, 0, mem, &history, NULL));
}

static void try_queue_writes(void *arg)
{
    (void)arg;
    pawl_queue_reply r;
    pawl_queue_message m;
    uint64_t id;
    pawl_queue_config config = pawl_queue_config_default();
    open_world();
    MISUSE(pawl_queue_call(NULL, PAWL_QUEUE_REQUEST(.queue = "q"), mem, &r));
    MISUSE(pawl_queue_call(c, NULL, mem, &r));
    MISUSE(pawl_queue_call(c, PAWL_QUEUE_REQUEST(.queue = "q"), NULL, &r));
    MISUSE(pawl_queue_call(c, PAWL_QUEUE_REQUEST(.queue = "q"), mem, NULL));
    MISUSE(pawl_queue_submit(NULL, PAWL_QUEUE_REQUEST(.queue = "q"), nothing_moved, NULL, &err));
    MISUSE(pawl_queue_submit(c, NULL, nothing_moved, NULL, NULL));
    MISUSE(pawl_queue_submit(c, PAWL_QUEUE_REQUEST(.queue = "q", .item_count = 2), nothing_moved,
                             NULL, &err));
    MISUSE(pawl_queue_submit(
        c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_ACK, .queue = "q", .lock_count = 1), nothing_moved,
        NULL, &err));
    MISUSE(pawl_queue_submit(c, PAWL_QUEUE_REQUEST(.op = (pawl_queue_op)99, .queue = "q"),
                             nothing_moved, NULL, &err));
    MISUSE(pawl_queue_submit(c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q"),
                             nothing_moved, NULL, &err));
    config.retry_backoff_count = 3;
    MISUSE(pawl_queue_submit(
        c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &config),
        nothing_moved, NULL, &err));
    config = pawl_queue_config_default();
    config.dead_letter_queue = odd;
    MISUSE(pawl_queue_submit(
        c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &config),
        nothing_moved, NULL, &err));
    MISUSE(pawl_client_push(NULL, "q", some, NULL, &id, &err));
    MISUSE(pawl_client_push(c, "q", odd, NULL, NULL, NULL));
    MISUSE(pawl_client_push(c, "q", some, &(pawl_queue_item){.headers = odd}, NULL, NULL));
    INVALID(pawl_client_push(c, NULL, some, NULL, NULL, NULL));
    FINE(pawl_client_push(c, "q", some, NULL, NULL, NULL));
    MISUSE(pawl_client_pop(NULL, "q", 0, mem, &m, &err));
    MISUSE(pawl_client_pop(c, "q", 0, NULL, &m, &err));
    MISUSE(pawl_client_pop(c, "q", 0, mem, NULL, NULL));
    INVALID(pawl_client_pop(c, NULL, 0, mem, &m, NULL));
    MISUSE(pawl_client_pop_locked(NULL, "q", 0, 0, mem, &m, &err));
    MISUSE(pawl_client_pop_locked(c, "q", 0, 0, NULL, &m, &err));
    MISUSE(pawl_client_pop_locked(c, "q", 0, 0, mem, NULL, NULL));
    FINE(pawl_client_pop_locked(c, "q", 0, 0, mem, &m, NULL)); /* nothing was popped before */
    MISUSE(pawl_client_ack(NULL, "q", "l", &err));
    INVALID(pawl_client_ack(c, "q", NULL, NULL));
}

static void try_queue_reads(void *arg)
{
    (void)arg;
    pawl_queue_stats stats;
    pawl_queue_config config;
    pawl_queue_page page;
    pawl_queue_messages list;
    pawl_queue_message m;
    pawl_queue_locks locks;
    open_world();
    FINE(pawl_client_push(c, "q", some, NULL, NULL, NULL));
    MISUSE(pawl_queue_get_stats(NULL, "q", mem, &stats, &err));
    MISUSE(pawl_queue_get_stats(c, "q", NULL, &stats, &err));
    MISUSE(pawl_queue_get_stats(c, "q", mem, NULL, NULL));
    INVALID(pawl_queue_get_stats(c, NULL, mem, &stats, NULL));
    MISUSE(pawl_queue_get_config(NULL, "q", mem, &config, &err));
    MISUSE(pawl_queue_get_config(c, "q", mem, NULL, NULL));
    INVALID(pawl_queue_get_config(c, NULL, mem, &config, NULL));
    MISUSE(pawl_queue_list(NULL, NULL, NULL, 0, mem, &page, &err));
    MISUSE(pawl_queue_list(c, NULL, NULL, 0, NULL, &page, NULL));
    MISUSE(pawl_queue_list(c, NULL, NULL, 0, mem, NULL, NULL));
    FINE(pawl_queue_list(c, NULL, NULL, 0, mem, &page, NULL));
    MISUSE(pawl_queue_browse_messages(NULL, "q", NULL, mem, &list, &err));
    MISUSE(pawl_queue_browse_messages(c, "q", NULL, mem, NULL, NULL));
    INVALID(pawl_queue_browse_messages(c, NULL, NULL, mem, &list, NULL));
    FINE(pawl_queue_browse_messages(c, "q", NULL, mem, &list, NULL));
    ck_assert_uint_eq(list.count, 1);
    MISUSE(pawl_queue_get_message(NULL, "q", 1, mem, &m, &err));
    MISUSE(pawl_queue_get_message(c, "q", 1, mem, NULL, NULL));
    INVALID(pawl_queue_get_message(c, NULL, 1, mem, &m, NULL));
    MISUSE(pawl_queue_get_locks(NULL, "q", mem, &locks, &err));
    MISUSE(pawl_queue_get_locks(c, "q", mem, NULL, NULL));
    INVALID(pawl_queue_get_locks(c, NULL, mem, &locks, NULL));
}

/* Calls on schedules need no runtime. */
static void try_schedules(void *arg)
{
    (void)arg;
    int64_t next;
    size_t n;
    char local[PAWL_LOCAL_TIME_BYTES];
    pawl_schedule schedule;
    pawl_str text;
    const pawl_schedule *good = PAWL_SCHEDULE(.every_ms = 1000);
    FINE(pawl_schedule_next(good, 0, &next, 1, &n, NULL));
    MISUSE(pawl_schedule_next(NULL, 0, &next, 1, &n, &err));
    MISUSE(pawl_schedule_next(good, 0, NULL, 1, &n, &err));
    MISUSE(pawl_schedule_next(good, 0, &next, 1, NULL, NULL));
    FINE(pawl_local_time(NULL, 0, local, NULL));
    MISUSE(pawl_local_time("UTC", 0, NULL, &err));
    SAYS(PAWL_NOT_FOUND, pawl_local_time("Nowhere/At_All", 0, local, NULL));
    MISUSE(pawl_schedule_from_json(some, NULL, &schedule, &err));
    MISUSE(pawl_schedule_from_json(some, mem, NULL, NULL));
    MISUSE(pawl_schedule_from_json(odd, mem, &schedule, NULL));
    MISUSE(pawl_schedule_from_json_sized(some, mem, &schedule, NULL, 0));
    MISUSE(pawl_schedule_to_json(NULL, mem, &text, &err));
    MISUSE(pawl_schedule_to_json(good, NULL, &text, NULL));
    MISUSE(pawl_schedule_to_json(good, mem, NULL, NULL));
    pawl_where where;
    mem = pawl_mem_new();
    SAYS(true, pawl_where_parse(mem, pawl_s("a=1"), &where, NULL));
    SAYS(false, pawl_where_parse(NULL, pawl_s("a=1"), &where, &err));
    SAYS(PAWL_MISUSE, err.status);
    SAYS(false, pawl_where_parse(mem, pawl_s("a=1"), NULL, NULL));
    SAYS(false, pawl_where_parse(mem, odd, &where, NULL));
    pawl_mem_free(mem);
}

static void nothing_turned(void *arg, const pawl_turns_reply *reply)
{
    (void)arg;
    (void)reply;
}

/* Texts inside a call of a worker that have a length and no bytes. */
static void try_odd_turns(void *arg)
{
    (void)arg;
    pawl_decision d = {.deed = PAWL_DEED_CALL, .ref = 1, .name = pawl_s("A"), .data = odd};
    pawl_turn_step step = {.message = 1, .seq = 1, .decisions = &d, .count = 1};
    pawl_turn_answer a = {
        .token = pawl_s("t"), .form = PAWL_TURN_STEPS, .steps = &step, .step_count = 1};
    pawl_turn_code code = {.name = pawl_s("A"), .version = odd};
    pawl_turns q = {.protocol = PAWL_TURNS_PROTOCOL,
                    .session = pawl_s("0123456789abcdef"),
                    .answers = &a,
                    .answer_count = 1};
    open_world();
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    d = (pawl_decision){.deed = PAWL_DEED_EVENT, .ref = 1, .name = pawl_s("E"), .ask = odd};
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    step = (pawl_turn_step){.seq = 1, .lease = odd};
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    a = (pawl_turn_answer){.token = pawl_s("t"), .form = PAWL_TURN_BUG, .text = odd};
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    q.answer_count = 0;
    q.beats = &odd;
    q.beat_count = 1;
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    q.beat_count = 0;
    MISUSE(pawl_turns_exchange(c, &q, NULL, NULL, &err));
    q.code = &code;
    q.code_count = q.has_code = 1;
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
}

static void try_turns(void *arg)
{
    (void)arg;
    pawl_turns q = {.protocol = PAWL_TURNS_PROTOCOL, .session = pawl_s("0123456789abcdef")};
    const pawl_event *events;
    size_t count;
    uint64_t seq;
    open_world();
    MISUSE(pawl_turns_exchange(NULL, &q, nothing_turned, NULL, &err));
    MISUSE(pawl_turns_exchange(c, NULL, nothing_turned, NULL, NULL));
    q.code_count = 1;
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    q.code_count = 0;
    q.answer_count = 1;
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    q.answer_count = 0;
    q.beat_count = 1;
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    q.beat_count = 0;
    q.forget_count = 1;
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    q.forget_count = 0;
    q.session = (pawl_str){NULL, 16};
    MISUSE(pawl_turns_exchange(c, &q, nothing_turned, NULL, &err));
    MISUSE(pawl_turns_history(NULL, some, 0, mem, &events, &count, &seq, &err));
    MISUSE(pawl_turns_history(c, some, 0, NULL, &events, &count, &seq, &err));
    MISUSE(pawl_turns_history(c, some, 0, mem, NULL, &count, &seq, NULL));
    MISUSE(pawl_turns_history(c, (pawl_str){NULL, 1}, 0, mem, &events, &count, &seq, &err));
}

static void try_workers(void *arg)
{
    (void)arg;
    const char *names[] = {"A", NULL};
    open_world();
    MISUSE(pawl_worker_poll(NULL, PAWL_POLL(.activities = names, .activity_count = 1),
                            nothing_polled, NULL, &err));
    MISUSE(pawl_worker_poll(c, NULL, nothing_polled, NULL, NULL));
    MISUSE(pawl_worker_poll(c, PAWL_POLL(.activity_count = 1), nothing_polled, NULL, &err));
    MISUSE(pawl_worker_poll(c, PAWL_POLL(.activities = names, .activity_count = 1, .tag_count = 1),
                            nothing_polled, NULL, &err));
    INVALID(pawl_worker_poll(c, PAWL_POLL(.activities = names, .activity_count = 2), nothing_polled,
                             NULL, &err));
    pawl_worker_page page;
    MISUSE(pawl_worker_list(NULL, mem, &page, &err));
    MISUSE(pawl_worker_list(c, NULL, &page, &err));
    MISUSE(pawl_worker_list(c, mem, NULL, NULL));
    MISUSE(pawl_worker_extend(NULL, "w", 0, nothing_polled, NULL, &err));
    FINE(pawl_worker_extend(c, NULL, 0, nothing_polled, NULL, NULL));
    MISUSE(pawl_worker_beat(NULL, "w", 0, some, nothing_polled, NULL, &err));
    MISUSE(pawl_worker_beat(c, "w", 0, (pawl_str){NULL, 1}, nothing_polled, NULL, &err));
    FINE(pawl_worker_beat(c, NULL, 0, some, nothing_polled, NULL, NULL));
    MISUSE(pawl_worker_abandon(NULL, "w", 0, nothing_polled, NULL, &err));
    FINE(pawl_worker_abandon(c, NULL, 0, nothing_polled, NULL, NULL));
    while (pawl_runtime_step(rt, 0) > 0)
        ;
}

static void try_apps(void *arg)
{
    (void)arg;
    pawl_replay_report report;
    pawl_sim_report sim;
    pawl_info info = {0};
    open_world();
    MISUSE(pawl_register_orchestration(NULL, "F", NULL, flow));
    MISUSE(pawl_register_orchestration(app, NULL, NULL, flow));
    MISUSE(pawl_register_orchestration_with(app, "F", NULL, NULL, NULL));
    MISUSE(pawl_register_activity(NULL, "F", act));
    MISUSE(pawl_register_activity_with(app, "F", NULL, NULL));
    SAYS(false, pawl_app_has_orchestration(app, NULL, NULL));
    SAYS(false, pawl_app_has_activity(app, NULL));
    SAYS(true, pawl_app_has_code(app));
    MISUSE(pawl_app_load(NULL, "x.so", &err));
    MISUSE(pawl_app_load(app, NULL, NULL));
    SAYS(false, pawl_runtime_open(NULL, NULL, NULL) != NULL);
    MISUSE(pawl_runtime_start(NULL, NULL));
    MISUSE(pawl_replay(NULL, &info, NULL, 0, NULL, &report, &err));
    MISUSE(pawl_replay(app, NULL, NULL, 0, NULL, &report, NULL));
    MISUSE(pawl_replay(app, &info, NULL, 1, NULL, &report, NULL));
    MISUSE(pawl_replay(app, &info, NULL, 0, NULL, NULL, NULL));
    MISUSE(pawl_sim(NULL, PAWL_SIM_OPTS(.orchestration = "Flow"), mem, &sim, &err));
    MISUSE(pawl_sim(app, NULL, mem, &sim, NULL));
    MISUSE(pawl_sim(app, PAWL_SIM_OPTS(.orchestration = "Flow"), NULL, &sim, NULL));
    MISUSE(pawl_sim(app, PAWL_SIM_OPTS(.orchestration = "Flow"), mem, NULL, NULL));
    pawl_replay_site(NULL, NULL, 0);
    pawl_app_free(NULL);
    pawl_runtime_close(NULL);
    pawl_mem_free(NULL);
}

static void try_files(void *arg)
{
    (void)arg;
    pawl_backup_info info;
    const pawl_token_info *tokens;
    size_t n;
    char token[PAWL_TOKEN_BYTES];
    open_world();
    SAYS(false, pawl_sqlite_store(NULL, NULL, &err) != NULL);
    SAYS(PAWL_MISUSE, err.status);
    SAYS(PAWL_OK, pawl_sqlite_check(NULL));
    SAYS(true, strlen(pawl_sqlite_version()) > 0);
    pawl_sqlite_count_no_memory();
    SAYS(false, pawl_jsonl_store(NULL, NULL, &err) != NULL);
    SAYS(PAWL_MISUSE, err.status);
    SAYS(false, pawl_postgres_store(NULL, NULL, &err) != NULL);
    SAYS(PAWL_MISUSE, err.status);
    SAYS(false, pawl_store_open(NULL, NULL, &err) != NULL);
    pawl_str text;
    MISUSE(pawl_postgres_migrate(NULL, &err));
    MISUSE(pawl_postgres_ddl(NULL, mem, &text, &err));
    MISUSE(pawl_postgres_drop(NULL, &err));
    MISUSE(pawl_sqlite_backup(NULL, "x", false, &info, &err));
    MISUSE(pawl_sqlite_backup("x", NULL, false, &info, NULL));
    MISUSE(pawl_sqlite_restore(NULL, "x", &info, &err));
    MISUSE(pawl_sqlite_restore("x", NULL, &info, NULL));
    MISUSE(pawl_token_new(NULL, "read", NULL, NULL, 0, token, &err));
    MISUSE(pawl_token_new("x", "read", NULL, NULL, 0, NULL, NULL));
    MISUSE(pawl_token_list(NULL, mem, &tokens, &n, &err));
    MISUSE(pawl_token_list("x", NULL, &tokens, &n, NULL));
    MISUSE(pawl_token_list("x", mem, NULL, NULL, NULL));
    MISUSE(pawl_token_revoke(NULL, "x", &err));
    MISUSE(pawl_token_revoke("x", NULL, NULL));
    SAYS(false, pawl_server_start(NULL, NULL, &err) != NULL);
    SAYS(PAWL_MISUSE, err.status);
    MISUSE(pawl_server_reload(NULL, &err));
    pawl_server_stop(NULL, 0);
    pawl_server_free(NULL);
}

TEST(calls_with_a_status_answer_misuse)
{
    static void (*const tries[])(void *) = {try_writes,      try_reads,     try_queue_writes,
                                            try_queue_reads, try_schedules, try_stored_schedules,
                                            try_limits,      try_turns,     try_odd_turns,
                                            try_workers,     try_apps,      try_files};
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        struct child_end end;
        run_child(tries[i], NULL, &end);
        ck_assert_msg(end.signal == 0 && end.status == 0, "group %zu: signal %d, status %d: %s", i,
                      end.signal, end.status, end.text);
    }
}

/* ---- Calls without one ---------------------------------------------------------------------- */

/* Values and texts: nothing is as good as empty. */
static void try_values(void *arg)
{
    (void)arg;
    size_t at;
    pawl_json *w;
    open_world();
    SAYS(0, pawl_s(NULL).len);
    SAYS(false, pawl_str_eq(odd, (pawl_str){"12345", 5}));
    SAYS(false, pawl_str_is(odd, "12345"));
    SAYS(true, pawl_str_is((pawl_str){0}, NULL));
    SAYS(pawl_shard_of((pawl_str){0}), pawl_shard_of(odd));
    SAYS(pawl_shard_of((pawl_str){0}), pawl_shard_of_queue(odd));
    SAYS(0, pawl_event_kind_of(odd));
    SAYS(false, pawl_json_valid(odd, &at));
    SAYS(false, pawl_json_valid(odd, NULL));
    SAYS(0, pawl_json_get(odd, "/a").len);
    SAYS(0, pawl_json_get(some, NULL).len);
    SAYS(0, pawl_json_text(mem, odd, "/a", NULL).len);
    SAYS(7, pawl_json_int(odd, NULL, 7));
    SAYS(1, pawl_json_number(odd, "", 1.0) == 1.0);
    SAYS(true, pawl_json_bool(odd, "", true));
    SAYS(-1, pawl_json_count(odd, ""));
    pawl_json_iter it = pawl_json_each(odd, NULL);
    SAYS(false, pawl_json_next(&it));
    w = pawl_json_new(mem);
    pawl_json_str(w, odd);
    SAYS(0, pawl_json_done(w).len);
    w = pawl_json_new(mem);
    pawl_json_raw(w, odd);
    SAYS(0, pawl_json_done(w).len);
    w = pawl_json_new(mem);
    pawl_json_object(w);
    pawl_json_key(w, NULL);
    pawl_json_cstr(w, NULL);
    pawl_json_end(w);
    (void)pawl_json_done(w);
    SAYS(0, pawl_mem_dup(mem, (pawl_str){0}).len);
    (void)pawl_status_code((pawl_status)999);
    (void)pawl_status_text((pawl_status)999);
    (void)pawl_state_name((pawl_state)-1);
    (void)pawl_state_is_terminal((pawl_state)-1);
    (void)pawl_result_kind_name(-1);
    (void)pawl_event_kind_name(-1);
    (void)pawl_replay_outcome_name((pawl_replay_outcome)99);
    (void)pawl_sim_problem_name((pawl_sim_problem)99);
    (void)pawl_delay_bound_ms(9999);
}

TEST(texts_without_bytes_are_no_texts)
{
    struct child_end end;
    run_child(try_values, NULL, &end);
    ck_assert_msg(end.signal == 0 && end.status == 0, "signal %d, status %d: %s", end.signal,
                  end.status, end.text);
}

/* One call each: it must name itself. */
struct stop {
    const char *name;
    void (*fn)(void);
};

#define STOP(name, ...)                                                                            \
    {                                                                                              \
#name, stop_##name                                                                         \
    }
#define DEFINE(name, ...)                                                                          \
    static void stop_##name(void)                                                                  \
    {                                                                                              \
        pawl_ignore(name(__VA_ARGS__));                                                            \
    }
#define DEFINE_VOID(name, ...)                                                                     \
    static void stop_##name(void)                                                                  \
    {                                                                                              \
        name(__VA_ARGS__);                                                                         \
    }

/* clang-format off */
#define WITH_VALUE(X) \
    X(pawl_done, NULL, "") X(pawl_done_str, NULL, some) X(pawl_donef, NULL, "%d", 1) X(pawl_fail, NULL, "") \
    X(pawl_failf, NULL, "%d", 1) X(pawl_call, NULL, "A", some) X(pawl_call_with, NULL, "A", some, NULL) \
    X(pawl_start, NULL, "A", some) X(pawl_start_with, NULL, "A", some, NULL) X(pawl_await, NULL, (pawl_task){0}) \
    X(pawl_await_all, NULL, NULL, 0) X(pawl_await_settled, NULL, NULL, 0) X(pawl_await_any, NULL, NULL, 1) \
    X(pawl_race, NULL, NULL, 1) X(pawl_is_done, NULL, (pawl_task){0}) X(pawl_map, NULL, 1, 1, NULL, NULL, NULL) \
    X(pawl_timer, NULL, 1) X(pawl_sleep, NULL, 1) X(pawl_wait_event, NULL, "E") X(pawl_wait_event_with, NULL, "E", 0) \
    X(pawl_start_child, NULL, "F", some, NULL) X(pawl_call_child, NULL, "F", some, NULL) \
    X(pawl_start_detached, NULL, "F", some, NULL) X(pawl_raise, NULL, "i", "E", some, 0) X(pawl_continue_as_new, NULL, some, NULL) X(pawl_now, NULL) \
    X(pawl_random, NULL) X(pawl_uuid, NULL) X(pawl_instance, NULL) X(pawl_execution, NULL) X(pawl_name, NULL) \
    X(pawl_scheduled_at, NULL) \
    X(pawl_version, NULL) X(pawl_user, NULL) X(pawl_history_length, NULL) X(pawl_is_replaying, NULL) \
    X(pawl_cancelled, NULL) X(pawl_patched, NULL, "p") X(pawl_ctx_mem, NULL) X(pawl_alloc, NULL, 1) \
    X(pawl_printf, NULL, "%d", 1) X(pawl_state_set, NULL, "k", some) X(pawl_state_clear, NULL, "k") X(pawl_state_get, NULL, "k") \
    X(pawl_wait_update, NULL, "u") X(pawl_wait_event_ask, NULL, "E", some) X(pawl_wait_update_checked, NULL, "u", NULL, NULL) X(pawl_set_attributes, NULL, some) \
    X(pawl_test_answered, NULL, "u", 1) \
    X(pawl_queue_push, NULL, "q", some, NULL) X(pawl_queue_pop, NULL, "q", 0, 0) \
    X(pawl_queue_ack, NULL, "q", some) \
    X(pawl_ok, NULL, "") X(pawl_ok_str, NULL, some) X(pawl_okf, NULL, "%d", 1) X(pawl_err, NULL, "") \
    X(pawl_errf, NULL, "%d", 1) X(pawl_err_final, NULL, "") X(pawl_err_finalf, NULL, "%d", 1) X(pawl_pending, NULL) \
    X(pawl_activity_key, NULL) X(pawl_activity_token, NULL) X(pawl_activity_instance, NULL) \
    X(pawl_activity_execution, NULL) X(pawl_activity_id, NULL) X(pawl_activity_name, NULL) X(pawl_activity_attempt, NULL) \
    X(pawl_activity_user, NULL) X(pawl_activity_client, NULL) X(pawl_activity_heartbeat, NULL) \
    X(pawl_activity_beat, NULL, some) X(pawl_activity_resume, NULL, NULL) \
    X(pawl_activity_cancelled, NULL) X(pawl_activity_mem, NULL) \
    X(pawl_mem_alloc, NULL, 1) X(pawl_mem_dup, NULL, some) X(pawl_mem_printf, NULL, "%d", 1) \
    X(pawl_json_new, NULL) X(pawl_json_done, NULL) X(pawl_json_next, NULL) \
    X(pawl_app_has_orchestration, NULL, "F", NULL) X(pawl_app_has_code, NULL) X(pawl_app_has_activity, NULL, "A") \
    X(pawl_app_code, NULL, NULL, NULL) X(pawl_app_code_sized, NULL, NULL, NULL, NULL) X(pawl_runtime_tallies_sized, NULL, NULL, NULL, NULL) \
    X(pawl_runtime_step, NULL, 0) X(pawl_runtime_fd, NULL) X(pawl_runtime_timeout_ms, NULL) X(pawl_runtime_client, NULL) X(pawl_runtime_app, NULL) X(pawl_runtime_data, NULL) X(pawl_runtime_tallies, NULL, NULL, NULL) \
    X(pawl_runtime_healthy, NULL, NULL) \
    X(pawl_runtime_ready, NULL, NULL) \
    X(pawl_client_now, NULL) X(pawl_client_feed, NULL, NULL, NULL) X(pawl_client_feed_sized, NULL, NULL, NULL, NULL) X(pawl_server_url, NULL) X(pawl_server_healthy, NULL, NULL) X(pawl_sim_count, NULL, "", "") \
    X(pawl_test_of, NULL) X(pawl_test_user, NULL) X(pawl_test_run, NULL) X(pawl_test_run_for, NULL, 1) \
    X(pawl_test_now, NULL) X(pawl_test_state, NULL) X(pawl_test_output, NULL) X(pawl_test_error, NULL) \
    X(pawl_test_status, NULL) X(pawl_test_why, NULL) X(pawl_test_runs, NULL, "A") X(pawl_test_input, NULL, "A", 1) \
    X(pawl_test_history, NULL) X(pawl_test_events, NULL, "K", "N") X(pawl_test_client, NULL) \
    X(pawl_test_expect, NULL, "f", 1, true, "t") X(pawl_test_expect_end, NULL, "f", 1, PAWL_COMPLETED, "t") \
    X(pawl_test_expect_runs, NULL, "f", 1, "A", 1) X(pawl_test_expect_events, NULL, "f", 1, "K", "N", 1)
#define WITHOUT_VALUE(X) \
    X(pawl_cancel, NULL, (pawl_task){0}) X(pawl_log, NULL, PAWL_LOG_INFO, "%d", 1) X(pawl_shield, NULL) \
    X(pawl_unshield, NULL) X(pawl_set_status, NULL, "") X(pawl_set_statusf, NULL, "%d", 1) X(pawl_defer, NULL, NULL, NULL) \
    X(pawl_scope_begin, NULL) X(pawl_scope_end, NULL) X(pawl_activity_on_cancel, NULL, NULL, NULL) \
    X(pawl_mem_reset, NULL) X(pawl_json_object, NULL) X(pawl_json_array, NULL) X(pawl_json_end, NULL) \
    X(pawl_json_key, NULL, "k") X(pawl_json_str, NULL, some) X(pawl_json_cstr, NULL, "t") X(pawl_json_num, NULL, 1) \
    X(pawl_json_real, NULL, 1.0) X(pawl_json_truth, NULL, true) X(pawl_json_null, NULL) X(pawl_json_raw, NULL, some) \
    X(pawl_runtime_stats, NULL, NULL) X(pawl_runtime_counters, NULL, NULL) X(pawl_runtime_stats_sized, NULL, NULL, NULL) X(pawl_runtime_counters_sized, NULL, NULL, NULL) X(pawl_queue_config_default_sized, NULL, NULL) \
    X(pawl_test_history_sized, NULL, NULL, 0) X(pawl_client_withdraw, NULL, NULL) X(pawl_client_unfeed, NULL, 1) \
    X(pawl_test_on_failure, NULL, NULL, NULL) X(pawl_test_on, NULL, "A", pawl_test_real()) \
    X(pawl_test_on_nth, NULL, "A", 1, pawl_test_real()) X(pawl_test_set_user, NULL, NULL) \
    X(pawl_test_start, NULL, "F", "1") X(pawl_test_start_as, NULL, "i", "F", "1") X(pawl_test_choose, NULL, "i") \
    X(pawl_test_raise, NULL, "E", "1") X(pawl_test_raise_at, NULL, 1, "E", "1") X(pawl_test_update_at, NULL, 1, "E", "1") \
    X(pawl_answer, NULL, (pawl_task){0}, some) X(pawl_reject, NULL, (pawl_task){0}, "no") X(pawl_test_cancel_at, NULL, 1, "r") \
    X(pawl_test_at, NULL, 1, NULL, NULL) X(pawl_test_crash, NULL) X(pawl_test_crash_at, NULL, "p", 1) \
    X(pawl_test_crash_each, NULL, true) X(pawl_test_deploy, NULL, NULL) X(pawl_test_print, NULL)
WITH_VALUE(DEFINE)
WITHOUT_VALUE(DEFINE_VOID)
#define ROW(name, ...) {#name, stop_##name},
static const struct stop stops[] = {WITH_VALUE(ROW) WITHOUT_VALUE(ROW)};
/* clang-format on */

static void run_stop(void *arg)
{
    ((const struct stop *)arg)->fn();
}

TEST(calls_without_a_status_stop_and_name_themselves)
{
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        struct child_end end;
        struct stop one = stops[i];
        run_child(run_stop, &one, &end);
        ck_assert_msg(end.signal == SIGABRT && strstr(end.text, "pawl: misuse: ") &&
                          strstr(end.text, "() was called without "),
                      "%s(NULL): signal %d, status %d: %s", one.name, end.signal, end.status,
                      end.text);
    }
}

/* ---- In code: refused by value ---------------------------------------------------------------- */

static bool refused(pawl_result r)
{
    return !r.ok && r.value.len > 0;
}

static pawl_result odd_flow(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    unsigned bad = 0;
    size_t small = 3;
    pawl_call_opts *tiny = (pawl_call_opts *)(void *)&small;
    bad |= refused(pawl_call(ctx, "Act", odd)) ? 0 : 1U;
    bad |= refused(pawl_call(ctx, NULL, some)) ? 0 : 2U;
    bad |= refused(pawl_call_with(ctx, "Act", some, tiny)) ? 0 : 4U;
    bad |= refused(pawl_call_child(ctx, "Flow", odd, NULL)) ? 0 : 8U;
    bad |= refused(pawl_call_child(ctx, "Flow", some, (pawl_child_opts *)(void *)&small)) ? 0 : 16U;
    bad |= refused(pawl_start_detached(ctx, "Flow", odd, NULL)) ? 0 : 32U;
    bad |= refused(pawl_queue_push(ctx, "q", odd, NULL)) ? 0 : 64U;
    bad |= refused(pawl_queue_push(ctx, "q", some, (pawl_push_opts *)(void *)&small)) ? 0 : 128U;
    bad |= refused(pawl_await_all(ctx, NULL, 3)) ? 0 : 256U;
    bad |= refused(pawl_await_settled(ctx, NULL, 3)) ? 0 : 512U;
    bad |= pawl_race(ctx, NULL, 3) == -1 && pawl_await_any(ctx, NULL, 3) == -1 ? 0 : 1024U;
    bad |= refused(pawl_map(ctx, 3, 0, NULL, NULL, NULL)) ? 0 : 2048U;
    bad |= refused(pawl_done_str(ctx, odd)) ? 0 : 4096U;
    bad |= refused(pawl_await(ctx, pawl_wait_event(ctx, NULL))) ? 0 : 8192U;
    bad |= refused(pawl_state_set(ctx, NULL, some)) ? 0 : 16384U;
    bad |=
        refused(pawl_state_set(ctx, "k", odd)) && refused(pawl_state_clear(ctx, NULL)) ? 0 : 32768U;
    bad |= !pawl_state_get(ctx, NULL).ptr ? 0 : 65536U;
    pawl_cancel(ctx, (pawl_task){.id = 9999});
    pawl_set_status(ctx, NULL);
    return pawl_donef(ctx, "%u", bad);
}

static pawl_result odd_return(pawl_ctx *ctx, pawl_str input)
{
    (void)ctx, (void)input;
    return (pawl_result){.ok = true, .value = odd};
}

static pawl_result odd_continue(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_continue_as_new(ctx, odd, NULL);
}

static pawl_result odd_act(pawl_activity *a, pawl_str input)
{
    (void)a;
    return pawl_str_is(input, "1") ? (pawl_result){.ok = true, .value = odd} : pawl_ok_str(a, odd);
}

static pawl_result calls_odd(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Odd", input);
}

static void end_of(const char *name, const char *input, pawl_info *ret)
{
    pawl_reply r;
    ck_assert_int_eq(pawl_client_start(c, name, pawl_s(input), NULL, &r), PAWL_OK);
    ck_assert_int_eq(pawl_client_wait(c, r.instance, 0, 5000, mem, ret, &err), PAWL_OK);
}

TEST(code_that_misuses_is_refused_by_value)
{
    pawl_info info;
    open_world();
    ck_assert_int_eq(pawl_register_orchestration(app, "OddFlow", NULL, odd_flow), PAWL_OK);
    ck_assert_int_eq(pawl_register_orchestration(app, "OddReturn", NULL, odd_return), PAWL_OK);
    ck_assert_int_eq(pawl_register_orchestration(app, "OddContinue", NULL, odd_continue), PAWL_OK);
    ck_assert_int_eq(pawl_register_orchestration(app, "CallsOdd", NULL, calls_odd), PAWL_OK);
    ck_assert_int_eq(pawl_register_activity(app, "Odd", odd_act), PAWL_OK);
    end_of("OddFlow", "1", &info);
    ck_assert_msg(pawl_str_is(info.output, "0"), "%.*s: not refused are the bits of %.*s",
                  PAWL_FMT(info.error), PAWL_FMT(info.output));
    static const struct {
        const char *name, *input;
    } rows[] = {
        {"OddReturn",   "1"},
        {"OddContinue", "1"},
        {"CallsOdd",    "1"},
        {"CallsOdd",    "2"}
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        end_of(rows[i].name, rows[i].input, &info);
        ck_assert_msg(info.state == PAWL_FAILED && strstr(info.error.ptr, "no bytes"), "%s: %.*s",
                      rows[i].name, PAWL_FMT(info.error));
    }
    pawl_runtime_close(rt);
    pawl_app_free(app);
    pawl_mem_free(mem);
}

/* ---- Options of another size -------------------------------------------------------------------- */

/* The first `size` bytes of options at the very end of what may be read. */
static void *at_the_edge(const void *options, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(pages != MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
    char *at = pages + page - size;
    memcpy(at, options, size);
    memcpy(at, &size, sizeof(size));
    return at;
}

/* A newer caller's: ours, and one option more. */
static void *newer(const void *options, size_t known, char more)
{
    char *at = calloc(1, known + 16);
    size_t size = known + 16;
    ck_assert(at);
    memcpy(at, options, known);
    memcpy(at, &size, sizeof(size));
    at[known + 3] = more;
    return at;
}

/* `call` with options at `o`: an older caller's (only its size), one that left size at 0, a newer
 * one with nothing new, a newer one with something, and one too small to be. */
#define SIZES(type, call)                                                                          \
    do {                                                                                           \
        type all_ = {.size = sizeof(type)}, none_ = {0};                                           \
        size_t small_ = 3;                                                                         \
        const type *o = at_the_edge(&all_, sizeof(size_t));                                        \
        SAYS(true, (call) != PAWL_MISUSE);                                                         \
        o = &none_;                                                                                \
        SAYS(true, (call) != PAWL_MISUSE);                                                         \
        o = newer(&all_, sizeof(type), 0);                                                         \
        SAYS(true, (call) != PAWL_MISUSE);                                                         \
        o = newer(&all_, sizeof(type), 1);                                                         \
        MISUSE(call);                                                                              \
        o = (const type *)(void *)&small_;                                                         \
        MISUSE(call);                                                                              \
    } while (0)

static pawl_status as_status(bool there)
{
    return there ? PAWL_OK : err.status;
}

static bool opens(const pawl_options *o)
{
    char dir[] = "/tmp/pawl-misuse-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0)
        _exit(3);
    err = (pawl_error){0};
    pawl_runtime *other = pawl_runtime_open(app, o, &err);
    pawl_runtime_close(other);
    return other;
}

static bool stores(const pawl_store_open_opts *o)
{
    err = (pawl_error){0};
    pawl_store *s = pawl_sqlite_store("misuse.db", o, &err);
    if (s)
        s->ops->close(s);
    return s;
}

static bool serves(const pawl_server_opts *o)
{
    err = (pawl_error){0};
    pawl_server *s = pawl_server_start(rt, o, &err);
    pawl_server_stop(s, 0);
    return s;
}

static pawl_status registers(const pawl_register_opts *o)
{
    static char name[8] = "A0";
    name[1]++;
    return pawl_register_activity_with(app, name, act, o);
}

/* Apart from the others: each makes two structs, and a frame has its limit. */
__attribute__((noinline)) static void size_updates(void)
{
    pawl_result answer;
    pawl_str asks;
    SIZES(pawl_ask_filter, pawl_client_asks(c, o, mem, &asks, &err));
    SIZES(pawl_filter, pawl_client_count(c, o, "status", mem, &asks, &err));
    SIZES(pawl_update_opts, pawl_client_update(c, "i", "E", some, o, 0, mem, &answer, &err));
}

static void try_sizes(void *arg)
{
    (void)arg;
    pawl_page page;
    pawl_queue_messages list;
    pawl_reply r;
    pawl_sim_report sim;
    pawl_replay_report report;
    pawl_info info = {.orchestration = pawl_s("Flow")};
    open_world();
    FINE(pawl_client_push(c, "q", some, NULL, NULL, NULL));
    SAYS(PAWL_LIMIT, pawl_client_list(c, &(pawl_filter){.limit = 5000}, mem, &page, &err));
    FINE(pawl_client_start(c, "Flow", some, &(pawl_start_opts){.instance = "named"}, &r));
    SAYS(0, strcmp(r.instance, "named"));
    SIZES(pawl_start_opts, pawl_client_start(c, "Flow", some, o, &r));
    SIZES(pawl_raise_opts, pawl_client_raise(c, "i", "E", some, o, &err));
    size_updates();
    SIZES(pawl_request, pawl_client_submit(c, o, nothing_done, NULL, &err));
    SIZES(pawl_filter, pawl_client_list(c, o, mem, &page, &err));
    SIZES(pawl_queue_request, pawl_queue_submit(c, o, nothing_moved, NULL, &err));
    SIZES(pawl_queue_browse, pawl_queue_browse_messages(c, "q", o, mem, &list, &err));
    SIZES(pawl_poll, pawl_worker_poll(c, o, nothing_polled, NULL, &err));
    SIZES(pawl_replay_opts, pawl_replay(app, &info, NULL, 0, o, &report, &err));
    SIZES(pawl_options, as_status(opens(o)));
    SIZES(pawl_store_open_opts, as_status(stores(o)));
    SIZES(pawl_register_opts, registers(o)); /* the last: an app remembers what was wrong */
    while (pawl_runtime_step(rt, 0) > 0)
        ;
    pawl_sim_opts few = {.size = sizeof(few), .orchestration = "Flow"};
    size_t upto = offsetof(pawl_sim_opts, orchestration) + sizeof(few.orchestration);
    ck_assert_uint_lt(upto, sizeof(few));
    (void)sim;
    MISUSE(pawl_sim(app, newer(&few, sizeof(few), 1), mem, &sim, &err));
    pawl_app *other = pawl_app_new();
    rt = pawl_runtime_open(other, PAWL_OPTIONS(.store = "memory:"), &err);
    FINE(pawl_runtime_start(rt, &err));
    pawl_server_opts here = {.size = sizeof(here), .listen = "127.0.0.1:0"};
    size_t end = offsetof(pawl_server_opts, listen) + sizeof(here.listen);
    SAYS(true, serves(at_the_edge(&here, end)));
    here.size = 0;
    SAYS(true, serves(&here));
    SAYS(false, serves(newer(&here, sizeof(here), 1)));
    MISUSE(err.status);
    pawl_runtime_close(rt);
}

/* A configuration of an older caller: what it lacks has its default, not zero. */
static void try_old_config(void *arg)
{
    (void)arg;
    pawl_queue_reply r;
    pawl_queue_config got, config = pawl_queue_config_default();
    open_world();
    config.max_locks = 7;
    const pawl_queue_config *old =
        at_the_edge(&config, offsetof(pawl_queue_config, default_ttl_ms));
    FINE(pawl_queue_call(
        c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = old), mem, &r));
    FINE(pawl_queue_get_config(c, "q", mem, &got, &err));
    SAYS(7, got.max_locks);
    SAYS(true, got.default_ttl_ms == pawl_queue_config_default().default_ttl_ms);
    SAYS(true, got.dedup_window_ms == pawl_queue_config_default().dedup_window_ms);
}

TEST(options_of_another_size_are_read_as_far_as_they_go)
{
    struct child_end end;
    run_child(try_sizes, NULL, &end);
    ck_assert_msg(end.signal == 0 && end.status == 0, "signal %d, status %d: %s", end.signal,
                  end.status, end.text);
    run_child(try_old_config, NULL, &end);
    ck_assert_msg(end.signal == 0 && end.status == 0, "signal %d, status %d: %s", end.signal,
                  end.status, end.text);
}

static pawl_result sized_flow(pawl_ctx *ctx, pawl_str input)
{
    pawl_call_opts call = {.size = sizeof(call), .attempts = 2};
    pawl_child_opts child = {.size = sizeof(child)};
    pawl_push_opts push = {.size = sizeof(push)};
    unsigned bad = 0;
    size_t only = sizeof(size_t);
    bad |= pawl_call_with(ctx, "Act", input, at_the_edge(&call, only)).ok ? 0 : 1U;
    bad |= refused(pawl_call_with(ctx, "Act", input, newer(&call, sizeof(call), 1))) ? 0 : 2U;
    bad |= pawl_call_child(ctx, "Flow", input, at_the_edge(&child, only)).ok ? 0 : 4U;
    bad |= refused(pawl_call_child(ctx, "Flow", input, newer(&child, sizeof(child), 1))) ? 0 : 8U;
    bad |= pawl_queue_push(ctx, "q", input, at_the_edge(&push, only)).ok ? 0 : 16U;
    bad |= refused(pawl_queue_push(ctx, "q", input, newer(&push, sizeof(push), 1))) ? 0 : 32U;
    return pawl_donef(ctx, "%u", bad);
}

static void try_sizes_in_code(void *arg)
{
    (void)arg;
    pawl_info info;
    open_world();
    FINE(pawl_register_orchestration(app, "Sized", NULL, sized_flow));
    end_of("Sized", "1", &info);
    SAYS(true, pawl_str_is(info.output, "0"));
}

TEST(options_in_code_are_read_as_far_as_they_go)
{
    struct child_end end;
    run_child(try_sizes_in_code, NULL, &end);
    ck_assert_msg(end.signal == 0 && end.status == 0, "signal %d, status %d: %s", end.signal,
                  end.status, end.text);
}

/* ---- Calls that are told how large the structs are ------------------------------------------------ */

/* Without sizes nothing is written. */
static void try_no_sizes(void *arg)
{
    (void)arg;
    open_world();
    static const size_t too_short = 4;
    const pawl_client_sizes *odd_client = (const pawl_client_sizes *)(const void *)&too_short;
    pawl_reply *r = NULL;
    MISUSE(pawl_client_start_sized(c, "Flow", some, NULL, r, NULL));
    MISUSE(pawl_client_remove_sized(c, "i", false, r, NULL));
    MISUSE(pawl_client_prune_sized(c, 0, 0, r, NULL));
    MISUSE(pawl_client_call_sized(c, PAWL_REQUEST(.op = PAWL_OP_RETRY, .instance = "i"), r, NULL));
    MISUSE(pawl_client_submit_sized(c, PAWL_REQUEST(.op = PAWL_OP_RETRY, .instance = "i"), NULL,
                                    NULL, &err, odd_client));
    pawl_info info;
    MISUSE(pawl_client_get_sized(c, "i", 0, mem, &info, &err, odd_client));
    MISUSE(pawl_client_wait_sized(c, "i", 0, 0, mem, &info, &err, NULL));
    pawl_page page;
    MISUSE(pawl_client_list_sized(c, NULL, mem, &page, &err, NULL));
    pawl_history history;
    MISUSE(pawl_client_history_sized(c, "i", 0, 0, 0, mem, &history, &err, NULL));
}

static void try_no_queue_sizes(void *arg)
{
    (void)arg;
    open_world();
    const pawl_queue_request *purge = PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PURGE, .queue = "q");
    pawl_queue_reply reply;
    pawl_queue_message message;
    MISUSE(pawl_queue_submit_sized(c, purge, nothing_moved, NULL, &err, NULL));
    MISUSE(pawl_queue_call_sized(c, purge, mem, &reply, NULL));
    MISUSE(pawl_client_push_sized(c, "q", some, NULL, NULL, &err, NULL));
    MISUSE(pawl_client_pop_sized(c, "q", 0, mem, &message, &err, NULL));
    MISUSE(pawl_client_pop_locked_sized(c, "q", 0, 0, mem, &message, &err, NULL));
    MISUSE(pawl_queue_get_message_sized(c, "q", 1, mem, &message, &err, NULL));
    pawl_queue_stats stats;
    pawl_queue_config config;
    MISUSE(pawl_queue_get_stats_sized(c, "q", mem, &stats, &err, NULL));
    MISUSE(pawl_queue_get_config_sized(c, "q", mem, &config, &err, NULL));
    pawl_queue_page page;
    pawl_queue_messages messages;
    pawl_queue_locks locks;
    MISUSE(pawl_queue_list_sized(c, NULL, NULL, 0, mem, &page, &err, NULL));
    MISUSE(pawl_queue_browse_messages_sized(c, "q", NULL, mem, &messages, &err, NULL));
    MISUSE(pawl_queue_get_locks_sized(c, "q", mem, &locks, &err, NULL));
    pawl_poll poll = {.size = sizeof(poll), .activities = (const char *[]){"A"}};
    pawl_worker_page workers;
    poll.activity_count = 1;
    MISUSE(pawl_worker_poll_sized(c, &poll, nothing_polled, NULL, &err, NULL));
    MISUSE(pawl_worker_extend_sized(c, "w1", 1, nothing_polled, NULL, &err, NULL));
    MISUSE(pawl_worker_beat_sized(c, "w1", 1, some, nothing_polled, NULL, &err, NULL));
    MISUSE(pawl_worker_abandon_sized(c, "w1", 1, nothing_polled, NULL, &err, NULL));
    MISUSE(pawl_worker_list_sized(c, mem, &workers, &err, NULL));
    pawl_turns turns = {.protocol = PAWL_TURNS_PROTOCOL, .session = pawl_s("0123456789abcdef")};
    MISUSE(pawl_turns_exchange_sized(c, &turns, nothing_turned, NULL, &err, NULL));
}

/* Those that take one size need room. */
static void try_no_room(void *arg)
{
    (void)arg;
    open_world();
    MISUSE(pawl_sqlite_backup_sized("a", "b", false, NULL, &err, 8));
    MISUSE(pawl_sqlite_restore_sized("a", "b", NULL, &err, 8));
    MISUSE(pawl_replay_sized(app, &(pawl_info){0}, NULL, 0, NULL, NULL, &err, 8));
    MISUSE(pawl_sim_sized(app, NULL, mem, NULL, &err, 8, 8));
}

TEST(a_call_without_the_sizes_it_needs_is_refused)
{
    void (*const tries[])(void *) = {try_no_sizes, try_no_queue_sizes, try_no_room};
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        struct child_end end;
        run_child(tries[i], NULL, &end);
        ck_assert_msg(end.signal == 0 && end.status == 0, "signal %d, status %d: %s", end.signal,
                      end.status, end.text);
    }
}

/* ---- All of them --------------------------------------------------------------------------------- */

/* Take nothing, or cannot be misused, or are the whole program. */
static const char *const harmless[] = {
    "pawl_client_hold",         "pawl_client_release",  "pawl_app_new",       "pawl_mem_new",
    "pawl_memory_store",        "pawl_test_new",        "pawl_test_end",      "pawl_test_ok",
    "pawl_test_fail",           "pawl_test_fail_final", "pawl_test_time_out", "pawl_test_call",
    "pawl_test_real",           "pawl_test_after",      "pawl_main",          "pawl_sim_check",
    "pawl_queue_config_default"};

static char *read_file(const char *path)
{
    char *text = calloc(1, 200000);
    FILE *f = fopen(path, "re");
    ck_assert(text && f);
    ck_assert_uint_gt(fread(text, 1, 199999, f), 0);
    fclose(f);
    return text;
}

static bool is_tried(const char *self, const char *name)
{
    char call[100];
    for (size_t i = 0; i < COUNT_OF(harmless); i++)
        if (strcmp(harmless[i], name) == 0)
            return true;
    (void)snprintf(call, sizeof(call), "%s(", name);
    if (strstr(self, call))
        return true;
    (void)snprintf(call, sizeof(call), "X(%s,", name);
    return strstr(self, call) != NULL;
}

/* Behind the mark of the next public call; NULL: there is none. */
static char *next_call(char *text)
{
    char *plain = strstr(text, "PAWL_API "), *sized = strstr(text, "PAWL_SIZED ");
    if (!plain || (sized && sized < plain))
        return sized ? sized + 11 : NULL;
    return plain + 9;
}

TEST(no_public_call_is_left_out)
{
    char pattern[500], here[400];
    glob_t found;
    (void)snprintf(here, sizeof(here), "%s", __FILE__);
    char *dir = strstr(here, "tests/unit");
    ck_assert(dir);
    *dir = 0;
    (void)snprintf(pattern, sizeof(pattern), "%sinclude/pawl/*.h", here);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    char *self = read_file(__FILE__);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (strstr(found.gl_pathv[i], "conformance.h"))
            continue; /* a test suite */
        char *text = read_file(found.gl_pathv[i]), *at = text;
        while ((at = next_call(at))) {
            char *open = strchr(at, '('), *name = open;
            while (open && name > at &&
                   (name[-1] == '_' || (name[-1] >= '0' && name[-1] <= '9') ||
                    (name[-1] >= 'a' && name[-1] <= 'z')))
                name--;
            if (!open || strncmp(name, "pawl_", 5) != 0 || memchr(at, ';', (size_t)(open - at)))
                continue;
            *open = 0;
            ck_assert_msg(is_tried(self, name), "%s() of %s is not tried here", name,
                          found.gl_pathv[i]);
            *open = '(';
        }
        free(text);
    }
    globfree(&found);
    free(self);
}
