/* SPDX-License-Identifier: MIT */
/*
 * runtime/inbox.c -- see inbox.h.
 *
 * Wakes by broadcast: a closing runtime sleeps on the same condition (told.c), and a
 * single signal could go to it instead of the engine.
 */
#include "runtime/inbox.h"

#include <time.h>

#define HELD_MAX 16 /* so many do not wait any longer */

/* What this thread has posted without waking the engine; see inbox_hold(). */
static _Thread_local struct {
    bool on;
    pawl_runtime *rt; /* posted to; NULL: nothing yet */
    unsigned posted;
} held;

/* Under the lock: must the engine be woken?  Once told it need not be told again. */
static bool wakes(pawl_runtime *rt)
{
    bool sleeps = rt->engine_waits;
    rt->engine_waits = false;
    return sleeps;
}

/* May this post wait for the release? */
static bool may_wait(pawl_runtime *rt)
{
    if (!held.on || (held.rt && held.rt != rt))
        return false;
    held.rt = rt;
    return ++held.posted % HELD_MAX != 0;
}

void inbox_hold(void)
{
    held.on = true;
}

void inbox_release(void)
{
    pawl_runtime *rt = held.rt;
    held.on = false;
    held.rt = NULL;
    held.posted = 0;
    if (!rt)
        return;
    pthread_mutex_lock(&rt->lock);
    bool wake = wakes(rt);
    pthread_mutex_unlock(&rt->lock);
    if (wake)
        pthread_cond_broadcast(&rt->wake);
}

bool inbox_post(pawl_runtime *rt, struct item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&rt->lock);
    if (rt->stopping && item->kind != ITEM_JOB) {
        pthread_mutex_unlock(&rt->lock);
        return false;
    }
    *rt->inbox_end = item;
    rt->inbox_end = &item->next;
    atomic_fetch_add_explicit(&rt->inbox_count, 1, memory_order_relaxed);
    bool wake = !may_wait(rt) && wakes(rt);
    pthread_mutex_unlock(&rt->lock);
    if (wake)
        pthread_cond_broadcast(&rt->wake);
    return true;
}

void inbox_take(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->lock);
    if (rt->inbox) {
        *rt->items_end = rt->inbox;
        rt->items_end = rt->inbox_end;
        rt->inbox = NULL;
        rt->inbox_end = &rt->inbox;
    }
    atomic_store_explicit(&rt->inbox_count, 0, memory_order_relaxed);
    pthread_mutex_unlock(&rt->lock);
}

void inbox_wait(pawl_runtime *rt, int64_t until_mono_ms)
{
    struct timespec until = {.tv_sec = until_mono_ms / 1000,
                             .tv_nsec = (until_mono_ms % 1000) * 1000000};
    pthread_mutex_lock(&rt->lock);
    while (!rt->inbox && !rt->stop && !rt->woken) {
        rt->engine_waits = true;
        if (until_mono_ms == INT64_MAX)
            pthread_cond_wait(&rt->wake, &rt->lock);
        else if (pthread_cond_timedwait(&rt->wake, &rt->lock, &until) != 0)
            break;
    }
    rt->engine_waits = rt->woken = false;
    pthread_mutex_unlock(&rt->lock);
}

void inbox_wake(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->lock);
    rt->woken = true;
    pthread_mutex_unlock(&rt->lock);
    pthread_cond_broadcast(&rt->wake);
}
