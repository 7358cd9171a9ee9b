/* SPDX-License-Identifier: MIT */
/*
 * engine/api_queue.c -- what an orchestration may do with queues (pawl/queue.h).
 *
 * A push is a decision like any other: recorded as QueuePushed with its queue and
 * bytes, compared in replay, turned into a message by the runtime.  Pop and ack are
 * activities of the runtime, because their answers come from outside.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "engine/engine_private.h"
#include "pawl/queue.h"

#include <stdio.h>
#include <string.h>

pawl_str push_attrs(pawl_mem *mem, const pawl_push_opts *opts)
{
    if (!opts->priority && !opts->delay_ms)
        return (pawl_str){"", 0};
    return pawl_mem_printf(mem, "{\"priority\":%lld,\"delay_ms\":%lld}", (long long)opts->priority,
                           (long long)opts->delay_ms);
}

pawl_result pawl_queue_push(pawl_ctx *ctx, const char *queue, pawl_str data,
                            const pawl_push_opts *given)
{
    assert_in_code(ctx);
    pawl_push_opts opts;
    pawl_error err;
    struct decision d = {.kind = PAWL_EV_QUEUE_PUSHED,
                         .name = pawl_s(queue),
                         .data = data,
                         .api = "pawl_queue_push",
                         .site = CALL_SITE};

    bool odd = is_odd(data), fits = OPTIONS_TAKE(&opts, given, "pawl_push_opts", &err);
    if (odd)
        d.data = (pawl_str){0};
    if (ctx->phase == PHASE_LIVE)
        judge_push(ctx, &d, &opts);
    if (ctx->phase == PHASE_LIVE && (!fits || odd))
        (void)snprintf(d.refusal, sizeof(d.refusal), "%.300s",
                       odd ? "item has a length and no bytes" : err.text);
    d.name = decide_name(d.name);
    decide_plain(ctx, &d,
                 ctx->phase == PHASE_LIVE ? push_attrs(ctx->turn->mem, &opts) : pawl_s(""));
    if (d.refusal[0])
        return result_refused(arena_dup(ctx->scope->mem, pawl_s(d.refusal)));
    return (pawl_result){.ok = true};
}

/* An activity of the runtime, with the queue's name and one or two arguments. */
static pawl_task start(pawl_ctx *ctx, struct decision *d, pawl_json *w)
{
    pawl_error err;

    pawl_json_end(w);
    d->kind = PAWL_EV_ACTIVITY_SCHEDULED;
    d->data = pawl_json_done(w);
    if (ctx->phase == PHASE_LIVE && ctx->spec.rules.no_queues)
        (void)snprintf(d->refusal, sizeof(d->refusal), "the store has no queues");
    else if (ctx->phase == PHASE_LIVE && !check_queue_name("queue name", d->child, &err))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    d->child = (pawl_str){0};
    return (pawl_task){.id = decide_start(ctx, d)->id};
}

static pawl_json *begin(pawl_ctx *ctx, const char *queue)
{
    pawl_json *w = pawl_json_new(ctx->scope->mem);

    pawl_json_object(w);
    pawl_json_key(w, "queue");
    pawl_json_str(w, pawl_s(queue));
    return w;
}

pawl_task pawl_queue_pop(pawl_ctx *ctx, const char *queue, int64_t ttl_ms, int64_t wait_ms)
{
    assert_in_code(ctx);
    struct decision d = {.name = pawl_s(ENGINE_QUEUE_POP),
                         .child = pawl_s(queue),
                         .api = "pawl_queue_pop",
                         .site = CALL_SITE};
    pawl_json *w = begin(ctx, queue);

    pawl_json_key(w, "ttl_ms");
    pawl_json_num(w, ttl_ms);
    pawl_json_key(w, "wait_ms");
    pawl_json_num(w, wait_ms);
    return start(ctx, &d, w);
}

pawl_task pawl_queue_ack(pawl_ctx *ctx, const char *queue, pawl_str lock_id)
{
    assert_in_code(ctx);
    struct decision d = {.name = pawl_s(ENGINE_QUEUE_ACK),
                         .child = pawl_s(queue),
                         .api = "pawl_queue_ack",
                         .site = CALL_SITE};
    pawl_json *w = begin(ctx, queue);

    pawl_json_key(w, "lock_id");
    pawl_json_str(w, lock_id);
    return start(ctx, &d, w);
}
