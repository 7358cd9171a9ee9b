/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/bulk.c -- arrays of rows as tables, so that one statement writes many rows.
 *
 * One statement per row costs more than the row: of 7,700 instructions for an event, 2,900
 * begin and end its statement.  So the writer has tables that are arrays in memory, and
 * INSERT … SELECT copies a whole array.  They exist on this connection only, not in the
 * file.  These statements are OR FAIL: a statement that SQLite must be able to undo keeps a
 * copy of every page it touches, and here the caller undoes more than the statement.
 *
 * Called by pending.c and queue_round.c inside a transaction; bulk_columns.c has the
 * columns.
 */
#include "store/sqlite/bulk.h"
#include "base/attr.h"

#include <stdio.h>

struct bulk_vtab {
    sqlite3_vtab base;
    struct bulk *bulk;
    struct bulk_cursor cursor; /* one statement, one cursor: no allocation */
};

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **ret, char **reterr)
{
    struct bulk *b = aux;
    char text[256];

    (void)argc, (void)argv, (void)reterr;
    (void)snprintf(text, sizeof text, "CREATE TABLE x(%s)", b->table->columns);
    struct bulk_vtab *t = sqlite3_malloc64(sizeof *t);
    if (!t)
        return SQLITE_NOMEM;
    *t = (struct bulk_vtab){.bulk = b};
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
    struct bulk_vtab *t = CONTAINER_OF(table, struct bulk_vtab, base);

    assert_that(t->bulk->rows && !t->cursor.bulk); /* only inside bulk_run, one at a time */
    t->cursor = (struct bulk_cursor){.bulk = t->bulk};
    *ret = &t->cursor.base;
    return SQLITE_OK;
}

static struct bulk_cursor *cursor_of(sqlite3_vtab_cursor *cursor)
{
    return CONTAINER_OF(cursor, struct bulk_cursor, base);
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    cursor_of(cursor)->bulk = NULL;
    return SQLITE_OK;
}

static int cursor_first(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                        sqlite3_value **argv)
{
    struct bulk_cursor *c = cursor_of(cursor);

    (void)plan, (void)text, (void)argc, (void)argv;
    c->row = c->bulk->rows;
    c->left = c->bulk->count;
    return SQLITE_OK;
}

static int cursor_move(sqlite3_vtab_cursor *cursor)
{
    struct bulk_cursor *c = cursor_of(cursor);

    c->row += c->bulk->table->size;
    c->left--;
    return SQLITE_OK;
}

static int cursor_is_over(sqlite3_vtab_cursor *cursor)
{
    return cursor_of(cursor)->left == 0;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
    const struct bulk_cursor *c = cursor_of(cursor);

    *ret = (sqlite3_int64)(c->bulk->count - c->left);
    return SQLITE_OK;
}

/* Without xCreate the table exists from the beginning, and no second one can be made.  Each table
 * has its own xColumn, because it is called for every column of every row. */
static const sqlite3_module module = {
    .xConnect = table_connect,
    .xDisconnect = table_disconnect,
    .xBestIndex = table_plan,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_first,
    .xNext = cursor_move,
    .xEof = cursor_is_over,
    .xRowid = cursor_rowid,
};

int bulk_set_up(struct conn *c)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < BULK_COUNT && rc == SQLITE_OK; i++) {
        struct bulk *b = &c->bulks[i];
        *b = (struct bulk){.table = &bulk_tables[i], .module = module};
        b->module.xColumn = bulk_tables[i].column;
        rc = sqlite3_create_module_v2(c->db, bulk_tables[i].name, &b->module, b, NULL);
    }
    return rc;
}

int bulk_run(struct conn *c, enum bulk_kind kind, const void *rows, size_t count)
{
    struct bulk *b = &c->bulks[kind];

    assert_that(c->is_writer && b->table == &bulk_tables[kind]);
    assert_that(!b->rows); /* its statement does not run inside itself */
    b->rows = rows;
    b->count = count;
    int rc = count ? conn_run(c, bulk_tables[kind].statement) : SQLITE_OK;
    b->rows = NULL;
    b->count = 0;
    return rc;
}
