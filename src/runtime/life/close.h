/* SPDX-License-Identifier: MIT */
/* runtime/life/close.h -- the end of a runtime, and what callers hear of it. */
#ifndef PAWL_RUNTIME_CLOSE_H
#define PAWL_RUNTIME_CLOSE_H

#include "runtime/core/runtime.h"

/* For trials and tests: free the memory of a runtime as a crash would leave the store: nothing is
 * committed, drained or given back.  Not while threads run. */
void runtime_discard(pawl_runtime *rt);

#endif
