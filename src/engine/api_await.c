/* SPDX-License-Identifier: MIT */
/*
 * engine/api_await.c -- public calls that wait, choose and withdraw.
 *
 * The rules of waiting are in wait.c; here they become results.  Called by:
 * orchestration code, on its fiber.
 */
#include "engine/engine_private.h"

static pawl_result await_many(pawl_ctx *ctx, enum wait_mode mode, const pawl_task *tasks, size_t n,
                              void *site);
static int await_first(pawl_ctx *ctx, const pawl_task *tasks, size_t n, void *site);
static void cancel_task(pawl_ctx *ctx, uint64_t id, const char *reason, const char *api,
                        void *site);

pawl_result pawl_await(pawl_ctx *ctx, pawl_task task)
{
    assert_in_code(ctx);
    return wait_one(ctx, task.id, CALL_SITE);
}

pawl_result pawl_await_all(pawl_ctx *ctx, const pawl_task *tasks, size_t n)
{
    MUST_HAVE("a ctx", ctx);
    return await_many(ctx, WAIT_ALL, tasks, n, CALL_SITE);
}

pawl_result pawl_await_settled(pawl_ctx *ctx, const pawl_task *tasks, size_t n)
{
    MUST_HAVE("a ctx", ctx);
    return await_many(ctx, WAIT_SETTLED, tasks, n, CALL_SITE);
}

int pawl_await_any(pawl_ctx *ctx, const pawl_task *tasks, size_t n)
{
    MUST_HAVE("a ctx", ctx);
    return await_first(ctx, tasks, n, CALL_SITE);
}

int pawl_race(pawl_ctx *ctx, const pawl_task *tasks, size_t n)
{
    MUST_HAVE("a ctx", ctx);
    void *site = CALL_SITE;
    int first = await_first(ctx, tasks, n, site);

    /* A cancelled race has no winner: its tasks are withdrawn when the code returns. */
    for (size_t i = 0; first >= 0 && i < n; i++)
        if (i != (size_t)first)
            cancel_task(ctx, tasks[i].id, "lost the race", "pawl_race", site);
    return first;
}

void pawl_cancel(pawl_ctx *ctx, pawl_task task)
{
    MUST_HAVE("a ctx", ctx);
    cancel_task(ctx, task.id, "cancelled by the orchestration", "pawl_cancel", CALL_SITE);
}

bool pawl_is_done(pawl_ctx *ctx, pawl_task task)
{
    assert_in_code(ctx);
    struct task *t = task_find(ctx, task.id);

    if (task_bad(t))
        return true;
    unseen_remove(ctx, t);
    return t->state != TASK_OPEN;
}

static pawl_result await_many(pawl_ctx *ctx, enum wait_mode mode, const pawl_task *tasks, size_t n,
                              void *site)
{
    assert_in_code(ctx);
    if (!tasks && n)
        return result_refused(pawl_s("a number of tasks and no tasks"));
    if (!wait_for(ctx, mode, tasks, n, site))
        return wait_cancelled_result(ctx);
    const struct wait *w = &ctx->wait;

    if (mode == WAIT_ALL && w->bad)
        return result_refused(pawl_s(w->bad));
    if (w->hit)
        return result_of_task(w->hit);
    return (pawl_result){.ok = true, .value = pawl_s("")};
}

static int await_first(pawl_ctx *ctx, const pawl_task *tasks, size_t n, void *site)
{
    assert_in_code(ctx);
    if (n == 0 || !tasks || !wait_for(ctx, WAIT_ANY, tasks, n, site))
        return -1;
    const struct wait *w = &ctx->wait;
    size_t i = w->bad_index;

    if (!w->bad)
        for (i = 0; tasks[i].id != w->hit->id; i++)
            ;
    return (int)i;
}

static void cancel_task(pawl_ctx *ctx, uint64_t id, const char *reason, const char *api, void *site)
{
    assert_in_code(ctx);
    struct task *t = task_find(ctx, id);

    if (t && t->state == TASK_OPEN)
        decide_cancel(ctx, t, reason, api, site);
    else if (t && t->unseen)
        decide_return(ctx, t, reason, site);
}
