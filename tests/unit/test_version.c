/* SPDX-License-Identifier: MIT */
/* tests/unit/test_version.c -- semver 2.0: what is a version, and which is newer. */
#include "../harness.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

static const char *const valid[] = {
    "0.0.0",
    "1.2.3",
    "10.20.30",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-0.3.7",
    "1.0.0-x.7.z.92",
    "1.0.0-x-y-z.--",
    "1.0.0--",
    "1.0.0-0A",
    "1.0.0+20130313144700",
    "1.0.0-beta+exp.sha.5114f85",
    "1.0.0+21AF26D3---117B344092BD",
    "1.0.0+001",
    "99999999999999999999999.999999999999999999.99999999999999999",
};

static const char *const invalid[] = {
    "",         "1",          "1.2",       "1.2.3.4",   "01.2.3",         "1.02.3",   "1.2.03",
    "v1.2.3",   "1.2.x",      "1.2.3-",    "1.2.3+",    "1.2.3-a..b",     "1.2.3-.a", "1.2.3-a.",
    "1.2.3-01", "1.2.3-a.00", "1.2.3-a_b", "1.2.3+a+b", "1.2.3+a..b",     " 1.2.3",   "1.2.3 ",
    "-1.2.3",   "1..3",       ".2.3",      "1.2.",      "1.2.3-\xc3\xa4",
};

TEST(versions_are_major_minor_patch_with_words_behind)
{
    pawl_error error;

    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        ck_assert_msg(check_version(pawl_s(valid[i]), &error), "%s", valid[i]);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        ck_assert_msg(!check_version(pawl_s(invalid[i]), &error), "%s", invalid[i]);
        ck_assert_int_eq(error.status, PAWL_INVALID);
        ck_assert(!check_version(pawl_s(invalid[i]), NULL));
    }
    ck_assert(!check_version((pawl_str){0}, &error));
    check_version(pawl_s("1.2"), &error);
    ck_assert_str_eq(error.text,
                     "version \"1.2\" is not major.minor.patch[-pre][+build]; write it like 1.4.0");
}

TEST(versions_end_at_64_bytes)
{
    char text[80] = "1.2.3-";
    pawl_error error;

    memset(text + 6, 'a', 60);
    ck_assert(check_version((pawl_str){text, 64}, &error));
    ck_assert(!check_version((pawl_str){text, 65}, &error));
    ck_assert_int_eq(error.status, PAWL_LIMIT);
    ck_assert_str_eq(error.text, "version has 65 bytes, the limit is 64; shorten it");
}

/* Each is older than the next one. */
static const char *const ordered[] = {
    "0.0.0-0",
    "0.0.0",
    "0.0.1",
    "0.9.0",
    "0.10.0",
    "1.0.0-0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-18446744073709551615",
    "1.0.0-18446744073709551616",
    "1.0.0-340282366920938463463374607431768211456",
    "1.0.0--",
    "1.0.0-0a",
    "1.0.0-A",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.1.1",
    "1.0.0-alpha.beta",
    "1.0.0-alpha-",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "2.0.0",
    "9.0.0",
    "10.0.0",
    "18446744073709551615.0.0",
    "18446744073709551616.0.0",
    "340282366920938463463374607431768211455.0.0",
    "340282366920938463463374607431768211456.0.0",
};

TEST(versions_are_ordered_by_precedence_not_by_text)
{
    int count = sizeof ordered / sizeof *ordered;

    for (int i = 0; i < count; i++) {
        ck_assert_msg(check_version(pawl_s(ordered[i]), NULL), "%s", ordered[i]);
        for (int k = 0; k < count; k++) {
            int order = version_compare(pawl_s(ordered[i]), pawl_s(ordered[k]));
            ck_assert_msg((order > 0) == (i > k) && (order < 0) == (i < k), "%s %s: %d", ordered[i],
                          ordered[k], order);
        }
    }
}

TEST(build_metadata_does_not_count)
{
    static const char *const same[][2] = {
        {"1.0.0",      "1.0.0+a"      },
        {"1.0.0+a",    "1.0.0+b.1"    },
        {"1.0.0-rc+a", "1.0.0-rc"     },
        {"1.0.0-rc+9", "1.0.0-rc+10.-"},
    };

    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(version_compare(pawl_s(same[i][0]), pawl_s(same[i][1])), 0);
        ck_assert_int_eq(version_compare(pawl_s(same[i][1]), pawl_s(same[i][0])), 0);
    }
}
