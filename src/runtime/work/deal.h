/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/deal.h -- work whose turn it is goes to the threads of this process. [engine]
 *
 * A thread gets such work when it is free, so that what begins next is decided as late as can be.
 * Where no thread is free, one job a priority waits before the shares, so that a backlog of other
 * calls cannot keep trays out.  Calls of a higher priority number than the default wait until
 * nothing else is queued.
 */
#ifndef PAWL_RUNTIME_DEAL_H
#define PAWL_RUNTIME_DEAL_H

#include "runtime/core/runtime.h"

void deal_look(pawl_runtime *rt);
/* Begin the jobs that waited for a commit of what they used (work_limits.h); NULL: none. */
void deal_begin(pawl_runtime *rt, struct job *first);

#endif
