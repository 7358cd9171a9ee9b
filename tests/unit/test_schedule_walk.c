/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_schedule_walk.c -- occurrences against a walk over each minute.
 *
 * The other opinion shares no code with ours: local times are of the C library, a random line is
 * kept as sets and compared minute by minute, and what a gap or a fold is follows from the clock
 * that is seen to jump.  Half of the windows have a change of the clocks in them.
 */
#include "../harness.h"
#include "random.h"
#include "schedule/plan.h"
#include "zones.h"

#include <stdio.h>
#include <string.h>

#define MINUTES  (3 * 1440)
#define PER_ZONE 50 /* windows */
#define LINES    6  /* in each */

/* ---- A random line, as sets and as text -------------------------------------------------- */

struct line {
    bool minutes[60], hours[24], days[32], weekdays[7], last_day;
    bool any_hour, any_day, any_weekday;
    char text[256];
};

/* One field: everything, a step, a list or a range; true when it begins with *. */
static bool random_field(uint64_t *seed, bool *set, int low, int high, char **to)
{
    int span = high - low + 1, a = low + (int)random_below(seed, (uint64_t)span);
    int b = low + (int)random_below(seed, (uint64_t)span), step = 1 + (int)random_below(seed, 9);
    switch (random_below(seed, 5)) {
    case 0:
        for (int n = low; n <= high; n++)
            set[n] = true;
        *to += sprintf(*to, "* ");
        return true;
    case 1:
        for (int n = low; n <= high; n += step)
            set[n] = true;
        *to += sprintf(*to, "*/%d ", step);
        return true;
    case 2:
        set[a] = set[b] = true;
        *to += sprintf(*to, "%d,%d ", a, b);
        return false;
    case 3:
        for (int n = a < b ? a : b; n <= (a < b ? b : a); n += step)
            set[n] = true;
        *to += sprintf(*to, "%d-%d/%d ", a < b ? a : b, a < b ? b : a, step);
        return false;
    default:
        set[a] = true;
        *to += sprintf(*to, "%d ", a);
        return false;
    }
}

static struct line random_line(uint64_t *seed)
{
    struct line l = {0};
    char *to = l.text;
    random_field(seed, l.minutes, 0, 59, &to);
    l.any_hour = random_field(seed, l.hours, 0, random_below(seed, 2) ? 3 : 23, &to);
    if (l.any_hour) { /* what was written must be what is set */
        memset(l.hours, true, sizeof(l.hours));
        to = strchr(l.text, ' ') + 1;
        to += sprintf(to, "* ");
    }
    if (random_below(seed, 8) == 0) {
        l.last_day = true;
        to += sprintf(to, "L ");
    } else if (random_below(seed, 2)) {
        memset(l.days, true, sizeof(l.days));
        l.any_day = true;
        to += sprintf(to, "* ");
    } else {
        l.any_day = random_field(seed, l.days, 1, 31, &to);
    }
    to += sprintf(to, "* ");
    if (random_below(seed, 2)) {
        memset(l.weekdays, true, sizeof(l.weekdays));
        l.any_weekday = true;
        sprintf(to, "*");
    } else {
        l.any_weekday = random_field(seed, l.weekdays, 0, 6, &to);
    }
    return l;
}

/* What clocks and calendar show. */
struct wall {
    int64_t at;
    signed char minute, hour, day, weekday;
    bool last_day;
};

static struct wall wall_of(int64_t at)
{
    time_t t = (time_t)at, tomorrow = t + 86400;
    struct tm tm, next;
    gmtime_r(&t, &tm);
    gmtime_r(&tomorrow, &next);
    return (struct wall){at,
                         (signed char)tm.tm_min,
                         (signed char)tm.tm_hour,
                         (signed char)tm.tm_mday,
                         (signed char)tm.tm_wday,
                         next.tm_mday == 1};
}

static bool names(const struct line *l, const struct wall *w)
{
    if (!l->minutes[w->minute] || !l->hours[w->hour])
        return false;
    bool day = l->days[w->day] || (l->last_day && w->last_day), weekday = l->weekdays[w->weekday];
    return l->any_day || l->any_weekday ? day && weekday : day || weekday;
}

/* ---- A window of minutes ----------------------------------------------------------------- */

static struct wall walls[MINUTES + 1]; /* [0] is the minute before the window */
static bool before[MINUTES + 1];       /* clocks have shown this already */
static bool again[MINUTES + 1];        /* clocks will show this again */
static bool expected[MINUTES + 1];

static void look_at(int64_t start)
{
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (int i = 0; i <= MINUTES; i++) {
        walls[i] = wall_of(zone_wall(start + (i - 1) * 60));
        before[i] = walls[i].at <= most;
        most = walls[i].at > most ? walls[i].at : most;
    }
    for (int i = MINUTES; i >= 0; i--) {
        again[i] = walls[i].at >= least;
        least = walls[i].at < least ? walls[i].at : least;
    }
}

static bool fell_into_gap(const struct line *l, int i)
{
    for (int64_t at = walls[i - 1].at + 60; at < walls[i].at; at += 60) {
        struct wall w = wall_of(at);
        if (names(l, &w))
            return true;
    }
    return false;
}

static bool is_expected(const struct line *l, const pawl_schedule *s, int i)
{
    bool named = names(l, &walls[i]);
    if (l->any_hour)
        return named;
    if (s->gap == PAWL_GAP_SHIFT && fell_into_gap(l, i))
        return true;
    return named && !(s->fold == PAWL_FOLD_FIRST && before[i]) &&
           !(s->fold == PAWL_FOLD_SECOND && again[i]);
}

/* Every minute of the window is an occurrence of ours, or of neither. */
static void compare(const char *zone_name, const struct zone *zone, const struct line *l,
                    int64_t start, uint64_t *seed)
{
    const char *lines[] = {l->text, NULL};
    pawl_schedule s = {.cron = lines,
                       .gap = random_below(seed, 2) ? PAWL_GAP_SKIP : PAWL_GAP_SHIFT,
                       .fold = (pawl_dst_fold)random_below(seed, 3)};
    struct plan plan;
    pawl_error err;
    ck_assert_msg(plan_make(&plan, &s, zone, &err) == PAWL_OK, "%s: %s", l->text, err.text);
    for (int i = 1; i <= MINUTES; i++)
        expected[i] = is_expected(l, &s, i);
    int64_t at = start * 1000 - 1, last = -1;
    for (int i = 1; i <= MINUTES; i++) {
        int64_t minute = (start + (i - 1) * 60) * 1000;
        if (at < minute && (!plan_next(&plan, at, &at) || at >= (start + MINUTES * 60) * 1000))
            at = INT64_MAX / 2;
        must_hold((at == minute) == expected[i], "%s '%s' gap %d fold %d: minute %lld, ours %lld",
                  zone_name, l->text, s.gap, s.fold, (long long)minute / 1000,
                  (long long)at / 1000);
        last = expected[i] ? minute : last;
    }
    int64_t found = -1, end = (start + MINUTES * 60) * 1000 - 1;
    ck_assert_int_eq(plan_last(&plan, start * 1000 - 1, end, &found), last >= 0);
    ck_assert_int_eq(found, last);
}

static int64_t random_start(uint64_t *seed)
{
    int64_t low = date_of(1990, 1, 5), high = date_of(2050, 1, 1);
    int64_t at = low + (int64_t)random_below(seed, (uint64_t)(high - low));
    int64_t change = random_below(seed, 2) ? zone_change(at, at + 400 * INT64_C(86400)) : 0;
    return (change ? change - (int64_t)random_below(seed, 86400) - 86400 : at) / 60 * 60;
}

/* 40 zones × 50 windows × 6 lines: 12,000 cases of 4,320 minutes. */
TEST(y4_occurrences_are_those_of_a_walk_over_each_minute)
{
    uint64_t seed = 20261118;
    ck_assert_int_eq(sizeof(zone_names) / sizeof(*zone_names), 40);
    for (size_t z = 0; z < 40; z++) {
        pawl_mem *mem = pawl_mem_new();
        const struct zone *zone;
        pawl_error err;
        ck_assert_msg(zone_load(zone_names[z], mem, &zone, &err) == PAWL_OK, "%s", err.text);
        zone_use(zone_names[z]);
        for (int w = 0; w < PER_ZONE; w++) {
            int64_t start = random_start(&seed);
            look_at(start);
            for (int k = 0; k < LINES; k++) {
                struct line l = random_line(&seed);
                compare(zone_names[z], zone, &l, start, &seed);
            }
        }
        pawl_mem_free(mem);
    }
}

/* The same of every zone, a day apart, also far away: the reader of the files alone. */
TEST(y9_offsets_are_those_of_the_c_library)
{
    for (size_t z = 0; z < 40; z++) {
        pawl_mem *mem = pawl_mem_new();
        const struct zone *zone;
        pawl_error err;
        ck_assert_msg(zone_load(zone_names[z], mem, &zone, &err) == PAWL_OK, "%s", err.text);
        zone_use(zone_names[z]);
        for (int64_t at = date_of(1972, 1, 10); at < date_of(2200, 1, 1); at += 86400 / 2 + 61) {
            struct segment s = zone_segment(zone, at);
            must_hold(s.start <= at && at < s.end && at + s.offset == zone_wall(at),
                      "%s at %lld: %d", zone_names[z], (long long)at, s.offset);
        }
        for (int64_t at = date_of(2000, 1, 1); (at = zone_change(at, date_of(2040, 1, 1)));) {
            struct segment s = zone_segment(zone, at);
            must_hold(s.start == at, "%s changes at %lld, ours %lld", zone_names[z], (long long)at,
                      (long long)s.start);
        }
        pawl_mem_free(mem);
    }
}
