/* SPDX-License-Identifier: MIT */
/* store/sqlite/queue_read.h -- what queue_read.c and queue_entries.c share. */
#ifndef PAWL_STORE_SQLITE_QUEUE_READ_H
#define PAWL_STORE_SQLITE_QUEUE_READ_H

#include "store/sqlite/reading.h"

#define READ_A_QUEUE "read a queue"

/* ---- queue_entries.c: operations of the store -------------------------------------- */

pawl_status sqlite_query_entries(pawl_store *base, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr);
pawl_status sqlite_read_entries(pawl_store *base, const uint64_t *ids, size_t count, bool heads,
                                pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr);
pawl_status sqlite_read_locks(pawl_store *base, uint64_t qid, uint32_t limit, pawl_mem *mem,
                              pawl_lock_list *ret, pawl_error *reterr);

#endif
