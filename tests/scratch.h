/* SPDX-License-Identifier: MIT */
/*
 * tests/scratch.h -- schemas of their own for tests on a PostgreSQL server.
 *
 * The server is the one that PAWL_TEST_PG names; tests/postgres/cluster starts one and sets it.
 * Schemas are named after the test program's process and dropped when it ends.  SQL goes over a
 * connection apart from the store's, with the store's way to libpq (store/postgres/libpq.h).
 * Called by the conformance suite, the scenarios and tests/postgres.
 */
#ifndef PAWL_TESTS_SCRATCH_H
#define PAWL_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

struct scratch {
    char schema[40];
    char url[400];
};

/* The URL of the server; NULL: there is none. */
const char *scratch_server(void);

/* A name that no other schema has, and the URL of it; the store makes the schema. */
void scratch_new(struct scratch *ret);
/* One connection for all tests of this program: scratch_same() is fast then.  Before the first. */
void scratch_share(void);
/* The one schema of this program, without rows if it was used before. */
void scratch_same(struct scratch *ret);
void scratch_drop(const struct scratch *s);

/* SQL as printf writes it.  An error is printed, and the answer is false or -1. */
bool scratch_do(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t scratch_number(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The first column, one row a line; the caller frees it.  NULL: an error. */
char *scratch_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
