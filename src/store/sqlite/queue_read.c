/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_read.c -- what pawl/queue_store.h asks, from the database.
 *
 * Each answer is one or two statements on a reader connection; those of entries and
 * locks are in queue_entries.c.  Called from any thread.
 */
#include "store/sqlite/queue_read.h"
#include "base/limits.h"

/* ---- Queues ---------------------------------------------------------------------- */

static pawl_status find_queue(pawl_store *base, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                              pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_QUEUE_BY_NAME, READ_A_QUEUE, mem, &status, reterr))
        return status;
    bind_text(r.stmt, 1, name);
    bool found = reading_next(&r);
    if (found)
        column_queue(r.stmt, mem, ret);
    status = reading_end(&r, reterr);
    if (found || status != PAWL_OK)
        return status;
    error_set(reterr, PAWL_NOT_FOUND, "there is no queue '%.*s'", PAWL_FMT(name));
    return PAWL_NOT_FOUND;
}

static bool begins(pawl_str text, pawl_str prefix)
{
    return text.len >= prefix.len &&
           (prefix.len == 0 || memcmp(text.ptr, prefix.ptr, prefix.len) == 0);
}

static pawl_status list_queues(pawl_store *base, pawl_str prefix, pawl_str after, uint32_t limit,
                               pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    LIST(pawl_queue_row) rows = {0};

    if (!reading_begin(&r, base, ST_QUEUES_FROM, READ_A_QUEUE, mem, &status, reterr))
        return status;
    bind_text(r.stmt, 1, after);
    bind_text(r.stmt, 2, prefix);
    while (rows.count < limit && reading_next(&r) &&
           begins(column_view(r.stmt, QUEUE_name), prefix)) {
        column_queue(r.stmt, mem, list_room(mem, &rows));
        rows.count++;
    }
    *ret = (pawl_queue_row_list){rows.items, rows.count};
    return reading_end(&r, reterr);
}

static pawl_status due_queues(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_queue_row_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    LIST(pawl_queue_row) rows = {0};

    if (!reading_begin(&r, base, ST_QUEUES_DUE, READ_A_QUEUE, mem, &status, reterr))
        return status;
    (void)sqlite3_bind_int64(r.stmt, 1, now_ms);
    (void)sqlite3_bind_int64(r.stmt, 2, limit);
    while (reading_next(&r)) {
        column_queue(r.stmt, mem, list_room(mem, &rows));
        rows.count++;
    }
    *ret = (pawl_queue_row_list){rows.items, rows.count};
    return reading_end(&r, reterr);
}

/* ---- Past locks, keys ------------------------------------------------------------------ */

static pawl_status has_past(pawl_store *base, uint64_t qid, pawl_str id, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_PAST_READ, READ_A_QUEUE, NULL, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    bind_text(r.stmt, 2, id);
    bool found = reading_next(&r);
    status = reading_end(&r, reterr);
    return status != PAWL_OK ? status : found ? PAWL_OK : PAWL_EMPTY;
}

static pawl_status find_key(pawl_store *base, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                            pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_DEDUP_READ, READ_A_QUEUE, NULL, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    bind_text(r.stmt, 2, key);
    bool found = reading_next(&r);
    if (found)
        *ret = (pawl_queue_key){qid, key, column_id(r.stmt, 0), sqlite3_column_int64(r.stmt, 1)};
    status = reading_end(&r, reterr);
    return status != PAWL_OK ? status : found ? PAWL_OK : PAWL_EMPTY;
}

static pawl_status levels(pawl_store *base, uint64_t qid, uint32_t limit, pawl_mem *mem,
                          pawl_level_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    LIST(pawl_level) rows = {0};

    if (!reading_begin(&r, base, ST_LEVELS, READ_A_QUEUE, mem, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    (void)sqlite3_bind_int64(r.stmt, 2, limit);
    while (reading_next(&r)) {
        *list_add(mem, &rows) = (pawl_level){sqlite3_column_int64(r.stmt, 0), column_id(r.stmt, 1)};
    }
    *ret = (pawl_level_list){rows.items, rows.count};
    return reading_end(&r, reterr);
}

const pawl_queue_ops sqlite_queue_ops = {
    .size = sizeof(pawl_queue_ops),
    .find_queue = find_queue,
    .list_queues = list_queues,
    .due_queues = due_queues,
    .query_entries = sqlite_query_entries,
    .read_entries = sqlite_read_entries,
    .read_locks = sqlite_read_locks,
    .has_past = has_past,
    .find_key = find_key,
    .levels = levels,
};
