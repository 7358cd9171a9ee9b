/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/lend.c -- see lend.h.  Called by the loop of a server; the engine thread asks
 * loop_may_lend() before it sleeps.
 */
#include "runtime/loop/lend.h"

#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/runtime.h"
#include "runtime/core/stage.h"
#include "runtime/loop/gather.h"
#include "runtime/loop/loop.h"
#include "runtime/queue/queue_cache.h"

/* Nothing to do, no group that waits for a worker (first_turn.h), and no back-off runs: an engine that
 * backs off sleeps with work in memory. */
static bool has_nothing(pawl_runtime *rt)
{
    return !loop_has_work(rt) && !stage_first(rt) && rt_mono(rt) >= health_retry_at(rt);
}

bool pawl_lend_to(pawl_client *c, void (*wake)(void *arg), void *arg)
{
    pawl_runtime *rt = c->rt;
    pthread_mutex_lock(&rt->inbox.lock);
    bool ok = here_has_threads(rt) && (!wake || !rt->inbox.wake_borrower);
    if (ok) {
        rt->inbox.wake_borrower = wake;
        rt->inbox.borrower = arg;
    }
    pthread_mutex_unlock(&rt->inbox.lock);
    if (ok) /* without a borrower the engine takes what is left in the inbox */
        pthread_cond_broadcast(&rt->inbox.wake);
    return ok;
}

/* Under the lock: does the engine sleep with nothing to do? */
static bool is_free(pawl_runtime *rt)
{
    return rt->inbox.engine_waits && !rt->inbox.woken && !rt->inbox.lent && !rt->inbox.stopping &&
           !rt->inbox.stop && rt->queue_cache && loop_is_plain(rt) && has_nothing(rt) &&
           rt_mono(rt) < rt->lending.sleeps.mono_ms && rt_now(rt) < rt->lending.sleeps.due_ms;
}

static void borrow(pawl_runtime *rt, size_t have)
{
    gather_ends(&rt->lending.patience, have, rt->queue_cache->ops);
    rt->inbox.lent = true;
    rt->inbox.engine_waits = false;
    inbox_take_locked(rt);
}

/* Return the engine.  True: its thread must be woken. */
static bool give_back(pawl_runtime *rt, const struct idle_until *next)
{
    bool wake = rt->inbox.wake_is_due || rt->inbox.stop || rt->inbox.woken || health_is_dead(rt) ||
                atomic_load(&rt->inbox.count) || next->mono_ms < rt->lending.sleeps.mono_ms ||
                next->due_ms < rt->lending.sleeps.due_ms || next->due_ms <= rt->now_ms;
    rt->inbox.lent = rt->inbox.wake_is_due = false;
    rt->inbox.engine_waits = !wake;
    rt->inbox.woken = rt->inbox.woken || wake;
    return wake;
}

bool pawl_lend_work(pawl_client *c)
{
    pawl_runtime *rt = c->rt;
    struct idle_until next;
    bool soon = false, wake;
    inbox_release(rt);
    pthread_mutex_lock(&rt->inbox.lock);
    if (!inbox_is_borrowable(rt) || !is_free(rt)) {
        wake = atomic_load(&rt->inbox.count) && inbox_wakes(rt);
    } else if (gather_waits(&rt->lending.patience, rt->inbox.borrowable, rt->queue_cache->ops, 0)) {
        soon = true;
        wake = false;
    } else {
        borrow(rt, rt->inbox.borrowable);
        pthread_mutex_unlock(&rt->inbox.lock);
        loop_queues(rt, &next);
        pthread_mutex_lock(&rt->inbox.lock);
        wake = give_back(rt, &next);
    }
    pthread_mutex_unlock(&rt->inbox.lock);
    if (wake)
        pthread_cond_broadcast(&rt->inbox.wake);
    return soon;
}
