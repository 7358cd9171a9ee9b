/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/inbox.h -- the one door to the engine thread.
 *
 * Any thread posts; the engine takes everything at once.  While the engine
 * waits for the disk, what arrives queues here and becomes the next group.  The engine is
 * the engine thread, or the thread that has borrowed it (lend.h).
 */
#ifndef PAWL_RUNTIME_INBOX_H
#define PAWL_RUNTIME_INBOX_H

#include "runtime/core/runtime.h"

/* False when the runtime refuses new requests (shutting down). */
bool inbox_post(pawl_runtime *rt, struct item *item);
/* Between the two, what this thread posts does not wake a sleeping engine at once: what
 * comes together is committed together.  After a few it does.  The engine of `but` is not woken at
 * the end: the caller sees to that.  NULL: all are. */
void inbox_hold(void);
void inbox_release(const pawl_runtime *but);
/* Under rt->inbox.lock: a sleeping engine is told to wake; true: broadcast then. */
bool inbox_wakes(pawl_runtime *rt);
/* Move what arrived behind rt->items.first. */
void inbox_take(pawl_runtime *rt);
void inbox_take_locked(pawl_runtime *rt); /* under rt->inbox.lock */
/* Sleep until something arrives, stop is set, or `until_mono_ms` (INT64_MAX: no limit). */
void inbox_wait(pawl_runtime *rt, int64_t until_mono_ms);
void inbox_wake(pawl_runtime *rt);
void inbox_stop(pawl_runtime *rt); /* the engine thread is to end */
/* Under rt->inbox.lock: is there nothing in the inbox but borrowable items, and a borrower to take them? */
bool inbox_is_light(const pawl_runtime *rt);

/* The same from outside the lock, and the engine goes on. */
bool inbox_may_lie(pawl_runtime *rt);
void inbox_open(pawl_runtime *rt);

/* How many there are, now. */
static inline size_t inbox_count(const pawl_runtime *rt)
{
    return atomic_load(&rt->inbox.count);
}

/* Since when the first of them waits, by the monotonic clock; 0: it is empty. */
static inline int64_t inbox_since(const pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->inbox.since_ms, memory_order_relaxed);
}

/* The engine thread is to end. */
static inline bool inbox_stops(const pawl_runtime *rt)
{
    return atomic_load(&rt->inbox.stop);
}

#endif
