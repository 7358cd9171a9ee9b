/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/inbox.c -- see inbox.h.
 *
 * Wakes by broadcast: a closing runtime sleeps on the same condition (audience.c), and a
 * single signal could go to it instead of the engine.
 */
#include "runtime/core/inbox.h"

#include "base/deadline.h"
#include "runtime/core/embed.h"
#include "runtime/core/items.h"
#include "runtime/core/owed.h"

#define HELD_MAX      16 /* this many are released at once */
#define HELD_RUNTIMES 4  /* a thread holds for; it posts to more without holding */

/* What this thread has posted without waking the engine; see inbox_hold(). */
static _Thread_local struct {
    bool on;
    unsigned count; /* runtimes posted to */
    struct {
        pawl_runtime *rt;
        unsigned posted;
    } to[HELD_RUNTIMES];
} held;

bool inbox_is_borrowable(const pawl_runtime *rt)
{
    size_t borrowable = atomic_load_explicit(&rt->inbox.borrowable, memory_order_relaxed);
    return rt->inbox.wake_borrower && borrowable && borrowable == atomic_load(&rt->inbox.count);
}

/* Once told it need not be told again. */
bool inbox_wakes(pawl_runtime *rt)
{
    bool sleeps = rt->inbox.engine_waits;
    rt->inbox.engine_waits = false;
    rt->inbox.woken = rt->inbox.woken || sleeps;
    return sleeps;
}

/* The count of what this thread has posted to `rt` under its hold; NULL: it holds nothing back. */
static unsigned *held_for(pawl_runtime *rt)
{
    for (unsigned i = 0; i < held.count; i++)
        if (held.to[i].rt == rt)
            return &held.to[i].posted;
    if (!held.on || held.count == HELD_RUNTIMES)
        return NULL;
    held.to[held.count].rt = rt;
    held.to[held.count].posted = 0;
    return &held.to[held.count++].posted;
}

/* Under the lock: may this post wait for the release? */
static bool may_wait(pawl_runtime *rt, const struct item *item)
{
    unsigned *posted = held_for(rt);
    if (!posted)
        return false;
    if (item->kind == ITEM_QUEUE)
        atomic_fetch_add_explicit(&rt->inbox.borrowable, 1, memory_order_relaxed);
    return ++*posted % HELD_MAX != 0 || inbox_is_borrowable(rt);
}

void inbox_hold(void)
{
    held.on = true;
}

static void wake_held(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    bool wake = inbox_wakes(rt);
    pthread_mutex_unlock(&rt->inbox.lock);
    if (wake)
        pthread_cond_broadcast(&rt->inbox.wake);
}

void inbox_release(const pawl_runtime *but)
{
    for (unsigned i = 0; i < held.count; i++)
        if (held.to[i].rt != but)
            wake_held(held.to[i].rt);
    held.on = false;
    held.count = 0;
}

bool inbox_post(pawl_runtime *rt, struct item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&rt->inbox.lock);
    if (rt->inbox.stopping && item->kind != ITEM_JOB) {
        pthread_mutex_unlock(&rt->inbox.lock);
        return false;
    }
    if (!rt->inbox.first)
        atomic_store_explicit(&rt->inbox.since_ms, rt_mono(rt), memory_order_relaxed);
    item->since_ms = atomic_load_explicit(&rt->inbox.since_ms, memory_order_relaxed);
    item->older = item->newer = NULL;
    *rt->inbox.end = item;
    rt->inbox.end = &item->next;
    atomic_fetch_add_explicit(&rt->inbox.count, 1, memory_order_relaxed);
    embed_tell_locked(rt);
    bool wake = !may_wait(rt, item) && inbox_wakes(rt);
    pthread_mutex_unlock(&rt->inbox.lock);
    if (wake)
        pthread_cond_broadcast(&rt->inbox.wake);
    return true;
}

void inbox_take_locked(pawl_runtime *rt)
{
    if (rt->inbox.first) {
        items_append(rt, rt->inbox.first, rt->inbox.end);
        rt->inbox.first = NULL;
        rt->inbox.end = &rt->inbox.first;
    }
    atomic_store_explicit(&rt->inbox.count, 0, memory_order_relaxed);
    atomic_store_explicit(&rt->inbox.borrowable, 0, memory_order_relaxed);
    owed_tell(rt);
    atomic_store_explicit(&rt->inbox.since_ms, 0, memory_order_relaxed);
}

void inbox_take(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    inbox_take_locked(rt);
    pthread_mutex_unlock(&rt->inbox.lock);
}

static bool has_reason(const pawl_runtime *rt)
{
    return !rt->inbox.lent &&
           (rt->inbox.stop || rt->inbox.woken || (rt->inbox.first && !inbox_is_borrowable(rt)));
}

void inbox_wait(pawl_runtime *rt, int64_t until_mono_ms)
{
    struct timespec until = deadline_at(until_mono_ms);
    pthread_mutex_lock(&rt->inbox.lock);
    if (!has_reason(rt) && inbox_is_borrowable(rt))
        rt->inbox.wake_borrower(rt->inbox.borrower);
    while (!has_reason(rt)) {
        rt->inbox.engine_waits = !rt->inbox.lent;
        if (until_mono_ms == INT64_MAX || rt->inbox.wake_is_due)
            pthread_cond_wait(&rt->inbox.wake, &rt->inbox.lock);
        else if (pthread_cond_timedwait(&rt->inbox.wake, &rt->inbox.lock, &until) != 0) {
            if (!rt->inbox.lent)
                break;
            rt->inbox.wake_is_due = true; /* the borrower gives it back after its call */
        }
    }
    rt->inbox.engine_waits = rt->inbox.woken = false;
    pthread_mutex_unlock(&rt->inbox.lock);
}

void inbox_wake(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    rt->inbox.woken = true;
    embed_tell_locked(rt);
    pthread_mutex_unlock(&rt->inbox.lock);
    pthread_cond_broadcast(&rt->inbox.wake);
}

bool inbox_may_be_lent(pawl_runtime *rt)
{
    if (!atomic_load_explicit(&rt->inbox.borrowable, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&rt->inbox.lock);
    bool may = inbox_is_borrowable(rt) && !rt->inbox.stop;
    pthread_mutex_unlock(&rt->inbox.lock);
    return may;
}

void inbox_open(pawl_runtime *rt)
{
    rt->inbox.end = &rt->inbox.first;
    pthread_mutex_init(&rt->inbox.lock, NULL);
    deadline_cond_init(&rt->inbox.wake);
}

void inbox_stop(pawl_runtime *rt)
{
    atomic_store(&rt->inbox.stop, true);
    inbox_wake(rt);
}
