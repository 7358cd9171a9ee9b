/* SPDX-License-Identifier: MIT */
/* base/deadline.c -- see the header. */
#include "base/deadline.h"

struct timespec deadline_in(int64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

void deadline_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &mono);
    pthread_condattr_destroy(&mono);
}
