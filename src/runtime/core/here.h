/* SPDX-License-Identifier: MIT */
/* runtime/core/here.h -- which thread has the engine, and is it of this process? */
#ifndef PAWL_RUNTIME_HERE_H
#define PAWL_RUNTIME_HERE_H

#include "runtime/core/runtime.h"

/* This thread runs the engine until here_leave() with the value returned.  Callbacks of clients
 * are called in between; a callback that waits for the engine would wait for itself. */
const pawl_runtime *here_enter(const pawl_runtime *rt);
void here_leave(const pawl_runtime *before);
bool here_is_engine(const pawl_runtime *rt);
/* Is this a forked child of the process that runs the threads?  They are not in the child; *err
 * says so. */
bool here_is_forked(const pawl_runtime *rt, pawl_error *err);
/* True when no other thread steps: blocking calls of this thread step by themselves. */
bool here_steps(pawl_runtime *rt);

/* Does it run on threads of its own, or is it stepped? */
static inline bool here_has_threads(const pawl_runtime *rt)
{
    return rt->threads.on;
}

#endif
