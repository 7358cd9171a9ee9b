/* SPDX-License-Identifier: MIT */
/* runtime/core/here.h -- which thread has the engine, and is it of this process? */
#ifndef PAWL_RUNTIME_HERE_H
#define PAWL_RUNTIME_HERE_H

#include "runtime/core/runtime.h"

/* This thread runs the engine from here until here_leave() with what this gave: callbacks of
 * clients are called in between, and whoever waits for the engine then waits for itself. */
const pawl_runtime *here_enter(const pawl_runtime *rt);
void here_leave(const pawl_runtime *before);
bool here_is_engine(const pawl_runtime *rt);
/* Threads do not go along with fork(): a child of the process that runs them is told so. */
bool here_is_forked(const pawl_runtime *rt, pawl_error *err);
/* True when nobody steps for this thread: its blocking calls step by themselves. */
bool here_steps(pawl_runtime *rt);

/* Does it run on threads of its own, or is it stepped? */
static inline bool here_has_threads(const pawl_runtime *rt)
{
    return rt->threads.on;
}

#endif
