/* SPDX-License-Identifier: MIT */
/* runtime/api/waiter.c -- see waiter.h. */
#include "runtime/api/waiter.h"

#include "base/limits.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/instance/updates.h"
#include "runtime/life/run.h"
#include "runtime/loop/refuse.h"
#include "runtime/queue/queue_pass.h"

void waiter_open(struct waiter *w)
{
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->told, NULL);
    w->done = false;
}

void waiter_close(struct waiter *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->told);
}

void waiter_done(struct waiter *w)
{
    pthread_mutex_lock(&w->lock);
    w->done = true;
    pthread_cond_signal(&w->told);
    pthread_mutex_unlock(&w->lock);
}

/* This is the thread that steps the engine: step until answered. */
static bool step_until(struct waiter *w, pawl_runtime *rt, const void *arg, pawl_error *err)
{
    while (!w->done) {
        if (pawl_runtime_step(rt, 0) > 0 || w->done) /* a refusal commits nothing: do not wait */
            continue;
        int more = runtime_step_blocked(rt);
        if (more == 0)
            updates_stop_waiting(rt, arg);
        if (more == 0)
            queue_stop_waiting(rt, arg); /* the clock stands still: the wait would never end */
        if (more >= 0 || w->done)
            continue;
        refuse_all(rt); /* before `w` is gone: no answer may come later */
        error_set(err, health_dead(rt), "the runtime has stopped: %s",
                  pawl_status_text(health_dead(rt)));
        return false;
    }
    return true;
}

bool waiter_wait(struct waiter *w, pawl_runtime *rt, const void *arg, pawl_error *err)
{
    if (here_steps(rt))
        return step_until(w, rt, arg, err);
    pthread_mutex_lock(&w->lock);
    while (!w->done)
        pthread_cond_wait(&w->told, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return true;
}
