/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/ddl.h -- the text that makes a table, from its list (store/sql/columns.h).
 *
 * DDL is the M of a list: one line for each column that the table is created with.  DDL_STEP gives
 * the columns that a later step adds.  SQLite stores the text as it is, and a released text never
 * changes.  Used by schema.c and queue_schema.c.
 */
#ifndef PAWL_STORE_SQLITE_DDL_H
#define PAWL_STORE_SQLITE_DDL_H

#include "store/sql/columns.h"

/* clang-format off */
#define DDL(position, use, type, column, note) DDL_##position(DDL_##type, #column, note)
#define DDL_FIRST(type, name, note)   "  " name " " type "," note "\n"
#define DDL_SET(type, name, note)     "  " name " " type "," note "\n"
#define DDL_NEXT(type, name, note)    "  " name " " type "," note "\n"
#define DDL_LAST(type, name, note)    "  " name " " type note "\n"
#define DDL_ADDED(type, name, note)

/* M of a step that adds columns to a table: DDL_STEP_n_m is what step n does of those of step m. */
#define DDL_STEP(step, table, position, type, column, note) DDL_STEP_##position(step, table, type, column, note)
#define DDL_STEP_FIRST(step, table, type, column, note)
#define DDL_STEP_SET(step, table, type, column, note)
#define DDL_STEP_NEXT(step, table, type, column, note)
#define DDL_STEP_LAST(step, table, type, column, note)
#define DDL_STEP_ADDED(step, table, type, column, note)     DDL_STEP_##step##_##note(table, type, column)

#define DDL_ADD(table, type, column)                                                               \
    "ALTER TABLE " table " ADD COLUMN " #column " " DDL_##type " DEFAULT " DDL_DEFAULT_##type

#define DDL_PRIMARY "INTEGER PRIMARY KEY"
#define DDL_ID      "INTEGER NOT NULL"
#define DDL_I64     "INTEGER NOT NULL"
#define DDL_INT     "INTEGER NOT NULL"
#define DDL_U32     "INTEGER NOT NULL"
#define DDL_BOOL    "INTEGER NOT NULL"
#define DDL_STATE   "INTEGER NOT NULL"
#define DDL_LEASE   "INTEGER NOT NULL"
#define DDL_JOINED  "INTEGER NOT NULL"
#define DDL_SUM     "INTEGER NOT NULL"
#define DDL_KIND    "INTEGER"
#define DDL_TEXT    "TEXT NOT NULL"
#define DDL_NAME    "TEXT NOT NULL UNIQUE"
#define DDL_IDS     "TEXT NOT NULL"
#define DDL_BYTES   "ANY NOT NULL"

/* The value of a new column in rows that exist. */
#define DDL_DEFAULT_ID    "0"
#define DDL_DEFAULT_I64   "0"
#define DDL_DEFAULT_INT   "0"
#define DDL_DEFAULT_U32   "0"
#define DDL_DEFAULT_BOOL  "0"
#define DDL_DEFAULT_SUM   "0"
#define DDL_DEFAULT_TEXT  "''"
#define DDL_DEFAULT_BYTES "''"
/* clang-format on */

#endif
