/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_turns.c -- S41 to S44: whose call is next.
 *
 * Instances make calls with a key and a priority, which their input names ("key:priority").  A
 * worker outside asks for one at a time, or the runtime has one thread; the order in which calls
 * begin is what the rules are about.  jsonl has no trays: there the order is that of the calls.
 */
#include "pawl/worker.h"
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

#define ORDER_BYTES 4096

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    char text[80], *mark;
    (void)snprintf(text, sizeof(text), "%.*s", PAWL_FMT(input));
    mark = strchr(text, ':');
    uint32_t priority = mark ? (uint32_t)strtoul(mark + 1, NULL, 10) : 0;
    if (mark)
        *mark = 0;
    return pawl_call_with(ctx, "Away", input,
                          PAWL_CALL_OPTS(.key = text[0] ? text : NULL, .priority = priority,
                                         .attempts = 3, .initial_ms = 100));
}

struct given {
    bool answered;
    size_t count;
    char token[80], input[80];
};

static void on_reply(void *arg, const pawl_worker_reply *reply)
{
    struct given *g = arg;
    *g = (struct given){.answered = true, .count = reply->count};
    if (!reply->count)
        return;
    (void)snprintf(g->token, sizeof(g->token), "%.*s", PAWL_FMT(reply->leases[0].token));
    (void)snprintf(g->input, sizeof(g->input), "%.*s", PAWL_FMT(reply->leases[0].input));
}

static struct given poll_some(struct scene *s, uint32_t max)
{
    const char *const names[] = {"Away"};
    struct given g = {0};
    pawl_error err = {0};
    scene_up(s);
    expect_is(pawl_worker_poll(
                  s->c,
                  PAWL_POLL(.activities = names, .activity_count = 1, .max = max, .lock_ms = 1000),
                  on_reply, &g, &err),
              PAWL_OK);
    for (int i = 0; i < 300 && !g.answered; i++)
        scene_advance(s, 1);
    ck_assert(g.answered);
    return g;
}

static struct given poll_one(struct scene *s)
{
    return poll_some(s, 1);
}

/* Begin calls in this order; "acme:5" is a key and a priority. */
static void calls(struct scene *s, const char *const *inputs, size_t count)
{
    static int number;
    for (size_t i = 0; i < count; i++)
        scene_start(s, "Flow", scene_id(s, "i", number++), inputs[i]);
    scene_settle(s);
}

#define CALLS(s, ...)                                                                              \
    scene_flow(s, "Flow", flow);                                                                   \
    MORE_CALLS(s, __VA_ARGS__)
#define MORE_CALLS(s, ...)                                                                         \
    calls((s), (const char *const[]){__VA_ARGS__},                                                 \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* What is given out, one by one, until there is no more. */
static const char *order(struct scene *s)
{
    char *text = pawl_mem_alloc(s->mem, ORDER_BYTES);
    size_t len = 0;
    text[0] = 0;
    for (struct given g; (g = poll_one(s)).count;) {
        len += (size_t)snprintf(text + len, ORDER_BYTES - len, "%s%s", len ? " " : "", g.input);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = g.token,
                                           .data = pawl_s("done"))),
                  PAWL_OK);
    }
    return text;
}

static bool has_trays(const struct scene *s)
{
    return s->kind != SCENE_JSONL;
}

SCENARIO(s41_key_and_priority_are_in_the_event_and_nowhere_else)
{
    CALLS(s, "acme/ann:7");
    pawl_history h;
    pawl_error err;
    expect_is(pawl_client_history(s->c, s->reply.instance, 1, 0, 0, s->mem, &h, &err), PAWL_OK);
    const pawl_history_event *e = &h.events[h.count - 1];
    ck_assert(pawl_str_is(e->name, "Away"));
    expect_text(e->attrs.ptr, "\"key\":\"acme/ann\"");
    expect_text(e->attrs.ptr, "\"priority\":7");
    ck_assert_str_eq(order(s), "acme/ann:7");
    scene_expect_empty(s);
}

/* Where trays are kept, the first order; else that of the calls. */
static void expect_order(struct scene *s, const char *by_turn, const char *by_id)
{
    ck_assert_str_eq(order(s), has_trays(s) ? by_turn : by_id);
    scene_expect_empty(s);
}

SCENARIO(s42_the_lowest_number_goes_first_over_the_whole_store)
{
    CALLS(s, "a:500", "b:99", ":", "c:999", "d:1", ":98", "e:501", "f:2");
    expect_order(s, "d:1 f:2 :98 b:99 : a:500 e:501 c:999", "a:500 b:99 : c:999 d:1 :98 e:501 f:2");
}

SCENARIO(s42_the_order_survives_a_crash)
{
    CALLS(s, "a:500", "b:50", "a:499");
    scene_crash(s);
    MORE_CALLS(s, "c:499", "c:1");
    expect_order(s, "c:1 b:50 a:499 c:499 a:500", "a:500 b:50 a:499 c:499 c:1");
}

SCENARIO(s43_one_key_with_many_calls_delays_another_by_one)
{
    const char *big[120];
    for (size_t i = 0; i < 120; i++)
        big[i] = "big:";
    scene_flow(s, "Flow", flow);
    calls(s, big, 120);
    MORE_CALLS(s, "small:");
    int before = 0;
    for (struct given g; (g = poll_one(s)).count && strcmp(g.input, "small:") != 0;)
        before++;
    ck_assert_int_le(before, has_trays(s) ? 1 : 120);
}

SCENARIO(s43_keys_take_turns_and_so_do_calls_without_one)
{
    CALLS(s, "a:", "a:", "a:", "b:", "b:", "b:", ":", ":", ":");
    const char *got = order(s);
    if (!has_trays(s))
        return;
    const char *third = strstr(strstr(got, "a:") + 1, "a:"); /* the second of a */
    ck_assert(third && strstr(got, "b:") < third);
    ck_assert(strstr(got, " :") < strstr(third + 1, "a:"));
}

SCENARIO(s44_a_retry_comes_back_to_its_tray_when_it_is_due)
{
    CALLS(s, "a:5");
    struct given g = poll_one(s);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = g.token, .failed = true,
                                       .data = pawl_s("no"))),
              PAWL_OK);
    expect_is(poll_one(s).count, 0);
    scene_advance(s, 200);
    ck_assert_str_eq(order(s), "a:5");
    scene_expect_empty(s);
}

SCENARIO(s44_a_delayed_retry_is_found_after_a_crash)
{
    CALLS(s, "a:5", "a:5");
    for (int i = 0; i < 2; i++) {
        struct given g = poll_one(s);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = g.token, .failed = true,
                                           .data = pawl_s("no"))),
                  PAWL_OK);
        scene_advance(s, 50);
    }
    scene_crash(s);
    scene_advance(s, 500);
    ck_assert_str_eq(order(s), "a:5 a:5");
    scene_expect_empty(s);
}

SCENARIO(s44_a_lost_lease_is_given_out_again)
{
    CALLS(s, "a:5", "b:6");
    expect_is(poll_one(s).count, 1);
    scene_advance(s, 2000);
    expect_is(poll_some(s, 10).count, 2);
    scene_crash(s); /* leased by another process: not before its end */
    expect_is(poll_one(s).count, 0);
    scene_advance(s, 2000);
    ck_assert_str_eq(order(s), "a:5 b:6");
    scene_expect_empty(s);
}

SCENARIO(s44_a_poll_that_was_not_committed_takes_nothing)
{
    CALLS(s, "a:5", "b:6");
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    ck_assert_str_eq(order(s), "a:5 b:6");
    scene_expect_empty(s);
}

SCENARIO(s44_work_that_cannot_be_read_is_tried_again)
{
    CALLS(s, "a:5", "b:6");
    scene_crash(s);
    scene_fail(s, FAULT_OP_list_work_names, 0, 2, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_advance(s, 2000);
    scene_fail(s, FAULT_OP_fetch_work, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_advance(s, 2000);
    ck_assert_str_eq(order(s), "a:5 b:6");
}

SCENARIO(s44_a_cancelled_call_leaves_its_tray)
{
    CALLS(s, "a:5");
    char id[513];
    (void)snprintf(id, sizeof(id), "%s", s->reply.instance);
    MORE_CALLS(s, "a:5");
    scene_steer(s, PAWL_OP_TERMINATE, id);
    scene_settle(s);
    ck_assert_str_eq(order(s), "a:5");
    scene_expect_empty(s);
}

/* ---- Threads of the process ----------------------------------------------------------------- */

static char ran[ORDER_BYTES];

static pawl_result away_here(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    size_t len = strlen(ran);
    (void)snprintf(ran + len, sizeof(ran) - len, "%s%.*s", len ? " " : "", PAWL_FMT(input));
    return pawl_ok_str(act, input);
}

SCENARIO(s42_a_thread_of_the_process_keeps_the_order)
{
    ran[0] = 0;
    s->opts.workers = 1;
    CALLS(s, "a:500", "b:50", "c:499", "c:1"); /* nobody has the activity yet */
    scene_new_code(s);
    scene_flow(s, "Flow", flow);
    scene_activity(s, "Away", away_here);
    scene_up(s);
    scene_settle(s);
    ck_assert_str_eq(ran, has_trays(s) ? "c:1 b:50 c:499 a:500" : "a:500 b:50 c:499 c:1");
    scene_expect_empty(s);
}

static pawl_result flaky_here(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_activity_attempt(act) < 3 ? pawl_err(act, "not yet") : pawl_ok_str(act, input);
}

SCENARIO(s44_retries_here_and_a_crash_lose_nothing)
{
    scene_activity(s, "Away", flaky_here);
    CALLS(s, "a:5", "b:", "b:", ":7", "a:5");
    scene_advance(s, 150);
    scene_crash(s);
    scene_advance(s, 5000);
    expect_is(scene_stats(s).activities_completed, 5);
    scene_expect_empty(s);
}

/* More than memory keeps of one tray. */
SCENARIO(s44_a_long_tray_is_read_from_the_store)
{
    const char *many[300];
    for (size_t i = 0; i < 300; i++)
        many[i] = i % 2 ? "a:5" : "b:";
    scene_flow(s, "Flow", flow);
    calls(s, many, 300);
    scene_new_code(s);
    scene_flow(s, "Flow", flow);
    scene_activity(s, "Away", away_here);
    scene_up(s);
    scene_settle(s);
    expect_is(scene_ran(s, "Away"), 300);
    scene_expect_empty(s);
}

/* ---- Bad input --------------------------------------------------------------------------------- */

static pawl_result call_badly(pawl_ctx *ctx, pawl_str input)
{
    char key[140];
    memset(key, 'k', sizeof(key));
    key[input.len == 1 ? 129 : 128] = 0;
    pawl_result r = pawl_call_with(
        ctx, "Echo", input, PAWL_CALL_OPTS(.key = key, .priority = input.len == 2 ? 1000 : 999));
    return r;
}

SCENARIO(s41_a_key_that_is_too_long_or_a_wrong_priority_is_refused)
{
    scene_flow(s, "Bad", call_badly);
    scene_start(s, "Bad", "fine", "");
    scene_start(s, "Bad", "long", "x");
    scene_settle(s);
    scene_expect(s, "fine", PAWL_COMPLETED, "");
    scene_start(s, "Bad", "urgent", "xx");
    scene_settle(s);
    scene_expect(s, "long", PAWL_FAILED, "key has 129 bytes, the limit is 128; shorten it");
    scene_expect(s, "urgent", PAWL_FAILED, "priority is 1000, limit 1..999");
}
