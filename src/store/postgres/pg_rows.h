/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_rows.h -- rows of a result as structs; the columns are those of the lists of
 * store/sql/columns.h, in their order.
 *
 * Rows of instances, messages and work are declared in postgres.h, for all files of the room.
 */
#ifndef PAWL_STORE_POSTGRES_PG_ROWS_H
#define PAWL_STORE_POSTGRES_PG_ROWS_H

#include "store/postgres/postgres.h"

void pg_decode_queue(const PGresult *r, int row, pawl_mem *mem, pawl_queue_row *ret);
/* Its numbers; note, data and attrs are not read. */
void pg_decode_entry(const PGresult *r, int row, pawl_queue_entry *ret);
void pg_decode_object(const PGresult *r, int row, pawl_mem *mem, pawl_object *ret);
void pg_decode_lock(const PGresult *r, int row, pawl_mem *mem, pawl_queue_lock *ret);

#endif
