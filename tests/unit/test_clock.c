/* SPDX-License-Identifier: MIT */
/* tests/unit/test_clock.c -- the real clocks run. */
#include "../harness.h"
#include "base/clock.h"

#include <time.h>

TEST(the_wall_clock_is_the_time_since_1970)
{
    int64_t seconds = (int64_t)time(NULL);
    int64_t ms = clock_wall_ms();

    ck_assert_int_ge(ms / 1000, seconds);
    ck_assert_int_le(ms / 1000, seconds + 5);
}

TEST(the_monotonic_clock_never_goes_back_and_does_go_on)
{
    int64_t start = clock_mono_us(), before = start;

    while (before < start + 3000) {
        int64_t now = clock_mono_us();
        ck_assert_int_ge(now, before);
        before = now;
    }
    ck_assert_int_ge(clock_mono_ms(), start / 1000 + 3);
    ck_assert_int_le(clock_mono_ms(), clock_mono_us() / 1000);
}
