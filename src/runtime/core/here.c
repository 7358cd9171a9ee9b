/* SPDX-License-Identifier: MIT */
/* runtime/core/here.c -- see here.h. */
#include "runtime/core/here.h"

#include "base/forks.h"
#include "base/limits.h"

static __thread const pawl_runtime *engine_of;

const pawl_runtime *here_enter(const pawl_runtime *rt)
{
    const pawl_runtime *before = engine_of;
    engine_of = rt;
    return before;
}

void here_leave(const pawl_runtime *before)
{
    engine_of = before;
}

bool here_is_engine(const pawl_runtime *rt)
{
    return engine_of == rt;
}

bool here_is_forked(const pawl_runtime *rt, pawl_error *err)
{
    if (!rt->threads.on || rt->threads.forks == forks_behind())
        return false;
    error_set(err, PAWL_MISUSE,
              "this process was forked from the one that runs the runtime: its threads are not "
              "here; fork before pawl_runtime_start, or exec at once");
    return true;
}

bool here_steps(pawl_runtime *rt)
{
    return !rt->threads.on && (!atomic_load(&rt->threads.stepping) ||
                               pthread_equal(rt->threads.stepper, pthread_self()));
}
