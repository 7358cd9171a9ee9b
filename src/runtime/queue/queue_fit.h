/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_fit.h -- requests and answers of queues, for programs whose structs have
 * other sizes than ours (base/fit.h).
 *
 * Called by queue_client.c, queue_answer.c and api/fit_queue.c, only when the sizes differ.
 */
#ifndef PAWL_RUNTIME_QUEUE_FIT_H
#define PAWL_RUNTIME_QUEUE_FIT_H

#include "base/arena.h"
#include "pawl/queue.h"

/* The request with items as we know them, in `mem`.  NULL, with *err set: it is refused. */
const pawl_queue_request *queue_fit_request(pawl_mem *mem, const pawl_queue_request *request,
                                            size_t item_bytes, pawl_error *err);
/* The reply with the caller's strides, in `mem`; at least as long as the caller's. */
const pawl_queue_reply *queue_fit_reply(pawl_mem *mem, const pawl_queue_reply *reply,
                                        const pawl_queue_sizes *sizes);
/* Fill in the caller's configuration.  Its `size` is what both know: it may be handed in again. */
void queue_fit_config(void *to, size_t size, const pawl_queue_config *from);
/* Fill in the caller's figures, which have its configuration inside. */
void queue_fit_stats(void *to, const pawl_queue_stats *from, const pawl_queue_sizes *sizes);

#endif
