/* SPDX-License-Identifier: MIT */
/*
 * store/forward.h -- reading operations, for stores that pass them on to another store.
 *
 * X(operation, parameters behind the store, the same as arguments).  A store that passes calls on
 * has one body for all of them; its operations are made from this list.
 *
 * Called by the jsonl store, which asks its mirror, and by the store of the tests that fails.
 */
#ifndef PAWL_STORE_FORWARD_H
#define PAWL_STORE_FORWARD_H

/* clang-format off */
#define STORE_FORWARDED(X) \
    X(fetch_deadlines, \
      (int64_t now_ms, uint32_t limit, pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr), \
      (now_ms, limit, mem, ret, reterr)) \
    X(next_due, (int64_t after_ms, int64_t *ret, pawl_error *reterr), (after_ms, ret, reterr)) \
    X(find, (pawl_str id, pawl_mem *mem, pawl_row *ret, pawl_error *reterr), \
      (id, mem, ret, reterr)) \
    X(find_uid, (uint64_t uid, pawl_mem *mem, pawl_row *ret, pawl_error *reterr), \
      (uid, mem, ret, reterr)) \
    X(find_execution, \
      (uint64_t uid, uint64_t execution, pawl_mem *mem, pawl_row *ret, pawl_error *reterr), \
      (uid, execution, mem, ret, reterr)) \
    X(read_history, \
      (uint64_t uid, uint64_t execution, uint64_t after_seq, uint32_t limit, pawl_mem *mem, \
       pawl_event_list *ret, pawl_error *reterr), \
      (uid, execution, after_seq, limit, mem, ret, reterr)) \
    X(read_event, (uint64_t rid, pawl_mem *mem, pawl_event *ret, pawl_error *reterr), \
      (rid, mem, ret, reterr)) \
    X(read_messages, \
      (uint64_t uid, pawl_str instance, pawl_mem *mem, pawl_message_list *ret, \
       pawl_error *reterr), \
      (uid, instance, mem, ret, reterr)) \
    X(read_work, \
      (const uint64_t *ids, size_t count, pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr), \
      (ids, count, mem, ret, reterr)) \
    X(has_key, (uint64_t uid, pawl_str key, pawl_error *reterr), (uid, key, reterr)) \
    X(list, (const pawl_row_query *query, pawl_mem *mem, pawl_row_list *ret, pawl_error *reterr), \
      (query, mem, ret, reterr)) \
    X(depths, (int64_t now_ms, pawl_depths *ret, pawl_error *reterr), (now_ms, ret, reterr)) \
    X(read_quarantine, \
      (uint32_t limit, pawl_mem *mem, pawl_message_list *ret, pawl_error *reterr), \
      (limit, mem, ret, reterr)) \
    X(read_object, \
      (int kind, pawl_str name, pawl_mem *mem, pawl_object *ret, pawl_error *reterr), \
      (kind, name, mem, ret, reterr)) \
    X(list_objects, \
      (int kind, pawl_str prefix, pawl_str after, uint32_t limit, pawl_mem *mem, \
       pawl_object_list *ret, pawl_error *reterr), \
      (kind, prefix, after, limit, mem, ret, reterr))
/* clang-format on */

#endif
