/* SPDX-License-Identifier: MIT */
/*
 * pawl/postgres.h -- the tables of a PostgreSQL store: make them, print them, drop them.
 *
 * Opening a store (pawl/provider.h) makes or updates its tables by itself.  These calls are for
 * people who do it at a time of their own, with a role of their own (`pawl migrate`).
 */
#ifndef PAWL_POSTGRES_H
#define PAWL_POSTGRES_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Make the schema that the URL names, or bring it up to date, in one transaction.  A server that
 * a store would refuse to open is refused with the same words. */
PAWL_API pawl_status pawl_postgres_migrate(const char *url, pawl_error *reterr) PAWL_MUST_USE;
/* The SQL that would make it; nothing is sent to a server. */
PAWL_API pawl_status pawl_postgres_ddl(const char *url, pawl_mem *mem, pawl_str *ret,
                                       pawl_error *reterr) PAWL_MUST_USE;
/* Drop the schema with everything in it; one that is not there is fine. */
PAWL_API pawl_status pawl_postgres_drop(const char *url, pawl_error *reterr) PAWL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
