/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_raise.c -- S35: an orchestration raises events to others. */
#include "scene.h"

/* Takes as many "Go" as its input says. */
static pawl_result take(pawl_ctx *ctx, pawl_str input)
{
    pawl_str all = pawl_s("");
    for (int i = 0; i < input.ptr[0] - '0'; i++) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
        if (!r.ok)
            return r;
        all = pawl_printf(ctx, "%s%s,", all.ptr, r.value.ptr);
    }
    return pawl_done_str(ctx, all);
}

/* Raises "Go" to `r`, once now and once after an activity, and says what the calls gave. */
static pawl_result send(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_raise(ctx, "r", "Go", input, 0);
    pawl_result e = pawl_call(ctx, "Echo", pawl_s("2"));
    pawl_result b = pawl_raise(ctx, "r", "Go", e.value, 0);
    return pawl_donef(ctx, "%d%d", a.ok, b.ok);
}

SCENARIO(s35_a_raise_is_delivered_once_and_waits_for_nothing)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Send", send);
    scene_start(s, "Take", "r", "2");
    scene_start(s, "Send", "s", "1");
    scene_finish(s, "r");
    scene_expect(s, "s", PAWL_COMPLETED, "11");
    scene_expect(s, "r", PAWL_COMPLETED, "1,2,");
    scene_events(s, "s",
                 "OrchestrationStarted EventSent#1 ActivityScheduled#2 ActivityCompleted#2 "
                 "EventSent#3 OrchestrationCompleted");
    scene_expect_empty(s);
    expect_is(scene_stats(s).raises_dropped, 0);
}

SCENARIO(s35_it_is_kept_in_the_mailbox_and_survives_a_crash)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Send", send);
    scene_start(s, "Take", "r", "5");
    scene_raise(s, "r", "Other", "x");
    scene_start(s, "Send", "s", "1");
    scene_crash(s);
    scene_start(s, "Send", "s2", "7");
    scene_settle(s);
    scene_crash(s);
    scene_raise(s, "r", "Go", "9");
    scene_finish(s, "r");
    scene_expect(s, "r", PAWL_COMPLETED, "1,2,7,2,9,");
    scene_expect_empty(s);
}

/* A wait takes the first one unseen and is given up; another takes what it gives back. */
static pawl_result give_back(pawl_ctx *ctx, pawl_str input)
{
    pawl_task given_up = pawl_wait_event(ctx, "Go");
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_cancel(ctx, given_up);
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_result a = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_result b = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    (void)input;
    return pawl_donef(ctx, "%s %s", a.value.ptr, b.value.ptr);
}

SCENARIO(s35_what_a_wait_gives_back_stays_in_the_mailbox)
{
    scene_flow(s, "Back", give_back);
    scene_flow(s, "Send", send);
    scene_start(s, "Back", "r", "");
    scene_start(s, "Send", "s", "1");
    scene_settle(s);
    expect_is(scene_info(s, "r").mailbox_count, 1);
    scene_crash(s);
    scene_advance(s, 1000);
    expect_is(scene_info(s, "r").mailbox_count, 2);
    scene_crash(s);
    scene_advance(s, 1000);
    scene_expect(s, "r", PAWL_COMPLETED, "1 2");
    scene_expect_empty(s);
}

SCENARIO(s35_suspended_and_pending_receivers_keep_it)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Send", send);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Take", .instance = "r",
                                       .data = pawl_s("4"), .delay_ms = 5000)),
              PAWL_OK);
    scene_start(s, "Send", "s", "1");
    scene_settle(s);
    expect_is(scene_info(s, "r").mailbox_count, 2);
    scene_crash(s);
    scene_advance(s, 5000);
    scene_steer(s, PAWL_OP_SUSPEND, "r");
    scene_start(s, "Send", "s2", "3");
    scene_settle(s);
    scene_crash(s);
    scene_steer(s, PAWL_OP_RESUME, "r");
    scene_finish(s, "r");
    scene_expect(s, "r", PAWL_COMPLETED, "1,2,3,2,");
    scene_expect_empty(s);
}

SCENARIO(s35_unknown_and_ended_receivers_get_nothing_and_a_warning)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Send", send);
    scene_start(s, "Send", "s", "1");
    scene_settle(s);
    scene_expect(s, "s", PAWL_COMPLETED, "11");
    expect_is(scene_stats(s).raises_dropped, 2);
    expect_is(scene_logged(s, "it does not exist"), true);
    scene_start(s, "Take", "r", "0");
    scene_start(s, "Send", "s2", "1");
    scene_settle(s);
    expect_is(scene_stats(s).raises_dropped, 4);
    expect_is(scene_logged(s, "it has ended"), true);
    scene_expect_empty(s);
}

static pawl_result send_early(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_raise(ctx, "r", "Go", input, PAWL_RAISE_AWAIT_START);
    return pawl_donef(ctx, "%d", a.ok);
}

SCENARIO(s35_await_start_keeps_it_for_an_instance_that_comes_later)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Early", send_early);
    scene_start(s, "Early", "s", "1");
    scene_start(s, "Early", "s2", "1");
    scene_settle(s);
    expect_is(scene_depths(s).messages, 2);
    scene_crash(s);
    scene_start(s, "Take", "r", "2");
    scene_finish(s, "r");
    scene_expect(s, "r", PAWL_COMPLETED, "1,1,");
    scene_expect_empty(s);
}

/* Starts an instance and raises to it in the same turn, and to itself. */
static pawl_result start_and_raise(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_start_detached(ctx, "Take", pawl_s("1"), PAWL_CHILD_OPTS(.instance = "r")));
    pawl_task child = pawl_start_child(ctx, "Take", pawl_s("1"), PAWL_CHILD_OPTS(.instance = "c"));
    pawl_ignore(pawl_raise(ctx, "r", "Go", input, 0));
    pawl_ignore(pawl_raise(ctx, "c", "Go", pawl_s("kid"), 0));
    pawl_ignore(pawl_raise(ctx, pawl_instance(ctx).ptr, "Go", pawl_s("me"), 0));
    pawl_result own = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_result kid = pawl_await(ctx, child);
    return pawl_donef(ctx, "%s %s", own.value.ptr, kid.value.ptr);
}

SCENARIO(s35_what_is_started_in_the_same_turn_gets_it)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Both", start_and_raise);
    scene_start(s, "Both", "b", "hi");
    scene_finish(s, "b");
    scene_expect(s, "b", PAWL_COMPLETED, "me kid,");
    scene_expect(s, "r", PAWL_COMPLETED, "hi,");
    scene_expect_empty(s);
}

/* Starts an instance for which mail is kept, and raises to it in the same turn. */
static pawl_result start_the_awaited(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_start_detached(ctx, "Take", pawl_s("3"), PAWL_CHILD_OPTS(.instance = "r")));
    pawl_ignore(pawl_raise(ctx, "r", "Go", input, 0));
    return pawl_done(ctx, "");
}

SCENARIO(s35_mail_that_is_kept_and_a_raise_of_the_same_turn_come_once_each)
{
    scene_flow(s, "Take", take);
    scene_flow(s, "Early", send_early);
    scene_flow(s, "Awaited", start_the_awaited);
    scene_start(s, "Early", "s", "0");
    scene_settle(s);
    scene_start(s, "Awaited", "a", "1");
    scene_settle(s);
    scene_raise(s, "r", "Go", "9");
    scene_finish(s, "r");
    scene_expect(s, "r", PAWL_COMPLETED, "0,1,9,");
    scene_expect_empty(s);
}

SCENARIO(s35_a_full_mailbox_drops_it)
{
    s->opts.max_mailbox = 1;
    scene_flow(s, "Take", take);
    scene_flow(s, "Send", send);
    scene_start(s, "Take", "r", "9");
    scene_steer(s, PAWL_OP_SUSPEND, "r");
    scene_start(s, "Send", "s", "1");
    scene_settle(s);
    expect_is(scene_stats(s).raises_dropped, 1);
    expect_is(scene_logged(s, "mailbox is full"), true);
    expect_is(scene_info(s, "r").mailbox_count, 1);
}

static pawl_result send_badly(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_raise(ctx, "", "Go", input, 0);
    pawl_result b = pawl_raise(ctx, "r", "a/b", input, 0);
    pawl_result c = pawl_raise(ctx, "r", "Go", input, 8);
    pawl_result d = pawl_raise(ctx, "r", "Go", pawl_s("0123456789"), 0);
    return pawl_donef(ctx, "%d%d%d%d %d", a.ok, b.ok, c.ok, d.ok, d.kind == PAWL_RESULT_REFUSED);
}

SCENARIO(s35_bad_raises_are_refused_and_recorded)
{
    s->opts.max_payload = 9;
    scene_flow(s, "Bad", send_badly);
    scene_start(s, "Bad", "s", "1");
    scene_expect(s, "s", PAWL_COMPLETED, "0000 1");
    scene_expect_empty(s);
    expect_is(scene_kind_count(s, "s", "EventSent"), 4);
    expect_is(scene_stats(s).raises_dropped, 0);
}
