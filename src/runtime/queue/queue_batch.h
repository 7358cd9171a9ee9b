/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_batch.h -- purge, redrive and delete: a bounded piece at a time. [engine] */
#ifndef PAWL_RUNTIME_QUEUE_BATCH_H
#define PAWL_RUNTIME_QUEUE_BATCH_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

void queue_do_purge(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
void queue_do_redrive(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);
void queue_do_delete(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req);

/* The group of its last piece was not committed: it goes on from before that piece. */
void queue_piece_undone(const pawl_runtime *rt, struct queue_req *req);

#endif
