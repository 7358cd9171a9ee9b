/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/history.c -- reading chains of events.
 *
 * History is in commit order; the instance row (or that of a closed execution)
 * knows the last event of an execution and every event the one before it.  So
 * reading walks backwards, and checks at each hop that the row belongs here: the
 * uid, the execution, and a seq one smaller.  What does not fit is CORRUPT and
 * named; it concerns this instance only.
 *
 *     last_rid -> row 97, seq 3 --prev--> row 61, seq 2 --prev--> row 60, seq 1, prev 0
 *
 * Every MARK_EVERYth event has a row in `mark`, so that a page in the middle
 * starts at most that many hops behind its end.
 */
#include "base/limits.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/sum.h"

struct chain {
    uint64_t uid;
    uint64_t execution;
    uint64_t seq; /* of the row expected next */
    uint64_t rid; /* its row */
};

/* What a row says of its place, and its check sum. */
struct place_of_row {
    uint64_t uid;
    uint64_t execution;
    uint64_t seq;
    uint64_t prev;
    int64_t sum;
};

static int find_head(struct conn *c, struct chain *at);
static int find_mark(struct conn *c, uint64_t seq, struct chain *at);
static pawl_status walk(struct sqlite_store *s, struct conn *c, struct chain *at,
                        uint64_t after_seq, uint64_t last_seq, pawl_mem *mem, pawl_error *reterr);

pawl_status sqlite_read_history(pawl_store *base, uint64_t uid, uint64_t execution,
                                uint64_t after_seq, uint32_t limit, pawl_mem *mem,
                                pawl_event_list *ret, pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct chain at = {.uid = uid, .execution = execution};
    struct conn *c;

    pawl_status status = pool_take(s, mem, &c, reterr);
    if (status != PAWL_OK)
        return status;
    vec_reset(&c->events);
    int rc = conn_snapshot(c);
    if (rc == SQLITE_OK)
        rc = find_head(c, &at);
    uint64_t last_seq = at.seq;
    if (limit && at.seq > after_seq && at.seq - after_seq > limit) {
        last_seq = after_seq + limit;
        if (rc == SQLITE_OK)
            rc = find_mark(c, last_seq, &at);
    }
    if (rc != SQLITE_OK)
        status = conn_error(c, rc, "read a history", reterr);
    else
        status = walk(s, c, &at, after_seq, last_seq, mem, reterr);
    size_t count = c->events.count;
    if (status == PAWL_OK) {
        pawl_event *items = arena_alloc(mem, count * sizeof *items);
        for (size_t i = 0; i < count; i++)
            items[i] = c->events.items[count - 1 - i];
        *ret = (pawl_event_list){.items = items, .count = count};
    }
    conn_snapshot_end(c);
    pool_give(s, c);
    return status;
}

/* Two numbers by uid and execution (and a third parameter when not 0). */
static int find_two(struct conn *c, enum statement which, struct chain *at, uint64_t third)
{
    sqlite3_stmt *stmt = conn_statement(c, which);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    bind_id(stmt, 1, at->uid);
    bind_id(stmt, 2, at->execution);
    if (third)
        bind_id(stmt, 3, third);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        at->seq = column_id(stmt, 0);
        at->rid = column_id(stmt, 1);
    }
    (void)sqlite3_reset(stmt);
    return rc;
}

/* The last event; seq 0 when this execution has none. */
static int find_head(struct conn *c, struct chain *at)
{
    int rc = find_two(c, ST_CHAIN_HEAD, at, 0);

    if (rc == SQLITE_DONE)
        rc = find_two(c, ST_CHAIN_HEAD_CLOSED, at, 0);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Start at the first mark from `seq` on; without one stay at the head. */
static int find_mark(struct conn *c, uint64_t seq, struct chain *at)
{
    int rc = find_two(c, ST_MARK_AFTER, at, seq);

    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static struct place_of_row column_place(sqlite3_stmt *stmt)
{
    uint64_t joined = column_id(stmt, EVENT_seq);

    return (struct place_of_row){.uid = column_id(stmt, EVENT_uid),
                                 .execution = column_id(stmt, EVENT_execution),
                                 .seq = sum_low(joined),
                                 .prev = column_id(stmt, EVENT_prev),
                                 .sum = (int64_t)joined >> 32};
}

static pawl_status missing(const struct chain *at, pawl_error *reterr)
{
    error_set(reterr, PAWL_CORRUPT,
              "history row %llu is missing, expected event %llu of uid %llu execution %llu",
              (unsigned long long)at->rid, (unsigned long long)at->seq, (unsigned long long)at->uid,
              (unsigned long long)at->execution);
    return PAWL_CORRUPT;
}

static pawl_status misfit(const struct place_of_row *row, const struct chain *at,
                          pawl_error *reterr)
{
    error_set(reterr, PAWL_CORRUPT,
              "history row %llu is event %llu of uid %llu execution %llu with prev %llu, "
              "expected event %llu of uid %llu execution %llu",
              (unsigned long long)at->rid, (unsigned long long)row->seq,
              (unsigned long long)row->uid, (unsigned long long)row->execution,
              (unsigned long long)row->prev, (unsigned long long)at->seq,
              (unsigned long long)at->uid, (unsigned long long)at->execution);
    return PAWL_CORRUPT;
}

static bool fits(const struct place_of_row *row, const struct chain *at)
{
    return row->uid == at->uid && row->execution == at->execution && row->seq == at->seq &&
           (at->seq == 1) == (row->prev == 0) && row->prev < at->rid;
}

static pawl_status take_event(struct sqlite_store *s, struct conn *c, sqlite3_stmt *stmt,
                              uint64_t rid, const struct place_of_row *row, pawl_mem *mem,
                              pawl_event *ret, pawl_error *reterr)
{
    *ret = (pawl_event){
        .rid = rid,
        .execution = row->execution,
        .seq = row->seq,
        .ref = column_id(stmt, EVENT_ref),
        .kind = (int)column_i64(stmt, EVENT_kind),
        .name = column_dup(stmt, EVENT_name, mem),
        .data = column_dup(stmt, EVENT_data, mem),
        .attrs = column_dup(stmt, EVENT_attrs, mem),
        .at_ms = column_i64(stmt, EVENT_at_ms),
    };
    return sum_fits(c, row->sum, rid, sum_event(row->uid, ret))
               ? PAWL_OK
               : damage_refuse(s, "history row", rid, reterr);
}

/* Events last_seq down to after_seq + 1 into c->events; `at` may start later. */
static pawl_status walk(struct sqlite_store *s, struct conn *c, struct chain *at,
                        uint64_t after_seq, uint64_t last_seq, pawl_mem *mem, pawl_error *reterr)
{
    sqlite3_stmt *stmt = conn_statement(c, ST_EVENT_READ);

    if (!stmt)
        return conn_error(c, sqlite3_extended_errcode(c->db), "read a history", reterr);
    pawl_status status = PAWL_OK;
    while (status == PAWL_OK && at->seq > after_seq) {
        bind_id(stmt, 1, at->rid);
        int rc = sqlite3_step(stmt);
        struct place_of_row row = {0};
        pawl_event *slot;
        if (rc == SQLITE_ROW)
            row = column_place(stmt);
        if (rc != SQLITE_ROW)
            status = rc == SQLITE_DONE ? missing(at, reterr)
                                       : conn_error(c, rc, "read a history", reterr);
        else if (!fits(&row, at))
            status = misfit(&row, at, reterr);
        else if (at->seq > last_seq)
            ; /* behind the page: only checked */
        else if ((slot = vec_push(&c->events)))
            status = take_event(s, c, stmt, at->rid, &row, mem, slot, reterr);
        else
            status = conn_error(c, SQLITE_NOMEM, "read a history", reterr);
        if (status == PAWL_OK) {
            at->rid = row.prev;
            at->seq--;
        }
        (void)sqlite3_reset(stmt);
    }
    return status;
}

pawl_status sqlite_read_event(pawl_store *base, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                              pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct conn *c;

    pawl_status status = pool_take(s, mem, &c, reterr);
    if (status != PAWL_OK)
        return status;
    sqlite3_stmt *stmt = conn_statement(c, ST_EVENT_READ);
    int rc = stmt ? SQLITE_OK : sqlite3_extended_errcode(c->db);
    if (stmt) {
        bind_id(stmt, 1, rid);
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW) {
            struct place_of_row row = column_place(stmt);
            status = take_event(s, c, stmt, rid, &row, mem, ret, reterr);
        }
        (void)sqlite3_reset(stmt);
    }
    if (rc == SQLITE_DONE) {
        status = PAWL_NOT_FOUND;
        error_set(reterr, status, "there is no event with rid %llu", (unsigned long long)rid);
    } else if (rc != SQLITE_ROW) {
        status = conn_error(c, rc, "read an event", reterr);
    }
    pool_give(s, c);
    return status;
}
