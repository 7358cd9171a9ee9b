/* SPDX-License-Identifier: MIT */
/*
 * runtime/told.c -- who hears of a commit: feeds and waiting clients.
 *
 * Feeds run on the engine thread under feed_lock, so that after unfeed nobody is
 * called any more (a feed must not call feed or unfeed).  Waiting clients sleep on
 * rt->told and look again when commit_no moved: no notice can be lost, because
 * the number is read before the look.
 */
#include "runtime/group.h"
#include "runtime/loop.h"

#include <stdlib.h>

void told_change(pawl_runtime *rt, const pawl_row *row, size_t events)
{
    if (!atomic_load_explicit(&rt->feed_count, memory_order_relaxed))
        return;
    pawl_change *c = list_add(&rt->group_mem, &rt->changes);
    *c = (pawl_change){.instance = arena_dup(&rt->group_mem, row->id),
                       .execution = row->execution,
                       .state = row->state,
                       .last_seq = row->last_seq,
                       .events = (uint32_t)events};
}

void told_all(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->lock);
    rt->commit_no++;
    bool waiters = rt->told_waiters > 0;
    pthread_mutex_unlock(&rt->lock);
    if (waiters)
        pthread_cond_broadcast(&rt->told);
    if (!rt->changes.count)
        return;
    pthread_mutex_lock(&rt->feed_lock);
    for (struct feed *f = rt->feeds; f; f = f->next)
        f->fn(f->arg, rt->changes.items, rt->changes.count);
    pthread_mutex_unlock(&rt->feed_lock);
    rt->changes.count = rt->changes.cap = 0;
    rt->changes.items = NULL;
}

uint64_t pawl_client_feed(pawl_client *c, pawl_feed_fn *fn, void *arg)
{
    pawl_runtime *rt = c->rt;
    struct feed *f = calloc(1, sizeof(*f));
    if (!f)
        return 0;
    pthread_mutex_lock(&rt->feed_lock);
    *f = (struct feed){.next = rt->feeds, .number = ++rt->feed_number, .fn = fn, .arg = arg};
    rt->feeds = f;
    atomic_fetch_add(&rt->feed_count, 1);
    pthread_mutex_unlock(&rt->feed_lock);
    return f->number;
}

void pawl_client_unfeed(pawl_client *c, uint64_t subscription)
{
    pawl_runtime *rt = c->rt;
    pthread_mutex_lock(&rt->feed_lock);
    for (struct feed **at = &rt->feeds; *at; at = &(*at)->next) {
        struct feed *f = *at;
        if (f->number != subscription)
            continue;
        *at = f->next;
        free(f);
        atomic_fetch_sub(&rt->feed_count, 1);
        break;
    }
    pthread_mutex_unlock(&rt->feed_lock);
}
