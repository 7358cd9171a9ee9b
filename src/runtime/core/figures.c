/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/figures.c -- what a runtime tells about itself, to any thread.
 *
 * Counters are relaxed atomics, written where things happen.  Depths are counted in
 * the store, which takes as long as there are rows: whoever only wants to know
 * whether it is well asks pawl_runtime_healthy().
 */
#include "runtime/core/figures.h"

#include "base/misuse.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/travel.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static const int64_t bounds_ms[PAWL_DELAY_BUCKETS - 1] = {
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000};

int64_t pawl_delay_bound_ms(unsigned bucket)
{
    return bucket < COUNT_OF(bounds_ms) ? bounds_ms[bucket] : INT64_MAX;
}

/* Since when was it ready?  What ran when the process before this one ended, since we looked
 * for it; what follows a lost lease, nobody knows: 0. */
static int64_t ready_since(const pawl_runtime *rt, const pawl_work *w, bool recovered)
{
    if (w->attempt && !w->visible_ms)
        return recovered ? rt->blame.recovered_ms : 0;
    return w->visible_ms > w->scheduled_ms ? w->visible_ms : w->scheduled_ms;
}

void job_began(pawl_runtime *rt, const pawl_work *w, bool recovered, int64_t now_ms)
{
    int64_t since = ready_since(rt, w, recovered);
    if (!since && w->attempt)
        return;
    int64_t ms = now_ms > since ? now_ms - since : 0;
    unsigned bucket = 0;
    while (ms > pawl_delay_bound_ms(bucket))
        bucket++;
    COUNT(rt, schedule_to_start[bucket]);
    COUNT(rt, schedule_to_start_count);
    COUNT_BY(rt, schedule_to_start_ms, (uint64_t)ms);
}

void pawl_runtime_stats(pawl_runtime *rt, pawl_stats *ret)
{
    MUST_HAVE("a runtime", rt);
    memset(ret, 0, sizeof(*ret));
#define COPY(field) ret->field = atomic_load_explicit(&rt->figures.n.field, memory_order_relaxed)
    COPY(turns);
    COPY(rounds);
    COPY(commits);
    COPY(events);
    COPY(activities_started);
    COPY(activities_completed);
    COPY(activities_failed);
    COPY(activities_retried);
    COPY(timers_fired);
    COPY(replays);
    COPY(replayed_events);
    COPY(evictions);
    COPY(mismatches);
    COPY(quarantined);
    COPY(commit_us);
    COPY(store_errors);
    COPY(resident);
    COPY(retired);
    COPY(schedule_to_start_count);
    COPY(schedule_to_start_ms);
#undef COPY
    for (size_t i = 0; i < PAWL_DELAY_BUCKETS; i++)
        ret->schedule_to_start[i] =
            atomic_load_explicit(&rt->figures.n.schedule_to_start[i], memory_order_relaxed);
    ret->inbox = atomic_load(&rt->inbox.count) + atomic_load(&rt->figures.n.todo);
    pawl_depths depths = {0};
    pawl_error err;
    if (store_depths(rt->store, rt_now(rt), &depths, &err) == PAWL_OK) {
        ret->orchestrator_queue = depths.messages;
        ret->worker_queue = depths.work;
        ret->timers_near = depths.timers;
        ret->instances = depths.instances;
        ret->instances_suspended = depths.suspended;
        ret->instances_blocked = depths.blocked;
        ret->instances_failed = depths.failed;
        ret->instances_cancelled = depths.cancelled;
    }
    pawl_store_figures figures;
    store_figures(rt->store, &figures);
    ret->store_log_bytes = figures.log_bytes;
    ret->store_damaged = figures.damaged;
    pthread_mutex_lock(&rt->workers.lock);
    ret->running_activities = rt->workers.running;
    pthread_mutex_unlock(&rt->workers.lock);
    ret->busy = here_has_threads(rt) && (atomic_load(&rt->watch.busy) || health_is_committing(rt));
    ret->healthy = pawl_runtime_healthy(rt, ret->trouble);
}
