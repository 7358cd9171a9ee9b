/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/turn.h -- one letter, one instance: run it, keep it, or let it wait.
 * [engine]
 */
#ifndef PAWL_RUNTIME_TURN_H
#define PAWL_RUNTIME_TURN_H

#include "runtime/core/runtime.h"

/* Deliver a letter to its instance; takes ownership. */
void turn_deliver(pawl_runtime *rt, struct letter *l);
/* Mailbox rows that the turn consumed or threw away. */
void turn_drop_consumed(pawl_runtime *rt, struct resident *r, struct stage *s);
/* Its instance cannot be read: rows stay as they are until the next start. */
void turn_damaged(pawl_runtime *rt, struct letter *l);
/* The store did not answer: stop this group, try again soon. */
void turn_hold(pawl_runtime *rt, struct letter *l);

/* Crashes counted in `attempt` of a message row; looks for nobody are counted above them. */
#define TURN_LOOKS_SHIFT 16
static inline uint32_t turn_crashes_of(uint32_t attempt)
{
    return attempt & ((1U << TURN_LOOKS_SHIFT) - 1);
}

#endif
