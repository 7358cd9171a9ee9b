/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_details.c -- S39: the next attempt goes on from where the last one got to.
 *
 * Details of a heartbeat live as long as the work row: every test ends with a look at the store,
 * which has none left.
 */
#include "pawl/worker.h"
#include "scene.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Helpers ----------------------------------------------------------------------------- */

static size_t stored(struct scene *s)
{
    pawl_object_list list = {0};
    expect_is(s->store->ops->list_objects(s->store, PAWL_OBJECT_DETAILS, (pawl_str){0},
                                          (pawl_str){0}, 100, s->mem, &list, NULL),
              PAWL_OK);
    return list.count;
}

static const pawl_call_opts *policy;

static pawl_result call_it(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[] = {pawl_start_with(ctx, "Copy", input, policy), pawl_wait_event(ctx, "Stop")};
    return pawl_race(ctx, t, 2) == 1 ? pawl_done(ctx, "stopped") : pawl_await(ctx, t[0]);
}

static void call(struct scene *s, pawl_activity_fn *fn, const pawl_call_opts *opts)
{
    policy = opts;
    if (fn)
        scene_activity(s, "Copy", fn);
    scene_flow(s, "Flow", call_it);
    scene_start(s, "Flow", "i", "x");
}

static char token[80];

/* The first attempts beat and do what their input says; a later one returns what it resumes. */
static pawl_result copy(pawl_activity *act, pawl_str input)
{
    pawl_str from = pawl_s("nothing");
    bool resumed = pawl_activity_resume(act, &from);
    uint32_t attempt = pawl_activity_attempt(act);
    (void)input;
    scene_count(act);
    if (!resumed)
        from = pawl_s("nothing");
    if (attempt == 1 && resumed)
        return pawl_err_final(act, "resumed at once");
    if (attempt == 1) {
        (void)pawl_activity_beat(act, pawl_s("page 1"));
        (void)pawl_activity_beat(act, pawl_s("page 2"));
        return pawl_err(act, "torn");
    }
    if (attempt == 2) /* without details of its own: those of the first stay */
        return pawl_err(act, pawl_str_is(from, "page 2") ? "torn again" : "wrong page");
    return pawl_okf(act, "from %.*s", PAWL_FMT(from));
}

/* ---- In the process ------------------------------------------------------------------------ */

SCENARIO(s39_the_next_attempt_resumes_where_the_last_one_got_to)
{
    call(s, copy, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000));
    scene_start(s, "Flow", "j", "x"); /* its beats are not due yet: they go with its failure */
    scene_settle(s);
    expect_is(scene_ran(s, "Copy"), 2);
    expect_is(stored(s), 2);
    ck_assert_str_eq(scene_info(s, "i").waiting[0].details.ptr, "page 2");
    scene_finish(s, "i");
    scene_finish(s, "j");
    scene_expect(s, "i", PAWL_COMPLETED, "from page 2");
    scene_expect(s, "j", PAWL_COMPLETED, "from page 2");
    expect_is(stored(s), 0);
}

SCENARIO(s39_details_survive_a_crash_between_two_attempts)
{
    call(s, copy, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000));
    scene_settle(s);
    scene_crash(s);
    ck_assert_str_eq(scene_info(s, "i").waiting[0].details.ptr, "page 2");
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "from page 2");
    expect_is(stored(s), 0);
}

/* The commit that has the failed attempt fails: it is decided again, with its details. */
SCENARIO(s39_a_failed_commit_loses_no_details)
{
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 1, 2, FAULT_BEFORE, PAWL_BUSY);
    call(s, copy, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "from page 2");
    expect_is(stored(s), 0);
}

/* Details that cannot be read are waited for: an attempt without them would begin anew. */
SCENARIO(s39_an_attempt_waits_until_its_details_can_be_read)
{
    call(s, copy, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000));
    scene_settle(s);
    scene_fail(s, FAULT_OP_read_object, 0, 3, FAULT_BEFORE, PAWL_UNAVAILABLE);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "from page 2");
}

static pawl_result too_much(pawl_activity *act, pawl_str input)
{
    static char bytes[16 * 1024 + 1];
    pawl_str from = {0};
    (void)input;
    scene_count(act);
    if (pawl_activity_attempt(act) > 1)
        return pawl_activity_resume(act, &from) ? pawl_okf(act, "%zu bytes", from.len)
                                                : pawl_ok(act, "none");
    memset(bytes, 'x', sizeof(bytes));
    (void)pawl_activity_beat(act, (pawl_str){bytes, sizeof(bytes) - 1});
    ck_assert(pawl_activity_beat(act, (pawl_str){bytes, sizeof(bytes)})); /* still wanted */
    (void)pawl_activity_beat(act, (pawl_str){NULL, 3});
    return pawl_err(act, "again");
}

SCENARIO(s39_details_over_the_limit_are_refused_and_those_before_stand)
{
    call(s, too_much, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 10));
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "16384 bytes");
    ck_assert(scene_logged(s, "details of a heartbeat refused"));
}

static pawl_result silent(pawl_activity *act, pawl_str input)
{
    struct scene *s = scene_of(act);
    pawl_str from;
    (void)input;
    scene_count(act);
    if (pawl_activity_resume(act, &from))
        return pawl_okf(act, "from %.*s", PAWL_FMT(from));
    (void)pawl_activity_beat(act, pawl_s("half"));
    s->now += 500;
    s->mono += 500;
    return pawl_ok(act, "too late");
}

/* Those of the second one are in memory when it times out: the first one's were written less than a
 * second ago. */
SCENARIO(s39_a_time_out_keeps_the_details)
{
    call(s, silent, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 10, .heartbeat_ms = 50));
    scene_start(s, "Flow", "j", "x");
    scene_finish(s, "i");
    scene_finish(s, "j");
    scene_expect(s, "i", PAWL_COMPLETED, "from half");
    scene_expect(s, "j", PAWL_COMPLETED, "from half");
}

static pawl_result gone(pawl_activity *act, pawl_str input)
{
    (void)input;
    scene_count(act);
    (void)pawl_activity_beat(act, pawl_s("for nobody"));
    return pawl_err(act, "again");
}

SCENARIO(s39_details_go_with_the_call_that_is_withdrawn)
{
    call(s, gone, PAWL_CALL_OPTS(.attempts = 100, .initial_ms = 1000));
    scene_settle(s);
    expect_is(stored(s), 1);
    scene_raise(s, "i", "Stop", "");
    scene_expect(s, "i", PAWL_COMPLETED, "stopped");
    expect_is(stored(s), 0);
}

SCENARIO(s39_details_go_with_the_instance_that_is_removed)
{
    call(s, gone, PAWL_CALL_OPTS(.attempts = 100, .initial_ms = 1000));
    scene_settle(s);
    scene_crash(s); /* which rows have details is found out again */
    expect_is(stored(s), 1);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i", .force = true)),
              PAWL_OK);
    scene_settle(s);
    expect_is(stored(s), 0);
}

/* Details of a row that is gone: the next process sweeps them. */
SCENARIO(s39_details_left_behind_are_swept)
{
    call(s, gone, PAWL_CALL_OPTS(.attempts = 100, .initial_ms = 1000));
    scene_settle(s);
    scene_down(s);
    pawl_object object = {.kind = PAWL_OBJECT_DETAILS,
                          .name = pawl_s("00000000000f4240"),
                          .version = PAWL_VERSION_ANY,
                          .data = pawl_s("of a row that is gone")};
    pawl_round_extra extra = {.size = sizeof(extra), .objects = &object, .object_count = 1};
    pawl_round round = {.extra = &extra};
    pawl_fence fence;
    expect_is(s->store->ops->take(s->store, s->now, &fence, NULL), PAWL_OK);
    expect_is(s->store->ops->commit(s->store, &fence, &round, 1, s->now, NULL), PAWL_OK);
    expect_is(stored(s), 2);
    scene_up(s);
    scene_settle(s);
    expect_is(stored(s), 1);
}

/* ---- While it runs ------------------------------------------------------------------------- */

static atomic_int go_on;

static pawl_result beats_and_waits(pawl_activity *act, pawl_str input)
{
    pawl_str from;
    (void)input;
    scene_count(act);
    if (pawl_activity_resume(act, &from))
        return pawl_okf(act, "from %.*s", PAWL_FMT(from));
    for (int i = 1; i <= 300; i++, usleep(1000))
        (void)pawl_activity_beat(act, pawl_mem_printf(pawl_activity_mem(act), "%d", i));
    while (!atomic_load(&go_on))
        usleep(1000);
    return pawl_err(act, "again");
}

/* Three hundred beats in a row are a few commits, and the last of them is stored while it runs on. */
SCENARIO(s39_details_are_stored_within_a_second_while_it_runs)
{
    atomic_store(&go_on, 0);
    scene_threads(s);
    call(s, beats_and_waits, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 1));
    uint64_t commits = 0;
    for (int i = 0; i < 5000; i++, usleep(1000)) {
        const pawl_info info = scene_info(s, "i");
        commits = scene_stats(s).commits;
        if (info.waiting_count == 2 && pawl_str_is(info.waiting[0].details, "300"))
            break;
    }
    ck_assert_msg(commits < 20, "%llu commits", (unsigned long long)commits);
    expect_is(stored(s), 1);
    atomic_store(&go_on, 1);
    pawl_info info;
    expect_is(pawl_client_wait(s->c, "i", 0, 60000, s->mem, &info, NULL), PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "from 300");
    expect_is(stored(s), 0);
}

static pawl_result beats_once_told(pawl_activity *act, pawl_str input)
{
    (void)input;
    scene_count(act);
    while (!atomic_load(&go_on))
        usleep(1000);
    (void)pawl_activity_beat(act, pawl_s("once"));
    while (atomic_load(&go_on) == 1)
        usleep(1000);
    return pawl_ok(act, "done");
}

static bool is_shown(struct scene *s, const char *details)
{
    const pawl_info info = scene_info(s, "i");
    return info.waiting_count == 2 && pawl_str_is(info.waiting[0].details, details);
}

/* Nothing beats again: what the failed commit had is written by a later one. */
SCENARIO(s39_details_in_flight_with_a_failed_commit_are_written_again)
{
    atomic_store(&go_on, 0);
    scene_threads(s);
    call(s, beats_once_told, NULL);
    while (!scene_ran(s, "Copy"))
        usleep(1000);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    atomic_store(&go_on, 1);
    for (int i = 0; i < 10000 && !is_shown(s, "once"); i++)
        usleep(1000);
    ck_assert(is_shown(s, "once"));
    atomic_store(&go_on, 2);
    pawl_info info;
    expect_is(pawl_client_wait(s->c, "i", 0, 60000, s->mem, &info, NULL), PAWL_OK);
    expect_is(stored(s), 0);
}

/* ---- Outside the process --------------------------------------------------------------------- */

struct got {
    bool answered;
    pawl_status status;
    size_t count;
    char details[80];
};

static void on_reply(void *arg, const pawl_worker_reply *reply)
{
    struct got *got = arg;
    *got = (struct got){.answered = true, .status = reply->status, .count = reply->count};
    if (!reply->count)
        return;
    (void)snprintf(token, sizeof(token), "%.*s", PAWL_FMT(reply->leases[0].token));
    (void)snprintf(got->details, sizeof(got->details), "%.*s", PAWL_FMT(reply->leases[0].details));
}

static struct got until_answered(struct scene *s, const struct got *got)
{
    for (int i = 0; i < 300 && !got->answered; i++)
        scene_advance(s, 1);
    ck_assert(got->answered);
    return *got;
}

static struct got poll_once(struct scene *s)
{
    const char *const names[] = {"Copy"};
    struct got got = {0};
    scene_up(s);
    expect_is(pawl_worker_poll(
                  s->c,
                  PAWL_POLL(.activities = names, .activity_count = 1, .max = 1, .lock_ms = 1000),
                  on_reply, &got, NULL),
              PAWL_OK);
    return until_answered(s, &got);
}

static pawl_status beat(struct scene *s, const char *details)
{
    struct got got = {0};
    expect_is(pawl_worker_beat(s->c, token, 1000, pawl_s(details), on_reply, &got, NULL), PAWL_OK);
    return until_answered(s, &got).status;
}

SCENARIO(s39_a_worker_outside_gets_the_details_of_the_one_before)
{
    call(s, NULL, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 10));
    ck_assert_str_eq(poll_once(s).details, "");
    expect_is(beat(s, "{\"at\":5}"), PAWL_OK);
    expect_is(beat(s, ""), PAWL_OK); /* those before stand */
    scene_crash(s);                  /* they were durable with the answer */
    ck_assert_str_eq(scene_info(s, "i").waiting[0].details.ptr, "{\"at\":5}");
    scene_advance(s, 1500); /* its lease is over */
    ck_assert_str_eq(poll_once(s).details, "{\"at\":5}");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token,
                                       .data = pawl_s("by request"))),
              PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token, .failed = true,
                                       .data = pawl_s("torn"))),
              PAWL_OK);
    scene_advance(s, 100);
    ck_assert_str_eq(poll_once(s).details, "by request");
    expect_is(
        scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token, .data = pawl_s("ok"))),
        PAWL_OK);
    scene_expect(s, "i", PAWL_COMPLETED, "ok");
    expect_is(beat(s, "late"), PAWL_OK); /* "cancelled" */
    expect_is(stored(s), 0);
}

SCENARIO(s39_bad_details_of_a_worker_are_refused)
{
    static char bytes[16 * 1024 + 2];
    struct got got = {0};
    pawl_error err = {0};
    memset(bytes, 'x', sizeof(bytes) - 1);
    call(s, NULL, NULL);
    expect_is(poll_once(s).count, 1);
    expect_is(pawl_worker_beat(s->c, token, 1000, pawl_s(bytes), on_reply, &got, &err), PAWL_LIMIT);
    expect_text(err.text, "details of 16385 bytes are over the limit of 16384");
    expect_is(pawl_worker_beat(s->c, token, 1000, (pawl_str){NULL, 2}, on_reply, &got, &err),
              PAWL_MISUSE);
    expect_is(
        scene_do(s, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token, .data = pawl_s(bytes))),
        PAWL_LIMIT);
    expect_is(stored(s), 0);
    bytes[sizeof(bytes) - 2] = 0; /* the largest */
    expect_is(beat(s, bytes), PAWL_OK);
    expect_is(stored(s), 1);
}

/* An activity that returned pawl_pending(): its token beats with details, too. */
static pawl_result hand_out(pawl_activity *act, pawl_str input)
{
    pawl_str from;
    (void)input;
    scene_count(act);
    (void)snprintf(token, sizeof(token), "%s", pawl_activity_token(act));
    if (pawl_activity_resume(act, &from))
        return pawl_okf(act, "from %.*s", PAWL_FMT(from));
    (void)pawl_activity_beat(act, pawl_s("began"));
    return pawl_pending(act);
}

SCENARIO(s39_a_pending_activity_keeps_its_details)
{
    call(s, hand_out, PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 10));
    scene_settle(s);
    ck_assert_str_eq(scene_info(s, "i").waiting[0].details.ptr, "began");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token,
                                       .data = pawl_s("further"))),
              PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token, .failed = true,
                                       .data = pawl_s("torn"))),
              PAWL_OK);
    scene_finish(s, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "from further");
    expect_is(stored(s), 0);
}
