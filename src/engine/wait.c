/* SPDX-License-Identifier: MIT */
/*
 * engine/wait.c -- the one place where code waits.
 *
 * The code is suspended in at most one wait, over an array of task handles that
 * lies on its own suspended stack.  Entering a wait looks at every task once;
 * from then on each completion is O(1): a task knows the serial of the last
 * wait that counted it, the wait knows how many are pending.  A fan-in of n is
 * therefore O(n) in all.
 *
 * Rules (SEMANTICS 2-4, 23): ALL is over at the first failure, SETTLED never
 * before the last end, ANY at the first end in history order, even if several
 * had ended before the call.  A handle that is no task counts as failed before
 * everything else.  When cancellation was requested, a wait that would block
 * does not, unless shielded.
 *
 * Called by: api_await.c on the fiber; execution.c, apply.c outside it.
 */
#include "engine/engine_private.h"
#include "fiber/fiber.h"

static void look(execution *x, struct wait *w);
static bool is_ready(const struct wait *w);
static void tell(execution *x, const struct wait *w);

bool wait_for(execution *x, enum wait_mode mode, const pawl_task *tasks, size_t n, void *site)
{
    struct wait *w = &x->wait;

    *w = (struct wait){
        .mode = mode, .tasks = tasks, .count = n, .serial = w->serial + 1, .site = site};
    look(x, w);
    if (is_ready(w)) {
        tell(x, w);
        return true;
    }
    if (x->cancel_requested && x->shields == 0)
        return false;
    x->blocked = true;
    if (x->spec.trace && x->phase == PHASE_REPLAY)
        x->spec.trace(x->spec.trace_user, TRACE_WAIT,
                      x->cursor < x->event_count ? &x->events[x->cursor] : NULL,
                      engine_site(x, site));
    fiber_yield();
    assert_that(x->running && (w->ready || w->interrupted));
    if (!w->interrupted)
        tell(x, w);
    return !w->interrupted;
}

/* The wait returns: whatever it says has ended is seen now. */
static void tell(execution *x, const struct wait *w)
{
    bool all = w->mode == WAIT_SETTLED || (w->mode == WAIT_ALL && !w->hit && !w->bad);

    if (w->mode == WAIT_ANY && w->hit && !w->bad)
        unseen_remove(x, w->hit);
    for (size_t i = 0; all && x->unseen_head && i < w->count; i++) {
        struct task *t = task_find(x, w->tasks[i].id);
        if (!task_bad(t))
            unseen_remove(x, t);
    }
}

void wait_notice(execution *x, struct task *t)
{
    struct wait *w = &x->wait;

    if (!x->blocked || t->wait_serial != w->serial)
        return;
    x->evaluations++;
    assert_that(w->pending > 0 && !w->ready);
    w->pending--;
    if (w->mode == WAIT_ANY || (w->mode == WAIT_ALL && t->state != TASK_DONE))
        w->hit = t;
    w->ready = is_ready(w);
}

void wait_interrupt(execution *x)
{
    if (x->blocked && x->fiber && x->shields == 0) /* code elsewhere is told */
        x->wait.interrupted = true;
}

pawl_result wait_cancelled_result(execution *x)
{
    pawl_result r = {.ok = false, .cancelled = true, .kind = PAWL_RESULT_CANCELLED};

    if (x->cancel_reason.len)
        r.value = pawl_mem_printf(x->scope->mem, "cancelled: %.*s", PAWL_FMT(x->cancel_reason));
    else
        r.value = pawl_s("cancelled");
    return r;
}

pawl_result wait_one(execution *x, uint64_t id, void *site)
{
    const pawl_task one = {.id = id};

    if (!wait_for(x, WAIT_SETTLED, &one, 1, site))
        return wait_cancelled_result(x);
    if (x->wait.bad)
        return result_refused(pawl_s(x->wait.bad));
    return result_of_task(task_find(x, id));
}

pawl_result result_of_task(const struct task *t)
{
    return (pawl_result){
        .ok = t->state == TASK_DONE, .kind = t->result, .attempts = t->attempts, .value = t->value};
}

pawl_result result_refused(pawl_str why)
{
    return (pawl_result){.ok = false, .kind = PAWL_RESULT_REFUSED, .value = why};
}

/* Count what is pending and find the earliest hit among what has ended. */
static void look(execution *x, struct wait *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct task *t = task_find(x, w->tasks[i].id);
        const char *bad = task_bad(t);

        if (bad) {
            if (!w->bad) {
                w->bad = bad;
                w->bad_index = i;
            }
            continue;
        }
        t->awaited = true;
        if (t->state == TASK_OPEN) {
            w->pending += t->wait_serial != w->serial; /* the same handle twice counts once */
            t->wait_serial = w->serial;
        } else if (w->mode == WAIT_ANY || (w->mode == WAIT_ALL && t->state != TASK_DONE)) {
            if (!w->hit || t->order < w->hit->order)
                w->hit = t;
        }
    }
}

static bool is_ready(const struct wait *w)
{
    switch (w->mode) {
    case WAIT_ANY:
        return w->hit || w->bad;
    case WAIT_ALL:
        return w->hit || w->bad || w->pending == 0;
    case WAIT_SETTLED:
        return w->pending == 0;
    }
    return false;
}
