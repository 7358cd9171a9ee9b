/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_read.c -- what pawl/queue_store.h asks, from the database.
 *
 * Each answer is one or two statements on a reader connection.  Called from any
 * thread.
 */
#include "base/limits.h"
#include "pawl/queue.h"
#include "store/sqlite/sqlite.h"

#define EXAMINE_MAX 10000

/* ---- One statement on a reader ------------------------------------------------- */

struct reading {
    struct sqlite_store *s;
    struct conn *c;
    sqlite3_stmt *stmt;
    int rc;
};

static bool begin(struct reading *r, pawl_store *base, enum statement which, pawl_mem *mem,
                  pawl_status *retstatus, pawl_error *reterr)
{
    *r = (struct reading){.s = sqlite_of(base)};
    *retstatus = pool_take(r->s, mem, &r->c, reterr);
    if (*retstatus != PAWL_OK)
        return false;
    r->stmt = conn_statement(r->c, which);
    if (r->stmt)
        return true;
    *retstatus = conn_error(r->c, sqlite3_extended_errcode(r->c->db), "read a queue", reterr);
    pool_give(r->s, r->c);
    return false;
}

static bool next(struct reading *r)
{
    r->rc = sqlite3_step(r->stmt);
    return r->rc == SQLITE_ROW;
}

static pawl_status end(struct reading *r, pawl_error *reterr)
{
    pawl_status status = PAWL_OK;

    if (r->rc != SQLITE_ROW && r->rc != SQLITE_DONE)
        status = conn_error(r->c, r->rc, "read a queue", reterr);
    (void)sqlite3_reset(r->stmt);
    pool_give(r->s, r->c);
    return status;
}

/* ---- Queues ---------------------------------------------------------------------- */

static void column_queue(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_row *ret)
{
    *ret = (pawl_queue_row){.qid = column_id(stmt, 0),
                            .name = column_dup(stmt, 1, mem),
                            .paused = sqlite3_column_int(stmt, 2) != 0,
                            .created_ms = sqlite3_column_int64(stmt, 3),
                            .due_ms = sqlite3_column_int64(stmt, 4),
                            .ready = column_id(stmt, 5),
                            .delayed = column_id(stmt, 6),
                            .locked = column_id(stmt, 7),
                            .locks = column_id(stmt, 8),
                            .bytes = column_id(stmt, 9),
                            .config = column_dup(stmt, 10, mem),
                            .totals = column_dup(stmt, 11, mem)};
}

static pawl_status find_queue(pawl_store *base, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                              pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!begin(&r, base, ST_QUEUE_BY_NAME, mem, &status, reterr))
        return status;
    bind_text(r.stmt, 1, name);
    bool found = next(&r);
    if (found)
        column_queue(r.stmt, mem, ret);
    status = end(&r, reterr);
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
    pawl_queue_row *rows = NULL;
    size_t count = 0, room = 0;

    if (!begin(&r, base, ST_QUEUES_FROM, mem, &status, reterr))
        return status;
    bind_text(r.stmt, 1, after);
    bind_text(r.stmt, 2, prefix);
    while (count < limit && next(&r) && begins(column_view(r.stmt, 1), prefix)) {
        rows = grow(mem, rows, sizeof *rows, count, &room);
        column_queue(r.stmt, mem, &rows[count++]);
    }
    *ret = (pawl_queue_row_list){rows, count};
    return end(&r, reterr);
}

static pawl_status due_queues(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_queue_row_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    pawl_queue_row *rows = NULL;
    size_t count = 0, room = 0;

    if (!begin(&r, base, ST_QUEUES_DUE, mem, &status, reterr))
        return status;
    (void)sqlite3_bind_int64(r.stmt, 1, now_ms);
    (void)sqlite3_bind_int64(r.stmt, 2, limit);
    while (next(&r)) {
        rows = grow(mem, rows, sizeof *rows, count, &room);
        column_queue(r.stmt, mem, &rows[count++]);
    }
    *ret = (pawl_queue_row_list){rows, count};
    return end(&r, reterr);
}

/* ---- Entries ---------------------------------------------------------------------- */

/* Column 13: a lock was put on it, and nothing else changed. */
static bool is_taken(sqlite3_stmt *stmt)
{
    return sqlite3_column_int(stmt, 13) != 0;
}

static int column_state(sqlite3_stmt *stmt)
{
    return is_taken(stmt) ? PAWL_QUEUE_LOCKED : sqlite3_column_int(stmt, 2);
}

static void column_entry(sqlite3_stmt *stmt, bool head, pawl_mem *mem, pawl_queue_entry *ret)
{
    *ret =
        (pawl_queue_entry){.id = column_id(stmt, 0),
                           .qid = column_id(stmt, 1),
                           .state = column_state(stmt),
                           .priority = sqlite3_column_int64(stmt, 3),
                           .place = column_id(stmt, 4),
                           .visible_ms = sqlite3_column_int64(stmt, 5),
                           .expires_ms = sqlite3_column_int64(stmt, 6),
                           .enqueued_ms = sqlite3_column_int64(stmt, 7),
                           .deliveries = (uint32_t)sqlite3_column_int64(stmt, 8) + is_taken(stmt),
                           .bytes = column_id(stmt, 9),
                           .note = column_dup(stmt, 10, mem)};
    if (head)
        return;
    ret->data = column_dup(stmt, 11, mem);
    ret->attrs = column_dup(stmt, 12, mem);
}

/* What a query has gathered so far. */
struct gathering {
    const pawl_entry_query *query;
    pawl_mem *mem;
    pawl_queue_entry *rows;
    size_t count, room, bytes, seen;
    uint64_t last_id;
    bool more;
};

/* Choose by the terms that no index answers. */
static bool chosen(sqlite3_stmt *stmt, const pawl_entry_query *q)
{
    if (q->order != PAWL_ENTRIES_BY_ID)
        return true;
    return column_id(stmt, 1) == q->qid && (!q->state || column_state(stmt) == q->state - 1) &&
           (!q->has_priority || sqlite3_column_int64(stmt, 3) == q->priority);
}

static void gather(struct gathering *g, struct reading *r)
{
    const pawl_entry_query *q = g->query;

    while (next(r)) {
        if (g->count == q->limit || g->seen == EXAMINE_MAX ||
            (q->bytes_max && g->count && g->bytes >= q->bytes_max)) {
            g->more = true;
            return;
        }
        g->seen++;
        g->last_id = column_id(r->stmt, 0);
        if (!chosen(r->stmt, q))
            continue;
        g->rows = grow(g->mem, g->rows, sizeof *g->rows, g->count, &g->room);
        pawl_queue_entry *e = &g->rows[g->count++];
        column_entry(r->stmt, q->heads, g->mem, e);
        g->bytes += e->data.len + e->attrs.len;
    }
}

/* Ready entries: the rest of one priority, then those above. */
static enum statement statement_of(const pawl_entry_query *q, int part)
{
    switch (q->order) {
    case PAWL_ENTRIES_READY:
        return part ? ST_ENTRIES_READY_ABOVE : ST_ENTRIES_READY_AT;
    case PAWL_ENTRIES_DELAYED:
        return ST_ENTRIES_DELAYED;
    case PAWL_ENTRIES_EXPIRING:
        return ST_ENTRIES_EXPIRING;
    case PAWL_ENTRIES_BY_ID:
        break;
    }
    return ST_ENTRIES_BY_ID;
}

static pawl_status query_entries(pawl_store *base, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr)
{
    struct gathering g = {.query = query, .mem = mem};
    int parts = query->order == PAWL_ENTRIES_READY ? 2 : 1;

    for (int part = 0; part < parts && !g.more; part++) {
        struct reading r;
        pawl_status status;
        if (!begin(&r, base, statement_of(query, part), mem, &status, reterr))
            return status;
        if (query->order == PAWL_ENTRIES_BY_ID) {
            bind_id(r.stmt, 2, query->after);
        } else {
            bind_id(r.stmt, 1, query->qid);
        }
        if (query->order == PAWL_ENTRIES_READY) {
            (void)sqlite3_bind_int64(r.stmt, 2, query->priority);
            if (part == 0)
                bind_id(r.stmt, 3, query->place);
        }
        gather(&g, &r);
        status = end(&r, reterr);
        if (status != PAWL_OK)
            return status;
    }
    *ret =
        (pawl_entry_list){.items = g.rows, .count = g.count, .more = g.more, .last_id = g.last_id};
    return PAWL_OK;
}

static pawl_status read_entries(pawl_store *base, const uint64_t *ids, size_t count, bool heads,
                                pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    pawl_queue_entry *rows = arena_array(mem, pawl_queue_entry, count + 1);
    size_t found = 0;
    struct reading r;
    pawl_status status;

    if (!begin(&r, base, ST_ENTRY_READ, mem, &status, reterr))
        return status;
    r.rc = SQLITE_DONE;
    for (size_t i = 0; i < count; i++) {
        bind_id(r.stmt, 1, ids[i]);
        if (next(&r))
            column_entry(r.stmt, heads, mem, &rows[found++]);
        else if (r.rc != SQLITE_DONE)
            break;
        (void)sqlite3_reset(r.stmt);
    }
    *ret = (pawl_entry_list){.items = rows, .count = found};
    return end(&r, reterr);
}

/* ---- Locks, keys ------------------------------------------------------------------ */

static void column_lock(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_lock *ret)
{
    pawl_str text = column_view(stmt, 5);
    size_t count = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == ' ';
    uint64_t *ids = arena_array(mem, uint64_t, count + 1);
    for (size_t i = 0, n = 0; i < text.len; i++) {
        if (text.ptr[i] == ' ')
            n++;
        else
            ids[n] = ids[n] * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *ret = (pawl_queue_lock){.number = column_id(stmt, 0),
                             .qid = column_id(stmt, 1),
                             .id = column_dup(stmt, 2, mem),
                             .created_ms = sqlite3_column_int64(stmt, 3),
                             .until_ms = sqlite3_column_int64(stmt, 4),
                             .entries = ids,
                             .entry_count = count};
}

static pawl_status read_locks(pawl_store *base, uint64_t qid, uint32_t limit, pawl_mem *mem,
                              pawl_lock_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    pawl_queue_lock *rows = NULL;
    size_t count = 0, room = 0;

    if (!begin(&r, base, ST_LOCKS_READ, mem, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    (void)sqlite3_bind_int64(r.stmt, 2, limit ? (int64_t)limit : -1);
    while (next(&r)) {
        rows = grow(mem, rows, sizeof *rows, count, &room);
        column_lock(r.stmt, mem, &rows[count++]);
    }
    *ret = (pawl_lock_list){rows, count};
    return end(&r, reterr);
}

static pawl_status has_past(pawl_store *base, uint64_t qid, pawl_str id, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!begin(&r, base, ST_PAST_READ, NULL, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    bind_text(r.stmt, 2, id);
    bool found = next(&r);
    status = end(&r, reterr);
    return status != PAWL_OK ? status : found ? PAWL_OK : PAWL_EMPTY;
}

static pawl_status find_key(pawl_store *base, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                            pawl_error *reterr)
{
    struct reading r;
    pawl_status status;

    if (!begin(&r, base, ST_DEDUP_READ, NULL, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    bind_text(r.stmt, 2, key);
    bool found = next(&r);
    if (found)
        *ret = (pawl_queue_key){qid, key, column_id(r.stmt, 0), sqlite3_column_int64(r.stmt, 1)};
    status = end(&r, reterr);
    return status != PAWL_OK ? status : found ? PAWL_OK : PAWL_EMPTY;
}

static pawl_status levels(pawl_store *base, uint64_t qid, uint32_t limit, pawl_mem *mem,
                          pawl_level_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    pawl_level *rows = NULL;
    size_t count = 0, room = 0;

    if (!begin(&r, base, ST_LEVELS, mem, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    (void)sqlite3_bind_int64(r.stmt, 2, limit);
    while (next(&r)) {
        rows = grow(mem, rows, sizeof *rows, count, &room);
        rows[count++] = (pawl_level){sqlite3_column_int64(r.stmt, 0), column_id(r.stmt, 1)};
    }
    *ret = (pawl_level_list){rows, count};
    return end(&r, reterr);
}

const pawl_queue_ops sqlite_queue_ops = {
    .size = sizeof(pawl_queue_ops),
    .find_queue = find_queue,
    .list_queues = list_queues,
    .due_queues = due_queues,
    .query_entries = query_entries,
    .read_entries = read_entries,
    .read_locks = read_locks,
    .has_past = has_past,
    .find_key = find_key,
    .levels = levels,
};
