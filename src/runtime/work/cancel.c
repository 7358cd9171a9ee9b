/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/cancel.c -- see cancel.h.
 *
 * A thread calls what is queued and ends: an idle runtime has none.  Several may run at a time,
 * so that one callback that blocks does not keep the others waiting.
 */
#include "runtime/work/cancel.h"

#include "base/deadline.h"
#include "runtime/core/here.h"

#include <string.h>

#define THREADS_MAX 8

/* Called with the lock held; leaves it for the call. */
static void call_first(pawl_runtime *rt)
{
    struct job *job = rt->workers.cancels.first;
    rt->workers.cancels.first = job->next_cancelled;
    job->cancel_state = CANCEL_CALLING;
    job->cancel_caller = pthread_self();
    void (*fn)(void *arg) = job->on_cancel;
    void *arg = job->on_cancel_arg;
    pthread_mutex_unlock(&rt->workers.cancels.lock);
    fn(arg);
    pthread_mutex_lock(&rt->workers.cancels.lock);
    job->cancel_state = CANCEL_NONE;
    pthread_cond_broadcast(&rt->workers.cancels.changed);
}

static void *call_all(void *arg)
{
    pawl_runtime *rt = arg;
    pthread_mutex_lock(&rt->workers.cancels.lock);
    while (rt->workers.cancels.first)
        call_first(rt);
    rt->workers.cancels.threads--;
    pthread_cond_broadcast(&rt->workers.cancels.changed);
    pthread_mutex_unlock(&rt->workers.cancels.lock);
    return NULL;
}

/* Called with the lock held.  Without a thread it stays queued, and the next one tries again: the
 * activity still sees the flag.  Returns the errno to log without the lock, or 0. */
static int spawn(pawl_runtime *rt)
{
    pthread_t thread;
    if (!here_has_threads(rt) || rt->workers.cancels.threads >= THREADS_MAX)
        return 0;
    int rc = pthread_create(&thread, NULL, call_all, rt);
    if (rc != 0)
        return rt->workers.cancels.threads ? 0 : rc;
    (void)pthread_detach(thread);
    rt->workers.cancels.threads++;
    return 0;
}

void job_cancel(struct job *job)
{
    pawl_runtime *rt = job->rt;
    int why = 0;
    pthread_mutex_lock(&rt->workers.cancels.lock);
    atomic_store(&job->cancelled, true);
    if (job->on_cancel && job->cancel_state == CANCEL_NONE) {
        struct job **at = &rt->workers.cancels.first;
        while (*at)
            at = &(*at)->next_cancelled;
        *at = job;
        job->next_cancelled = NULL;
        job->cancel_state = CANCEL_QUEUED;
        why = spawn(rt);
    }
    pthread_mutex_unlock(&rt->workers.cancels.lock);
    if (UNLIKELY(why))
        log_error(&rt->log, "work", "no thread for a callback of a cancelled activity",
                  "why=\"%s\"", strerror(why));
}

/* Called with the lock held: wait until no other thread is in the callback.  True: this thread is. */
static bool take_out(pawl_runtime *rt, struct job *job)
{
    for (struct job **at = &rt->workers.cancels.first; *at; at = &(*at)->next_cancelled)
        if (*at == job) {
            *at = job->next_cancelled;
            job->cancel_state = CANCEL_NONE;
            break;
        }
    while (job->cancel_state == CANCEL_CALLING) {
        if (pthread_equal(job->cancel_caller, pthread_self()))
            return true;
        pthread_cond_wait(&rt->workers.cancels.changed, &rt->workers.cancels.lock);
    }
    return false;
}

void cancel_set(struct job *job, void (*fn)(void *arg), void *arg)
{
    pawl_runtime *rt = job->rt;
    pthread_mutex_lock(&rt->workers.cancels.lock);
    bool inside = take_out(rt, job);
    if (!job->cancel_used) /* not written again: cancel_forget() reads it without the lock */
        job->cancel_used = true;
    job->on_cancel = fn;
    job->on_cancel_arg = arg;
    bool now = fn && !inside && atomic_load(&job->cancelled);
    pthread_mutex_unlock(&rt->workers.cancels.lock);
    if (now)
        fn(arg);
}

void cancel_forget(struct job *job)
{
    pawl_runtime *rt = job->rt;
    if (!job->cancel_used) /* then it was never queued */
        return;
    pthread_mutex_lock(&rt->workers.cancels.lock);
    (void)take_out(rt, job);
    job->on_cancel = NULL;
    pthread_mutex_unlock(&rt->workers.cancels.lock);
}

void cancel_run_here(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->workers.cancels.lock);
    while (rt->workers.cancels.first)
        call_first(rt);
    pthread_mutex_unlock(&rt->workers.cancels.lock);
}

void cancel_stop(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->workers.cancels.lock);
    while (rt->workers.cancels.threads)
        pthread_cond_wait(&rt->workers.cancels.changed, &rt->workers.cancels.lock);
    pthread_mutex_unlock(&rt->workers.cancels.lock);
}

void cancel_open(pawl_runtime *rt)
{
    pthread_mutex_init(&rt->workers.cancels.lock, NULL);
    deadline_cond_init(&rt->workers.cancels.changed);
}
