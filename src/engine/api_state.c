/* SPDX-License-Identifier: MIT */
/*
 * engine/api_state.c -- what an orchestration publishes (pawl/orchestration.h).
 *
 * Setting and clearing are decisions: recorded as StateChanged, compared in replay by key, bytes
 * and whether it is cleared.  Reading is none: the value follows from the history alone.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "engine/engine_private.h"

#include <stdio.h>
#include <string.h>

static pawl_result change(pawl_ctx *ctx, struct decision *d, bool odd)
{
    d->kind = PAWL_EV_STATE_CHANGED;
    if (ctx->phase == PHASE_LIVE)
        judge_state(ctx, d, odd);
    d->name = decide_name(d->name);
    decide_plain(ctx, d, pawl_s(d->cleared ? "{\"cleared\":true}" : ""));
    if (d->refusal[0])
        return result_refused(arena_dup(ctx->scope->mem, pawl_s(d->refusal)));
    if (d->cleared)
        state_clear(ctx, d->name);
    else
        state_set(ctx, d->name, d->data);
    return (pawl_result){.ok = true};
}

pawl_result pawl_state_set(pawl_ctx *ctx, const char *key, pawl_str value)
{
    assert_in_code(ctx);
    bool odd = is_odd(value);
    struct decision d = {.name = pawl_s(key),
                         .data = !odd ? value : (pawl_str){0},
                         .api = "pawl_state_set",
                         .site = CALL_SITE};

    return change(ctx, &d, odd);
}

pawl_result pawl_state_clear(pawl_ctx *ctx, const char *key)
{
    assert_in_code(ctx);
    struct decision d = {
        .name = pawl_s(key), .cleared = true, .api = "pawl_state_clear", .site = CALL_SITE};

    return change(ctx, &d, false);
}

pawl_str pawl_state_get(pawl_ctx *ctx, const char *key)
{
    assert_in_code(ctx);
    const pawl_str *value = state_find(ctx, pawl_s(key));

    return value ? arena_dup(ctx->scope->mem, *value) : (pawl_str){0};
}
