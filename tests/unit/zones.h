/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/zones.h -- what the C library says of a zone: another reader of the same files.
 *
 * Tests ask it when clocks change, so that no expectation is from memory.
 */
#ifndef PAWL_TESTS_ZONES_H
#define PAWL_TESTS_ZONES_H

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static const char *const zone_names[] = {
    "Europe/Berlin",      "America/New_York",    "Australia/Lord_Howe", "Pacific/Apia",
    "Africa/Casablanca",  "Europe/London",       "Europe/Dublin",       "Europe/Lisbon",
    "Europe/Moscow",      "Europe/Istanbul",     "Europe/Kyiv",         "Europe/Chisinau",
    "Asia/Tokyo",         "Asia/Kolkata",        "Asia/Kathmandu",      "Asia/Tehran",
    "Asia/Jerusalem",     "Asia/Gaza",           "Asia/Beirut",         "Asia/Amman",
    "Asia/Pyongyang",     "Asia/Shanghai",       "Africa/Cairo",        "Africa/El_Aaiun",
    "Africa/Windhoek",    "America/Sao_Paulo",   "America/St_Johns",    "America/Caracas",
    "America/Havana",     "America/Santiago",    "America/Asuncion",    "America/Scoresbysund",
    "America/Nuuk",       "America/Los_Angeles", "Antarctica/Troll",    "Antarctica/Casey",
    "Australia/Adelaide", "Australia/Eucla",     "Pacific/Chatham",     "Pacific/Kiritimati",
};

/* An assertion of Check writes to a pipe each time; this one only when it fails. */
#define must_hold(cond, ...)                                                                       \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

static inline void zone_use(const char *name)
{
    ck_assert_int_eq(setenv("TZ", name, 1), 0);
    tzset();
}

/* What clocks show, in seconds since 1970 as if it were UTC. */
static inline int64_t zone_wall(int64_t at)
{
    time_t t = (time_t)at;
    struct tm tm;
    (void)localtime_r(&t, &tm);
    return at + tm.tm_gmtoff;
}

/* The first change of the clocks after `from`; 0 when there is none before `to`. */
static inline int64_t zone_change(int64_t from, int64_t to)
{
    for (; from < to; from += 86400) {
        int64_t low = from, high = from + 86400, offset = zone_wall(low) - low;
        if (zone_wall(high) - high == offset)
            continue;
        while (high - low > 1) {
            int64_t middle = low + (high - low) / 2;
            if (zone_wall(middle) - middle == offset)
                low = middle;
            else
                high = middle;
        }
        return high;
    }
    return 0;
}

/* Seconds of a date in UTC. */
static inline int64_t date_of(int year, int month, int day)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    return (int64_t)timegm(&tm);
}

#endif
