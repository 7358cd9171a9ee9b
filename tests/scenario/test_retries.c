/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_retries.c -- S7, S8, S10: attempts, delays, time-outs of activities. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

static const pawl_call_opts *policy; /* of the call under test */

static pawl_result call_it(pawl_ctx *ctx, pawl_str input)
{
    const char *colon = strchr(input.ptr, ':');
    pawl_str name = pawl_printf(ctx, "%.*s", (int)(colon - input.ptr), input.ptr);
    return pawl_call_with(ctx, name.ptr, pawl_s(colon + 1), policy);
}

/* Start "Name:input" under `opts` as instance "i". */
static void call(struct scene *s, const char *what, const pawl_call_opts *opts)
{
    policy = opts;
    scene_flow(s, "Call", call_it);
    scene_start(s, "Call", "i", what);
}

static const char *completion(struct scene *s)
{
    pawl_history h;
    pawl_error err;
    expect_is(pawl_client_history(s->c, "i", 0, 0, 0, s->mem, &h, &err), PAWL_OK);
    for (size_t i = 0; i < h.count; i++)
        if (strcmp(h.events[i].kind, "ActivityCompleted") == 0 ||
            strcmp(h.events[i].kind, "ActivityFailed") == 0)
            return h.events[i].attrs.len ? h.events[i].attrs.ptr : "";
    return "none";
}

static pawl_result after_a_word(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return call_it(ctx, input);
}

/* Events never go back in time, but the two limits count from when the call was made. */
static void limit_after_the_clock_went_back(struct scene *s, const pawl_call_opts *opts)
{
    policy = opts;
    scene_flow(s, "Call", after_a_word);
    scene_start(s, "Call", "i", "Nobody:x");
    s->now -= 3600000;
    scene_raise(s, "i", "Go", "");
    scene_advance(s, 999);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_advance(s, 1);
    expect_is(scene_info(s, "i").state, PAWL_FAILED);
}

SCENARIO(s08_schedule_to_start_is_right_after_the_clock_was_set_back)
{
    limit_after_the_clock_went_back(s, PAWL_CALL_OPTS(.schedule_to_start_ms = 1000));
}

SCENARIO(s08_schedule_to_close_is_right_after_the_clock_was_set_back)
{
    limit_after_the_clock_went_back(s, PAWL_CALL_OPTS(.schedule_to_close_ms = 1000));
}

/* Of calls that are under way here time is known, whatever the clock says. */
static int64_t cancelled_after;

static pawl_result overstays(pawl_activity *act, pawl_str input)
{
    struct scene *s = scene_of(act);
    scene_count(act);
    s->now -= 3600000;
    for (int i = 1; i < 30 && !pawl_activity_cancelled(act); i++) {
        s->now += 50;
        s->mono += 50;
        cancelled_after = 50 * i;
        (void)pawl_runtime_step(s->rt, 0);
    }
    return pawl_ok_str(act, input);
}

SCENARIO(s08_a_call_under_way_ends_in_time_though_the_clock_was_set_back)
{
    scene_activity(s, "Over", overstays);
    call(s, "Over:x", PAWL_CALL_OPTS(.schedule_to_close_ms = 1000));
    scene_settle(s);
    scene_expect(s, "i", PAWL_FAILED, "timeout: schedule-to-close of 1000 ms");
    expect_is(cancelled_after, 1000);
    expect_text(completion(s), "\"kind\":\"schedule_to_close\"");
}

/* Taken up after the clock was set back: it has no more than its whole limit. */
SCENARIO(s08_a_call_taken_up_later_ends_in_time_though_the_clock_was_set_back)
{
    call(s, "Over:x", PAWL_CALL_OPTS(.schedule_to_close_ms = 1000));
    s->now -= 3600000;
    scene_activity(s, "Over", overstays);
    scene_settle(s);
    scene_expect(s, "i", PAWL_FAILED, "timeout: schedule-to-close of 1000 ms");
    expect_is(cancelled_after, 1000);
}

#define AT_ONCE 64 /* activities in a step */

static pawl_result goes_back(pawl_activity *act, pawl_str input)
{
    struct scene *s = scene_of(act);
    s->now -= 3600000 - 1000;
    s->mono += 1000;
    (void)pawl_runtime_step(s->rt, 0); /* as many begin as one step runs; the rest has waited */
    return pawl_ok_str(act, input);
}

static pawl_result calls_many(pawl_ctx *ctx, pawl_str input)
{
    pawl_task tasks[AT_ONCE + 6];
    int ok = 0, late = 0;
    for (size_t i = 0; i < AT_ONCE + 6; i++)
        tasks[i] = pawl_start_with(ctx, i ? "Echo" : "Back", input, policy);
    for (size_t i = 0; i < AT_ONCE + 6; i++) {
        pawl_result r = pawl_await(ctx, tasks[i]);
        ok += r.ok;
        late += r.kind == PAWL_RESULT_SCHEDULE_TO_START && r.attempts == 0;
    }
    return pawl_donef(ctx, "%d in time, %d late", ok, late);
}

SCENARIO(s08_a_call_that_waits_here_ends_in_time_though_the_clock_was_set_back)
{
    policy = PAWL_CALL_OPTS(.schedule_to_start_ms = 1000);
    scene_activity(s, "Back", goes_back);
    scene_flow(s, "Many", calls_many);
    scene_start(s, "Many", "i", "x");
    scene_settle(s);
    scene_expect(s, "i", PAWL_COMPLETED, "65 in time, 5 late");
}

#define ONE_CALL                                                                                   \
    "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 OrchestrationCompleted"
#define ONE_FAILED "OrchestrationStarted ActivityScheduled#1 ActivityFailed#1 OrchestrationFailed"

/* ---- S7 -------------------------------------------------------------------------- */

static char keys[4][100];

static pawl_result remember_key(pawl_activity *act, pawl_str input)
{
    int n = scene_ran(scene_of(act), "Key");
    scene_count(act);
    if (n < 4)
        snprintf(keys[n], sizeof(keys[n]), "%s", pawl_activity_key(act));
    return n < atoi(input.ptr) ? pawl_err(act, "again") : pawl_ok(act, pawl_activity_key(act));
}

SCENARIO(s07_key_is_the_same_for_every_attempt_and_over_a_crash)
{
    scene_activity(s, "Key", remember_key);
    call(s, "Key:2", PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 100));
    scene_crash(s);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, keys[0]);
    expect_is(scene_ran(s, "Key"), 3);
    ck_assert_str_eq(keys[0], keys[1]);
    ck_assert_str_eq(keys[0], keys[2]);
    scene_start(s, "Call", "j", "Key:0");
    ck_assert_str_ne(keys[0], keys[3]);
}

static pawl_result two_keys(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_call(ctx, "Key", input), b = pawl_call(ctx, "Key", input);
    return pawl_done(ctx, pawl_str_eq(a.value, b.value) ? "same" : "different");
}

SCENARIO(s07_two_schedules_have_two_keys)
{
    scene_activity(s, "Key", remember_key);
    scene_flow(s, "Two", two_keys);
    scene_start(s, "Two", "i", "0");
    scene_expect(s, "i", PAWL_COMPLETED, "different");
}

/* ---- S8: attempts ------------------------------------------------------------------ */

SCENARIO(s08_retries_do_not_grow_the_history)
{
    call(s, "Flaky:4", PAWL_CALL_OPTS(.attempts = 5));
    uint64_t turns = scene_stats(s).turns;
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "attempt 4");
    scene_events(s, "i", ONE_CALL);
    ck_assert_str_eq(
        completion(s),
        "{\"attempts\":4,\"last_error\":\"not yet\",\"started_ms\":1700000007000,"
        "\"tries\":["
        "{\"n\":1,\"from\":1700000000000,\"to\":1700000000000,\"error\":\"not yet\"},"
        "{\"n\":2,\"from\":1700000001000,\"to\":1700000001000,\"error\":\"not yet\"},"
        "{\"n\":3,\"from\":1700000003000,\"to\":1700000003000,\"error\":\"not yet\"}]}");
    expect_is(scene_stats(s).turns - turns, 1);
    expect_is(s->now - SCENE_T0, 1000 + 2000 + 4000);
    expect_is(scene_stats(s).activities_retried, 3);
}

SCENARIO(s08_the_error_is_what_the_activity_said_and_attempts_are_beside_it)
{
    call(s, "Fail:no luck", PAWL_CALL_OPTS(.attempts = 3, .backoff = PAWL_BACKOFF_FIXED));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_FAILED, "no luck");
    scene_events(s, "i", ONE_FAILED);
    ck_assert_str_eq(
        completion(s),
        "{\"attempts\":3,\"last_error\":\"no luck\",\"started_ms\":1700000002000,"
        "\"tries\":["
        "{\"n\":1,\"from\":1700000000000,\"to\":1700000000000,\"error\":\"no luck\"},"
        "{\"n\":2,\"from\":1700000001000,\"to\":1700000001000,\"error\":\"no luck\"}]}");
    expect_is(scene_ran(s, "Fail"), 3);
    expect_is(s->now - SCENE_T0, 2000);
}

SCENARIO(s08_one_attempt_is_the_default)
{
    call(s, "Fail:no", NULL);
    scene_expect(s, "i", PAWL_FAILED, "no");
    expect_is(scene_ran(s, "Fail"), 1);
    ck_assert_str_eq(completion(s), "");
}

SCENARIO(s08_linear_delays_and_their_cap)
{
    call(s, "Flaky:5",
         PAWL_CALL_OPTS(.attempts = 9, .backoff = PAWL_BACKOFF_LINEAR, .initial_ms = 100,
                        .cap_ms = 250));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "attempt 5");
    expect_is(s->now - SCENE_T0, 100 + 200 + 250 + 250);
}

SCENARIO(s08_jitter_stays_in_its_bounds)
{
    call(s, "Flaky:2", PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 10000, .jitter = 0.5));
    bool varied = false;
    for (int i = 0; i < 10; i++) {
        const char *id = scene_id(s, "j", i);
        int64_t began = s->now;
        scene_start(s, "Call", id, "Flaky:2");
        scene_finish(s, id);
        int64_t took = s->now - began;
        ck_assert_msg(took >= 5000 && took <= 15000, "%lld ms", (long long)took);
        varied |= took != 10000;
    }
    ck_assert(varied);
}

SCENARIO(s08_delay_survives_a_crash_to_the_millisecond)
{
    call(s, "Flaky:2", PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 5000));
    scene_advance(s, 4999);
    scene_crash(s);
    expect_is(scene_ran(s, "Flaky"), 1);
    pawl_info info = scene_info(s, "i");
    expect_is(info.waiting_count, 1);
    expect_is(info.waiting[0].attempt, 2);
    ck_assert_str_eq(info.waiting[0].last_error.ptr, "not yet");
    expect_is(info.waiting[0].due_ms, SCENE_T0 + 5000);
    scene_advance(s, 1);
    scene_expect(s, "i", PAWL_COMPLETED, "attempt 2");
}

SCENARIO(s08_errors_named_final_are_not_retried)
{
    static const char *const final[] = {"card ", "fatal", NULL};
    call(s, "Fail:card refused", PAWL_CALL_OPTS(.attempts = 5, .final_errors = final));
    scene_expect(s, "i", PAWL_FAILED, "card refused");
    expect_is(scene_ran(s, "Fail"), 1);
}

static pawl_result fail_finally(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_err_final(act, input.ptr);
}

SCENARIO(s08_err_final_is_not_retried)
{
    scene_activity(s, "Final", fail_finally);
    call(s, "Final:over", PAWL_CALL_OPTS(.attempts = 5));
    scene_expect(s, "i", PAWL_FAILED, "over");
    expect_is(scene_ran(s, "Final"), 1);
}

/* ---- S8: time-outs --------------------------------------------------------------------- */

/* Takes as long as its input says; with heartbeats every 10 ms when it begins with 'b'. */
static pawl_result slow(pawl_activity *act, pawl_str input)
{
    struct scene *s = scene_of(act);
    bool beats = input.ptr[0] == 'b';
    scene_count(act);
    for (int left = atoi(input.ptr + beats); left > 0; left -= 10) {
        s->now += 10;
        s->mono += 10;
        if (beats)
            (void)pawl_activity_heartbeat(act);
    }
    return pawl_ok(act, "slow but done");
}

SCENARIO(s08_start_to_close_fails_the_attempt_and_is_retried)
{
    scene_activity(s, "Slow", slow);
    call(s, "Slow:500", PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 10, .start_to_close_ms = 100));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_FAILED, "timeout: start-to-close of 100 ms");
    scene_events(s, "i", ONE_FAILED);
    expect_is(scene_ran(s, "Slow"), 2);
}

SCENARIO(s08_time_out_is_not_retried_when_the_policy_says_so)
{
    scene_activity(s, "Slow", slow);
    call(s, "Slow:500",
         PAWL_CALL_OPTS(.attempts = 5, .start_to_close_ms = 100, .no_retry_on_timeout = true));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_FAILED, "timeout: start-to-close of 100 ms");
    expect_is(scene_ran(s, "Slow"), 1);
}

SCENARIO(s08_in_time_is_in_time)
{
    scene_activity(s, "Slow", slow);
    call(s, "Slow:90",
         PAWL_CALL_OPTS(.start_to_close_ms = 100, .schedule_to_close_ms = 100,
                        .schedule_to_start_ms = 50, .heartbeat_ms = 100));
    scene_expect(s, "i", PAWL_COMPLETED, "slow but done");
}

SCENARIO(s08_heartbeat_bounds_the_silence)
{
    scene_activity(s, "Slow", slow);
    call(s, "Slow:500", PAWL_CALL_OPTS(.heartbeat_ms = 50));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_FAILED, "timeout: heartbeat of 50 ms");
    scene_start(s, "Call", "beats", "Slow:b500");
    scene_finish(s, "beats");
    scene_expect(s, "beats", PAWL_COMPLETED, "slow but done");
}

SCENARIO(s08_schedule_to_close_bounds_everything_together)
{
    call(s, "Fail:down",
         PAWL_CALL_OPTS(.attempts = 100, .backoff = PAWL_BACKOFF_FIXED, .initial_ms = 1000,
                        .schedule_to_close_ms = 3500));
    scene_finish(s, "i");
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_FAILED);
    ck_assert_str_eq(info.error.ptr, "down");
    ck_assert_str_eq(completion(s),
                     "{\"attempts\":4,\"last_error\":\"down\",\"started_ms\":1700000003000,"
                     "\"tries\":["
                     "{\"n\":1,\"from\":1700000000000,\"to\":1700000000000,\"error\":\"down\"},"
                     "{\"n\":2,\"from\":1700000001000,\"to\":1700000001000,\"error\":\"down\"},"
                     "{\"n\":3,\"from\":1700000002000,\"to\":1700000002000,\"error\":\"down\"}]}");
    ck_assert_int_le(s->now - SCENE_T0, 3500);
    expect_is(scene_ran(s, "Fail"), 4);
}

SCENARIO(s08_schedule_to_close_ends_a_running_attempt)
{
    scene_activity(s, "Slow", slow);
    call(s, "Slow:900", PAWL_CALL_OPTS(.attempts = 3, .schedule_to_close_ms = 300));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_FAILED, "timeout: schedule-to-close of 300 ms");
    expect_is(scene_ran(s, "Slow"), 1);
    scene_expect_empty(s);
}

/* Refused at first, then too slow. */
static pawl_result refused_then_slow(pawl_activity *act, pawl_str input)
{
    if (pawl_activity_attempt(act) == 1)
        return pawl_err(act, "refused");
    return slow(act, input);
}

SCENARIO(s08_schedule_to_close_names_the_last_error)
{
    scene_activity(s, "Slow", refused_then_slow);
    call(s, "Slow:900",
         PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 10, .schedule_to_close_ms = 300));
    scene_finish(s, "i");
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_FAILED);
    expect_text(info.error.ptr, "timeout: schedule-to-close of 300 ms; last error: refused");
    ck_assert_str_eq(completion(s),
                     "{\"kind\":\"schedule_to_close\",\"attempts\":2,\"last_error\":\"refused\","
                     "\"started_ms\":1700000000010,\"tries\":["
                     "{\"n\":1,\"from\":1700000000000,\"to\":1700000000000,"
                     "\"error\":\"refused\"}]}");
}

/* The texts of all tries of a JSON list are as they should be; how many there are. */
static size_t count_tries(pawl_str list, int64_t first)
{
    size_t n = 0;
    char at[32];
    for (pawl_str one;; n++) {
        (void)snprintf(at, sizeof(at), "/%zu", n);
        one = pawl_json_get(list, at);
        if (!one.len)
            return n;
        expect_is(pawl_json_int(one, "/n", 0), first + (int64_t)n);
        ck_assert_int_ge(pawl_json_int(one, "/to", 0), pawl_json_int(one, "/from", 1));
        expect_is(pawl_json_get(one, "/error").len, 160 + 2);
    }
}

/* For people alone: the last eight, each with the beginning of what it said. */
SCENARIO(s08_the_last_eight_tries_are_kept)
{
    char what[600];
    (void)snprintf(what, sizeof(what), "Fail:%0500d", 0);
    call(s, what,
         PAWL_CALL_OPTS(.attempts = 13, .backoff = PAWL_BACKOFF_FIXED, .initial_ms = 1000));
    scene_advance(s, 2500);
    pawl_info info = scene_info(s, "i");
    expect_is(info.waiting_count, 1);
    expect_is(count_tries(info.waiting[0].tries, 1), 3);
    scene_finish(s, "i");
    pawl_str attrs = pawl_s(completion(s));
    expect_is(pawl_json_int(attrs, "/attempts", 0), 13);
    expect_is(pawl_json_int(attrs, "/started_ms", 0), SCENE_T0 + 12000);
    expect_is(count_tries(pawl_json_get(attrs, "/tries"), 5), 8);
    ck_assert_uint_lt(pawl_json_get(attrs, "/tries").len, 2048);
}

/* The commit that records a failed attempt fails: it is one attempt all the same. */
SCENARIO(s08_a_failed_commit_makes_no_second_try)
{
    call(s, "Flaky:2", PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000));
    scene_fail(s, FAULT_OP_commit, 0, 2, FAULT_BEFORE, PAWL_BUSY);
    scene_finish(s, "i");
    pawl_str tries = pawl_json_get(pawl_s(completion(s)), "/tries");
    expect_is(pawl_json_int(tries, "/0/n", 0), 1);
    expect_is(pawl_json_get(tries, "/1").len, 0);
}

/* A restart forgets the tries before it; their number stays. */
SCENARIO(s08_tries_before_a_restart_are_a_number)
{
    call(s, "Flaky:3", PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000));
    scene_advance(s, 1500);
    scene_restart(s);
    expect_is(scene_info(s, "i").waiting[0].tries.len, 0);
    expect_is(scene_info(s, "i").waiting[0].attempt, 3);
    scene_finish(s, "i");
    ck_assert_str_eq(completion(s), "{\"attempts\":3,\"last_error\":\"not yet\","
                                    "\"started_ms\":1700000003000}");
}

/* What code sees of a call: kind, attempts, text. */
static pawl_result tell_kind(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = call_it(ctx, input);
    return pawl_donef(ctx, "%d %s %u %s %.*s", r.ok, pawl_result_kind_name(r.kind), r.attempts,
                      pawl_timed_out(r) ? "late" : "-", PAWL_FMT(r.value));
}

static void expect_kind(struct scene *s, const char *what, const pawl_call_opts *opts,
                        const char *wanted)
{
    static int n;
    char id[20];
    snprintf(id, sizeof(id), "kind%d", n++);
    policy = opts;
    scene_start(s, "Kind", id, what);
    scene_finish(s, id);
    scene_expect(s, id, PAWL_COMPLETED, wanted);
    scene_crash(s); /* and the same when it is loaded again */
    scene_expect(s, id, PAWL_COMPLETED, wanted);
}

SCENARIO(s08_a_result_has_its_kind_and_attempts)
{
    scene_flow(s, "Kind", tell_kind);
    scene_activity(s, "Slow", slow);
    expect_kind(s, "Flaky:2", PAWL_CALL_OPTS(.attempts = 5), "1 ok 2 - attempt 2");
    expect_kind(s, "Fail:(attempt 9)", NULL, "0 failed 1 - (attempt 9)");
    expect_kind(s, "Fail:no", PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 1), "0 failed 2 - no");
    expect_kind(s, "Slow:500", PAWL_CALL_OPTS(.start_to_close_ms = 100),
                "0 start_to_close 1 late timeout: start-to-close of 100 ms");
    expect_kind(s, "Slow:500", PAWL_CALL_OPTS(.heartbeat_ms = 50, .start_to_close_ms = 900),
                "0 heartbeat 1 late timeout: heartbeat of 50 ms");
    expect_kind(s, "Slow:900", PAWL_CALL_OPTS(.schedule_to_close_ms = 300),
                "0 schedule_to_close 1 late timeout: schedule-to-close of 300 ms");
    expect_kind(
        s, "Nobody:x", PAWL_CALL_OPTS(.schedule_to_start_ms = 300),
        "0 schedule_to_start 0 late timeout: schedule-to-start of 300 ms: no worker took it");
    expect_kind(s, "a/b:x", NULL,
                "0 refused 0 - activity name has a '/' at byte 1; use '.' or '-' instead");
}

static pawl_result seen_later(pawl_ctx *ctx, pawl_str input)
{
    pawl_task call =
        pawl_start_with(ctx, "Fail", input, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 1));
    pawl_task gone = pawl_timer(ctx, PAWL_DAYS(1));
    pawl_cancel(ctx, gone);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    pawl_result a = pawl_await(ctx, call), b = pawl_await(ctx, gone);
    return pawl_donef(ctx, "%s %u %.*s, %s %u", pawl_result_kind_name(a.kind), a.attempts,
                      PAWL_FMT(a.value), pawl_result_kind_name(b.kind), b.attempts);
}

SCENARIO(s08_kind_and_attempts_are_the_same_on_replay)
{
    scene_flow(s, "Later", seen_later);
    scene_start(s, "Later", "i", "no");
    scene_advance(s, 1000);
    scene_crash(s);
    scene_raise(s, "i", "Go", "1");
    scene_expect(s, "i", PAWL_COMPLETED, "failed 2 no, cancelled 0");
}

/* ---- S10 ----------------------------------------------------------------------------------- */

SCENARIO(s10_unregistered_activity_waits_for_a_worker_that_has_it)
{
    call(s, "Later:x", NULL);
    scene_advance(s, PAWL_DAYS(2));
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_RUNNING);
    expect_is(info.waiting_count, 1);
    ck_assert_str_eq(info.waiting[0].kind, "activity");
    ck_assert_str_eq(info.waiting[0].name.ptr, "Later");
    ck_assert(!info.waiting[0].running);
    scene_activity(s, "Later", slow); /* while it runs */
    scene_expect(s, "i", PAWL_COMPLETED, "slow but done");
}

SCENARIO(s10_schedule_to_start_bounds_the_wait_for_a_worker)
{
    call(s, "Nobody:x", PAWL_CALL_OPTS(.attempts = 5, .schedule_to_start_ms = 2000));
    scene_advance(s, 1999);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_crash(s);
    scene_advance(s, 1);
    scene_expect(s, "i", PAWL_FAILED, "timeout: schedule-to-start of 2000 ms: no worker took it");
    scene_events(s, "i", ONE_FAILED);
    scene_expect_empty(s);
}
