/* SPDX-License-Identifier: MIT */
/*
 * runtime/pace.h -- when the engine waits a moment for what is about to come (pace.c).
 * Real threads only: nothing here happens in pawl_runtime_step().
 */
#ifndef PAWL_RUNTIME_PACE_H
#define PAWL_RUNTIME_PACE_H

#include "runtime/runtime.h"

#define PACE_LONG_US 1000 /* a trip that nobody waits for */

void pace_trip(pawl_runtime *rt, int64_t us);   /* a job went to a worker and came back */
void pace_commit(pawl_runtime *rt, int64_t us); /* a commit took so long */
/* Before a pass: let results come that make one commit instead of two. */
void pace_gather(pawl_runtime *rt);
/* Before sleep: true when something came meanwhile. */
bool pace_linger(pawl_runtime *rt);

#endif
