/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/bulk_columns.c -- what the columns of our arrays are (bulk.c).
 *
 * The numbers are places in the list of columns beside each function's name in
 * bulk_tables, at the end.  Strings are lent: the rows outlive the statement.
 */
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

/* Sums are apart from the columns, which need no registers of their own. */
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

static int event_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_event *p = bulk_row(cursor);
    const pawl_event *e = p->event;

    switch (at) {
    case 0:
        give_id(ctx, e->rid);
        break;
    case 1:
        give_id(ctx, p->uid);
        break;
    case 2:
        give_id(ctx, e->execution);
        break;
    case 3:
        give_event_sum(ctx, p->uid, e);
        break;
    case 4:
        give_id(ctx, p->prev);
        break;
    case 5:
        sqlite3_result_int(ctx, e->kind);
        break;
    case 6:
        give_id(ctx, e->ref);
        break;
    case 7:
        give_text(ctx, e->name);
        break;
    case 8:
        give_bytes(ctx, e->data);
        break;
    case 9:
        give_bytes(ctx, e->attrs);
        break;
    default:
        sqlite3_result_int64(ctx, e->at_ms);
        break;
    }
    return SQLITE_OK;
}

static int row_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_row *p = bulk_row(cursor);
    const pawl_row *r = p->row;

    switch (at) {
    case 0:
        give_id(ctx, p->uid);
        break;
    case 1:
        give_text(ctx, r->id);
        break;
    case 2:
        give_text(ctx, r->orchestration);
        break;
    case 3:
        give_text(ctx, r->version);
        break;
    case 4:
        sqlite3_result_int(ctx, (int)r->state);
        break;
    case 5:
        give_id(ctx, r->first_rid);
        break;
    case 6:
        sqlite3_result_int64(ctx, r->created_ms);
        break;
    case 7:
        give_bytes(ctx, r->output);
        break;
    case 8:
        give_bytes(ctx, r->custom_status);
        break;
    case 9:
        give_bytes(ctx, r->finding);
        break;
    case 10:
        give_id(ctx, r->parent_uid);
        break;
    case 11:
        give_id(ctx, r->parent_execution);
        break;
    case 12:
        give_id(ctx, r->parent_ref);
        break;
    case 13:
        give_text(ctx, r->parent_id);
        break;
    default:
        give_row_sum(ctx, p->uid, r);
        break;
    }
    return SQLITE_OK;
}

static int head_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct pending_row *p = bulk_row(cursor);

    switch (at) {
    case 0:
        give_id(ctx, p->uid);
        break;
    case 1:
        give_id(ctx, p->row->execution);
        break;
    case 2:
        give_id(ctx, p->row->last_seq);
        break;
    case 3:
        give_id(ctx, p->row->last_rid);
        break;
    default:
        sqlite3_result_int64(ctx, p->row->updated_ms);
        break;
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
    const pawl_queue_entry *e = bulk_row(cursor);

    switch (at) {
    case 0:
        give_id(ctx, e->id);
        break;
    case 1:
        give_id(ctx, e->qid);
        break;
    case 2:
        sqlite3_result_int(ctx, e->state);
        break;
    case 3:
        sqlite3_result_int64(ctx, e->priority);
        break;
    case 4:
        give_id(ctx, e->place);
        break;
    case 5:
        sqlite3_result_int64(ctx, e->visible_ms);
        break;
    case 6:
        sqlite3_result_int64(ctx, e->expires_ms);
        break;
    case 7:
        sqlite3_result_int64(ctx, e->enqueued_ms);
        break;
    case 8:
        sqlite3_result_int64(ctx, e->deliveries);
        break;
    case 9:
        give_entry_sum(ctx, e);
        break;
    case 10:
        give_bytes(ctx, e->note);
        break;
    case 11:
        give_bytes(ctx, e->data);
        break;
    default:
        give_bytes(ctx, e->attrs);
        break;
    }
    return SQLITE_OK;
}

/* Their ids as text. */
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
    const pawl_entry_update *u = bulk_row(cursor);

    switch (at) {
    case 0:
        give_id(ctx, u->id);
        break;
    case 1:
        give_id(ctx, u->qid);
        break;
    case 2:
        sqlite3_result_int(ctx, u->state);
        break;
    case 3:
        give_id(ctx, u->place);
        break;
    case 4:
        sqlite3_result_int64(ctx, u->visible_ms);
        break;
    case 5:
        sqlite3_result_int64(ctx, u->expires_ms);
        break;
    default:
        sqlite3_result_int64(ctx, u->deliveries);
        break;
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
    const pawl_queue_lock *l = bulk_row(cursor);

    switch (at) {
    case 0:
        give_id(ctx, l->qid);
        break;
    case 1:
        give_id(ctx, l->number);
        break;
    case 2:
        give_text(ctx, l->id);
        break;
    case 3:
        sqlite3_result_int64(ctx, l->created_ms);
        break;
    case 4:
        sqlite3_result_int64(ctx, l->until_ms);
        break;
    default:
        give_lock_entries(ctx, l);
        break;
    }
    return SQLITE_OK;
}

/* clang-format off */
const struct bulk_table bulk_tables[BULK_COUNT] = {
    [BULK_ROW] = {"pawl_row", NEW_ROW_COLUMNS, ST_ROW_INSERT, sizeof(struct pending_row), row_column},
    [BULK_HEAD] = {"pawl_head", HEAD_COLUMNS, ST_HEAD_INSERT, sizeof(struct pending_row), head_column},
    [BULK_EVENT] = {"pawl_event", EVENT_COLUMNS, ST_EVENT_INSERT, sizeof(struct pending_event), event_column},
    [BULK_LOCAL] = {"pawl_local", "id,lock_epoch", ST_LOCAL_INSERT, sizeof(struct pending_work), local_column},
    [BULK_FRESH] = {"pawl_fresh", "id,name,lock_epoch", ST_FRESH_INSERT, sizeof(struct pending_work), fresh_column},
    [BULK_ENTRY] = {"pawl_entry", ENTRY_COLUMNS, ST_ENTRY_INSERT, sizeof(pawl_queue_entry), entry_column},
    [BULK_ENTRY_UPDATE] = {"pawl_entry_update", ENTRY_CHANGES, ST_ENTRY_UPDATE, sizeof(pawl_entry_update), update_column},
    [BULK_ENTRY_DROP] = {"pawl_entry_drop", "id", ST_ENTRY_DELETE, sizeof(uint64_t), drop_column},
    [BULK_LOCK] = {"pawl_lock", LOCK_COLUMNS, ST_LOCK_INSERT, sizeof(pawl_queue_lock), lock_column},
};
/* clang-format on */
