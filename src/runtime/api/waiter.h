/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/waiter.h -- a blocking call: submit, then wait for the reply.
 *
 * The callback puts the reply into the caller's memory and calls waiter_done().  Until then the
 * reply belongs to the engine.  Used by api/client.c and api/queue_call.c.
 */
#ifndef PAWL_RUNTIME_WAITER_H
#define PAWL_RUNTIME_WAITER_H

#include "runtime/core/runtime.h"

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool done;
};

void waiter_open(struct waiter *w);
void waiter_close(struct waiter *w);
/* The reply is in its place. */
void waiter_done(struct waiter *w);
/* Wait for waiter_done() of the call that was submitted with `arg`.  False: the runtime has
 * stopped, *err says why, and no callback comes any more. */
bool waiter_wait(struct waiter *w, pawl_runtime *rt, const void *arg, pawl_error *err);

#endif
