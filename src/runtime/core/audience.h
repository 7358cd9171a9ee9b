/* SPDX-License-Identifier: MIT */
/* runtime/core/audience.h -- the listeners of a commit: feeds and waiting clients. */
#ifndef PAWL_RUNTIME_AUDIENCE_H
#define PAWL_RUNTIME_AUDIENCE_H

#include "runtime/core/runtime.h"

/* Collect an instance changed by this commit. */
void audience_change(pawl_runtime *rt, const struct stage *s);
/* An attempt of one of its activities began or failed with this commit, and the instance itself did
 * not change; NULL is fine. */
void audience_attempt(pawl_runtime *rt, const struct resident *r);
void audience_queue(pawl_runtime *rt, pawl_str name);
/* Call the feeds and wake waiting clients. */
void audience_publish(pawl_runtime *rt);
/* No more requests; clients that wait give up. */
void audience_stop(pawl_runtime *rt);
/* After that: until the last of them has left; the engine thread has ended. */
void audience_drain(pawl_runtime *rt);

struct timespec;
/* A client waits for changes of an instance: enter, look, wait, look …, leave.
 * Any thread.  audience_wait is false when the time (NULL: none) or the runtime is over. */
void audience_enter(pawl_runtime *rt, struct wait_node *w, pawl_str instance);
bool audience_wait(pawl_runtime *rt, struct wait_node *w, const struct timespec *until);
void audience_leave(pawl_runtime *rt, struct wait_node *w);
void audience_open(pawl_runtime *rt);
void audience_close(pawl_runtime *rt);

#endif
