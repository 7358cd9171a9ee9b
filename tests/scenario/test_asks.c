/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_asks.c -- S40: a wait says what it wants, and all open ones are listed. */
#include "scene.h"

#include "pawl/json.h"

#define ASK "{\"title\":\"Refund?\",\"choices\":[\"yes\",\"no\"]}"

static pawl_result one(pawl_ctx *ctx, pawl_str input)
{
    return pawl_await(ctx, pawl_wait_event_ask(ctx, "Answer", input.len ? input : pawl_s(ASK)));
}

static pawl_str page(struct scene *s, const pawl_ask_filter *filter)
{
    pawl_str ret = {0};
    pawl_error err = {0};
    scene_settle(s);
    ck_assert_msg(pawl_client_asks(s->c, filter, s->mem, &ret, &err) == PAWL_OK, "%s", err.text);
    return ret;
}

static int count_of(pawl_str page)
{
    int n = 0;
    for (pawl_json_iter it = pawl_json_each(page, "/asks"); pawl_json_next(&it);)
        n++;
    return n;
}

static int asks(struct scene *s)
{
    return count_of(page(s, NULL));
}

SCENARIO(s40_an_open_ask_is_listed_until_it_is_answered)
{
    scene_flow(s, "One", one);
    scene_start(s, "One", "i", "");
    pawl_str all = page(s, NULL);
    expect_is(count_of(all), 1);
    expect_text(all.ptr, "\"instance\":\"i\",\"orchestration\":\"One\",\"execution\":1,\"id\":1,"
                         "\"event\":\"Answer\",\"since\":");
    expect_text(all.ptr, ",\"ask\":" ASK "}],\"next\":null}");
    expect_text(scene_info(s, "i").waiting[0].ask.ptr, ASK);
    expect_is(scene_info(s, "i").waiting[0].instance.len, 0);
    scene_crash(s);
    expect_is(asks(s), 1);
    expect_text(scene_info(s, "i").waiting[0].ask.ptr, ASK);
    scene_raise(s, "i", "Answer", "yes");
    scene_expect(s, "i", PAWL_COMPLETED, "yes");
    expect_is(asks(s), 0);
}

SCENARIO(s40_an_ask_that_an_early_event_answers_is_never_listed)
{
    scene_flow(s, "One", one);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Answer",
                                       .data = pawl_s("yes"), .await_start = true)),
              PAWL_OK);
    scene_start(s, "One", "i", "");
    scene_expect(s, "i", PAWL_COMPLETED, "yes");
    expect_is(asks(s), 0);
}

/* Asks twice and gives both up, one by a race with time; then continues as new and asks again. */
static pawl_result gives_up(pawl_ctx *ctx, pawl_str input)
{
    pawl_task ask = pawl_wait_event_ask(ctx, "Answer", pawl_s("{\"text\":\"now\"}"));
    pawl_task late = pawl_wait_event_ask(ctx, "Late", pawl_s(ASK));
    pawl_task race[] = {ask, pawl_timer(ctx, 1000)};
    int first = pawl_race(ctx, race, 2);
    if (pawl_execution(ctx) == 1)
        return pawl_continue_as_new(ctx, input, NULL);
    pawl_cancel(ctx, late);
    return first ? pawl_done(ctx, "nobody") : pawl_await(ctx, ask);
}

SCENARIO(s40_an_ask_that_is_given_up_is_not_listed)
{
    scene_flow(s, "Up", gives_up);
    scene_start(s, "Up", "i", "");
    expect_is(asks(s), 2);
    scene_advance(s, 1500); /* the second execution asks both again */
    pawl_str all = page(s, NULL);
    expect_is(count_of(all), 2);
    expect_text(all.ptr, "\"execution\":2");
    scene_crash(s);
    scene_raise(s, "i", "Answer", "late");
    scene_expect(s, "i", PAWL_COMPLETED, "late");
    expect_is(asks(s), 0);
}

static pawl_result leaves_its_scope(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_scope_begin(ctx);
    (void)pawl_wait_event_ask(ctx, "Answer", pawl_s(ASK));
    bool left = pawl_await(ctx, pawl_wait_event(ctx, "Leave")).ok;
    pawl_scope_end(ctx);
    if (!left)
        return pawl_fail(ctx, "not told to leave");
    return pawl_await(ctx, pawl_wait_event(ctx, "End"));
}

SCENARIO(s40_an_ask_that_is_left_open_by_its_scope_is_given_up_and_not_listed)
{
    scene_flow(s, "Scope", leaves_its_scope);
    scene_start(s, "Scope", "i", "");
    expect_is(asks(s), 1);
    scene_raise(s, "i", "Leave", "");
    expect_is(asks(s), 0);
    scene_expect(s, "i", PAWL_RUNNING, NULL);
    scene_crash(s);
    expect_is(asks(s), 0);
    scene_raise(s, "i", "End", "done");
    scene_expect(s, "i", PAWL_COMPLETED, "done");
}

SCENARIO(s40_cancel_terminate_and_remove_take_it_away)
{
    scene_flow(s, "One", one);
    for (int i = 0; i < 4; i++)
        scene_start(s, "One", scene_id(s, "i", i), "");
    expect_is(asks(s), 4);
    scene_cancel(s, "i0", "no");
    scene_steer(s, PAWL_OP_TERMINATE, "i1");
    expect_is(asks(s), 2);
    scene_crash(s);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i2", .force = true)),
              PAWL_OK);
    pawl_str all = page(s, NULL);
    expect_is(count_of(all), 1);
    expect_text(all.ptr, "\"instance\":\"i3\"");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "One", .instance = "i3",
                                       .data = pawl_s("{\"title\":\"Again?\"}"),
                                       .if_exists = PAWL_IF_EXISTS_TERMINATE)),
              PAWL_OK);
    all = page(s, NULL);
    expect_is(count_of(all), 1);
    expect_text(all.ptr, "Again?");
}

/* More than one page of objects. */
static pawl_result many(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (int i = 0; i < 1200; i++)
        (void)pawl_wait_event_ask(ctx, "Answer", pawl_s(ASK));
    return pawl_await(ctx, pawl_wait_event(ctx, "end"));
}

SCENARIO(s40_no_ask_of_a_removed_instance_is_left)
{
    scene_flow(s, "Many", many);
    scene_flow(s, "One", one);
    scene_start(s, "Many", "i", "");
    scene_start(s, "One", "j", "");
    expect_is(count_of(page(s, PAWL_ASK_FILTER(.limit = 1000))), 1000);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "i", .force = true)),
              PAWL_OK);
    pawl_str all = page(s, NULL);
    expect_is(count_of(all), 1);
    expect_text(all.ptr, "\"instance\":\"j\"");
}

SCENARIO(s40_suspended_ones_and_ones_without_code_are_listed)
{
    scene_flow(s, "One", one);
    scene_start(s, "One", "i", "");
    scene_start(s, "One", "j", "");
    scene_steer(s, PAWL_OP_SUSPEND, "i");
    scene_new_code(s);
    expect_is(asks(s), 2);
    scene_raise(s, "i", "Answer", "1");
    scene_steer(s, PAWL_OP_TERMINATE, "j");
    expect_is(asks(s), 1);
    scene_down(s);
    scene_flow(s, "One", one);
    scene_up(s);
    scene_steer(s, PAWL_OP_RESUME, "i");
    scene_expect(s, "i", PAWL_COMPLETED, "1");
    expect_is(asks(s), 0);
}

static pawl_result other(pawl_ctx *ctx, pawl_str input)
{
    return pawl_await(ctx, pawl_wait_event_ask(ctx, "Review", input));
}

SCENARIO(s40_pages_and_filters)
{
    scene_flow(s, "One", one);
    scene_flow(s, "Other", other);
    for (int i = 0; i < 5; i++)
        scene_start(s, i % 2 ? "Other" : "One", scene_id(s, "i", i), "{\"text\":\"x\"}");
    expect_is(count_of(page(s, PAWL_ASK_FILTER(.event = "Review"))), 2);
    expect_is(count_of(page(s, PAWL_ASK_FILTER(.orchestration = "One"))), 3);
    expect_is(count_of(page(s, PAWL_ASK_FILTER(.orchestration = "One", .event = "Review"))), 0);
    pawl_str first = page(s, PAWL_ASK_FILTER(.limit = 3));
    expect_is(count_of(first), 3);
    pawl_str next = pawl_json_text(s->mem, first, "/next", "");
    expect_is(next.len, 33);
    pawl_str rest = page(s, PAWL_ASK_FILTER(.limit = 2, .after = next.ptr));
    expect_is(count_of(rest), 2);
    expect_text(rest.ptr, "\"next\":null");
    expect_text(rest.ptr, "\"instance\":\"i3\"");
    pawl_error err;
    pawl_str none;
    expect_is(pawl_client_asks(s->c, PAWL_ASK_FILTER(.limit = 1001), s->mem, &none, &err),
              PAWL_INVALID);
    expect_is(count_of(page(s, PAWL_ASK_FILTER(.limit = 1000))), 5);
}

/* An ask of so many bytes. */
static const char *long_ask(struct scene *s, int bytes)
{
    return pawl_mem_printf(s->mem, "{\"title\":\"%0*d\"}", bytes - 12, 0).ptr;
}

static const char *choices(struct scene *s, int count)
{
    pawl_str list = pawl_s("\"0\"");
    for (int i = 1; i < count; i++)
        list = pawl_mem_printf(s->mem, "%s,\"%d\"", list.ptr, i);
    return pawl_mem_printf(s->mem, "{\"text\":\"x\",\"choices\":[%s]}", list.ptr).ptr;
}

SCENARIO(s40_a_bad_ask_is_refused_and_not_listed)
{
    const char *bad[] = {"1",
                         "[]",
                         "{",
                         "{}",
                         "{\"schema\":{}}",
                         "{\"title\":1}",
                         "{\"title\":\"\",\"text\":\"\"}",
                         "{\"title\":\"x\",\"title\":\"y\"}",
                         "{\"title\":\"x\",\"choices\":[\"a\"],\"choices\":[\"b\"]}",
                         "{\"text\":null}",
                         "{\"title\":\"x\",\"schema\":1}",
                         "{\"title\":\"x\",\"choices\":[]}",
                         "{\"title\":\"x\",\"choices\":[1]}",
                         "{\"title\":\"x\",\"choices\":\"yes\"}",
                         "{\"title\":\"x\",\"tilte\":\"y\"}",
                         long_ask(s, 16385),
                         choices(s, 101)};
    scene_flow(s, "Other", other);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *id = scene_id(s, "b", i);
        scene_start(s, "Other", id, bad[i]);
        scene_settle(s);
        expect_is(scene_info(s, id).state, PAWL_FAILED);
        expect_text(scene_info(s, id).error.ptr, "what it asks for cannot be used: ");
    }
    expect_is(asks(s), 0);
    scene_start(s, "Other", "long", long_ask(s, 16384));
    scene_start(s, "Other", "many", choices(s, 100));
    scene_start(s, "Other", "all",
                "{\"title\":\"a\",\"text\":\"b\",\"schema\":{},\"choices\":[\"c\"]}");
    expect_is(asks(s), 3);
}
