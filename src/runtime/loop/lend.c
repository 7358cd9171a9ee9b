/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/lend.c -- see lend.h.  Called by the loop of a server through pawl/client.h; the
 * engine thread asks loop_may_lend() before it sleeps.
 */
#include "runtime/loop/lend.h"

#include "base/clock.h"
#include "base/misuse.h"
#include "runtime/core/inbox.h"
#include "runtime/loop/loop.h"
#include "runtime/queue/queue_desk.h"

/* It may sleep with work at hand: until it tries again. */
static bool has_nothing(pawl_runtime *rt)
{
    return !loop_has_work(rt) && rt_mono(rt) >= rt->retry_at_ms;
}

bool pawl_client_lend(pawl_client *c, void (*come)(void *arg), void *arg)
{
    MUST_HAVE("a client", c);
    pawl_runtime *rt = c->rt;
    pthread_mutex_lock(&rt->lock);
    bool ok = rt->threaded && (!come || !rt->come);
    if (ok) {
        rt->come = come;
        rt->come_arg = arg;
    }
    pthread_mutex_unlock(&rt->lock);
    if (ok) /* what lies there is the engine's, if nobody else comes for it */
        pthread_cond_broadcast(&rt->wake);
    return ok;
}

/* Under the lock: requests that are about to come make one commit instead of two; as
 * gather() in loop.c, but here the caller has to fetch them. */
static bool is_more_coming(pawl_runtime *rt, size_t have)
{
    size_t out = rt->desk->ops; /* answered by the last commit */
    if (have >= out || rt->gather_misses % LOOP_TRY_AGAIN)
        return false;
    int64_t now_us = clock_mono_us();
    if (have != rt->lend_seen) {
        rt->lend_seen = have;
        rt->lend_quiet_us = now_us;
        return true;
    }
    return now_us - rt->lend_quiet_us <= LOOP_PATIENCE_US;
}

/* Under the lock: is the engine asleep, and has nothing to do yet? */
static bool is_free(pawl_runtime *rt)
{
    return rt->engine_waits && !rt->woken && !rt->lent && !rt->stopping && !rt->stop && rt->desk &&
           loop_is_plain(rt) && has_nothing(rt) && rt_mono(rt) < rt->sleeps.mono_ms &&
           rt_now(rt) < rt->sleeps.due_ms;
}

static void borrow(pawl_runtime *rt, size_t have)
{
    rt->gather_misses = have >= rt->desk->ops ? 0 : rt->gather_misses + 1;
    rt->lend_seen = 0;
    rt->lent = true;
    rt->engine_waits = false;
    inbox_take_locked(rt);
}

/* True: the engine thread must be woken. */
static bool give_back(pawl_runtime *rt, const struct idle_until *next)
{
    bool wake = rt->engine_wants || rt->stop || rt->woken || rt->dead != PAWL_OK ||
                atomic_load(&rt->inbox_count) || next->mono_ms < rt->sleeps.mono_ms ||
                next->due_ms < rt->sleeps.due_ms || next->due_ms <= rt->now_ms;
    rt->lent = rt->engine_wants = false;
    rt->engine_waits = !wake;
    rt->woken = rt->woken || wake;
    return wake;
}

bool pawl_client_work(pawl_client *c)
{
    MUST_HAVE("a client", c);
    pawl_runtime *rt = c->rt;
    struct idle_until next;
    bool soon = false, wake;
    inbox_hold_end();
    pthread_mutex_lock(&rt->lock);
    if (!inbox_is_light(rt) || !is_free(rt)) {
        wake = atomic_load(&rt->inbox_count) && inbox_wakes(rt);
    } else if (is_more_coming(rt, rt->inbox_light)) {
        soon = true;
        wake = false;
    } else {
        borrow(rt, rt->inbox_light);
        pthread_mutex_unlock(&rt->lock);
        loop_queues(rt, &next);
        pthread_mutex_lock(&rt->lock);
        wake = give_back(rt, &next);
    }
    pthread_mutex_unlock(&rt->lock);
    if (wake)
        pthread_cond_broadcast(&rt->wake);
    return soon;
}
