/* SPDX-License-Identifier: MIT */
/* runtime/core/internal.h -- for the tests and the simulator: die without a trace. */
#ifndef PAWL_RUNTIME_INTERNAL_H
#define PAWL_RUNTIME_INTERNAL_H

#include "pawl/runtime.h"

/* Free the memory of a runtime as a crash would leave the store: nothing is
 * committed, drained or given back.  Not while threads run. */
void runtime_discard(pawl_runtime *rt);

#endif
