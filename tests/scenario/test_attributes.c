/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_attributes.c -- S51 to S54: attributes, who sets them, who finds by them. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

static void start_with(struct scene *s, const char *flow, const char *id, const char *attributes)
{
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = flow,
                                       .attributes = pawl_s(attributes))),
              PAWL_OK);
}

static void expect_set(struct scene *s, const char *id, const char *expected)
{
    scene_up(s);
    pawl_info info = scene_info(s, id);
    ck_assert_str_eq(info.attributes.len ? info.attributes.ptr : "", expected);
}

/* Ids that a condition finds, newest first. */
static void expect_found(struct scene *s, const char *condition, const char *expected)
{
    pawl_where w;
    pawl_error err;
    pawl_page page;
    char text[400] = "";
    scene_up(s);
    ck_assert(pawl_where_parse(s->mem, pawl_s(condition), &w, &err));
    const char *after = NULL;
    do {
        expect_is(pawl_client_list(
                      s->c, PAWL_FILTER(.limit = 2, .after = after, .where = &w, .where_count = 1),
                      s->mem, &page, &err),
                  PAWL_OK);
        for (size_t i = 0; i < page.count; i++) {
            size_t n = strlen(text);
            (void)snprintf(text + n, sizeof(text) - n, "%s%.*s", n ? " " : "",
                           PAWL_FMT(page.items[i].instance));
        }
        after = page.next.len ? page.next.ptr : NULL;
    } while (after);
    ck_assert_str_eq(text, expected);
}

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "go"));
    return r.ok ? pawl_done_str(ctx, r.value) : r;
}

SCENARIO(s51_s53_a_start_gives_attributes_and_they_are_there_with_its_commit)
{
    scene_flow(s, "Waits", waits);
    start_with(s, "Waits", "a", "{\"total\":990, \"customer\":\"c-42\"}");
    start_with(s, "Waits", "b", "{\"total\":10,\"customer\":\"c-42\"}");
    start_with(s, "Waits", "c", "");
    expect_set(s, "a", "{\"customer\":\"c-42\",\"total\":990}");
    expect_set(s, "c", "");
    expect_found(s, "customer=c-42", "b a");
    expect_found(s, "total>=500", "a");
    scene_crash(s);
    expect_found(s, "customer=c-42", "b a");
    scene_raise(s, "a", "go", "1");
    scene_expect(s, "a", PAWL_COMPLETED, "1");
    expect_set(s, "a", "{\"customer\":\"c-42\",\"total\":990}");
    expect_found(s, "customer=c-42", "b a");
}

SCENARIO(s51_a_start_with_bad_attributes_starts_nothing)
{
    static const char *const bad[] = {"[]",        "{\"a\":1.5}", "{\"a\":{}}", "{\"pawl.x\":1}",
                                      "{\"A\":1}", "{\"a\":true}"};
    scene_flow(s, "Waits", waits);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "a", .name = "Waits",
                                           .attributes = pawl_s(bad[i]))),
                  PAWL_INVALID);
        ck_assert_ptr_null(strchr(s->reply.error.text, '\n'));
    }
    char many[2000] = "{";
    for (int i = 0; i < 33; i++)
        (void)snprintf(many + strlen(many), 40, "%s\"n%d\":%d", i ? "," : "", i, i);
    (void)strcat(many, "}");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "a", .name = "Waits",
                                       .attributes = pawl_s(many))),
              PAWL_INVALID);
    pawl_info info;
    expect_is(pawl_client_get(s->c, "a", 0, s->mem, &info, NULL), PAWL_NOT_FOUND);
}

/* Sets what is raised, until that is "end" or "next". */
static pawl_result sets(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (;;) {
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "set"));
        if (!r.ok || pawl_str_is(r.value, "end"))
            return r;
        if (pawl_str_is(r.value, "next"))
            return pawl_continue_as_new(ctx, (pawl_str){0}, NULL);
        pawl_result set = pawl_set_attributes(ctx, r.value);
        pawl_set_statusf(ctx, "%s", set.ok ? "ok" : set.value.ptr);
    }
}

SCENARIO(s52_code_merges_and_null_removes)
{
    scene_flow(s, "Sets", sets);
    start_with(s, "Sets", "a", "{\"customer\":\"c-1\",\"old\":1}");
    scene_raise(s, "a", "set", "{\"stage\":\"paid\",\"old\":null}");
    scene_settle(s);
    expect_set(s, "a", "{\"customer\":\"c-1\",\"stage\":\"paid\"}");
    expect_found(s, "old=1", "");
    expect_found(s, "stage=paid", "a");
    scene_crash(s);
    scene_raise(s, "a", "set", "{\"stage\":\"sent\"}");
    scene_settle(s);
    expect_found(s, "stage=paid", "");
    expect_found(s, "stage=sent", "a");
    ck_assert_int_eq(scene_kind_count(s, "a", "AttributesSet"), 2);
    scene_raise(s, "a", "set", "end");
    scene_expect(s, "a", PAWL_COMPLETED, "end");
    expect_found(s, "stage=sent", "a");
}

SCENARIO(s52_s30_a_refused_change_is_recorded_and_changes_nothing)
{
    scene_flow(s, "Sets", sets);
    start_with(s, "Sets", "a", "{\"n\":1}");
    static const char *const bad[] = {"x", "{\"n\":0.5}", "{\"pawl.n\":1}", "{\"n\":[]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        scene_raise(s, "a", "set", bad[i]);
        scene_settle(s);
        ck_assert(!pawl_str_is(scene_info(s, "a").custom_status, "ok"));
        expect_set(s, "a", "{\"n\":1}");
    }
    for (int i = 0; i < 31; i++) {
        scene_raise(s, "a", "set", pawl_mem_printf(s->mem, "{\"m%d\":%d}", i, i).ptr);
        scene_settle(s);
        ck_assert(pawl_str_is(scene_info(s, "a").custom_status, "ok"));
    }
    scene_raise(s, "a", "set", "{\"one-more\":1}");
    scene_settle(s);
    ck_assert_ptr_nonnull(strstr(scene_info(s, "a").custom_status.ptr, "33 attributes"));
    scene_crash(s); /* replayed as it was recorded */
    scene_raise(s, "a", "set", "{\"one-more\":1,\"n\":null}");
    scene_settle(s);
    ck_assert(pawl_str_is(scene_info(s, "a").custom_status, "ok"));
    expect_found(s, "one-more=1", "a");
}

SCENARIO(s52_an_operator_changes_them_without_an_event)
{
    pawl_error err;
    scene_flow(s, "Sets", sets);
    start_with(s, "Sets", "a", "{\"n\":1}");
    scene_settle(s);
    const char *before = scene_history(s, "a", 1);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SET_ATTRIBUTES, .instance = "a",
                                       .data = pawl_s("{\"n\":null,\"who\":\"me\"}"))),
              PAWL_OK);
    ck_assert_str_eq(scene_history(s, "a", 1), before);
    expect_found(s, "who=me", "a");
    expect_found(s, "n=1", "");
    scene_crash(s);
    scene_raise(s, "a", "set", "{\"n\":2}");
    scene_settle(s);
    expect_set(s, "a", "{\"n\":2,\"who\":\"me\"}");
    scene_raise(s, "a", "set", "end");
    scene_expect(s, "a", PAWL_COMPLETED, "end");
    int64_t ended_ms = scene_info(s, "a").updated_ms;
    scene_advance(s, 5000);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SET_ATTRIBUTES, .instance = "a",
                                       .data = pawl_s("{\"seen\":1}"))),
              PAWL_OK);
    scene_expect(s, "a", PAWL_COMPLETED, "end"); /* it keeps its output, and when it ended */
    ck_assert_int_eq(scene_info(s, "a").updated_ms, ended_ms);
    expect_found(s, "seen=1", "a");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SET_ATTRIBUTES, .instance = "none",
                                       .data = pawl_s("{\"n\":1}"))),
              PAWL_NOT_FOUND);
    expect_is(pawl_client_set_attributes(s->c, "a", pawl_s(""), &err), PAWL_INVALID);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SET_ATTRIBUTES, .instance = "a",
                                       .data = pawl_s("{\"n\":1.5}"))),
              PAWL_INVALID);
}

SCENARIO(s53_continue_as_new_and_rerun_keep_them)
{
    scene_flow(s, "Sets", sets);
    start_with(s, "Sets", "a", "{\"n\":1}");
    scene_raise(s, "a", "set", "{\"m\":2}");
    scene_raise(s, "a", "set", "next");
    scene_settle(s);
    expect_set(s, "a", "{\"m\":2,\"n\":1}");
    scene_raise(s, "a", "set", "end");
    scene_expect(s, "a", PAWL_COMPLETED, "end");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = "a",
                                       .attributes = pawl_s("{\"n\":3}"))),
              PAWL_OK);
    scene_settle(s);
    expect_set(s, "a", "{\"m\":2,\"n\":3}");
    expect_found(s, "n=1", "");
    expect_found(s, "n=3", "a");
    scene_crash(s);
    expect_set(s, "a", "{\"m\":2,\"n\":3}");
}

SCENARIO(s53_they_go_with_the_instance)
{
    scene_flow(s, "Waits", waits);
    start_with(s, "Waits", "a", "{\"n\":1}");
    start_with(s, "Waits", "b", "{\"n\":1}");
    scene_raise(s, "a", "go", "x");
    scene_expect(s, "a", PAWL_COMPLETED, "x");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "a")), PAWL_OK);
    expect_found(s, "n=1", "b");
    start_with(s, "Waits", "a", "");
    expect_found(s, "n=1", "b");
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_set_attributes(ctx, pawl_s("{\"of\":\"parent\"}")));
    pawl_task one =
        pawl_start_child(ctx, "Waits", (pawl_str){0},
                         PAWL_CHILD_OPTS(.instance = "one", .flags = PAWL_CHILD_INHERIT));
    pawl_task two =
        pawl_start_child(ctx, "Waits", (pawl_str){0}, PAWL_CHILD_OPTS(.instance = "two"));
    pawl_ignore(pawl_await(ctx, one));
    return pawl_await(ctx, two);
}

SCENARIO(s53_children_have_them_only_when_they_inherit)
{
    scene_flow(s, "Waits", waits);
    scene_flow(s, "Parent", parent);
    start_with(s, "Parent", "p", "{\"n\":1}");
    scene_settle(s);
    expect_set(s, "one", "{\"n\":1,\"of\":\"parent\"}");
    expect_set(s, "two", "");
    expect_found(s, "of=parent", "one p");
}

/* ---- S55: counts ---------------------------------------------------------------------------- */

static pawl_str counts(struct scene *s, const pawl_filter *filter, const char *by)
{
    pawl_str text = {0};
    pawl_error err = {0};
    scene_up(s);
    ck_assert_msg(pawl_client_count(s->c, filter, by, s->mem, &text, &err) == PAWL_OK, "%s",
                  err.text);
    return text;
}

SCENARIO(s55_counts_by_status_orchestration_and_attribute)
{
    pawl_error err;
    pawl_str text;
    pawl_where big;
    scene_flow(s, "Waits", waits);
    scene_flow(s, "Other", waits);
    expect_text(counts(s, NULL, "customer").ptr,
                "{\"by\":\"customer\",\"groups\":[],\"total\":0,\"examined\":0,\"more\":false}");
    start_with(s, "Waits", "a", "{\"customer\":\"c-1\",\"total\":7}");
    start_with(s, "Waits", "b", "{\"customer\":\"c-2\",\"total\":-7}");
    start_with(s, "Other", "c", "{\"customer\":\"c-1\",\"total\":\"7\"}");
    start_with(s, "Other", "d", "{}");
    scene_raise(s, "b", "go", "");
    scene_settle(s);
    expect_text(counts(s, NULL, "customer").ptr,
                "[{\"value\":\"c-1\",\"count\":2},{\"value\":\"c-2\",\"count\":1}]");
    expect_text(
        counts(s, NULL, "total").ptr,
        "[{\"value\":-7,\"count\":1},{\"value\":7,\"count\":1},{\"value\":\"7\",\"count\":1}]");
    expect_text(counts(s, NULL, "status").ptr,
                "[{\"value\":\"completed\",\"count\":1},{\"value\":\"running\",\"count\":3}],"
                "\"total\":4,");
    expect_text(counts(s, NULL, "orchestration").ptr,
                "[{\"value\":\"Other\",\"count\":2},{\"value\":\"Waits\",\"count\":2}]");
    expect_text(counts(s, NULL, NULL).ptr, "{\"by\":null,\"groups\":[],\"total\":4,");
    expect_text(counts(s, PAWL_FILTER(.orchestration = "Waits"), "customer").ptr,
                "[{\"value\":\"c-1\",\"count\":1},{\"value\":\"c-2\",\"count\":1}],\"total\":2,");
    ck_assert(pawl_where_parse(s->mem, pawl_s("total>=0"), &big, &err));
    expect_text(counts(s, PAWL_FILTER(.where = &big, .where_count = 1), "status").ptr,
                "[{\"value\":\"running\",\"count\":1}],\"total\":1,");
    expect_is(pawl_client_count(s->c, NULL, "Customer", s->mem, &text, &err), PAWL_INVALID);
    expect_is(pawl_client_count(s->c, PAWL_FILTER(.limit = 1001), "total", s->mem, &text, &err),
              PAWL_LIMIT);
}

/* ---- S54: filters --------------------------------------------------------------------------- */

SCENARIO(s54_every_condition_finds_exactly_its_instances)
{
    scene_flow(s, "Waits", waits);
    start_with(s, "Waits", "a", "{\"n\":7,\"t\":\"blue\"}");
    start_with(s, "Waits", "b", "{\"n\":-7,\"t\":\"blueish\"}");
    start_with(s, "Waits", "c", "{\"n\":\"7\",\"t\":\"red\"}");
    start_with(s, "Waits", "d", "{}");
    expect_found(s, "n=7", "a");
    expect_found(s, "n=\"7\"", "c");
    expect_found(s, "n!=7", "c b");
    expect_found(s, "n<7", "b");
    expect_found(s, "n<=7", "b a");
    expect_found(s, "n>-7", "a");
    expect_found(s, "n>=-7", "b a");
    expect_found(s, "t^=blue", "b a");
    expect_found(s, "t^=", "c b a");
    expect_found(s, "t>blue", "c b");
    expect_found(s, "other=1", "");
}
