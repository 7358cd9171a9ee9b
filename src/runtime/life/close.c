/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/close.c -- the end of a runtime: refuse, drain, free.
 *
 * Closing reverses open_runtime.c.  Every caller that waits gets an answer.  A dead runtime
 * (fenced, outcome unknown) is closed without another call of the store.  When activities do not
 * end in time, nothing is freed: their threads still use it.
 *
 * Called by users (pawl_runtime_close); runtime_discard by open_runtime.c, trial/world.c and the tests.
 */
#include "runtime/life/close.h"

#include "fiber/fiber.h"
#include "runtime/core/audience.h"
#include "runtime/core/coming.h"
#include "runtime/core/embed.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/slots.h"
#include "runtime/core/tally.h"
#include "runtime/core/timers.h"
#include "runtime/core/tray.h"
#include "runtime/core/user_fault.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/halt.h"
#include "runtime/instance/kept_tables.h"
#include "runtime/instance/mailbox.h"
#include "runtime/instance/park.h"
#include "runtime/instance/updates.h"
#include "runtime/loop/group.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/refuse.h"
#include "runtime/loop/watchdog.h"
#include "runtime/peek/peek_mode.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/playing.h"
#include "runtime/schedule/schedule_zones.h"
#include "runtime/work/cancel.h"
#include "runtime/work/crew.h"
#include "runtime/work/handout.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/once.h"
#include "runtime/work/share.h"
#include "runtime/work/worker.h"
#include "store/lock.h"
#include "store/store.h"

#include <stdlib.h>
#include <unistd.h>

void runtime_discard(pawl_runtime *rt)
{
    registry_leave(rt->app, rt);
    group_give_up(rt);
    refuse_all(rt);
    lease_stop(rt);
    exchange_stop(rt);
    remote_close(rt);
    queue_cache_close(rt);
    handout_close(rt);
    once_free(rt); /* its jobs are in lists of the shares */
    share_free(rt);
    timers_free(rt);
    peek_close(rt);
    resident_close(rt);
    mailbox_free(rt);
    updates_free(rt);
    coming_free(rt);
    tally_free(rt);
    adopt_free(rt);
    park_close(rt);
    halt_close(rt);
    zones_close(rt);
    letter_close(rt);
    jobs_close(rt);
    arena_deinit(&rt->group_mem);
    arena_deinit(&rt->load_mem);
    slots_close(rt->slots, !health_is_dead(rt));
    if (rt->data.owns_store)
        store_close(rt->store);
    lock_close(rt->data.lock);
    audience_close(rt);
    embed_close(rt);
    fault_close(rt);
    if (atomic_load(&rt->threads.stepping) && pthread_equal(rt->threads.stepper, pthread_self()))
        fiber_unguard_thread();
    worker_close(rt);
    free(rt->data.path);
    tray_close(rt);
    crew_close(rt);
    kept_tables_close(rt->client.tables);
    free(rt);
}

void pawl_runtime_close(pawl_runtime *rt)
{
    pawl_error elsewhere;
    if (!rt || here_is_forked(rt, &elsewhere)) /* after a fork() it is the parent's */
        return;
    if (engine_on_fiber() || here_is_engine(rt)) {
        log_error(&rt->log, "close",
                  "pawl_runtime_close() inside a callback or an orchestration would wait for "
                  "itself; call it from the thread that opened the runtime",
                  "closed=no");
        return;
    }
    registry_leave(rt->app, rt);
    audience_stop(rt);
    bool all = true;
    if (here_has_threads(rt)) {
        all = worker_stop(rt, rt->opts.drain_ms);
        once_give_back(rt);
        for (int i = 0; all && i < 1000 && inbox_count(rt); i++)
            usleep(1000); /* their results are taken in */
        inbox_stop(rt);
        pthread_join(rt->threads.engine, NULL);
        watchdog_stop(rt);
        if (all)
            cancel_stop(rt);
    }
    if (rt->threads.stepping) {
        once_give_back(rt);
        loop_finish(rt);
    }
    audience_drain(rt);
    lease_stop(rt);
    exchange_stop(rt);
    if (!all) { /* threads still use runtime and store: both stay until the process ends */
        log_warn(&rt->log, "close", "activities still run; left behind", "drain_ms=%lld",
                 (long long)rt->opts.drain_ms);
        atomic_store(&rt->app->left_running, true);
        slots_absolve(rt->slots); /* we end them: their code did not crash */
        return;
    }
    runtime_discard(rt);
}
