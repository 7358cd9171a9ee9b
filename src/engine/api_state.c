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

static void check_key(struct decision *d)
{
    pawl_error err;

    if (d->name.len > LIMIT_STATE_KEY_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "state key is %zu bytes, limit %d",
                       d->name.len, LIMIT_STATE_KEY_BYTES);
    else if (!check_name("state key", d->name, &err))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    if (!utf8_valid(pawl_s(d->refusal)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "state key is not UTF-8");
}

static void check_value(const pawl_ctx *ctx, struct decision *d)
{
    size_t count, bytes;

    if (d->data.len > LIMIT_STATE_VALUE_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "state value is %zu bytes, limit %d",
                       d->data.len, LIMIT_STATE_VALUE_BYTES);
    else if (!state_fits(ctx, d->name, d->data, &count, &bytes))
        (void)snprintf(d->refusal, sizeof(d->refusal),
                       "state would have %zu keys and %zu bytes, limit %d keys and %d bytes", count,
                       bytes, LIMIT_STATE_KEYS, LIMIT_STATE_BYTES);
}

static pawl_result change(pawl_ctx *ctx, struct decision *d, bool odd)
{
    bool live = ctx->phase == PHASE_LIVE;

    d->kind = PAWL_EV_STATE_CHANGED;
    if (live && ctx->spec.rules.no_objects)
        (void)snprintf(d->refusal, sizeof(d->refusal), "the store keeps no state");
    else if (live && odd)
        (void)snprintf(d->refusal, sizeof(d->refusal), "value has a length and no bytes");
    else if (live)
        check_key(d);
    if (live && !d->refusal[0] && !d->cleared)
        check_value(ctx, d);
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
