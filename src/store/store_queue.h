/* SPDX-License-Identifier: MIT */
/*
 * store/store_queue.h -- calling the queue part of a store: store/store.h for
 * pawl/queue_store.h.
 *
 * Answers are not believed: rows of another queue, out of order, or more than were asked for are
 * CORRUPT for this caller only.  Called by runtime/queue and runtime/api, on stores that have
 * queues.
 */
#ifndef PAWL_STORE_STORE_QUEUE_H
#define PAWL_STORE_STORE_QUEUE_H

#include "pawl/provider.h"

PAWL_MUST_USE pawl_status store_find_queue(pawl_store *s, pawl_str name, pawl_mem *mem,
                                           pawl_queue_row *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_list_queues(pawl_store *s, pawl_str prefix, pawl_str after,
                                            uint32_t limit, pawl_mem *mem, pawl_queue_row_list *ret,
                                            pawl_error *reterr);
PAWL_MUST_USE pawl_status store_due_queues(pawl_store *s, int64_t now_ms, uint32_t limit,
                                           pawl_mem *mem, pawl_queue_row_list *ret,
                                           pawl_error *reterr);
PAWL_MUST_USE pawl_status store_query_entries(pawl_store *s, const pawl_entry_query *query,
                                              pawl_mem *mem, pawl_entry_list *ret,
                                              pawl_error *reterr);
PAWL_MUST_USE pawl_status store_read_entries(pawl_store *s, const uint64_t *ids, size_t count,
                                             bool heads, pawl_mem *mem, pawl_entry_list *ret,
                                             pawl_error *reterr);
PAWL_MUST_USE pawl_status store_read_locks(pawl_store *s, uint64_t qid, uint32_t limit,
                                           pawl_mem *mem, pawl_lock_list *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_levels(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                                       pawl_level_list *ret, pawl_error *reterr);

PAWL_MUST_USE static inline pawl_status store_has_past(pawl_store *s, uint64_t qid, pawl_str id,
                                                       pawl_error *reterr)
{
    return s->ops->queues->has_past(s, qid, id, reterr);
}

/* The rows of all these keys; entry 0: there is none. */
PAWL_MUST_USE pawl_status store_find_keys(pawl_store *s, uint64_t qid, const pawl_str *keys,
                                          size_t count, pawl_queue_key *ret, pawl_error *reterr);

#endif
