/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_fanout.c -- bounded fan-out, and the printf forms beside it. */
#include "scene.h"

#include <stdio.h>

static size_t window, pieces;

static pawl_task one_piece(pawl_ctx *ctx, size_t i, void *arg)
{
    (void)arg;
    return pawl_wait_event(ctx, pawl_printf(ctx, "E%zu", i).ptr);
}

static pawl_result map_events(pawl_ctx *ctx, pawl_str input)
{
    pawl_task *t = pawl_alloc(ctx, pieces * sizeof(*t));
    pawl_result all = pawl_map(ctx, pieces, window, one_piece, NULL, t);
    (void)input;
    if (!all.ok)
        return pawl_failf(ctx, "%s, last %llu", all.value.ptr,
                          (unsigned long long)t[pieces - 1].id);
    pawl_str text = pawl_s("");
    for (size_t i = 0; i < pieces; i++)
        text = pawl_printf(ctx, "%s%s", text.ptr, pawl_await(ctx, t[i]).value.ptr);
    return pawl_done_str(ctx, text);
}

static void begin(struct scene *s, size_t n, size_t at_a_time)
{
    pieces = n;
    window = at_a_time;
    scene_flow(s, "Map", map_events);
    scene_start(s, "Map", "i", "");
}

static void raise_piece(struct scene *s, int i)
{
    char name[16], data[16];
    snprintf(name, sizeof(name), "E%d", i);
    snprintf(data, sizeof(data), "%d", i);
    scene_raise(s, "i", name, data);
}

SCENARIO(s03_a_map_keeps_its_window_full_and_no_fuller)
{
    begin(s, 6, 2);
    expect_is(scene_kind_count(s, "i", "ExternalSubscribed"), 2);
    raise_piece(s, 1); /* the second ends first: the third begins although the first is open */
    expect_is(scene_kind_count(s, "i", "ExternalSubscribed"), 3);
    raise_piece(s, 4); /* mail for one not begun changes nothing yet */
    expect_is(scene_kind_count(s, "i", "ExternalSubscribed"), 3);
    scene_crash(s);
    raise_piece(s, 2);
    raise_piece(s, 3);
    raise_piece(s, 5);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    raise_piece(s, 0);
    scene_expect(s, "i", PAWL_COMPLETED, "012345"); /* in the order of the pieces */
    expect_is(scene_kind_count(s, "i", "ExternalSubscribed"), 6);
}

SCENARIO(s03_a_map_without_a_window_starts_all)
{
    begin(s, 5, 0);
    expect_is(scene_kind_count(s, "i", "ExternalSubscribed"), 5);
    for (int i = 4; i >= 0; i--)
        raise_piece(s, i);
    scene_expect(s, "i", PAWL_COMPLETED, "01234");
}

static pawl_task good_or_bad(pawl_ctx *ctx, size_t i, void *bad)
{
    return pawl_start(ctx, i == *(size_t *)bad ? "Fail" : "Echo", pawl_s("x"));
}

static pawl_result map_failing(pawl_ctx *ctx, pawl_str input)
{
    size_t bad = (size_t)pawl_json_int(input, "", 0);
    pawl_task t[5];
    pawl_result all = pawl_map(ctx, 5, 1, good_or_bad, &bad, t);
    return pawl_donef(ctx, "%d %s %d", all.ok, all.value.ptr, t[4].id != 0);
}

SCENARIO(s03_a_map_ends_at_the_first_failure_and_starts_no_more)
{
    scene_flow(s, "Map", map_failing);
    scene_start(s, "Map", "i", "2");
    scene_expect(s, "i", PAWL_COMPLETED, "0 x 0");
    expect_is(scene_kind_count(s, "i", "ActivityScheduled"), 3);
    scene_start(s, "Map", "j", "9");
    scene_expect(s, "j", PAWL_COMPLETED, "1  1");
}

static pawl_result map_nothing(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_donef(ctx, "%d", pawl_map(ctx, 0, 3, one_piece, NULL, NULL).ok);
}

SCENARIO(s03_a_map_of_nothing_succeeds)
{
    scene_flow(s, "Map", map_nothing);
    scene_start(s, "Map", "i", "");
    scene_expect(s, "i", PAWL_COMPLETED, "1");
}

SCENARIO(s23_a_cancelled_map_returns_and_starts_no_more)
{
    begin(s, 4, 2);
    expect_is(pawl_client_cancel(s->c, "i", "enough", NULL), PAWL_OK);
    scene_expect(s, "i", PAWL_CANCELLED, "enough");
    expect_is(scene_kind_count(s, "i", "ExternalSubscribed"), 2);
}

/* ---- The printf forms ------------------------------------------------------------ */

static pawl_result refuse(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_err_finalf(act, "no %.*s, %d", PAWL_FMT(input), 7);
}

static pawl_result say(pawl_ctx *ctx, pawl_str input)
{
    pawl_set_statusf(ctx, "at %d of %s", 3, "5");
    pawl_result r = pawl_call_with(ctx, "Refuse", input, PAWL_CALL_OPTS(.attempts = 4));
    return pawl_done_str(ctx, r.value);
}

SCENARIO(s08_final_errors_and_statuses_are_formatted)
{
    scene_activity(s, "Refuse", refuse);
    scene_flow(s, "Say", say);
    scene_start(s, "Say", "i", "room");
    pawl_info info;
    expect_is(pawl_client_get(s->c, "i", 0, s->mem, &info, NULL), PAWL_OK);
    ck_assert(pawl_str_is(info.custom_status, "at 3 of 5"));
    ck_assert(strncmp(info.output.ptr, "no room, 7", 10) == 0);
    expect_is(scene_ran(s, "Refuse"), 1); /* final: not tried again */
}
