/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/stats.c -- pawl/runtime.h: the figures of a runtime, from any thread.
 *
 * Counters are relaxed atomics, written where things happen.  Depths are counted in the store; the
 * time for that grows with the number of rows, so a caller that only asks for the health calls
 * pawl_runtime_healthy().  With a store that counts slowly (slow_counts) depths may be older.
 */
#include "base/misuse.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/loop/watchdog.h"
#include "runtime/work/worker.h"
#include "store/store.h"
#include "tables/counters.h"

#include <string.h>

#define SLOW_COUNT_MS 50
#define COUNT_SHARE   20 /* counting takes at most one part in 20 of the time */
#define COUNT_OLD_MS  60000

/* The time from which rows may be counted again; 0: at once. */
static int64_t count_again(pawl_runtime *rt, int64_t began_ms)
{
    int64_t now = rt_mono(rt), took = now - began_ms, pause = took * COUNT_SHARE;
    if (!rt->caps.slow_counts || took < SLOW_COUNT_MS)
        return 0;
    return now + (pause < COUNT_OLD_MS ? pause : COUNT_OLD_MS);
}

static pawl_depths read_depths(pawl_runtime *rt)
{
    pawl_depths depths = {.size = sizeof(depths)};
    pawl_error err;
    int64_t began = rt_mono(rt);
    pthread_mutex_lock(&rt->figures.count_lock);
    bool kept = began < rt->figures.count_ms;
    if (kept)
        depths = rt->figures.depths;
    pthread_mutex_unlock(&rt->figures.count_lock);
    if (kept)
        return depths;
    if (store_depths(rt->store, rt_now(rt), &depths, &err) != PAWL_OK)
        depths = (pawl_depths){0};
    pthread_mutex_lock(&rt->figures.count_lock);
    rt->figures.depths = depths;
    rt->figures.count_ms = count_again(rt, began);
    pthread_mutex_unlock(&rt->figures.count_lock);
    return depths;
}

/* In a forked child nothing is counted, and the store is the parent's. */
static bool is_elsewhere(pawl_runtime *rt, pawl_stats *ret)
{
    pawl_error err;
    return here_is_forked(rt, &err) && !pawl_runtime_healthy(rt, ret->trouble);
}

void pawl_runtime_counters(pawl_runtime *rt, pawl_stats *ret)
{
    MUST_HAVE("a runtime", rt);
    memset(ret, 0, sizeof(*ret));
    if (is_elsewhere(rt, ret))
        return;
#define COPY(field)              ret->field = atomic_load_explicit(&rt->figures.n.field, memory_order_relaxed);
#define COPY_COUNTER(field, ...) COPY(field)
    COUNTERS(COPY_COUNTER)
    COPY(commit_us)
    COPY(resident)
    COPY(schedule_to_start_count)
    COPY(schedule_to_start_ms)
#undef COPY_COUNTER
#undef COPY
    for (size_t i = 0; i < PAWL_DELAY_BUCKETS; i++)
        ret->schedule_to_start[i] =
            atomic_load_explicit(&rt->figures.n.schedule_to_start[i], memory_order_relaxed);
    ret->inbox = inbox_count(rt) + atomic_load(&rt->figures.n.todo);
    pawl_store_figures figures;
    store_figures(rt->store, &figures);
    ret->store_log_bytes = figures.log_bytes;
    ret->store_damaged = figures.damaged;
    ret->running_activities = worker_running(rt);
    ret->busy = here_has_threads(rt) && (watchdog_sees_work(rt) || health_is_committing(rt));
    ret->healthy = pawl_runtime_healthy(rt, ret->trouble);
}

void pawl_runtime_stats(pawl_runtime *rt, pawl_stats *ret)
{
    pawl_runtime_counters(rt, ret);
    if (is_elsewhere(rt, ret))
        return;
    pawl_depths depths = read_depths(rt);
    ret->orchestrator_queue = depths.messages;
    ret->worker_queue = depths.work;
    ret->timers_near = depths.timers;
    ret->instances = depths.instances;
    ret->instances_suspended = depths.suspended;
    ret->instances_blocked = depths.blocked;
    ret->instances_failed = depths.failed;
    ret->instances_cancelled = depths.cancelled;
}
