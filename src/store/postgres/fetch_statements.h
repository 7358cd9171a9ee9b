/* SPDX-License-Identifier: MIT */
/* store/postgres/fetch_statements.h -- statements of this store alone, X(NAME, SQL); see
 * pg_statements.h. */
#ifndef PAWL_STORE_POSTGRES_FETCH_STATEMENTS_H
#define PAWL_STORE_POSTGRES_FETCH_STATEMENTS_H

#define PG_FETCH_STATEMENTS(X)

#endif
