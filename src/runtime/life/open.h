/* SPDX-License-Identifier: MIT */
/* runtime/life/open.h -- what callers of a runtime ask of it while it is open. */
#ifndef PAWL_RUNTIME_OPEN_H
#define PAWL_RUNTIME_OPEN_H

#include "runtime/core/runtime.h"

/* True when nobody steps for this thread: its blocking calls step by themselves. */
bool runtime_steps_here(pawl_runtime *rt);
/* Can times of the store be compared with those of files?  Not under a clock of the caller's. */
bool runtime_has_real_clock(const pawl_runtime *rt);
/* Threads do not go along with fork(): a child of the process that runs them is told so. */
bool runtime_is_elsewhere(const pawl_runtime *rt, pawl_error *err);
/* One step of a blocking call: -1 dead, 1 go on.  On a clock that only the caller moves, and
 * cannot while it waits: 0 when nothing will happen, and a store in trouble is tried at once. */
int runtime_step_blocked(pawl_runtime *rt);

#endif
