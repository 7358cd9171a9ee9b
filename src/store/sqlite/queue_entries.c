/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_entries.c -- entries and locks of queues, from the database.
 *
 * Every order has an index but that of locked entries, whose locks name them: it goes from lock
 * to lock.  A page begins where the one before it ended, with one search of the index, so
 * rows with the same time or priority are not gone through again.  Called from any thread.
 */
#include "pawl/queue.h"
#include "store/sqlite/queue_read.h"
#include "store/sqlite/sum.h"

#include <stdlib.h>

#define EXAMINE_MAX 10000

/* Its numbers; what it carries comes after.  Returns its check sum. */
static int64_t column_entry(sqlite3_stmt *stmt, pawl_queue_entry *ret)
{
    const bool taken =
        column_i64(stmt, ENTRY_is_taken) != 0; /* a lock was put on it, nothing else */
    uint64_t joined = column_id(stmt, ENTRY_bytes);

    *ret =
        (pawl_queue_entry){.id = column_id(stmt, ENTRY_id),
                           .qid = column_id(stmt, ENTRY_qid),
                           .state = taken ? PAWL_QUEUE_LOCKED : (int)column_i64(stmt, ENTRY_state),
                           .priority = column_i64(stmt, ENTRY_priority),
                           .place = column_id(stmt, ENTRY_place),
                           .visible_ms = column_i64(stmt, ENTRY_visible_ms),
                           .expires_ms = column_i64(stmt, ENTRY_expires_ms),
                           .enqueued_ms = column_i64(stmt, ENTRY_enqueued_ms),
                           .deliveries = (uint32_t)column_i64(stmt, ENTRY_deliveries) + taken,
                           .bytes = sum_low(joined)};
    return (int64_t)joined >> 32;
}

/* The rest.  False: it is not what was written, and is not given out.  A head is always right. */
static bool take_entry(struct reading *r, bool head, int64_t sum, pawl_mem *mem,
                       pawl_queue_entry *e)
{
    e->note = column_dup(r->stmt, ENTRY_note, mem);
    if (head)
        return true;
    e->data = column_dup(r->stmt, ENTRY_data, mem);
    e->attrs = column_dup(r->stmt, ENTRY_attrs, mem);
    if (sum_fits(r->c, sum, e->id, sum_entry(e)))
        return true;
    damage_note(r->s, "queue entry", e->id);
    return false;
}

/* What a query has gathered so far. */
struct gathering {
    const pawl_entry_query *query;
    pawl_mem *mem;
    LIST(pawl_queue_entry) rows;
    size_t bytes, seen;
    uint64_t last_id;
    int64_t last_key;
    uint64_t lock; /* LOCKED: the one being looked at */
    bool more;
};

/* How far it has come. */
static void keep_place(struct gathering *g, const pawl_queue_entry *e)
{
    const bool ready = g->query->order == PAWL_ENTRIES_READY;
    g->last_id = ready ? e->place : e->id;
    g->last_key = g->lock ? (int64_t)g->lock : ready ? e->priority : e->visible_ms;
}

/* Choose by the terms that no index answers. */
static bool chosen(const pawl_queue_entry *e, const pawl_entry_query *q)
{
    if (q->has_priority && e->priority != q->priority)
        return false;
    if (q->order != PAWL_ENTRIES_BY_ID && q->order != PAWL_ENTRIES_LOCKED)
        return true;
    int state = q->order == PAWL_ENTRIES_LOCKED ? PAWL_QUEUE_LOCKED : q->state - 1;
    return e->qid == q->qid && (state < 0 || e->state == state);
}

/* The row `r` is at; false: it is left for the next page. */
static bool gather_row(struct gathering *g, struct reading *r)
{
    const pawl_entry_query *q = g->query;

    if (g->rows.count == q->limit || g->seen == EXAMINE_MAX ||
        (q->bytes_max && g->rows.count && g->bytes >= q->bytes_max)) {
        g->more = true;
        return false;
    }
    g->seen++;
    pawl_queue_entry *e = list_room(g->mem, &g->rows);
    int64_t sum = column_entry(r->stmt, e);
    keep_place(g, e);
    if (!chosen(e, q) || !take_entry(r, q->heads, sum, g->mem, e))
        return true;
    g->rows.count++;
    g->bytes += e->data.len + e->attrs.len;
    return true;
}

static void column_lock(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_lock *ret)
{
    pawl_str text = column_view(stmt, LOCK_entries);
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
    *ret = (pawl_queue_lock){.number = column_id(stmt, LOCK_number),
                             .qid = column_id(stmt, LOCK_qid),
                             .id = column_dup(stmt, LOCK_id, mem),
                             .created_ms = column_i64(stmt, LOCK_created_ms),
                             .until_ms = column_i64(stmt, LOCK_until_ms),
                             .entries = ids,
                             .entry_count = count};
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The entries of one lock, by id. */
static void gather_lock(struct gathering *g, struct reading *locks)
{
    pawl_queue_lock l;
    struct reading r = {.s = locks->s, .c = locks->c, .rc = SQLITE_DONE};

    column_lock(locks->stmt, g->mem, &l);
    uint64_t *ids = (uint64_t *)(uintptr_t)l.entries;
    qsort(ids, l.entry_count, sizeof *ids, by_number);
    g->lock = l.number;
    uint64_t after = (int64_t)l.number == g->query->after_key ? g->query->after : 0;
    r.stmt = conn_statement(r.c, ST_ENTRY_READ);
    if (!r.stmt)
        locks->rc = SQLITE_NOMEM;
    for (size_t i = 0; r.stmt && i < l.entry_count && !g->more; i++) {
        if (ids[i] <= after)
            continue;
        bind_id(r.stmt, 1, after = ids[i]);
        if (reading_next(&r))
            (void)gather_row(g, &r);
        else if (r.rc != SQLITE_DONE)
            locks->rc = r.rc;
        (void)sqlite3_reset(r.stmt);
    }
}

/* All that `r` has, while there is room. */
static void gather(struct gathering *g, struct reading *r)
{
    const bool locked = g->query->order == PAWL_ENTRIES_LOCKED;

    while (reading_next(r)) {
        if (locked)
            gather_lock(g, r);
        else
            (void)gather_row(g, r);
        if (g->more || r->rc != SQLITE_ROW)
            return;
    }
}

/* Ready and delayed entries: the rest of one priority or time, then those above. */
static enum statement statement_of(const pawl_entry_query *q, int part)
{
    switch (q->order) {
    case PAWL_ENTRIES_READY:
        return part ? ST_ENTRIES_READY_ABOVE : ST_ENTRIES_READY_AT;
    case PAWL_ENTRIES_DELAYED:
        return part ? ST_ENTRIES_DELAYED_ABOVE : ST_ENTRIES_DELAYED_AT;
    case PAWL_ENTRIES_EXPIRING:
        return ST_ENTRIES_EXPIRING;
    case PAWL_ENTRIES_LOCKED:
        return ST_LOCKS_FROM;
    case PAWL_ENTRIES_BY_ID:
        break;
    }
    return ST_ENTRIES_BY_ID;
}

static bool is_start(const pawl_entry_query *q)
{
    return q->after_key == 0 && q->after == 0;
}

static void bind_query(sqlite3_stmt *stmt, const pawl_entry_query *q, int part)
{
    const bool ready = q->order == PAWL_ENTRIES_READY;

    if (q->order == PAWL_ENTRIES_BY_ID) {
        bind_id(stmt, 2, q->after);
        return;
    }
    bind_id(stmt, 1, q->qid);
    if (q->order == PAWL_ENTRIES_EXPIRING)
        return;
    (void)sqlite3_bind_int64(stmt, 2, ready ? q->priority : is_start(q) ? -1 : q->after_key);
    if (part == 0 && q->order != PAWL_ENTRIES_LOCKED)
        bind_id(stmt, 3, ready ? q->place : q->after);
}

/* The parts of a query that can have anything: from *ret up to the number returned. */
static int parts_of(const pawl_entry_query *q, int *ret)
{
    const bool delayed = q->order == PAWL_ENTRIES_DELAYED;

    *ret = delayed && is_start(q);
    return delayed || (q->order == PAWL_ENTRIES_READY && !q->has_priority) ? 2 : 1;
}

pawl_status sqlite_query_entries(pawl_store *base, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr)
{
    struct gathering g = {.query = query, .mem = mem};
    int part, parts = parts_of(query, &part);

    for (; part < parts && !g.more; part++) {
        struct reading r;
        pawl_status status;
        if (!reading_begin(&r, base, statement_of(query, part), READ_A_QUEUE, mem, &status, reterr))
            return status;
        bind_query(r.stmt, query, part);
        gather(&g, &r);
        status = reading_end(&r, reterr);
        if (status != PAWL_OK)
            return status;
    }
    *ret = (pawl_entry_list){.items = g.rows.items,
                             .count = g.rows.count,
                             .more = g.more,
                             .last_id = g.last_id,
                             .last_key = g.last_key};
    return PAWL_OK;
}

pawl_status sqlite_read_entries(pawl_store *base, const uint64_t *ids, size_t count, bool heads,
                                pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    pawl_queue_entry *rows = arena_array(mem, pawl_queue_entry, count + 1);
    size_t found = 0;
    struct reading r;
    pawl_status status;

    if (!reading_begin(&r, base, ST_ENTRY_READ, READ_A_QUEUE, mem, &status, reterr))
        return status;
    r.rc = SQLITE_DONE;
    for (size_t i = 0; i < count; i++) {
        bind_id(r.stmt, 1, ids[i]);
        if (reading_next(&r))
            found += take_entry(&r, heads, column_entry(r.stmt, &rows[found]), mem, &rows[found]);
        else if (r.rc != SQLITE_DONE)
            break;
        (void)sqlite3_reset(r.stmt);
    }
    *ret = (pawl_entry_list){.items = rows, .count = found};
    return reading_end(&r, reterr);
}

pawl_status sqlite_read_locks(pawl_store *base, uint64_t qid, uint32_t limit, pawl_mem *mem,
                              pawl_lock_list *ret, pawl_error *reterr)
{
    struct reading r;
    pawl_status status;
    LIST(pawl_queue_lock) rows = {0};

    if (!reading_begin(&r, base, ST_LOCKS_READ, READ_A_QUEUE, mem, &status, reterr))
        return status;
    bind_id(r.stmt, 1, qid);
    (void)sqlite3_bind_int64(r.stmt, 2, limit ? (int64_t)limit : -1);
    while (reading_next(&r)) {
        column_lock(r.stmt, mem, list_room(mem, &rows));
        rows.count++;
    }
    *ret = (pawl_lock_list){rows.items, rows.count};
    return reading_end(&r, reterr);
}
