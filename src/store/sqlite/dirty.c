/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/dirty.c -- after a failed sync, write the database again.
 *
 * When fsync fails, Linux may drop the pages and call them clean: the cache then
 * shows what the disk does not have.  So a failed COMMIT leaves DIR/dirty behind
 * and the process stops; the next open checks the whole file, copies it to a new
 * one (rowids are INTEGER PRIMARY KEYs, so VACUUM keeps them), syncs that and
 * puts it in place, before a row is trusted.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "base/point.h"
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

char *path_of(const char *base, const char *suffix)
{
    char *path;

    need_memory(asprintf(&path, "%s%s", base, suffix) >= 0);
    return path;
}

bool sync_path(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        return false;
    int rc = fsync(fd);
    return close(fd) == 0 && rc == 0;
}

void dirty_mark(const char *dir)
{
    char *path = path_of(dir, "/dirty");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    free(path);
    if (fd < 0)
        return;
    (void)fsync(fd);
    (void)close(fd);
    (void)sync_path(dir, O_RDONLY | O_DIRECTORY);
}

bool database_is_whole(sqlite3 *db, char why[160])
{
    sqlite3_stmt *stmt = NULL;
    const char *found = NULL;

    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(stmt, 0);
    bool whole = found && strcmp(found, "ok") == 0;
    (void)snprintf(why, 160, "%s", found ? found : sqlite3_errmsg(db));
    (void)sqlite3_finalize(stmt);
    return whole;
}

static pawl_status check(sqlite3 *db, const char *file, pawl_error *reterr)
{
    char why[160];

    if (database_is_whole(db, why))
        return PAWL_OK;
    error_set(reterr, PAWL_CORRUPT,
              "database %s is damaged after a failed write (%s); restore a backup", file, why);
    return PAWL_CORRUPT;
}

static pawl_status copy(sqlite3 *db, const char *file, const char *fresh, pawl_error *reterr)
{
    (void)unlink(fresh);
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", fresh);
    int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK && sync_path(fresh, O_RDWR))
        return PAWL_OK;
    pawl_status status = (rc & 0xff) == SQLITE_FULL ? PAWL_DISK_FULL : PAWL_UNAVAILABLE;
    error_set(reterr, status, "cannot rewrite database %s after a failed write: %s", file,
              rc != SQLITE_OK ? sqlite3_errmsg(db) : strerror(errno));
    (void)unlink(fresh);
    return status;
}

/* `ready` becomes the database; the files of the old one are removed.  A kill at any line leaves
 * `ready` in place, and the next repair continues here. */
static pawl_status replace(const char *dir, const char *file, const char *ready, pawl_error *reterr)
{
    char *wal = path_of(file, "-wal"), *shm = path_of(file, "-shm");
    bool done = sync_path(dir, O_RDONLY | O_DIRECTORY);

    /* Remove the old WAL first, durably: SQLite would apply it to the new file. */
    done = done && (unlink(wal) == 0 || errno == ENOENT);
    done = done && (unlink(shm) == 0 || errno == ENOENT);
    done = done && sync_path(dir, O_RDONLY | O_DIRECTORY);
    POINT("dirty.wal_gone");
    done = done && rename(ready, file) == 0;
    POINT("dirty.replaced");
    done = done && sync_path(dir, O_RDONLY | O_DIRECTORY);
    if (!done)
        error_set(reterr, PAWL_UNAVAILABLE, "cannot put the new database in place of %s: %s", file,
                  strerror(errno));
    free(wal);
    free(shm);
    return done ? PAWL_OK : PAWL_UNAVAILABLE;
}

/* Check `file` and make `ready` from it. */
static pawl_status rewrite(const char *file, const char *ready, pawl_error *reterr)
{
    char *fresh = path_of(file, ".new");
    sqlite3 *db = NULL;
    pawl_status status = PAWL_UNAVAILABLE;

    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        /* Keep the WAL until the copy is in place. */
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        status = check(db, file, reterr);
        if (status == PAWL_OK)
            status = copy(db, file, fresh, reterr);
    } else {
        error_set(reterr, status, "cannot open database %s: %s", file, sqlite3_errmsg(db));
    }
    (void)sqlite3_close(db);
    POINT("dirty.copied");
    if (status == PAWL_OK && (chmod(fresh, 0600) != 0 || rename(fresh, ready) != 0)) {
        status = PAWL_UNAVAILABLE;
        error_set(reterr, status, "cannot rename %s: %s", fresh, strerror(errno));
    }
    free(fresh);
    return status;
}

pawl_status dirty_repair(const char *dir, const char *file, pawl_error *reterr)
{
    char *mark = path_of(dir, "/dirty"), *ready = path_of(file, ".ready");
    pawl_status status = PAWL_OK;

    if (access(mark, F_OK) != 0)
        goto done;
    if (access(ready, F_OK) != 0 && access(file, F_OK) == 0)
        status = rewrite(file, ready, reterr);
    POINT("dirty.ready");
    if (status == PAWL_OK && access(ready, F_OK) == 0)
        status = replace(dir, file, ready, reterr);
    if (status == PAWL_OK && (unlink(mark) != 0 || !sync_path(dir, O_RDONLY | O_DIRECTORY))) {
        status = PAWL_UNAVAILABLE;
        error_set(reterr, status, "cannot remove %s: %s", mark, strerror(errno));
    }
done:
    free(mark);
    free(ready);
    return status;
}
