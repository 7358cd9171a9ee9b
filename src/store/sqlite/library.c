/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/library.c -- the SQLite library itself: its version, whether it is usable, its
 * settings.
 *
 * The public calls of pawl/sqlite.h; open.c checks the library before it opens a store.
 */
#include "base/limits.h"
#include "pawl/sqlite.h"
#include "store/sqlite/sqlite.h"

const char *pawl_sqlite_version(void)
{
    return sqlite3_libversion();
}

/* STRICT tables came with 3.37; connections of several threads need a safe build. */
pawl_status pawl_sqlite_check(pawl_error *reterr)
{
    if (sqlite3_libversion_number() >= 3037000 && sqlite3_threadsafe())
        return PAWL_OK;
    error_set(reterr, PAWL_UNSUPPORTED,
              "SQLite %s%s is installed; pawl needs 3.37 or later, built for threads",
              sqlite3_libversion(), sqlite3_threadsafe() ? "" : " (not thread-safe)");
    return PAWL_UNSUPPORTED;
}

void pawl_sqlite_count_no_memory(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
