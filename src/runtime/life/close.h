/* SPDX-License-Identifier: MIT */
/* runtime/life/close.h -- the end of a runtime, and what callers hear of it. */
#ifndef PAWL_RUNTIME_CLOSE_H
#define PAWL_RUNTIME_CLOSE_H

#include "runtime/core/runtime.h"

/* Nothing runs any more: whoever waits for an answer hears that none will come. */
void runtime_refuse(pawl_runtime *rt);
/* The same while it goes on: the store is gone. */
void runtime_refuse_calls(pawl_runtime *rt);
/* What those who still wait are told: SHUTDOWN, or UNKNOWN when the last commit may have
 * happened. */
pawl_status runtime_ending(const pawl_runtime *rt, const char **rettext);
/* For trials and tests: free the memory of a runtime as a crash would leave the store: nothing is
 * committed, drained or given back.  Not while threads run. */
void runtime_discard(pawl_runtime *rt);

#endif
