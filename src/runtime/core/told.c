/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/told.c -- who hears of a commit: feeds and waiting clients.
 *
 * Feeds run on the engine thread under feed_lock, so that after unfeed nobody is
 * called any more.  A feed may call feed and unfeed: it has the lock already, and what it ends
 * is freed when all were called.  A waiting client hangs
 * its node into rt->told.waiters *before* it looks at the store, so no change between
 * look and sleep is lost; only those whose instance changed are woken.
 */
#include "runtime/core/told.h"

#include "base/deadline.h"
#include "base/misuse.h"
#include "runtime/core/here.h"
#include "runtime/core/info.h"

#include <stdlib.h>

#define TOLD_BYTES 65536 /* larger payloads are not copied for whoever may want them */

static bool has_feeds(const pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->told.feed_count, memory_order_relaxed) != 0;
}

void told_queue(pawl_runtime *rt, pawl_str name)
{
    if (!has_feeds(rt))
        return;
    pawl_change *c = list_add(&rt->group_mem, &rt->told.changes);
    *c = (pawl_change){.instance = pawl_s(""), .queue = arena_dup(&rt->group_mem, name)};
}

/* Whoever waits for the end need not read it again.  Copied: the resident goes before the
 * feeds are called. */
static const pawl_info *info_of_end(pawl_runtime *rt, const struct stage *s)
{
    const pawl_row *row = &s->row;
    if (!s->r->x || s->removed || !has_feeds(rt) || !pawl_state_is_terminal(row->state))
        return NULL;
    pawl_mem *mem = &rt->group_mem;
    pawl_info info;
    info_of_row(&info, row);
    info.input = execution_input(s->r->x);
    if (info.input.len + row->output.len + row->custom_status.len > TOLD_BYTES)
        return NULL;
    pawl_info *copy = arena_new(mem, pawl_info);
    *copy = info;
    pawl_str *const texts[] = {&copy->instance, &copy->orchestration, &copy->version,
                               &copy->input,    &copy->output,        &copy->error,
                               &copy->parent,   &copy->custom_status, &copy->finding};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i]->len)
            *texts[i] = arena_dup(mem, *texts[i]);
    return copy;
}

void told_change(pawl_runtime *rt, const struct stage *s)
{
    const pawl_row *row = &s->row;
    if (!has_feeds(rt) && !atomic_load_explicit(&rt->told.waiter_count, memory_order_relaxed))
        return;
    pawl_change *c = list_add(&rt->group_mem, &rt->told.changes);
    const pawl_info *ended = info_of_end(rt, s);
    *c = (pawl_change){.instance = ended ? ended->instance : arena_dup(&rt->group_mem, row->id),
                       .execution = row->execution,
                       .state = row->state,
                       .last_seq = row->last_seq,
                       .events = (uint32_t)s->events.count,
                       .removed = s->removed,
                       .ended = ended};
}

static void tell_waiters(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    for (size_t i = 0; i < rt->told.changes.count; i++) {
        struct wait_node *w = map_gets(&rt->told.waiters, rt->told.changes.items[i].instance);
        for (; w; w = w->next) {
            w->told = true;
            pthread_cond_signal(&w->changed);
        }
    }
    pthread_mutex_unlock(&rt->inbox.lock);
}

/* Under feed_lock: those that ended while feeds were called. */
static void sweep_feeds(pawl_runtime *rt)
{
    for (struct feed **at = &rt->told.feeds; *at;) {
        struct feed *f = *at;
        if (f->fn) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        free(f);
    }
}

void told_all(pawl_runtime *rt)
{
    if (!rt->told.changes.count)
        return;
    if (atomic_load_explicit(&rt->told.waiter_count, memory_order_relaxed))
        tell_waiters(rt);
    pthread_mutex_lock(&rt->told.lock);
    rt->told.feeding = true;
    for (struct feed *f = rt->told.feeds; f; f = f->next)
        if (f->fn)
            f->fn(f->arg, rt->told.changes.items, rt->told.changes.count);
    rt->told.feeding = false;
    sweep_feeds(rt);
    pthread_mutex_unlock(&rt->told.lock);
    rt->told.changes.count = rt->told.changes.cap = 0;
    rt->told.changes.items = NULL;
}

void told_stop(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    rt->inbox.stopping = true;
    struct wait_node *w;
    for (size_t cursor = 0; (w = map_next(&rt->told.waiters, &cursor));)
        for (; w; w = w->next)
            pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&rt->inbox.lock);
}

void told_drain(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    while (atomic_load(&rt->told.waiter_count))
        pthread_cond_wait(&rt->inbox.wake, &rt->inbox.lock);
    pthread_mutex_unlock(&rt->inbox.lock);
}

void told_enter(pawl_runtime *rt, struct wait_node *w, pawl_str instance)
{
    *w = (struct wait_node){.instance = instance};
    deadline_cond_init(&w->changed);
    pthread_mutex_lock(&rt->inbox.lock);
    w->next = map_gets(&rt->told.waiters, instance);
    if (w->next)
        map_removes(&rt->told.waiters, instance); /* the key lives with the newest */
    need_memory(map_puts(&rt->told.waiters, w->instance, w));
    atomic_fetch_add(&rt->told.waiter_count, 1);
    pthread_mutex_unlock(&rt->inbox.lock);
}

void told_leave(pawl_runtime *rt, struct wait_node *w)
{
    pthread_mutex_lock(&rt->inbox.lock);
    struct wait_node *top = map_removes(&rt->told.waiters, w->instance);
    if (top == w)
        top = w->next;
    for (struct wait_node *at = top; at; at = at->next)
        if (at->next == w)
            at->next = w->next;
    if (top)
        need_memory(map_puts(&rt->told.waiters, top->instance, top));
    atomic_fetch_sub(&rt->told.waiter_count, 1);
    if (rt->inbox.stopping)
        pthread_cond_broadcast(&rt->inbox.wake);
    pthread_mutex_unlock(&rt->inbox.lock);
    pthread_cond_destroy(&w->changed);
}

bool told_wait(pawl_runtime *rt, struct wait_node *w, const struct timespec *until)
{
    bool in_time = true;
    pthread_mutex_lock(&rt->inbox.lock);
    while (!w->told && !rt->inbox.stopping && in_time)
        in_time = until ? pthread_cond_timedwait(&w->changed, &rt->inbox.lock, until) == 0
                        : pthread_cond_wait(&w->changed, &rt->inbox.lock) == 0;
    bool stopping = rt->inbox.stopping;
    w->told = false;
    pthread_mutex_unlock(&rt->inbox.lock);
    return in_time && !stopping;
}

/* Does this thread have feed_lock: is it inside a feed? */
static bool is_in_feed(pawl_runtime *rt)
{
    return here_is_engine(rt) && rt->told.feeding;
}

static void lock_feeds(pawl_runtime *rt)
{
    if (!is_in_feed(rt))
        pthread_mutex_lock(&rt->told.lock);
}

static void unlock_feeds(pawl_runtime *rt)
{
    if (!is_in_feed(rt))
        pthread_mutex_unlock(&rt->told.lock);
}

uint64_t pawl_client_feed(pawl_client *c, pawl_feed_fn *fn, void *arg)
{
    MUST_HAVE("a client", c);
    pawl_runtime *rt = c->rt;
    pawl_error elsewhere;
    struct feed *f = fn && !here_is_forked(rt, &elsewhere) ? calloc(1, sizeof(*f)) : NULL;
    if (!f)
        return 0;
    lock_feeds(rt);
    uint64_t number = ++rt->told.feed_number;
    *f = (struct feed){.next = rt->told.feeds, .number = number, .fn = fn, .arg = arg};
    rt->told.feeds = f;
    atomic_fetch_add(&rt->told.feed_count, 1);
    unlock_feeds(rt);
    return number;
}

void pawl_client_unfeed(pawl_client *c, uint64_t subscription)
{
    MUST_HAVE("a client", c);
    pawl_runtime *rt = c->rt;
    pawl_error elsewhere;
    if (here_is_forked(rt, &elsewhere))
        return;
    lock_feeds(rt);
    for (struct feed *f = rt->told.feeds; f; f = f->next)
        if (f->number == subscription && f->fn) {
            f->fn = NULL;
            atomic_fetch_sub(&rt->told.feed_count, 1);
            break;
        }
    if (!is_in_feed(rt))
        sweep_feeds(rt);
    unlock_feeds(rt);
}

void told_open(pawl_runtime *rt)
{
    map_init(&rt->told.waiters);
    pthread_mutex_init(&rt->told.lock, NULL);
}

void told_close(pawl_runtime *rt)
{
    map_deinit(&rt->told.waiters);
    while (rt->told.feeds) {
        struct feed *f = rt->told.feeds;
        rt->told.feeds = f->next;
        free(f);
    }
}
