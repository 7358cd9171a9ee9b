/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_ack.c -- A1, A2, A4, A6, A11, S11, S31, S32: rows, locks, blame. */
#include "scene.h"

#include <stdio.h>

static pawl_result call_then_wait(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Later", input);
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_donef(ctx, "%s %s", r.value.ptr, go.value.ptr);
}

static pawl_result later(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

/* Do something to the store while nobody owns it. */
static pawl_fence own(struct scene *s)
{
    pawl_fence fence = {0};
    pawl_error err;
    scene_down(s);
    expect_is(s->store->ops->take(s->store, s->now, &fence, &err), PAWL_OK);
    return fence;
}

static pawl_work only_work(struct scene *s)
{
    pawl_work_list list;
    pawl_error err;
    expect_is(s->store->ops->fetch_work(s->store, s->now, NULL, 0, 10, s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 1);
    return list.items[0];
}

/* ---- A1, A2 --------------------------------------------------------------------------- */

SCENARIO(a01_a02_taken_work_is_invisible_until_given_back)
{
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    (void)own(s);
    uint64_t id = only_work(s).id;
    pawl_work_list list;
    pawl_error err;
    expect_is(s->store->ops->fetch_work(s->store, s->now, NULL, 0, 10, s->mem, &list, &err),
              PAWL_OK);
    expect_is(list.count, 0);
    s->store->ops->abandon_work(s->store, &id, 1);
    expect_is(only_work(s).id, id);
    scene_activity(s, "Later", later); /* the next owner has it at once, without a time-out */
    scene_up(s);
    scene_settle(s);
    expect_is(scene_ran(s, "Later"), 1);
    expect_is(scene_depths(s).work, 0); /* acked for good */
}

/* Made visible again after a delay: a retry. */
static pawl_result retried(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Flaky", input, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 700));
}

SCENARIO(a02_given_back_with_a_delay)
{
    scene_flow(s, "Flow", retried);
    scene_start(s, "Flow", "i", "2");
    expect_is(scene_ran(s, "Flaky"), 1);
    scene_advance(s, 699);
    expect_is(scene_ran(s, "Flaky"), 1);
    scene_advance(s, 1);
    scene_expect(s, "i", PAWL_COMPLETED, "attempt 2");
}

/* ---- A6: dehydrated instances are activated by a completion ------------------------------ */

SCENARIO(a06_completion_activates_a_dehydrated_instance)
{
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    scene_crash(s);
    if (s->kind != SCENE_JSONL) /* which looks at every instance at start */
        expect_is(scene_stats(s).resident, 0);
    scene_activity(s, "Later", later);
    scene_settle(s);
    scene_events(s, "i",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 "
                 "ExternalSubscribed#2");
    expect_is(scene_stats(s).replays, 1);
    scene_raise(s, "i", "Go", "y");
    scene_expect(s, "i", PAWL_COMPLETED, "x y");
}

/* ---- A11, E10: at least once, recorded once ------------------------------------------------ */

SCENARIO(a11_e10_activity_runs_again_after_a_crash_and_is_recorded_once)
{
    scene_activity(s, "Later", later);
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "first", "x");
    scene_fail(s, FAULT_OP_commit, 1, 1, FAULT_BEFORE, PAWL_UNKNOWN); /* the result is lost */
    expect_is(scene_try_start(s, "Flow", "i", "x"), PAWL_OK);
    expect_is(scene_ran(s, "Later"), 2);
    scene_crash(s);
    expect_is(scene_ran(s, "Later"), 3);
    scene_raise(s, "i", "Go", "y");
    scene_expect(s, "i", PAWL_COMPLETED, "x y");
    expect_is(scene_kind_count(s, "i", "ActivityCompleted"), 1);
    scene_raise(s, "first", "Go", "y");
    scene_expect_empty(s);
}

/* Every committed prefix is a state to go on from (A10, E10). */
SCENARIO(e10_a11_a_crash_after_every_step)
{
    scene_activity(s, "Later", later);
    scene_flow(s, "Flow", call_then_wait);
    pawl_error err;
    scene_up(s);
    for (int i = 0; i < 5; i++) {
        const char *id = scene_id(s, "i", i);
        expect_is(pawl_client_submit(s->c,
                                     PAWL_REQUEST(.op = PAWL_OP_START, .name = "Flow",
                                                  .instance = id, .data = pawl_s("x")),
                                     NULL, NULL, &err),
                  PAWL_OK);
        for (int k = 0; k <= i; k++)
            (void)pawl_runtime_step(s->rt, 0);
        scene_crash(s);
        scene_start(s, "Flow", id, "x");
        scene_raise(s, id, "Go", "y");
        scene_expect(s, id, PAWL_COMPLETED, "x y");
        expect_is(scene_kind_count(s, id, "ActivityScheduled"), 1);
    }
    scene_expect_empty(s);
}

/* ---- S11: crashes of an activity ------------------------------------------------------------ */

static void blame(struct scene *s, uint32_t crashes)
{
    pawl_error err;
    pawl_fence fence = own(s);
    pawl_work w = only_work(s);
    pawl_work_update u = {.id = w.id, .attempt = crashes, .crashes = crashes};
    pawl_round round = {.work_updates = &u, .work_update_count = 1};
    expect_is(s->store->ops->commit(s->store, &fence, &round, 1, s->now, &err), PAWL_OK);
    scene_activity(s, "Later", later);
    scene_up(s);
    scene_settle(s);
}

SCENARIO(s11_activity_that_ended_the_process_too_often_fails_as_poison)
{
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    blame(s, 10);
    expect_is(scene_ran(s, "Later"), 0);
    scene_raise(s, "i", "Go", "on");
    scene_expect(s, "i", PAWL_COMPLETED, "poison: activity 'Later' ended the process 10 times on");
    expect_is(scene_stats(s).quarantined, 1);
}

SCENARIO(s11_one_crash_less_is_tried_again)
{
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    blame(s, 9);
    expect_is(scene_ran(s, "Later"), 1);
    scene_raise(s, "i", "Go", "on");
    scene_expect(s, "i", PAWL_COMPLETED, "x on");
}

/* ---- S32: crashes of a turn --------------------------------------------------------------------- */

static void raise_blamed(struct scene *s, uint32_t attempt)
{
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_EXTERNAL_RAISED,
                                   .uid = scene_row(s, "i").uid,
                                   .name = pawl_s("Go"),
                                   .data = pawl_s("poisoned"),
                                   .attempt = attempt});
}

SCENARIO(s32_message_that_ended_the_process_too_often_blocks_its_instance_only)
{
    scene_activity(s, "Later", later);
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    scene_start(s, "Flow", "j", "x");
    raise_blamed(s, 10);
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    expect_text(scene_info(s, "i").finding.ptr, "poison");
    expect_text(scene_info(s, "i").finding.ptr, "10 times");
    scene_raise(s, "j", "Go", "fine");
    scene_expect(s, "j", PAWL_COMPLETED, "x fine");
    scene_crash(s);
    scene_expect(s, "i", PAWL_BLOCKED, NULL);
    scene_steer(s, PAWL_OP_RETRY, "i"); /* after the code was mended */
    scene_expect(s, "i", PAWL_COMPLETED, "x poisoned");
    scene_expect_empty(s);
}

SCENARIO(s32_one_attempt_less_is_delivered)
{
    s->opts.max_attempts = 3;
    scene_activity(s, "Later", later);
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    raise_blamed(s, 2);
    scene_expect(s, "i", PAWL_COMPLETED, "x poisoned");
}

/* ---- S31: rows that make no sense ----------------------------------------------------------------- */

SCENARIO(s31_impossible_messages_stop_nobody)
{
    scene_activity(s, "Later", later);
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    uint64_t uid = scene_row(s, "i").uid;
    scene_inject(s, (pawl_message){.kind = 99, .uid = uid, .data = pawl_s("from the future")});
    scene_inject(s, (pawl_message){.kind = 99, .instance = pawl_s("nobody")});
    scene_inject(
        s, (pawl_message){
               .kind = PAWL_MSG_TIMER_FIRED, .uid = uid, .execution = 1, .ref = UINT64_C(1) << 60});
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_START, .uid = uid, .execution = 77});
    scene_raise(s, "i", "Go", "y");
    scene_expect(s, "i", PAWL_COMPLETED, "x y");
    scene_advance(s, PAWL_HOURS(1));
    scene_expect_empty(s);
    ck_assert(scene_depths(s).quarantine >= 1);
}

/* Written by a newer engine, skipped by an older one elsewhere and then lost (defect 23). */
SCENARIO(s31_message_of_an_unknown_kind_is_put_aside_with_its_bytes)
{
    scene_flow(s, "Flow", call_then_wait);
    scene_start(s, "Flow", "i", "x");
    scene_inject(s, (pawl_message){.kind = 99,
                                   .uid = scene_row(s, "i").uid,
                                   .name = pawl_s("New"),
                                   .data = pawl_s("from the future")});
    pawl_message_list list;
    pawl_error err;
    expect_is(s->store->ops->read_quarantine(s->store, 10, s->mem, &list, &err), PAWL_OK);
    expect_is(list.count, 1);
    ck_assert_str_eq(list.items[0].data.ptr, "from the future");
}
