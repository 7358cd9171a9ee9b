/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_schedule.c -- occurrences on the days when clocks change, and every other rule of
 * a schedule's times.
 *
 * The C library says when the clocks of a zone change; lines that name a time in the gap or
 * fold are made from that.
 */
#include "../harness.h"
#include "pawl/schedule.h"
#include "schedule/instant.h"
#include "schedule/plan.h"
#include "zones.h"

#include <stdio.h>
#include <string.h>

static pawl_error err;

#define LINES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static size_t next_of(const pawl_schedule *s, int64_t after_ms, int64_t *to, size_t n)
{
    size_t count = 0;
    ck_assert_msg(pawl_schedule_next(s, after_ms, to, n, &count, &err) == PAWL_OK, "%s", err.text);
    return count;
}

/* ---- When clocks change ---------------------------------------------------------------- */

struct change {
    int64_t at;           /* when */
    int64_t first, after; /* the wall just before it would be, and is, then */
};

static struct change change_in(const char *zone, int64_t from, int64_t to)
{
    zone_use(zone);
    struct change c = {.at = zone_change(from, to)};
    ck_assert_msg(c.at != 0, "%s has no change there", zone);
    c.first = zone_wall(c.at - 1) + 1;
    c.after = zone_wall(c.at);
    return c;
}

/* A line for one minute of one date on the wall. */
static const char *line_for(int64_t wall)
{
    static char line[64];
    time_t t = (time_t)wall;
    struct tm tm;
    gmtime_r(&t, &tm);
    (void)snprintf(line, sizeof(line), "%d %d %d %d *", tm.tm_min, tm.tm_hour, tm.tm_mday,
                   tm.tm_mon + 1);
    return line;
}

static int64_t first_of(const char *zone, const char *line, pawl_dst_gap gap, pawl_dst_fold fold,
                        int64_t after)
{
    int64_t at = 0;
    const pawl_schedule s = {
        .size = sizeof(s), .cron = LINES(line), .zone = zone, .gap = gap, .fold = fold};
    ck_assert_uint_eq(next_of(&s, after * 1000, &at, 1), 1);
    ck_assert_int_eq(at % 1000, 0);
    return at / 1000;
}

static void check_gap(const char *zone, int64_t from, int64_t to)
{
    struct change c = change_in(zone, from, to);
    ck_assert_msg(c.after > c.first, "%s: clocks went back", zone);
    int64_t yesterday = c.at - 86400;
    for (int64_t wall = c.first; wall < c.after; wall += (c.after - c.first) / 6) {
        const char *line = line_for(wall);
        ck_assert_int_eq(first_of(zone, line, PAWL_GAP_SHIFT, PAWL_FOLD_FIRST, yesterday), c.at);
        ck_assert_int_eq(first_of(zone, line, PAWL_GAP_SHIFT, PAWL_FOLD_SECOND, yesterday), c.at);
        /* not that year: the clock shows it again in another one */
        int64_t skipped = first_of(zone, line, PAWL_GAP_SKIP, PAWL_FOLD_FIRST, yesterday);
        ck_assert_int_gt(skipped, c.at + 300 * 86400);
        ck_assert_str_eq(line_for(zone_wall(skipped)), line);
    }
    /* the minute before the gap and the first one after it are where they are */
    ck_assert_int_eq(
        first_of(zone, line_for(c.first - 60), PAWL_GAP_SHIFT, PAWL_FOLD_FIRST, yesterday),
        c.at - 60);
    ck_assert_int_eq(first_of(zone, line_for(c.after), PAWL_GAP_SKIP, PAWL_FOLD_FIRST, yesterday),
                     c.at);
}

static void check_fold(const char *zone, int64_t from, int64_t to)
{
    struct change c = change_in(zone, from, to);
    ck_assert_msg(c.after < c.first, "%s: clocks went forward", zone);
    int64_t yesterday = c.at - 86400, length = c.first - c.after;
    for (int64_t wall = c.after; wall < c.first; wall += length / 6) {
        const char *line = line_for(wall);
        int64_t one = c.at - (c.first - wall), two = c.at + (wall - c.after);
        ck_assert_int_eq(zone_wall(one), wall);
        ck_assert_int_eq(zone_wall(two), wall);
        ck_assert_int_eq(first_of(zone, line, PAWL_GAP_SKIP, PAWL_FOLD_FIRST, yesterday), one);
        ck_assert_int_eq(first_of(zone, line, PAWL_GAP_SHIFT, PAWL_FOLD_SECOND, yesterday), two);
        ck_assert_int_eq(first_of(zone, line, PAWL_GAP_SHIFT, PAWL_FOLD_BOTH, yesterday), one);
        ck_assert_int_eq(first_of(zone, line, PAWL_GAP_SHIFT, PAWL_FOLD_BOTH, one), two);
        ck_assert_int_gt(first_of(zone, line, PAWL_GAP_SHIFT, PAWL_FOLD_FIRST, one), two + 86400);
    }
    for (int fold = PAWL_FOLD_FIRST; fold <= PAWL_FOLD_BOTH; fold++) {
        ck_assert_int_eq(
            first_of(zone, line_for(c.after - 60), PAWL_GAP_SHIFT, (pawl_dst_fold)fold, yesterday),
            c.at - length - 60);
        ck_assert_int_eq(
            first_of(zone, line_for(c.first), PAWL_GAP_SHIFT, (pawl_dst_fold)fold, yesterday),
            c.at + length);
    }
}

TEST(y4_berlin)
{
    check_gap("Europe/Berlin", date_of(2023, 2, 1), date_of(2023, 6, 1));
    check_fold("Europe/Berlin", date_of(2023, 9, 1), date_of(2023, 12, 1));
    check_gap("Europe/Berlin", date_of(2049, 2, 1), date_of(2049, 6, 1)); /* by the rule */
    check_fold("Europe/Berlin", date_of(2049, 9, 1), date_of(2049, 12, 1));
}

TEST(y4_new_york)
{
    check_gap("America/New_York", date_of(2022, 2, 1), date_of(2022, 6, 1));
    check_fold("America/New_York", date_of(2022, 9, 1), date_of(2022, 12, 1));
}

/* Half an hour. */
TEST(y4_lord_howe)
{
    check_fold("Australia/Lord_Howe", date_of(2022, 2, 1), date_of(2022, 6, 1));
    check_gap("Australia/Lord_Howe", date_of(2022, 8, 1), date_of(2022, 12, 1));
}

/* 2011-12-30 does not exist. */
TEST(y4_apia)
{
    struct change c = change_in("Pacific/Apia", date_of(2011, 12, 1), date_of(2012, 1, 20));
    ck_assert_int_eq(c.after - c.first, 86400);
    check_gap("Pacific/Apia", date_of(2011, 12, 1), date_of(2012, 1, 20));
    /* each day at noon: one occurrence for the day that was left out, at the end of it */
    int64_t at[4];
    const pawl_schedule s = {
        .size = sizeof(s), .cron = LINES("0 12 * * *"), .zone = "Pacific/Apia"};
    ck_assert_uint_eq(next_of(&s, (c.at - 86400) * 1000, at, 4), 4);
    ck_assert_int_eq(at[0], (c.at - 12 * 3600) * INT64_C(1000));
    ck_assert_int_eq(at[1], c.at * 1000);
    ck_assert_int_eq(at[2], (c.at + 12 * 3600) * INT64_C(1000));
    ck_assert_int_eq(at[3], at[2] + PAWL_DAYS(1));
}

/* Clocks go back for Ramadan and forward after it. */
TEST(y4_casablanca)
{
    check_fold("Africa/Casablanca", date_of(2022, 3, 1), date_of(2022, 4, 15));
    check_gap("Africa/Casablanca", date_of(2022, 4, 15), date_of(2022, 6, 15));
}

/* However many times of a day fell into the gap: one occurrence. */
TEST(y4_a_gap_is_one_occurrence)
{
    struct change c = change_in("Europe/Berlin", date_of(2023, 2, 1), date_of(2023, 6, 1));
    int64_t at[5];
    const pawl_schedule s = {
        .size = sizeof(s), .cron = LINES("*/10 2 * * *", "0 3 * * *"), .zone = "Europe/Berlin"};
    ck_assert_uint_eq(next_of(&s, (c.at - 12 * 3600) * 1000, at, 5), 5);
    ck_assert_int_eq(at[0], c.at * 1000); /* and 03:00 is the same instant: counted once */
    ck_assert_int_eq(at[1], (c.at + 23 * 3600) * 1000);
    ck_assert_int_eq(at[2], at[1] + PAWL_MINUTES(10));
}

/* The hour begins with *: evenly through both changes. */
TEST(y4_a_line_of_every_hour_counts_instants)
{
    static const char *const zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                        "Pacific/Apia"};
    static const char *const lines[] = {"*/15 * * * *", "*/30 */1 * * *", "0 30 * * * *"};
    static const int64_t steps[] = {900, 1800, 3600};
    for (size_t z = 0; z < 4; z++)
        for (size_t l = 0; l < 3; l++) {
            if (z == 2 && l == 2)
                continue; /* the half hour of Lord Howe is no whole hour */
            static int64_t at[20000];
            const pawl_schedule s = {.size = sizeof(s),
                                     .cron = LINES(lines[l]),
                                     .zone = zones[z],
                                     .fold = PAWL_FOLD_FIRST};
            size_t n = (size_t)(120 * 86400 / steps[l]);
            ck_assert_uint_eq(next_of(&s, date_of(2011, 9, 15) * 1000, at, n), n);
            for (size_t i = 1; i < n; i++)
                must_hold(at[i] - at[i - 1] == steps[l] * 1000, "%s %s: %zu", zones[z], lines[l],
                          i);
        }
}

/* ---- Lines, periods, lists, bounds ------------------------------------------------------- */

TEST(y3_several_lines_are_a_union)
{
    int64_t at[6], day = date_of(2026, 11, 18) * 1000;
    const pawl_schedule s = {.size = sizeof(s),
                             .cron = LINES("0 */6 * * *", "0 12 * * *", "30 7 * * *")};
    ck_assert_uint_eq(next_of(&s, day - 1, at, 6), 6);
    const int64_t hours[] = {0, 6 * 60, 7 * 60 + 30, 12 * 60, 18 * 60, 24 * 60};
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(at[i], day + PAWL_MINUTES(hours[i]));
}

TEST(y3_a_period_counts_from_1970)
{
    int64_t at[2];
    const pawl_schedule s = {.size = sizeof(s), .every_ms = 7000, .offset_ms = 500};
    ck_assert_uint_eq(next_of(&s, 0, at, 2), 2);
    ck_assert_int_eq(at[0], 500);
    ck_assert_int_eq(at[1], 7500);
    (void)next_of(&s, 7499, at, 1);
    ck_assert_int_eq(at[0], 7500);
    (void)next_of(&s, 7500, at, 1);
    ck_assert_int_eq(at[0], 14500);
    (void)next_of(&s, INT64_MIN, at, 1);
    ck_assert_int_eq(at[0], 500);
    ck_assert_uint_eq(next_of(&s, INT64_MAX, at, 1), 0);
    ck_assert_uint_eq(next_of(&s, PAWL_SCHEDULE_END, at, 1), 0);
}

TEST(y3_a_list_is_in_any_order_and_ends)
{
    const int64_t times[] = {5000, 1000, 3000, 1000};
    int64_t at[5];
    const pawl_schedule s = {.size = sizeof(s), .at_ms = times, .at_count = 4};
    ck_assert_uint_eq(next_of(&s, -5, at, 5), 3);
    ck_assert(at[0] == 1000 && at[1] == 3000 && at[2] == 5000);
    ck_assert_uint_eq(next_of(&s, 1000, at, 5), 2);
    ck_assert_uint_eq(next_of(&s, 5000, at, 5), 0);
}

TEST(from_and_until_are_part_of_the_range)
{
    int64_t at[5], day = date_of(2026, 11, 18) * 1000;
    pawl_schedule s = {.size = sizeof(s),
                       .cron = LINES("0 0 * * *"),
                       .from_ms = day,
                       .until_ms = day + PAWL_DAYS(2)};
    ck_assert_uint_eq(next_of(&s, 0, at, 5), 3);
    ck_assert(at[0] == day && at[2] == day + PAWL_DAYS(2));
    s.from_ms++;
    s.until_ms--;
    ck_assert_uint_eq(next_of(&s, 0, at, 5), 1);
    ck_assert_uint_eq(next_of(&s, day + PAWL_DAYS(1), at, 5), 0);
    s.from_ms = s.until_ms = day;
    ck_assert_uint_eq(next_of(&s, 0, at, 5), 1);
    s = (pawl_schedule){.size = sizeof(s), .every_ms = 1000, .from_ms = 2500, .until_ms = 4999};
    ck_assert_uint_eq(next_of(&s, 0, at, 5), 2);
    ck_assert(at[0] == 3000 && at[1] == 4000);
}

TEST(nothing_is_before_1970_or_after_9999)
{
    int64_t at[2];
    const pawl_schedule s = {.size = sizeof(s), .cron = LINES("0 0 1 1 *")};
    ck_assert_uint_eq(next_of(&s, INT64_MIN, at, 1), 1);
    ck_assert_int_eq(at[0], 0);
    ck_assert_uint_eq(next_of(&s, PAWL_SCHEDULE_END - PAWL_DAYS(400), at, 2), 1);
    ck_assert_uint_eq(next_of(&s, PAWL_SCHEDULE_END, at, 2), 0);
    ck_assert_uint_eq(next_of(&s, 0, NULL, 0), 0);
}

TEST(the_last_occurrence_and_how_many_there_are)
{
    static const char *const dense[] = {"* * 9 * * *", NULL}; /* each second of one hour */
    struct plan p;
    int64_t at, day = date_of(2026, 11, 18) * 1000;
    pawl_schedule s = {.size = sizeof(s), .cron = dense};
    ck_assert_int_eq(plan_make(&p, &s, NULL, &err), PAWL_OK);
    ck_assert(plan_last(&p, 0, day + PAWL_HOURS(15), &at));
    ck_assert_int_eq(at, day + PAWL_HOURS(10) - 1000);
    ck_assert(plan_last(&p, 0, day + PAWL_HOURS(9), &at));
    ck_assert_int_eq(at, day + PAWL_HOURS(9));
    ck_assert(plan_last(&p, 0, day + PAWL_HOURS(9) - 1, &at));
    ck_assert_int_eq(at, day - PAWL_HOURS(14) - 1000);
    ck_assert(!plan_last(&p, day, day + PAWL_HOURS(9) - 1, &at));
    ck_assert(!plan_last(&p, day + PAWL_HOURS(9), day + PAWL_HOURS(9), &at));
    ck_assert(!plan_last(&p, 0, INT64_MIN, &at));
    ck_assert_uint_eq(plan_count(&p, day, day + PAWL_DAYS(1), 5000), 3600);
    ck_assert_uint_eq(plan_count(&p, day, day + PAWL_DAYS(1), 100), 100);
    s = (pawl_schedule){.size = sizeof(s), .every_ms = 1000};
    ck_assert_int_eq(plan_make(&p, &s, NULL, &err), PAWL_OK);
    ck_assert_uint_eq(plan_count(&p, day, day + PAWL_DAYS(3650), UINT64_MAX), 86400 * 3650);
    ck_assert_uint_eq(plan_count(&p, day, day, UINT64_MAX), 0);
}

/* ---- What is refused --------------------------------------------------------------------- */

static void is_refused(const pawl_schedule *s, pawl_status status, const char *text)
{
    int64_t at[1];
    size_t n;
    err.text[0] = 0;
    ck_assert_int_eq(pawl_schedule_next(s, 0, at, 1, &n, &err), status);
    ck_assert_msg(strstr(err.text, text), "%s", err.text);
    ck_assert(!strchr(err.text, '\n'));
    ck_assert_int_eq(pawl_schedule_next(s, 0, at, 1, &n, NULL), status);
}

#define REFUSED(status, text, ...) is_refused(PAWL_SCHEDULE(__VA_ARGS__), PAWL_##status, text)

TEST(times_that_are_refused)
{
    static int64_t times[1001];
    const char *lines[18] = {0};
    for (int i = 0; i < 17; i++)
        lines[i] = "0 0 * * *";
    REFUSED(INVALID, "the schedule says no time; give cron, every_ms or at_ms", .name = "x");
    REFUSED(INVALID, "the schedule says no time", .cron = (const char *const[]){NULL});
    REFUSED(INVALID, "has cron and every_ms; give one", .cron = lines, .every_ms = 1000);
    REFUSED(INVALID, "has cron and at_ms; give one", .cron = lines, .at_ms = times, .at_count = 1);
    REFUSED(INVALID, "has every_ms and at_ms; give one", .every_ms = 1000, .at_ms = times,
            .at_count = 1);
    REFUSED(INVALID, "more than 16 cron lines; make a second schedule", .cron = lines);
    lines[16] = NULL;
    (void)next_of(PAWL_SCHEDULE(.cron = lines), 0, times, 1);
    REFUSED(LIMIT, "cron line '30 2 30 2 *' never fires",
            .cron = LINES("0 0 * * *", "30 2 30 2 *"));
    REFUSED(INVALID, "every_ms is 999; give 1000 (one second) to", .every_ms = 999);
    REFUSED(INVALID, "every_ms is -1;", .every_ms = -1);
    REFUSED(INVALID, "every_ms is 3162240000001;", .every_ms = PAWL_SCHEDULE_EVERY_MAX + 1);
    (void)next_of(PAWL_SCHEDULE(.every_ms = PAWL_SCHEDULE_EVERY_MAX), 0, times, 1);
    REFUSED(INVALID, "offset_ms is given without every_ms", .cron = LINES("0 0 * * *"),
            .offset_ms = 1);
    REFUSED(INVALID, "offset_ms is 1000; give 0 to 999", .every_ms = 1000, .offset_ms = 1000);
    REFUSED(INVALID, "offset_ms is -1;", .every_ms = 1000, .offset_ms = -1);
    (void)next_of(PAWL_SCHEDULE(.every_ms = 1000, .offset_ms = 999), 0, times, 1);
    REFUSED(INVALID, "at_ms has 1001 times, the limit is 1000", .at_ms = times, .at_count = 1001);
    (void)next_of(PAWL_SCHEDULE(.at_ms = times, .at_count = 1000), 0, NULL, 0);
    times[0] = -1;
    REFUSED(INVALID, "at_ms has the time -1; give milliseconds since 1970", .at_ms = times,
            .at_count = 1);
    times[0] = PAWL_SCHEDULE_END + 1;
    REFUSED(INVALID, "before the year 10000", .at_ms = times, .at_count = 1);
    REFUSED(INVALID, "from_ms is not a time", .every_ms = 1000, .from_ms = -1);
    REFUSED(INVALID, "until_ms is not a time", .every_ms = 1000, .until_ms = PAWL_SCHEDULE_END + 1);
    REFUSED(INVALID, "until_ms is before from_ms", .every_ms = 1000, .from_ms = 2, .until_ms = 1);
    REFUSED(INVALID, "gap is 2;", .every_ms = 1000, .gap = (pawl_dst_gap)2);
    REFUSED(INVALID, "fold is 3;", .every_ms = 1000, .fold = (pawl_dst_fold)3);
    REFUSED(NOT_FOUND, "zone 'Mars/Olympus' is unknown", .every_ms = 1000, .zone = "Mars/Olympus");
    REFUSED(INVALID, "the zone is not a name", .every_ms = 1000, .zone = "../x");
    const struct {
        pawl_schedule s;
        uint64_t newer;
    } longer = {
        {.size = sizeof(longer), .every_ms = 1000},
        1
    };
    is_refused(&longer.s, PAWL_MISUSE, "too old for");
}

/* Half the shortest distance of the next 100. */
TEST(jitter_is_less_than_half_the_shortest_distance)
{
    int64_t at[1];
    (void)next_of(PAWL_SCHEDULE(.every_ms = 2000, .jitter_ms = 999), 0, at, 1);
    REFUSED(INVALID,
            "jitter_ms is 1000, but two occurrences are only 2000 ms apart; give less than half",
            .every_ms = 2000, .jitter_ms = 1000);
    (void)next_of(PAWL_SCHEDULE(.every_ms = 2001, .jitter_ms = 1000), 0, at, 1);
    REFUSED(INVALID, "only 2001 ms apart", .every_ms = 2001, .jitter_ms = 1001);
    REFUSED(INVALID, "only 60000 ms apart", .cron = LINES("0 * * * *", "1 5 2 * *"),
            .jitter_ms = 30000);
    REFUSED(INVALID, "jitter_ms is -1;", .every_ms = 2000, .jitter_ms = -1);
    REFUSED(INVALID, "(366 days)", .at_ms = at, .at_count = 1, .jitter_ms = PAWL_DAYS(366) + 1);
    at[0] = 5;
    (void)next_of(PAWL_SCHEDULE(.at_ms = at, .at_count = 1, .jitter_ms = PAWL_DAYS(366)), 0, at, 1);
}

TEST(jitter_is_the_same_for_the_same_occurrence)
{
    unsigned different = 0, halves[2] = {0};
    for (int64_t at = 0; at < 1000; at++) {
        int64_t a = schedule_jitter(pawl_s("nightly"), 5000, at * 60000);
        ck_assert_int_eq(a, schedule_jitter(pawl_s("nightly"), 5000, at * 60000));
        ck_assert(a >= 0 && a < 5000);
        different += a != schedule_jitter(pawl_s("daily"), 5000, at * 60000);
        halves[a < 2500]++;
    }
    ck_assert_uint_gt(different, 900);
    ck_assert(halves[0] > 400 && halves[1] > 400);
    ck_assert_int_eq(schedule_jitter(pawl_s("x"), 0, 5), 0);
    ck_assert_int_eq(schedule_jitter(pawl_s("x"), 1, 5), 0);
}

static void target_is(const char *text, pawl_schedule s)
{
    s.name = s.name ? s.name : "nightly";
    pawl_status status = schedule_check_target(&s, &err);
    ck_assert_int_eq(status == PAWL_OK, text == NULL);
    if (text)
        ck_assert_msg(strstr(err.text, text), "%s", err.text);
}

#define TARGET(text, ...)                                                                          \
    target_is(text, (pawl_schedule){.size = sizeof(pawl_schedule), __VA_ARGS__})

TEST(targets_that_are_refused)
{
    static char large[PAWL_SCHEDULE_INPUT_BYTES + 2], name[260];
    memset(large, '1', sizeof(large));
    memset(name, 'n', sizeof(name) - 1);
    TARGET(NULL, .orchestration = "Report");
    TARGET(NULL, .orchestration = "Report", .version = "1.0.0");
    TARGET(NULL, .queue = "mail", .priority = 5, .input = pawl_s("{}"));
    TARGET("starts nothing; give an orchestration or a queue", .paused = true);
    TARGET("has an orchestration and a queue; give one of them", .orchestration = "R",
           .queue = "q");
    TARGET("version is given, but a queue has none", .queue = "q", .version = "1.0.0");
    TARGET("priority is given, but only a queue has one", .orchestration = "R", .priority = 1);
    TARGET("priority is -1; give 0 or more", .queue = "q", .priority = -1);
    TARGET("orchestration name", .orchestration = "a/b");
    TARGET("is not major.minor.patch", .orchestration = "R", .version = "1");
    TARGET("queue name", .queue = "a/b");
    TARGET("schedule name", .queue = "q", .name = "..");
    TARGET("schedule name", .queue = "q", .name = "");
    TARGET("schedule name", .queue = "q", .name = name);
    name[255] = 0;
    TARGET(NULL, .queue = "q", .name = name);
    TARGET("overlap is 5;", .queue = "q", .overlap = (pawl_overlap)5);
    TARGET("missed is 3;", .queue = "q", .missed = (pawl_missed)3);
    TARGET("queue_max is given, but overlap is not \"queue\"", .queue = "q", .queue_max = 1);
    TARGET(NULL, .queue = "q", .overlap = PAWL_OVERLAP_QUEUE, .queue_max = 1000);
    TARGET("queue_max is 1001, the limit is 1000", .queue = "q", .overlap = PAWL_OVERLAP_QUEUE,
           .queue_max = 1001);
    TARGET("missed_window_ms is -1;", .queue = "q", .missed_window_ms = -1);
    TARGET(NULL, .queue = "q", .input = {large, PAWL_SCHEDULE_INPUT_BYTES});
    TARGET("input has 32769 bytes, the limit is 32768", .queue = "q",
           .input = {large, PAWL_SCHEDULE_INPUT_BYTES + 1});
    TARGET("input is not JSON", .queue = "q", .input = pawl_s("{"));
}

/* ---- As JSON, as text -------------------------------------------------------------------- */

static void goes_through(const char *json)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_schedule s;
    pawl_str back;
    ck_assert_msg(pawl_schedule_from_json(pawl_s(json), mem, &s, &err) == PAWL_OK, "%s", err.text);
    ck_assert_uint_eq(s.size, sizeof(s));
    ck_assert_int_eq(pawl_schedule_to_json(&s, mem, &back, &err), PAWL_OK);
    ck_assert_str_eq(back.ptr, json);
    pawl_mem_free(mem);
}

TEST(a_schedule_goes_through_json)
{
    goes_through("{}");
    goes_through("{\"cron\":[\"0 6 * * "
                 "1-5\",\"@daily\"],\"zone\":\"Europe/Berlin\",\"gap\":\"skip\",\"fold\":"
                 "\"both\",\"from_ms\":1,\"until_ms\":2,\"jitter_ms\":3,\"max_runs\":4,\"overlap\":"
                 "\"queue\","
                 "\"queue_max\":5,\"missed\":\"all\",\"missed_window_ms\":6,\"paused\":true,"
                 "\"pause_on_failure\":true,\"orchestration\":\"Report\",\"version\":\"1.2.3\","
                 "\"input\":{\"a\": "
                 "[1,2]},\"allow_unregistered\":true}");
    goes_through("{\"every_ms\":60000,\"offset_ms\":5,\"fold\":\"second\",\"overlap\":"
                 "\"terminate\",\"missed\":"
                 "\"skip\",\"queue\":\"mail\",\"priority\":9223372036854775807,\"input\":null}");
    goes_through("{\"at_ms\":[5,1,3],\"overlap\":\"cancel\",\"queue\":\"q\"}");
    goes_through("{\"every_ms\":1000,\"overlap\":\"allow\",\"queue_max\":4294967295}");
}

TEST(json_may_be_written_in_other_ways)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_schedule s;
    pawl_str json = pawl_s(
        " {\"cron\": \"0 0 * * *\", \"zone\": null, \"every_ms\": 5e3, \"overlap\":\"skip\"}");
    ck_assert_int_eq(pawl_schedule_from_json(json, mem, &s, &err), PAWL_OK);
    ck_assert_str_eq(s.cron[0], "0 0 * * *");
    ck_assert(!s.cron[1] && !s.zone && s.every_ms == 5000 && s.overlap == PAWL_OVERLAP_SKIP);
    pawl_mem_free(mem);
}

TEST(json_that_is_refused)
{
    static const char *const bad[][2] = {
        {"[]",                                  "must be a JSON object"                                       },
        {"{",                                   "must be a JSON object"                                       },
        {"",                                    "must be a JSON object"                                       },
        {"{\"crn\":\"x\"}",                     "a schedule has no member 'crn'; did you mean 'cron'?"        },
        {"{\"Zebra\":1}",                       "a schedule has no member 'Zebra'; leave it out"              },
        {"{\"name\":\"x\"}",                    "a schedule has no member 'name'"                             },
        {"{\"zone\":\"UTC\",\"zone\":\"UTC\"}", "zone is given twice; give it once"                           },
        {"{\"zone\":5}",                        "zone must be a text"                                         },
        {"{\"zone\":\"a\\u0000b\"}",            "zone has a NUL character"                                    },
        {"{\"cron\":5}",                        "cron must be a text or a list of texts"                      },
        {"{\"cron\":[5]}",                      "a line of cron must be a text"                               },
        {"{\"every_ms\":\"1s\"}",               "every_ms must be a whole number from 0"                      },
        {"{\"every_ms\":1.5}",                  "every_ms must be a whole number from 0"                      },
        {"{\"every_ms\":-1}",                   "every_ms must be a whole number from 0"                      },
        {"{\"queue_max\":4294967296}",          "queue_max must be a whole number from 0 to 4294967295"       },
        {"{\"at_ms\":5}",                       "at_ms must be a list of milliseconds since 1970"             },
        {"{\"at_ms\":[\"x\"]}",                 "at_ms must be a list of milliseconds since 1970"             },
        {"{\"gap\":\"jump\"}",                  "gap must be one of shift, skip"                              },
        {"{\"fold\":1}",                        "fold must be one of first, second, both"                     },
        {"{\"overlap\":\"\"}",                  "overlap must be one of skip, queue, cancel, terminate, allow"},
        {"{\"missed\":\"none\"}",               "missed must be one of latest, all, skip"                     },
        {"{\"paused\":1}",                      "paused must be true or false"                                },
    };
    pawl_mem *mem = pawl_mem_new();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        pawl_schedule s;
        ck_assert_int_eq(pawl_schedule_from_json(pawl_s(bad[i][0]), mem, &s, &err), PAWL_INVALID);
        ck_assert_msg(strstr(err.text, bad[i][1]), "%s: %s", bad[i][0], err.text);
    }
    char many[4000] = "{\"cron\":[";
    pawl_schedule s;
    for (int i = 0; i < 16; i++)
        strcat(many, "\"@daily\",");
    memcpy(many + strlen(many) - 1, "]}", 3);
    ck_assert_int_eq(pawl_schedule_from_json(pawl_s(many), mem, &s, &err), PAWL_OK);
    memcpy(many + strlen(many) - 2, ",\"@daily\"]}", 12);
    ck_assert_int_eq(pawl_schedule_from_json(pawl_s(many), mem, &s, &err), PAWL_INVALID);
    ck_assert(strstr(err.text, "more than 16 cron lines"));
    pawl_mem_free(mem);
}

TEST(what_cannot_be_json_is_refused)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_str json;
    const pawl_schedule s = {
        .size = sizeof(s), .input = {"{", 1}
    };
    ck_assert_int_eq(pawl_schedule_to_json(&s, mem, &json, &err), PAWL_INVALID);
    const pawl_schedule odd = {.size = sizeof(odd), .overlap = (pawl_overlap)77};
    ck_assert_int_eq(pawl_schedule_to_json(&odd, mem, &json, &err), PAWL_OK);
    ck_assert_str_eq(json.ptr, "{\"overlap\":null}");
    pawl_mem_free(mem);
}

TEST(instants_are_written_in_the_zone)
{
    char text[PAWL_LOCAL_TIME_BYTES];
    int64_t at = date_of(2023, 7, 1) * 1000 + PAWL_MINUTES(90);
    ck_assert_int_eq(pawl_local_time(NULL, at, text, &err), PAWL_OK);
    ck_assert_str_eq(text, "2023-07-01T01:30:00Z");
    ck_assert_int_eq(pawl_local_time("Europe/Berlin", at + 7, text, &err), PAWL_OK);
    ck_assert_str_eq(text, "2023-07-01T03:30:00.007+02:00");
    ck_assert_int_eq(pawl_local_time("America/St_Johns", at, text, &err), PAWL_OK);
    ck_assert_str_eq(text, "2023-06-30T23:00:00-02:30");
    ck_assert_int_eq(pawl_local_time("Asia/Tokyo", PAWL_SCHEDULE_END, text, &err), PAWL_OK);
    ck_assert_str_eq(text, "10000-01-01T08:59:59+09:00");
    ck_assert_int_eq(pawl_local_time("UTC", PAWL_SCHEDULE_END, text, &err), PAWL_OK);
    ck_assert_str_eq(text, "9999-12-31T23:59:59Z");
    ck_assert_int_eq(pawl_local_time("UTC", -1, text, &err), PAWL_INVALID);
    ck_assert_int_eq(pawl_local_time("UTC", PAWL_SCHEDULE_END + 1, text, &err), PAWL_INVALID);
    ck_assert_int_eq(pawl_local_time("No/Where", 0, text, &err), PAWL_NOT_FOUND);
    ck_assert_str_eq(instant_text(text, 1500), "1970-01-01T00:00:01.500Z");
}
