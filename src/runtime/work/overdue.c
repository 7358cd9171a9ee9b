/* SPDX-License-Identifier: MIT */
/* runtime/work/overdue.c -- see overdue.h. */
#include "runtime/work/overdue.h"

#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/core/stage.h"
#include "runtime/core/token.h"
#include "runtime/work/attempt.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "store/store.h"

#include <stdio.h>

void overdue_close(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p, bool running)
{
    struct job *job = job_find(rt, w->id);
    struct attempt_how how = lease_how(rt, w);
    if (job)
        how.started_ms = atomic_load(&job->started_ms);
    pawl_str why =
        pawl_mem_printf(&rt->group_mem, "timeout: schedule-to-close of %lld ms%s%.*s",
                        (long long)p->schedule_to_close_ms,
                        w->last_error.len ? "; last error: " : "", PAWL_FMT(w->last_error));
    attempt_decided(rt, w, PAWL_RESULT_SCHEDULE_TO_CLOSE, w->attempt + running - w->crashes, why,
                    &how);
    job_withdraw(rt, w->id);
}

void overdue_start(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p)
{
    pawl_str why =
        pawl_mem_printf(&rt->group_mem, "timeout: schedule-to-start of %lld ms: no worker took it",
                        (long long)p->schedule_to_start_ms);
    attempt_decided(rt, w, PAWL_RESULT_SCHEDULE_TO_START, 0, why, &(struct attempt_how){0});
    job_withdraw(rt, w->id);
}

static void look_at_row(pawl_runtime *rt, const pawl_work *w)
{
    struct job *job = job_find(rt, w->id);
    struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
    bool leased = w->lock_token.len && w->lock_until_ms > rt->now_ms;
    bool running = leased || (job && atomic_load(&job->began_ms));
    bool started = running || w->attempt;
    char text[120];
    if (p.schedule_to_close_ms && rt->now_ms >= w->scheduled_ms + p.schedule_to_close_ms) {
        overdue_close(rt, w, &p, running);
    } else if (!started && !w->lock_token.len && p.schedule_to_start_ms) {
        overdue_start(rt, w, &p);
    } else if (w->lock_token.len && !leased && !job) {
        lease_expired(rt, w, &p);
    } else if (leased) {
        (void)snprintf(text, sizeof(text), "timeout: no result in time");
        int64_t began_ms = token_began(w->lock_token, rt->now_ms - p.start_to_close_ms);
        const struct attempt_how how = lease_how(rt, w);
        bool silent = !p.start_to_close_ms || rt->now_ms < began_ms + p.start_to_close_ms;
        (void)attempt_failed(rt, w, &p, pawl_s(text),
                             silent ? ATTEMPT_HEARTBEAT : ATTEMPT_START_TO_CLOSE, &how);
    } else {
        (void)attempt_move_deadline(rt, w, job_deadline(&p, w->scheduled_ms, true),
                                    job ? rt->fence.epoch : w->lock_epoch);
    }
}

void overdue_look(pawl_runtime *rt)
{
    pawl_work_list list;
    pawl_error err;
    arena_reset(&rt->load_mem);
    if (store_fetch_deadlines(rt->store, rt->now_ms, 256, &rt->load_mem, &list, &err) != PAWL_OK) {
        health_unread(rt, &err);
        return;
    }
    due_deadlines(rt, list.count == 256);
    for (size_t i = 0; i < list.count; i++)
        if (stage_has_work(rt, list.items[i].id))
            due_deadlines(rt, true); /* its result came in time and is on the way: after that */
        else
            look_at_row(rt, &list.items[i]);
}
