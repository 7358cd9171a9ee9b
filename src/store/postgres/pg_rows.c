/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_rows.c -- rows of a result as structs.
 *
 * The code for each table comes from its list (store/sql/columns.h), by the same places as in the
 * other SQL stores.  Strings are copied once, into the caller's memory.  Rows have no check sum of
 * ours: pages of the server have theirs (data_checksums).
 *
 * Called by pg_driver.c and by the files that read many rows in a way of their own.
 */
#include "store/postgres/pg_rows.h"
#include "pawl/queue.h"
#include "store/sql/fields.h"

/* What fields.h takes for a statement. */
struct pg_row_at {
    const PGresult *r;
    int row;
};

static int64_t column_i64(const struct pg_row_at *stmt, int at)
{
    return value_i64(stmt->r, stmt->row, at);
}

static uint64_t column_id(const struct pg_row_at *stmt, int at)
{
    return value_id(stmt->r, stmt->row, at);
}

static pawl_str column_dup(const struct pg_row_at *stmt, int at, pawl_mem *mem)
{
    return value_dup(stmt->r, stmt->row, at, mem);
}

static uint64_t sum_low(uint64_t joined)
{
    return joined;
}

/* The label behind the columns; a message in quarantine comes without. */
static uint32_t label_at(const PGresult *r, int row, int column)
{
    return column < pq.nfields(r) ? (uint32_t)value_i64(r, row, column) : 0;
}

/* A number that was bound from an unsigned one and fits it. */
static bool is_count(const struct pg_row_at *stmt, int at, int64_t max)
{
    int64_t n = column_i64(stmt, at);

    return !value_is_null(stmt->r, stmt->row, at) && n >= 0 && n <= max;
}

enum sql_sight pg_decode_row(const PGresult *r, int row, pawl_mem *mem, pawl_row *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};

    *ret = (pawl_row){SQL_INSTANCE(SQL_ROW_FIELD) SQL_HEAD(SQL_ROW_HEAD_FIELD)};
    ret->shard = label_at(r, row, PG_ROW_SHARD);
    return SQL_SOUND;
}

enum sql_sight pg_decode_message(const PGresult *r, int row, pawl_mem *mem, pawl_message *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};

    if (!(true SQL_MESSAGE(SQL_MESSAGE_COUNTS)))
        return SQL_UNREADABLE;
    *ret = (pawl_message){SQL_MESSAGE(SQL_MESSAGE_FIELD)};
    ret->shard = label_at(r, row, PG_MESSAGE_SHARD);
    return SQL_SOUND;
}

enum sql_sight pg_decode_work(const PGresult *r, int row, pawl_mem *mem, pawl_work *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};

    *ret = (pawl_work){SQL_WORK(SQL_WORK_FIELD)};
    ret->shard = label_at(r, row, PG_WORK_SHARD);
    return SQL_SOUND;
}

void pg_decode_queue(const PGresult *r, int row, pawl_mem *mem, pawl_queue_row *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};

    *ret = (pawl_queue_row){SQL_QUEUE(SQL_QUEUE_FIELD)};
    ret->shard = label_at(r, row, PG_QUEUE_SHARD);
}

void pg_decode_entry(const PGresult *r, int row, pawl_queue_entry *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};
    uint64_t joined = column_id(stmt, ENTRY_bytes);

    *ret = (pawl_queue_entry){SQL_ENTRY(SQL_ENTRY_NUMBER)};
    if (column_i64(stmt, ENTRY_is_taken)) { /* only its lock was written */
        ret->state = PAWL_QUEUE_LOCKED;
        ret->deliveries++;
    }
}

void pg_decode_object(const PGresult *r, int row, pawl_mem *mem, pawl_object *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};

    *ret = (pawl_object){SQL_OBJECT(SQL_OBJECT_FIELD)};
}

void pg_decode_lock(const PGresult *r, int row, pawl_mem *mem, pawl_queue_lock *ret)
{
    const struct pg_row_at *stmt = &(struct pg_row_at){r, row};
    size_t count;
    const uint64_t *ids = value_ids(r, row, LOCK_entries, mem, &count);

    *ret = (pawl_queue_lock){SQL_LOCK(SQL_LOCK_FIELD)};
}
