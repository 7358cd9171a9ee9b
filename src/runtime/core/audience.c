/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/audience.c -- the listeners of a commit: feeds and waiting clients.
 *
 * Feeds run on the engine thread under audience.lock, so that a feed is not called any more
 * after unfeed returned.  A feed may call feed and unfeed: it has the lock already, and a feed
 * that it ends is freed when all were called.  A waiting client puts its node into
 * rt->audience.waiters *before* it looks at the store, so no change between look and sleep is
 * lost; only clients whose instance changed are woken.
 */
#include "runtime/core/audience.h"

#include "base/deadline.h"
#include "base/fit.h"
#include "base/misuse.h"
#include "runtime/core/here.h"
#include "runtime/core/info.h"
#include "tables/instance_texts.h"

#include <stdlib.h>

#define CHANGE_BYTES_MAX 65536 /* larger payloads are not copied: a client reads them */

static bool has_feeds(const pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->audience.feed_count, memory_order_relaxed) != 0;
}

void audience_queue(pawl_runtime *rt, pawl_str name)
{
    if (!has_feeds(rt))
        return;
    pawl_change *c = list_add(&rt->group_mem, &rt->audience.changes);
    *c = (pawl_change){.instance = pawl_s(""), .queue = arena_dup(&rt->group_mem, name)};
}

/* A listener that waits for the end need not read it again.  Copied, because the resident goes
 * before the feeds are called. */
static const pawl_info *info_of_end(pawl_runtime *rt, const struct stage *s)
{
    const pawl_row *row = &s->row;
    if (!s->r->x || s->removed || !has_feeds(rt) || !pawl_state_is_terminal(row->state))
        return NULL;
    pawl_mem *mem = &rt->group_mem;
    pawl_info info;
    info_of_row(&info, row);
    info.input = execution_input(s->r->x);
    size_t bytes = info.input.len + row->output.len;
#define BYTES(field, ...) bytes += row->field.len;
    INSTANCE_TEXTS(BYTES)
    if (bytes > CHANGE_BYTES_MAX)
        return NULL;
    pawl_info *copy = arena_new(mem, pawl_info);
    *copy = info;
#define PLACE(field, ...) &copy->field,
    pawl_str *const texts[] = {&copy->instance, &copy->orchestration, &copy->version,
                               &copy->input,    &copy->output,        &copy->error,
                               &copy->parent,   INSTANCE_TEXTS(PLACE)};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i]->len)
            *texts[i] = arena_dup(mem, *texts[i]);
    return copy;
}

/* It began, ended, stands still, goes on or is gone: rare beside the steps. */
static void add_change_of_state(pawl_runtime *rt, const pawl_row *row, pawl_change *c)
{
    if (!has_feeds(rt))
        return;
    c->orchestration = arena_dup(&rt->group_mem, row->orchestration);
    c->created_ms = row->created_ms;
    c->updated_ms = row->updated_ms;
}

void audience_change(pawl_runtime *rt, const struct stage *s)
{
    const pawl_row *row = &s->row;
    if (!has_feeds(rt) && !atomic_load_explicit(&rt->audience.waiter_count, memory_order_relaxed))
        return;
    pawl_change *c = list_add(&rt->group_mem, &rt->audience.changes);
    const pawl_info *ended = info_of_end(rt, s);
    *c = (pawl_change){.instance = ended ? ended->instance : arena_dup(&rt->group_mem, row->id),
                       .execution = row->execution,
                       .state = row->state,
                       .last_seq = row->last_seq,
                       .events = (uint32_t)s->events.count,
                       .removed = s->removed,
                       .ended = ended,
                       .uid = row->uid,
                       .was = s->change == PAWL_ROW_INSERT ? -1 : (int)s->r->row.state,
                       .published = s->objects.count > 0,
                       .answered = s->answers || s->turn.refused_count};
    if (c->was != (int)c->state || c->removed)
        add_change_of_state(rt, row, c);
}

void audience_attempt(pawl_runtime *rt, const struct resident *r)
{
    if (!r || r->stage || !has_feeds(rt))
        return; /* its own change tells, or it is not in memory, and is not told */
    pawl_change *c = list_add(&rt->group_mem, &rt->audience.changes);
    *c = (pawl_change){.instance = arena_dup(&rt->group_mem, r->row.id),
                       .execution = r->row.execution,
                       .state = r->row.state,
                       .last_seq = r->row.last_seq,
                       .uid = r->row.uid,
                       .was = (int)r->row.state};
}

static void tell_waiters(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    for (size_t i = 0; i < rt->audience.changes.count; i++) {
        struct wait_node *w =
            map_gets(&rt->audience.waiters, rt->audience.changes.items[i].instance);
        for (; w; w = w->next) {
            w->told = true;
            pthread_cond_signal(&w->changed);
        }
    }
    pthread_mutex_unlock(&rt->inbox.lock);
}

/* Under the lock: those that ended while feeds were called. */
static void sweep_feeds(pawl_runtime *rt)
{
    for (struct feed **at = &rt->audience.feeds; *at;) {
        struct feed *f = *at;
        if (f->fn) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        free(f);
    }
}

/* Laid out for the structs of the feed's program. */
static const pawl_change *changes_for(pawl_runtime *rt, const struct feed *f)
{
    const pawl_change *items = rt->audience.changes.items;
    size_t count = rt->audience.changes.count;
    if (f->info_bytes > sizeof(pawl_info)) { /* it may read beyond the end of ours */
        pawl_change *longer = arena_array(&rt->group_mem, pawl_change, count);
        for (size_t i = 0; i < count; i++) {
            longer[i] = items[i];
            longer[i].ended = FIT_ITEMS(&rt->group_mem, items[i].ended, 1, f->info_bytes);
        }
        items = longer;
    }
    return FIT_ITEMS(&rt->group_mem, items, count, f->change_bytes);
}

void audience_publish(pawl_runtime *rt)
{
    if (!rt->audience.changes.count)
        return;
    if (atomic_load_explicit(&rt->audience.waiter_count, memory_order_relaxed))
        tell_waiters(rt);
    pthread_mutex_lock(&rt->audience.lock);
    rt->audience.feeding = true;
    for (struct feed *f = rt->audience.feeds; f; f = f->next)
        if (f->fn)
            f->fn(f->arg, changes_for(rt, f), rt->audience.changes.count);
    rt->audience.feeding = false;
    sweep_feeds(rt);
    pthread_mutex_unlock(&rt->audience.lock);
    rt->audience.changes.count = rt->audience.changes.cap = 0;
    rt->audience.changes.items = NULL;
}

void audience_stop(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    rt->inbox.stopping = true;
    struct wait_node *w;
    for (size_t cursor = 0; (w = map_next(&rt->audience.waiters, &cursor));)
        for (; w; w = w->next)
            pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&rt->inbox.lock);
}

void audience_drain(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->inbox.lock);
    while (atomic_load(&rt->audience.waiter_count))
        pthread_cond_wait(&rt->inbox.wake, &rt->inbox.lock);
    pthread_mutex_unlock(&rt->inbox.lock);
}

void audience_enter(pawl_runtime *rt, struct wait_node *w, pawl_str instance)
{
    *w = (struct wait_node){.instance = instance};
    deadline_cond_init(&w->changed);
    pthread_mutex_lock(&rt->inbox.lock);
    w->next = map_gets(&rt->audience.waiters, instance);
    if (w->next)
        map_removes(&rt->audience.waiters, instance); /* the key lives with the newest */
    need_memory(map_puts(&rt->audience.waiters, w->instance, w));
    atomic_fetch_add(&rt->audience.waiter_count, 1);
    pthread_mutex_unlock(&rt->inbox.lock);
}

void audience_leave(pawl_runtime *rt, struct wait_node *w)
{
    pthread_mutex_lock(&rt->inbox.lock);
    struct wait_node *top = map_removes(&rt->audience.waiters, w->instance);
    if (top == w)
        top = w->next;
    for (struct wait_node *at = top; at; at = at->next)
        if (at->next == w)
            at->next = w->next;
    if (top)
        need_memory(map_puts(&rt->audience.waiters, top->instance, top));
    atomic_fetch_sub(&rt->audience.waiter_count, 1);
    if (rt->inbox.stopping)
        pthread_cond_broadcast(&rt->inbox.wake);
    pthread_mutex_unlock(&rt->inbox.lock);
    pthread_cond_destroy(&w->changed);
}

bool audience_wait(pawl_runtime *rt, struct wait_node *w, const struct timespec *until)
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

/* Does this thread have the lock: is it inside a feed? */
static bool is_in_feed(pawl_runtime *rt)
{
    return here_is_engine(rt) && rt->audience.feeding;
}

static void lock_feeds(pawl_runtime *rt)
{
    if (!is_in_feed(rt))
        pthread_mutex_lock(&rt->audience.lock);
}

static void unlock_feeds(pawl_runtime *rt)
{
    if (!is_in_feed(rt))
        pthread_mutex_unlock(&rt->audience.lock);
}

static uint64_t subscribe(pawl_client *c, const struct feed *wanted)
{
    pawl_runtime *rt = c->rt;
    pawl_error elsewhere;
    struct feed *f = wanted->fn && !here_is_forked(rt, &elsewhere) ? malloc(sizeof(*f)) : NULL;
    if (!f)
        return 0;
    *f = *wanted;
    lock_feeds(rt);
    uint64_t number = f->number = ++rt->audience.feed_number;
    f->next = rt->audience.feeds;
    rt->audience.feeds = f;
    atomic_fetch_add(&rt->audience.feed_count, 1);
    unlock_feeds(rt);
    return number;
}

uint64_t pawl_client_feed(pawl_client *c, pawl_feed_fn *fn, void *arg)
{
    MUST_HAVE("a client", c);
    return subscribe(c, &(struct feed){.fn = fn,
                                       .arg = arg,
                                       .change_bytes = sizeof(pawl_change),
                                       .info_bytes = sizeof(pawl_info)});
}

uint64_t pawl_client_feed_sized(pawl_client *c, pawl_feed_fn *fn, void *arg,
                                const pawl_client_sizes *sizes)
{
    pawl_client_sizes known;
    if (FIT_IS_OURS(sizes, pawl_client_sizes_here))
        return pawl_client_feed(c, fn, arg);
    MUST_HAVE("a client and the sizes of its structs", c && FIT_SIZES(&known, sizes, NULL));
    return subscribe(
        c, &(struct feed){
               .fn = fn, .arg = arg, .change_bytes = known.change, .info_bytes = known.info});
}

void pawl_client_unfeed(pawl_client *c, uint64_t subscription)
{
    MUST_HAVE("a client", c);
    pawl_runtime *rt = c->rt;
    pawl_error elsewhere;
    if (here_is_forked(rt, &elsewhere))
        return;
    lock_feeds(rt);
    for (struct feed *f = rt->audience.feeds; f; f = f->next)
        if (f->number == subscription && f->fn) {
            f->fn = NULL;
            atomic_fetch_sub(&rt->audience.feed_count, 1);
            break;
        }
    if (!is_in_feed(rt))
        sweep_feeds(rt);
    unlock_feeds(rt);
}

void audience_open(pawl_runtime *rt)
{
    map_init(&rt->audience.waiters);
    pthread_mutex_init(&rt->audience.lock, NULL);
}

void audience_close(pawl_runtime *rt)
{
    map_deinit(&rt->audience.waiters);
    while (rt->audience.feeds) {
        struct feed *f = rt->audience.feeds;
        rt->audience.feeds = f->next;
        free(f);
    }
}
