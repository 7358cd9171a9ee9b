/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/params.h -- values on their way to the server and back, in binary form.
 *
 * Parameters are put into one growing buffer in their order ($1, $2 …).  A column of many rows is
 * an array parameter: the rows of a group go into one statement that unnests its arrays.  Numbers
 * are big-endian as the protocol has them; text and bytes are copied as they are.  Nothing here
 * knows a table.
 *
 * Memory: a buffer is kept and used again.  Out of memory sets `failed`, and sending refuses.
 */
#ifndef PAWL_STORE_POSTGRES_PARAMS_H
#define PAWL_STORE_POSTGRES_PARAMS_H

#include "base/vec.h"
#include "pawl/types.h"
#include "store/postgres/libpq.h"

#define PG_PARAMS_MAX 32

/* Types of the server that we use; their numbers never change. */
enum pg_type {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_INT8 = 20,
    PG_INT2 = 21,
    PG_INT4 = 23,
    PG_TEXT = 25,
};

/* Bytes that grow. */
struct pg_bytes {
    char *at; /* owned */
    size_t count, cap;
    bool failed; /* out of memory: nothing was added since */
};

/* The parameters of one statement. */
struct pg_params {
    struct pg_bytes bytes;
    size_t offset[PG_PARAMS_MAX];
    int length[PG_PARAMS_MAX]; /* -1: NULL */
    int count;
};

void params_reset(struct pg_params *p); /* no parameters; memory is kept */
void params_deinit(struct pg_params *p);
void params_i64(struct pg_params *p, int64_t n);
void params_id(struct pg_params *p, uint64_t id);
void params_bool(struct pg_params *p, bool yes);
void params_str(struct pg_params *p, pawl_str s); /* text or bytea */
void params_null(struct pg_params *p);
void params_ids(struct pg_params *p, const uint64_t *ids, size_t count);     /* bigint[] */
void params_texts(struct pg_params *p, const pawl_str *texts, size_t count); /* text[] */
void params_shards(struct pg_params *p, uint64_t shards);                    /* smallint[] */

/* One array that is filled row by row: a column of a group's rows. */
struct pg_array {
    enum pg_type type;
    size_t rows;
    struct pg_bytes bytes; /* elements, each with its length */
};

void array_reset(struct pg_array *a); /* no rows; memory is kept */
void array_deinit(struct pg_array *a);
void array_i64(struct pg_array *a, int64_t n); /* in the width of its type; PG_BOOL too */
void array_id(struct pg_array *a, uint64_t id);
void array_str(struct pg_array *a, pawl_str s);
void array_null(struct pg_array *a);
void params_array(struct pg_params *p, const struct pg_array *a);

/* ---- Values of a result, asked for in binary form ------------------------------------- */

int64_t value_i64(const PGresult *r, int row, int column); /* int2, int4, int8, bool; NULL: 0 */
static inline uint64_t value_id(const PGresult *r, int row, int column)
{
    return (uint64_t)value_i64(r, row, column);
}
bool value_is_null(const PGresult *r, int row, int column);
pawl_str value_view(const PGresult *r, int row, int column); /* until the result is cleared */
pawl_str value_dup(const PGresult *r, int row, int column, pawl_mem *mem);
/* A bigint[] without NULLs. */
const uint64_t *value_ids(const PGresult *r, int row, int column, pawl_mem *mem, size_t *retcount);

#endif
