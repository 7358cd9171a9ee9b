/* SPDX-License-Identifier: MIT */
/* runtime/work/once.c -- see once.h. */
#include "runtime/work/once.h"

#include "runtime/core/inbox.h"
#include "runtime/core/items.h"
#include "runtime/core/stage.h"
#include "runtime/core/tray.h"
#include "runtime/work/attempt.h"
#include "runtime/work/jobs.h"
#include "runtime/work/share.h"
#include "runtime/work/worker.h"

bool once_is_lost(const struct call_policy *p, const pawl_work *w)
{
    return p->at_most_once && w->lock_token.len;
}

void once_lost(pawl_runtime *rt, const pawl_work *w)
{
    bool here = pawl_str_is(w->lock_token, ONCE_MARK);
    pawl_str name = tray_activity(w->name);
    pawl_str why = pawl_mem_printf(
        &rt->group_mem, "lost: %s while activity '%.*s' ran; at most once: not run again",
        here ? "the process ended" : "the worker's lease ran out", PAWL_FMT(name));
    log_error(&rt->log, "work", "activity lost", "instance=%.*s activity=%.*s why=\"%.*s\"",
              PAWL_FMT(w->instance), PAWL_FMT(name), PAWL_FMT(why));
    attempt_decided(rt, w, PAWL_RESULT_LOST, w->attempt + 1 - w->crashes, why,
                    &(struct attempt_how){.unfused = true});
}

/* Behind all other items in memory; the next pass marks it. */
static void post_here(pawl_runtime *rt, struct job *job, enum job_verdict verdict)
{
    job->verdict = verdict;
    items_add(rt, &job->item);
}

void once_take(pawl_runtime *rt, struct job *job)
{
    struct share *s = job->share = share_of(rt, job);
    if (!s->once_end) { /* the first of its name */
        s->once_end = &s->once_first;
        s->once_next = rt->once.shares;
        rt->once.shares = s;
    }
    job->next_queued = NULL;
    *s->once_end = job;
    s->once_end = &job->next_queued;
    rt->once.waiting++;
    once_look(rt);
}

static struct job *take_first(pawl_runtime *rt, struct share *s)
{
    struct job *job = s->once_first;
    s->once_first = job->next_queued;
    if (!s->once_first)
        s->once_end = &s->once_first;
    rt->once.waiting--;
    return job;
}

static bool is_before(const struct share *a, const struct share *b)
{
    return a->once_out < b->once_out || (a->once_out == b->once_out && a->once_turn < b->once_turn);
}

/* The name whose turn it is; NULL: there is no place.  Places are shared as threads are
 * (share.c): else names whose calls may run twice would pass one that has a crowd before it. */
static struct share *next_share(const pawl_runtime *rt)
{
    struct share *best = NULL;
    bool room = share_has_room(rt, rt->once.out);
    if (rt->once.out >= rt->opts.workers)
        return NULL;
    for (struct share *s = rt->once.shares; s; s = s->once_next)
        if (s->once_first && (room || !s->once_out) && (!best || is_before(s, best)))
            best = s;
    return best;
}

void once_look(pawl_runtime *rt)
{
    struct share *s;
    while (rt->once.waiting && (s = next_share(rt))) {
        struct job *job = take_first(rt, s);
        if (job->given_up) { /* withdrawn while it waited */
            job_free(job);
            continue;
        }
        job->once_out = true;
        rt->once.out++;
        s->once_out++;
        s->once_turn = ++rt->once.turns;
        post_here(rt, job, JOB_BEGINS);
    }
}

void once_item(pawl_runtime *rt, struct job *job)
{
    bool begins = job->verdict == JOB_BEGINS;
    if (begins && worker_is_closing(rt)) {
        job_forget(rt, job);
        job_free(job);
        return;
    }
    if (!begins)
        job_forget(rt, job);
    struct stage *s = stage_bare(rt);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u = (pawl_work_update){.id = job->work.id,
                            .attempt = job->work.attempt,
                            .crashes = job->work.crashes,
                            .visible_ms = job->work.visible_ms,
                            .deadline_ms = job_deadline(&job->policy, job->work.scheduled_ms, true),
                            .last_error = arena_dup(&rt->group_mem, job->work.last_error),
                            .lock_epoch = begins ? rt->fence.epoch : 0,
                            .lock_token = begins ? pawl_s(ONCE_MARK) : (pawl_str){0}};
    s->job = job;
}

void once_committed(pawl_runtime *rt, struct job *job)
{
    if (!job || job->verdict != JOB_BEGINS || job->given_up) {
        job_free(job);
        return;
    }
    job->marked = true;
    if (worker_is_closing(rt))
        post_here(rt, job, JOB_UNBEGUN);
    else
        worker_queue(rt, job);
}

void once_give_back(pawl_runtime *rt)
{
    struct job *job;
    pthread_mutex_lock(&rt->workers.lock);
    while ((job = share_take_marked(rt))) {
        job->verdict = JOB_UNBEGUN;
        (void)inbox_post(rt, &job->item);
    }
    pthread_mutex_unlock(&rt->workers.lock);
}

void once_free(pawl_runtime *rt)
{
    for (struct share *s = rt->once.shares; s; s = s->once_next)
        while (s->once_first)
            job_free(take_first(rt, s));
}
