/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/bulk.h -- arrays as tables, in two files: how SQLite sees them (bulk.c), and what is
 * in their columns (bulk_columns.c).
 */
#ifndef PAWL_STORE_SQLITE_BULK_H
#define PAWL_STORE_SQLITE_BULK_H

#include "store/sqlite/sqlite.h"

/* Where a statement is in an array. */
struct bulk_cursor {
    sqlite3_vtab_cursor base;
    const struct bulk *bulk;
    const char *row;
    size_t left;
};

static inline const void *bulk_row(const sqlite3_vtab_cursor *cursor)
{
    return ((const struct bulk_cursor *)(const void *)cursor)->row;
}

struct bulk_table {
    const char *name;
    const char *columns;
    int statement; /* reads it, once from beginning to end */
    size_t size;   /* of a row */
    int (*column)(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int at); /* of bulk_row() */
};

extern const struct bulk_table bulk_tables[BULK_COUNT];

#endif
