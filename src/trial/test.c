/* SPDX-License-Identifier: MIT */
/*
 * trial/test.c -- pawl/test.h: begin, steer, run and look.
 *
 * A test is a world whose hooks read a script.  The expectations are in expect.c,
 * the answers of activities in script.c.
 */
#include "trial/test.h"

#include "base/attr.h"
#include "base/fit.h"
#include "base/misuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_AT_ONE_MOMENT 100000 /* more than that without time passing is a loop */

NORETURN static void give_up(const pawl_error *err)
{
    fprintf(stderr, "pawl_test: %s\n", err->text[0] ? err->text : "out of memory");
    abort();
}

/* ---- Crashes -------------------------------------------------------------------------------- */

static bool dies(void *user, const char *point)
{
    pawl_test *t = user;
    if (t->crash_point && strcmp(point, t->crash_point) == 0 && --t->crash_n == 0) {
        t->crash_point = NULL;
        return true;
    }
    return t->crash_each && strcmp(point, "commit.after") == 0;
}

void pawl_test_crash(pawl_test *t)
{
    MUST_HAVE("a test", t);
    world_crash(&t->world);
    if (!t->world.rt)
        give_up(&t->world.trouble);
}

void pawl_test_crash_at(pawl_test *t, const char *point, unsigned n)
{
    MUST_HAVE("a test", t);
    t->crash_point = n ? arena_dup(&t->mem, pawl_s(point)).ptr : NULL;
    t->crash_n = n;
}

void pawl_test_crash_each(pawl_test *t, bool on)
{
    MUST_HAVE("a test", t);
    t->crash_each = on;
}

static pawl_app *set_up(pawl_test *t, pawl_test_setup_fn *setup)
{
    pawl_app **slot = vec_push(&t->apps);
    pawl_app *app = pawl_app_new();
    assert_that(slot && app);
    *slot = app;
    setup(app);
    return app;
}

void pawl_test_deploy(pawl_test *t, pawl_test_setup_fn *setup)
{
    MUST_HAVE("a test", t);
    world_deploy(&t->world, set_up(t, setup));
    if (!t->world.rt)
        give_up(&t->world.trouble);
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

pawl_test *pawl_test_new(pawl_test_setup_fn *setup)
{
    pawl_test *t = calloc(1, sizeof(*t));
    const struct world_hooks hooks = {.user = t, .activity = script_play, .dies = dies};
    const pawl_options options = {.paranoid = true};
    assert_that(t != NULL);
    arena_init(&t->mem);
    arena_init(&t->look);
    if (!world_open(&t->world, set_up(t, setup), &hooks, &options, 1))
        give_up(&t->world.trouble);
    return t;
}

int pawl_test_end(pawl_test *t)
{
    if (!t)
        return 0;
    int bad = t->failures != 0;
    world_close(&t->world);
    for (size_t i = 0; i < t->apps.count; i++)
        pawl_app_free(t->apps.items[i]);
    vec_deinit(&t->apps);
    script_free(t);
    arena_deinit(&t->look);
    arena_deinit(&t->mem);
    free(t->subject);
    free(t);
    return bad;
}

/* ---- Instances and events --------------------------------------------------------------------- */

void pawl_test_choose(pawl_test *t, const char *id)
{
    MUST_HAVE("a test", t);
    char *copy = strdup(id);
    assert_that(copy != NULL);
    free(t->subject);
    t->subject = copy;
}

void pawl_test_start_as(pawl_test *t, const char *id, const char *orchestration, const char *input)
{
    MUST_HAVE("a test", t);
    pawl_test_choose(t, id);
    t->world.trouble = (pawl_error){0};
    world_call(&t->world, 0,
               PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = orchestration,
                            .data = pawl_s(input)));
}

void pawl_test_start(pawl_test *t, const char *orchestration, const char *input)
{
    MUST_HAVE("a test", t);
    char id[32] = "test";
    if (t->starts++)
        (void)snprintf(id, sizeof(id), "test-%u", t->starts);
    pawl_test_start_as(t, id, orchestration, input);
}

int64_t pawl_test_now(pawl_test *t)
{
    MUST_HAVE("a test", t);
    return t->world.wall_ms - WORLD_BEGIN_MS;
}

void pawl_test_raise_at(pawl_test *t, int64_t at_ms, const char *event, const char *data)
{
    MUST_HAVE("a test", t);
    world_call(&t->world, at_ms - pawl_test_now(t),
               PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = t->subject, .name = event,
                            .data = pawl_s(data)));
}

void pawl_test_raise(pawl_test *t, const char *event, const char *data)
{
    MUST_HAVE("a test", t);
    pawl_test_raise_at(t, 0, event, data);
}

void pawl_test_update_at(pawl_test *t, int64_t at_ms, const char *name, const char *data)
{
    MUST_HAVE("a test", t);
    world_call(&t->world, at_ms - pawl_test_now(t),
               PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = t->subject, .name = name,
                            .data = pawl_s(data)));
}

const char *pawl_test_answered(pawl_test *t, const char *name, unsigned n)
{
    MUST_HAVE("a test", t);
    pawl_history h = pawl_test_history(t);
    for (size_t i = 0; i < h.count; i++)
        if (strcmp(h.events[i].kind, "UpdateAnswered") == 0 &&
            pawl_str_is(h.events[i].name, name) && --n == 0)
            return h.events[i].data.ptr ? h.events[i].data.ptr : "";
    return NULL;
}

void pawl_test_cancel_at(pawl_test *t, int64_t at_ms, const char *reason)
{
    MUST_HAVE("a test", t);
    world_call(&t->world, at_ms - pawl_test_now(t),
               PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = t->subject, .reason = reason));
}

void pawl_test_at(pawl_test *t, int64_t at_ms, void (*fn)(void *arg), void *arg)
{
    MUST_HAVE("a test", t);
    world_call_fn(&t->world, at_ms - pawl_test_now(t), fn, arg);
}

/* ---- Running -------------------------------------------------------------------------------------- */

static bool is_over(pawl_test *t)
{
    return pawl_state_is_terminal(pawl_test_state(t));
}

static pawl_test_outcome run_until(pawl_test *t, int64_t until_ms)
{
    unsigned steps = 0;
    arena_reset(&t->look);
    for (;;) {
        while (world_step(&t->world) && !is_over(t))
            if (++steps > STEPS_AT_ONE_MOMENT)
                return PAWL_TEST_STUCK;
        if (!t->world.rt)
            give_up(&t->world.trouble);
        if (is_over(t))
            return PAWL_TEST_ENDED;
        if (pawl_test_state(t) == PAWL_BLOCKED)
            return PAWL_TEST_STUCK;
        int64_t before = t->world.mono_ms;
        if (!world_pass(&t->world, until_ms))
            return PAWL_TEST_STUCK;
        steps = t->world.mono_ms > before ? 0 : steps + 1;
    }
}

pawl_test_outcome pawl_test_run(pawl_test *t)
{
    MUST_HAVE("a test", t);
    return run_until(t, INT64_MAX - 1);
}

pawl_test_outcome pawl_test_run_for(pawl_test *t, int64_t ms)
{
    MUST_HAVE("a test", t);
    int64_t until = t->world.mono_ms + ms;
    pawl_test_outcome outcome = run_until(t, until);
    if (outcome != PAWL_TEST_STUCK || pawl_test_state(t) == PAWL_BLOCKED)
        return outcome;
    int64_t left = until - t->world.mono_ms;
    t->world.mono_ms += left;
    t->world.wall_ms += left;
    return PAWL_TEST_RUNNING;
}

/* ---- Looking ---------------------------------------------------------------------------------------- */

static bool find(pawl_test *t, pawl_row *row)
{
    return t->subject && world_find(&t->world, t->subject, &t->look, row);
}

pawl_state pawl_test_state(pawl_test *t)
{
    MUST_HAVE("a test", t);
    struct arena_mark mark = arena_mark(&t->look);
    pawl_row row;
    pawl_state state = find(t, &row) ? row.state : PAWL_PENDING;
    arena_rewind(&t->look, mark);
    return state;
}

const char *pawl_test_output(pawl_test *t)
{
    MUST_HAVE("a test", t);
    pawl_row row;
    return find(t, &row) && row.state == PAWL_COMPLETED ? row.output.ptr : "";
}

const char *pawl_test_error(pawl_test *t)
{
    MUST_HAVE("a test", t);
    pawl_row row;
    bool bad = find(t, &row) && (row.state == PAWL_FAILED || row.state == PAWL_CANCELLED);
    return bad ? row.output.ptr : "";
}

const char *pawl_test_status(pawl_test *t)
{
    MUST_HAVE("a test", t);
    pawl_row row;
    return find(t, &row) && row.custom_status.len ? row.custom_status.ptr : "";
}

const char *pawl_test_why(pawl_test *t)
{
    MUST_HAVE("a test", t);
    if (!t->subject)
        return "nothing was started";
    if (t->world.trouble.status != PAWL_OK)
        return t->world.trouble.text;
    for (const struct script *s = t->scripts; s; s = s->next)
        if (s->waiting.count)
            return pawl_mem_printf(
                       &t->look,
                       "activity '%s' was called, and the test does not say what it answers: "
                       "pawl_test_on(t, \"%s\", …)",
                       s->name, s->name)
                .ptr;
    return world_why(&t->world, t->subject, &t->look).ptr;
}

pawl_history pawl_test_history(pawl_test *t)
{
    MUST_HAVE("a test", t);
    pawl_history all = {0};
    pawl_error err;
    if (!t->subject || pawl_client_history(pawl_test_client(t), t->subject, 0, 0, UINT32_MAX,
                                           &t->look, &all, &err) != PAWL_OK)
        return (pawl_history){0};
    return all;
}

void pawl_test_history_sized(pawl_test *t, pawl_history *ret, size_t size)
{
    pawl_history own = pawl_test_history(t);
    MUST_HAVE("room for the history", ret);
    fit_struct(ret, size, &own, sizeof(own));
}

pawl_client *pawl_test_client(pawl_test *t)
{
    MUST_HAVE("a test", t);
    return pawl_runtime_client(t->world.rt);
}
