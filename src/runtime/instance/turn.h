/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/turn.h -- one letter, one instance: run it, keep it, or let it wait.
 * [engine]
 */
#ifndef PAWL_RUNTIME_TURN_H
#define PAWL_RUNTIME_TURN_H

#include "runtime/core/verdict.h"

/* Deliver a letter to its instance, or to its queue. */
struct delivered turn_deliver(pawl_runtime *rt, struct letter *l);

/* Crashes counted in `attempt` of a message row; looks at messages without an instance are counted above them. */
#define TURN_LOOKS_SHIFT 16
static inline uint32_t turn_crashes_of(uint32_t attempt)
{
    return attempt & ((1U << TURN_LOOKS_SHIFT) - 1);
}

#endif
