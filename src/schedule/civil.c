/* SPDX-License-Identifier: MIT */
/*
 * schedule/civil.c -- see civil.h.
 *
 * Years are counted from March, so that the leap day is the last day of its year; an era is 400
 * years, which always have the same number of days.
 */
#include "schedule/civil.h"

#define ERA_DAYS  146097
#define ERA_EPOCH 719468 /* days from 0000-03-01 to 1970-01-01 */

int64_t civil_days(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - ERA_EPOCH;
}

struct civil civil_of_days(int64_t days)
{
    days += ERA_EPOCH;
    int64_t era = floor_div(days, ERA_DAYS), day = days - era * ERA_DAYS;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0: March */
    struct civil c = {.year = year + era * 400,
                      .month = (int)(month < 10 ? month + 3 : month - 9),
                      .day = (int)(of_year - (153 * month + 2) / 5 + 1)};
    c.year += c.month <= 2;
    return c;
}

int civil_weekday(int64_t days)
{
    return (int)(days + 4 - floor_div(days + 4, 7) * 7);
}

int civil_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + leap;
}
