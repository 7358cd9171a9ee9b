/* SPDX-License-Identifier: MIT */
/* runtime/api/queue_query.h -- what the reading calls on queues share. */
#ifndef PAWL_RUNTIME_QUEUE_QUERY_H
#define PAWL_RUNTIME_QUEUE_QUERY_H

#include "runtime/core/runtime.h"

/* One reading call: the operations of its store, and where its error goes. */
struct queue_reading {
    pawl_store *store;
    pawl_error *err, local; /* `local` when the caller gave none */
};

/* Check the arguments of a reading call; `queue` may be NULL, and must be a name otherwise.
 * False: r->err says why not. */
bool queue_reading_begin(struct queue_reading *r, pawl_client *c, const char *queue,
                         const pawl_mem *mem, const void *ret, pawl_error *reterr);
uint32_t queue_page_size(uint32_t limit);

#endif
