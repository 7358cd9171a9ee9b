/* SPDX-License-Identifier: MIT */
/*
 * A module for the tests of the command line: a parent with two children, an
 * orchestration that fails with hostile text, one that returns bytes that are not
 * UTF-8, one whose payload has line breaks, ones that wait, one that is not
 * deterministic.
 */
#include <pawl.h>

#include <stdlib.h>
#include <unistd.h>

static pawl_result leaf(pawl_ctx *ctx, pawl_str input)
{
    pawl_result waited = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return waited.ok ? pawl_done_str(ctx, input) : waited;
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_task kids[] = {
        pawl_start_child(ctx, "Leaf", pawl_s("1"), PAWL_CHILD_OPTS(.instance = "kid-1")),
        pawl_start_child(ctx, "Leaf", pawl_s("2"), PAWL_CHILD_OPTS(.instance = "kid-2")),
    };
    pawl_result all = pawl_await_all(ctx, kids, 2);
    return all.ok ? pawl_done(ctx, "both") : all;
}

/* Until the process is killed. */
static pawl_result forever(pawl_activity *act, pawl_str input)
{
    (void)input;
    for (;;)
        sleep(1000);
    return pawl_ok(act, "");
}

static pawl_result stuck(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Forever", input);
}

static pawl_result hostile(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_fail(ctx, "red \033[31malert\033[0m\nsecond line");
}

static pawl_result binary(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_done_str(ctx, (pawl_str){"\xff\xfe\x00z", 4});
}

static pawl_result lines(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_done(ctx, "{\n  \"a\": [1,\n 2]\n}");
}

static pawl_result flaky(pawl_activity *act, pawl_str input)
{
    (void)input;
    return pawl_err(act, "the bank is closed");
}

static pawl_result retries(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Flaky", input, PAWL_CALL_OPTS(.attempts = 5, .initial_ms = 600000));
}

/* Breaks the first rule: what it calls is up to the environment. */
static pawl_result fickle(pawl_ctx *ctx, pawl_str input)
{
    const char *event = getenv("FICKLE");
    pawl_result first = pawl_await(ctx, pawl_wait_event(ctx, event ? event : "Go"));
    return first.ok ? pawl_done_str(ctx, input) : first;
}

static pawl_result nobody(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "NobodyHasThis", input);
}

static void setup(pawl_app *app)
{
    pawl_register_activity(app, "Flaky", flaky);
    pawl_register_orchestration(app, "Stuck", "1.0.0", stuck);
    pawl_register_activity(app, "Forever", forever);
    pawl_register_orchestration(app, "Leaf", "1.0.0", leaf);
    pawl_register_orchestration(app, "Parent", "1.0.0", parent);
    pawl_register_orchestration(app, "Hostile", "1.0.0", hostile);
    pawl_register_orchestration(app, "Binary", "1.0.0", binary);
    pawl_register_orchestration(app, "Lines", "1.0.0", lines);
    pawl_register_orchestration(app, "Retries", "1.0.0", retries);
    pawl_register_orchestration(app, "Fickle", "1.0.0", fickle);
    pawl_register_orchestration(app, "Nobody", "1.0.0", nobody);
}

PAWL_MODULE(setup)
