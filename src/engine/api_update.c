/* SPDX-License-Identifier: MIT */
/*
 * engine/api_update.c -- the calls of an orchestration that serves updates (pawl/orchestration.h).
 *
 * Waiting is a decision that opens a task; answering is a decision without one.  An answer that
 * cannot be (no update was taken, it was answered before) is no decision: whether it can be follows
 * from the history, so replay agrees.
 *
 * Called by: orchestration code, on its fiber.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "engine/engine_private.h"

#include <stdio.h>

static pawl_task wait_update(pawl_ctx *ctx, const char *name, pawl_update_check *check,
                             const void *arg, const char *api, void *site)
{
    assert_in_code(ctx);
    struct decision d = {
        .kind = PAWL_EV_UPDATE_WAITED, .name = pawl_s(name), .api = api, .site = site};

    judge_update(&d);
    struct task *t = decide_start(ctx, &d);
    if (t->update) {
        t->update->check = check;
        t->update->arg = arg;
    }
    return (pawl_task){.id = t->id};
}

pawl_task pawl_wait_update(pawl_ctx *ctx, const char *name)
{
    MUST_HAVE("a ctx", ctx);
    return wait_update(ctx, name, NULL, NULL, "pawl_wait_update", CALL_SITE);
}

pawl_task pawl_wait_update_checked(pawl_ctx *ctx, const char *name, pawl_update_check *check,
                                   const void *arg)
{
    MUST_HAVE("a ctx", ctx);
    return wait_update(ctx, name, check, arg, "pawl_wait_update_checked", CALL_SITE);
}

/* The update of this handle, which waits for its answer; NULL: none does, and that is logged. */
static struct task *find_owed(pawl_ctx *ctx, pawl_task task, const char *api)
{
    struct task *t = task_find(ctx, task.id);

    if (t && t->update && t->update->owed)
        return t;
    const char *why = !t || !t->update        ? "the handle is no wait for an update"
                      : t->state == TASK_OPEN ? "no update has come yet"
                      : t->state != TASK_DONE ? "its wait was given up"
                                              : "it was answered before";
    pawl_log(ctx, PAWL_LOG_WARN, "%s of task %llu is ignored: %s", api, (unsigned long long)task.id,
             why);
    return NULL;
}

static void answer(pawl_ctx *ctx, pawl_task task, struct decision *d)
{
    assert_in_code(ctx);
    struct task *t = find_owed(ctx, task, d->api);

    if (!t)
        return;
    judge_answer(ctx, d);
    unseen_remove(ctx, t); /* code that answers it has seen it */
    update_answer(ctx, t, d);
}

void pawl_answer(pawl_ctx *ctx, pawl_task update, pawl_str value)
{
    MUST_HAVE("a ctx", ctx);
    struct decision d = {.data = value, .api = "pawl_answer", .site = CALL_SITE};

    answer(ctx, update, &d);
}

void pawl_reject(pawl_ctx *ctx, pawl_task update, const char *error)
{
    MUST_HAVE("a ctx", ctx);
    struct decision d = {
        .data = pawl_s(error), .rejected = true, .api = "pawl_reject", .site = CALL_SITE};

    answer(ctx, update, &d);
}
