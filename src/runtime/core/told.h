/* SPDX-License-Identifier: MIT */
/* runtime/core/told.h -- who hears of a commit: feeds and waiting clients. */
#ifndef PAWL_RUNTIME_TOLD_H
#define PAWL_RUNTIME_TOLD_H

#include "runtime/core/runtime.h"

/* Collect an instance changed by this commit. */
void told_change(pawl_runtime *rt, const struct stage *s);
void told_queue(pawl_runtime *rt, pawl_str name);
/* Call the feeds and wake waiting clients. */
void told_all(pawl_runtime *rt);
/* No more requests; clients that wait give up. */
void told_stop(pawl_runtime *rt);
/* After that: until the last of them has left; the engine thread has ended. */
void told_drain(pawl_runtime *rt);

struct timespec;
/* A client waits for changes of an instance: enter, look, wait, look …, leave.
 * Any thread.  told_wait is false when the time (NULL: none) or the runtime is over. */
void told_enter(pawl_runtime *rt, struct wait_node *w, pawl_str instance);
bool told_wait(pawl_runtime *rt, struct wait_node *w, const struct timespec *until);
void told_leave(pawl_runtime *rt, struct wait_node *w);
void told_open(pawl_runtime *rt);
void told_close(pawl_runtime *rt);

#endif
