/* SPDX-License-Identifier: MIT */
/*
 * schedule/plan.h -- a schedule that was checked, ready to be asked for its occurrences.
 *
 * plan_make() says what is wrong with a pawl_schedule, or turns it into a plan; plan_next() and
 * plan_last() then need no checks, no files and no memory.  A plan borrows the list of times and
 * the zone.  The runtime makes one when a schedule is stored and when an occurrence is due; the
 * preview makes one per call.
 *
 * Pure: the clock is the caller's, in milliseconds.  Occurrences lie between 1970 and 9999.
 */
#ifndef PAWL_SCHEDULE_PLAN_H
#define PAWL_SCHEDULE_PLAN_H

#include "pawl/schedule.h"
#include "schedule/cron.h"
#include "schedule/zone.h"

#define PLAN_YEARS_MAX 28 /* a cron line without an occurrence for this long has none */

struct plan {
    const struct zone *zone; /* NULL: UTC */
    pawl_dst_gap gap;
    pawl_dst_fold fold;
    struct cron_line lines[PAWL_SCHEDULE_LINES_MAX];
    size_t line_count;
    int64_t every_ms, offset_ms; /* every_ms 0: no period */
    const int64_t *at_ms;
    size_t at_count;
    int64_t from_ms, until_ms; /* until_ms is never 0 */
};

/* Check the times of a schedule (not what it starts) and make its plan.  `zone` is that of
 * s->zone, from zone_load(). */
pawl_status plan_make(struct plan *ret, const pawl_schedule *s, const struct zone *zone,
                      pawl_error *reterr);
/* Jitter must stay below half of the shortest distance of the 100 occurrences after this. */
pawl_status plan_check_jitter(const struct plan *p, int64_t jitter_ms, int64_t after_ms,
                              pawl_error *reterr);
/* What it starts, how, and its name: all that is stored besides the times. */
pawl_status schedule_check_target(const pawl_schedule *s, pawl_error *reterr);

/* The first occurrence after `after_ms`; false: there is none (for cron: in 28 years). */
bool plan_next(const struct plan *p, int64_t after_ms, int64_t *ret);
/* The last occurrence that is after `after_ms` and not after `until_ms`; false: there is none. */
bool plan_last(const struct plan *p, int64_t after_ms, int64_t until_ms, int64_t *ret);
/* How many there are after `after_ms` and not after `until_ms`; at most `most`. */
uint64_t plan_count(const struct plan *p, int64_t after_ms, int64_t until_ms, uint64_t most);

/* How much later than its occurrence a run starts: the same for the same name and occurrence,
 * from 0 to before `jitter_ms`. */
int64_t schedule_jitter(pawl_str name, int64_t jitter_ms, int64_t occurrence_ms);

/* occur.c: the next second that a line names, after `after` and not after `until`. */
bool line_next(const struct plan *p, const struct cron_line *line, int64_t after, int64_t until,
               int64_t *ret);

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
