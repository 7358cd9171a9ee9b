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
/* Between the two, a post of this thread does not wake a sleeping engine: what comes together is
 * committed together.  Only every few posts wake it.  The second call wakes the engines that have
 * something, except that of `but` (NULL: none), which the caller wakes. */
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
/* Under rt->inbox.lock: are all items in the inbox borrowable, and is there a borrower? */
bool inbox_is_borrowable(const pawl_runtime *rt);

/* The same without the lock, for an engine that is not to end. */
bool inbox_may_be_lent(pawl_runtime *rt);
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
