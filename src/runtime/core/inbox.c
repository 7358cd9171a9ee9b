/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/inbox.c -- see inbox.h.
 *
 * Wakes by broadcast: a closing runtime sleeps on the same condition (told.c), and a
 * single signal could go to it instead of the engine.
 */
#include "runtime/core/inbox.h"

#include "base/deadline.h"
#include "runtime/core/embed.h"
#include "runtime/core/owed.h"

#define HELD_MAX 16 /* so many do not wait any longer */

/* What this thread has posted without waking the engine; see inbox_hold(). */
static _Thread_local struct {
    bool on;
    pawl_runtime *rt; /* posted to; NULL: nothing yet */
    unsigned posted;
} held;

bool inbox_is_light(const pawl_runtime *rt)
{
    size_t light = atomic_load_explicit(&rt->inbox_light, memory_order_relaxed);
    return rt->come && light && light == atomic_load(&rt->inbox_count);
}

/* Once told it need not be told again. */
bool inbox_wakes(pawl_runtime *rt)
{
    bool sleeps = rt->engine_waits;
    rt->engine_waits = false;
    rt->woken = rt->woken || sleeps;
    return sleeps;
}

/* Under the lock: may this post wait for the release? */
static bool may_wait(pawl_runtime *rt, const struct item *item)
{
    if (!held.on || (held.rt && held.rt != rt))
        return false;
    held.rt = rt;
    if (item->kind == ITEM_QUEUE)
        atomic_fetch_add_explicit(&rt->inbox_light, 1, memory_order_relaxed);
    return ++held.posted % HELD_MAX != 0 || inbox_is_light(rt);
}

void inbox_hold(void)
{
    held.on = true;
}

void inbox_hold_end(void)
{
    held.on = false;
    held.rt = NULL;
    held.posted = 0;
}

void inbox_release(void)
{
    pawl_runtime *rt = held.rt;
    inbox_hold_end();
    if (!rt)
        return;
    pthread_mutex_lock(&rt->lock);
    bool wake = inbox_wakes(rt);
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
    if (!rt->inbox)
        atomic_store_explicit(&rt->inbox_since_ms, rt_mono(rt), memory_order_relaxed);
    item->since_ms = atomic_load_explicit(&rt->inbox_since_ms, memory_order_relaxed);
    item->older = item->newer = NULL;
    *rt->inbox_end = item;
    rt->inbox_end = &item->next;
    atomic_fetch_add_explicit(&rt->inbox_count, 1, memory_order_relaxed);
    embed_tell_locked(rt);
    bool wake = !may_wait(rt, item) && inbox_wakes(rt);
    pthread_mutex_unlock(&rt->lock);
    if (wake)
        pthread_cond_broadcast(&rt->wake);
    return true;
}

void inbox_take_locked(pawl_runtime *rt)
{
    if (rt->inbox) {
        *rt->items_end = rt->inbox;
        rt->items_end = rt->inbox_end;
        rt->inbox = NULL;
        rt->inbox_end = &rt->inbox;
    }
    atomic_store_explicit(&rt->inbox_count, 0, memory_order_relaxed);
    atomic_store_explicit(&rt->inbox_light, 0, memory_order_relaxed);
    owed_tell(rt);
    atomic_store_explicit(&rt->inbox_since_ms, 0, memory_order_relaxed);
}

void inbox_take(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->lock);
    inbox_take_locked(rt);
    pthread_mutex_unlock(&rt->lock);
}

static bool has_reason(const pawl_runtime *rt)
{
    return !rt->lent && (rt->stop || rt->woken || (rt->inbox && !inbox_is_light(rt)));
}

void inbox_wait(pawl_runtime *rt, int64_t until_mono_ms)
{
    struct timespec until = deadline_at(until_mono_ms);
    pthread_mutex_lock(&rt->lock);
    if (!has_reason(rt) && inbox_is_light(rt))
        rt->come(rt->come_arg);
    while (!has_reason(rt)) {
        rt->engine_waits = !rt->lent;
        if (until_mono_ms == INT64_MAX || rt->engine_wants)
            pthread_cond_wait(&rt->wake, &rt->lock);
        else if (pthread_cond_timedwait(&rt->wake, &rt->lock, &until) != 0) {
            if (!rt->lent)
                break;
            rt->engine_wants = true; /* who has it gives it back with a call */
        }
    }
    rt->engine_waits = rt->woken = false;
    pthread_mutex_unlock(&rt->lock);
}

void inbox_wake(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->lock);
    rt->woken = true;
    embed_tell_locked(rt);
    pthread_mutex_unlock(&rt->lock);
    pthread_cond_broadcast(&rt->wake);
}
