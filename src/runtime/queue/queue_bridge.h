/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_bridge.h -- where orchestrations and queues meet. */
#ifndef PAWL_RUNTIME_QUEUE_BRIDGE_H
#define PAWL_RUNTIME_QUEUE_BRIDGE_H

#include "runtime/core/verdict.h"
#include "runtime/queue/queue_cache.h"

/* A push recorded by an orchestration (PAWL_MSG_QUEUE_PUSH). */
struct delivered queue_deliver(pawl_runtime *rt, struct letter *l);
/* The warning for a caller that binds a queue to code that is not here; empty: none.  Any thread. */
pawl_str queue_bound_warning(pawl_runtime *rt, const pawl_queue_config *c, pawl_mem *mem);
/* Did a bound queue send this start? */
bool queue_sent(pawl_runtime *rt, const struct letter *l);
/* The id of a queue's start exists.  `twin`: by this very start, delivered twice; otherwise the
 * message becomes a dead letter. */
struct delivered queue_start_taken(pawl_runtime *rt, struct letter *l, bool twin);
/* Each message of a bound queue becomes a start, in the commit that takes it out. */
void queue_start_bound(pawl_runtime *rt, struct cached_queue *s);

#endif
