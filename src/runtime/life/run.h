/* SPDX-License-Identifier: MIT */
/* runtime/life/run.h -- threads started, or steps made by the caller. */
#ifndef PAWL_RUNTIME_RUN_H
#define PAWL_RUNTIME_RUN_H

#include "runtime/core/runtime.h"

/* One step of a blocking call: -1 dead, 1 go on.  On a clock that only the caller moves, and
 * cannot while it waits: 0 when nothing will happen, and a store in trouble is tried at once. */
int runtime_step_blocked(pawl_runtime *rt);

#endif
