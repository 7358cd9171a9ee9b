/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_take.h -- try a pop: what the policy lacks is fetched from the store. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_TAKE_H
#define PAWL_RUNTIME_QUEUE_TAKE_H

#include "runtime/queue/queue_cache.h"

/* Try a pop.  *retwhy is OK and there is a verdict, BUSY: after the commit, or a failed read. */
enum queue_verdict queue_try_pop(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req,
                                 pawl_status *retwhy);

#endif
