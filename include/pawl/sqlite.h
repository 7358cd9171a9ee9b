/* SPDX-License-Identifier: MIT */
/*
 * pawl/sqlite.h -- the SQLite library under a SQLite store (`pawl version`, `pawl doctor`).
 *
 * A program that uses Pawl needs none of these calls.
 */
#ifndef PAWL_SQLITE_H
#define PAWL_SQLITE_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version that this process runs with: "3.40.1". */
PAWL_API const char *pawl_sqlite_version(void);
/* PAWL_UNSUPPORTED, and why, when a store cannot use that version. */
PAWL_API pawl_status pawl_sqlite_check(pawl_error *reterr) PAWL_MUST_USE;
/*
 * From now on SQLite does not count the memory it uses: counting takes a lock at every allocation,
 * and 8 % of a step.  It holds for the whole process, so the program decides, not the store.  Call
 * it before anything uses SQLite; later it has no effect.
 */
PAWL_API void pawl_sqlite_count_no_memory(void);

#ifdef __cplusplus
}
#endif
#endif
