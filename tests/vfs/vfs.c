/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/vfs.c -- SQLite on the disk of disk.h.
 *
 * What the unix VFS of SQLite promises and asks for, this one does too: an atomic
 * overwrite of neighbouring bytes, sectors of 4096 bytes, and a sync of the
 * directory with the first sync of a journal or WAL by each connection.
 */
#include "disk.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct handle {
    sqlite3_file base;
    int file, level;
    bool sync_dir, shares;
    unsigned shm_shared, shm_exclusive; /* bits of this connection */
    char remove[200];                   /* path to remove on close; "": keep */
};

static struct handle *handle_of(sqlite3_file *f)
{
    return (struct handle *)(void *)f;
}

static int code(enum disk_fault fault, int io_error)
{
    switch (fault) {
    case DISK_FINE:
        return SQLITE_OK;
    case DISK_FULL_ERROR:
        return SQLITE_FULL;
    case DISK_BUSY:
        return SQLITE_BUSY;
    case DISK_IO_ERROR:
    case DISK_SYNC_LOST:
    case DISK_SHORT:
    case DISK_FAULT_COUNT:
    default:
        return io_error;
    }
}

/* ---- Contents ------------------------------------------------------------------ */

static int on_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    enum disk_fault fault;
    size_t got = 0, more;
    do { /* as the unix VFS: only the end of the file makes a read short */
        more = disk_read(handle_of(f)->file, (char *)to + got, (size_t)n - got,
                         at + (sqlite3_int64)got, &fault);
        if (fault != DISK_FINE)
            return code(fault, SQLITE_IOERR_READ);
        got += more;
    } while (more && got < (size_t)n);
    if (got == (size_t)n)
        return SQLITE_OK;
    memset((char *)to + got, 0, (size_t)n - got);
    return SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    return code(disk_write(handle_of(f)->file, from, (size_t)n, at), SQLITE_IOERR_WRITE);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return code(disk_resize(handle_of(f)->file, size), SQLITE_IOERR_TRUNCATE);
}

static int sync_dir_of(const char *path)
{
    char dir[200];
    (void)sqlite3_snprintf(sizeof(dir), dir, "%s", path);
    *strrchr(dir, '/') = 0;
    int file = disk_find(dir);
    return file == DISK_NONE ? SQLITE_OK : code(disk_sync(file), SQLITE_IOERR_DIR_FSYNC);
}

static int on_sync(sqlite3_file *f, int flags)
{
    struct handle *h = handle_of(f);
    (void)flags;
    int rc = code(disk_sync(h->file), SQLITE_IOERR_FSYNC);
    if (rc == SQLITE_OK && h->sync_dir) {
        h->sync_dir = false;
        rc = sync_dir_of(disk_path(h->file));
    }
    return rc;
}

static int on_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    *ret = disk_size(handle_of(f)->file);
    return SQLITE_OK;
}

/* ---- Locks --------------------------------------------------------------------- */

static int lock_as(struct handle *h, struct disk_locks *l, int level)
{
    if (level == SQLITE_LOCK_SHARED) {
        if ((l->exclusive && l->exclusive != h) || (l->pending && l->pending != h))
            return SQLITE_BUSY;
        l->shared++;
    } else if (level == SQLITE_LOCK_RESERVED) {
        if ((l->reserved && l->reserved != h) || (l->exclusive && l->exclusive != h))
            return SQLITE_BUSY;
        l->reserved = h;
    } else {
        if ((l->pending && l->pending != h) || (l->reserved && l->reserved != h))
            return SQLITE_BUSY;
        l->pending = h;
        if (l->shared > 1)
            return SQLITE_BUSY;
        l->exclusive = h;
    }
    h->level = level;
    return SQLITE_OK;
}

static int on_lock(sqlite3_file *f, int level)
{
    struct handle *h = handle_of(f);
    if (h->level >= level)
        return SQLITE_OK;
    disk_enter();
    int rc = code(disk_ask(DISK_LOCK, disk_path(h->file)), SQLITE_IOERR_LOCK);
    if (rc == SQLITE_OK)
        rc = lock_as(h, disk_locks_of(h->file), level);
    disk_leave();
    return rc;
}

static int on_unlock(sqlite3_file *f, int level)
{
    struct handle *h = handle_of(f);
    disk_enter();
    struct disk_locks *l = disk_locks_of(h->file);
    if (l->reserved == h)
        l->reserved = NULL;
    if (l->pending == h)
        l->pending = NULL;
    if (l->exclusive == h)
        l->exclusive = NULL;
    if (level == SQLITE_LOCK_NONE && h->level >= SQLITE_LOCK_SHARED && l->shared > 0)
        l->shared--;
    if (level < h->level)
        h->level = level;
    disk_leave();
    return SQLITE_OK;
}

static int on_check_reserved(sqlite3_file *f, int *ret)
{
    *ret = disk_locks_of(handle_of(f)->file)->reserved != NULL;
    return SQLITE_OK;
}

/* ---- Shared memory ------------------------------------------------------------- */

static int on_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
    struct handle *h = handle_of(f);
    int rc = SQLITE_OK;
    disk_enter();
    struct disk_locks *l = disk_locks_of(h->file);
    if (!h->shares) {
        h->shares = true;
        l->shm_users++;
    }
    *ret = NULL;
    if (region >= 16) {
        rc = SQLITE_IOERR_SHMMAP;
    } else {
        if (!l->shm[region] && extend) {
            rc = code(disk_ask(DISK_SHARE, disk_path(h->file)), SQLITE_IOERR_SHMMAP);
            if (rc == SQLITE_OK)
                l->shm[region] = calloc(1, (size_t)size);
        }
        *ret = l->shm[region];
    }
    disk_leave();
    return rc;
}

static int shm_take(struct handle *h, struct disk_locks *l, unsigned bits, bool exclusive)
{
    for (unsigned i = 0; i < 8; i++) {
        if (!(bits & 1U << i) || ((exclusive ? h->shm_exclusive : h->shm_shared) & 1U << i))
            continue;
        if ((l->shm_exclusive[i] && l->shm_exclusive[i] != h) ||
            (exclusive && l->shm_shared[i] > ((h->shm_shared & 1U << i) ? 1 : 0)))
            return SQLITE_BUSY;
    }
    for (unsigned i = 0; i < 8; i++) {
        if (!(bits & 1U << i))
            continue;
        if (exclusive) {
            l->shm_exclusive[i] = h;
            h->shm_exclusive |= 1U << i;
        } else if (!(h->shm_shared & 1U << i)) {
            l->shm_shared[i]++;
            h->shm_shared |= 1U << i;
        }
    }
    return SQLITE_OK;
}

static void shm_drop(struct handle *h, struct disk_locks *l, unsigned bits)
{
    for (unsigned i = 0; i < 8; i++) {
        if (!(bits & 1U << i))
            continue;
        if (l->shm_exclusive[i] == h)
            l->shm_exclusive[i] = NULL;
        if ((h->shm_shared & 1U << i) && l->shm_shared[i] > 0)
            l->shm_shared[i]--;
    }
    h->shm_shared &= ~bits;
    h->shm_exclusive &= ~bits;
}

static int on_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    struct handle *h = handle_of(f);
    unsigned bits = ((1U << n) - 1) << offset;
    int rc = SQLITE_OK;
    disk_enter();
    struct disk_locks *l = disk_locks_of(h->file);
    if (flags & SQLITE_SHM_UNLOCK) {
        shm_drop(h, l, bits);
    } else {
        rc = code(disk_ask(DISK_LOCK, disk_path(h->file)), SQLITE_IOERR_SHMLOCK);
        if (rc == SQLITE_OK)
            rc = shm_take(h, l, bits, flags & SQLITE_SHM_EXCLUSIVE);
    }
    disk_leave();
    return rc;
}

static void on_shm_barrier(sqlite3_file *f)
{
    (void)f;
    __sync_synchronize();
}

static int on_shm_unmap(sqlite3_file *f, int remove)
{
    struct handle *h = handle_of(f);
    (void)remove;
    disk_enter();
    struct disk_locks *l = disk_locks_of(h->file);
    shm_drop(h, l, 0xff);
    if (h->shares && --l->shm_users <= 0) /* the next to come builds it anew */
        for (size_t i = 0; i < 16; i++) {
            free(l->shm[i]);
            l->shm[i] = NULL;
        }
    h->shares = false;
    disk_leave();
    return SQLITE_OK;
}

/* ---- Opening -------------------------------------------------------------------- */

static int on_close(sqlite3_file *f)
{
    struct handle *h = handle_of(f);
    (void)on_shm_unmap(f, 0);
    (void)on_unlock(f, SQLITE_LOCK_NONE);
    if (h->remove[0])
        (void)disk_unlink(h->remove);
    return SQLITE_OK;
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int on_sector_size(sqlite3_file *f)
{
    (void)f;
    return 4096;
}

static int on_traits(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_traits,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *got)
{
    struct handle *h = handle_of(f);
    enum disk_fault fault = DISK_FINE;
    (void)vfs;
    *h = (struct handle){0};
    bool create = flags & SQLITE_OPEN_CREATE;
    h->file = name ? disk_open(name, create, &fault) : disk_anonymous();
    if (h->file == DISK_NONE)
        return fault == DISK_FULL_ERROR ? SQLITE_FULL : SQLITE_CANTOPEN;
    h->sync_dir =
        create &&
        (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL));
    if (name && (flags & SQLITE_OPEN_DELETEONCLOSE))
        (void)sqlite3_snprintf(sizeof(h->remove), h->remove, "%s", name);
    if (got)
        *got = flags;
    h->base.pMethods = &methods;
    return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    (void)vfs;
    if (disk_find(name) == DISK_NONE)
        return SQLITE_IOERR_DELETE_NOENT;
    int rc = code(disk_unlink(name), SQLITE_IOERR_DELETE);
    return rc == SQLITE_OK && sync_dir ? sync_dir_of(name) : rc;
}

static int on_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    (void)vfs;
    int file = disk_find(name);
    *ret = file != DISK_NONE && (flags != SQLITE_ACCESS_EXISTS || disk_size(file) > 0);
    return SQLITE_OK;
}

static int on_full_path(sqlite3_vfs *vfs, const char *name, int n, char *ret)
{
    (void)vfs;
    (void)sqlite3_snprintf(n, ret, "%s", name);
    return SQLITE_OK;
}

/* The same bytes in every run. */
static int on_random(sqlite3_vfs *vfs, int n, char *ret)
{
    static unsigned state = 1;
    (void)vfs;
    for (int i = 0; i < n; i++) {
        state = state * 1103515245U + 12345U;
        ret[i] = (char)(state >> 16);
    }
    return n;
}

/* Whoever waits for a lock waits in vain, quickly. */
static int on_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

void disk_vfs_install(void)
{
    static sqlite3_vfs ours;
    /* A mutex of a connection that is in use at a fork is of no use to the child. */
    if (!ours.zName && sqlite3_config(SQLITE_CONFIG_MULTITHREAD) != SQLITE_OK)
        abort();
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (ours.zName || !real)
        return;
    ours = *real;
    ours.pNext = NULL;
    ours.zName = "disk";
    ours.szOsFile = sizeof(struct handle);
    ours.mxPathname = 199;
    ours.xOpen = on_open;
    ours.xDelete = on_delete;
    ours.xAccess = on_access;
    ours.xFullPathname = on_full_path;
    ours.xRandomness = on_random;
    ours.xSleep = on_sleep;
    if (sqlite3_vfs_register(&ours, 1) != SQLITE_OK)
        abort();
}
