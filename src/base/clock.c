/* SPDX-License-Identifier: MIT */
/*
 * base/clock.c -- the real clocks.
 *
 * Only the default pawl_env and programs call this; everything else is handed
 * its time, which is how the simulator can make it up.
 */
#include "base/clock.h"

#include "base/attr.h"

#include <time.h>

static struct timespec read_clock(clockid_t id)
{
    struct timespec t;

    /* Fails only for a clock the kernel does not have. */
    assert_that(clock_gettime(id, &t) == 0);
    return t;
}

int64_t clock_wall_ms(void)
{
    struct timespec t = read_clock(CLOCK_REALTIME);

    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

int64_t clock_mono_us(void)
{
    struct timespec t = read_clock(CLOCK_MONOTONIC);

    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_cpu_us(void)
{
    struct timespec t = read_clock(CLOCK_THREAD_CPUTIME_ID);

    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
