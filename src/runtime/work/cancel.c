/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/cancel.c -- see cancel.h.
 *
 * A thread calls what is queued and ends: an idle runtime has none.  Several may run at a time,
 * so that one callback that blocks does not keep the others waiting.
 */
#include "runtime/work/cancel.h"

#include <string.h>

#define THREADS_MAX 8

/* Called with the lock held; leaves it for the call. */
static void call_first(pawl_runtime *rt)
{
    struct job *job = rt->cancels.first;
    rt->cancels.first = job->next_cancelled;
    job->cancel_state = CANCEL_CALLING;
    job->cancel_caller = pthread_self();
    void (*fn)(void *arg) = job->on_cancel;
    void *arg = job->on_cancel_arg;
    pthread_mutex_unlock(&rt->cancels.lock);
    fn(arg);
    pthread_mutex_lock(&rt->cancels.lock);
    job->cancel_state = CANCEL_NONE;
    pthread_cond_broadcast(&rt->cancels.changed);
}

static void *call_all(void *arg)
{
    pawl_runtime *rt = arg;
    pthread_mutex_lock(&rt->cancels.lock);
    while (rt->cancels.first)
        call_first(rt);
    rt->cancels.threads--;
    pthread_cond_broadcast(&rt->cancels.changed);
    pthread_mutex_unlock(&rt->cancels.lock);
    return NULL;
}

/* Called with the lock held.  Without a thread it stays queued, and the next one tries again: the
 * activity still sees the flag. */
static void spawn(pawl_runtime *rt)
{
    pthread_t thread;
    if (!rt->threaded || rt->cancels.threads >= THREADS_MAX)
        return;
    int rc = pthread_create(&thread, NULL, call_all, rt);
    if (rc == 0) {
        (void)pthread_detach(thread);
        rt->cancels.threads++;
    } else if (!rt->cancels.threads) {
        log_error(&rt->log, "work", "no thread for a callback of a cancelled activity",
                  "why=\"%s\"", strerror(rc));
    }
}

void job_cancel(struct job *job)
{
    pawl_runtime *rt = job->rt;
    pthread_mutex_lock(&rt->cancels.lock);
    atomic_store(&job->cancelled, true);
    if (job->on_cancel && job->cancel_state == CANCEL_NONE) {
        struct job **at = &rt->cancels.first;
        while (*at)
            at = &(*at)->next_cancelled;
        *at = job;
        job->next_cancelled = NULL;
        job->cancel_state = CANCEL_QUEUED;
        spawn(rt);
    }
    pthread_mutex_unlock(&rt->cancels.lock);
}

/* Called with the lock held: nobody else calls, or is about to.  True: this very thread does. */
static bool take_out(pawl_runtime *rt, struct job *job)
{
    for (struct job **at = &rt->cancels.first; *at; at = &(*at)->next_cancelled)
        if (*at == job) {
            *at = job->next_cancelled;
            job->cancel_state = CANCEL_NONE;
            break;
        }
    while (job->cancel_state == CANCEL_CALLING) {
        if (pthread_equal(job->cancel_caller, pthread_self()))
            return true;
        pthread_cond_wait(&rt->cancels.changed, &rt->cancels.lock);
    }
    return false;
}

void cancel_set(struct job *job, void (*fn)(void *arg), void *arg)
{
    pawl_runtime *rt = job->rt;
    pthread_mutex_lock(&rt->cancels.lock);
    bool inside = take_out(rt, job);
    job->on_cancel = fn;
    job->on_cancel_arg = arg;
    bool now = fn && !inside && atomic_load(&job->cancelled);
    pthread_mutex_unlock(&rt->cancels.lock);
    if (now)
        fn(arg);
}

void cancel_forget(struct job *job)
{
    pawl_runtime *rt = job->rt;
    pthread_mutex_lock(&rt->cancels.lock);
    (void)take_out(rt, job);
    job->on_cancel = NULL;
    pthread_mutex_unlock(&rt->cancels.lock);
}

void cancel_run_here(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->cancels.lock);
    while (rt->cancels.first)
        call_first(rt);
    pthread_mutex_unlock(&rt->cancels.lock);
}

void cancel_stop(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->cancels.lock);
    while (rt->cancels.threads)
        pthread_cond_wait(&rt->cancels.changed, &rt->cancels.lock);
    pthread_mutex_unlock(&rt->cancels.lock);
}
