/* SPDX-License-Identifier: MIT */
/*
 * engine/api_start.c -- public calls that start something.
 *
 * Each takes the next task id and becomes one decision.  What breaks a limit is refused by judge.c.
 * CALL_SITE is taken in the public function, so a finding can name the line.
 *
 * Called by: orchestration code, on its fiber.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "engine/engine_private.h"

#include <stdio.h>
#include <string.h>

static pawl_task start_activity(pawl_ctx *ctx, const char *activity, pawl_str input,
                                const pawl_call_opts *opts, const char *api, void *site);
static pawl_task start_timer(pawl_ctx *ctx, int64_t delay_ms, const char *api, void *site);
static pawl_task start_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                             const pawl_child_opts *opts, const char *api, void *site);
static bool fill_child(pawl_ctx *ctx, struct decision *d, const pawl_child_opts *given);

/* ---- Activities --------------------------------------------------------- */

pawl_task pawl_start(pawl_ctx *ctx, const char *activity, pawl_str input)
{
    MUST_HAVE("a ctx", ctx);
    return start_activity(ctx, activity, input, NULL, "pawl_start", CALL_SITE);
}

pawl_task pawl_start_with(pawl_ctx *ctx, const char *activity, pawl_str input,
                          const pawl_call_opts *opts)
{
    MUST_HAVE("a ctx", ctx);
    return start_activity(ctx, activity, input, opts, "pawl_start_with", CALL_SITE);
}

pawl_result pawl_call(pawl_ctx *ctx, const char *activity, pawl_str input)
{
    MUST_HAVE("a ctx", ctx);
    pawl_task t = start_activity(ctx, activity, input, NULL, "pawl_call", CALL_SITE);

    return wait_one(ctx, t.id, CALL_SITE);
}

pawl_result pawl_call_with(pawl_ctx *ctx, const char *activity, pawl_str input,
                           const pawl_call_opts *opts)
{
    MUST_HAVE("a ctx", ctx);
    pawl_task t = start_activity(ctx, activity, input, opts, "pawl_call_with", CALL_SITE);

    return wait_one(ctx, t.id, CALL_SITE);
}

static pawl_task start_activity(pawl_ctx *ctx, const char *activity, pawl_str input,
                                const pawl_call_opts *opts, const char *api, void *site)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_ACTIVITY_SCHEDULED,
                         .name = pawl_s(activity),
                         .data = input,
                         .opts = opts,
                         .api = api,
                         .site = site};

    pawl_call_opts room;
    pawl_error err;

    if (opts && !(d.opts = OPTIONS_OF(&room, opts, "pawl_call_opts", &err)))
        judge_refuse(&d, "%s", err.text);
    judge_call(ctx, &d);
    return (pawl_task){.id = decide_start(ctx, &d)->id};
}

/* ---- Timers and events -------------------------------------------------- */

pawl_task pawl_timer(pawl_ctx *ctx, int64_t delay_ms)
{
    MUST_HAVE("a ctx", ctx);
    return start_timer(ctx, delay_ms, "pawl_timer", CALL_SITE);
}

pawl_result pawl_sleep(pawl_ctx *ctx, int64_t delay_ms)
{
    MUST_HAVE("a ctx", ctx);
    pawl_task t = start_timer(ctx, delay_ms, "pawl_sleep", CALL_SITE);

    return wait_one(ctx, t.id, CALL_SITE);
}

static pawl_task start_timer(pawl_ctx *ctx, int64_t delay_ms, const char *api, void *site)
{
    assert_in_code(ctx);
    struct decision d = {
        .kind = PAWL_EV_TIMER_CREATED, .delay_ms = delay_ms, .api = api, .site = site};

    judge_timer(&d);
    return (pawl_task){.id = decide_start(ctx, &d)->id};
}

pawl_task pawl_wait_event(pawl_ctx *ctx, const char *name)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_EXTERNAL_SUBSCRIBED,
                         .name = pawl_s(name),
                         .api = "pawl_wait_event",
                         .site = CALL_SITE};

    judge_wait(ctx, &d);
    return (pawl_task){.id = decide_start(ctx, &d)->id};
}

pawl_task pawl_wait_event_with(pawl_ctx *ctx, const char *name, unsigned flags)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_EXTERNAL_SUBSCRIBED,
                         .name = pawl_s(name),
                         .api = "pawl_wait_event_with",
                         .site = CALL_SITE};

    judge_wait(ctx, &d);
    struct task *t = decide_start(ctx, &d);
    if (flags & PAWL_EVENT_DROP_EARLY && ctx->phase == PHASE_LIVE && t->channel)
        mailbox_discard(ctx, t->channel);
    return (pawl_task){.id = t->id};
}

pawl_task pawl_wait_event_ask(pawl_ctx *ctx, const char *name, pawl_str ask)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_EXTERNAL_SUBSCRIBED,
                         .name = pawl_s(name),
                         .ask = ask,
                         .api = "pawl_wait_event_ask",
                         .site = CALL_SITE};

    if (!ask.ptr && !ask.len) /* nothing is asked for: that is refused, too */
        d.ask = pawl_s("");
    judge_wait(ctx, &d);
    return (pawl_task){.id = decide_start(ctx, &d)->id};
}

/* ---- Children and other instances --------------------------------------- */

pawl_task pawl_start_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                           const pawl_child_opts *opts)
{
    MUST_HAVE("a ctx", ctx);
    return start_child(ctx, orchestration, input, opts, "pawl_start_child", CALL_SITE);
}

pawl_result pawl_call_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                            const pawl_child_opts *opts)
{
    MUST_HAVE("a ctx", ctx);
    pawl_task t = start_child(ctx, orchestration, input, opts, "pawl_call_child", CALL_SITE);

    return wait_one(ctx, t.id, CALL_SITE);
}

pawl_result pawl_start_detached(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                const pawl_child_opts *opts)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_ORCHESTRATION_CHAINED,
                         .name = pawl_s(orchestration),
                         .data = input,
                         .api = "pawl_start_detached",
                         .site = CALL_SITE};

    (void)fill_child(ctx, &d, opts);
    d.abandon = false;
    if (ctx->phase == PHASE_LIVE && !d.refusal[0] && execution_is_taken(ctx, d.child))
        judge_taken(&d);
    (void)decide_start(ctx, &d);
    if (d.refusal[0])
        return result_refused(arena_dup(ctx->scope->mem, pawl_s(d.refusal)));
    return (pawl_result){.ok = true, .value = d.child};
}

pawl_result pawl_raise(pawl_ctx *ctx, const char *instance, const char *event, pawl_str data,
                       unsigned flags)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_EVENT_SENT,
                         .name = pawl_s(event),
                         .data = data,
                         .child = pawl_s(instance),
                         .await_start = (flags & PAWL_RAISE_AWAIT_START) != 0,
                         .api = "pawl_raise",
                         .site = CALL_SITE};

    judge_raise(ctx, &d, flags);
    (void)decide_start(ctx, &d);
    if (d.refusal[0])
        return result_refused(arena_dup(ctx->scope->mem, pawl_s(d.refusal)));
    return (pawl_result){.ok = true};
}

static pawl_task start_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                             const pawl_child_opts *opts, const char *api, void *site)
{
    assert_in_code(ctx);
    struct decision d = {.kind = PAWL_EV_SUB_ORCHESTRATION_SCHEDULED,
                         .name = pawl_s(orchestration),
                         .data = input,
                         .api = api,
                         .site = site};

    bool explicit_id = fill_child(ctx, &d, opts);
    if (explicit_id && ctx->phase == PHASE_LIVE && !d.refusal[0] && ctx->spec.speaks)
        ctx->spec.speaks(ctx->spec.taken_user, d.child);
    return (pawl_task){.id = decide_start(ctx, &d)->id};
}

/* True: the id is given. */
static bool fill_child(pawl_ctx *ctx, struct decision *d, const pawl_child_opts *given)
{
    pawl_child_opts opts;
    pawl_error err;

    if (!OPTIONS_TAKE(&opts, given, "pawl_child_opts", &err))
        judge_refuse(d, "%s", err.text);
    pawl_mem *mem = ctx->scope->mem;
    d->version = pawl_s(opts.version);
    d->abandon = (opts.flags & PAWL_CHILD_ABANDON) != 0;
    d->inherit = (opts.flags & PAWL_CHILD_INHERIT) != 0;
    d->deadline_ms = opts.deadline_ms;
    if (opts.instance)
        d->child = arena_dup(mem, pawl_s(opts.instance));
    else
        d->child = pawl_mem_printf(mem, "%.*s:%llu:%llu", PAWL_FMT(ctx->spec.instance),
                                   (unsigned long long)ctx->spec.execution,
                                   1 + (unsigned long long)ctx->task_count);
    judge_child(ctx, d, opts.instance != NULL);
    return opts.instance != NULL;
}
