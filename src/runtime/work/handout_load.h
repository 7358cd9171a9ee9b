/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/handout_load.h -- trays that are found in the store, and what is due by the clock.
 * [engine]
 *
 * After a start: every tray that comes by its turn.  After a new limit: the trays of the activities
 * that it names, whose rows were handed out without a turn before.  Until that is done nothing is
 * handed out.  Called by deal.c and lease.c.
 */
#ifndef PAWL_RUNTIME_HANDOUT_LOAD_H
#define PAWL_RUNTIME_HANDOUT_LOAD_H

#include "runtime/core/runtime.h"

/* Find what there is, and look at the time.  False: the store did not answer. */
bool handout_ready(pawl_runtime *rt);

#endif
