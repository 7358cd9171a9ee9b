/* SPDX-License-Identifier: MIT */
/*
 * schedule/cron.h -- one cron line: five fields, or six with seconds first.
 *
 * A line is sets of numbers, as bits, so that the next match is found field by field, from the
 * month down to the second, without a walk over minutes.  Local times are seconds since
 * 1970-01-01T00:00:00 on the clock of the zone.
 */
#ifndef PAWL_SCHEDULE_CRON_H
#define PAWL_SCHEDULE_CRON_H

#include "pawl/types.h"

struct cron_line {
    uint64_t seconds, minutes, hours, days, months, weekdays; /* bit n: n is in the set */
    bool last_day;                                            /* L */
    bool any_day, any_weekday; /* begins with *: both must fit; else one is enough */
    bool any_hour;             /* begins with *: counts instants, not times on the wall */
};

/* False, with one line that says what is wrong with `text` and what to write instead.  The
 * status is PAWL_LIMIT when no day of any year fits. */
bool cron_parse(struct cron_line *ret, const char *text, pawl_error *reterr);
/* The first match that is not before `from` and is before `to`. */
bool cron_next(const struct cron_line *line, int64_t from, int64_t to, int64_t *ret);
bool cron_matches_day(const struct cron_line *line, int64_t day); /* since 1970; months too */

#endif
