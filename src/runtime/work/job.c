/* SPDX-License-Identifier: MIT */
/* runtime/work/job.c -- see job.h.  Life of a job; attempt.c decides failed attempts. */
#include "runtime/work/job.h"

#include "runtime/core/health.h"
#include "runtime/core/inbox.h"
#include "runtime/core/stage.h"
#include "runtime/core/timers.h"
#include "runtime/core/tray.h"
#include "runtime/work/attempt.h"
#include "runtime/work/cancel.h"
#include "runtime/work/details.h"
#include "runtime/work/handout.h"
#include "runtime/work/jobs.h"
#include "runtime/work/once.h"
#include "runtime/work/overdue.h"
#include "runtime/work/worker.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG_MAX   8192 /* jobs in memory; more waits in the store */
#define FETCH_AT_ONCE 512

bool job_admit(pawl_runtime *rt, const pawl_work *w)
{
    if (inbox_stops(rt) || w->visible_ms > rt->now_ms || !tray_is_ours(rt, w->name))
        return false;
    if (rt->jobs.store_backlog || rt->jobs.backlog + rt->jobs.admitted_in_group >= BACKLOG_MAX) {
        rt->jobs.store_backlog = true;
        return false;
    }
    rt->jobs.admitted_in_group++;
    return true;
}

/* Queue it, unless its call is decided already. */
static void begin(pawl_runtime *rt, struct job *job)
{
    const pawl_work *w = &job->work;
    if (once_is_lost(&job->policy, w)) {
        job_forget(rt, job);
        once_lost(rt, w);
        job_free(job);
        return;
    }
    if (w->crashes >= attempt_crash_limit(rt, &job->policy)) {
        char text[160];
        (void)snprintf(text, sizeof(text), "poison: activity '%.*s' ended the process %u times",
                       PAWL_FMT(job->work.name), w->crashes);
        attempt_poison(rt, job, text);
        return;
    }
    COUNT(rt, activities_started);
    job_watch(rt, job);
    if (UNLIKELY(job->policy.at_most_once))
        once_take(rt, job);
    else
        worker_queue(rt, job);
}

void job_take(pawl_runtime *rt, const pawl_work *w)
{
    struct job *job = job_create(rt, w);
    if (!job || !map_put(&rt->jobs.by_id, w->id, job)) { /* the row stays; fetched again */
        job_free(job);
        store_abandon_work(rt->store, &w->id, 1);
        rt->jobs.store_backlog = true;
        return;
    }
    rt->jobs.backlog++;
    begin(rt, job);
}

void job_begin(pawl_runtime *rt, struct job *job)
{
    job_begins(rt, job);
    heap_remove(&rt->jobs.limits, &job->limit);
    begin(rt, job);
}

void job_fetch(pawl_runtime *rt)
{
    while (rt->jobs.store_backlog && rt->jobs.backlog < BACKLOG_MAX / 2 && !inbox_stops(rt)) {
        pawl_work_list list;
        pawl_error err;
        const pawl_str *names;
        arena_reset(&rt->load_mem);
        size_t n = tray_ours(rt, &rt->load_mem, &names);
        n = handout_plain(rt, &rt->load_mem, &names, n);
        if (!n) {
            rt->jobs.store_backlog = false;
            return;
        }
        if (store_fetch_work(rt->store, rt->now_ms, names, n, FETCH_AT_ONCE, &rt->load_mem, &list,
                             &err) != PAWL_OK) {
            health_unread(rt, &err);
            return;
        }
        if (list.count < FETCH_AT_ONCE)
            rt->jobs.store_backlog = false;
        for (size_t i = 0; i < list.count; i++)
            if (!timers_put_early_work(rt, &list.items[i]) && !job_find(rt, list.items[i].id))
                job_take(rt, &list.items[i]);
    }
}

void job_drop(pawl_runtime *rt, struct job *job)
{
    job_forget(rt, job);
    job_free(job);
}

/* The activity will be completed by token: the row says so, durably. */
static void lease_out(pawl_runtime *rt, struct job *job)
{
    struct stage *s = stage_bare(rt);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u = (pawl_work_update){.id = job->work.id,
                            .attempt = job->work.attempt,
                            .crashes = job->work.crashes,
                            .deadline_ms = attempt_lease_deadline(&job->policy, &job->work,
                                                                  pawl_s(job->token), rt->now_ms),
                            .last_error = arena_dup(&rt->group_mem, job->work.last_error),
                            .lock_token = arena_dup(&rt->group_mem, pawl_s(job->token)),
                            .lock_until_ms = rt->now_ms + ATTEMPT_LEASE_MS};
    details_put_of(rt, job);
    s->job = job;
}

static enum attempt_end why_of(enum job_verdict verdict)
{
    return verdict == JOB_ERR_FINAL   ? ATTEMPT_FINAL
           : verdict == JOB_TIMED_OUT ? ATTEMPT_START_TO_CLOSE
           : verdict == JOB_SILENT    ? ATTEMPT_HEARTBEAT
                                      : ATTEMPT_ERROR;
}

/* This group changes its row already: its result came by token and is being recorded; or it was
 * not done and is to be free again, which a change that says "taken" must not follow. */
static bool is_being_decided(const pawl_runtime *rt, const struct job *job)
{
    bool matters =
        job->token[0] || job->marked || job->verdict == JOB_SKIPPED || job->verdict == JOB_BEGINS;
    return !job->given_up && matters && stage_has_work(rt, job->work.id);
}

static struct attempt_how how_of(struct job *job)
{
    return (struct attempt_how){.unfused = job->unfused,
                                .started_ms =
                                    atomic_load_explicit(&job->started_ms, memory_order_relaxed)};
}

/* What becomes of the attempt. */
static void decide(pawl_runtime *rt, struct job *job)
{
    if (!job->given_up && (job->verdict == JOB_BEGINS || job->verdict == JOB_UNBEGUN)) {
        once_item(rt, job);
        return;
    }
    job_forget(rt, job);
    if (!job->given_up && job->verdict == JOB_SKIPPED) { /* not done: it is taken again */
        store_abandon_work(rt->store, &job->work.id, 1);
        if (job->tray)
            handout_skipped(rt, job);
        else
            rt->jobs.store_backlog = true;
    }
    if (job->given_up || job->verdict == JOB_SKIPPED) {
        job_free(job);
        return;
    }
    pawl_str result = {job->result ? job->result : "", job->result_len};
    const struct attempt_how how = how_of(job);
    struct stage *s;
    switch (job->verdict) {
    case JOB_OK:
        attempt_completed(rt, &job->work, result, &how);
        job_free(job);
        break;
    case JOB_ERR:
    case JOB_ERR_FINAL:
    case JOB_TIMED_OUT:
    case JOB_SILENT:
        s = attempt_failed(rt, &job->work, &job->policy, result, why_of(job->verdict), &how);
        if (s) {
            details_put_of(rt, job);
            s->job = job; /* until that is committed */
        } else {
            job_free(job);
        }
        break;
    case JOB_PENDING:
        lease_out(rt, job);
        break;
    case JOB_SKIPPED:
    case JOB_AWAY:
    case JOB_BEGINS:
    case JOB_UNBEGUN:
        break;
    }
}

enum verdict_kind job_done(pawl_runtime *rt, struct job *job)
{
    if (is_being_decided(rt, job))
        return VERDICT_FIRST;
    decide(rt, job);
    return VERDICT_DONE;
}

void job_withdraw(pawl_runtime *rt, uint64_t work_id)
{
    struct job *job = job_find(rt, work_id);
    if (!job)
        return;
    if (job->tray && !job->priority) { /* it waits for its turn */
        handout_drop(rt, job);
        return;
    }
    job_forget(rt, job);
    job->given_up = true;
    job_cancel(job); /* the worker hands it back, then it is freed */
    if (rt->jobs.withdrawn)
        rt->jobs.withdrawn(rt, job);
}

/* ---- Limits of a running attempt --------------------------------------------- */

/* The worker still has this attempt; what was decided of it goes on as a job of its own, so that
 * a commit that fails does not forget it. */
static void give_up(pawl_runtime *rt, struct job *job, enum job_verdict timeout, const char *text)
{
    struct job *verdict = job_copy(rt, &job->work);
    char *result = strdup(text);
    const struct attempt_how how = how_of(job);
    job_forget(rt, job);
    job->given_up = true;
    if (verdict && result) {
        verdict->verdict = timeout;
        verdict->unfused = job->unfused;
        details_move(job, verdict);
        atomic_store(&verdict->started_ms, how.started_ms);
        verdict->result = result;
        verdict->result_len = strlen(result);
        decide(rt, verdict);
    } else { /* decided anyway; begun once more if the commit fails too */
        job_free(verdict);
        free(result);
        if (attempt_failed(rt, &job->work, &job->policy, pawl_s(text), why_of(timeout), &how))
            details_put_of(rt, job);
    }
    job_cancel(job);
}

/* When to look at it next.  While it is queued the clock of the attempt stands, that of the call
 * does not. */
static int64_t next_look(const struct job *job, int64_t began, int64_t now)
{
    if (began)
        return job_limit(job, atomic_load(&job->beat_ms), began);
    int64_t at = job->start_by_ms < job->close_by_ms ? job->start_by_ms : job->close_by_ms;
    bool attempt = (job->policy.start_to_close_ms || job->policy.heartbeat_ms) &&
                   (!job->tray || job->priority); /* it waits for its turn: nothing begins soon */
    return attempt && now + 1000 < at ? now + 1000 : at;
}

/* Its call took too long, or waited too long; the clock of the store may have been set back.
 * True: the job may be gone. */
static bool is_overdue(pawl_runtime *rt, struct job *job, int64_t began, int64_t now)
{
    bool waits = !began && now >= job->start_by_ms, closes = now >= job->close_by_ms;
    if (closes)
        overdue_close(rt, &job->work, &job->policy, began != 0);
    else if (waits)
        overdue_start(rt, &job->work, &job->policy);
    return closes || waits;
}

void job_look_limits(pawl_runtime *rt)
{
    int64_t now = rt_mono(rt);
    struct heap_node *top;
    if (UNLIKELY(details_are_due(rt, now)))
        details_look(rt, now);
    while ((top = heap_top(&rt->jobs.limits)) && top->key <= now) {
        struct job *job = CONTAINER_OF(top, struct job, limit);
        heap_remove(&rt->jobs.limits, top);
        int64_t began = atomic_load(&job->began_ms);
        int64_t at = next_look(job, began, now);
        if (at <= now && stage_has_work(rt, job->work.id))
            at = now + 1; /* its result came in time and is on the way */
        if (at > now) {
            top->key = at;
            need_memory(heap_push(&rt->jobs.limits, top));
            continue;
        }
        if (is_overdue(rt, job, began, now))
            continue;
        bool silent = !job->policy.start_to_close_ms || now < began + job->policy.start_to_close_ms;
        char text[120];
        (void)snprintf(
            text, sizeof(text), "timeout: %s of %lld ms", silent ? "heartbeat" : "start-to-close",
            (long long)(silent ? job->policy.heartbeat_ms : job->policy.start_to_close_ms));
        give_up(rt, job, silent ? JOB_SILENT : JOB_TIMED_OUT, text);
    }
}
