/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/worker.c -- threads that run activities.
 *
 * Threads are started when work finds none idle, up to opts.workers, and wait on
 * one condition; an idle runtime has none.  Only one thread is being woken at a
 * time: it takes a job and, if more wait, wakes the next.  So short activities
 * are drained by one or two threads without a wake-up each, and blocking ones
 * have all threads at work within a few wake-ups.  A worker owns a job from the
 * queue until it posts it to the inbox; `cancelled` and the cancel callback are
 * the only things the engine touches meanwhile.
 */
#include "runtime/work/worker.h"

#include "base/deadline.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/slots.h"
#include "runtime/core/user_fault.h"
#include "runtime/work/activity.h"
#include "runtime/work/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HAND_OUT 32 /* jobs that wait for the rest of a commit */

struct worker_arg {
    pawl_runtime *rt;
    uint32_t index;
};

/* Run one attempt and hand the job back to the engine. */
static void run_job(pawl_runtime *rt, struct job *job, uint32_t index)
{
    bool back = true;
    if (atomic_load(&job->cancelled)) {
        job->verdict = JOB_SKIPPED;
    } else {
        slots_work(rt->slots, index, job->work.id);
        fault_job(job);
        job->running = &rt->workers.runs[index];
        RT_POINT(rt, "activity.before");
        back = activity_run(rt, job);
        fault_job(NULL);
        RT_POINT(rt, "activity.after");
        atomic_store_explicit(&rt->workers.runs[index].work_id, 0, memory_order_relaxed);
        slots_work(rt->slots, index, 0);
    }
    if (back)
        (void)inbox_post(rt, &job->item);
}

static void *worker_main(void *p);

/* Fewer threads are slower.  Without a single one, queued jobs would wait for ever: the
 * engine, which is the caller then, tries again.  Called with the lock held; returns what is to be
 * logged without it: an errno, or 0 when that is known already. */
static int none_started(pawl_runtime *rt, int why)
{
    return rt->workers.count || health_set_threadless(rt, true) ? 0 : why;
}

/* One more thread, if allowed.  Called with the lock held; *retwhy: see none_started(). */
static bool spawn_locked(pawl_runtime *rt, int *retwhy)
{
    if (!here_has_threads(rt) || rt->workers.stop || rt->workers.count >= rt->opts.workers)
        return false;
    struct worker_arg *arg = malloc(sizeof(*arg));
    if (!arg) {
        *retwhy = none_started(rt, ENOMEM);
        return false;
    }
    *arg = (struct worker_arg){rt, rt->workers.count};
    int rc = pthread_create(&rt->workers.threads[rt->workers.count], NULL, worker_main, arg);
    if (rc != 0) {
        free(arg);
        *retwhy = none_started(rt, rc);
        return false;
    }
    rt->workers.count++;
    (void)health_set_threadless(rt, false);
    return true;
}

/* Make sure that a thread takes what is queued.  Called with the lock held; true: the caller
 * signals `ready` after it unlocked, so that the woken thread does not meet the lock. */
static bool rouse_locked(pawl_runtime *rt, int *retwhy)
{
    if (rt->workers.waking_worker || !share_may(rt))
        return false;
    rt->workers.waking_worker = rt->workers.idle || spawn_locked(rt, retwhy);
    return rt->workers.idle;
}

static void unlock_and_rouse(pawl_runtime *rt)
{
    int why = 0;
    bool signal = rouse_locked(rt, &why);
    pthread_mutex_unlock(&rt->workers.lock);
    if (signal)
        pthread_cond_signal(&rt->workers.ready);
    if (UNLIKELY(why))
        log_error(&rt->log, "work", "no thread for activities can be started; trying again",
                  "why=\"%s\"", strerror(why));
}

static void *worker_main(void *p)
{
    struct worker_arg arg = *(struct worker_arg *)p;
    pawl_runtime *rt = arg.rt;
    free(p);
    pthread_mutex_lock(&rt->workers.lock);
    rt->workers.waking_worker = false;
    while (!rt->workers.stop) {
        struct job *job = share_take(rt);
        if (!job) {
            rt->workers.idle++;
            pthread_cond_wait(&rt->workers.ready, &rt->workers.lock);
            rt->workers.idle--;
            rt->workers.waking_worker = false;
            continue;
        }
        struct share *share = job->share;
        rt->workers.running++;
        unlock_and_rouse(rt);
        run_job(rt, job, arg.index);
        pthread_mutex_lock(&rt->workers.lock);
        share_done(share);
        if (--rt->workers.running == 0 && rt->workers.stop)
            pthread_cond_broadcast(&rt->workers.ready);
    }
    pthread_mutex_unlock(&rt->workers.lock);
    return NULL;
}

/* One lock and one wake-up for the jobs of a commit; a long hand-out begins before
 * its end. */
void worker_queue(pawl_runtime *rt, struct job *job)
{
    job->next_queued = NULL;
    *rt->workers.handoff_end = job;
    rt->workers.handoff_end = &job->next_queued;
    if (++rt->workers.handoff_count >= HAND_OUT)
        worker_flush(rt);
}

void worker_flush(pawl_runtime *rt)
{
    if (!rt->workers.handoff)
        return;
    pthread_mutex_lock(&rt->workers.lock);
    for (struct job *job = rt->workers.handoff, *next; job; job = next) {
        next = job->next_queued;
        share_add(rt, job);
    }
    rt->workers.handoff = NULL;
    rt->workers.handoff_end = &rt->workers.handoff;
    rt->workers.handoff_count = 0;
    unlock_and_rouse(rt);
}

void worker_look(pawl_runtime *rt)
{
    if (!health_is_threadless(rt))
        return;
    pthread_mutex_lock(&rt->workers.lock);
    if (!rt->shares.waiting && !rt->shares.ahead)
        (void)health_set_threadless(rt, false);
    unlock_and_rouse(rt);
}

int worker_run_here(pawl_runtime *rt, int max)
{
    int n = 0;
    for (; n < max; n++) {
        pthread_mutex_lock(&rt->workers.lock);
        struct job *job = share_take(rt);
        struct share *share = job ? job->share : NULL;
        pthread_mutex_unlock(&rt->workers.lock);
        if (!job)
            break;
        run_job(rt, job, 0);
        pthread_mutex_lock(&rt->workers.lock);
        share_done(share);
        pthread_mutex_unlock(&rt->workers.lock);
    }
    return n;
}

bool worker_stop(pawl_runtime *rt, int64_t ms)
{
    struct timespec until = deadline_in(ms);
    pthread_mutex_lock(&rt->workers.lock);
    rt->workers.stop = true;
    pthread_cond_broadcast(&rt->workers.ready);
    while (rt->workers.running &&
           pthread_cond_timedwait(&rt->workers.ready, &rt->workers.lock, &until) == 0)
        ;
    bool all = rt->workers.running == 0;
    uint32_t count = rt->workers.count; /* no more are started now */
    pthread_mutex_unlock(&rt->workers.lock);
    for (uint32_t i = 0; i < count; i++) /* one that is left behind ends when it can */
        all ? pthread_join(rt->workers.threads[i], NULL) : pthread_detach(rt->workers.threads[i]);
    return all;
}

bool worker_may(pawl_runtime *rt, const struct activity_entry *activity, uint32_t priority,
                uint32_t unflushed)
{
    pthread_mutex_lock(&rt->workers.lock);
    uint32_t running = rt->workers.running, all = rt->opts.workers;
    uint32_t idle = running < all ? all - running : 0,
             ahead = unflushed + share_ahead(rt, priority);
    bool may = share_runs(rt, activity)
                   ? ahead < (idle ? idle : 1) && share_has_room(rt, running + ahead)
                   : idle > unflushed || !ahead;
    pthread_mutex_unlock(&rt->workers.lock);
    return may;
}

bool worker_has_queued(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->workers.lock);
    bool queued = rt->shares.waiting != NULL;
    pthread_mutex_unlock(&rt->workers.lock);
    return queued;
}

struct job *worker_take_back(pawl_runtime *rt, const struct activity_entry *activity)
{
    pthread_mutex_lock(&rt->workers.lock);
    struct job *list = share_take_back(rt, activity);
    pthread_mutex_unlock(&rt->workers.lock);
    return list;
}

uint32_t worker_running(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->workers.lock);
    uint32_t running = rt->workers.running;
    pthread_mutex_unlock(&rt->workers.lock);
    return running;
}

int64_t worker_started(const pawl_runtime *rt, uint64_t work_id)
{
    for (uint32_t i = 0; rt->workers.runs && i < rt->opts.workers; i++) {
        const struct running *r = &rt->workers.runs[i];
        if (atomic_load_explicit(&r->work_id, memory_order_acquire) == work_id)
            return atomic_load_explicit(&r->started_ms, memory_order_relaxed);
    }
    return 0;
}

bool worker_is_closing(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->workers.lock);
    bool closing = rt->workers.stop;
    pthread_mutex_unlock(&rt->workers.lock);
    return closing;
}

bool worker_open(pawl_runtime *rt)
{
    rt->workers.handoff_end = &rt->workers.handoff;
    pthread_mutex_init(&rt->workers.lock, NULL);
    deadline_cond_init(&rt->workers.ready);
    rt->workers.threads = calloc(rt->opts.workers, sizeof(*rt->workers.threads));
    rt->workers.runs = calloc(rt->opts.workers, sizeof(*rt->workers.runs));
    if (rt->workers.threads && rt->workers.runs)
        return true;
    worker_close(rt); /* what is not open is not closed */
    return false;
}

void worker_close(pawl_runtime *rt)
{
    for (uint32_t i = 0; rt->workers.runs && i < rt->opts.workers; i++)
        arena_deinit(&rt->workers.runs[i].spare);
    free(rt->workers.threads);
    free(rt->workers.runs);
    rt->workers.threads = NULL;
    rt->workers.runs = NULL;
}
