/* SPDX-License-Identifier: MIT */
/* runtime/core/figures.c -- see figures.h. */
#include "runtime/core/figures.h"

static const int64_t bounds_ms[PAWL_DELAY_BUCKETS - 1] = {
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000};

int64_t pawl_delay_bound_ms(unsigned bucket)
{
    return bucket < COUNT_OF(bounds_ms) ? bounds_ms[bucket] : INT64_MAX;
}

/* Since when was it ready?  Work that ran when the previous process ended: since recovery.
 * After a lost lease it is not known: 0. */
static int64_t ready_since(const pawl_runtime *rt, const pawl_work *w, bool recovered)
{
    if (w->attempt && !w->visible_ms)
        return recovered ? rt->blame.recovered_ms : 0;
    return w->visible_ms > w->scheduled_ms ? w->visible_ms : w->scheduled_ms;
}

void job_began(pawl_runtime *rt, const pawl_work *w, bool recovered, int64_t now_ms)
{
    int64_t since = ready_since(rt, w, recovered);
    if (!since && w->attempt)
        return;
    int64_t ms = now_ms > since ? now_ms - since : 0;
    unsigned bucket = 0;
    while (ms > pawl_delay_bound_ms(bucket))
        bucket++;
    COUNT(rt, schedule_to_start[bucket]);
    COUNT(rt, schedule_to_start_count);
    COUNT_BY(rt, schedule_to_start_ms, (uint64_t)ms);
}
