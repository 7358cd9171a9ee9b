/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/driver.c -- SQLite under the readers of store/sql (cursor.h).
 *
 * A cursor's connection is from the pool (pool.c), its statement one of the
 * connection's prepared ones.  Decoding copies once, into the caller's memory
 * (rows.c), and looks at the check sum.
 */
#include "store/sqlite/sqlite.h"
#include "store/sqlite/sum.h"

/* ---- Statements ------------------------------------------------------------- */

static bool failed(struct sql_cursor *c, int code)
{
    c->step = SQL_STEP_FAILED;
    c->code = code;
    return false;
}

static bool begin(struct sql_cursor *c, int statement, pawl_mem *mem, pawl_status *retstatus,
                  pawl_error *reterr)
{
    struct conn *conn;

    *retstatus = pool_take(sqlite_of(c->store), mem, &conn, reterr);
    if (*retstatus != PAWL_OK)
        return false;
    c->conn = conn;
    c->stmt = conn_statement(conn, statement);
    if (c->stmt)
        return true;
    *retstatus = conn_error(conn, sqlite3_extended_errcode(conn->db), c->what, reterr);
    pool_give(sqlite_of(c->store), conn);
    return false;
}

static bool snapshot(struct sql_cursor *c)
{
    int rc = conn_snapshot(c->conn);

    return rc == SQLITE_OK || failed(c, rc);
}

static void rest(struct sql_cursor *c)
{
    (void)sqlite3_reset(c->stmt);
}

static bool use(struct sql_cursor *c, int statement)
{
    struct conn *conn = c->conn;

    rest(c);
    c->stmt = conn_statement(conn, statement);
    return c->stmt || failed(c, sqlite3_extended_errcode(conn->db));
}

static bool next(struct sql_cursor *c)
{
    int rc = sqlite3_step(c->stmt);

    c->step = rc == SQLITE_ROW ? SQL_STEP_ROW : SQL_STEP_DONE;
    return rc == SQLITE_ROW || (rc != SQLITE_DONE && failed(c, rc));
}

static bool seek(struct sql_cursor *c, uint64_t id)
{
    rest(c);
    bind_id(c->stmt, 1, id);
    return next(c);
}

static pawl_status end(struct sql_cursor *c, pawl_error *reterr)
{
    pawl_status status = PAWL_OK;

    if (c->step == SQL_STEP_FAILED)
        status = conn_error(c->conn, c->code, c->what, reterr);
    rest(c);
    conn_snapshot_end(c->conn);
    pool_give(sqlite_of(c->store), c->conn);
    return status;
}

/* ---- Values ------------------------------------------------------------------ */

static void cursor_put_i64(struct sql_cursor *c, int at, int64_t n)
{
    bind_i64(c->stmt, at, n);
}

static void cursor_put_text(struct sql_cursor *c, int at, pawl_str text)
{
    bind_text(c->stmt, at, text);
}

static int64_t cursor_get_i64(struct sql_cursor *c, int at)
{
    return column_i64(c->stmt, at);
}

static pawl_str cursor_get_view(struct sql_cursor *c, int at)
{
    return column_view(c->stmt, at);
}

/* ---- Rows -------------------------------------------------------------------- */

static enum sql_sight sight(bool fits)
{
    return fits ? SQL_SOUND : SQL_DAMAGED;
}

static enum sql_sight row(struct sql_cursor *c, pawl_mem *mem, pawl_row *ret)
{
    column_row(c->stmt, mem, ret);
    return sight(row_fits(c->conn, c->stmt, ret));
}

static enum sql_sight message(struct sql_cursor *c, pawl_mem *mem, pawl_message *ret)
{
    if (!column_message(c->stmt, mem, ret))
        return SQL_UNREADABLE;
    return sight(message_fits(c->conn, c->stmt, ret));
}

static enum sql_sight work(struct sql_cursor *c, pawl_mem *mem, pawl_work *ret)
{
    column_work(c->stmt, mem, ret);
    return sight(work_fits(c->conn, c->stmt, ret));
}

static void event_place(struct sql_cursor *c, struct sql_event_place *ret)
{
    uint64_t joined = column_id(c->stmt, EVENT_seq);

    *ret = (struct sql_event_place){.uid = column_id(c->stmt, EVENT_uid),
                                    .execution = column_id(c->stmt, EVENT_execution),
                                    .seq = sum_low(joined),
                                    .prev = column_id(c->stmt, EVENT_prev),
                                    .sum = (int64_t)joined >> 32};
}

static enum sql_sight event(struct sql_cursor *c, uint64_t rid, const struct sql_event_place *place,
                            pawl_mem *mem, pawl_event *ret)
{
    sqlite3_stmt *stmt = c->stmt;

    *ret = (pawl_event){
        .rid = rid,
        .execution = place->execution,
        .seq = place->seq,
        .ref = column_id(stmt, EVENT_ref),
        .kind = (int)column_i64(stmt, EVENT_kind),
        .name = column_dup(stmt, EVENT_name, mem),
        .data = column_dup(stmt, EVENT_data, mem),
        .attrs = column_dup(stmt, EVENT_attrs, mem),
        .at_ms = column_i64(stmt, EVENT_at_ms),
    };
    return sight(sum_fits(c->conn, place->sum, rid, sum_event(place->uid, ret)));
}

static void queue(struct sql_cursor *c, pawl_mem *mem, pawl_queue_row *ret)
{
    column_queue(c->stmt, mem, ret);
}

static int64_t entry(struct sql_cursor *c, pawl_queue_entry *ret)
{
    return column_entry(c->stmt, ret);
}

/* A head is read without the data, so its check sum cannot be checked. */
static enum sql_sight entry_rest(struct sql_cursor *c, bool head, int64_t sum, pawl_mem *mem,
                                 pawl_queue_entry *e)
{
    e->note = column_dup(c->stmt, ENTRY_note, mem);
    if (head)
        return SQL_SOUND;
    e->data = column_dup(c->stmt, ENTRY_data, mem);
    e->attrs = column_dup(c->stmt, ENTRY_attrs, mem);
    return sight(sum_fits(c->conn, sum, e->id, sum_entry(e)));
}

static void lock(struct sql_cursor *c, pawl_mem *mem, pawl_queue_lock *ret)
{
    column_lock(c->stmt, mem, ret);
}

static enum sql_sight object(struct sql_cursor *c, pawl_mem *mem, pawl_object *ret)
{
    return sight(column_object(c->stmt, mem, ret));
}

static sql_events *events(struct sql_cursor *c)
{
    return &((struct conn *)c->conn)->events;
}

/* ---- Deleting ----------------------------------------------------------------- */

static uint64_t changes(struct sql_cursor *c)
{
    return (uint64_t)sqlite3_changes(((struct conn *)c->conn)->db);
}

static const struct sql_started started[] = {
    {ST_WORK_DELETE_OF,    2},
    {ST_LOCAL_DELETE,      1},
    {ST_FRESH_DELETE,      1},
    {ST_MESSAGE_DELETE_OF, 2},
};

const struct sql_driver sqlite_driver = {
    .begin = begin,
    .snapshot = snapshot,
    .use = use,
    .rest = rest,
    .next = next,
    .seek = seek,
    .end = end,
    .bind_i64 = cursor_put_i64,
    .bind_text = cursor_put_text,
    .i64 = cursor_get_i64,
    .view = cursor_get_view,
    .row = row,
    .message = message,
    .work = work,
    .event_place = event_place,
    .event = event,
    .queue = queue,
    .entry = entry,
    .entry_rest = entry_rest,
    .lock = lock,
    .object = object,
    .events = events,
    .changes = changes,
    .started = started,
    .started_count = COUNT_OF(started),
};
