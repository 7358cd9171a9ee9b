/* SPDX-License-Identifier: MIT */
/*
 * base/deadline.h -- how long a thread waits, in the form pthread needs.
 *
 * Everything else here counts milliseconds; pthread_cond_timedwait takes a struct timespec of
 * the clock its condition was made with.  Ours all use the monotonic clock, so a
 * wait does not get longer when the wall clock is set.
 */
#ifndef PAWL_BASE_DEADLINE_H
#define PAWL_BASE_DEADLINE_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* `ms` as a struct timespec: how long, or a time of the clock that it is milliseconds of. */
static inline struct timespec deadline_at(int64_t ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* `ms` from now on the monotonic clock. */
struct timespec deadline_in(int64_t ms);

/* A condition whose waits end by the monotonic clock. */
void deadline_cond_init(pthread_cond_t *cond);

#endif
