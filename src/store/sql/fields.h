/* SPDX-License-Identifier: MIT */
/*
 * store/sql/fields.h -- code from the lists of columns.h: binding and decoding rows.
 *
 * Macros only.  The store that uses them says what a statement is: it has bind_id, bind_i64,
 * bind_text and bind_bytes (statement, place from 1), and column_id, column_i64 and column_dup
 * (statement, place from 0), for a variable `stmt`.  Other variables that the code expects are
 * named with each macro.  For rows.c of the SQL stores.
 */
#ifndef PAWL_STORE_SQL_FIELDS_H
#define PAWL_STORE_SQL_FIELDS_H

#include "store/sql/columns.h"

/* clang-format off */

/* The value of a column: of the row `r`, or the variable with its name. */
#define SQL_VALUE_KEY(column)     column
#define SQL_VALUE_BESIDE(column)  column
#define SQL_VALUE_OWN(column)     column
#define SQL_VALUE_FIXED(column)   r->column
#define SQL_VALUE_CHANGES(column) r->column
#define SQL_VALUE_LATEST(column)  r->column

/* M of a list: bind every column, those an update sets.  `at` is the last place bound; `sum` is
 * the check sum, `entries` the text of ids. */
#define SQL_BIND(position, use, type, column, note) SQL_BIND_##type(++at, SQL_VALUE_##use(column));
#define SQL_BIND_CHANGES(position, use, type, column, note)                                        \
    SQL_CHANGED(SQL_BIND, position, use, type, column)
#define SQL_BIND_PRIMARY(at, v) bind_id(stmt, at, v)
#define SQL_BIND_ID(at, v)      bind_id(stmt, at, v)
#define SQL_BIND_I64(at, v)     bind_i64(stmt, at, v)
#define SQL_BIND_INT(at, v)     bind_i64(stmt, at, (int64_t)(v))
#define SQL_BIND_U32(at, v)     bind_i64(stmt, at, v)
#define SQL_BIND_BOOL(at, v)    bind_i64(stmt, at, v)
#define SQL_BIND_STATE(at, v)   bind_i64(stmt, at, (int64_t)(v))
#define SQL_BIND_KIND(at, v)    bind_i64(stmt, at, v)
#define SQL_BIND_TEXT(at, v)    bind_text(stmt, at, v)
#define SQL_BIND_NAME(at, v)    bind_text(stmt, at, v)
#define SQL_BIND_BYTES(at, v)   bind_bytes(stmt, at, v)
#define SQL_BIND_IDS(at, v)     bind_text(stmt, at, entries)
#define SQL_BIND_LEASE(at, v)   bind_i64(stmt, at, r->lock_token.len ? (v) : 0)
#define SQL_BIND_SUM(at, v)     bind_i64(stmt, at, sum)

/* Members of the struct, for its initializer: `prefix` names the enum of places; strings are
 * copied into `mem`.  `ids` and `count` are those of a lock. */
#define SQL_FIELD(prefix, type, column)         SQL_FIELD_##type(column, prefix##column)
#define SQL_FIELD_PRIMARY(column, at) .column = column_id(stmt, at),
#define SQL_FIELD_ID(column, at)      .column = column_id(stmt, at),
#define SQL_FIELD_I64(column, at)     .column = column_i64(stmt, at),
#define SQL_FIELD_LEASE(column, at)   .column = column_i64(stmt, at),
#define SQL_FIELD_INT(column, at)     .column = (int)column_i64(stmt, at),
#define SQL_FIELD_KIND(column, at)    .column = (int)column_i64(stmt, at),
#define SQL_FIELD_U32(column, at)     .column = (uint32_t)column_i64(stmt, at),
#define SQL_FIELD_BOOL(column, at)    .column = column_i64(stmt, at) != 0,
#define SQL_FIELD_STATE(column, at)   .column = (pawl_state)column_i64(stmt, at),
#define SQL_FIELD_TEXT(column, at)    .column = column_dup(stmt, at, mem),
#define SQL_FIELD_NAME(column, at)    .column = column_dup(stmt, at, mem),
#define SQL_FIELD_BYTES(column, at)   .column = column_dup(stmt, at, mem),
#define SQL_FIELD_SUM(column, at)
#define SQL_FIELD_IDS(column, at)     .column = ids, .entry_count = count,

#define SQL_ROW_FIELD(position, use, type, column, note) SQL_FIELD(ROW_, type, column)
#define SQL_ROW_HEAD_FIELD(position, use, type, column, note) SQL_ROW_HEAD_FIELD_##use(type, column)
#define SQL_ROW_HEAD_FIELD_KEY(type, column)
#define SQL_ROW_HEAD_FIELD_CHANGES(type, column) SQL_FIELD(ROW_, type, column)
#define SQL_MESSAGE_FIELD(position, use, type, column, note) SQL_FIELD(MESSAGE_, type, column)
#define SQL_WORK_FIELD_(position, use, type, column, note) SQL_FIELD(WORK_, type, column)
#define SQL_WORK_FIELD(position, use, type, column, note)                                          \
    SQL_READ(SQL_WORK_FIELD_, position, use, type, column)
#define SQL_QUEUE_FIELD(position, use, type, column, note) SQL_FIELD(QUEUE_, type, column)
#define SQL_LOCK_FIELD(position, use, type, column, note) SQL_FIELD(LOCK_, type, column)

#define SQL_OBJECT_FIELD(position, use, type, column, note) SQL_FIELD(OBJECT_, type, column)

/* The numbers of an entry; `joined` is the column with its check sum. */
#define SQL_ENTRY_NUMBER(position, use, type, column, note) SQL_NUMBER_##type(column, ENTRY_##column)
#define SQL_NUMBER_PRIMARY(column, at) SQL_FIELD_PRIMARY(column, at)
#define SQL_NUMBER_ID(column, at)      SQL_FIELD_ID(column, at)
#define SQL_NUMBER_I64(column, at)     SQL_FIELD_I64(column, at)
#define SQL_NUMBER_INT(column, at)     SQL_FIELD_INT(column, at)
#define SQL_NUMBER_U32(column, at)     SQL_FIELD_U32(column, at)
#define SQL_NUMBER_JOINED(column, at) .column = sum_low(joined),
#define SQL_NUMBER_BYTES(column, at)

/* "&& is_count(stmt, place, most)": a number that was bound from an unsigned one and fits it. */
#define SQL_MESSAGE_COUNTS(position, use, type, column, note) SQL_COUNTS_##type(MESSAGE_##column)
#define SQL_COUNTS_PRIMARY(at) && is_count(stmt, at, INT64_MAX)
#define SQL_COUNTS_ID(at)      && is_count(stmt, at, INT64_MAX)
#define SQL_COUNTS_KIND(at)    && is_count(stmt, at, INT32_MAX)
#define SQL_COUNTS_U32(at)     && is_count(stmt, at, UINT32_MAX)
#define SQL_COUNTS_TEXT(at)
#define SQL_COUNTS_BYTES(at)
#define SQL_COUNTS_I64(at)
#define SQL_COUNTS_BOOL(at)
#define SQL_COUNTS_SUM(at)

/* clang-format on */

#endif
