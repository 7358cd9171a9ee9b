/* SPDX-License-Identifier: MIT */
/* store/postgres/commit_statements.h -- statements of this store alone, X(NAME, SQL); see
 * pg_statements.h. */
#ifndef PAWL_STORE_POSTGRES_COMMIT_STATEMENTS_H
#define PAWL_STORE_POSTGRES_COMMIT_STATEMENTS_H

#define PG_COMMIT_STATEMENTS(X)

#endif
