/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_batch.h -- purge, redrive and delete: a bounded piece at a time. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_BATCH_H
#define PAWL_RUNTIME_QUEUE_BATCH_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

void queue_do_purge(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
void queue_do_redrive(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
void queue_do_delete(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);

#endif
