/* SPDX-License-Identifier: MIT */
/* runtime/work/share.c -- see share.h. */
#include "runtime/work/share.h"

#include "base/limits.h"
#include "runtime/work/jobs.h"

#include <stdlib.h>

#define KEPT_PART 8 /* one in this many threads is for names of which nothing runs */

struct share *share_of(pawl_runtime *rt, const struct job *job)
{
    uint64_t key = (uintptr_t)job->activity;
    struct share *s = rt->shares.last; /* most often the one before */
    if (s && s->activity == job->activity)
        return s;
    s = map_get(&rt->shares.by_name, key);
    if (!s) {
        s = calloc(1, sizeof(*s));
        if (!s || !map_put(&rt->shares.by_name, key, s)) { /* less fair, that is all */
            free(s);
            return &rt->shares.rest;
        }
        s->activity = job->activity;
    }
    return rt->shares.last = s;
}

/* Behind all of the same priority. */
static void add_ahead(pawl_runtime *rt, struct job *job)
{
    struct job **at = &rt->shares.ahead;
    while (*at && (*at)->priority <= job->priority)
        at = &(*at)->next_queued;
    job->next_queued = *at;
    *at = job;
    rt->shares.ahead_count++;
}

void share_add(pawl_runtime *rt, struct job *job)
{
    struct share *s = job->share ? job->share : share_of(rt, job);
    if (UNLIKELY(job->tray != NULL)) {
        job->share = s;
        add_ahead(rt, job);
        return;
    }
    if (!s->first) {
        s->next = NULL;
        *rt->shares.end = s;
        rt->shares.end = &s->next;
        s->end = &s->first;
    }
    job->share = s;
    job->next_queued = NULL;
    *s->end = job;
    s->end = &job->next_queued;
    rt->shares.queued++;
}

bool share_has_room(const pawl_runtime *rt, uint32_t running)
{
    return running + rt->opts.workers / KEPT_PART < rt->opts.workers;
}

/* The place in the list of the share whose turn it is. */
static struct share **find(const pawl_runtime *rt)
{
    bool room = share_has_room(rt, rt->workers.running);
    struct share **best = NULL;
    for (struct share *const *at = &rt->shares.waiting; *at; at = &(*at)->next)
        if ((room || !(*at)->running) && (!best || (*at)->running < (*best)->running))
            best = (struct share **)(uintptr_t)at;
    return best;
}

uint32_t share_ahead(const pawl_runtime *rt, uint32_t priority)
{
    uint32_t n = 0;
    for (const struct job *job = rt->shares.ahead; job && job->priority <= priority;
         job = job->next_queued)
        n++;
    return n;
}

bool share_runs(const pawl_runtime *rt, const struct activity_entry *activity)
{
    const struct share *s = map_get(&rt->shares.by_name, (uintptr_t)activity);
    if (s && s->running)
        return true;
    for (const struct job *job = rt->shares.ahead; job; job = job->next_queued)
        if (job->activity == activity)
            return true;
    return false;
}

/* The first of them that may have a thread; those kept for other names stay free. */
static struct job **find_ahead(const pawl_runtime *rt)
{
    bool room = share_has_room(rt, rt->workers.running);
    struct job *const *at = &rt->shares.ahead;
    while (*at && !room && (*at)->share->running)
        at = &(*at)->next_queued;
    return *at ? (struct job **)(uintptr_t)at : NULL;
}

bool share_may(const pawl_runtime *rt)
{
    return find_ahead(rt) || (rt->shares.waiting && find(rt));
}

/* With the default priority they and those without a tray take turns. */
static struct job *take_ahead(pawl_runtime *rt)
{
    struct job **at = find_ahead(rt), *job = at ? *at : NULL;
    if (!job)
        return NULL;
    if (rt->shares.waiting && job->priority == LIMIT_PRIORITY_DEFAULT) {
        rt->shares.plain_next = !rt->shares.plain_next;
        if (!rt->shares.plain_next && find(rt))
            return NULL;
    }
    *at = job->next_queued;
    rt->shares.ahead_count--;
    job->share->running++;
    return job;
}

struct job *share_take(pawl_runtime *rt)
{
    struct job *ahead = UNLIKELY(rt->shares.ahead != NULL) ? take_ahead(rt) : NULL;
    if (UNLIKELY(ahead != NULL))
        return ahead;
    struct share **at = rt->shares.waiting ? find(rt) : NULL;
    if (!at)
        return NULL;
    struct share *s = *at;
    struct job *job = s->first;
    s->first = job->next_queued;
    if (s->next || !s->first) { /* to the end of the list, or out of it */
        *at = s->next;
        if (!s->next)
            rt->shares.end = at;
        if (s->first) {
            s->next = NULL;
            *rt->shares.end = s;
            rt->shares.end = &s->next;
        }
    }
    s->running++;
    rt->shares.queued--;
    return job;
}

void share_done(struct share *s)
{
    s->running--;
}

/* The share leaves the list when its queue is empty. */
static void leave_if_empty(pawl_runtime *rt, struct share *s)
{
    if (s->first)
        return;
    for (struct share **at = &rt->shares.waiting; *at; at = &(*at)->next) {
        if (*at != s)
            continue;
        *at = s->next;
        if (!*at)
            rt->shares.end = at;
        return;
    }
}

struct job *share_take_back(pawl_runtime *rt, const struct activity_entry *activity)
{
    struct share *s = map_get(&rt->shares.by_name, (uintptr_t)activity);
    struct job *list = NULL, **end = &list;
    if (!s || !s->first)
        return NULL;
    for (struct job **at = &s->first; *at;) {
        struct job *job = *at;
        if (job->marked) {
            at = &job->next_queued;
            continue;
        }
        *at = job->next_queued;
        job->next_queued = NULL;
        *end = job;
        end = &job->next_queued;
        rt->shares.queued--;
    }
    for (s->end = &s->first; *s->end; s->end = &(*s->end)->next_queued)
        ;
    leave_if_empty(rt, s);
    return list;
}

/* Its queue may be empty now, and is still in the list: no thread takes from it any more. */
struct job *share_take_marked(pawl_runtime *rt)
{
    for (struct job **at = &rt->shares.ahead; *at; at = &(*at)->next_queued)
        if ((*at)->marked) {
            struct job *job = *at;
            *at = job->next_queued;
            rt->shares.ahead_count--;
            return job;
        }
    for (struct share *s = rt->shares.waiting; s; s = s->next)
        for (struct job **at = &s->first; *at; at = &(*at)->next_queued) {
            struct job *job = *at;
            if (!job->marked)
                continue;
            *at = job->next_queued;
            if (!*at)
                s->end = at;
            rt->shares.queued--;
            return job;
        }
    return NULL;
}

void share_free(pawl_runtime *rt)
{
    for (struct share *s = rt->shares.waiting; s; s = s->next)
        for (struct job *job = s->first, *next; job; job = next) {
            next = job->next_queued;
            job_free(job);
        }
    rt->shares.waiting = NULL;
    for (struct job *job = rt->shares.ahead, *next; job; job = next) {
        next = job->next_queued;
        job_free(job);
    }
    rt->shares.ahead = NULL;
    struct share *s;
    for (size_t cursor = 0; (s = map_next(&rt->shares.by_name, &cursor));)
        free(s);
    map_deinit(&rt->shares.by_name);
}

void share_open(pawl_runtime *rt)
{
    map_init(&rt->shares.by_name);
    rt->shares.end = &rt->shares.waiting;
}
