/* SPDX-License-Identifier: MIT */
/* tests/conformance/stores.h -- the stores of this library, for the suite and the differential test. */
#ifndef PAWL_TESTS_STORES_H
#define PAWL_TESTS_STORES_H

#include "pawl/conformance.h"

#define STORES_MAX       4
#define PLAIN_FILES_PATH 300

/* Fill in the factories of all stores built in; how many.  The last one, postgres, is left out
 * where PAWL_TEST_PG does not name a server (tests/postgres/cluster). */
size_t stores(pawl_conformance_factory ret[STORES_MAX]);
/* The one called `name`; the program ends when there is none. */
pawl_conformance_factory store_called(const char *name);

/* plain_files.c: the jsonl store; `user` is the path, PLAIN_FILES_PATH bytes. */
pawl_store *plain_files_open(void *user, pawl_error *reterr);
pawl_store *plain_files_reopen(void *user, pawl_store *s, pawl_error *reterr);
void plain_files_close(void *user, pawl_store *s);
bool plain_files_damage(void *user, pawl_store *s, pawl_damage what, uint64_t id);

/* server_schema.c: the postgres store; each has a schema of its own. */
pawl_conformance_factory server_schema(void);

#endif
