/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/gather.h -- wait for what is about to come, so that it makes one commit and not
 * two. [engine]
 *
 * The clients that the last commit answered send their next requests, and workers finish short
 * activities.  Without a wait they fall into two halves that take turns, and each step pays a sync
 * for half as many.
 *
 * The rule: wait until as many are here as are out, and end when none came for PATIENCE_US.  It
 * learns: after a wait that brought too few, the next TRY_AGAIN - 1 commits hardly wait.
 */
#ifndef PAWL_RUNTIME_GATHER_H
#define PAWL_RUNTIME_GATHER_H

#include "runtime/core/runtime.h"

/* The rule: `have` of `out` are here.  True: look again, at once.  `looks`: this many looks that
 * find nothing new are made even when the last wait was useless. */
bool gather_waits(struct patience *g, size_t have, size_t out, unsigned looks);
/* The wait is over, with this many. */
void gather_ends(struct patience *g, size_t have, size_t out);
/* On the engine thread: wait for the workers, or for the clients of queues. */
void gather_more(pawl_runtime *rt, struct patience *g);

#endif
