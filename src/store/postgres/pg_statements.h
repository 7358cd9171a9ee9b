/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_statements.h -- every statement of this store, numbered.
 *
 * First those that all SQL stores have (store/sql/sql_statements.h), with the holes of this
 * dialect; then our own, by the file that sends them.  "@." stands for the schema and its dot, and
 * parameters of the shared texts are ?1 or ?: pg_texts_make() writes the schema and $1 once, when
 * the store is opened.  tests/postgres/test_pg_plan.c reads the plan of every one.
 */
#ifndef PAWL_STORE_POSTGRES_PG_STATEMENTS_H
#define PAWL_STORE_POSTGRES_PG_STATEMENTS_H

#include "store/postgres/commit_statements.h"
#include "store/postgres/fetch_statements.h"
#include "store/postgres/read_statements.h"
#include "store/sql/sql_statements.h"

#define PG_STATEMENTS(X) PG_READ_STATEMENTS(X) PG_COMMIT_STATEMENTS(X) PG_FETCH_STATEMENTS(X)

enum pg_statement {
    ST_PG_FIRST = SQL_STATEMENT_COUNT - 1,
#define PG_STATEMENT_ENUM(name, sql) ST_PG_##name,
    PG_STATEMENTS(PG_STATEMENT_ENUM)
#undef PG_STATEMENT_ENUM
        ST_PG_COUNT
};

#endif
