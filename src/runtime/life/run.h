/* SPDX-License-Identifier: MIT */
/* runtime/life/run.h -- start the threads of a runtime, or step it on the caller's. */
#ifndef PAWL_RUNTIME_RUN_H
#define PAWL_RUNTIME_RUN_H

#include "runtime/core/runtime.h"

/* One step of a blocking call: -1 dead, 1 go on.  With a clock that
 * the caller moves: 0 when no progress is possible; the back-off of the store is skipped. */
int runtime_step_blocked(pawl_runtime *rt);

#endif
