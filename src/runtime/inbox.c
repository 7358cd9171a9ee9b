/* SPDX-License-Identifier: MIT */
/* runtime/inbox.c -- see inbox.h. */
#include "runtime/inbox.h"

#include <time.h>

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
    bool wake = rt->engine_waits;
    pthread_mutex_unlock(&rt->lock);
    if (wake)
        pthread_cond_signal(&rt->wake);
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
    rt->engine_waits = true;
    while (!rt->inbox && !rt->stop && !rt->woken) {
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
    pthread_cond_signal(&rt->wake);
}
