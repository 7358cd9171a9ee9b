/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_handle.h -- one request on a queue. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_HANDLE_H
#define PAWL_RUNTIME_QUEUE_HANDLE_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

void queue_handle(pawl_runtime *rt, struct queue_req *req);
/* The entry that the store knows by this dedup id; 0: none.  Else why it cannot be read. */
pawl_status queue_find_twin(pawl_runtime *rt, struct cached_queue *s, pawl_str dedup_id,
                            uint64_t *ret);

#endif
