/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/backup.c -- pawl/backup.h: a copy beside the owner, and its way back.
 *
 * The copy is made page by page inside one read transaction, so commits of the owner are
 * not seen and do not restart it.  Until it ends, the owner's WAL cannot start over.
 *
 *      lock NAME.part ─▶ copy ─▶ (restore: fence) ─▶ check ─▶ sync ─▶ rename ─▶ sync
 *
 * The next try overwrites a .part that a killed process left; the flock on it says whether
 * another process writes it.  Called by `pawl backup` and `pawl restore`.
 */
#include "pawl/backup.h"

#include "base/attr.h"
#include "base/fit.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/point.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_PAGES 512
#define BUSY_MS    5000

/* A restored store skips this many epochs and ids, which its original may have used after the
 * backup. */
#define EPOCH_LEAP "1048576"    /* 2^20 owners */
#define ID_LEAP    "4294967296" /* 2^32 ids; there are 2^63 */

/* A file on its way to its name. */
struct part {
    const char *goal;
    char *path; /* owned: GOAL.part */
    int fd;     /* its flock; -1: none */
};

static pawl_status fail(pawl_error *reterr, pawl_status status, const char *what, const char *name,
                        const char *why)
{
    error_set(reterr, status, "cannot %s %s: %s%s", what, name, why,
              status == PAWL_DISK_FULL ? "; free some space" : "");
    return status;
}

static pawl_status fail_errno(pawl_error *reterr, const char *what, const char *name)
{
    pawl_status status = errno == ENOSPC || errno == EDQUOT ? PAWL_DISK_FULL : PAWL_UNAVAILABLE;
    return fail(reterr, status, what, name, strerror(errno));
}

static pawl_status fail_sqlite(pawl_error *reterr, int rc, const char *what, const char *name,
                               const char *why)
{
    int kind = rc & 0xff;
    pawl_status status = kind == SQLITE_FULL                               ? PAWL_DISK_FULL
                         : kind == SQLITE_BUSY                             ? PAWL_BUSY
                         : kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ? PAWL_CORRUPT
                                                                           : PAWL_UNAVAILABLE;
    return fail(reterr, status, what, name, why);
}

/* ---- The file that is written ------------------------------------------------- */

static void unlink_all(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char *name = path_of(path, suffixes[i]);
        (void)unlink(name);
        free(name);
    }
}

static void part_close(struct part *p, bool keep)
{
    if (p->fd >= 0 && !keep)
        unlink_all(p->path);
    if (p->fd >= 0)
        (void)close(p->fd);
    free(p->path);
}

/* No other process may be writing it, and the name must still be the file that was locked. */
static pawl_status part_open(struct part *p, const char *goal, pawl_error *reterr)
{
    struct stat named, opened;

    *p = (struct part){.goal = goal, .path = path_of(goal, ".part"), .fd = -1};
    int fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_errno(reterr, "write", p->path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &opened) != 0 ||
        stat(p->path, &named) != 0 || opened.st_ino != named.st_ino) {
        (void)close(fd);
        error_set(reterr, PAWL_UNAVAILABLE,
                  "another process is writing %s; wait for it, or choose another file", p->path);
        return PAWL_UNAVAILABLE;
    }
    p->fd = fd;
    char *wal = path_of(p->path, "-wal"), *journal = path_of(p->path, "-journal");
    (void)unlink(wal); /* left behind by a kill; beside the new file they would be applied to it */
    (void)unlink(journal);
    free(wal);
    free(journal);
    if (ftruncate(fd, 0) != 0 || fchmod(fd, 0600) != 0)
        return fail_errno(reterr, "write", p->path);
    return PAWL_OK;
}

static pawl_status part_done(struct part *p, pawl_error *reterr)
{
    char *dir = directory_of(p->goal);
    assert_that(dir);
    bool ok = fsync(p->fd) == 0;
    POINT("backup.synced");
    ok = ok && rename(p->path, p->goal) == 0;
    POINT("backup.renamed");
    ok = ok && sync_path(dir, O_RDONLY | O_DIRECTORY);
    pawl_status status = ok ? PAWL_OK : fail_errno(reterr, "write", p->goal);
    free(dir);
    return status;
}

/* ---- Copying -------------------------------------------------------------------- */

/* Open a pawl database for reading.  NULL: reterr says what is wrong. */
static sqlite3 *open_source(const char *file, int *retschema, pawl_error *reterr)
{
    sqlite3 *db = NULL;
    pawl_status status;

    if (access(file, R_OK) != 0) {
        error_set(reterr, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_UNAVAILABLE, "cannot read %s: %s",
                  file, strerror(errno));
        return NULL;
    }
    int rc = sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE, NULL);
    (void)sqlite3_busy_timeout(db, BUSY_MS);
    status = rc == SQLITE_OK ? schema_check(db, file, schema_version, retschema, reterr)
                             : fail_sqlite(reterr, rc, "open", file, sqlite3_errmsg(db));
    if (status == PAWL_OK && *retschema == 0) {
        error_set(reterr, PAWL_INVALID, "%s holds no pawl data", file);
        status = PAWL_INVALID;
    }
    if (status == PAWL_OK)
        return db;
    (void)sqlite3_close(db);
    return NULL;
}

/* All pages of one snapshot.  Returns an SQLite result code. */
static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    int rc = sqlite3_exec(from, "BEGIN; SELECT count(*) FROM fence", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(to, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
    if (!b)
        return sqlite3_extended_errcode(to);
    do {
        rc = sqlite3_backup_step(b, STEP_PAGES);
        POINT("backup.step");
    } while (rc == SQLITE_OK);
    int end = sqlite3_backup_finish(b);
    (void)sqlite3_exec(from, "ROLLBACK", NULL, NULL, NULL);
    return rc == SQLITE_DONE ? end : rc;
}

static pawl_status copy(sqlite3 *from, struct part *p, pawl_error *reterr)
{
    sqlite3 *to = NULL;
    int rc = sqlite3_open_v2(p->path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = copy_pages(from, to);
    pawl_status status = PAWL_OK;
    if (rc != SQLITE_OK)
        status = fail_sqlite(reterr, rc, "copy to", p->path,
                             sqlite3_errcode(to) ? sqlite3_errmsg(to) : sqlite3_errstr(rc));
    (void)sqlite3_close(to);
    POINT("backup.copied");
    return status;
}

/* ---- Finishing the copy ------------------------------------------------------------ */

static uint64_t count_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    uint64_t n = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        n = (uint64_t)sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return n;
}

static void describe(sqlite3 *db, int schema, const struct part *p, pawl_backup_info *ret)
{
    struct stat st;
    *ret = (pawl_backup_info){.schema = schema,
                              .instances = count_of(db, "SELECT count(*) FROM instance"),
                              .events = count_of(db, "SELECT count(*) FROM history"),
                              .epoch = count_of(db, "SELECT epoch FROM fence")};
    if (schema > 1)
        ret->queue_items = count_of(db, "SELECT count(*) FROM queue_entry");
    if (fstat(p->fd, &st) == 0)
        ret->bytes = (uint64_t)st.st_size;
}

/* Locks that ran out long ago, and queues that are due, so that the owner sees it;
 * work without its lease, counted as one that was lost. */
static const char fence_work[] =
    "UPDATE fence SET epoch=epoch+" EPOCH_LEAP ",next_id=next_id+" ID_LEAP ";"
    "UPDATE work SET attempt=attempt+1,crashes=crashes+1,deadline_ms=1,"
    "last_error='the lease ended when a backup was restored',"
    "lock_token='',lock_until_ms=0,place=(visible_ms>0) WHERE lock_token<>''";
static const char fence_queues[] = "UPDATE queue SET due_ms=1 WHERE locks>0;"
                                   "UPDATE queue_lock SET until_ms=1";

static int fence_out(sqlite3 *db, int schema)
{
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, fence_work, NULL, NULL, NULL);
    if (rc == SQLITE_OK && schema > 1)
        rc = sqlite3_exec(db, fence_queues, NULL, NULL, NULL);
    return rc == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : rc;
}

/* One file without a WAL, whole, and after a restore without an owner. */
static pawl_status finish(struct part *p, int schema, bool restored, pawl_backup_info *ret,
                          pawl_error *reterr)
{
    sqlite3 *db = NULL;
    char why[160];
    int rc = sqlite3_open_v2(p->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA journal_mode=DELETE", NULL, NULL,
                          NULL);
    if (rc == SQLITE_OK && restored)
        rc = fence_out(db, schema);
    pawl_status status = PAWL_OK;
    if (rc != SQLITE_OK) {
        status = fail_sqlite(reterr, rc, "finish", p->path, sqlite3_errmsg(db));
    } else if (!database_is_whole(db, why)) {
        status = fail(reterr, PAWL_CORRUPT, "trust the copy", p->path, why);
    } else {
        describe(db, schema, p, ret);
    }
    (void)sqlite3_close(db);
    POINT("backup.checked");
    return status;
}

static pawl_status make_copy(sqlite3 *from, const char *to, int schema, bool restored,
                             pawl_backup_info *ret, pawl_error *reterr)
{
    struct part p;
    pawl_status status = part_open(&p, to, reterr);
    if (status == PAWL_OK)
        status = copy(from, &p, reterr);
    if (status == PAWL_OK)
        status = finish(&p, schema, restored, ret, reterr);
    if (status == PAWL_OK)
        status = part_done(&p, reterr);
    part_close(&p, status == PAWL_OK);
    return status;
}

/* ---- Backup ---------------------------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

static pawl_status check_goal(const char *file, const char *to, bool replace, pawl_error *reterr)
{
    struct stat st;
    char *dir = directory_of(file), *wal = path_of(to, "-wal");
    assert_that(dir);
    char *dirty = path_of(dir, "/dirty");
    pawl_status status = PAWL_OK;
    if (is_same_file(file, to)) {
        status = PAWL_INVALID;
        error_set(reterr, status, "%s is the store itself; choose another file", to);
    } else if (stat(to, &st) == 0 && !S_ISREG(st.st_mode)) {
        status = PAWL_INVALID;
        error_set(reterr, status, "%s is no plain file; name the file to write", to);
    } else if (access(to, F_OK) == 0 && !replace) {
        status = PAWL_EXISTS;
        error_set(reterr, status, "%s exists; choose another file, or replace it with --force", to);
    } else if (access(wal, F_OK) == 0) {
        status = PAWL_EXISTS;
        error_set(reterr, status, "%s is a database in use (%s exists); choose another file", to,
                  wal);
    } else if (access(dirty, F_OK) == 0) {
        status = PAWL_UNAVAILABLE;
        error_set(reterr, status,
                  "a write to %s failed and it was not opened since; repair it with: pawl "
                  "work --until-idle",
                  file);
    }
    free(dir);
    free(wal);
    free(dirty);
    return status;
}

pawl_status pawl_sqlite_backup(const char *file, const char *to, bool replace,
                               pawl_backup_info *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    int schema = 0;
    if (!IS_THERE(file && to && ret, "two file names and room for the answer", err))
        return PAWL_MISUSE;
    pawl_status status = check_goal(file, to, replace, err);
    if (status != PAWL_OK)
        return status;
    sqlite3 *from = open_source(file, &schema, err);
    if (!from)
        return err->status;
    status = make_copy(from, to, schema, false, ret, err);
    (void)sqlite3_close(from);
    return status;
}

/* ---- Restore --------------------------------------------------------------------------- */

/* The first file in `dir` that a restore must not overwrite; "" when there is none. */
static pawl_status look_around(const char *dir, const char *file, char found[256],
                               pawl_error *reterr)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    size_t n = strlen(base);
    DIR *d = opendir(dir);
    found[0] = 0;
    if (!d)
        return fail_errno(reterr, "read", dir);
    for (struct dirent *e; !found[0] && (e = readdir(d));) {
        bool part = strncmp(e->d_name, base, n) == 0 && strncmp(e->d_name + n, ".part", 5) == 0;
        if (!part && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, "lock") != 0)
            (void)snprintf(found, 256, "%s", e->d_name);
    }
    (void)closedir(d);
    return PAWL_OK;
}

/* Make the directory and sync its parent: after a power loss a new directory, perhaps made by a
 * restore that was killed, would be gone. */
static pawl_status make_dir(const char *dir, pawl_error *reterr)
{
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return fail_errno(reterr, "make", dir);
    char *parent = directory_of(dir);
    assert_that(parent);
    bool kept = directory_sync(parent) || errno == EACCES || errno == EINVAL; /* it was there */
    free(parent);
    return kept ? PAWL_OK : fail_errno(reterr, "sync the parent of", dir);
}

/* Lock an empty directory; the lock is in *retlock. */
static pawl_status claim(const char *dir, const char *file, int *retlock, pawl_error *reterr)
{
    char found[256];
    pawl_status status = make_dir(dir, reterr);
    if (status == PAWL_OK)
        status = look_around(dir, file, found, reterr);
    if (status != PAWL_OK)
        return status;
    char *lock = path_of(dir, "/lock");
    bool was_used = access(lock, F_OK) == 0;
    free(lock);
    if (!found[0] || was_used)
        *retlock = lock_open(dir, reterr);
    if (*retlock < 0 && (!found[0] || was_used))
        return PAWL_UNAVAILABLE;
    if (!found[0])
        return PAWL_OK;
    error_set(reterr, PAWL_EXISTS,
              "%s is not empty (%s); a restore needs a directory of its own: move that away, or "
              "choose another --data",
              dir, found);
    return PAWL_EXISTS;
}

pawl_status pawl_sqlite_restore(const char *backup, const char *file, pawl_backup_info *ret,
                                pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    int schema = 0, lock = -1;
    char why[160];
    if (!IS_THERE(backup && file && ret, "two file names and room for the answer", err))
        return PAWL_MISUSE;
    sqlite3 *from = open_source(backup, &schema, err);
    if (!from)
        return err->status;
    char *dir = directory_of(file);
    assert_that(dir);
    pawl_status status =
        database_is_whole(from, why) ? PAWL_OK : fail(err, PAWL_CORRUPT, "restore", backup, why);
    if (status == PAWL_OK)
        status = claim(dir, file, &lock, err);
    if (status == PAWL_OK)
        status = make_copy(from, file, schema, true, ret, err);
    (void)sqlite3_close(from);
    lock_close(lock);
    free(dir);
    return status;
}

/* ---- For programs with a header of any age ------------------------------------------------ */

pawl_status pawl_sqlite_backup_sized(const char *file, const char *to, bool replace,
                                     pawl_backup_info *ret, pawl_error *reterr, size_t size)
{
    pawl_backup_info own = {0};
    pawl_status status = pawl_sqlite_backup(file, to, replace, ret ? &own : NULL, reterr);
    if (ret)
        fit_struct(ret, size, &own, sizeof(own));
    return status;
}

pawl_status pawl_sqlite_restore_sized(const char *backup, const char *file, pawl_backup_info *ret,
                                      pawl_error *reterr, size_t size)
{
    pawl_backup_info own = {0};
    pawl_status status = pawl_sqlite_restore(backup, file, ret ? &own : NULL, reterr);
    if (ret)
        fit_struct(ret, size, &own, sizeof(own));
    return status;
}
