/* SPDX-License-Identifier: MIT */
/* tests/unit/test_cli.c -- the pure parts of the command line. */
#include "../harness.h"
#include "base/attr.h"
#include "base/near.h"
#include "cli/bench/histogram.h"
#include "cli/cli.h"
#include "cli/out.h"
#include "view/units.h"

#include <stdlib.h>
#include <string.h>

TEST(times_are_read_with_their_offset)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: none */
    } rows[] = {
        {"1970-01-01T00:00:00Z",      0                     },
        {"1970-01-01T00:00:00.5Z",    500                   },
        {"1970-01-01T00:00:00.1259Z", 125                   },
        {"1970-01-01T01:00:00+01:00", 0                     },
        {"2026-01-31T09:30:00-02:30", INT64_C(1769860800000)},
        {"2024-02-29T00:00:00Z",      INT64_C(1709164800000)},
        {"1769860800000",             INT64_C(1769860800000)},
        {"",                          -1                    },
        {"tomorrow",                  -1                    },
        {"2026-01-31",                -1                    },
        {"2026-01-31T09:30:00",       -1                    },
        {"2026-02-30T09:30:00Z",      -1                    },
        {"2026-01-31T09:30:60Z",      -1                    },
        {"2026-01-31T24:30:00Z",      -1                    },
        {"2026-01-31T09:30:00+1:00",  -1                    },
        {"2026-01-31T09:30:00+24:00", -1                    },
        {"2026-01-31T09:30:00+01:60", -1                    },
        {"2026-01-31T09:30:00Zulu",   -1                    },
        {" 2026-01-31T09:30:00Z",     -1                    },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = -1;
        bool ok = parse_time(rows[i].text, &ms);
        ck_assert_msg(ok == (rows[i].ms >= 0) && (!ok || ms == rows[i].ms), "%s: %lld",
                      rows[i].text, (long long)ms);
    }
}

TEST(durations_need_units_and_add_up)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } rows[] = {
        {"0",                        0                  },
        {"500ms",                    500                },
        {"10s",                      10000              },
        {"1h30m",                    5400000            },
        {"30d",                      INT64_C(2592000000)},
        {"1w",                       604800000          },
        {"",                         -1                 },
        {"10",                       -1                 },
        {"s",                        -1                 },
        {"10x",                      -1                 },
        {"10 s",                     -1                 },
        {"-1s",                      -1                 },
        {"1.5s",                     -1                 },
        {"10sm",                     -1                 },
        {"9223372036854775807ms",    INT64_MAX          },
        {"9223372036854775808ms",    -1                 },
        {"9223372036854775807s",     -1                 },
        {"106751991168d",            -1                 },
        {"9223372036854775807ms1ms", -1                 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ms = -1;
        bool ok = parse_duration(rows[i].text, &ms);
        ck_assert_msg(ok == (rows[i].ms >= 0) && ms == rows[i].ms, "%s", rows[i].text);
    }
}

TEST(sizes_are_powers_of_1024)
{
    static const struct {
        const char *text;
        uint64_t bytes;
        bool ok;
    } rows[] = {
        {"0",         0,                        true },
        {"4096",      4096,                     true },
        {"64K",       65536,                    true },
        {"64k",       65536,                    true },
        {"2M",        2097152,                  true },
        {"2MiB",      2097152,                  true },
        {"2MB",       2097152,                  true },
        {"1G",        1 << 30,                  true },
        {"7B",        7,                        true },
        {"",          0,                        false},
        {"K",         0,                        false},
        {"2Q",        0,                        false},
        {"2M2",       0,                        false},
        {"-1",        0,                        false},
        {"16777216T", 0,                        false},
        {"16777215T", UINT64_C(16777215) << 40, true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t bytes = 0;
        bool ok = parse_size(rows[i].text, &bytes);
        ck_assert_msg(ok == rows[i].ok && bytes == rows[i].bytes, "%s", rows[i].text);
    }
}

TEST(durations_and_times_read_well)
{
    char text[UNITS_BYTES];
    ck_assert_str_eq(format_duration(text, -5), "0 ms");
    ck_assert_str_eq(format_duration(text, 340), "340 ms");
    ck_assert_str_eq(format_duration(text, 2449), "2.4 s");
    ck_assert_str_eq(format_duration(text, 200000), "3m 20s");
    ck_assert_str_eq(format_duration(text, PAWL_HOURS(48) - 1), "47h 59m");
    ck_assert_str_eq(format_duration(text, PAWL_DAYS(30)), "30d 0h");
    ck_assert_str_eq(format_time(text, 0), "1970-01-01T00:00:00.000Z");
    ck_assert_str_eq(format_time(text, -1), "1969-12-31T23:59:59.999Z");
    ck_assert_str_eq(format_time(text, INT64_C(1700000000123)), "2023-11-14T22:13:20.123Z");
    ck_assert(strlen(format_time(text, INT64_MAX)) < UNITS_BYTES);
    ck_assert(strlen(format_duration(text, INT64_MAX)) < UNITS_BYTES);
    ck_assert_str_eq(format_size(text, 1536), "1.5 KiB");
    ck_assert_str_eq(format_size(text, UINT64_MAX), "16.0 EiB");
    ck_assert_str_eq(format_count(text, 999), "999");
    ck_assert_str_eq(format_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(a_percentile_is_within_two_percent)
{
    static struct histogram h;
    ck_assert_int_eq(histogram_at(&h, 50), 0);
    for (int64_t v = 1; v <= 1000000; v++)
        histogram_add(&h, v, 1);
    for (int percent = 1; percent < 100; percent++) {
        double want = 10000.0 * percent, got = (double)histogram_at(&h, percent);
        ck_assert_double_ge(got, want * 0.98);
        ck_assert_double_le(got, want * 1.02);
    }
}

TEST(a_histogram_takes_any_value)
{
    static struct histogram h;
    histogram_add(&h, -1, 1);
    histogram_add(&h, INT64_MAX, 1);
    ck_assert_int_eq(histogram_at(&h, 0), 0);
    ck_assert_int_gt(histogram_at(&h, 99), 1000000);
}

TEST(the_nearest_word_is_suggested_and_a_far_one_is_not)
{
    static const char *const words[] = {"run", "raise", "resume", "retry", "cancel", "terminate"};
    static const struct {
        const char *word, *near;
    } rows[] = {
        {"rnu",                                     "run"      },
        {"riase",                                   "raise"    },
        {"cancle",                                  "cancel"   },
        {"term",                                    "terminate"},
        {"resmue",                                  "resume"   },
        {"xyz",                                     NULL       },
        {"",                                        NULL       },
        {"Cancel",                                  "cancel"   },
        {"RAISE",                                   "raise"    },
        {"frobnicate",                              NULL       },
        {"a-very-long-word-indeed-longer-than-any", NULL       },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *near = nearest_word(rows[i].word, words, COUNT_OF(words));
        ck_assert_msg(near == rows[i].near || (near && rows[i].near && !strcmp(near, rows[i].near)),
                      "%s", rows[i].word);
    }
}

TEST(text_from_outside_cannot_move_the_cursor)
{
    static const struct {
        const char *text, *clean;
    } rows[] = {
        {"plain",        "plain"       },
        {"grüße",      "grüße"     },
        {"a\033[2Jb",    "a\\x1b[2Jb"  },
        {"a\nb\tc\r",    "a\\nb\\tc\\r"},
        {"\xc2\x9b"
         "31m", "\\x9b31m"    },
        {"\xff\xfe",     "??"          },
        {"\xe2\x82",     "??"          },
        {"\x7f",         "\\x7f"       },
    };
    pawl_mem *mem = pawl_mem_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_str_eq(out_clean(mem, pawl_s(rows[i].text)).ptr, rows[i].clean);
    pawl_mem_free(mem);
}

TEST(text_from_outside_cannot_turn_the_direction)
{
    static const char *const unsafe[] = {
        "\x7f",         "\xc2\x80",     "\xc2\x9b",     "\xc2\x9f",     "\xd8\x9c",
        "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa",
        "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\x01",         "\x1f"};
    static const char *const safe[] = {" ",
                                       "~",
                                       "\xc2\xa0",
                                       "\xd8\x9b",
                                       "\xe2\x80\x8d",
                                       "\xe2\x80\xa7",
                                       "\xe2\x80\xaf",
                                       "\xe2\x81\xa5",
                                       "\xe2\x81\xaa",
                                       "\xf0\x9f\x98\x80"};
    pawl_mem *mem = pawl_mem_new();
    for (size_t i = 0; i < COUNT_OF(unsafe); i++) {
        pawl_str clean = out_clean(mem, pawl_s(unsafe[i]));
        ck_assert_msg(clean.ptr[0] == '\\' && clean.len >= 4, "%zu", i);
        for (size_t k = 0; k < clean.len; k++)
            ck_assert(clean.ptr[k] > ' ' && clean.ptr[k] < 0x7f);
    }
    for (size_t i = 0; i < COUNT_OF(safe); i++)
        ck_assert_str_eq(out_clean(mem, pawl_s(safe[i])).ptr, safe[i]);
    ck_assert_str_eq(out_clean(mem, pawl_s("\xe2\x80\xae")).ptr, "\\u202e");
    pawl_mem_free(mem);
}

TEST(cutting_counts_characters_not_bytes)
{
    pawl_mem *mem = pawl_mem_new();
    setenv("LC_ALL", "C.UTF-8", 1);
    ck_assert_str_eq(out_cut(mem, pawl_s("grüße"), 5).ptr, "grüße");
    ck_assert_str_eq(out_cut(mem, pawl_s("grüße"), 4).ptr, "grü…");
    ck_assert_str_eq(out_cut(mem, pawl_s("grüße"), 1).ptr, "…");
    ck_assert_str_eq(out_cut(mem, pawl_s("注文注文"), 8).ptr, "注文注文"); /* two columns each */
    ck_assert_str_eq(out_cut(mem, pawl_s("注文注文"), 7).ptr, "注文注…");
    ck_assert_str_eq(out_cut(mem, pawl_s("注文注文"), 6).ptr, "注文…");
    ck_assert_uint_eq(out_columns(pawl_s("e\u0301")), 1); /* an accent takes none */
    pawl_mem_free(mem);
}
