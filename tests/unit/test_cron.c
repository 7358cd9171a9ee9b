/* SPDX-License-Identifier: MIT */
/* tests/unit/test_cron.c -- cron lines: what is accepted, what is refused and with which words. */
#include "../harness.h"
#include "schedule/civil.h"
#include "schedule/cron.h"
#include "zones.h"

#include <stdio.h>
#include <string.h>

static struct cron_line parsed(const char *text)
{
    struct cron_line l;
    pawl_error err = {.text = ""};
    ck_assert_msg(cron_parse(&l, text, &err), "'%s': %s", text, err.text);
    return l;
}

static uint64_t bits(int low, int high, int step)
{
    uint64_t set = 0;
    for (int n = low; n <= high; n += step)
        set |= UINT64_C(1) << n;
    return set;
}

TEST(y3_five_fields_are_minute_hour_day_month_weekday)
{
    struct cron_line l = parsed("30 2 15 6 3");
    ck_assert_uint_eq(l.seconds, 1);
    ck_assert_uint_eq(l.minutes, bits(30, 30, 1));
    ck_assert_uint_eq(l.hours, bits(2, 2, 1));
    ck_assert_uint_eq(l.days, bits(15, 15, 1));
    ck_assert_uint_eq(l.months, bits(6, 6, 1));
    ck_assert_uint_eq(l.weekdays, bits(3, 3, 1));
    ck_assert(!l.any_hour && !l.any_day && !l.any_weekday && !l.last_day);
}

TEST(y3_six_fields_have_seconds_first)
{
    struct cron_line l = parsed("  5-59/20\t* * * * ?  ");
    ck_assert_uint_eq(l.seconds, bits(5, 59, 20));
    ck_assert_uint_eq(l.minutes, bits(0, 59, 1));
    ck_assert_uint_eq(l.hours, bits(0, 23, 1));
    ck_assert_uint_eq(l.days, bits(1, 31, 1));
    ck_assert_uint_eq(l.months, bits(1, 12, 1));
    ck_assert_uint_eq(l.weekdays, bits(0, 6, 1));
    ck_assert(l.any_hour && l.any_day && l.any_weekday);
}

TEST(y3_fields_are_lists_of_values_ranges_and_steps)
{
    static const struct {
        const char *minute;
        int low, high, step;
    } cases[] = {
        {"*",        0,  59, 1 },
        {"?",        0,  59, 1 },
        {"*/15",     0,  59, 15},
        {"*/1",      0,  59, 1 },
        {"*/59",     0,  59, 59},
        {"*/99",     0,  0,  1 },
        {"0",        0,  0,  1 },
        {"59",       59, 59, 1 },
        {"007",      7,  7,  1 },
        {"3-5",      3,  5,  1 },
        {"5-5",      5,  5,  1 },
        {"1-59/2",   1,  59, 2 },
        {"1,2,3",    1,  3,  1 },
        {"1-2,2-4",  1,  4,  1 },
        {"0-1,*/60", 0,  1,  1 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "%s 0 1 1 *", cases[i].minute);
        ck_assert_msg(parsed(text).minutes == bits(cases[i].low, cases[i].high, cases[i].step),
                      "%s", text);
    }
}

TEST(y3_months_and_weekdays_have_names)
{
    ck_assert_uint_eq(parsed("0 0 * jan,FEB,December *").months, bits(1, 2, 1) | bits(12, 12, 1));
    ck_assert_uint_eq(parsed("0 0 * Mar-Sep/2 *").months, bits(3, 9, 2));
    ck_assert_uint_eq(parsed("0 0 * * mon-FRI").weekdays, bits(1, 5, 1));
    ck_assert_uint_eq(parsed("0 0 * * Sunday,wednesday").weekdays, bits(0, 3, 3));
    /* Sunday is 0 and 7. */
    ck_assert_uint_eq(parsed("0 0 * * 7").weekdays & 127, 1);
    ck_assert_uint_eq(parsed("0 0 * * 5-7").weekdays & 127, bits(5, 6, 1) | 1);
    ck_assert_uint_eq(parsed("0 0 * * 0-7").weekdays & 127, 127);
}

TEST(y3_nicknames_are_lines)
{
    static const char *const same[][2] = {
        {"@hourly",   "0 * * * *"},
        {"@daily",    "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@weekly",   "0 0 * * 0"},
        {"@monthly",  "0 0 1 * *"},
        {"@yearly",   "0 0 1 1 *"},
        {"@Annually", "0 0 1 1 *"},
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        struct cron_line a = parsed(same[i][0]), b = parsed(same[i][1]);
        ck_assert_msg(memcmp(&a, &b, sizeof(a)) == 0, "%s", same[i][0]);
    }
}

TEST(y3_the_line_that_is_refused_says_what_to_write)
{
    static const char *const refused[][2] = {
        {"0 0 1 1 * 2027 x",             "has 7 fields; years are not known: leave the last one out"      },
        {"0 0 0 1 1 * 2027",             "has 7 fields; years are not known: leave the last one out"      },
        {"",                             "has 0 fields; write minute hour day month weekday"              },
        {"0 0 1 1",                      "has 4 fields; write minute hour day month weekday"              },
        {"1 2 3 4 5 6 7 8",              "has 8 fields; write minute hour day month weekday"              },
        {"0 0 15W * *",                  "'W' (the nearest weekday) is not known"                         },
        {"0 0 LW * *",                   "'W' (the nearest weekday) is not known"                         },
        {"0 0 * * 1#2",                  "'#' (the n-th weekday) is not known"                            },
        {"0 0 L-3 * *",                  "'L' stands alone for the last day"                              },
        {"0 0 * * 5L",                   "'L' is the last day of the month, in the day field"             },
        {"0 0 * * L",                    "'L' is the last day of the month, in the day field"             },
        {"0 L * * *",                    "hour 'L' is not known; write 0 to 23"                           },
        {"0 22-2 * * *",                 "hour 22-2 wraps around; write 22-23,0-2"                        },
        {"0 0 * nov-feb *",              "month 11-2 wraps around; write 11-12,1-2"                       },
        {"0 0 * * fri-sun",              "weekday 5-0 wraps around; write 5-6,0"                          },
        {"*/0 * * * *",                  "the step '/0' of the minute is not a number from 1"             },
        {"*/ * * * *",                   "the step '/' of the minute is not a number from 1"              },
        {"*/-5 * * * *",                 "the step '/-5' of the minute is not a number from 1"            },
        {"*/5/5 * * * *",                "the step '/5/5' of the minute is not a number from 1"           },
        {"5/15 * * * *",                 "the minute has a step behind one value; write 5-59/…"         },
        {"60 * * * *",                   "minute '60' is not known; write 0 to 59"                        },
        {"* 24 * * *",                   "hour '24' is not known; write 0 to 23"                          },
        {"* * 0 * *",                    "day '0' is not known; write 1 to 31"                            },
        {"* * 32 * *",                   "day '32' is not known; write 1 to 31"                           },
        {"* * * 0 *",                    "month '0' is not known; write 1 to 12 or an English name"       },
        {"* * * 13 *",                   "month '13' is not known; write 1 to 12 or an English name"      },
        {"* * * * 8",                    "weekday '8' is not known; write 0 to 7 or an English name"      },
        {"* * * * mo",                   "weekday 'mo' is not known"                                      },
        {"* * * mond *",                 "month 'mond' is not known"                                      },
        {"* * * * 1-",                   "weekday '' is not known"                                        },
        {"60 * * * * *",                 "second '60' is not known; write 0 to 59"                        },
        {"1,,2 * * * *",                 "the minute has an empty entry; write values between commas"     },
        {", * * * *",                    "the minute has an empty entry; write values between commas"     },
        {"1, * * * *",                   "the minute has an empty entry; write values between commas"     },
        {"-1 * * * *",                   "minute '' is not known"                                         },
        {"1.5 * * * *",                  "minute '1.5' is not known"                                      },
        {"** * * * *",                   "minute '**' is not known"                                       },
        {"*-5 * * * *",                  "minute '*' is not known"                                        },
        {"99999999999999999999 * * * *", "minute '99999999999999999999' is not known"                     },
        {"@reboot",                      "is not known; write @hourly, @daily, @weekly, @monthly, @yearly"},
        {"@daily 5",                     "is not known; write @hourly"                                    },
        {"0 0 * * *\n",                  "a cron line has a byte that is not printable ASCII"             },
        {"0 0 * * \xc3\xa4",             "a cron line has a byte that is not printable ASCII"             },
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct cron_line l;
        pawl_error err = {.text = ""};
        ck_assert_msg(!cron_parse(&l, refused[i][0], &err), "%s", refused[i][0]);
        ck_assert_int_eq(err.status, PAWL_INVALID);
        ck_assert_msg(strstr(err.text, refused[i][1]), "%s: %s", refused[i][0], err.text);
        ck_assert(!strchr(err.text, '\n'));
        ck_assert(!cron_parse(&l, refused[i][0], NULL));
    }
}

TEST(y3_lines_end_at_255_bytes)
{
    char text[300];
    struct cron_line l;
    pawl_error err;
    memset(text, ' ', sizeof(text));
    memcpy(text, "0 0 * * *", 9);
    text[255] = 0;
    ck_assert(cron_parse(&l, text, &err));
    text[255] = ' ';
    text[256] = 0;
    ck_assert(!cron_parse(&l, text, &err));
    ck_assert_str_eq(err.text, "a cron line has 256 bytes, the limit is 255; write several lines");
}

TEST(y3_a_line_that_never_fires_is_refused)
{
    static const char *const never[] = {"30 2 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 ?",
                                        "0 0 30,31 feb *"};
    static const char *const rarely[] = {"0 0 29 2 *", "0 0 30 2 1", "0 0 31 2-3 *", "0 0 L 2 *",
                                         "0 0 30,1 2 *"};
    struct cron_line l;
    pawl_error err;
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
        ck_assert_msg(!cron_parse(&l, never[i], &err), "%s", never[i]);
        ck_assert_int_eq(err.status, PAWL_LIMIT);
        ck_assert(strstr(err.text, "never fires: none of its months has such a day"));
    }
    for (size_t i = 0; i < sizeof(rarely) / sizeof(*rarely); i++)
        (void)parsed(rarely[i]);
}

/* ---- The next one ---------------------------------------------------------------------- */

static int64_t local(int year, int month, int day, int hour, int minute, int second)
{
    return date_of(year, month, day) + hour * 3600 + minute * 60 + second;
}

static int64_t next_of(const char *text, int64_t from)
{
    struct cron_line l = parsed(text);
    int64_t at = -1;
    return cron_next(&l, from, from + INT64_C(28) * 366 * 86400, &at) ? at : -1;
}

TEST(y3_the_next_match_is_found_field_by_field)
{
    int64_t from = local(2026, 11, 18, 1, 15, 30); /* a Wednesday */
    ck_assert_int_eq(next_of("* * * * *", from), local(2026, 11, 18, 1, 16, 0));
    ck_assert_int_eq(next_of("* * * * * *", from), from);
    ck_assert_int_eq(next_of("30 15 1 * * *", from), from);
    ck_assert_int_eq(next_of("29 15 1 * * *", from), local(2026, 11, 19, 1, 15, 29));
    ck_assert_int_eq(next_of("15 1 * * *", from), local(2026, 11, 19, 1, 15, 0));
    ck_assert_int_eq(next_of("10 0 * * *", from), local(2026, 11, 19, 0, 10, 0));
    ck_assert_int_eq(next_of("10 * * * *", from), local(2026, 11, 18, 2, 10, 0));
    ck_assert_int_eq(next_of("59 23 31 12 *", from), local(2026, 12, 31, 23, 59, 0));
    ck_assert_int_eq(next_of("0 0 1 1 *", from), local(2027, 1, 1, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 29 2 *", from), local(2028, 2, 29, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 29 2 *", local(2096, 3, 1, 0, 0, 0)),
                     local(2104, 2, 29, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 L * *", from), local(2026, 11, 30, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 L 2 *", from), local(2027, 2, 28, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 20,L * *", from), local(2026, 11, 20, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 * * mon", from), local(2026, 11, 23, 0, 0, 0));
}

/* Neither begins with *: one is enough.  One begins with *: both must fit. */
TEST(y3_day_and_weekday_together)
{
    int64_t from = local(2026, 11, 18, 0, 0, 0);
    ck_assert_int_eq(next_of("0 0 25 * 5", from), local(2026, 11, 20, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 19 * 5", from), local(2026, 11, 19, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 * * 5", from), local(2026, 11, 20, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 ? * 5", from), local(2026, 11, 20, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 25 * *", from), local(2026, 11, 25, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 */10 * 5", from), local(2026, 12, 11, 0, 0, 0));
    ck_assert_int_eq(next_of("0 0 L * 5", from), local(2026, 11, 20, 0, 0, 0));
}

TEST(y3_the_end_is_not_part_of_the_range)
{
    struct cron_line l = parsed("30 2 * * *");
    int64_t day = local(2026, 11, 18, 0, 0, 0), at, named = day + 2 * 3600 + 1800;
    ck_assert(cron_next(&l, day, named + 1, &at) && at == named);
    ck_assert(cron_next(&l, named, named + 1, &at) && at == named);
    ck_assert(!cron_next(&l, day, named, &at));
    ck_assert(!cron_next(&l, named + 1, named + 86400, &at));
    ck_assert(!cron_next(&l, named, named, &at));
    ck_assert(!cron_next(&l, named, day, &at));
    ck_assert(cron_next(&l, -86400 * 10, 0, &at) && at == -86400 * 10 + 9000);
}

TEST(the_calendar_is_that_of_the_c_library)
{
    for (int64_t day = civil_days(-400, 1, 1); day < civil_days(3000, 1, 1); day += 1) {
        struct civil c = civil_of_days(day);
        time_t t = (time_t)day * 86400;
        struct tm tm;
        gmtime_r(&t, &tm);
        must_hold(c.year == tm.tm_year + 1900 && c.month == tm.tm_mon + 1 && c.day == tm.tm_mday &&
                      civil_days(c.year, c.month, c.day) == day &&
                      civil_weekday(day) == tm.tm_wday &&
                      c.day <= civil_month_days(c.year, c.month),
                  "day %lld", (long long)day);
    }
}
