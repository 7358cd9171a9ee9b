/* SPDX-License-Identifier: MIT */
/*
 * schedule/civil.h -- the calendar: days since 1970 as year, month and day, and back.
 *
 * The Gregorian calendar for all times, as RFC 3339 has it.  Pure arithmetic; years -9999 to 99999
 * are tested.
 */
#ifndef PAWL_SCHEDULE_CIVIL_H
#define PAWL_SCHEDULE_CIVIL_H

#include <stdint.h>

#define DAY_SECONDS 86400

struct civil {
    int64_t year;
    int month; /* 1..12 */
    int day;   /* 1..31 */
};

int64_t civil_days(int64_t year, int month, int day); /* since 1970-01-01 */
struct civil civil_of_days(int64_t days);
int civil_weekday(int64_t days); /* 0: Sunday */
int civil_month_days(int64_t year, int month);

/* Rounded down, also below zero. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
