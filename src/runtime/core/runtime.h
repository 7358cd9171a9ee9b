/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/runtime.h -- the parts of a runtime and their owners.
 *
 * The way of one step (docs/internals/runtime.md):
 *
 *   client threads ── request ─┐
 *   worker threads ── job ─────┤ inbox ─▶ ENGINE THREAD
 *                                         take everything
 *                                         letter ─▶ resident ─▶ turn ─▶ stage
 *                                         all stages ─▶ ONE commit
 *                                         answers, hand-outs, cancels
 *
 * One thread owns the truth: everything below marked [engine] belongs to it and
 * has no lock.  Other threads reach it through the inbox only.  Nothing decided
 * in a turn is visible to anyone before the commit that records it.
 *
 * Words: a *letter* is a message in memory; a *stage* is what one instance
 * decided in this group, becoming a round; a *group* is all stages of one
 * commit; a *resident* is an instance in memory; a *job* is an activity attempt
 * in memory.
 */
#ifndef PAWL_RUNTIME_RUNTIME_H
#define PAWL_RUNTIME_RUNTIME_H

#include "runtime/core/parts.h"

struct pawl_client {
    pawl_runtime *rt;
    struct kept_tables *tables; /* instance/kept_tables.h */
};

/* What a runtime was opened with, and its parts (parts.h). */
struct pawl_runtime {
    pawl_app *app;
    pawl_runtime *next_of_app; /* guarded by the lock of app */
    pawl_options opts;         /* defaults filled in; strings owned below */
    struct data_dir data;
    pawl_env env;
    struct logger log;
    pawl_store *store;
    pawl_store_caps caps;
    struct pawl_client client;
    struct slots *slots;
    struct hands hands;
    struct queue_cache *queue_cache; /* [engine] queues; NULL: the store has none */

    /* the pass [engine] */
    pawl_fence fence;
    pawl_mem group_mem; /* of the group being built */
    pawl_mem load_mem;  /* one load or fetch */
    int64_t now_ms;     /* store clock of this group */

    struct store_clock clock;
    struct trays trays;
    struct threads threads;
    struct inbox inbox;
    struct lending lending;
    struct items items;
    struct owed owed;
    struct letters letters;
    struct residents residents;
    struct staging staging;
    struct due due;
    struct health health;
    struct audience audience;
    struct mail_waiting mail;
    struct blame blame;
    struct peek peek;
    struct removal removal;
    struct jobs jobs;
    struct leases leases;
    struct worker_pool workers;
    struct shares shares;
    struct once once;
    struct watchdog watch;
    struct figures figures;
};

#define COUNT(rt, what) atomic_fetch_add_explicit(&(rt)->figures.n.what, 1, memory_order_relaxed)
#define COUNT_IS(rt, what, k)                                                                      \
    atomic_store_explicit(&(rt)->figures.n.what, (k), memory_order_relaxed)
#define COUNT_BY(rt, what, k)                                                                      \
    atomic_fetch_add_explicit(&(rt)->figures.n.what, (k), memory_order_relaxed)

#define RT_POINT(rt, name)                                                                         \
    do {                                                                                           \
        if (UNLIKELY((rt)->env.point))                                                             \
            (rt)->env.point((rt)->env.user, (name));                                               \
        POINT(name);                                                                               \
    } while (0)

static inline int64_t rt_mono(pawl_runtime *rt)
{
    return rt->env.mono_ms(rt->env.user);
}
static inline int64_t rt_now(pawl_runtime *rt) /* since 1970 */
{
    if (UNLIKELY(rt->clock.is))
        return rt_mono(rt) + atomic_load_explicit(&rt->clock.lead_ms, memory_order_relaxed);
    return rt->env.now_ms(rt->env.user);
}
static inline uint64_t rt_new_id(pawl_runtime *rt)
{
    return rt->fence.next_id++;
}

/* Labels (pawl/provider.h, clauses E); 0 where lanes cannot share the store. */
static inline uint32_t rt_shard_of(const pawl_runtime *rt, pawl_str id)
{
    return UNLIKELY(rt->caps.shared) ? pawl_shard_of(id) : 0;
}
static inline uint32_t rt_shard_of_queue(const pawl_runtime *rt, pawl_str name)
{
    return UNLIKELY(rt->caps.shared) ? pawl_shard_of_queue(name) : 0;
}
static inline uint32_t rt_shard_look(const pawl_runtime *rt) /* the store finds it */
{
    return UNLIKELY(rt->caps.shared) ? PAWL_SHARD_LOOK : 0;
}

#endif
