/* SPDX-License-Identifier: MIT */
/* runtime/life/close.h -- the end of a runtime. */
#ifndef PAWL_RUNTIME_CLOSE_H
#define PAWL_RUNTIME_CLOSE_H

#include "runtime/core/runtime.h"

/* For trials and tests: free the memory of a runtime and leave the store as a crash would: nothing
 * is committed, drained or released.  Not while threads run. */
void runtime_discard(pawl_runtime *rt);

#endif
