/* SPDX-License-Identifier: MIT */
/*
 * engine/api_attributes.c -- attributes that an orchestration sets (pawl/orchestration.h).
 *
 * A change is a decision: recorded as AttributesSet, its bytes compared in replay.  Code cannot
 * read attributes, so what an operator changes meanwhile cannot disturb a replay.  How many the
 * instance has is known to the runtime alone: it is asked live, and a refusal is recorded (S30).
 */
#include "base/attributes.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "engine/engine_private.h"

#include <stdio.h>

static void check_change(pawl_ctx *ctx, struct decision *d)
{
    struct attribute_list change;
    pawl_error err = {0};

    if (d->data.len > LIMIT_ATTRIBUTES_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "attributes are %zu bytes, limit %d",
                       d->data.len, LIMIT_ATTRIBUTES_BYTES);
    else if (!attributes_read(ctx->turn->mem, d->data, ATTRIBUTES_OF_USERS, &change, &err) ||
             (ctx->spec.attributes && !ctx->spec.attributes(ctx->spec.log_user, &change, &err)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    if (!utf8_valid(pawl_s(d->refusal)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "attributes are not UTF-8");
}

pawl_result pawl_set_attributes(pawl_ctx *ctx, pawl_str object)
{
    assert_in_code(ctx);
    bool odd = is_odd(object);
    struct decision d = {.kind = PAWL_EV_ATTRIBUTES_SET,
                         .data = odd ? (pawl_str){0} : object,
                         .api = "pawl_set_attributes",
                         .site = CALL_SITE};

    if (ctx->phase == PHASE_LIVE && odd)
        (void)snprintf(d.refusal, sizeof(d.refusal), "value has a length and no bytes");
    else if (ctx->phase == PHASE_LIVE)
        check_change(ctx, &d);
    decide_plain(ctx, &d, pawl_s(""));
    if (d.refusal[0])
        return result_refused(arena_dup(ctx->scope->mem, pawl_s(d.refusal)));
    return (pawl_result){.ok = true};
}
