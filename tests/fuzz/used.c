/* SPDX-License-Identifier: MIT */
/* tests/fuzz/used.c -- see used.h. */
#include "used.h"

#include "base/attr.h"
#include "fuzz.h"

#include <string.h>

#define STEPS 40

static const char *const ids[] = {"done", "waits", "sleeps", "rests", "again", "parent", "mail"};

static pawl_result echo(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result steps(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    pawl_set_status(ctx, "half");
    r = pawl_call(ctx, "Echo", r.value);
    return pawl_done_str(ctx, r.value);
}

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    pawl_task tasks[] = {pawl_wait_event(ctx, "Go"), pawl_timer(ctx, 3600000),
                         pawl_start(ctx, "Nobody", input)};
    int first = pawl_race(ctx, tasks, 3);
    return pawl_done(ctx, first == 0 ? "went" : first == 1 ? "late" : "no");
}

static pawl_result again(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    return input.len < 3 ? pawl_continue_as_new(ctx, pawl_s("xxx"), NULL)
                         : pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    pawl_task a = pawl_start_child(ctx, "Steps", input, NULL),
              b = pawl_start_child(ctx, "Waits", input, NULL);
    pawl_ignore(pawl_queue_push(ctx, "q", pawl_s("1"), NULL));
    pawl_ignore(pawl_await(ctx, a));
    return pawl_await(ctx, b);
}

static pawl_app *make_app(void)
{
    pawl_app *app = pawl_app_new();
    pawl_register_activity(app, "Echo", echo);
    pawl_register_orchestration(app, "Steps", "1.0.0", steps);
    pawl_register_orchestration(app, "Waits", "1.0.0", waits);
    pawl_register_orchestration(app, "Again", "1.0.0", again);
    pawl_register_orchestration(app, "Parent", "1.0.0", parent);
    return app;
}

/* ---- The world: the calendar stands still ------------------------------------------- */

static int64_t stands_still(void *user)
{
    (void)user;
    return USED_NOW_MS;
}

/* Waiting ends: whatever is tried again after a while is tried. */
static int64_t creeps(void *user)
{
    static int64_t ms;
    (void)user;
    return ++ms;
}

static void same_bits(void *user, void *to, size_t n)
{
    static uint64_t draw;
    (void)user;
    draw++;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = (unsigned char)(draw >> (8 * (i % 8)));
}

static void no_log(void *user, pawl_log_level level, const char *area, const char *text)
{
    (void)user, (void)level, (void)area, (void)text;
}

static pawl_runtime *open_it(pawl_app *app, const char *store, const char *dir, bool read_only,
                             pawl_error *err)
{
    pawl_env env = {.now_ms = stands_still, .mono_ms = creeps, .random = same_bits};
    return pawl_runtime_open(app,
                             PAWL_OPTIONS(.store = store, .data = dir, .read_only = read_only,
                                          .workers = 1, .log = no_log, .env = &env),
                             err);
}

/* Done, or refused with a text that says why. */
static void answered(pawl_status rc, const pawl_error *err)
{
    must(rc == PAWL_OK || rc == PAWL_EMPTY || err->text[0]);
}

static void run_on(pawl_runtime *rt)
{
    for (int i = 0; i < STEPS && pawl_runtime_step(rt, 0) > 0; i++)
        ;
}

/* ---- Making it --------------------------------------------------------------------- */

void used_make(const char *store, const char *dir)
{
    static const char *const what[] = {"Steps", "Waits",  "Waits", "Waits",
                                       "Again", "Parent", "Waits"};
    pawl_error err = {0};
    pawl_app *app = make_app();
    pawl_runtime *rt = open_it(app, store, dir, false, &err);
    must(rt);
    pawl_client *c = pawl_runtime_client(rt);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        pawl_reply reply;
        must(pawl_client_start(c, what[i], pawl_s("{}"), PAWL_START_OPTS(.instance = ids[i]),
                               &reply) == PAWL_OK);
        run_on(rt);
    }
    must(pawl_client_suspend(c, "rests", "r", &err) == PAWL_OK);
    must(pawl_client_raise(c, "mail", "Early", pawl_s("1"), PAWL_RAISE_OPTS(.idempotency_key = "k"),
                           &err) == PAWL_OK);
    must(pawl_client_raise(c, "later", "Go", pawl_s("1"), PAWL_RAISE_OPTS(.await_start = true),
                           &err) == PAWL_OK);
    for (int i = 0; i < 3; i++)
        answered(pawl_client_push(c, "q", pawl_s("{\"n\":1}"), NULL, NULL, &err), &err);
    static const char more_than_a_page[20000] = "\"";
    answered(pawl_client_push(c, "q", (pawl_str){more_than_a_page, sizeof(more_than_a_page)}, NULL,
                              NULL, &err),
             &err);
    pawl_mem *mem = pawl_mem_new();
    pawl_queue_message m;
    answered(pawl_client_pop_locked(c, "q", 60000, 0, mem, &m, &err), &err);
    pawl_mem_free(mem);
    run_on(rt);
    pawl_runtime_close(rt);
    pawl_app_free(app);
}

/* ---- Using it ------------------------------------------------------------------------ */

static void look_at(pawl_client *c, const char *id)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    pawl_history history;
    pawl_error err = {0};
    if (pawl_client_get(c, id, 0, mem, &info, &err) != PAWL_OK)
        must(err.text[0]);
    for (uint64_t execution = 0; execution < 3; execution++)
        if (pawl_client_history(c, id, execution, 0, 100, mem, &history, &err) != PAWL_OK)
            must(err.text[0]);
    pawl_mem_free(mem);
}

static void look_around(pawl_client *c)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_page page;
    pawl_queue_stats stats;
    pawl_error err = {0};
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        look_at(c, ids[i]);
    if (pawl_client_list(c, PAWL_FILTER(.limit = 50), mem, &page, &err) == PAWL_OK)
        for (size_t i = 0; i < page.count; i++)
            must(page.items[i].instance.ptr);
    answered(pawl_queue_get_stats(c, "q", mem, &stats, &err), &err);
    pawl_mem_free(mem);
}

static void steer(pawl_runtime *rt)
{
    pawl_client *c = pawl_runtime_client(rt);
    pawl_mem *mem = pawl_mem_new();
    pawl_queue_message m;
    pawl_reply reply;
    pawl_error err = {0};
    answered(pawl_client_raise(c, "waits", "Go", pawl_s("1"), NULL, &err), &err);
    answered(pawl_client_resume(c, "rests", "", &err), &err);
    answered(pawl_client_cancel(c, "parent", "", &err), &err);
    answered(pawl_client_retry(c, "sleeps", &err), &err);
    answered(pawl_client_terminate(c, "mail", "", &err), &err);
    answered(pawl_client_remove(c, "done", true, &reply), &reply.error);
    answered(
        pawl_client_start(c, "Waits", pawl_s(""), PAWL_START_OPTS(.instance = "later"), &reply),
        &reply.error);
    answered(pawl_client_push(c, "q", pawl_s("2"), NULL, NULL, &err), &err);
    answered(pawl_client_pop(c, "q", 0, mem, &m, &err), &err);
    pawl_queue_reply many;
    answered(pawl_queue_call(c,
                             PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 100),
                             mem, &many),
             &many.error);
    run_on(rt);
    pawl_mem_free(mem);
}

void used_use(const char *store, const char *dir)
{
    pawl_error err = {0};
    pawl_app *app = make_app();
    pawl_runtime *rt = open_it(app, store, dir, false, &err);
    if (rt) {
        run_on(rt);
        look_around(pawl_runtime_client(rt));
        steer(rt);
        look_around(pawl_runtime_client(rt));
        pawl_runtime_close(rt);
    } else {
        must(err.status != PAWL_OK && err.text[0]);
    }
    pawl_app_free(app);
}
