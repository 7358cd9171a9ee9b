/* SPDX-License-Identifier: MIT */
/*
 * store/sql/reads.h -- the reading operations of an SQL store, over its driver
 * (cursor.h).
 *
 * Each is one statement, or several in one snapshot.  They fit into
 * pawl_store_ops as they are.
 */
#ifndef PAWL_STORE_SQL_READS_H
#define PAWL_STORE_SQL_READS_H

#include "pawl/provider.h"

/* ---- read.c ---- */

pawl_status sql_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret, pawl_error *reterr);
pawl_status sql_find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                         pawl_error *reterr);
pawl_status sql_find_execution(pawl_store *s, uint64_t uid, uint64_t execution, pawl_mem *mem,
                               pawl_row *ret, pawl_error *reterr);
pawl_status sql_read_messages(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                              pawl_message_list *ret, pawl_error *reterr);
pawl_status sql_read_work(pawl_store *s, const uint64_t *ids, size_t count, pawl_mem *mem,
                          pawl_work_list *ret, pawl_error *reterr);
pawl_status sql_has_key(pawl_store *s, uint64_t uid, pawl_str key, pawl_error *reterr);
pawl_status sql_read_quarantine(pawl_store *s, uint32_t limit, pawl_mem *mem,
                                pawl_message_list *ret, pawl_error *reterr);

/* ---- history.c ---- */

#define MARK_EVERY 128 /* events between marks; stored: never change it */
pawl_status sql_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                             uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                             pawl_error *reterr);
pawl_status sql_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                           pawl_error *reterr);

/* ---- list.c ---- */

#define LIST_EXAMINE_MAX 10000
pawl_status sql_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem, pawl_row_list *ret,
                     pawl_error *reterr);
pawl_status sql_count_values(pawl_store *s, pawl_str name, uint32_t max_values,
                             uint64_t max_entries, pawl_mem *mem, pawl_value_counts *ret,
                             pawl_error *reterr); /* count.c */
pawl_status sql_search(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                       pawl_error *reterr);
pawl_status sql_depths(pawl_store *s, int64_t now_ms, pawl_depths *ret, pawl_error *reterr);

/* ---- object_read.c ---- */

pawl_status sql_read_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem, pawl_object *ret,
                            pawl_error *reterr);
pawl_status sql_list_objects(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                             uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                             pawl_error *reterr);

/* ---- queue_read.c, queue_entries.c ---- */

#define READ_A_QUEUE "read a queue"
extern const pawl_queue_ops sql_queue_ops; /* all of those below */
pawl_status sql_find_queue(pawl_store *s, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                           pawl_error *reterr);
pawl_status sql_list_queues(pawl_store *s, pawl_str prefix, pawl_str after, uint32_t limit,
                            pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr);
pawl_status sql_due_queues(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                           pawl_queue_row_list *ret, pawl_error *reterr);
pawl_status sql_has_past(pawl_store *s, uint64_t qid, pawl_str id, pawl_error *reterr);
pawl_status sql_find_key(pawl_store *s, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                         pawl_error *reterr);
pawl_status sql_levels(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                       pawl_level_list *ret, pawl_error *reterr);
pawl_status sql_query_entries(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                              pawl_entry_list *ret, pawl_error *reterr);
pawl_status sql_read_entries(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                             pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr);
pawl_status sql_read_locks(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                           pawl_lock_list *ret, pawl_error *reterr);

#endif
