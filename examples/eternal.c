/* SPDX-License-Identifier: MIT */
/*
 * eternal -- a heartbeat that never ends, with a history that never grows.
 *
 *     pawl start Heartbeat --load build/examples/eternal.so --id heart --input '{"every_ms":500}'
 *     pawl work --load build/examples/eternal.so          # Ctrl-C, and again
 *     pawl raise heart Stop                               # meanwhile, or later
 *
 * Input: {"count":0,"every_ms":1000,"until":0}, all optional; `until` ends it
 * after so many beats.  A few beats are one execution; then it continues as new:
 * same instance, next execution, fresh history, state in the input.  Deploy a
 * new version, and the next execution runs it.
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>

#define BEATS 5 /* an execution; in earnest: hundreds */

static pawl_result beat(pawl_activity *act, pawl_str number)
{
    if (getenv("PAWL_EXAMPLE_LOUD"))
        fprintf(stderr, "    -> beat %.*s\n", PAWL_FMT(number));
    return pawl_ok(act, "thump");
}

/* The state, carried over as the next input. */
static pawl_str next_input(pawl_ctx *ctx, int64_t count, int64_t every_ms, int64_t until)
{
    pawl_json *w = pawl_json_new(pawl_ctx_mem(ctx));
    pawl_json_object(w);
    pawl_json_key(w, "count");
    pawl_json_num(w, count);
    pawl_json_key(w, "every_ms");
    pawl_json_num(w, every_ms);
    pawl_json_key(w, "until");
    pawl_json_num(w, until);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static pawl_result heartbeat(pawl_ctx *ctx, pawl_str state)
{
    int64_t count = pawl_json_int(state, "/count", 0);
    int64_t every_ms = pawl_json_int(state, "/every_ms", 1000);
    int64_t until = pawl_json_int(state, "/until", 0);

    pawl_task stop = pawl_wait_event(ctx, "Stop"); /* one that came early is kept */
    for (int i = 0; i < BEATS; i++) {
        pawl_result beaten = pawl_call(ctx, "Beat", pawl_printf(ctx, "%lld", (long long)++count));
        if (!beaten.ok)
            return beaten;
        if (count == until)
            return pawl_donef(ctx, "%lld", (long long)count);
        pawl_task pause = pawl_timer(ctx, every_ms);
        int first = pawl_await_any(ctx, (pawl_task[]){stop, pause}, 2);
        if (first != 1) /* stopped, or cancelled (-1) */
            return first == 0 ? pawl_donef(ctx, "%lld", (long long)count)
                              : pawl_fail(ctx, "cancelled");
    }
    return pawl_continue_as_new(ctx, next_input(ctx, count, every_ms, until), NULL);
}

static void setup(pawl_app *app)
{
    pawl_register_activity(app, "Beat", beat);
    pawl_register_orchestration(app, "Heartbeat", "1.0.0", heartbeat);
}

PAWL_EXPORT(setup)
