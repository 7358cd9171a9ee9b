/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/bulk.h -- between the two halves of arrays as tables: how SQLite sees them
 * (bulk.c), and what is in their columns (bulk_columns.c).
 */
#ifndef PAWL_STORE_SQLITE_BULK_H
#define PAWL_STORE_SQLITE_BULK_H

#include "store/sqlite/sqlite.h"

struct bulk_table {
    const char *name;
    const char *columns;
    enum statement statement; /* reads it, once from beginning to end */
    size_t size;              /* of a row */
    void (*column)(sqlite3_context *ctx, const void *row, int at);
};

extern const struct bulk_table bulk_tables[BULK_COUNT];

#endif
