/* SPDX-License-Identifier: MIT */
/* runtime/work/jobs.c -- see jobs.h. */
#include "runtime/work/jobs.h"

#include "base/pack.h"
#include "runtime/core/tray.h"
#include "runtime/work/details.h"
#include "runtime/work/tries.h"

#include <stdlib.h>
#include <string.h>

#define WAITING_MAX 65536 /* that only wait; more of them count as any other */

int64_t job_deadline(const struct call_policy *p, int64_t scheduled_ms, bool started)
{
    int64_t at = 0;
    if (p->schedule_to_close_ms)
        at = scheduled_ms + p->schedule_to_close_ms;
    if (p->schedule_to_start_ms && !started && (!at || scheduled_ms + p->schedule_to_start_ms < at))
        at = scheduled_ms + p->schedule_to_start_ms;
    return at;
}

struct job *job_copy(pawl_runtime *rt, const pawl_work *w)
{
    size_t bytes = w->instance.len + w->name.len + w->input.len + w->attrs.len + w->last_error.len +
                   w->lock_token.len + 6;
    struct job *job = malloc(sizeof(*job) + bytes);
    if (!job)
        return NULL;
    memset(job, 0, sizeof(*job));
    char *at = (char *)(job + 1);
    job->item.kind = ITEM_JOB;
    job->rt = rt;
    job->work = *w;
    job->work.instance = pack_str(&at, w->instance);
    job->work.name = pack_str(&at, tray_activity(w->name));
    job->work.input = pack_str(&at, w->input);
    job->work.attrs = pack_str(&at, w->attrs);
    job->work.last_error = pack_str(&at, w->last_error);
    job->work.lock_token = pack_str(&at, w->lock_token);
    job->activity = tray_entry(rt, job->work.name);
    arena_init(&job->mem);
    job->policy = policy_parse(job->work.attrs, &job->mem);
    job->unfused = job_is_suspect(rt, w->id);
    return job;
}

/* The place of a call at most once (once.h) is free. */
static void free_place(struct job *job)
{
    if (!job->once_out)
        return;
    job->rt->once.out--;
    job->share->once_out--;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    free_place(job);
    if (UNLIKELY(job->tray))
        job->rt->jobs.over(job->rt, job);
    if (UNLIKELY(atomic_load_explicit(&job->beat, memory_order_relaxed)))
        details_free(job);
    arena_deinit(&job->mem);
    free(job->result);
    free(job);
}

/* It begins with what an earlier attempt left; false: not now. */
static bool resume(pawl_runtime *rt, struct job *job)
{
    pawl_str details;
    return details_read(rt, job->work.id, &job->mem, &details) && details_begin(job, details);
}

struct job *job_create(pawl_runtime *rt, const pawl_work *w)
{
    struct job *job = job_copy(rt, w);
    if (job && UNLIKELY(details_has(rt, w->id)) && !resume(rt, job)) {
        job_free(job);
        return NULL;
    }
    return job;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t job_limit(const struct job *job, int64_t beat_ms, int64_t began_ms)
{
    int64_t at = job->close_by_ms;
    if (job->policy.start_to_close_ms)
        at = earlier(at, began_ms + job->policy.start_to_close_ms);
    if (job->policy.heartbeat_ms && beat_ms + job->policy.heartbeat_ms < at)
        at = beat_ms + job->policy.heartbeat_ms;
    return at;
}

void job_forget(pawl_runtime *rt, struct job *job)
{
    heap_remove(&rt->jobs.limits, &job->limit);
    if (map_get(&rt->jobs.by_id, job->work.id) == job) {
        map_remove(&rt->jobs.by_id, job->work.id);
        *(job->only_waits ? &rt->jobs.waiting : &rt->jobs.backlog) -= 1;
    }
}

void job_undecided(pawl_runtime *rt, struct job *job)
{
    if (job->given_up || map_get(&rt->jobs.by_id, job->work.id) ||
        !map_put(&rt->jobs.by_id, job->work.id, job))
        return;
    *(job->only_waits ? &rt->jobs.waiting : &rt->jobs.backlog) += 1;
}

void job_begins(pawl_runtime *rt, struct job *job)
{
    if (!job->only_waits)
        return;
    job->only_waits = false;
    rt->jobs.waiting--;
    rt->jobs.backlog++;
}

struct job *job_keep(pawl_runtime *rt, const pawl_work *w)
{
    struct job *job = job_create(rt, w);
    if (job && map_put(&rt->jobs.by_id, w->id, job)) {
        job->only_waits = true;
        rt->jobs.waiting++;
        return job;
    }
    job_free(job);
    return NULL;
}

void job_only_waits(pawl_runtime *rt, struct job *job)
{
    if (job->only_waits || rt->jobs.waiting >= WAITING_MAX ||
        map_get(&rt->jobs.by_id, job->work.id) != job)
        return;
    job->only_waits = true;
    rt->jobs.waiting++;
    rt->jobs.backlog--;
}

int64_t job_next_limit(pawl_runtime *rt)
{
    struct heap_node *top = heap_top(&rt->jobs.limits);
    return earlier(top ? top->key : INT64_MAX, details_next(rt));
}

/* When a call that was made at `scheduled_ms` has taken `limit_ms`, by the monotonic
 * clock.  Never more than all of it from now on. */
static int64_t used_up(const pawl_runtime *rt, int64_t scheduled_ms, int64_t limit_ms, int64_t mono)
{
    int64_t left = scheduled_ms + limit_ms - rt->now_ms;
    if (!limit_ms)
        return INT64_MAX;
    return mono + (left < 0 ? 0 : earlier(left, limit_ms));
}

void job_watch(pawl_runtime *rt, struct job *job)
{
    const struct call_policy *p = &job->policy;
    if (!p->start_to_close_ms && !p->heartbeat_ms && !p->schedule_to_close_ms &&
        !p->schedule_to_start_ms)
        return;
    int64_t now = rt_mono(rt), made_ms = job->work.scheduled_ms;
    job->close_by_ms = used_up(rt, made_ms, p->schedule_to_close_ms, now);
    job->start_by_ms = used_up(rt, made_ms, job->work.attempt ? 0 : p->schedule_to_start_ms, now);
    job->limit.key = earlier(job_limit(job, now, now), job->start_by_ms);
    job->limit.tie = ++rt->jobs.tie;
    need_memory(heap_push(&rt->jobs.limits, &job->limit));
}

void jobs_unwatch(pawl_runtime *rt)
{
    heap_deinit(&rt->jobs.limits);
}

void jobs_open(pawl_runtime *rt)
{
    map_init(&rt->jobs.by_id);
    heap_init(&rt->jobs.limits);
    idset_init(&rt->blame.suspects);
    tries_open(&rt->jobs.tries);
    details_init(rt);
}

void jobs_close(pawl_runtime *rt)
{
    map_deinit(&rt->jobs.by_id);
    tries_close(&rt->jobs.tries);
    details_deinit(rt);
    idset_deinit(&rt->blame.suspects);
}
