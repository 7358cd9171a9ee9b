/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/peek_mode.h -- peek-lock mode: the calls of core/peek.h for a weak store. [engine]
 */
#ifndef PAWL_RUNTIME_PEEK_MODE_H
#define PAWL_RUNTIME_PEEK_MODE_H

#include "runtime/core/runtime.h"

/* Choose the mode.  The store is open, and rt->caps says what it can do. */
void peek_open(pawl_runtime *rt);
void peek_close(pawl_runtime *rt);

/* May a round be half done? */
static inline bool peek_lacks_rounds(const pawl_runtime *rt)
{
    return !rt->caps.atomic_rounds;
}

/* Does the store hand out rows before their time?  Then timers are kept in memory. */
static inline bool peek_lacks_delay(const pawl_runtime *rt)
{
    return !rt->caps.delayed_visibility;
}

#endif
