/* SPDX-License-Identifier: MIT */
/* base/forks.c -- see forks.h.  The child handler of fork() counts; getpid() would be a system
 * call for every client call. */
#include "base/forks.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
    atomic_fetch_add(&forks, 1);
}

static void begin(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

unsigned forks_behind(void)
{
    (void)pthread_once(&once, begin);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
