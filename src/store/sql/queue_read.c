/* SPDX-License-Identifier: MIT */
/*
 * store/sql/queue_read.c -- what pawl/queue_store.h asks, from the database.
 *
 * Each answer is one or two statements; those of entries and
 * locks are in queue_entries.c.  Called from any thread.
 */
#include "base/limits.h"
#include "base/str.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

/* ---- Queues ---------------------------------------------------------------------- */

pawl_status sql_find_queue(pawl_store *s, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                           pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;

    if (!cursor_begin(&c, s, ST_QUEUE_BY_NAME, READ_A_QUEUE, mem, &status, reterr))
        return status;
    cursor_bind_text(&c, 1, name);
    bool found = cursor_next(&c);
    if (found)
        c.driver->queue(&c, mem, ret);
    status = cursor_end(&c, reterr);
    if (found || status != PAWL_OK)
        return status;
    error_set(reterr, PAWL_NOT_FOUND, "there is no queue '%.*s'", PAWL_FMT(name));
    return PAWL_NOT_FOUND;
}

pawl_status sql_list_queues(pawl_store *s, pawl_str prefix, pawl_str after, uint32_t limit,
                            pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    LIST(pawl_queue_row) rows = {0};

    if (!cursor_begin(&c, s, ST_QUEUES_FROM, READ_A_QUEUE, mem, &status, reterr))
        return status;
    cursor_bind_text(&c, 1, after);
    cursor_bind_text(&c, 2, prefix);
    cursor_further(&c, limit);
    while (rows.count < limit && cursor_next(&c) &&
           str_begins(cursor_view(&c, QUEUE_name), prefix)) {
        c.driver->queue(&c, mem, list_room(mem, &rows));
        rows.count++;
    }
    *ret = (pawl_queue_row_list){rows.items, rows.count};
    return cursor_end(&c, reterr);
}

pawl_status sql_due_queues(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                           pawl_queue_row_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    LIST(pawl_queue_row) rows = {0};

    if (!cursor_begin(&c, s, ST_QUEUES_DUE, READ_A_QUEUE, mem, &status, reterr))
        return status;
    cursor_bind_i64(&c, 1, now_ms);
    cursor_bind_i64(&c, 2, limit);
    while (cursor_next(&c)) {
        c.driver->queue(&c, mem, list_room(mem, &rows));
        rows.count++;
    }
    *ret = (pawl_queue_row_list){rows.items, rows.count};
    return cursor_end(&c, reterr);
}

/* ---- Past locks, keys ------------------------------------------------------------------ */

pawl_status sql_has_past(pawl_store *s, uint64_t qid, pawl_str id, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;

    if (!cursor_begin(&c, s, ST_PAST_READ, READ_A_QUEUE, NULL, &status, reterr))
        return status;
    cursor_bind_id(&c, 1, qid);
    cursor_bind_text(&c, 2, id);
    bool found = cursor_next(&c);
    status = cursor_end(&c, reterr);
    return status != PAWL_OK ? status : found ? PAWL_OK : PAWL_EMPTY;
}

pawl_status sql_find_key(pawl_store *s, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                         pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;

    if (!cursor_begin(&c, s, ST_DEDUP_READ, READ_A_QUEUE, NULL, &status, reterr))
        return status;
    cursor_bind_id(&c, 1, qid);
    cursor_bind_text(&c, 2, key);
    bool found = cursor_next(&c);
    if (found)
        *ret = (pawl_queue_key){qid, key, cursor_id(&c, 0), cursor_i64(&c, 1)};
    status = cursor_end(&c, reterr);
    return status != PAWL_OK ? status : found ? PAWL_OK : PAWL_EMPTY;
}

pawl_status sql_levels(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                       pawl_level_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    LIST(pawl_level) rows = {0};

    if (!cursor_begin(&c, s, ST_LEVELS, READ_A_QUEUE, mem, &status, reterr))
        return status;
    cursor_bind_id(&c, 1, qid);
    cursor_bind_i64(&c, 2, limit);
    while (cursor_next(&c)) {
        *list_add(mem, &rows) = (pawl_level){cursor_i64(&c, 0), cursor_id(&c, 1)};
    }
    *ret = (pawl_level_list){rows.items, rows.count};
    return cursor_end(&c, reterr);
}

const pawl_queue_ops sql_queue_ops = {
    .size = sizeof(pawl_queue_ops),
    .find_queue = sql_find_queue,
    .list_queues = sql_list_queues,
    .due_queues = sql_due_queues,
    .query_entries = sql_query_entries,
    .read_entries = sql_read_entries,
    .read_locks = sql_read_locks,
    .has_past = sql_has_past,
    .find_key = sql_find_key,
    .levels = sql_levels,
};
