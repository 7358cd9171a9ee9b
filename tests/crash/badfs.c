/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/badfs.c -- see badfs.h.
 *
 * A file opened by the real VFS gets our method table in place of its own.  The
 * unix VFS has one table for files with locks and one for those without; reading,
 * writing and syncing are the same functions in both.
 */
#include "badfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

static enum badfs fault;
static int fail_at;
static atomic_int calls;
static sqlite3_vfs *real, ours;
static const sqlite3_io_methods *real_io, *tables[2];
static sqlite3_io_methods our_tables[2];

/* The WAL and how long it was when it was last synced. */
static sqlite3_file *wal;
static sqlite3_int64 wal_synced;

static int strikes(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == fail_at;
}

static int on_sync(sqlite3_file *file, int flags)
{
    sqlite3_int64 size = 0;
    if (fault != BADFS_SYNC && fault != BADFS_SYNC_LOST)
        return real_io->xSync(file, flags);
    if (strikes()) {
        if (fault == BADFS_SYNC_LOST && file == wal &&
            real_io->xFileSize(file, &size) == SQLITE_OK && size > wal_synced)
            (void)real_io->xTruncate(file, wal_synced);
        return SQLITE_IOERR_FSYNC;
    }
    int rc = real_io->xSync(file, flags);
    if (file == wal && real_io->xFileSize(file, &size) == SQLITE_OK)
        wal_synced = size;
    return rc;
}

static int on_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    if ((fault == BADFS_WRITE || fault == BADFS_FULL) && strikes())
        return fault == BADFS_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    return real_io->xWrite(file, from, n, at);
}

static int on_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    if (fault == BADFS_READ && strikes())
        return SQLITE_IOERR_READ;
    return real_io->xRead(file, to, n, at);
}

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *got)
{
    (void)vfs;
    int rc = real->xOpen(real, name, file, flags, got);
    if (rc != SQLITE_OK || !file->pMethods)
        return rc;
    size_t i = 0;
    while (i < 2 && tables[i] && tables[i] != file->pMethods)
        i++;
    if (i == 2)
        abort();
    real_io = tables[i] = file->pMethods;
    our_tables[i] = *real_io;
    our_tables[i].xSync = on_sync;
    our_tables[i].xWrite = on_write;
    our_tables[i].xRead = on_read;
    file->pMethods = &our_tables[i];
    if (flags & SQLITE_OPEN_WAL)
        wal = file, wal_synced = 0;
    return rc;
}

void badfs_install(enum badfs what, int nth)
{
    fault = what;
    fail_at = nth;
    real = sqlite3_vfs_find(NULL);
    ours = *real;
    ours.zName = "badfs";
    ours.xOpen = on_open;
    ours.pNext = NULL;
    if (sqlite3_vfs_register(&ours, 1) != SQLITE_OK)
        abort();
}

int badfs_calls(void)
{
    return atomic_load(&calls);
}
