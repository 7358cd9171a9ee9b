/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_schedules.c -- Y1 to Y10: schedules.
 *
 * The clock begins at 2023-11-14T22:13:20Z.
 */
#include "queue_verbs.h"
#include "schedule_verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_MS (SCENE_T0 + 40000) /* 22:14:00 */

/* ---- Flows and verbs ------------------------------------------------------------------- */

/* Says which occurrence it is. */
static pawl_result quick(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_donef(ctx, "%lld", (long long)(pawl_scheduled_at(ctx) - SCENE_T0));
}

static pawl_result slow(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return r.ok && pawl_str_is(r.value, "fail") ? pawl_fail(ctx, "as asked") : r;
}

/* Its second execution says which occurrence it is. */
static pawl_result twice(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1)
        return pawl_continue_as_new(ctx, input, NULL);
    return quick(ctx, input);
}

static bool flows(struct scene *s)
{
    scene_flow(s, "Quick", quick);
    scene_flow(s, "Slow", slow);
    scene_flow(s, "Twice", twice);
    scene_up(s);
    if (s->kind != SCENE_JSONL)
        return true;
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_REMOVE, .name = "x")),
              PAWL_UNSUPPORTED);
    expect_text(s->reply.error.text, "has no schedules; use sqlite");
    return false;
}

static void steer(struct scene *s, pawl_op op, const char *name)
{
    expect_is(scene_do(s, PAWL_REQUEST(.op = op, .name = name)), PAWL_OK);
}

#define expect_counts(s, name, r, m, k)                                                            \
    do {                                                                                           \
        expect_is(number(s, name, "/runs"), r);                                                    \
        expect_is(number(s, name, "/missed"), m);                                                  \
        expect_is(number(s, name, "/skipped"), k);                                                 \
    } while (0)

/* How many instances there are whose id begins so. */
static int runs_of(struct scene *s, const char *prefix)
{
    pawl_page page;
    pawl_error err;
    scene_up(s);
    expect_is(
        pawl_client_list(s->c, PAWL_FILTER(.prefix = prefix, .limit = 1000), s->mem, &page, &err),
        PAWL_OK);
    return (int)page.count;
}

/* ---- Y1, Y2, Y3 --------------------------------------------------------------------------- */

SCENARIO(y01_y02_an_occurrence_starts_one_instance_that_has_its_name)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\"}");
    expect_is(number(s, "n", "/next_ms"), FIRST_MS);
    scene_advance(s, 39999);
    expect_is(runs_of(s, "n@"), 0);
    scene_advance(s, 1);
    scene_expect(s, RUN("22:14:00"), PAWL_COMPLETED, "40000");
    scene_advance(s, 5 * MINUTE);
    expect_is(runs_of(s, "n@"), 6);
    expect_counts(s, "n", 6, 0, 0);
    expect_is(number(s, "n", "/next_ms"), FIRST_MS + 6 * MINUTE);
    scene_expect(s, RUN("22:19:00"), PAWL_COMPLETED, "340000");
    expect_is(scene_depths(s).messages, 1); /* the row of the next one, and nothing else */
}

SCENARIO(y01_whatever_dies_when_it_is_started_once)
{
    static const enum fault_kind kinds[] = {FAULT_BEFORE, FAULT_AFTER};
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\"}");
    scene_advance(s, 39999);
    for (int minute = 0; minute < 8; minute++) {
        scene_fail(s, FAULT_OP_commit, minute / 2, 1, kinds[minute % 2], PAWL_UNAVAILABLE);
        s->now++;
        s->mono++;
        for (int i = 0; i < 3; i++)
            (void)pawl_runtime_step(s->rt, 0);
        scene_crash(s);
        scene_fail(s, FAULT_OP_commit, 0, 0, FAULT_BEFORE, PAWL_OK);
        scene_settle(s);
        scene_advance(s, 59999);
        expect_is(runs_of(s, "n@"), minute + 1);
        expect_counts(s, "n", minute + 1, 0, 0);
    }
}

SCENARIO(y03_cron_lines_in_a_zone)
{
    if (!flows(s))
        return;
    put(s, "n",
        "{\"cron\":[\"30 23 * * *\",\"0 7 15 * *\"],\"zone\":\"Europe/Berlin\","
        "\"orchestration\":\"Quick\"}");
    scene_advance(s, 20 * MINUTE); /* 23:30 in Berlin is 22:30Z */
    expect_is(is_there(s, RUN("22:30:00")), true);
    expect_is(number(s, "n", "/next_ms") - SCENE_T0, INT64_C(28000000)); /* 06:00Z next day */
}

SCENARIO(y04_on_the_days_when_the_clocks_change_it_runs_once)
{
    if (!flows(s))
        return;
    s->now =
        INT64_C(1711792800000); /* 2024-03-30T10:00Z: at night 02:30 does not exist in Berlin */
    put(s, "n", "{\"cron\":\"30 2 * * *\",\"zone\":\"Europe/Berlin\",\"orchestration\":\"Quick\"}");
    scene_advance(s, PAWL_DAYS(1));
    expect_is(runs_of(s, "n@"), 1);
    expect_is(is_there(s, "n@2024-03-31T01:00:00Z"), true);
    s->now = INT64_C(1729936800000); /* 2024-10-26T10:00Z: at night 02:30 exists twice */
    put(s, "n", "{\"cron\":\"30 2 * * *\",\"zone\":\"Europe/Berlin\",\"orchestration\":\"Quick\"}");
    scene_settle(s);
    expect_is(runs_of(s, "n@2024-10-27"), 0);
    scene_advance(s, PAWL_DAYS(1));
    expect_is(runs_of(s, "n@2024-10-27"), 1);
    expect_is(is_there(s, "n@2024-10-27T00:30:00Z"), true);
}

/* ---- Y5: missed ------------------------------------------------------------------------------ */

SCENARIO(y05_of_several_missed_the_latest_runs)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\"}");
    sleep_through(s, 40000 + 10 * MINUTE);
    expect_is(runs_of(s, "n@"), 1);
    expect_is(is_there(s, RUN("22:24:00")), true);
    expect_counts(s, "n", 1, 10, 0);
    scene_advance(s, MINUTE);
    expect_counts(s, "n", 2, 10, 0);
}

SCENARIO(y05_all_runs_each_one_after_the_other)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"missed\":\"all\"}");
    sleep_through(s, 40000 + 3 * MINUTE);
    expect_is(runs_of(s, "n@"), 1); /* the oldest */
    expect_is(is_there(s, RUN("22:14:00")), true);
    scene_crash(s);
    scene_raise(s, RUN("22:14:00"), "Go", "1");
    scene_settle(s);
    expect_is(runs_of(s, "n@"), 2);
    scene_raise(s, RUN("22:15:00"), "Go", "1");
    scene_settle(s);
    scene_raise(s, RUN("22:16:00"), "Go", "1");
    scene_settle(s);
    scene_raise(s, RUN("22:17:00"), "Go", "1");
    scene_settle(s);
    expect_counts(s, "n", 4, 0, 0);
    scene_advance(s, MINUTE);
    expect_counts(s, "n", 5, 0, 0);
}

SCENARIO(y05_no_more_than_the_newest_thousand_are_made_up_for)
{
    if (!flows(s))
        return;
    put(s, "n",
        "{\"every_ms\":60000,\"orchestration\":\"Quick\",\"missed\":\"all\","
        "\"overlap\":\"allow\"}");
    sleep_through(s, 40000 + 1199 * MINUTE);
    expect_counts(s, "n", 1000, 200, 0);
    expect_is(runs_of(s, "n@"), 1000);
    expect_is(is_there(s, RUN("22:14:00")), false);
}

SCENARIO(y05_what_is_older_than_the_window_never_runs)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"cron\":\"0 23 * * *\",\"orchestration\":\"Quick\",\"missed_window_ms\":60000}");
    put(s, "k",
        "{\"every_ms\":10000,\"orchestration\":\"Quick\",\"missed\":\"skip\","
        "\"overlap\":\"allow\"}");
    sleep_through(s, PAWL_HOURS(2));
    expect_counts(s, "n", 0, 1, 0);
    expect_is(number(s, "k", "/runs"), 7); /* those of the last 60 seconds, both ends included */
    expect_is(number(s, "k", "/runs") + number(s, "k", "/missed"), 720);
}

/* ---- Y6: overlap ------------------------------------------------------------------------------- */

SCENARIO(y06_skip_leaves_out_what_comes_while_a_run_is_open)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\"}");
    scene_advance(s, 40000 + 3 * MINUTE);
    expect_is(runs_of(s, "n@"), 1);
    expect_counts(s, "n", 1, 0, 3);
    expect_text(show(s, "n"), "\"open\":\"" RUN("22:14:00") "\"");
    scene_crash(s);
    scene_raise(s, RUN("22:14:00"), "Go", "1");
    scene_advance(s, MINUTE);
    expect_counts(s, "n", 2, 0, 3);
    expect_text(show(s, "n"),
                "\"last_run\":{\"instance\":\"" RUN("22:14:00") "\",\"state\":\"completed\"");
}

SCENARIO(y06_queue_lets_the_newest_wait)
{
    if (!flows(s))
        return;
    put(s, "n",
        "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"overlap\":\"queue\","
        "\"queue_max\":2}");
    scene_advance(s, 40000 + 4 * MINUTE);
    expect_counts(s, "n", 1, 0, 2);
    scene_crash(s);
    scene_raise(s, RUN("22:14:00"), "Go", "1");
    scene_settle(s);
    expect_is(is_there(s, RUN("22:17:00")), true);
    expect_is(is_there(s, RUN("22:18:00")), false);
    scene_raise(s, RUN("22:17:00"), "Go", "1");
    scene_settle(s);
    expect_is(is_there(s, RUN("22:18:00")), true);
    expect_counts(s, "n", 3, 0, 2);
}

SCENARIO(y06_cancel_and_terminate_make_room_for_the_next)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"overlap\":\"cancel\"}");
    put(s, "t", "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"overlap\":\"terminate\"}");
    scene_advance(s, 40000 + 2 * MINUTE);
    scene_expect(s, RUN("22:14:00"), PAWL_CANCELLED, "the next run of schedule 'n' is due");
    expect_is(scene_info(s, RUN("22:16:00")).state, PAWL_RUNNING);
    expect_is(scene_info(s, "t@2023-11-14T22:15:00Z").state, PAWL_CANCELLED);
    expect_is(scene_info(s, "t@2023-11-14T22:16:00Z").state, PAWL_RUNNING);
    expect_counts(s, "n", 3, 0, 0);
    expect_counts(s, "t", 3, 0, 0);
}

SCENARIO(y06_allow_starts_them_side_by_side)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"overlap\":\"allow\"}");
    scene_advance(s, 40000 + 2 * MINUTE);
    expect_is(runs_of(s, "n@"), 3);
    expect_counts(s, "n", 3, 0, 0);
}

SCENARIO(y06_a_run_that_is_removed_frees_the_schedule)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\"}");
    scene_advance(s, 40000);
    expect_is(
        scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = RUN("22:14:00"), .force = true)),
        PAWL_OK);
    scene_advance(s, MINUTE);
    expect_is(is_there(s, RUN("22:15:00")), true);
    expect_counts(s, "n", 2, 0, 0);
}

SCENARIO(y02_y06_an_id_that_is_taken_starts_nothing_and_blocks_nothing)
{
    if (!flows(s))
        return;
    scene_start(s, "Quick", RUN("22:14:00"), "1");
    scene_settle(s);
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\"}");
    scene_advance(s, 40000);
    expect_is(number(s, "n", "/existed"), 1);
    expect_counts(s, "n", 0, 0, 0);
    scene_advance(s, MINUTE);
    expect_counts(s, "n", 1, 0, 0);
    expect_is(scene_info(s, RUN("22:15:00")).state, PAWL_RUNNING);
}

/* ---- Y7, Y8 ------------------------------------------------------------------------------------- */

SCENARIO(y07_a_clock_that_steps_back_starts_nothing_twice)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\"}");
    scene_advance(s, 40000 + 2 * MINUTE);
    expect_counts(s, "n", 3, 0, 0);
    s->now -= 2 * MINUTE;
    scene_settle(s);
    scene_advance(s, 2 * MINUTE);
    expect_counts(s, "n", 3, 0, 0);
    scene_crash(s);
    scene_advance(s, MINUTE);
    expect_counts(s, "n", 4, 0, 0);
    expect_is(runs_of(s, "n@"), 4);
}

SCENARIO(y08_pause_keeps_it_and_resume_treats_what_passed_as_missed)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\"}");
    scene_advance(s, 40000);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PAUSE, .name = "n",
                                       .data = pawl_s("month end"))),
              PAWL_OK);
    expect_is(scene_depths(s).messages, 0); /* no row */
    expect_text(show(s, "n"), "\"paused\":true,\"reason\":\"month end\"");
    scene_advance(s, 3 * MINUTE);
    scene_crash(s);
    expect_counts(s, "n", 1, 0, 0);
    steer(s, PAWL_OP_SCHEDULE_RESUME, "n");
    scene_settle(s);
    expect_counts(s, "n", 2, 2, 0);
    scene_advance(s, MINUTE);
    expect_counts(s, "n", 3, 2, 0);
}

SCENARIO(y08_a_failed_run_pauses_it_if_asked_for)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"pause_on_failure\":true}");
    scene_advance(s, 40000);
    scene_raise(s, RUN("22:14:00"), "Go", "fail");
    scene_advance(s, 3 * MINUTE);
    expect_counts(s, "n", 1, 0, 0);
    expect_text(show(s, "n"), "\"reason\":\"run '" RUN("22:14:00") "' failed\"");
}

SCENARIO(y08_trigger_starts_beside_what_runs_once_a_key)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\"}");
    scene_advance(s, 40000);
    for (int i = 0; i < 2; i++) {
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_TRIGGER, .name = "n",
                                           .idempotency_key = "k1")),
                  PAWL_OK);
        ck_assert_str_eq(s->reply.instance, "n@manual-k1");
        scene_settle(s);
    }
    expect_is(scene_info(s, "n@manual-k1").state, PAWL_RUNNING);
    expect_is(runs_of(s, "n@"), 2);
    steer(s, PAWL_OP_SCHEDULE_TRIGGER, "n");
    scene_settle(s);
    expect_is(runs_of(s, "n@"), 3);
    scene_raise(s, "n@manual-k1", "Go", "1");
    scene_settle(s);
    expect_text(show(s, "n"), "\"open\":\"" RUN("22:14:00") "\""); /* that one still is */
    expect_counts(s, "n", 1, 0, 0);
}

static pawl_status backfill(struct scene *s, int64_t from, int64_t to, const char *more)
{
    pawl_str args = pawl_mem_printf(s->mem, "{\"from_ms\":%lld,\"to_ms\":%lld%s}", (long long)from,
                                    (long long)to, more);
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_BACKFILL, .name = "n", .data = args));
}

SCENARIO(y08_backfill_runs_a_range_of_the_past_one_by_one)
{
    if (!flows(s))
        return;
    scene_start(s, "Quick", RUN("21:02:00"), "1");
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\"}");
    int64_t from = FIRST_MS - 74 * MINUTE; /* 21:00 */
    expect_is(backfill(s, from, from + 3 * MINUTE, ""), PAWL_OK);
    expect_is(backfill(s, from, from + 3 * MINUTE, ""), PAWL_CONFLICT);
    static const char *const order[] = {RUN("21:00:00"), RUN("21:01:00"), RUN("21:03:00")};
    for (int i = 0; i < 3; i++) {
        scene_settle(s);
        expect_is(runs_of(s, "n@2023-11-14T21"), i + 2);
        scene_crash(s);
        scene_raise(s, order[i], "Go", "1");
        scene_settle(s);
    }
    expect_is(number(s, "n", "/backfill/started"), 3);
    expect_is(number(s, "n", "/backfill/existed"), 1);
    expect_is(pawl_json_bool(pawl_s(show(s, "n")), "/backfill/on", false), false);
    expect_counts(s, "n", 0, 0, 0);
    expect_is(backfill(s, from, from + PAWL_DAYS(8), ""), PAWL_OK); /* it ends now */
    expect_is(number(s, "n", "/backfill/to_ms"), s->now);
}

SCENARIO(y08_backfill_by_another_spec_all_at_once)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":3600000,\"orchestration\":\"Quick\"}");
    int64_t from = FIRST_MS - 74 * MINUTE;
    expect_is(backfill(s, from, s->now, ",\"allow\":true,\"spec\":{\"every_ms\":60000}"), PAWL_OK);
    scene_settle(s);
    expect_is(number(s, "n", "/backfill/started"), 74);
    expect_is(backfill(s, 0, s->now, ",\"spec\":{\"every_ms\":1000}"), PAWL_LIMIT);
    expect_text(s->reply.error.text, "more than 10000 occurrences");
}

/* ---- Y9, Y10 -------------------------------------------------------------------------------------- */

static void write_zone(const char *dir, const char *from)
{
    char command[300];
    (void)snprintf(command, sizeof(command), "cp /usr/share/zoneinfo/%s %s/Here", from, dir);
    ck_assert_int_eq(system(command), 0);
}

SCENARIO(y09_a_zone_that_changes_or_vanishes_is_noticed_at_start)
{
    char dir[] = "/tmp/pawl-zones-XXXXXX", file[60];
    if (!flows(s))
        return;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(file, sizeof(file), "%s/Here", dir);
    write_zone(dir, "Europe/Berlin");
    setenv("TZDIR", dir, 1);
    put(s, "n", "{\"cron\":\"0 6 * * *\",\"zone\":\"Here\",\"orchestration\":\"Quick\"}");
    put(s, "other", "{\"every_ms\":3600000,\"orchestration\":\"Quick\"}");
    expect_is(number(s, "n", "/next_ms"), SCENE_T0 + INT64_C(24400000)); /* 05:00Z */
    scene_advance(s, 1000);
    write_zone(dir, "Europe/Lisbon");
    scene_crash(s);
    scene_settle(s);
    expect_is(number(s, "n", "/next_ms"), SCENE_T0 + INT64_C(28000000)); /* 06:00Z */
    (void)unlink(file);
    scene_crash(s);
    scene_settle(s);
    expect_text(show(s, "n"), "\"finding\":\"zone 'Here' is unknown");
    expect_is(number(s, "n", "/next_ms"), 0);
    scene_advance(s, PAWL_HOURS(1));
    expect_counts(s, "other", 1, 0, 0); /* others go on */
    write_zone(dir, "Europe/Berlin");
    scene_crash(s);
    scene_settle(s);
    expect_is(pawl_json_get(pawl_s(show(s, "n")), "/finding").len, 0);
    scene_advance(s, PAWL_HOURS(6));
    expect_is(is_there(s, "n@2023-11-15T05:00:00Z"), true);
    unsetenv("TZDIR");
    (void)unlink(file);
    (void)rmdir(dir);
}

SCENARIO(y10_code_knows_its_occurrence_after_continue_as_new_too)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Twice\",\"max_runs\":1}");
    scene_advance(s, 40000 + 2 * MINUTE);
    scene_expect(s, RUN("22:14:00"), PAWL_COMPLETED, "40000");
    expect_is(scene_info(s, RUN("22:14:00")).execution, 2);
    expect_is(runs_of(s, "n@"), 1); /* max_runs */
    expect_is(number(s, "n", "/next_ms"), 0);
    scene_start(s, "Quick", "by-hand", "1");
    scene_expect(s, "by-hand", PAWL_COMPLETED, "-1700000000000");
}

/* ---- The object -------------------------------------------------------------------------------- */

SCENARIO(y01_put_counts_revisions_and_a_new_spec_counts_from_now_on)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"cron\":\"0 0 1 1 *\",\"orchestration\":\"Quick\"}");
    expect_is(s->reply.revision, 1);
    scene_advance(s, 10 * MINUTE);
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\",\"until_ms\":1700000760000}");
    expect_is(s->reply.revision, 2);
    scene_settle(s);
    expect_counts(s, "n", 0, 0, 0); /* nothing of the past */
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PUT, .name = "n", .if_revision = 1,
                                       .data = pawl_s(
                                           "{\"every_ms\":60000,\"orchestration\":\"Quick\"}"))),
              PAWL_CONFLICT);
    expect_text(s->reply.error.text, "has revision 2, not 1");
    expect_is(
        scene_do(s,
                 PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PUT, .name = "n", .if_revision = PAWL_IF_NEW,
                              .data = pawl_s("{\"every_ms\":60000,\"orchestration\":\"Quick\"}"))),
        PAWL_EXISTS);
    scene_advance(s, 10 * MINUTE);
    expect_counts(s, "n", 3, 0, 0); /* `until` */
    expect_is(scene_depths(s).messages, 0);
    steer(s, PAWL_OP_SCHEDULE_REMOVE, "n");
    ck_assert_str_eq(show(s, "n"), "none");
    expect_is(runs_of(s, "n@"), 3); /* its runs stay */
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PAUSE, .name = "n")), PAWL_NOT_FOUND);
}

SCENARIO(y01_an_occurrence_may_push_to_a_queue)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"queue\":\"q\",\"priority\":3,\"input\":{\"a\":1}}");
    scene_advance(s, 40000 + 2 * MINUTE);
    expect_counts(s, "n", 3, 0, 0);
    expect_is(runs_of(s, "n@"), 0);
    scene_crash(s);
    ck_assert_str_eq(q_all(s, "q"), "{\"a\":1}:ready {\"a\":1}:ready {\"a\":1}:ready");
}

/* A trigger and a backfill that are repeated push nothing twice: the occurrence is the dedup id. */
SCENARIO(y02_a_repeated_trigger_or_backfill_pushes_once)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"queue\":\"q\",\"input\":1}");
    for (int i = 0; i < 3; i++) {
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_TRIGGER, .name = "n",
                                           .idempotency_key = "k")),
                  PAWL_OK);
        scene_settle(s);
        if (i == 1)
            scene_crash(s); /* what was pushed is found in the store again */
    }
    ck_assert_str_eq(q_all(s, "q"), "1:ready");
    for (int i = 0; i < 2; i++) {
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_BACKFILL, .name = "n",
                                           .data = pawl_s("{\"from_ms\":1699999800000,"
                                                          "\"to_ms\":1699999900000}"))),
                  PAWL_OK);
        scene_settle(s);
    }
    ck_assert_str_eq(q_all(s, "q"), "1:ready 1:ready 1:ready");
}

SCENARIO(y01_jitter_is_later_and_the_id_is_the_occurrence)
{
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Quick\",\"jitter_ms\":20000}");
    scene_advance(s, 40000);
    for (int i = 0; i < 10; i++) { /* a look at the occurrence itself is too early */
        steer(s, PAWL_OP_SCHEDULE_RESUME, "n");
        scene_advance(s, MINUTE);
    }
    expect_is(runs_of(s, "n@"), 10);
    expect_counts(s, "n", 10, 0, 0);
    int64_t later = 0;
    for (int i = 0; i < 10; i++) {
        char id[60];
        (void)snprintf(id, sizeof(id), "n@2023-11-14T22:%d:00Z", 14 + i);
        int64_t delay = scene_info(s, id).created_ms - (FIRST_MS + i * MINUTE);
        ck_assert_int_ge(delay, 0);
        ck_assert_int_lt(delay, 20000);
        later += delay;
    }
    ck_assert_int_gt(later, 0);
}

SCENARIO(y01_bad_schedules_are_refused_with_one_line_and_nothing_is_stored)
{
    static const struct {
        const char *json;
        pawl_status status;
        const char *says;
    } bad[] = {
        {"{\"orchestration\":\"Quick\"}",                                               PAWL_INVALID,   "no time"    },
        {"{\"every_ms\":60000}",                                                        PAWL_INVALID,   ""           },
        {"{\"every_ms\":999,\"orchestration\":\"Quick\"}",                              PAWL_INVALID,   "every_ms"   },
        {"{\"every_ms\":60000,\"orchestration\":\"Quick\",\"queue\":\"q\"}",            PAWL_INVALID,   ""           },
        {"{\"cron\":\"30 2 30 2 *\",\"orchestration\":\"Quick\"}",                      PAWL_LIMIT,     "never"      },
        {"{\"at_ms\":[5],\"orchestration\":\"Quick\"}",                                 PAWL_LIMIT,     "never fires"},
        {"{\"cron\":\"0 6 * * *\",\"zone\":\"Mars/Base\",\"orchestration\":\"Quick\"}",
         PAWL_NOT_FOUND,                                                                                "Mars/Base"  },
        {"{\"every_ms\":60000,\"orchestration\":\"Quikc\"}",                            PAWL_NOT_FOUND,
         "did you mean 'Quick'"                                                                                      },
        {"{\"every_ms\":60000,\"orchestration\":\"Quick\",\"version\":\"9.0.0\"}",      PAWL_NOT_FOUND,
         "9.0.0"                                                                                                     },
        {"{\"every_ms\":60000,\"orchestration\":\"Quick\",\"jitter_ms\":30000}",        PAWL_INVALID,
         "jitter_ms"                                                                                                 },
        {"{\"evry\":1}",                                                                PAWL_INVALID,   "evry"       },
        {"[]",                                                                          PAWL_INVALID,   ""           },
    };
    if (!flows(s))
        return;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pawl_status rc = try_put(s, "n", bad[i].json);
        ck_assert_msg(rc == bad[i].status, "%s: %d %s", bad[i].json, rc, s->reply.error.text);
        expect_text(s->reply.error.text, bad[i].says);
        ck_assert_ptr_null(strchr(s->reply.error.text, '\n'));
    }
    expect_is(try_put(s, "a/b", "{\"every_ms\":60000,\"orchestration\":\"Quick\"}"), PAWL_INVALID);
    expect_is(backfill(s, 5, 4, ""), PAWL_INVALID);
    expect_is(backfill(s, 5, 6, ",\"odd\":1"), PAWL_INVALID);
    expect_is(backfill(s, s->now + 5, s->now + 6, ""), PAWL_INVALID);
    expect_is(backfill(s, 5, 6, ""), PAWL_NOT_FOUND);
    ck_assert_str_eq(show(s, "n"), "none");
    expect_is(scene_depths(s).messages, 0);
}

SCENARIO(y01_lists_are_by_name_in_pages)
{
    if (!flows(s))
        return;
    for (int i = 0; i < 5; i++)
        put(s, scene_id(s, "n", i), "{\"every_ms\":60000,\"orchestration\":\"Quick\"}");
    pawl_str page;
    pawl_error err;
    expect_is(pawl_schedule_list(s->c, "n", "n1", 2, s->mem, &page, &err), PAWL_OK);
    expect_is(pawl_json_count(page, ""), 2);
    expect_text(pawl_json_text(s->mem, page, "/0/name", "").ptr, "n2");
    expect_is(pawl_schedule_list(s->c, NULL, NULL, 0, s->mem, &page, &err), PAWL_OK);
    expect_is(pawl_json_count(page, ""), 5);
    expect_is(pawl_schedule_list(s->c, NULL, NULL, 1001, s->mem, &page, &err), PAWL_INVALID);
}
