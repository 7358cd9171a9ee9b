/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/peek_mode.h -- peek-lock mode: the calls of core/peek.h for a weak store. [engine]
 */
#ifndef PAWL_RUNTIME_PEEK_MODE_H
#define PAWL_RUNTIME_PEEK_MODE_H

#include "runtime/core/runtime.h"

/* The store is open and rt->caps says what it has. */
void peek_open(pawl_runtime *rt);
void peek_close(pawl_runtime *rt);

/* A round may be half done. */
static inline bool peek_lacks_rounds(const pawl_runtime *rt)
{
    return !rt->caps.atomic_rounds;
}

/* Rows come before their time, and timers are kept in memory. */
static inline bool peek_lacks_delay(const pawl_runtime *rt)
{
    return !rt->caps.delayed_visibility;
}

#endif
