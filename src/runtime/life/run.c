/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/run.c -- start the threads of a runtime, or step it on the caller's.
 *
 * Called by users (pawl/runtime.h), and by the blocking calls of clients, which step.
 */
#include "runtime/life/run.h"

#include "base/forks.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "fiber/fiber.h"
#include "runtime/core/embed.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/user_fault.h"
#include "runtime/life/env.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/watchdog.h"
#include "runtime/work/cancel.h"
#include "runtime/work/share.h"
#include "runtime/work/worker.h"
#include "store/lock.h"

#include <unistd.h>

/* A daemon opens the runtime before fork() and runs it after: now the child holds the lock. */
static void lock_take_over(pawl_runtime *rt)
{
    if (rt->threads.pid == getpid())
        return;
    rt->threads.pid = getpid();
    fault_moved();
    if (rt->data.path && rt->data.owns_store)
        lock_sign(rt->data.path);
}

pawl_status pawl_runtime_start(pawl_runtime *rt, pawl_error *reterr)
{
    if (!IS_THERE(rt, "a runtime", reterr))
        return PAWL_MISUSE;
    if (rt->threads.on || rt->threads.stepping || rt->opts.read_only) {
        error_set(reterr, PAWL_MISUSE,
                  rt->opts.read_only ? "a read-only runtime cannot be started"
                                     : "the runtime runs already");
        return PAWL_MISUSE;
    }
    rt->threads.on = true;
    rt->threads.forks = forks_behind();
    lock_take_over(rt);
    if (!watchdog_start(rt)) {
        rt->threads.on = false;
        error_set(reterr, PAWL_NO_MEMORY, "cannot start a thread");
        return PAWL_NO_MEMORY;
    }
    if (pthread_create(&rt->threads.engine, NULL, loop_main, rt) != 0) {
        watchdog_stop(rt);
        rt->threads.on = false;
        error_set(reterr, PAWL_NO_MEMORY, "cannot start a thread");
        return PAWL_NO_MEMORY;
    }
    return PAWL_OK;
}

int pawl_runtime_step(pawl_runtime *rt, int64_t wait_ms)
{
    MUST_HAVE("a runtime", rt);
    if (rt->threads.on || rt->opts.read_only || here_is_engine(rt))
        return -1;
    if (!atomic_load(&rt->threads.stepping)) {
        if (!rt->opts.no_signals)
            fiber_guard_thread();
        lock_take_over(rt);
        rt->threads.stepper = pthread_self();
        atomic_store(&rt->threads.stepping, true);
    }
    embed_heard(rt);
    int64_t end = rt_mono(rt) + (wait_ms < LIMIT_DELAY_MS ? wait_ms : LIMIT_DELAY_MS);
    for (;;) {
        int ran = worker_run_here(rt, 64);
        int done = loop_once(rt);
        cancel_run_here(rt);
        if (done != 0)
            return done;
        if (ran) /* activities ran although nothing was committed: not idle yet */
            continue;
        int64_t until = loop_idle_until(rt);
        int64_t now = rt_mono(rt);
        if (until <= now || share_queued(rt))
            continue;
        if (now >= end)
            return 0;
        if (!env_has_real_mono(rt))
            return 0; /* the caller's clock: only the caller can make time pass */
        inbox_wait(rt, until < end ? until : end);
    }
}

int runtime_step_blocked(pawl_runtime *rt)
{
    int done = pawl_runtime_step(rt, 1000);
    if (done != 0 || env_has_real_mono(rt))
        return done < 0 ? -1 : 1;
    int64_t mono = rt_mono(rt);
    if (share_queued(rt) || inbox_count(rt) || loop_idle_until(rt) <= mono)
        return 1;
    usleep(1000); /* another thread may move the clock */
    return health_try_now(rt);
}

int64_t pawl_runtime_timeout_ms(pawl_runtime *rt)
{
    MUST_HAVE("a runtime", rt);
    if (rt->threads.on || rt->opts.read_only || health_is_dead(rt))
        return -1;
    if (share_queued(rt))
        return 0;
    int64_t until = loop_idle_until(rt), now = rt_mono(rt);
    if (until == INT64_MAX)
        return -1;
    return until > now ? until - now : 0;
}
