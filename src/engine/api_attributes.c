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

pawl_result pawl_set_attributes(pawl_ctx *ctx, pawl_str object)
{
    assert_in_code(ctx);
    bool odd = is_odd(object);
    struct decision d = {.kind = PAWL_EV_ATTRIBUTES_SET,
                         .data = !odd ? object : (pawl_str){0},
                         .api = "pawl_set_attributes",
                         .site = CALL_SITE};

    if (ctx->phase == PHASE_LIVE && odd)
        (void)snprintf(d.refusal, sizeof(d.refusal), "value has a length and no bytes");
    else if (ctx->phase == PHASE_LIVE)
        judge_attributes(ctx, &d);
    decide_plain(ctx, &d, pawl_s(""));
    if (d.refusal[0])
        return result_refused(arena_dup(ctx->scope->mem, pawl_s(d.refusal)));
    return (pawl_result){.ok = true};
}
