/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_pg_libpq.c -- our own declarations of libpq against the installed header, and
 * values on their way through it.
 */
#include "../harness.h"
#include "base/arena.h"
#include "store/postgres/params.h"

#include <dlfcn.h>
#define PQ_PIPELINE_ABORTED HEADER_PIPELINE_ABORTED /* of another enum than ours */
#include <postgresql/libpq-fe.h>
#undef PQ_PIPELINE_ABORTED

TEST(numbers_are_those_of_the_header)
{
    ck_assert_int_eq(PQ_CONNECTION_OK, CONNECTION_OK);
    ck_assert_int_eq(PQ_EMPTY_QUERY, PGRES_EMPTY_QUERY);
    ck_assert_int_eq(PQ_COMMAND_OK, PGRES_COMMAND_OK);
    ck_assert_int_eq(PQ_TUPLES_OK, PGRES_TUPLES_OK);
    ck_assert_int_eq(PQ_BAD_RESPONSE, PGRES_BAD_RESPONSE);
    ck_assert_int_eq(PQ_NONFATAL_ERROR, PGRES_NONFATAL_ERROR);
    ck_assert_int_eq(PQ_FATAL_ERROR, PGRES_FATAL_ERROR);
    ck_assert_int_eq(PQ_PIPELINE_SYNC, PGRES_PIPELINE_SYNC);
    ck_assert_int_eq(PQ_PIPELINE_ABORTED, PGRES_PIPELINE_ABORTED);
    ck_assert_int_eq(PQ_DIAG_SQLSTATE, PG_DIAG_SQLSTATE);
    ck_assert_int_eq(PQ_DIAG_MESSAGE, PG_DIAG_MESSAGE_PRIMARY);
    ck_assert_int_eq(PQ_DIAG_CONSTRAINT, PG_DIAG_CONSTRAINT_NAME);
    ck_assert_int_eq(PQ_DIAG_FUNCTION, PG_DIAG_SOURCE_FUNCTION);
    ck_assert_uint_eq(sizeof(enum pq_result), sizeof(ExecStatusType));
    ck_assert_uint_eq(sizeof(unsigned), sizeof(Oid));
}

/* ---- Values --------------------------------------------------------------------------------- */

static void *named(const char *name)
{
    void *handle = dlopen("libpq.so.5", RTLD_NOW);
    ck_assert_ptr_nonnull(handle);
    void *at = dlsym(handle, name);
    ck_assert_ptr_nonnull(at);
    return at;
}

/* A result with one row, whose columns are the parameters as they would be sent. */
static PGresult *echo(const struct pg_params *p)
{
    PGresult *(*make)(PGconn *, ExecStatusType);
    int (*describe)(PGresult *, int, PGresAttDesc *);
    int (*set)(PGresult *, int, int, char *, int);
    void *at[] = {named("PQmakeEmptyPGresult"), named("PQsetResultAttrs"), named("PQsetvalue")};
    memcpy(&make, &at[0], sizeof make);
    memcpy(&describe, &at[1], sizeof describe);
    memcpy(&set, &at[2], sizeof set);

    static char name[] = "c";
    PGresAttDesc columns[PG_PARAMS_MAX] = {0};
    for (int i = 0; i < p->count; i++)
        columns[i] = (PGresAttDesc){.name = name, .format = 1};
    PGresult *r = make(NULL, PGRES_TUPLES_OK);
    ck_assert(describe(r, p->count, columns));
    for (int i = 0; i < p->count; i++)
        ck_assert(set(r, 0, i, p->length[i] < 0 ? NULL : p->bytes.at + p->offset[i], p->length[i]));
    return r;
}

TEST(numbers_texts_and_nulls_come_back)
{
    struct pg_params p = {0};
    pawl_error err;
    ck_assert_int_eq(libpq_load(&err), PAWL_OK);
    params_i64(&p, INT64_MIN);
    params_id(&p, UINT64_C(1) << 53);
    params_bool(&p, true);
    params_str(&p, (pawl_str){"a\0b", 3});
    params_str(&p, (pawl_str){0});
    params_null(&p);
    params_str(&p, (pawl_str){"\377\376", 2}); /* a smallint */
    ck_assert(!p.bytes.failed);
    PGresult *r = echo(&p);
    ck_assert_int_eq(value_i64(r, 0, 0), INT64_MIN);
    ck_assert_uint_eq(value_id(r, 0, 1), UINT64_C(1) << 53);
    ck_assert_int_eq(value_i64(r, 0, 2), 1);
    ck_assert(pawl_str_eq(value_view(r, 0, 3), (pawl_str){"a\0b", 3}));
    ck_assert_uint_eq(value_view(r, 0, 4).len, 0);
    ck_assert(!value_is_null(r, 0, 4));
    ck_assert(value_is_null(r, 0, 5));
    ck_assert_int_eq(value_i64(r, 0, 5), 0);
    ck_assert_int_eq(value_i64(r, 0, 6), -2);
    pq.clear(r);
    params_deinit(&p);
}

TEST(ids_come_back_as_an_array)
{
    struct pg_params p = {0};
    pawl_mem mem;
    pawl_error err;
    size_t count;
    const uint64_t ids[] = {1, UINT64_C(1) << 40, 7};
    ck_assert_int_eq(libpq_load(&err), PAWL_OK);
    arena_init(&mem);
    params_ids(&p, ids, 3);
    params_ids(&p, NULL, 0);
    PGresult *r = echo(&p);
    const uint64_t *back = value_ids(r, 0, 0, &mem, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_mem_eq(back, ids, sizeof ids);
    (void)value_ids(r, 0, 1, &mem, &count);
    ck_assert_uint_eq(count, 0);
    pq.clear(r);
    params_deinit(&p);
    arena_deinit(&mem);
}

/* The bytes that the protocol asks for, by hand: one dimension, no NULLs, smallint, two elements. */
TEST(an_array_has_the_width_of_its_type)
{
    static const unsigned char wire[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0,   2,
                                         0, 0, 0, 1, 0, 0, 0, 2, 0, 5, 0, 0,  0, 2, 255, 254};
    struct pg_params p = {0};
    struct pg_array a = {.type = PG_INT2};
    array_i64(&a, 5);
    array_i64(&a, -2);
    params_array(&p, &a);
    ck_assert_int_eq(p.length[0], sizeof wire);
    ck_assert_mem_eq(p.bytes.at + p.offset[0], wire, sizeof wire);
    array_reset(&a);
    a.type = PG_TEXT;
    array_str(&a, pawl_s("x"));
    array_null(&a);
    params_array(&p, &a);
    ck_assert_mem_eq(p.bytes.at + p.offset[1] + 20, "\0\0\0\1x\377\377\377\377", 9);
    array_deinit(&a);
    params_deinit(&p);
}
