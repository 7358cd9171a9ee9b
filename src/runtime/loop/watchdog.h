/* SPDX-License-Identifier: MIT */
/* runtime/loop/watchdog.h -- notice a turn that never ends. */
#ifndef PAWL_RUNTIME_WATCHDOG_H
#define PAWL_RUNTIME_WATCHDOG_H

#include "runtime/core/runtime.h"

bool watchdog_start(pawl_runtime *rt);
void watchdog_stop(pawl_runtime *rt);
void watchdog_wake(pawl_runtime *rt); /* the engine has something to do */
void watchdog_open(pawl_runtime *rt);

/* The engine goes to sleep: there is nothing to watch. */
static inline void watchdog_rest(pawl_runtime *rt)
{
    atomic_store(&rt->watch.busy, false);
}

/* Is the engine at work?  Any thread. */
static inline bool watchdog_sees_work(const pawl_runtime *rt)
{
    return atomic_load(&rt->watch.busy);
}

#endif
