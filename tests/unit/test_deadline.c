/* SPDX-License-Identifier: MIT */
/* tests/unit/test_deadline.c -- milliseconds as pthread takes them. */
#include "../harness.h"
#include "base/deadline.h"

#include <errno.h>
#include <stdbool.h>

static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

static struct timespec later(struct timespec t, int64_t seconds)
{
    t.tv_sec += seconds;
    return t;
}

TEST(milliseconds_are_seconds_and_the_rest)
{
    struct timespec t = deadline_at(12345);

    ck_assert_int_eq(t.tv_sec, 12);
    ck_assert_int_eq(t.tv_nsec, 345000000);
    t = deadline_at(INT64_MAX); /* waited for by nobody, but asked for */
    ck_assert_int_eq(t.tv_sec, INT64_MAX / 1000);
}

/* To the nanosecond: one that is cut to the millisecond ends too early. */
TEST(a_deadline_is_so_long_after_now)
{
    struct timespec before, after;

    for (int i = 0; i < 1000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        struct timespec t = deadline_in(i);
        ck_assert(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
        struct timespec rest = deadline_in(i + 5000);
        clock_gettime(CLOCK_MONOTONIC, &after);
        ck_assert(is_before(later(t, 5), rest));
        ck_assert(is_before(before, t));
        ck_assert(is_before(rest, later(after, 6)));
    }
    clock_gettime(CLOCK_MONOTONIC, &before);
    struct timespec t = deadline_in(3000);
    ck_assert(is_before(later(before, 3), t));
}

/* By the wall clock the deadline would be over long since. */
TEST(a_condition_waits_by_the_monotonic_clock)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    struct timespec before, after, until;

    deadline_cond_init(&cond);
    pthread_mutex_lock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &before);
    until = deadline_in(20);
    int rc;
    do
        rc = pthread_cond_timedwait(&cond, &lock, &until);
    while (rc == 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_int_eq(rc, ETIMEDOUT);
    ck_assert(is_before(until, after));
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&cond);
}
