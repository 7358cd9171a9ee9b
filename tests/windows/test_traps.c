/* SPDX-License-Identifier: MIT */
/*
 * tests/windows/test_traps.c -- the traps of peek-lock mode, each by its name.
 *
 * test_windows has all of these among thousands; here they are told apart, because
 * each is a mistake the seed's recipe invites.
 */
#include "../harness.h"
#include "window.h"

#include <stdio.h>
#include <string.h>

static const struct flow *flow_named(const char *name)
{
    for (size_t i = 0; i < flow_count; i++)
        if (strcmp(flows[i].name, name) == 0)
            return &flows[i];
    ck_abort_msg("no flow %s", name);
    return NULL;
}

/* Disturbed at the nth time it comes by `point`, it ends as if nothing had been. */
static void flow_survives(const struct flow *flow, const char *point, uint64_t nth,
                          enum window_way way)
{
    struct window calm, disturbed;
    window_drive(&calm, flow, WINDOW_JSONL, (struct plan){0});
    window_drive(&disturbed, flow, WINDOW_JSONL,
                 (struct plan){.way = way, .nth = nth, .point = point});
    ck_assert_msg(disturbed.fired, "%s: it never came by %s for the %dth time", flow->name, point,
                  (int)nth);
    ck_assert_msg(!disturbed.trouble[0], "%s", disturbed.trouble);
    ck_assert_str_eq(buf_slice(&disturbed.left).ptr, buf_slice(&calm.left).ptr);
    window_forget(&calm);
    window_forget(&disturbed);
}

static void survives(const char *name, const char *point, uint64_t nth, enum window_way way)
{
    flow_survives(flow_named(name), point, nth, way);
}

static void survives_both(const char *name, const char *point, uint64_t nth)
{
    survives(name, point, nth, WAY_POINT_DIE);
    survives(name, point, nth, WAY_POINT_FAIL);
}

/* Turn 2 records the completion and schedules the next activity; it dies before the work
 * is enqueued.  The completion comes again, is a duplicate, and is acked. */
TEST(a_acking_a_duplicate_completion_first_enqueues_what_is_open)
{
    survives_both("completion", "jsonl.appended", 2);
}

/* The same when the schedule was the first turn: nothing else brings it back. */
TEST(a_a_start_whose_work_was_not_enqueued)
{
    survives_both("completion", "jsonl.appended", 1);
    survives_both("completion", "jsonl.row", 1);
}

/* The raise is recorded and its message not acked: it comes again, and must not satisfy
 * the next wait for the same name. */
TEST(c_a_redelivered_event_does_not_satisfy_the_next_wait)
{
    survives_both("suspend", "jsonl.appended", 4); /* stored first, then recorded */
    survives_both("suspend", "jsonl.enqueued", 6);
    survives_both("event", "jsonl.appended", 2);
    survives_both("early_event", "jsonl.appended", 2);
}

TEST(c_nor_does_it_across_continue_as_new)
{
    for (uint64_t n = 2; n <= 8; n++)
        survives_both("continue", "jsonl.appended", n);
}

TEST(a_raise_kept_for_a_start_is_taken_over_once)
{
    for (uint64_t n = 1; n <= 3; n++) {
        survives_both("kept_event", "jsonl.appended", n);
        survives_both("kept_event", "jsonl.enqueued", n);
    }
}

/* A call whose commit failed half done is tried again by the runtime, not by its client: without
 * a key the row it left is known by its id. */
TEST(a_raise_kept_for_a_start_is_kept_once)
{
    static const struct flow kept = {
        .name = "kept",
        .calls = {{.size = sizeof(pawl_request),
                   .op = PAWL_OP_RAISE,
                   .instance = "i",
                   .name = "Go",
                   .data = {"1", 1},
                   .await_start = true},
                  {.size = sizeof(pawl_request),
                   .op = PAWL_OP_START,
                   .instance = "i",
                   .name = "Event",
                   .data = {"x", 1}},
                  {.size = sizeof(pawl_request),
                   .op = PAWL_OP_RAISE,
                   .instance = "i",
                   .name = "Go",
                   .data = {"2", 1}}},
    };
    static const char *const points[] = {"jsonl.posted", "jsonl.enqueued", "jsonl.dropped",
                                         "jsonl.acked", "jsonl.fenced"};
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
        flow_survives(&kept, points[i], 1, WAY_POINT_FAIL);
}

/* A raise that lay there is taken and given back in one round, which is recorded and not
 * finished: it comes again, and this time somebody reads it. */
TEST(a_raise_given_back_in_one_round_is_not_taken_for_taken)
{
    survives_both("given_back_at_once", "jsonl.appended", 4);
    survives_both("given_back_at_once", "jsonl.row", 3);
}

TEST(continue_as_new_appended_and_the_successor_not_created)
{
    survives_both("continue", "jsonl.appended", 3);
}

TEST(a_child_whose_start_was_lost)
{
    survives_both("child", "jsonl.appended", 1);
}

TEST(a_parent_that_was_not_told)
{
    for (uint64_t n = 2; n <= 4; n++)
        survives_both("child", "jsonl.appended", n);
}

TEST(a_detached_start_that_was_lost)
{
    survives_both("detached", "jsonl.appended", 1);
    survives_both("continue_detached", "jsonl.appended", 2); /* closed, no successor */
    survives_both("continue_detached", "jsonl.appended", 3);
}

TEST(a_cancel_that_did_not_reach_the_child)
{
    for (uint64_t n = 2; n <= 4; n++)
        survives_both("cancel", "jsonl.appended", n);
}

TEST(a_row_behind_its_last_event)
{
    survives_both("start", "jsonl.appended", 1);
    survives_both("completion", "jsonl.appended", 3);
}

TEST(timers_are_held_again_after_a_death)
{
    for (uint64_t n = 1; n <= 3; n++)
        survives_both("timer", "jsonl.fenced", n);
}

/* What was started, ran and was removed does not come back because its starter is mended. */
TEST(an_old_detached_start_is_not_repeated)
{
    for (uint64_t n = 1; n <= 5; n++)
        survives("removed_child", "jsonl.begin", n, WAY_POINT_DIE);
}
