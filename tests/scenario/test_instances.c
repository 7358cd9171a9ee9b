/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_instances.c -- S14, A5, E15: starting, finding, listing, removing. */
#include "scene.h"

#include <stdio.h>

static pawl_result wait_go(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "done"))
        return pawl_done(ctx, "done");
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

/* ---- S14, A5 ---------------------------------------------------------------------- */

SCENARIO(a05_second_start_is_a_no_op)
{
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "x");
    ck_assert(s->reply.created);
    ck_assert_str_eq(s->reply.instance, "i");
    scene_start(s, "Flow", "i", "x");
    ck_assert(!s->reply.created);
    scene_crash(s);
    scene_start(s, "Flow", "i", "x");
    ck_assert(!s->reply.created);
    scene_events(s, "i", "OrchestrationStarted ExternalSubscribed#1");
    scene_raise(s, "i", "Go", "end");
    scene_start(s, "Flow", "i", "x"); /* a finished one keeps its result */
    scene_expect(s, "i", PAWL_COMPLETED, "end");
}

SCENARIO(a05_second_start_never_swaps_name_or_input)
{
    scene_flow(s, "Flow", wait_go);
    scene_flow(s, "Other", wait_go);
    scene_start(s, "Flow", "i", "x");
    expect_is(scene_try_start(s, "Other", "i", "x"), PAWL_EXISTS);
    expect_text(s->reply.error.text, "another orchestration");
    expect_is(scene_try_start(s, "Flow", "i", "y"), PAWL_EXISTS);
    expect_text(s->reply.error.text, "another input");
    ck_assert_str_eq(scene_info(s, "i").orchestration.ptr, "Flow");
    ck_assert_str_eq(scene_info(s, "i").input.ptr, "x");
}

/* Who sends a start again writes it again: the value counts, not the bytes. */
SCENARIO(a05_second_start_compares_values)
{
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "{\"a\":1,\"b\":[2]}");
    for (int again = 0; again < 2; again++) {
        scene_start(s, "Flow", "i", "{ \"b\":[2.0], \"\\u0061\":1 }");
        ck_assert(!s->reply.created);
        expect_is(scene_try_start(s, "Flow", "i", "{\"a\":1,\"b\":[3]}"), PAWL_EXISTS);
        expect_is(scene_try_start(s, "Flow", "i", "{\"a\":1}"), PAWL_EXISTS);
        expect_is(scene_try_start(s, "Flow", "i", "{\"a\":1,\"b\":[2]"), PAWL_EXISTS);
        scene_crash(s);
    }
    ck_assert_str_eq(scene_info(s, "i").input.ptr, "{\"a\":1,\"b\":[2]}");
}

/* A start that reaches the store twice (the answer was lost). */
SCENARIO(a05_stored_start_of_an_existing_instance_is_acked)
{
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "x");
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_START,
                                   .instance = pawl_s("i"),
                                   .execution = 1,
                                   .name = pawl_s("Flow"),
                                   .data = pawl_s("other")});
    scene_events(s, "i", "OrchestrationStarted ExternalSubscribed#1");
    ck_assert_str_eq(scene_info(s, "i").input.ptr, "x");
    expect_is(scene_depths(s).messages, 0);
}

SCENARIO(s14_ids_are_made_when_none_is_given)
{
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", NULL, "done");
    char first[513];
    snprintf(first, sizeof(first), "%s", s->reply.instance);
    scene_start(s, "Flow", NULL, "done");
    expect_is(strlen(first), 36);
    expect_is(first[14], '7');
    ck_assert_str_ne(first, s->reply.instance);
    scene_expect(s, first, PAWL_COMPLETED, "done");
}

static pawl_result with_timer(pawl_ctx *ctx, pawl_str input)
{
    (void)pawl_start(ctx, "Nobody", input);
    (void)pawl_timer(ctx, 1000);
    (void)pawl_start_child(ctx, "Flow", pawl_s("x"), NULL);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

SCENARIO(s14_removed_and_started_again_never_mix)
{
    scene_flow(s, "Flow", wait_go);
    scene_flow(s, "Busy", with_timer);
    scene_start(s, "Busy", "i", "x");
    scene_raise(s, "i", "Mail", "old mail");
    uint64_t old = scene_info(s, "i").uid;
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i", .force = true)),
              PAWL_OK);
    scene_start(s, "Flow", "i", "y");
    ck_assert(s->reply.created);
    ck_assert(scene_info(s, "i").uid != old);
    expect_is(scene_info(s, "i").mailbox_count, 0);
    scene_inject(s, (pawl_message){.kind = PAWL_MSG_ACTIVITY_COMPLETED,
                                   .uid = old,
                                   .execution = 1,
                                   .ref = 1,
                                   .data = pawl_s("of the old one")});
    scene_advance(s, 5000); /* the old timer is gone too */
    scene_events(s, "i", "OrchestrationStarted ExternalSubscribed#1");
    scene_raise(s, "i", "Go", "new");
    scene_expect(s, "i", PAWL_COMPLETED, "new");
    scene_expect_empty(s);
}

/* ---- Removing, pruning -------------------------------------------------------------- */

SCENARIO(e15_remove_says_what_went)
{
    scene_flow(s, "Flow", wait_go);
    scene_start(s, "Flow", "i", "done");
    scene_steer(s, PAWL_OP_REMOVE, "i");
    expect_is(s->reply.instances, 1);
    expect_is(s->reply.executions, 1);
    expect_is(s->reply.events, 2);
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "i"), PAWL_NOT_FOUND);
    scene_start(s, "Flow", "open", "x");
    expect_is(scene_try_steer(s, PAWL_OP_REMOVE, "open"), PAWL_CONFLICT);
    scene_expect(s, "open", PAWL_RUNNING, NULL);
}

static pawl_result generation(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) < 4)
        return pawl_continue_as_new(ctx, input, NULL);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_status prune(struct scene *s, int64_t before)
{
    return scene_do(s, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = before));
}

SCENARIO(e15_prune_takes_what_ended_before_and_closed_executions)
{
    pawl_info info;
    pawl_error err;
    scene_flow(s, "Flow", wait_go);
    scene_flow(s, "Eternal", generation);
    scene_start(s, "Flow", "old", "done");
    scene_start(s, "Flow", "open", "x");
    scene_start(s, "Eternal", "eternal", "x");
    scene_advance(s, 10000);
    scene_start(s, "Flow", "new", "done");
    expect_is(prune(s, s->now - 5000), PAWL_OK);
    expect_is(s->reply.instances, 1);
    expect_is(pawl_client_get(s->c, "old", 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    scene_expect(s, "new", PAWL_COMPLETED, "done");
    scene_expect(s, "open", PAWL_RUNNING, NULL);
    pawl_history h;
    expect_is(pawl_client_history(s->c, "eternal", 4, 0, 0, s->mem, &h, &err), PAWL_OK);
    expect_is(h.count, 2);
    pawl_status rc = pawl_client_history(s->c, "eternal", 1, 0, 0, s->mem, &h, &err);
    ck_assert(rc == PAWL_NOT_FOUND || h.count == 0);
    scene_raise(s, "eternal", "Go", "still fine");
    scene_expect(s, "eternal", PAWL_COMPLETED, "still fine");
}

static pawl_result on_each_go(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_continue_as_new(ctx, go.value, NULL);
}

static size_t events_of(struct scene *s, const char *id, uint64_t execution)
{
    pawl_history h = {0};
    pawl_error err;
    return pawl_client_history(s->c, id, execution, 0, 0, s->mem, &h, &err) == PAWL_OK ? h.count
                                                                                       : 0;
}

/* Closed at 1, 2, … 9 s: what was closed in the last three is kept, and by and by goes too. */
SCENARIO(e15_prune_spares_executions_that_were_closed_later)
{
    scene_flow(s, "Eternal", on_each_go);
    scene_start(s, "Eternal", "i", "x");
    for (int i = 0; i < 9; i++) {
        scene_advance(s, 1000);
        scene_raise(s, "i", "Go", "");
    }
    expect_is(prune(s, s->now - 3000), PAWL_OK);
    expect_is(s->reply.executions, 5);
    for (uint64_t n = 1; n <= 10; n++)
        expect_is(events_of(s, "i", n) != 0, n > 5);
    expect_is(prune(s, s->now - 3000), PAWL_OK);
    expect_is(s->reply.executions, 0);
    expect_is(prune(s, s->now + 1), PAWL_OK);
    expect_is(s->reply.executions, 4);
    expect_is(events_of(s, "i", 10), 2);
    scene_raise(s, "i", "Go", "");
    expect_is(scene_info(s, "i").execution, 11);
}

/* Its first event is gone, but what it said is known. */
SCENARIO(a05_second_start_after_prune_never_swaps_the_input)
{
    scene_flow(s, "Eternal", on_each_go);
    scene_start(s, "Eternal", "i", "{\"a\": 1}");
    scene_raise(s, "i", "Go", "");
    scene_raise(s, "i", "Go", "");
    expect_is(prune(s, s->now + 1), PAWL_OK);
    expect_is(events_of(s, "i", 1), 0);
    scene_crash(s);
    expect_is(scene_try_start(s, "Eternal", "i", "{\"a\": 2}"), PAWL_EXISTS);
    expect_text(s->reply.error.text, "another input");
    expect_is(scene_try_start(s, "Eternal", "i", "{\"a\": 1}"), PAWL_OK);
    ck_assert(!s->reply.created);
    expect_is(scene_info(s, "i").execution, 3);
}

/* ---- Listing, paging -------------------------------------------------------------------- */

static size_t list(struct scene *s, const pawl_filter *filter, pawl_page *page)
{
    pawl_error err = {0};
    pawl_status rc = pawl_client_list(s->c, filter, s->mem, page, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    return page->count;
}

SCENARIO(e15_list_with_cursor_and_filters)
{
    pawl_page page;
    scene_flow(s, "Flow", wait_go);
    scene_flow(s, "Busy", with_timer);
    for (int i = 0; i < 10; i++) {
        const char *id = scene_id(s, i % 2 ? "odd-" : "even-", i);
        scene_start(s, "Flow", id, i < 4 ? "done" : "x");
    }
    s->now += 1000;
    scene_start(s, "Busy", "busy", "");
    expect_is(list(s, NULL, &page), 12);
    ck_assert_str_eq(page.items[0].instance.ptr, "busy:1:3"); /* newest first */
    expect_is(list(s, PAWL_FILTER(.state = PAWL_COMPLETED + 1), &page), 4);
    expect_is(list(s, PAWL_FILTER(.orchestration = "Busy"), &page), 1);
    expect_is(list(s, PAWL_FILTER(.prefix = "odd-"), &page), 5);
    expect_is(list(s, PAWL_FILTER(.prefix = "odd-", .state = PAWL_COMPLETED + 1), &page), 2);
    expect_is(list(s, PAWL_FILTER(.parent = "busy"), &page), 1);
    expect_is(list(s, PAWL_FILTER(.created_after_ms = SCENE_T0 + 500), &page), 2);
    size_t seen = 0, pages = 0;
    const char *after = NULL;
    do {
        seen += list(s, PAWL_FILTER(.after = after, .limit = 5), &page);
        after = page.next.ptr;
        pages++;
    } while (page.next.len && pages < 10);
    expect_is(seen, 12);
    expect_is(pages, 3);
    pawl_error err;
    expect_is(pawl_client_list(s->c, PAWL_FILTER(.after = "zz"), s->mem, &page, &err),
              PAWL_INVALID);
    expect_is(pawl_client_list(s->c, PAWL_FILTER(.limit = 1001), s->mem, &page, &err), PAWL_LIMIT);
    expect_is(pawl_client_list(s->c, PAWL_FILTER(.parent = "nobody"), s->mem, &page, &err),
              PAWL_NOT_FOUND);
}

static pawl_result three_calls(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 3; i++)
        pawl_ignore(pawl_call(ctx, "Echo", input));
    return pawl_done(ctx, "");
}

SCENARIO(e15_history_by_pages)
{
    pawl_history h;
    pawl_error err;
    scene_flow(s, "Flow", three_calls);
    scene_start(s, "Flow", "i", "x");
    uint64_t after = 0, expected = 1;
    int pages = 0;
    do {
        expect_is(pawl_client_history(s->c, "i", 0, after, 3, s->mem, &h, &err), PAWL_OK);
        for (size_t i = 0; i < h.count; i++)
            expect_is(h.events[i].seq, expected++);
        after = h.next;
        pages++;
    } while (after);
    expect_is(expected - 1, 8);
    expect_is(pages, 3);
    expect_is(pawl_client_history(s->c, "nobody", 0, 0, 0, s->mem, &h, &err), PAWL_NOT_FOUND);
    expect_is(pawl_client_history(s->c, "i", 9, 0, 0, s->mem, &h, &err), PAWL_NOT_FOUND);
}

/* Everything the seeds' history-store interface had is there, some of it in a round. */
SCENARIO(e15_c04_what_a_history_holds)
{
    pawl_history h;
    pawl_error err;
    scene_flow(s, "Flow", wait_go);
    scene_flow(s, "Busy", with_timer);
    scene_start(s, "Busy", "i", "in");
    expect_is(pawl_client_history(s->c, "i", 0, 0, 0, s->mem, &h, &err), PAWL_OK);
    expect_is(h.count, 5);
    ck_assert_str_eq(h.events[0].name.ptr, "Busy");
    ck_assert_str_eq(h.events[0].data.ptr, "in");
    ck_assert(pawl_str_is(pawl_json_get(h.events[0].attrs, "/version"), "\"1.0.0\""));
    ck_assert_str_eq(h.events[1].name.ptr, "Nobody");
    expect_is(pawl_json_int(h.events[2].attrs, "/delay_ms", 0), 1000);
    ck_assert(pawl_str_is(pawl_json_get(h.events[3].attrs, "/instance"), "\"i:1:3\""));
    ck_assert_str_eq(h.events[4].name.ptr, "Go");
    expect_is(h.events[4].at_ms, SCENE_T0);
    expect_is(pawl_client_history(s->c, "i:1:3", 0, 0, 0, s->mem, &h, &err), PAWL_OK);
    ck_assert(pawl_str_is(pawl_json_get(h.events[0].attrs, "/parent"), "\"i\""));
    expect_is(pawl_json_int(h.events[0].attrs, "/parent_ref", 0), 3);
}

/* ---- What a long history waits for ------------------------------------------------------ */

/* Event after event, with a timer beside each; "last" ends it. */
static pawl_result many_waits(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (;;) {
        pawl_task next = pawl_wait_event(ctx, "Next"), limit = pawl_timer(ctx, PAWL_HOURS(1));
        if (pawl_race(ctx, (pawl_task[]){next, limit}, 2) != 0)
            return pawl_fail(ctx, "too late");
        pawl_result got = pawl_await(ctx, next);
        if (!got.ok || pawl_str_is(got.value, "last"))
            return got;
    }
}

static void expect_waits(struct scene *s, const char *id, uint64_t raised)
{
    pawl_info info = scene_info(s, id);
    expect_is(info.waiting_count, 2);
    expect_is(info.waiting[0].id, 2 * raised + 1);
    ck_assert_str_eq(info.waiting[0].name.ptr, "Next");
    ck_assert_str_eq(info.waiting[1].kind, "timer");
    expect_is(info.waiting[1].due_ms, s->now + PAWL_HOURS(1));
}

/* It is looked at again and again while it grows; each look tells the truth of that moment. */
SCENARIO(e15_what_a_long_history_waits_for)
{
    scene_flow(s, "Flow", many_waits);
    scene_start(s, "Flow", "i", "");
    for (uint64_t n = 1; n <= 90; n++) {
        scene_raise(s, "i", "Next", "more");
        if (n > 40 || n % 7 == 0)
            expect_waits(s, "i", n);
        if (n % 30 == 0)
            scene_crash(s);
    }
    for (int other = 0; other < 10; other++) { /* more of them than are kept */
        const char *id = scene_id(s, "o", other);
        scene_start(s, "Flow", id, "");
        for (int n = 0; n < 60; n++)
            scene_raise(s, id, "Next", "more");
        expect_waits(s, id, 60);
    }
    expect_waits(s, "i", 90);
    scene_raise(s, "i", "Next", "last");
    scene_expect(s, "i", PAWL_COMPLETED, "last");
    expect_is(scene_info(s, "i").waiting_count, 0);
    scene_steer(s, PAWL_OP_REMOVE, "i");
    scene_start(s, "Flow", "i", "");
    expect_waits(s, "i", 0); /* the id is another instance's now */
    for (int other = 0; other < 10; other++)
        expect_waits(s, scene_id(s, "o", other), 60);
}
