/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_remove.h -- a queue is removed, with all it has. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_REMOVE_H
#define PAWL_RUNTIME_QUEUE_REMOVE_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

void queue_do_remove(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
/* The last change before the group is sealed, so nothing of the group reaches a removed queue. */
void queue_seal_removals(pawl_runtime *rt);
/* After the commit: removed queues leave memory, and pops that wait for them are answered. */
void queue_removed(pawl_runtime *rt, struct cached_queue *const *gone, size_t count);

#endif
