/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/group.h -- one commit: all stages, one sync, then the consequences.
 * [engine]
 */
#ifndef PAWL_RUNTIME_GROUP_H
#define PAWL_RUNTIME_GROUP_H

#include "runtime/core/runtime.h"

/* Commit what is staged and act on the outcome.  Returns the number of rounds committed; 0: nothing
 * to do, or not committed; -1: the runtime is dead (rt->health.dead says why). */
int group_commit(pawl_runtime *rt);
/* The outcome of the last commit is in doubt (doubt.h): ask the store and act on the answer.
 * Returns as group_commit(). */
int group_resolve(pawl_runtime *rt);
/* The runtime closes before the outcome is known: undo the group in memory. */
void group_give_up(pawl_runtime *rt);

#endif
