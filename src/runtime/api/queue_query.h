/* SPDX-License-Identifier: MIT */
/* runtime/api/queue_query.h -- what the reading calls on queues share. */
#ifndef PAWL_RUNTIME_QUEUE_QUERY_H
#define PAWL_RUNTIME_QUEUE_QUERY_H

#include "runtime/core/runtime.h"

/* The operations of the store, or NULL and why not; `queue` may be NULL. */
const pawl_queue_ops *queue_ops_of(pawl_client *c, const char *queue, pawl_error *err);
uint32_t queue_page_size(uint32_t limit);

#endif
