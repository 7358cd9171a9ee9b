/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_take.h -- try a pop, fetching what the policy needs from the store. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_TAKE_H
#define PAWL_RUNTIME_QUEUE_TAKE_H

#include "runtime/queue/queue_cache.h"

/* Try a pop.  The verdict counts when *retwhy is OK.  BUSY: try again after the commit; any other
 * status is that of a failed read. */
enum queue_verdict queue_try_pop(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req,
                                 pawl_status *retwhy);

#endif
