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
#include "runtime/core/fault.h"
#include "runtime/core/inbox.h"
#include "runtime/core/slots.h"
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
        RT_POINT(rt, "activity.before");
        back = activity_run(rt, job);
        fault_job(NULL);
        RT_POINT(rt, "activity.after");
        slots_work(rt->slots, index, 0);
    }
    if (back)
        (void)inbox_post(rt, &job->item);
}

static void *worker_main(void *p);

/* Fewer threads are slower.  Without a single one what is queued would lie there for ever: the
 * engine, who is the caller then, tries again. */
static void none_started(pawl_runtime *rt, int why)
{
    if (rt->worker_count || atomic_exchange(&rt->no_workers, true))
        return;
    log_error(&rt->log, "work", "no thread for activities can be started; trying again",
              "why=\"%s\"", strerror(why));
}

/* One more thread, if allowed.  Called with work_lock held. */
static bool spawn_locked(pawl_runtime *rt)
{
    if (!rt->threaded || rt->workers_stop || rt->worker_count >= rt->opts.workers)
        return false;
    struct worker_arg *arg = malloc(sizeof(*arg));
    if (!arg) {
        none_started(rt, ENOMEM);
        return false;
    }
    *arg = (struct worker_arg){rt, rt->worker_count};
    int rc = pthread_create(&rt->workers[rt->worker_count], NULL, worker_main, arg);
    if (rc != 0) {
        free(arg);
        none_started(rt, rc);
        return false;
    }
    rt->worker_count++;
    atomic_store(&rt->no_workers, false);
    return true;
}

/* See to it that somebody takes what is queued.  Called with work_lock held; true:
 * signal work_ready without it, or who is woken meets a lock. */
static bool rouse_locked(pawl_runtime *rt)
{
    if (rt->rousing || !share_may(rt))
        return false;
    rt->rousing = rt->worker_idle || spawn_locked(rt);
    return rt->worker_idle;
}

static void unlock_and_rouse(pawl_runtime *rt)
{
    bool signal = rouse_locked(rt);
    pthread_mutex_unlock(&rt->work_lock);
    if (signal)
        pthread_cond_signal(&rt->work_ready);
}

static void *worker_main(void *p)
{
    struct worker_arg arg = *(struct worker_arg *)p;
    pawl_runtime *rt = arg.rt;
    free(p);
    pthread_mutex_lock(&rt->work_lock);
    rt->rousing = false;
    while (!rt->workers_stop) {
        struct job *job = share_take(rt);
        if (!job) {
            rt->worker_idle++;
            pthread_cond_wait(&rt->work_ready, &rt->work_lock);
            rt->worker_idle--;
            rt->rousing = false;
            continue;
        }
        struct share *share = job->share;
        rt->running++;
        unlock_and_rouse(rt);
        run_job(rt, job, arg.index);
        pthread_mutex_lock(&rt->work_lock);
        share_done(share);
        if (--rt->running == 0 && rt->workers_stop)
            pthread_cond_broadcast(&rt->work_ready);
    }
    pthread_mutex_unlock(&rt->work_lock);
    return NULL;
}

/* One lock and one wake-up for the jobs of a commit; a long hand-out begins before
 * its end. */
void worker_queue(pawl_runtime *rt, struct job *job)
{
    job->next_queued = NULL;
    *rt->handing_end = job;
    rt->handing_end = &job->next_queued;
    if (++rt->handing_count >= HAND_OUT)
        worker_flush(rt);
}

void worker_flush(pawl_runtime *rt)
{
    if (!rt->handing)
        return;
    pthread_mutex_lock(&rt->work_lock);
    for (struct job *job = rt->handing, *next; job; job = next) {
        next = job->next_queued;
        share_add(rt, job);
    }
    rt->handing = NULL;
    rt->handing_end = &rt->handing;
    rt->handing_count = 0;
    unlock_and_rouse(rt);
}

void worker_look(pawl_runtime *rt)
{
    if (!atomic_load_explicit(&rt->no_workers, memory_order_relaxed))
        return;
    pthread_mutex_lock(&rt->work_lock);
    if (!rt->shares_waiting)
        atomic_store(&rt->no_workers, false);
    unlock_and_rouse(rt);
}

int worker_run_here(pawl_runtime *rt, int max)
{
    int n = 0;
    for (; n < max; n++) {
        pthread_mutex_lock(&rt->work_lock);
        struct job *job = share_take(rt);
        struct share *share = job ? job->share : NULL;
        pthread_mutex_unlock(&rt->work_lock);
        if (!job)
            break;
        run_job(rt, job, 0);
        pthread_mutex_lock(&rt->work_lock);
        share_done(share);
        pthread_mutex_unlock(&rt->work_lock);
    }
    return n;
}

bool worker_stop(pawl_runtime *rt, int64_t ms)
{
    struct timespec until = deadline_in(ms);
    pthread_mutex_lock(&rt->work_lock);
    rt->workers_stop = true;
    pthread_cond_broadcast(&rt->work_ready);
    while (rt->running && pthread_cond_timedwait(&rt->work_ready, &rt->work_lock, &until) == 0)
        ;
    bool all = rt->running == 0;
    uint32_t count = rt->worker_count; /* no more are started now */
    pthread_mutex_unlock(&rt->work_lock);
    for (uint32_t i = 0; i < count; i++) /* one that is left behind ends when it can */
        all ? pthread_join(rt->workers[i], NULL) : pthread_detach(rt->workers[i]);
    return all;
}
