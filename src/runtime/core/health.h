/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/health.h -- the state of the store, and what follows from it.
 *
 * Reads and commits that fail say so here: the engine backs off, health turns bad, and in the worst
 * case everything is refused.  Only this file decides when to try again after trouble of the store.
 */
#ifndef PAWL_RUNTIME_HEALTH_H
#define PAWL_RUNTIME_HEALTH_H

#include "runtime/core/runtime.h"

/* The store could not be read: say so once, wait a little before the next pass. */
void health_unread(pawl_runtime *rt, const pawl_error *err);
/* A commit failed and will be tried again, later and later. */
void health_failed(pawl_runtime *rt, pawl_status rc, const pawl_error *err);
/* What became of a commit is not known yet: health is bad, and the next pass waits a little. */
void health_doubt(pawl_runtime *rt, const pawl_error *err);
/* FENCED or UNKNOWN: nothing may be written any more.  The process ends (stepping: health_dead() says why). */
void health_stop_dead(pawl_runtime *rt, pawl_status rc, const char *text);
/* The store is not where it was opened: from now on everything is refused. */
void health_gone(pawl_runtime *rt, const char *text);
/* Log damaged rows that were met, and a write-ahead log that grows; at most once a second. */
void health_look(pawl_runtime *rt);
/* When health_look() has something to log, by the monotonic clock; INT64_MAX: nothing. */
int64_t health_next_look(pawl_runtime *rt);
/* Trouble with the store is over. */
void health_well(pawl_runtime *rt);
/* Is the disk full?  Then only what frees space or finishes work is accepted, and health says so. */
bool health_no_room(pawl_runtime *rt);
/* The answer for callers that still wait: SHUTDOWN, or UNKNOWN when the last commit may have
 * happened. */
pawl_status health_ending(const pawl_runtime *rt, const char **rettext);
/* A turn of this orchestration takes too long; NULL: it has ended.  Any thread. */
void health_slow_turn(pawl_runtime *rt, const char *name, int64_t ms);
/* End the pause after trouble: the next pass tries at once.  False: there was no pause. [engine] */
bool health_try_now(pawl_runtime *rt);
void health_open(pawl_runtime *rt);

/* Opening failed: what was begun is closed without touching the store. */
static inline void health_never_opened(pawl_runtime *rt, pawl_status why)
{
    rt->health.dead = why;
}

/* Why nothing runs any more; OK: it does. */
static inline pawl_status health_dead(const pawl_runtime *rt)
{
    return rt->health.dead;
}

static inline bool health_is_dead(const pawl_runtime *rt)
{
    return rt->health.dead != PAWL_OK;
}

/* Everything is refused: the store is not where it was opened. */
static inline bool health_is_gone(const pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->health.gone, memory_order_relaxed);
}

/* New work is refused: the disk is full. */
static inline bool health_is_full(const pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->health.full, memory_order_relaxed);
}

/* Neither dead, nor full, and the last read and commit did not fail. [engine] */
static inline bool health_is_good(const pawl_runtime *rt)
{
    return !health_is_dead(rt) && !rt->health.failures && !health_is_full(rt);
}

/* Do nothing before that many milliseconds have passed. [engine] */
static inline void health_wait(pawl_runtime *rt, int64_t ms)
{
    rt->health.retry_at_ms = rt_mono(rt) + ms;
}

/* Mono time before which nothing is done; in the past: there is no trouble. [engine] */
static inline int64_t health_retry_at(const pawl_runtime *rt)
{
    return rt->health.retry_at_ms;
}

/* Calls under way are to be refused, once. [engine] */
static inline bool health_must_refuse(const pawl_runtime *rt)
{
    return rt->health.refuse;
}

static inline void health_refused(pawl_runtime *rt)
{
    rt->health.refuse = false;
}

/* A commit begins or ends: one that does not end is trouble, too. [engine] */
static inline void health_committing(pawl_runtime *rt, bool begins)
{
    atomic_store_explicit(&rt->health.commit_began_ms, begins ? rt_mono(rt) : 0,
                          memory_order_relaxed);
}

static inline bool health_is_committing(const pawl_runtime *rt)
{
    return atomic_load(&rt->health.commit_began_ms) != 0;
}

/* Work is queued, and no thread could be started for it (true), or there is one; what was said
 * before.  Any thread. */
static inline bool health_set_threadless(pawl_runtime *rt, bool none)
{
    return atomic_exchange(&rt->health.no_threads, none);
}

static inline bool health_is_threadless(const pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->health.no_threads, memory_order_relaxed);
}

/* A whole pass is done: if only reads had failed, that is over. [engine] */
static inline void health_pass_done(pawl_runtime *rt)
{
    if (UNLIKELY(rt->health.unread) && rt_mono(rt) >= rt->health.retry_at_ms)
        health_well(rt);
}

#endif
