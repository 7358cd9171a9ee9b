/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/bulk_columns.c -- the columns of the arrays of bulk.c.
 *
 * Each function is a switch over the columns of a list (store/sql/columns.h), whose names are in
 * bulk_tables, at the end.  Strings are lent: the rows outlive the statement.
 */
#include "store/sql/columns.h"
#include "store/sqlite/bulk.h"
#include "store/sqlite/sum.h"

static void give_id(sqlite3_context *ctx, uint64_t id)
{
    sqlite3_result_int64(ctx, (int64_t)id);
}

static void give_text(sqlite3_context *ctx, pawl_str s)
{
    sqlite3_result_text64(ctx, s.len ? s.ptr : "", s.len, SQLITE_STATIC, SQLITE_UTF8);
}

static void give_bytes(sqlite3_context *ctx, pawl_str s)
{
    if (bytes_are_text(s))
        give_text(ctx, s);
    else
        sqlite3_result_blob64(ctx, s.ptr, s.len, SQLITE_STATIC);
}

/* Not inlined: the switch over the columns then needs no registers for the sum. */
static NOINLINE void give_event_sum(sqlite3_context *ctx, uint64_t uid, const pawl_event *e)
{
    give_id(ctx, sum_join(e->seq, sum_event(uid, e)));
}

static NOINLINE void give_row_sum(sqlite3_context *ctx, uint64_t uid, const pawl_row *r)
{
    sqlite3_result_int64(ctx, sum_row(uid, r));
}

static NOINLINE void give_entry_sum(sqlite3_context *ctx, const pawl_queue_entry *e)
{
    give_id(ctx, sum_join(e->bytes, sum_entry(e)));
}

/* A case of the switch: hand the value of a column to SQLite.  `r` is the row, `p` the values beside
 * it, and `key` the one of the two that has the key.  Nothing is read before the switch. */
/* clang-format off */
#define GIVE(place, use, type, column) case place: GIVE_##type(VALUE_##use(column)); break;
#define VALUE_KEY(column)     key->column
#define VALUE_BESIDE(column)  p->column
#define VALUE_FIXED(column)   r->column
#define VALUE_CHANGES(column) r->column
#define VALUE_LATEST(column)  r->column
#define GIVE_PRIMARY(v)  give_id(ctx, v)
#define GIVE_ID(v)       give_id(ctx, v)
#define GIVE_I64(v)      sqlite3_result_int64(ctx, v)
#define GIVE_U32(v)      sqlite3_result_int64(ctx, v)
#define GIVE_INT(v)      sqlite3_result_int(ctx, v)
#define GIVE_STATE(v)    sqlite3_result_int(ctx, (int)(v))
#define GIVE_TEXT(v)     give_text(ctx, v)
#define GIVE_NAME(v)     give_text(ctx, v)
#define GIVE_BYTES(v)    give_bytes(ctx, v)
#define GIVE_IDS(v)      give_lock_entries(ctx, r)
#define GIVE_SUM(v)      give_row_sum(ctx, p->uid, r)
#define GIVE_JOINED(v)   give_joined(ctx, r)

#define GIVE_ROW(position, use, type, column, note)   GIVE(ROW_##column, use, type, column)
#define GIVE_HEAD(position, use, type, column, note)  GIVE(HEAD_##column, use, type, column)
#define GIVE_EVENT(position, use, type, column, note) GIVE(EVENT_##column, use, type, column)
#define GIVE_ENTRY(position, use, type, column, note) GIVE(ENTRY_##column, use, type, column)
#define GIVE_LOCK(position, use, type, column, note)  GIVE(LOCK_##column, use, type, column)
#define GIVE_CHANGE(position, use, type, column, note)                                             \
    SQL_CHANGED(GIVE_CHANGE_, position, use, type, column)
#define GIVE_CHANGE_(position, use, type, column, note) GIVE(CHANGE_##column, use, type, column)
/* clang-format on */

static int event_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_event *p = bulk_row(cursor);
    const pawl_event *r = p->event, *key = r;

#define give_joined(ctx, r) give_event_sum(ctx, p->uid, r)
    switch (at) {
        SQL_HISTORY(GIVE_EVENT)
    default:
        __builtin_unreachable();
    }
#undef give_joined
    return SQLITE_OK;
}

static int row_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_row *p = bulk_row(cursor), *key = p;
    const pawl_row *r = p->row;

    switch (at) {
        SQL_INSTANCE(GIVE_ROW)
    default:
        __builtin_unreachable();
    }
    return SQLITE_OK;
}

static int head_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_row *p = bulk_row(cursor), *key = p;
    const pawl_row *r = p->row;

    switch (at) {
        SQL_HEAD(GIVE_HEAD)
    default:
        __builtin_unreachable();
    }
    return SQLITE_OK;
}

static int local_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_work *p = bulk_row(cursor);

    give_id(ctx, at == 0 ? p->id : p->lock_epoch);
    return SQLITE_OK;
}

static int fresh_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_work *p = bulk_row(cursor);

    if (at == 1)
        give_text(ctx, p->name);
    else
        give_id(ctx, at == 0 ? p->id : p->lock_epoch);
    return SQLITE_OK;
}

static int entry_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const pawl_queue_entry *r = bulk_row(cursor), *key = r;

#define give_joined(ctx, r) give_entry_sum(ctx, r)
    switch (at) {
        SQL_ENTRY(GIVE_ENTRY)
    default:
        __builtin_unreachable();
    }
#undef give_joined
    return SQLITE_OK;
}

/* The ids of a lock's entries as text. */
static void give_lock_entries(sqlite3_context *ctx, const pawl_queue_lock *l)
{
    char few[LOCK_TEXT_BYTES(10)];
    char *text = l->entry_count > 10 ? sqlite3_malloc64(LOCK_TEXT_BYTES(l->entry_count)) : few;

    if (!text) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    size_t len = lock_entries_text(text, l);
    sqlite3_result_text64(ctx, text, len, text == few ? SQLITE_TRANSIENT : sqlite3_free,
                          SQLITE_UTF8);
}

static int update_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const pawl_entry_update *r = bulk_row(cursor);

    switch (at) {
    case CHANGE_id:
        give_id(ctx, r->id);
        break;
        SQL_ENTRY(GIVE_CHANGE)
    default:
        __builtin_unreachable();
    }
    return SQLITE_OK;
}

static int drop_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    (void)at;
    give_id(ctx, *(const uint64_t *)bulk_row(cursor));
    return SQLITE_OK;
}

static int lock_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const pawl_queue_lock *r = bulk_row(cursor), *key = r;

    switch (at) {
        SQL_LOCK(GIVE_LOCK)
    default:
        __builtin_unreachable();
    }
    return SQLITE_OK;
}

/* clang-format off */
const struct bulk_table bulk_tables[BULK_COUNT] = {
    [BULK_ROW] = {"pawl_row", SQL_INSTANCE(SQL_NAMES), ST_ROW_INSERT, sizeof(struct pending_row), row_column},
    [BULK_HEAD] = {"pawl_head", SQL_HEAD(SQL_NAMES), ST_HEAD_INSERT, sizeof(struct pending_row), head_column},
    [BULK_EVENT] = {"pawl_event", SQL_HISTORY(SQL_NAMES), ST_EVENT_INSERT, sizeof(struct pending_event), event_column},
    [BULK_LOCAL] = {"pawl_local", "id,lock_epoch", ST_LOCAL_INSERT, sizeof(struct pending_work), local_column},
    [BULK_FRESH] = {"pawl_fresh", "id,name,lock_epoch", ST_FRESH_INSERT, sizeof(struct pending_work), fresh_column},
    [BULK_ENTRY] = {"pawl_entry", SQL_ENTRY(SQL_NAMES), ST_ENTRY_INSERT, sizeof(pawl_queue_entry), entry_column},
    [BULK_ENTRY_UPDATE] = {"pawl_entry_update", ENTRY_CHANGES, ST_ENTRY_UPDATE, sizeof(pawl_entry_update), update_column},
    [BULK_ENTRY_DROP] = {"pawl_entry_drop", "id", ST_ENTRY_DELETE, sizeof(uint64_t), drop_column},
    [BULK_LOCK] = {"pawl_lock", SQL_LOCK(SQL_NAMES), ST_LOCK_INSERT, sizeof(pawl_queue_lock), lock_column},
};
/* clang-format on */
