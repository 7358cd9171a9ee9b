/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/schema.h -- what is in the file, and how older files become new ones.
 *
 * user_version is the schema's number, application_id says the file is ours.
 * Step i of the list takes a file from schema i to i + 1; all missing steps run
 * in one transaction, so a kill half way leaves the old schema.
 */
#ifndef PAWL_STORE_SQLITE_SCHEMA_H
#define PAWL_STORE_SQLITE_SCHEMA_H

#include "pawl/types.h"

#include <sqlite3.h>

#define SCHEMA_APPLICATION_ID 0x7061776c /* "pawl" */

/* A step is a list of statements that ends with NULL. */
extern const char *const *const schema_steps[];
extern const int schema_version;     /* steps in the list */
extern const int schema_oldest_read; /* the oldest schema with the tables of today */
extern const char *const schema_queue_step[];

/* Is this file ours, and of which schema?  An empty file has schema 0.  Refuses
 * foreign, damaged and newer files with a line that says what to do. */
pawl_status schema_check(sqlite3 *db, const char *file, int newest, int *ret, pawl_error *reterr);

/* Bring the file from schema `from` to `count` by steps[from..count-1]. */
pawl_status schema_migrate(sqlite3 *db, const char *const *const *steps, int from, int count,
                           int64_t now_ms, pawl_error *reterr);

#endif
