/* SPDX-License-Identifier: MIT */
/* runtime/work/deal.c -- see deal.h.  Called by loop.c and group.c. */
#include "runtime/work/deal.h"

#include "base/limits.h"
#include "runtime/core/inbox.h"
#include "runtime/core/tray.h"
#include "runtime/work/handout.h"
#include "runtime/work/handout_load.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/work_limits.h"
#include "runtime/work/worker.h"

#define FLUSH 8 /* jobs that wait for the rest of a look */

/* Classes with trays that threads of this process may have. */
static size_t our_classes(pawl_runtime *rt, struct fair_class ***ret)
{
    size_t n = 0;
    for (struct fair_class *c = rt->hands.handout->fair.ours; c; c = c->next_ready)
        n++;
    *ret = arena_array(&rt->group_mem, struct fair_class *, n + 1);
    n = 0;
    for (struct fair_class *c = rt->hands.handout->fair.ours; c; c = c->next_ready)
        (*ret)[n++] = c;
    return n;
}

/* No thread is free for it now; one that gets free brings its job back, and wakes us. */
static size_t pass_over(struct fair_class **classes, size_t count, const struct fair_class *c)
{
    for (size_t i = 0; i < count; i++)
        if (classes[i] == c)
            classes[i] = classes[--count];
    return count;
}

static void deal(pawl_runtime *rt)
{
    uint32_t ceiling = worker_has_queued(rt) ? LIMIT_PRIORITY_DEFAULT : LIMIT_PRIORITY;
    struct fair_class **classes;
    size_t count = our_classes(rt, &classes);
    uint32_t unflushed = 0;
    struct tray *tray;
    while (count && (tray = handout_pick(rt, classes, count, ceiling))) {
        const struct activity_entry *activity = tray_is_ours(rt, tray->fair.class->name);
        if (!activity || !worker_may(rt, activity, tray->fair.priority, unflushed)) {
            count = pass_over(classes, count, tray->fair.class);
            continue;
        }
        struct job *job = handout_next(rt, tray);
        if (!job)
            continue;
        handout_out(rt, tray, &job->work, false);
        job->priority = tray->fair.priority;
        job->activity = activity; /* it may be younger than the job */
        if (UNLIKELY(limits_bound(tray))) {
            limits_wait(rt, job);
            continue;
        }
        job_begin(rt, job);
        if (++unflushed == FLUSH) {
            worker_flush(rt);
            unflushed = 0;
        }
    }
    worker_flush(rt);
}

void deal_begin(pawl_runtime *rt, struct job *first)
{
    for (struct job *job = first, *next; job; job = next) {
        next = job->next_queued;
        if (job->given_up) /* withdrawn while it waited */
            job_free(job);
        else
            job_begin(rt, job);
    }
}

void deal_look(pawl_runtime *rt)
{
    if (LIKELY(!rt->hands.handout))
        return;
    if (!inbox_stops(rt) && handout_ready(rt)) {
        rt->hands.handout->look = false;
        if (rt->hands.handout->fair.ours) {
            worker_flush(rt);
            deal(rt); /* which may say: look again */
        }
    }
    deal_begin(rt, limits_seal(rt));
}
