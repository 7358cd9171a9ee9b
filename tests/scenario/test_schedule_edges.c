/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_schedule_edges.c -- schedules that are put, paused and stored in odd moments.
 *
 * The clock begins at 2023-11-14T22:13:20Z.
 */
#include "queue_verbs.h"
#include "schedule_verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pawl_result quick(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_donef(ctx, "1");
}

static pawl_result slow(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static bool flows(struct scene *s)
{
    scene_flow(s, "Quick", quick);
    scene_flow(s, "Slow", slow);
    scene_up(s);
    return s->kind != SCENE_JSONL;
}

#define EVERY_MINUTE "{\"every_ms\":60000,\"orchestration\":\"Quick\"}"

static const char *letters(struct scene *s, size_t count)
{
    char *text = pawl_mem_alloc(s->mem, count + 1);
    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}

/* ---- What does not fit an object ------------------------------------------------------------ */

SCENARIO(y08_a_reason_that_is_long_or_no_text_is_refused)
{
    if (!flows(s))
        return;
    put(s, "n", EVERY_MINUTE);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PAUSE, .name = "n",
                                       .data = pawl_s(letters(s, 300000)))),
              PAWL_LIMIT);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PAUSE, .name = "n",
                                       .data = pawl_s("a\xff\xfe"))),
              PAWL_INVALID);
    expect_is(pawl_json_bool(pawl_s(show(s, "n")), "/paused", false), false);
}

SCENARIO(y08_a_long_spec_of_a_backfill_is_refused)
{
    if (!flows(s))
        return;
    put(s, "n", EVERY_MINUTE);
    pawl_str args = pawl_mem_printf(
        s->mem, "{\"from_ms\":5,\"to_ms\":6,\"spec\":{\"every_ms\":60000,\"input\":\"%s\"}}",
        letters(s, 300000));
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_BACKFILL, .name = "n", .data = args)),
              PAWL_LIMIT);
}

SCENARIO(y01_a_long_name_is_refused)
{
    if (!flows(s))
        return;
    const char *name = pawl_mem_printf(s->mem, "%s-deadletter-deadletter", letters(s, 250)).ptr;
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PUT, .name = name,
                                       .data = pawl_s(EVERY_MINUTE))),
              PAWL_LIMIT);
}

static void damage(struct scene *s, const char *name)
{
    pawl_fence fence = {0};
    pawl_error err = {0};
    pawl_object object = {.kind = PAWL_OBJECT_SCHEDULE,
                          .name = pawl_s(name),
                          .version = PAWL_VERSION_ANY,
                          .data = pawl_s("[")};
    pawl_round_extra extra = {.size = sizeof(extra), .objects = &object, .object_count = 1};
    pawl_round round = {.extra = &extra};
    scene_down(s);
    expect_is(s->store->ops->take(s->store, s->now, &fence, &err), PAWL_OK);
    expect_is(s->store->ops->commit(s->store, &fence, &round, 1, s->now, &err), PAWL_OK);
    expect_is(round.result, PAWL_OK);
}

SCENARIO(y01_a_damaged_schedule_hides_and_stops_no_other)
{
    pawl_str page;
    pawl_error err = {0};
    if (!flows(s))
        return;
    put(s, "m", EVERY_MINUTE);
    put(s, "n", EVERY_MINUTE);
    damage(s, "m");
    scene_advance(s, 40000);
    expect_is(number(s, "n", "/runs"), 1);
    expect_is(pawl_schedule_list(s->c, NULL, NULL, 0, s->mem, &page, &err), PAWL_OK);
    expect_text(page.ptr, "\"name\":\"m\"");
    expect_text(page.ptr, "cannot be read; remove it");
    expect_text(page.ptr, "\"name\":\"n\"");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_REMOVE, .name = "m")), PAWL_OK);
    put(s, "m", EVERY_MINUTE);
    scene_crash(s); /* the row of the damaged one is still there */
    scene_advance(s, MINUTE);
    expect_is(number(s, "m", "/runs"), 1);
}

/* ---- Nothing is left out uncounted ------------------------------------------------------------- */

SCENARIO(y05_jitter_is_no_reason_to_miss)
{
    if (!flows(s))
        return;
    put(s, "n",
        "{\"every_ms\":3600000,\"orchestration\":\"Quick\",\"missed\":\"skip\","
        "\"jitter_ms\":1200000}");
    scene_advance(s, PAWL_HOURS(12));
    expect_is(number(s, "n", "/runs"), 11); /* the twelfth is not due */
    expect_is(number(s, "n", "/missed"), 0);
}

SCENARIO(y06_y08_what_waits_begins_after_resume)
{
    if (!flows(s))
        return;
    put(s, "n",
        "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"overlap\":\"queue\","
        "\"until_ms\":1700000140000}");
    scene_advance(s, 40000 + MINUTE);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PAUSE, .name = "n")), PAWL_OK);
    scene_raise(s, RUN("22:14:00"), "Go", "1");
    scene_settle(s);
    expect_is(is_there(s, RUN("22:15:00")), false);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_RESUME, .name = "n")), PAWL_OK);
    scene_settle(s);
    expect_is(is_there(s, RUN("22:15:00")), true);
}

SCENARIO(y05_what_a_put_leaves_out_is_missed)
{
    static const char json[] =
        "{\"every_ms\":3600000,\"orchestration\":\"Quick\",\"jitter_ms\":1700000}";
    if (!flows(s))
        return;
    put(s, "n", "{\"every_ms\":60000,\"orchestration\":\"Slow\",\"missed\":\"all\"}");
    put(s, "k", json);
    sleep_through(s, 40000 + 4 * MINUTE);
    put(s, "n", "{\"every_ms\":3600000,\"orchestration\":\"Slow\",\"missed\":\"all\"}");
    scene_settle(s);
    expect_is(number(s, "n", "/runs"), 1);
    expect_is(number(s, "n", "/missed"), 4);
    scene_advance(s, 2800001 - 40000 - 4 * MINUTE); /* 23:00:00.001: not before its jitter */
    put(s, "k", json);
    scene_advance(s, 1800000);
    expect_is(number(s, "k", "/runs") + number(s, "k", "/missed"), 1);
}

SCENARIO(y05_of_millions_the_newest_thousand_are_begun)
{
    if (!flows(s))
        return;
    put(s, "n",
        "{\"every_ms\":1000,\"orchestration\":\"Quick\",\"missed\":\"all\","
        "\"overlap\":\"allow\",\"missed_window_ms\":315360000000}");
    s->now += PAWL_DAYS(365);
    scene_settle(s);
    expect_is(number(s, "n", "/runs"), 1000);
    expect_is(number(s, "n", "/missed"), 365 * 86400 - 1000);
}

/* ---- Zones ---------------------------------------------------------------------------------- */

static char zone_dir[40], zone_file[60];

static void write_zone(const char *from)
{
    char command[300];
    (void)unlink(zone_file);
    (void)snprintf(command, sizeof(command), "cp /usr/share/zoneinfo/%s %s", from, zone_file);
    ck_assert_int_eq(system(command), 0);
}

static void own_zones(const char *from)
{
    (void)snprintf(zone_dir, sizeof(zone_dir), "/tmp/pawl-zones-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(zone_dir));
    (void)snprintf(zone_file, sizeof(zone_file), "%s/Here", zone_dir);
    write_zone(from);
    setenv("TZDIR", zone_dir, 1);
}

static void no_zones(void)
{
    unsetenv("TZDIR");
    (void)unlink(zone_file);
    (void)rmdir(zone_dir);
}

SCENARIO(y09_a_zone_that_changes_under_way_changes_for_all_of_its_schedules)
{
    static const char json[] =
        "{\"cron\":\"0 6 * * *\",\"zone\":\"Here\",\"orchestration\":\"Quick\"}";
    if (!flows(s))
        return;
    own_zones("Europe/Lisbon");
    put(s, "n", json);
    put(s, "m", json);
    expect_is(number(s, "n", "/next_ms"), SCENE_T0 + INT64_C(28000000)); /* 06:00Z */
    write_zone("Europe/Berlin");
    put(s, "m", json);
    scene_settle(s);
    expect_is(number(s, "m", "/next_ms"), SCENE_T0 + INT64_C(24400000)); /* 05:00Z */
    expect_is(number(s, "n", "/next_ms"), SCENE_T0 + INT64_C(24400000));
    no_zones();
}

SCENARIO(y09_a_zone_file_that_cannot_be_opened_stops_nobody_else)
{
    if (!flows(s))
        return;
    own_zones("Europe/Berlin");
    put(s, "n", "{\"cron\":\"* * * * *\",\"zone\":\"Here\",\"orchestration\":\"Quick\"}");
    put(s, "other", EVERY_MINUTE);
    (void)unlink(zone_file);
    ck_assert_int_eq(symlink("Here", zone_file), 0); /* ELOOP */
    scene_advance(s, 41000);
    expect_is(number(s, "other", "/runs"), 1);
    expect_is(number(s, "n", "/runs"), 0);
    write_zone("Europe/Berlin");
    scene_advance(s, 10000);
    expect_is(number(s, "n", "/runs"), 1);
    no_zones();
}
