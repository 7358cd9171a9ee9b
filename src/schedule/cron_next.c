/* SPDX-License-Identifier: MIT */
/*
 * schedule/cron_next.c -- the next local time that a line names.
 *
 * Fields are walked from the largest: months that are not in the set are left out as a whole, then
 * days, then the time of day is put together from the next bit of each set.
 */
#include "schedule/civil.h"
#include "schedule/cron.h"

static bool fits_day(const struct cron_line *l, const struct civil *c, int64_t day)
{
    bool by_day =
        (l->days >> c->day & 1) || (l->last_day && c->day == civil_month_days(c->year, c->month));
    bool by_weekday = l->weekdays >> civil_weekday(day) & 1;
    return l->any_day || l->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

bool cron_matches_day(const struct cron_line *l, int64_t day)
{
    struct civil c = civil_of_days(day);
    return (l->months >> c.month & 1) && fits_day(l, &c, day);
}

/* The first day from `day` on that fits and is before `end`; `end` when there is none. */
static int64_t next_day(const struct cron_line *l, int64_t day, int64_t end)
{
    while (day < end) {
        struct civil c = civil_of_days(day);
        int64_t next_month = day + civil_month_days(c.year, c.month) - c.day + 1;
        if (!(l->months >> c.month & 1)) {
            day = next_month;
            continue;
        }
        for (; day < next_month && day < end; day++, c.day++)
            if (fits_day(l, &c, day))
                return day;
    }
    return end;
}

/* The smallest member that is not below n; -1: none. */
static int next_bit(uint64_t set, int n)
{
    uint64_t rest = n > 63 ? 0 : set >> n;
    return rest ? n + __builtin_ctzll(rest) : -1;
}

/* The first second of a day from `from` on; false when the day has no more. */
static bool next_time(const struct cron_line *l, int from, int *ret)
{
    int h = from / 3600, m = from / 60 % 60, s = from % 60;
    int hour = next_bit(l->hours, h);
    if (hour != h)
        m = s = 0;
    int minute = next_bit(l->minutes, m);
    if (minute != m)
        s = 0;
    int second = next_bit(l->seconds, s);
    if (hour >= 0 && minute >= 0 && second < 0) { /* not in this minute */
        minute = next_bit(l->minutes, minute + 1);
        second = next_bit(l->seconds, 0);
    }
    if (hour >= 0 && minute < 0) { /* not in this hour */
        hour = next_bit(l->hours, hour + 1);
        minute = next_bit(l->minutes, 0);
        second = next_bit(l->seconds, 0);
    }
    *ret = hour * 3600 + minute * 60 + second;
    return hour >= 0;
}

bool cron_next(const struct cron_line *l, int64_t from, int64_t to, int64_t *ret)
{
    if (from >= to)
        return false;
    int64_t today = floor_div(from, DAY_SECONDS), end = floor_div(to - 1, DAY_SECONDS) + 1;
    int64_t day = next_day(l, today, end);
    int time = day == today ? (int)(from - today * DAY_SECONDS) : 0;
    if (day < end && !next_time(l, time, &time)) {
        day = next_day(l, day + 1, end);
        if (!next_time(l, 0, &time))
            return false;
    }
    *ret = day * DAY_SECONDS + time;
    return day < end && *ret < to;
}
