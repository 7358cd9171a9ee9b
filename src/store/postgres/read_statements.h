/* SPDX-License-Identifier: MIT */
/* store/postgres/read_statements.h -- statements of this store alone, X(NAME, SQL); see
 * pg_statements.h. */
#ifndef PAWL_STORE_POSTGRES_READ_STATEMENTS_H
#define PAWL_STORE_POSTGRES_READ_STATEMENTS_H

#define PG_READ_STATEMENTS(X)

#endif
