/* SPDX-License-Identifier: MIT */
/*
 * store/sql/queue_entries.c -- entries and locks of queues, from the database.
 *
 * Every order has an index but that of locked entries, whose locks name them:
 * it goes from lock to lock.  A page begins where the one before it ended, with
 * one search of the index, so rows with the same time or priority are not gone
 * through again.
 *
 * A database that is far away (cursor.h) is asked for a page of heads, and then for the bytes of
 * those that were chosen: what does not fit stays where it is.  Called from any thread.
 */
#include "base/arena.h"
#include "pawl/queue.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

#include <stdlib.h>

#define EXAMINE_MAX 10000

/* The rest of an entry.  False: it is not what was written, and is left out. */
static bool take_entry(struct sql_cursor *c, bool head, int64_t sum, pawl_mem *mem,
                       pawl_queue_entry *e)
{
    if (c->driver->entry_rest(c, head, sum, mem, e) == SQL_SOUND)
        return true;
    damage_note(c->store, "queue entry", e->id);
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
    bool heads;       /* without their bytes: not wanted, or read later */
    size_t page, got; /* rows asked for, rows that came: fewer mean that there are no others */
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

/* The row `c` is at; false: it is left for the next page. */
static bool gather_row(struct gathering *g, struct sql_cursor *c)
{
    const pawl_entry_query *q = g->query;

    if (g->rows.count == q->limit || g->seen == EXAMINE_MAX ||
        (q->bytes_max && g->rows.count && g->bytes >= q->bytes_max)) {
        g->more = true;
        return false;
    }
    g->seen++;
    pawl_queue_entry *e = list_room(g->mem, &g->rows);
    int64_t sum = c->driver->entry(c, e);
    keep_place(g, e);
    if (!chosen(e, q) || !take_entry(c, g->heads, sum, g->mem, e))
        return true;
    g->rows.count++;
    g->bytes += !g->heads ? e->data.len + e->attrs.len : q->heads ? 0 : e->bytes;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The lock that `locks` is at, its entries by id. */
static void take_lock(struct gathering *g, struct sql_cursor *locks, pawl_queue_lock *ret)
{
    locks->driver->lock(locks, g->mem, ret);
    qsort((uint64_t *)(uintptr_t)ret->entries, ret->entry_count, sizeof *ret->entries, by_number);
}

/* The entries of one lock, sought by `c`; false: it failed. */
static bool gather_lock(struct gathering *g, struct sql_cursor *c, const pawl_queue_lock *l)
{
    uint64_t after = (int64_t)l->number == g->query->after_key ? g->query->after : 0;

    g->lock = l->number;
    for (size_t i = 0; i < l->entry_count && !g->more; i++) {
        if (l->entries[i] <= after)
            continue;
        if (cursor_seek(c, after = l->entries[i]))
            (void)gather_row(g, c);
        if (c->step == SQL_STEP_FAILED)
            return false;
    }
    return true;
}

/* What will be sought: the entries of all these locks. */
static void foresee_entries(struct gathering *g, struct sql_cursor *c, const pawl_queue_lock *locks,
                            size_t count)
{
    size_t n = 0, all = 0;

    for (size_t i = 0; i < count; i++)
        all += locks[i].entry_count;
    uint64_t *ids = arena_array(g->mem, uint64_t, all + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < locks[i].entry_count; k++)
            ids[n++] = locks[i].entries[k];
    cursor_foresee(c, ids, n);
}

/* Locks one by one; of a database far away all of the page first, and then all of their entries. */
static void gather_locks(struct gathering *g, struct sql_cursor *locks)
{
    struct sql_cursor c;
    LIST(pawl_queue_lock) held = {0};
    bool good = cursor_beside(&c, locks, ST_ENTRY_READ);

    if (good)
        cursor_further(&c, g->heads);
    while (good && !g->more && cursor_next(locks)) {
        pawl_queue_lock *l = list_room(g->mem, &held);
        take_lock(g, locks, l);
        g->got++;
        if (cursor_is_far(locks))
            held.count++;
        else
            good = gather_lock(g, &c, l);
    }
    if (good && held.count)
        foresee_entries(g, &c, held.items, held.count);
    for (size_t i = 0; good && i < held.count && !g->more; i++)
        good = gather_lock(g, &c, &held.items[i]);
    if (!good) {
        locks->step = SQL_STEP_FAILED;
        locks->code = c.code;
    }
    cursor_rest(&c);
}

/* All that `c` has, while there is room. */
static void gather(struct gathering *g, struct sql_cursor *c)
{
    if (g->query->order == PAWL_ENTRIES_LOCKED) {
        gather_locks(g, c);
        return;
    }
    while (!g->more && cursor_next(c)) {
        g->got++;
        (void)gather_row(g, c);
    }
}

/* Ready and delayed entries: the rest of one priority or time, then those above. */
static int statement_of(const pawl_entry_query *q, int part)
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

static void bind_query(struct sql_cursor *c, const pawl_entry_query *q, int part)
{
    const bool ready = q->order == PAWL_ENTRIES_READY;

    if (q->order == PAWL_ENTRIES_BY_ID) {
        cursor_bind_id(c, 1, q->after);
        return;
    }
    cursor_bind_id(c, 1, q->qid);
    if (q->order == PAWL_ENTRIES_EXPIRING)
        return;
    cursor_bind_i64(c, 2, ready ? q->priority : is_start(q) ? -1 : q->after_key);
    if (part == 0 && q->order != PAWL_ENTRIES_LOCKED)
        cursor_bind_id(c, 3, ready ? q->place : q->after);
}

/* The parts of a query that can have anything: from *ret up to the number returned. */
static int parts_of(const pawl_entry_query *q, int *ret)
{
    const bool delayed = q->order == PAWL_ENTRIES_DELAYED;

    *ret = delayed && is_start(q);
    return delayed || (q->order == PAWL_ENTRIES_READY && !q->has_priority) ? 2 : 1;
}

/* A page of one part. */
static pawl_status gather_part(pawl_store *s, struct gathering *g, int part, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;

    if (!cursor_begin(&c, s, statement_of(g->query, part), READ_A_QUEUE, g->mem, &status, reterr))
        return status;
    bind_query(&c, g->query, part);
    if (g->query->order != PAWL_ENTRIES_LOCKED)
        cursor_further(&c, g->heads);
    cursor_further(&c, (int64_t)g->page);
    g->got = 0;
    gather(g, &c);
    return cursor_end(&c, reterr);
}

/* Did a page end before the part did?  Then `at` is where the next one begins, and it is longer:
 * most of this one was not chosen. */
static bool turn_page(struct gathering *g, pawl_entry_query *at)
{
    if (!g->page || g->got < g->page || g->more || at->order == PAWL_ENTRIES_EXPIRING)
        return false;
    const bool locked =
        at->order == PAWL_ENTRIES_LOCKED; /* a lock may have no entry that is there */
    at->after_key = locked ? (int64_t)g->lock : g->last_key;
    at->after = locked ? UINT64_MAX : g->last_id;
    if (at->order == PAWL_ENTRIES_READY) {
        at->priority = g->last_key;
        at->place = g->last_id + 1;
    }
    g->page = g->page * 4 < EXAMINE_MAX ? g->page * 4 : EXAMINE_MAX + 1;
    return true;
}

/* The bytes of what was chosen; what has gone meanwhile is left out. */
static pawl_status gather_bytes(pawl_store *s, struct gathering *g, pawl_error *reterr)
{
    uint64_t *ids = arena_array(g->mem, uint64_t, g->rows.count + 1);
    struct sql_cursor c;
    pawl_status status;
    size_t found = 0;

    if (!cursor_begin(&c, s, ST_ENTRY_READ, READ_A_QUEUE, g->mem, &status, reterr))
        return status;
    for (size_t i = 0; i < g->rows.count; i++)
        ids[i] = g->rows.items[i].id;
    cursor_further(&c, false);
    cursor_foresee(&c, ids, g->rows.count);
    for (size_t i = 0; i < g->rows.count && c.step != SQL_STEP_FAILED; i++) {
        pawl_queue_entry e = g->rows.items[i];
        if (cursor_seek(&c, e.id) && take_entry(&c, false, 0, g->mem, &e))
            g->rows.items[found++] = e;
    }
    g->rows.count = found;
    return cursor_end(&c, reterr);
}

pawl_status sql_query_entries(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                              pawl_entry_list *ret, pawl_error *reterr)
{
    const bool far = ((const struct sql_store *)(const void *)s)->driver->further;
    pawl_entry_query at = *query;
    struct gathering g = {.query = &at, .mem = mem, .heads = query->heads || far};
    int part, parts = parts_of(query, &part);
    pawl_status status = PAWL_OK;

    g.page = far ? (size_t)query->limit + 1 : 0;
    for (; part < parts && !g.more && status == PAWL_OK; part++) {
        status = gather_part(s, &g, part, reterr);
        if (status == PAWL_OK && turn_page(&g, &at))
            part = -1;
    }
    if (status == PAWL_OK && far && !query->heads && g.rows.count)
        status = gather_bytes(s, &g, reterr);
    if (status == PAWL_OK)
        *ret = (pawl_entry_list){.items = g.rows.items,
                                 .count = g.rows.count,
                                 .more = g.more,
                                 .last_id = g.last_id,
                                 .last_key = g.last_key};
    return status;
}

pawl_status sql_read_entries(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                             pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    pawl_queue_entry *rows = arena_array(mem, pawl_queue_entry, count + 1);
    size_t found = 0;
    struct sql_cursor c;
    pawl_status status;

    if (!cursor_begin(&c, s, ST_ENTRY_READ, READ_A_QUEUE, mem, &status, reterr))
        return status;
    cursor_further(&c, heads);
    cursor_foresee(&c, ids, count);
    for (size_t i = 0; i < count && c.step != SQL_STEP_FAILED; i++) {
        if (cursor_seek(&c, ids[i]))
            found += take_entry(&c, heads, c.driver->entry(&c, &rows[found]), mem, &rows[found]);
    }
    *ret = (pawl_entry_list){.items = rows, .count = found};
    return cursor_end(&c, reterr);
}

pawl_status sql_read_locks(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                           pawl_lock_list *ret, pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    LIST(pawl_queue_lock) rows = {0};

    if (!cursor_begin(&c, s, ST_LOCKS_READ, READ_A_QUEUE, mem, &status, reterr))
        return status;
    cursor_bind_id(&c, 1, qid);
    cursor_bind_i64(&c, 2, limit ? (int64_t)limit : INT64_MAX);
    while (cursor_next(&c)) {
        c.driver->lock(&c, mem, list_room(mem, &rows));
        rows.count++;
    }
    *ret = (pawl_lock_list){rows.items, rows.count};
    return cursor_end(&c, reterr);
}
