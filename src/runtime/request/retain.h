/* SPDX-License-Identifier: MIT */
/* runtime/request/retain.h -- remove what ended longer ago than `retain_ms`. [engine] */
#ifndef PAWL_RUNTIME_RETAIN_H
#define PAWL_RUNTIME_RETAIN_H

#include "runtime/core/runtime.h"

void retain_open(pawl_runtime *rt);
/* After the other work of a pass: stage the removal of what is due. */
void retain_look(pawl_runtime *rt);
/* An instance ended with this commit. */
void retain_ended(pawl_runtime *rt);

/* Mono time of the next sweep; INT64_MAX: none before an instance ends. */
static inline int64_t retain_next(const pawl_runtime *rt)
{
    return rt->removal.retain.at_ms;
}

#endif
