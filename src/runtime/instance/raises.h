/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/raises.h -- the events that a start brings with it. [engine]
 *
 * A client's start may have raises (`letter.raises`).  They are rows of the round that the start is
 * part of, so both happen or none does.  An instance that the start makes, or runs again, has them
 * in its mailbox before its code runs, behind mail that was kept for its id.  One that exists and is
 * used gets them as any raise.  A key that the instance has seen raises nothing; no raise is lost
 * because of another one's key.
 *
 * Invariant: nothing is staged before every key is looked up and there is room for all.
 * Called by begin.c, adopt.c and finish.c.
 */
#ifndef PAWL_RUNTIME_RAISES_H
#define PAWL_RUNTIME_RAISES_H

#include "runtime/core/runtime.h"
#include "runtime/core/verdict.h"

/* Find out which of them an instance that exists has seen by their keys.  OK, CORRUPT, or the store
 * did not answer. */
pawl_status raises_look(pawl_runtime *rt, const struct resident *r, struct letter *l);
/* Is there one that it has not seen? */
bool raises_any(const struct letter *l);
/* Put them into the mailbox of what this stage makes or runs again.  False: no memory. */
bool raises_add(pawl_runtime *rt, struct resident *r, struct stage *s, struct letter *l);
/* The start uses an instance that exists, which gets them. */
struct delivered raises_use(pawl_runtime *rt, struct resident *r, struct letter *l);

#endif
