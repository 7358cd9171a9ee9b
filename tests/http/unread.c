/* SPDX-License-Identifier: MIT */
/*
 * tests/http/unread.c -- preloaded into the server: connections that only read meet a bad disk
 * while the file that $PAWL_TEST_UNREAD names exists.  The number in it says how many steps of
 * theirs go well before; nothing in it: none.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_bad(sqlite3_stmt *stmt)
{
    static atomic_int well;
    static atomic_bool was_there;
    const char *file = getenv("PAWL_TEST_UNREAD");
    if (!file || sqlite3_db_readonly(sqlite3_db_handle(stmt), "main") != 1)
        return false;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !atomic_exchange(&was_there, true)) {
        char text[20] = "";
        (void)!read(fd, text, sizeof(text) - 1);
        atomic_store(&well, atoi(text));
    }
    if (fd < 0)
        atomic_store(&was_there, false);
    else
        (void)close(fd);
    return fd >= 0 && atomic_fetch_sub(&well, 1) <= 0;
}

int sqlite3_step(sqlite3_stmt *stmt)
{
    union {
        void *found;
        int (*call)(sqlite3_stmt *);
    } real = {.found = dlsym(RTLD_NEXT, "sqlite3_step")};
    return is_bad(stmt) ? SQLITE_IOERR_READ : real.call(stmt);
}
