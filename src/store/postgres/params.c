/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/params.c -- values in PostgreSQL's binary form.
 *
 * Numbers are big-endian; an array has a header (dimensions, a flag that is 0, the type of
 * its elements, their count, the lower bound 1) and then each element behind its length, -1 for
 * NULL.  An array without elements has no dimension.
 *
 * Called by every file of the room that sends a statement or looks at a result.
 */
#include "store/postgres/params.h"
#include "base/arena.h"
#include "base/attr.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_HEADER 20                   /* bytes, with one dimension */
#define LENGTH_MAX   (1024 * 1024 * 1024) /* of one value; the server takes no more */

/* ---- Bytes ------------------------------------------------------------------------------- */

/* Room for `n` more; NULL: there is none. */
static char *grow(struct pg_bytes *b, size_t n)
{
    if (b->failed)
        return NULL;
    if (b->count + n > b->cap) {
        size_t cap = (b->count + n) * 2 + 256;
        char *at = realloc(b->at, cap);
        if (!at) {
            b->failed = true;
            return NULL;
        }
        b->at = at;
        b->cap = cap;
    }
    b->count += n;
    return b->at + b->count - n;
}

static void put(struct pg_bytes *b, const void *from, size_t n)
{
    char *to = grow(b, n);

    if (to && n)
        memcpy(to, from, n);
}

static void put_32(struct pg_bytes *b, int32_t n)
{
    uint32_t wire = htobe32((uint32_t)n);
    put(b, &wire, sizeof wire);
}

static void put_64(struct pg_bytes *b, int64_t n)
{
    uint64_t wire = htobe64((uint64_t)n);
    put(b, &wire, sizeof wire);
}

static void bytes_reset(struct pg_bytes *b)
{
    b->count = 0;
    b->failed = false;
}

static void bytes_deinit(struct pg_bytes *b)
{
    free(b->at);
    *b = (struct pg_bytes){0};
}

/* ---- Parameters ---------------------------------------------------------------------------- */

void params_reset(struct pg_params *p)
{
    bytes_reset(&p->bytes);
    p->count = 0;
}

void params_deinit(struct pg_params *p)
{
    bytes_deinit(&p->bytes);
    p->count = 0;
}

/* What was put since `from` is the next parameter. */
static void finish(struct pg_params *p, size_t from)
{
    size_t length = p->bytes.count - from;

    assert_that(p->count < PG_PARAMS_MAX);
    if (length > LENGTH_MAX)
        p->bytes.failed = true;
    p->offset[p->count] = from;
    p->length[p->count++] = length > LENGTH_MAX ? 0 : (int)length;
}

void params_i64(struct pg_params *p, int64_t n)
{
    size_t from = p->bytes.count;

    put_64(&p->bytes, n);
    finish(p, from);
}

void params_id(struct pg_params *p, uint64_t id)
{
    params_i64(p, (int64_t)id);
}

void params_bool(struct pg_params *p, bool yes)
{
    size_t from = p->bytes.count;
    char byte = (char)yes;

    put(&p->bytes, &byte, 1);
    finish(p, from);
}

void params_str(struct pg_params *p, pawl_str s)
{
    size_t from = p->bytes.count;

    put(&p->bytes, s.ptr, s.len);
    finish(p, from);
}

void params_null(struct pg_params *p)
{
    finish(p, p->bytes.count);
    p->length[p->count - 1] = -1;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static void put_header(struct pg_bytes *b, enum pg_type type, size_t rows)
{
    put_32(b, rows > 0);
    put_32(b, 0);
    put_32(b, (int32_t)type);
    if (rows == 0)
        return;
    put_32(b, (int32_t)rows);
    put_32(b, 1);
}

void params_ids(struct pg_params *p, const uint64_t *ids, size_t count)
{
    size_t from = p->bytes.count;

    put_header(&p->bytes, PG_INT8, count);
    for (size_t i = 0; i < count; i++) {
        put_32(&p->bytes, sizeof *ids);
        put_64(&p->bytes, (int64_t)ids[i]);
    }
    finish(p, from);
}

void params_texts(struct pg_params *p, const pawl_str *texts, size_t count)
{
    size_t from = p->bytes.count;

    put_header(&p->bytes, PG_TEXT, count);
    for (size_t i = 0; i < count; i++) {
        put_32(&p->bytes, (int32_t)texts[i].len);
        put(&p->bytes, texts[i].ptr, texts[i].len);
    }
    finish(p, from);
}

void params_shards(struct pg_params *p, uint64_t shards)
{
    size_t from = p->bytes.count;

    put_header(&p->bytes, PG_INT2, (size_t)__builtin_popcountll(shards));
    for (; shards; shards &= shards - 1) {
        char wire[] = {0, (char)__builtin_ctzll(shards)};
        put_32(&p->bytes, sizeof wire);
        put(&p->bytes, wire, sizeof wire);
    }
    finish(p, from);
}

void array_reset(struct pg_array *a)
{
    bytes_reset(&a->bytes);
    a->rows = 0;
}

void array_deinit(struct pg_array *a)
{
    bytes_deinit(&a->bytes);
    a->rows = 0;
}

static int width_of(enum pg_type type)
{
    switch (type) {
    case PG_BOOL:
        return 1;
    case PG_INT2:
        return 2;
    case PG_INT4:
        return 4;
    case PG_INT8:
    case PG_BYTEA:
    case PG_TEXT:
        break;
    }
    return 8;
}

void array_i64(struct pg_array *a, int64_t n)
{
    int width = width_of(a->type);
    uint64_t wire = htobe64((uint64_t)n);

    put_32(&a->bytes, width);
    put(&a->bytes, (const char *)&wire + (8 - width), (size_t)width);
    a->rows++;
}

void array_id(struct pg_array *a, uint64_t id)
{
    array_i64(a, (int64_t)id);
}

void array_str(struct pg_array *a, pawl_str s)
{
    put_32(&a->bytes, (int32_t)s.len);
    put(&a->bytes, s.ptr, s.len);
    a->rows++;
}

void array_null(struct pg_array *a)
{
    put_32(&a->bytes, -1);
    a->rows++;
}

void params_array(struct pg_params *p, const struct pg_array *a)
{
    size_t from = p->bytes.count;

    put_header(&p->bytes, a->type, a->rows);
    put(&p->bytes, a->bytes.at, a->bytes.count);
    if (a->bytes.failed)
        p->bytes.failed = true;
    finish(p, from);
}

/* ---- Results ----------------------------------------------------------------------------------- */

/* A big-endian number of 1, 2, 4 or 8 bytes, with its sign. */
static int64_t number_at(const char *at, int width)
{
    uint64_t n = 0;

    for (int i = 0; i < width; i++)
        n = n << 8 | (unsigned char)at[i];
    return width < 8 && width > 1 ? (int64_t)(n << (64 - 8 * width)) >> (64 - 8 * width)
                                  : (int64_t)n;
}

int64_t value_i64(const PGresult *r, int row, int column)
{
    int width = pq.getlength(r, row, column); /* 0: NULL */

    assert_that(width == 0 || width == 1 || width == 2 || width == 4 || width == 8);
    return number_at(pq.getvalue(r, row, column), width);
}

bool value_is_null(const PGresult *r, int row, int column)
{
    return pq.getisnull(r, row, column);
}

pawl_str value_view(const PGresult *r, int row, int column)
{
    return (pawl_str){.ptr = pq.getvalue(r, row, column),
                      .len = (size_t)pq.getlength(r, row, column)};
}

pawl_str value_dup(const PGresult *r, int row, int column, pawl_mem *mem)
{
    return arena_dup(mem, value_view(r, row, column));
}

const uint64_t *value_ids(const PGresult *r, int row, int column, pawl_mem *mem, size_t *retcount)
{
    pawl_str bytes = value_view(r, row, column);
    size_t count = bytes.len >= ARRAY_HEADER ? (size_t)number_at(bytes.ptr + 12, 4) : 0;

    *retcount = 0;
    if (bytes.len < ARRAY_HEADER + 12 * count) /* an element without 8 bytes is none of ours */
        count = 0;
    uint64_t *ids = arena_array(mem, uint64_t, count + 1);
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint64_t)number_at(bytes.ptr + ARRAY_HEADER + 12 * i + 4, 8);
    *retcount = count;
    return ids;
}
