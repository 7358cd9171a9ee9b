/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/wal_file.c -- the WAL is written in one piece.
 *
 * SQLite writes a WAL frame by frame, two writes per page: 8 system calls for a lone step,
 * hundreds for a group.  The writer's connection opens its WAL through this file:
 * consecutive writes are gathered and written together, at the latest before the sync, so
 * a commit is one write and one sync.
 *
 * Invariants: no reader relies on a frame before the sync that publishes it (readers see
 * frames up to the number SQLite writes into the index after that sync), and `xSync`
 * returns OK only when everything gathered was written before.  A write that fails is
 * reported by the sync, or by the call that had to make room, with its own code: "full"
 * still means "not committed".  Anything but a following write sees a file that is
 * complete.  Without memory for the buffer every write goes straight through.
 *
 * The default VFS does everything else: locks, shared memory, the database itself.
 * Called by conn.c, which opens the writer with the name of this VFS.
 */
#include "base/attr.h"
#include "store/sqlite/sqlite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATHER_BYTES (120 * 1024) /* the unix VFS writes less than 128 KiB at a time */

struct wal_file {
    sqlite3_file file; /* what SQLite sees */
    sqlite3_file *real;
    unsigned char *bytes; /* GATHER_BYTES, owned; NULL: write through */
    sqlite3_int64 at;     /* where they belong */
    int count;
};

struct wal_vfs {
    sqlite3_vfs vfs; /* the default one's, but for opening */
    sqlite3_vfs *real;
    char name[64];
};

static struct wal_file *wal_of(sqlite3_file *file)
{
    return CONTAINER_OF(file, struct wal_file, file);
}

static int write_out(struct wal_file *w)
{
    int count = w->count;

    assert_that(!count || w->bytes);
    w->count = 0; /* also after a failure: then the transaction is lost */
    return count ? w->real->pMethods->xWrite(w->real, w->bytes, count, w->at) : SQLITE_OK;
}

static int wal_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    struct wal_file *w = wal_of(file);
    bool follows = at == w->at + w->count && count <= GATHER_BYTES - w->count;
    int rc = w->count && !follows ? write_out(w) : SQLITE_OK;

    if (rc != SQLITE_OK || !w->bytes || count > GATHER_BYTES)
        return rc != SQLITE_OK ? rc : w->real->pMethods->xWrite(w->real, bytes, count, at);
    if (!w->count)
        w->at = at;
    assert_that(at == w->at + w->count && count <= GATHER_BYTES - w->count);
    memcpy(w->bytes + w->count, bytes, (size_t)count);
    w->count += count;
    return SQLITE_OK;
}

static int wal_sync(sqlite3_file *file, int flags)
{
    struct wal_file *w = wal_of(file);
    int rc = write_out(w);

    return rc == SQLITE_OK ? w->real->pMethods->xSync(w->real, flags) : rc;
}

static int wal_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 at)
{
    struct wal_file *w = wal_of(file);
    int rc = write_out(w);

    return rc == SQLITE_OK ? w->real->pMethods->xRead(w->real, bytes, count, at) : rc;
}

static int wal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct wal_file *w = wal_of(file);
    int rc = write_out(w);

    return rc == SQLITE_OK ? w->real->pMethods->xTruncate(w->real, size) : rc;
}

static int wal_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    struct wal_file *w = wal_of(file);
    int rc = write_out(w);

    return rc == SQLITE_OK ? w->real->pMethods->xFileSize(w->real, ret) : rc;
}

/* Frames that were gathered and never synced were not acknowledged: drop them. */
static int wal_close(sqlite3_file *file)
{
    struct wal_file *w = wal_of(file);

    free(w->bytes);
    w->bytes = NULL;
    return w->real->pMethods->xClose(w->real);
}

static int wal_lock(sqlite3_file *file, int level)
{
    return wal_of(file)->real->pMethods->xLock(wal_of(file)->real, level);
}

static int wal_unlock(sqlite3_file *file, int level)
{
    return wal_of(file)->real->pMethods->xUnlock(wal_of(file)->real, level);
}

static int wal_check_lock(sqlite3_file *file, int *ret)
{
    return wal_of(file)->real->pMethods->xCheckReservedLock(wal_of(file)->real, ret);
}

static int wal_control(sqlite3_file *file, int op, void *arg)
{
    return wal_of(file)->real->pMethods->xFileControl(wal_of(file)->real, op, arg);
}

static int wal_sector(sqlite3_file *file)
{
    return wal_of(file)->real->pMethods->xSectorSize(wal_of(file)->real);
}

static int wal_traits(sqlite3_file *file)
{
    return wal_of(file)->real->pMethods->xDeviceCharacteristics(wal_of(file)->real);
}

static const sqlite3_io_methods methods = {
    .iVersion = 1, /* a WAL has no shared memory of its own and is never mapped */
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_check_lock,
    .xFileControl = wal_control,
    .xSectorSize = wal_sector,
    .xDeviceCharacteristics = wal_traits,
};

/* ---- Opening --------------------------------------------------------------- */

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
    struct wal_vfs *v = CONTAINER_OF(vfs, struct wal_vfs, vfs);

    if (!(flags & SQLITE_OPEN_WAL))
        return v->real->xOpen(v->real, name, file, flags, ret);
    struct wal_file *w = wal_of(file);
    *w = (struct wal_file){.real = (sqlite3_file *)(void *)(w + 1)};
    int rc = v->real->xOpen(v->real, name, w->real, flags, ret);
    if (!w->real->pMethods)
        return rc;
    w->file.pMethods = &methods; /* SQLite closes it, also after a failure */
    w->bytes = malloc(GATHER_BYTES);
    return rc;
}

/* The VFS on top of `real`; made and registered once, and kept. */
static const char *make(sqlite3_vfs *real)
{
    char name[64];
    (void)snprintf(name, sizeof name, "pawl-%.40s", real->zName);
    sqlite3_vfs *found = sqlite3_vfs_find(name);
    if (found)
        return CONTAINER_OF(found, struct wal_vfs, vfs)->real == real ? found->zName : NULL;
    struct wal_vfs *v = malloc(sizeof *v);
    if (!v)
        return NULL;
    *v = (struct wal_vfs){.vfs = *real, .real = real};
    memcpy(v->name, name, sizeof name);
    v->vfs.zName = v->name;
    v->vfs.xOpen = open_file;
    v->vfs.szOsFile = (int)sizeof(struct wal_file) + real->szOsFile;
    if (sqlite3_vfs_register(&v->vfs, 0) == SQLITE_OK)
        return v->name;
    free(v);
    return NULL;
}

const char *wal_vfs_name(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    const char *name = real ? make(real) : NULL;
    pthread_mutex_unlock(&lock);
    return name;
}
