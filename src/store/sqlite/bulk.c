/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/bulk.c -- rows of ours as tables, so that many are one statement.
 *
 * A statement of its own for each row costs more than the row: of 7,700 instructions
 * for an event 2,900 are the beginning and the end of its statement.  So the writer has
 * tables that are arrays in memory, and INSERT … SELECT copies one of them whole.  They
 * exist on this connection alone; the file knows nothing of them.  Those statements are
 * OR FAIL: one that may stop in the middle and be taken back otherwise keeps a copy of
 * every page it touches; here the caller takes back more than that statement.
 *
 * Events and work that was never tried wait in `pending` while the rounds of a group are
 * applied, and are written together.  Nobody may look for such a row before:
 * pending_before() writes them out when a statement could meet one.  All ids come from
 * one counter, so "could" is a comparison.
 *
 * Invariants: pending is empty before a group begins and after it was written or rolled
 * back; pointers in it live as long as the rounds.  Called by round.c, round_work.c,
 * queue_round.c and commit.c inside a transaction.
 */
#include "base/attr.h"
#include "store/sqlite/round.h"

#include <stdio.h>

/* ---- What the columns are -------------------------------------------------- */

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

static void event_column(sqlite3_context *ctx, const void *row, int at)
{
    const struct pending_event *p = row;
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
        give_id(ctx, e->seq);
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
}

static void local_column(sqlite3_context *ctx, const void *row, int at)
{
    const struct pending_work *p = row;

    give_id(ctx, at == 0 ? p->id : p->lock_epoch);
}

static void fresh_column(sqlite3_context *ctx, const void *row, int at)
{
    const struct pending_work *p = row;

    if (at == 1)
        give_text(ctx, p->name);
    else
        give_id(ctx, at == 0 ? p->id : p->lock_epoch);
}

static void entry_column(sqlite3_context *ctx, const void *row, int at)
{
    const pawl_queue_entry *e = row;

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
        give_id(ctx, e->bytes);
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

static void update_column(sqlite3_context *ctx, const void *row, int at)
{
    const pawl_entry_update *u = row;

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
}

static void drop_column(sqlite3_context *ctx, const void *row, int at)
{
    (void)at;
    give_id(ctx, *(const uint64_t *)row);
}

static void lock_column(sqlite3_context *ctx, const void *row, int at)
{
    const pawl_queue_lock *l = row;

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
}

/* The order of enum bulk_kind, and of the statements' columns. */
static const struct bulk_table {
    const char *name;
    const char *columns;
    enum statement statement;
    size_t size;
    void (*column)(sqlite3_context *ctx, const void *row, int at);
} tables[BULK_COUNT] = {
    [BULK_EVENT] = {"pawl_event",        "(" EVENT_COLUMNS ")",  ST_EVENT_INSERT,
                    sizeof(struct pending_event),                                                              event_column },
    [BULK_LOCAL] = {"pawl_local",        "(id,lock_epoch)",      ST_LOCAL_INSERT, sizeof(struct pending_work),
                    local_column                                                                                            },
    [BULK_FRESH] = {"pawl_fresh",        "(id,name,lock_epoch)", ST_FRESH_INSERT,
                    sizeof(struct pending_work),                                                               fresh_column },
    [BULK_ENTRY] = {"pawl_entry",        "(" ENTRY_COLUMNS ")",  ST_ENTRY_INSERT, sizeof(pawl_queue_entry),
                    entry_column                                                                                            },
    [BULK_ENTRY_UPDATE] = {"pawl_entry_update", "(" ENTRY_CHANGES ")",  ST_ENTRY_UPDATE,
                    sizeof(pawl_entry_update),                                                                 update_column},
    [BULK_ENTRY_DROP] = {"pawl_entry_drop",   "(id)",                 ST_ENTRY_DELETE, sizeof(uint64_t),            drop_column  },
    [BULK_LOCK] = {"pawl_lock",         "(" LOCK_COLUMNS ")",   ST_LOCK_INSERT,  sizeof(pawl_queue_lock),
                    lock_column                                                                                             },
    [BULK_LOCK_DROP] = {"pawl_lock_drop",    "(qid,number)",         ST_LOCK_DELETE,  sizeof(pawl_queue_lock),
                    lock_column                                                                                             },
};

/* ---- A table in memory, as SQLite sees it ------------------------------------ */

struct table {
    sqlite3_vtab base;
    struct bulk *bulk;
    struct cursor {
        sqlite3_vtab_cursor base;
        const struct bulk *bulk;
        size_t at;
    } cursor; /* one statement, one cursor: no allocation */
};

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **ret, char **reterr)
{
    struct bulk *b = aux;
    char text[256];

    (void)argc, (void)argv, (void)reterr;
    (void)snprintf(text, sizeof text, "CREATE TABLE x%s", b->table->columns);
    struct table *t = sqlite3_malloc64(sizeof *t);
    if (!t)
        return SQLITE_NOMEM;
    *t = (struct table){.bulk = b};
    int rc = sqlite3_declare_vtab(db, text);
    if (rc == SQLITE_OK)
        *ret = &t->base;
    else
        sqlite3_free(t);
    return rc;
}

static int table_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int table_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1;
    info->estimatedRows = 32;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
    struct table *t = CONTAINER_OF(table, struct table, base);

    t->cursor = (struct cursor){.bulk = t->bulk};
    *ret = &t->cursor.base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return SQLITE_OK;
}

static int cursor_first(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                        sqlite3_value **argv)
{
    (void)plan, (void)text, (void)argc, (void)argv;
    CONTAINER_OF(cursor, struct cursor, base)->at = 0;
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    CONTAINER_OF(cursor, struct cursor, base)->at++;
    return SQLITE_OK;
}

static int cursor_is_over(sqlite3_vtab_cursor *cursor)
{
    const struct cursor *c = CONTAINER_OF(cursor, struct cursor, base);

    return c->at >= c->bulk->count;
}

static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at)
{
    const struct cursor *c = CONTAINER_OF(cursor, struct cursor, base);
    const struct bulk_table *t = c->bulk->table;

    t->column(ctx, (const char *)c->bulk->rows + c->at * t->size, at);
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)CONTAINER_OF(cursor, struct cursor, base)->at;
    return SQLITE_OK;
}

/* No xCreate: the table is there without being made, and nobody can make another. */
static const sqlite3_module module = {
    .xConnect = table_connect,
    .xDisconnect = table_disconnect,
    .xBestIndex = table_plan,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_first,
    .xNext = cursor_next,
    .xEof = cursor_is_over,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

int bulk_set_up(struct conn *c)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < BULK_COUNT && rc == SQLITE_OK; i++) {
        c->bulks[i] = (struct bulk){.table = &tables[i]};
        rc = sqlite3_create_module_v2(c->db, tables[i].name, &module, &c->bulks[i], NULL);
    }
    return rc;
}

int bulk_run(struct conn *c, enum bulk_kind kind, const void *rows, size_t count)
{
    struct bulk *b = &c->bulks[kind];

    b->rows = rows;
    b->count = count;
    int rc = count ? conn_run(c, tables[kind].statement) : SQLITE_OK;
    b->rows = NULL;
    b->count = 0;
    return rc;
}

/* ---- Rows that wait for the end of their group -------------------------------- */

static void note_lowest(struct pending *p, uint64_t id)
{
    if (p->lowest == 0 || id < p->lowest)
        p->lowest = id;
}

int pending_add_event(struct sqlite_store *s, uint64_t uid, const pawl_event *e, uint64_t prev)
{
    struct pending_event *p = vec_push(&s->pending.events);

    if (!p)
        return SQLITE_NOMEM;
    *p = (struct pending_event){.event = e, .uid = uid, .prev = prev};
    note_lowest(&s->pending, e->rid);
    return SQLITE_OK;
}

int pending_add_work(struct sqlite_store *s, const pawl_work *w)
{
    bool local = w->lock_epoch == s->fence.epoch;
    struct pending_work *p = local ? vec_push(&s->pending.local) : vec_push(&s->pending.fresh);

    if (!p)
        return SQLITE_NOMEM;
    *p = (struct pending_work){.id = w->id, .lock_epoch = w->lock_epoch, .name = w->name};
    note_lowest(&s->pending, w->id);
    return SQLITE_OK;
}

void pending_forget(struct sqlite_store *s)
{
    vec_reset(&s->pending.events);
    vec_reset(&s->pending.local);
    vec_reset(&s->pending.fresh);
    s->pending.lowest = 0;
}

int pending_write(struct sqlite_store *s)
{
    struct pending *p = &s->pending;
    int rc = bulk_run(&s->writer, BULK_EVENT, p->events.items, p->events.count);

    if (rc == SQLITE_OK)
        rc = bulk_run(&s->writer, BULK_LOCAL, p->local.items, p->local.count);
    if (rc == SQLITE_OK)
        rc = bulk_run(&s->writer, BULK_FRESH, p->fresh.items, p->fresh.count);
    pending_forget(s);
    return rc;
}

int pending_before(struct sqlite_store *s, uint64_t id)
{
    return s->pending.lowest && id >= s->pending.lowest ? pending_write(s) : SQLITE_OK;
}

void pending_deinit(struct sqlite_store *s)
{
    vec_deinit(&s->pending.events);
    vec_deinit(&s->pending.local);
    vec_deinit(&s->pending.fresh);
}
