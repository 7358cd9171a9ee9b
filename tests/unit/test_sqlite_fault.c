/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_fault.c -- disks that fail, fill up or lie.
 *
 * A VFS in front of SQLite's own fails chosen calls; a small tmpfs is really
 * full.  After each fault: what the store said, and what is there when somebody
 * opens the file again.
 */
#include "test_sqlite.h"

#include "base/rand.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- A VFS that fails on demand ------------------------------------------------ */

enum fault {
    NONE,
    SYNC_WAL,
    SYNC_DATABASE,
    WRITE_WAL_FULL,
    WRITE_WAL_IO,
    WRITE_DATABASE_FULL,
    FULL_BUT_FOR_THE_RESERVE
};
static char reserve_file[200];
static enum fault fault;
static sqlite3_vfs shim;
static sqlite3_vfs *real_vfs;
/* Of the log [1] and the database [0]: the real methods, and those with ours put over. */
static const sqlite3_io_methods *real_methods[2];
static sqlite3_io_methods methods[2];
static sqlite3_file *wal_file, *database_file;

static const sqlite3_io_methods *real(const sqlite3_file *f)
{
    return real_methods[f->pMethods == &methods[1]];
}

static int shim_sync(sqlite3_file *f, int flags)
{
    if ((fault == SYNC_WAL && f == wal_file) || (fault == SYNC_DATABASE && f == database_file))
        return SQLITE_IOERR_FSYNC;
    return real(f)->xSync(f, flags);
}

static int shim_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 at)
{
    if (f == wal_file && fault == FULL_BUT_FOR_THE_RESERVE && access(reserve_file, F_OK) == 0)
        return SQLITE_FULL;
    if ((f == wal_file && fault == WRITE_WAL_FULL) ||
        (f == database_file && fault == WRITE_DATABASE_FULL))
        return SQLITE_FULL;
    if (f == wal_file && fault == WRITE_WAL_IO)
        return SQLITE_IOERR_WRITE;
    return real(f)->xWrite(f, bytes, n, at);
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    (void)vfs;
    int rc = real_vfs->xOpen(real_vfs, name, f, flags, out);
    bool wal = (flags & SQLITE_OPEN_WAL) != 0;
    bool database = (flags & SQLITE_OPEN_MAIN_DB) && (flags & SQLITE_OPEN_READWRITE);
    if (rc != SQLITE_OK || !(wal || database))
        return rc;
    real_methods[wal] = f->pMethods;
    methods[wal] = *f->pMethods;
    methods[wal].xSync = shim_sync;
    methods[wal].xWrite = shim_write;
    f->pMethods = &methods[wal];
    if (wal)
        wal_file = f;
    else
        database_file = f;
    return rc;
}

static void use_shim(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "shim";
    shim.xOpen = shim_open;
    ck_assert_int_eq(sqlite3_vfs_register(&shim, 1), SQLITE_OK);
}

static void no_shim(void)
{
    fault = NONE;
    ck_assert_int_eq(sqlite3_vfs_register(real_vfs, 1), SQLITE_OK);
}

static bool exists(const struct box *b, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
    return access(path, F_OK) == 0;
}

static void touch(const struct box *b, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

/* A commit that adds one more event to `row`. */
static pawl_status append(struct box *b, pawl_row *row)
{
    pawl_event e = {.rid = box_id(b), .execution = 1, .seq = row->last_seq + 1, .kind = 10};
    pawl_row next;
    pawl_round r = box_round(row, &e, &next);
    pawl_status status = box_commit(b, &r, 1);
    if (status == PAWL_OK)
        *row = next;
    return status;
}

static uint64_t count_events(struct box *b, uint64_t uid)
{
    pawl_event_list l;
    pawl_status status = b->s->ops->read_history(b->s, uid, 1, 0, 0, b->mem, &l, &b->err);
    ck_assert_msg(status == PAWL_OK, "%s", b->err.text);
    return l.count;
}

TEST(a_failed_sync_of_a_commit_is_an_unknown_outcome)
{
    struct box b;
    use_shim();
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    uint64_t group = b.fence.group_no;
    fault = SYNC_WAL;
    ck_assert_int_eq(append(&b, &a), PAWL_UNKNOWN);
    ck_assert_int_eq(b.err.status, PAWL_UNKNOWN);
    ck_assert(exists(&b, "dirty"));
    /* The disk seems to work again: this store must not write all the same. */
    fault = NONE;
    ck_assert_int_eq(append(&b, &a), PAWL_UNKNOWN);
    ck_assert_int_eq(b.s->ops->take(b.s, 1, &b.fence, &b.err), PAWL_UNKNOWN);
    box_close(&b);
    no_shim();
    box_open(&b); /* writes the file anew; take() tells which way it went */
    ck_assert(!exists(&b, "dirty"));
    ck_assert(b.fence.group_no == group || b.fence.group_no == group + 1);
    ck_assert_uint_eq(count_events(&b, a.uid), 3 + b.fence.group_no - group);
    box_drop(&b);
}

TEST(a_failed_sync_of_a_checkpoint_stops_writing_too)
{
    struct box b;
    use_shim();
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    sqlite_of(b.s)->checkpoint_at = 1;
    fault = SYNC_DATABASE;
    ck_assert_int_eq(append(&b, &a), PAWL_OK); /* it is in the WAL */
    ck_assert(exists(&b, "dirty"));
    fault = NONE;
    ck_assert_int_eq(append(&b, &a), PAWL_UNKNOWN);
    box_close(&b);
    no_shim();
    box_open(&b);
    ck_assert_uint_eq(count_events(&b, a.uid), 4);
    box_drop(&b);
}

TEST(a_full_disk_commits_nothing_and_gives_the_reserve_back)
{
    struct box b;
    use_shim();
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    pawl_fence before = b.fence;
    fault = WRITE_WAL_FULL;
    ck_assert_int_eq(append(&b, &a), PAWL_DISK_FULL);
    ck_assert(!exists(&b, "reserve"));
    ck_assert(!exists(&b, "dirty"));
    ck_assert_uint_eq(b.fence.group_no, before.group_no);
    fault = NONE;
    ck_assert_int_eq(append(&b, &a), PAWL_OK);
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_OK); /* this disk has room */
    ck_assert(exists(&b, "reserve"));
    ck_assert_uint_eq(count_events(&b, a.uid), 4);
    no_shim();
    box_drop(&b);
}

/* What the reserve had is room: the store is taken at once, and a second time there is none. */
TEST(a_full_disk_is_taken_with_the_reserve)
{
    struct box b;
    use_shim();
    box_make(&b);
    box_open(&b);
    uint64_t epoch = b.fence.epoch;
    (void)snprintf(reserve_file, sizeof reserve_file, "%s/reserve", b.dir);
    ck_assert(exists(&b, "reserve"));
    fault = FULL_BUT_FOR_THE_RESERVE;
    ck_assert_msg(b.s->ops->take(b.s, 1000, &b.fence, &b.err) == PAWL_OK, "%s", b.err.text);
    ck_assert_uint_eq(b.fence.epoch, epoch + 1);
    ck_assert(!exists(&b, "reserve"));
    fault = WRITE_WAL_FULL;
    ck_assert_int_eq(b.s->ops->take(b.s, 1000, &b.fence, &b.err), PAWL_DISK_FULL);
    fault = NONE;
    ck_assert_int_eq(b.s->ops->take(b.s, 1000, &b.fence, &b.err), PAWL_OK);
    ck_assert_uint_eq(b.fence.epoch, epoch + 2);
    no_shim();
    box_drop(&b);
}

TEST(a_failed_write_of_a_commit_is_unknown)
{
    struct box b;
    use_shim();
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    fault = WRITE_WAL_IO;
    ck_assert_int_eq(append(&b, &a), PAWL_UNKNOWN);
    fault = NONE;
    box_close(&b);
    no_shim();
    box_open(&b);
    ck_assert_uint_eq(count_events(&b, a.uid), 3);
    box_drop(&b);
}

TEST(somebody_elses_write_lock_is_busy)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    sqlite3 *shell;
    ck_assert_int_eq(sqlite3_open(b.file, &shell), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(shell, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(append(&b, &a), PAWL_BUSY);
    ck_assert_int_eq(sqlite3_exec(shell, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(append(&b, &a), PAWL_OK);
    sqlite3_close(shell);
    box_drop(&b);
}

/* ---- A disk that is really full -------------------------------------------------- */

/* Mount a tmpfs for this process alone; false, with the reason printed, when not allowed. */
static bool mount_small(const char *dir, const char *size)
{
    char options[40];
    (void)snprintf(options, sizeof options, "size=%s,mode=0700", size);
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tmpfs", dir, "tmpfs", 0, options) == 0)
        return true;
    printf("skipped: cannot mount a small disk here: %s\n", strerror(errno));
    fflush(stdout);
    return false;
}

/* Take what is left of the disk, 4 KiB at a time. */
static void fill(const char *path)
{
    static char bytes[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(fd, 0);
    memset(bytes, 'x', sizeof bytes);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    close(fd);
}

TEST(acks_pass_on_a_full_disk_and_space_comes_back)
{
    struct box b;
    char path[200];
    box_make(&b);
    if (!mount_small(b.dir, "8m")) {
        box_drop(&b);
        return;
    }
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    (void)snprintf(path, sizeof path, "%s/filler", b.dir);
    fill(path);
    pawl_status status = PAWL_OK;
    for (int i = 0; i < 10000 && status == PAWL_OK; i++)
        status = append(&b, &a);
    ck_assert_msg(status == PAWL_DISK_FULL, "%d %s", (int)status, b.err.text);
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_DISK_FULL);
    uint64_t there = count_events(&b, a.uid); /* reading works */
    ck_assert_uint_eq(there, a.last_seq);
    for (int i = 0; i < 20; i++) /* the reserve made room for what finishes work */
        ck_assert_int_eq(append(&b, &a), PAWL_OK);
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_DISK_FULL);
    unlink(path);
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_OK);
    ck_assert(exists(&b, "reserve"));
    ck_assert_uint_eq(count_events(&b, a.uid), there + 20);
    box_close(&b);
    box_open(&b);
    ck_assert_uint_eq(count_events(&b, a.uid), there + 20);
    box_drop(&b);
}

/* The reserve is spent and cannot be made again: what is free inside the file counts. */
TEST(room_inside_the_file_is_room_for_new_work)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    struct reserve *r = &sqlite_of(b.s)->reserve;
    char *path = r->path, sql[80];
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_OK);
    r->spent = true;
    r->path = NULL;
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_DISK_FULL);
    box_sql(&b, "CREATE TABLE junk(bytes)");
    (void)snprintf(sql, sizeof sql, "INSERT INTO junk VALUES(zeroblob(%lld))",
                   (long long)r->bytes * 2);
    box_sql(&b, sql);
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_DISK_FULL);
    box_sql(&b, "DROP TABLE junk");
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_OK);
    r->spent = false;
    r->path = path;
    box_drop(&b);
}

TEST(opening_on_a_full_disk_is_one_clear_error)
{
    struct box b;
    char path[200];
    box_make(&b);
    if (!mount_small(b.dir, "1m")) {
        box_drop(&b);
        return;
    }
    (void)snprintf(path, sizeof path, "%s/filler", b.dir);
    fill(path);
    b.err = (pawl_error){0};
    ck_assert_ptr_null(pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1), &b.err));
    ck_assert_msg(b.err.text[0] != '\0', "no message");
    unlink(path);
    box_open(&b);
    box_drop(&b);
}

/* ---- The mark of a failed write --------------------------------------------------- */

TEST(a_marked_database_is_written_anew_with_the_same_rows)
{
    struct box b;
    struct stat before, after;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 300), row;
    pawl_fence fence = b.fence;
    box_close(&b);
    touch(&b, "dirty");
    ck_assert_int_eq(stat(b.file, &before), 0);
    box_open(&b);
    ck_assert_int_eq(stat(b.file, &after), 0);
    ck_assert(before.st_ino != after.st_ino);
    ck_assert_int_eq(after.st_mode & 0777, 0600);
    ck_assert(!exists(&b, "dirty") && !exists(&b, "pawl.db.new") && !exists(&b, "pawl.db.ready"));
    ck_assert_uint_eq(b.fence.epoch, fence.epoch + 1);
    ck_assert_uint_eq(b.fence.next_id, fence.next_id);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, a.uid, b.mem, &row, &b.err), PAWL_OK);
    ck_assert_uint_eq(row.last_rid, a.last_rid);
    ck_assert_uint_eq(count_events(&b, a.uid), 300);
    box_drop(&b);
}

/* As after a kill in the middle of the repair: the copy is complete, the WAL gone. */
TEST(a_repair_goes_on_where_it_was_killed)
{
    struct box b;
    char ready[200];
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 30);
    (void)snprintf(ready, sizeof ready, "VACUUM INTO '%s.ready'", b.file);
    box_sql(&b, ready);
    append(&b, &a); /* in the old file only */
    box_close(&b);
    char committed[200]; /* the one of the kill is not of that commit */
    (void)snprintf(committed, sizeof committed, "%s-committed", b.file);
    ck_assert_int_eq(unlink(committed), 0);
    touch(&b, "dirty");
    touch(&b, "pawl.db.new");
    box_open(&b);
    ck_assert(!exists(&b, "dirty") && !exists(&b, "pawl.db.ready"));
    ck_assert_uint_eq(count_events(&b, a.uid), 30);
    box_drop(&b);
}

TEST(a_marked_and_damaged_database_is_refused_and_kept)
{
    struct box b;
    struct stat st;
    box_make(&b);
    box_open(&b);
    box_instance(&b, "a", 300);
    box_close(&b);
    touch(&b, "dirty");
    int fd = open(b.file, O_RDWR);
    ck_assert_int_eq(fstat(fd, &st), 0);
    static char zeros[4096];
    for (off_t at = st.st_size / 2 / 4096 * 4096; at < st.st_size; at += 4096)
        ck_assert_int_eq(pwrite(fd, zeros, sizeof zeros, at), (ssize_t)sizeof zeros);
    close(fd);
    b.err = (pawl_error){0};
    ck_assert_ptr_null(pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1), &b.err));
    ck_assert_msg(b.err.status == PAWL_CORRUPT, "%s", b.err.text);
    ck_assert_ptr_nonnull(strstr(b.err.text, "restore a backup"));
    ck_assert(exists(&b, "dirty") && exists(&b, "pawl.db"));
    box_drop(&b);
}

/* ---- A WAL that is gone ----------------------------------------------------------------- */

/* A process that ends without closing: commits are in the WAL only. */
static void commit_and_end(struct box *b, const char *id)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        box_open(b);
        (void)box_instance(b, id, 5);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

static void refused_as_behind(struct box *b)
{
    ck_assert_ptr_null(pawl_sqlite_store(b->file, PAWL_STORE_OPTS(.now_ms = 1), &b->err));
    ck_assert_int_eq(b->err.status, PAWL_CORRUPT);
    ck_assert_msg(strstr(b->err.text, "is behind") && strstr(b->err.text, "-wal"), "%s",
                  b->err.text);
}

static void in_box(const struct box *b, const char *name, char path[200])
{
    (void)snprintf(path, 200, "%s/%s", b->dir, name);
}

TEST(D08_a_wal_that_was_deleted_or_cut_is_noticed)
{
    static const long sizes[] = {0, 32, 9000};
    struct box b;
    char wal[200], committed[200];
    for (size_t i = 0; i < 3; i++) {
        box_make(&b);
        in_box(&b, "pawl.db-wal", wal);
        in_box(&b, "pawl.db-committed", committed);
        box_open(&b);
        box_close(&b);
        commit_and_end(&b, "a");
        ck_assert_int_eq(i ? truncate(wal, sizes[i]) : unlink(wal), 0);
        refused_as_behind(&b);
        refused_as_behind(&b); /* nothing was changed by looking */
        ck_assert_int_eq(unlink(committed), 0);
        box_open(&b); /* as the owner wished */
        box_drop(&b);
    }
}

TEST(D08_an_older_file_put_in_place_is_noticed)
{
    struct box b;
    char old[200];
    box_make(&b);
    in_box(&b, "old.db", old);
    box_open(&b);
    char sql[300];
    (void)snprintf(sql, sizeof sql, "VACUUM INTO '%s'", old);
    box_sql(&b, sql);
    box_close(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 5);
    box_close(&b);
    ck_assert_int_eq(rename(old, b.file), 0);
    refused_as_behind(&b);
    box_drop(&b);
}

TEST(D08_another_database_in_the_directory_has_its_own_number)
{
    struct box b;
    char first[96], second[96];
    box_make(&b);
    (void)snprintf(first, sizeof first, "%s", b.file);
    (void)snprintf(second, sizeof second, "%s/b.db", b.dir);
    box_open(&b);
    (void)box_instance(&b, "a", 5);
    box_close(&b);
    memcpy(b.file, second, sizeof second); /* new: far behind the first */
    box_open(&b);
    box_close(&b);
    memcpy(b.file, first, sizeof first);
    box_open(&b);
    box_drop(&b);
}

TEST(D08_a_torn_number_counts_for_nothing)
{
    struct box b;
    char committed[200];
    box_make(&b);
    in_box(&b, "pawl.db-committed", committed);
    box_open(&b);
    box_close(&b);
    FILE *f = fopen(committed, "re+");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, 45, SEEK_SET), 0);
    ck_assert_int_gt(fputs("9", f), 0);
    fclose(f);
    box_open(&b);
    box_drop(&b);
}

/* Other versions read it: the line stays as it is, to the byte. */
TEST(D08_the_last_commit_is_a_line_of_fixed_places)
{
    static const uint64_t key[2] = {0x7061776c, 0x636f6d6d};
    struct box b;
    char committed[200], got[128] = "", want[128];
    box_make(&b);
    in_box(&b, "pawl.db-committed", committed);
    box_open(&b);
    for (int i = 0; i < 12; i++) { /* two digits */
        char id[16];
        (void)snprintf(id, sizeof id, "i%d", i);
        (void)box_instance(&b, id, 1);
    }
    int n = snprintf(want, sizeof want, "epoch %20llu commit %20llu",
                     (unsigned long long)b.fence.epoch, (unsigned long long)b.fence.group_no);
    (void)snprintf(want + n, sizeof want - (size_t)n, " sum %016llx\n",
                   (unsigned long long)siphash24(key, want, (size_t)n));
    FILE *f = fopen(committed, "re");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(got, sizeof got, f));
    fclose(f);
    ck_assert_str_eq(got, want);
    box_drop(&b);
}

/* ---- Damaged rows ------------------------------------------------------------------ */

static void expect_corrupt(struct box *b, uint64_t uid, const char *words)
{
    pawl_event_list l;
    ck_assert_int_eq(b->s->ops->read_history(b->s, uid, 1, 0, 0, b->mem, &l, &b->err),
                     PAWL_CORRUPT);
    ck_assert_msg(strstr(b->err.text, words) != NULL, "%s", b->err.text);
}

TEST(a_row_that_does_not_fit_is_named_and_hurts_nobody_else)
{
    static const char *const damage[] = {"uid=uid+1", "execution=2", "seq=99", "prev=1",
                                         "prev=rid+5"};
    struct box b;
    char sql[200], words[60];
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 20), other = box_instance(&b, "other", 20);
    uint64_t rid = a.last_rid - 7;
    (void)snprintf(words, sizeof words, "history row %d ", (int)rid);
    box_sql(&b, "CREATE TABLE saved AS SELECT * FROM history");
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        (void)snprintf(sql, sizeof sql, "UPDATE history SET %s WHERE rid=%d", damage[i], (int)rid);
        box_sql(&b, sql);
        (void)snprintf(words, sizeof words, "history row %d ", (int)(i == 3 ? 1 : (int)rid));
        expect_corrupt(&b, a.uid, words);
        ck_assert_uint_eq(count_events(&b, other.uid), 20);
        box_sql(&b, "DELETE FROM history; INSERT INTO history SELECT * FROM saved");
        ck_assert_uint_eq(count_events(&b, a.uid), 20);
    }
    (void)snprintf(sql, sizeof sql, "DELETE FROM history WHERE rid=%d", (int)rid);
    box_sql(&b, sql);
    (void)snprintf(words, sizeof words, "history row %d is missing", (int)rid);
    expect_corrupt(&b, a.uid, words);
    box_drop(&b);
}

/* A made-up length must not become an allocation. */
TEST(a_huge_last_seq_is_corrupt_not_out_of_memory)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 20);
    box_sql(&b, "UPDATE head SET last_seq=1000000000000000");
    expect_corrupt(&b, a.uid, "history row");
    box_drop(&b);
}

/* One more event for an instance, as the store has it now. */
static pawl_round one_more(struct box *b, pawl_row *row, pawl_event *e)
{
    pawl_row found;
    ck_assert_int_eq(store_find_uid(b->s, row->uid, b->mem, &found, &b->err), PAWL_OK);
    pawl_round r = {.uid = found.uid,
                    .execution = 1,
                    .base_seq = found.last_seq,
                    .base_rid = found.last_rid,
                    .change = PAWL_ROW_LAST,
                    .events = e,
                    .event_count = 1};
    *e = (pawl_event){.rid = box_id(b),
                      .execution = 1,
                      .seq = found.last_seq + 1,
                      .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                      .name = pawl_s("Step"),
                      .at_ms = 1000};
    found.last_seq = e->seq;
    found.last_rid = e->rid;
    *row = found;
    r.row = row;
    return r;
}

TEST(a_damaged_id_stops_its_instance_and_nobody_else)
{
    struct box b;
    pawl_event events[2];
    box_make(&b);
    box_open(&b);
    pawl_row rows[] = {box_instance(&b, "damaged", 20), box_instance(&b, "sound", 20)};
    char sql[100];
    (void)snprintf(sql, sizeof sql, "UPDATE head SET last_rid=1152921504606846976 WHERE uid=%llu",
                   (unsigned long long)rows[0].uid);
    box_sql(&b, sql);
    pawl_round rounds[] = {one_more(&b, &rows[0], &events[0]), one_more(&b, &rows[1], &events[1])};
    ck_assert_msg(store_commit(b.s, &b.fence, rounds, 2, 1000, &b.err) == PAWL_OK, "%s",
                  b.err.text);
    ck_assert_int_eq(rounds[0].result, PAWL_CONFLICT);
    ck_assert_int_eq(rounds[1].result, PAWL_OK);
    /* The same rows written by a process that came after us: we stop. */
    box_sql(&b, "UPDATE fence SET epoch=epoch+1");
    rounds[0] = one_more(&b, &rows[0], &events[0]);
    ck_assert_int_eq(store_commit(b.s, &b.fence, rounds, 1, 1000, &b.err), PAWL_FENCED);
    box_drop(&b);
}

/* ---- Memory that runs out in the middle of a row ------------------------------------ */

static jmp_buf out;

static void leave(void *user)
{
    ck_assert(user == &out);
    longjmp(out, 1);
}

TEST(a_caller_out_of_memory_leaves_no_reader_behind)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 2000);
    struct sqlite_store *s = sqlite_of(b.s);
    for (int i = 0; i < 3 * READERS_MAX; i++) { /* more often than there are readers */
        pawl_mem mem;
        pawl_event_list l;
        arena_init(&mem);
        mem.limit = 64 * 1024;
        mem.exhausted = leave;
        mem.user = &out;
        if (setjmp(out) == 0) {
            (void)b.s->ops->read_history(b.s, a.uid, 1, 0, 0, &mem, &l, &b.err);
            ck_abort_msg("there was enough memory");
        }
        ck_assert(mem.exhausted == leave && mem.user == &out);
        arena_deinit(&mem);
        for (struct conn *c = s->pool; c; c = c->next)
            ck_assert_int_eq(sqlite3_get_autocommit(c->db), 1);
    }
    ck_assert_uint_eq(count_events(&b, a.uid), 2000);
    ck_assert_int_eq(s->readers, 1);
    box_drop(&b);
}

/* A read puts its own hook before the caller's, and takes it away again. */
TEST(memory_runs_out_after_a_read_as_it_did_before)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3), row;
    pawl_event_list l;
    pawl_message_list m;
    for (int i = 0; i < 3; i++) {
        pawl_mem mem;
        arena_init(&mem);
        mem.exhausted = leave;
        mem.user = &out;
        pawl_status rc = i == 0   ? b.s->ops->read_history(b.s, a.uid, 1, 0, 0, &mem, &l, &b.err)
                         : i == 1 ? b.s->ops->find(b.s, pawl_s("a"), &mem, &row, &b.err)
                                  : b.s->ops->fetch_messages(b.s, INT64_MAX, 10, &mem, &m, &b.err);
        ck_assert_int_eq(rc, PAWL_OK);
        mem.limit = mem.total;
        if (setjmp(out) == 0) {
            (void)arena_alloc(&mem, 1 << 20);
            ck_abort_msg("there was enough memory");
        }
        arena_deinit(&mem);
    }
    box_drop(&b);
}

static const char *const queue_tables[] = {"queue", "queue_entry", "queue_lock", "queue_past",
                                           "queue_key"};

static void rename_queues(struct box *b, const char *from, const char *to)
{
    for (size_t i = 0; i < 5; i++) {
        char sql[120];
        (void)snprintf(sql, sizeof sql, "ALTER TABLE %s%s RENAME TO %s%s", from, queue_tables[i],
                       to, queue_tables[i]);
        ck_assert_int_eq(sqlite3_exec(sqlite_of(b->s)->writer.db, sql, NULL, NULL, NULL),
                         SQLITE_OK);
    }
}

/* Each read of queues, by number; false: there are no more. */
static bool read_queues(struct box *b, int which, pawl_status *ret)
{
    const pawl_queue_ops *q = b->s->ops->queues;
    const uint64_t id = 1;
    pawl_queue_row row;
    pawl_queue_row_list rows;
    pawl_entry_list entries;
    pawl_lock_list locks;
    pawl_level_list levels;
    pawl_queue_key key;
    pawl_entry_query query = {.qid = 1, .limit = 9, .order = (pawl_entry_order)which};
    if (which < 4)
        *ret = q->query_entries(b->s, &query, b->mem, &entries, &b->err);
    else if (which == 4)
        *ret = q->find_queue(b->s, pawl_s("q"), b->mem, &row, &b->err);
    else if (which == 5)
        *ret = q->list_queues(b->s, pawl_s(""), pawl_s(""), 9, b->mem, &rows, &b->err);
    else if (which == 6)
        *ret = q->due_queues(b->s, 1, 9, b->mem, &rows, &b->err);
    else if (which == 7)
        *ret = q->read_entries(b->s, &id, 1, false, b->mem, &entries, &b->err);
    else if (which == 8)
        *ret = q->read_locks(b->s, 1, 9, b->mem, &locks, &b->err);
    else if (which == 9)
        *ret = q->has_past(b->s, 1, pawl_s("x"), &b->err);
    else if (which == 10)
        *ret = q->find_key(b->s, 1, pawl_s("x"), &key, &b->err);
    else if (which == 11)
        *ret = q->levels(b->s, 1, 9, b->mem, &levels, &b->err);
    return which <= 11;
}

/* A statement of a commit that cannot be prepared: nothing happened, and the operator learns why. */
TEST(a_commit_that_cannot_be_prepared_says_why)
{
    static const char *const tables[] = {"message", "quarantine", "work", "work_local",
                                         "work_fresh"};
    static const uint64_t ids[] = {500, 501};
    static const pawl_message_update later = {.id = 500, .visible_ms = 9};
    static const pawl_work_update retry = {.id = 500, .attempt = 1};
    static const pawl_quarantine aside = {.id = 500};
    static const pawl_message message = {.id = 500, .uid = 1, .kind = PAWL_MSG_EXTERNAL_RAISED};
    pawl_round rounds[] = {
        {.drop_messages = ids,      .drop_message_count = 1  },
        {.drop_messages = ids,      .drop_message_count = 2  },
        {.messages = &message,      .message_count = 1       },
        {.message_updates = &later, .message_update_count = 1},
        {.quarantine = &aside,      .quarantine_count = 1    },
        {.need_work = ids,          .need_work_count = 1     },
        {.drop_work = ids,          .drop_work_count = 1     },
        {.drop_work = ids,          .drop_work_count = 2     },
        {.work_updates = &retry,    .work_update_count = 1   },
    };
    for (size_t i = 0; i < COUNT_OF(rounds); i++) {
        struct box b;
        box_make(&b);
        box_open(&b);
        for (size_t n = 0; n < COUNT_OF(tables); n++) {
            char sql[80];
            (void)snprintf(sql, sizeof sql, "ALTER TABLE %s RENAME TO gone_%s", tables[n],
                           tables[n]);
            ck_assert_int_eq(sqlite3_exec(sqlite_of(b.s)->writer.db, sql, NULL, NULL, NULL),
                             SQLITE_OK);
        }
        b.fence.next_id = 1000;
        ck_assert_msg(box_commit(&b, &rounds[i], 1) != PAWL_OK, "round %zu", i);
        ck_assert_msg(strstr(b.err.text, "no such table") != NULL, "round %zu: %s", i, b.err.text);
        box_drop(&b);
    }
}

/* A statement that cannot be prepared: each read says so, and gives its connection back. */
TEST(a_read_of_queues_that_cannot_be_prepared_says_so)
{
    struct box b;
    pawl_status status;
    box_make(&b);
    box_open(&b);
    rename_queues(&b, "", "gone_");
    for (int i = 0; read_queues(&b, i, &status); i++) {
        ck_assert_msg(status != PAWL_OK && status != PAWL_EMPTY && status != PAWL_NOT_FOUND,
                      "read %d: %s", i, pawl_status_code(status));
        int given = 0; /* back, and once */
        for (const struct conn *c = sqlite_of(b.s)->pool; c && given < 9; c = c->next)
            given++;
        ck_assert_int_eq(given, sqlite_of(b.s)->readers);
    }
    rename_queues(&b, "gone_", "");
    for (int i = 0; read_queues(&b, i, &status); i++)
        ck_assert_msg(status == PAWL_OK || status == PAWL_EMPTY || status == PAWL_NOT_FOUND,
                      "read %d: %s", i, pawl_status_code(status));
    box_drop(&b);
}

/* When memory ran out the transaction could not even be rolled back, and the engine read as
 * committed what was not: a result was dropped because its instance had "ended". */
TEST(a_commit_that_was_not_taken_back_is_not_read)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3), found;
    struct sqlite_store *s = sqlite_of(b.s);
    const pawl_store *before = store_engine_set(b.s);
    ck_assert_int_eq(sqlite3_exec(s->writer.db, "BEGIN IMMEDIATE; UPDATE instance SET state=4",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, a.uid, b.mem, &found, &b.err), PAWL_OK);
    ck_assert_int_eq(found.state, a.state);
    ck_assert_int_ne(sqlite3_txn_state(s->writer.db, NULL), SQLITE_TXN_WRITE);
    (void)store_engine_set(before);
    box_drop(&b);
}

TEST(a_checkpoint_that_meets_a_full_disk_gives_the_reserve_back)
{
    struct box b;
    use_shim();
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    sqlite_of(b.s)->checkpoint_at = 1;
    fault = WRITE_DATABASE_FULL;
    ck_assert_int_eq(append(&b, &a), PAWL_OK); /* it is in the WAL */
    ck_assert(!exists(&b, "reserve"));
    ck_assert(!exists(&b, "dirty"));
    fault = NONE;
    ck_assert_int_eq(append(&b, &a), PAWL_OK);
    ck_assert_uint_eq(count_events(&b, a.uid), 5);
    no_shim();
    box_drop(&b);
}

/* ---- Damaged tables --------------------------------------------------------------------- */

static void break_root(struct box *b, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_open(b->file, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name=?1", -1, &stmt, NULL),
        SQLITE_OK);
    (void)sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    off_t at = (sqlite3_column_int64(stmt, 0) - 1) * 4096;
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    int fd = open(b->file, O_WRONLY);
    ck_assert(fd >= 0 && pwrite(fd, "UUUUUUUU", 8, at) == 8);
    close(fd);
}

/* One question that reads the table. */
static pawl_status ask_table(struct box *b, const char *table, uint64_t uid)
{
    const pawl_store_ops *ops = b->s->ops;
    pawl_row row;
    pawl_row_list rows;
    pawl_event_list events;
    pawl_work_list work;
    pawl_entry_list entries;
    pawl_entry_query query = {.order = PAWL_ENTRIES_BY_ID, .qid = 1, .limit = 10};
    if (strcmp(table, "history") == 0)
        return ops->read_history(b->s, uid, 1, 0, 0, b->mem, &events, &b->err);
    if (strcmp(table, "work") == 0)
        return ops->read_work(b->s, &uid, 1, b->mem, &work, &b->err);
    if (strcmp(table, "queue_entry") == 0)
        return ops->queues->query_entries(b->s, &query, b->mem, &entries, &b->err);
    if (strcmp(table, "head") == 0)
        return ops->find_uid(b->s, uid, b->mem, &row, &b->err);
    return ops->list(b->s, &(pawl_row_query){.limit = 10}, b->mem, &rows, &b->err);
}

TEST(D07_a_damaged_table_is_corrupt_for_who_reads_it)
{
    static const char *const tables[] = {"instance", "head", "history", "work", "queue_entry"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct box b;
        box_make(&b);
        box_open(&b);
        uint64_t uid = box_instance(&b, "a", 3).uid;
        box_close(&b);
        break_root(&b, tables[i]);
        b.s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err);
        ck_assert_msg(b.s, "%s: %s", tables[i], b.err.text);
        ck_assert_msg(ask_table(&b, tables[i], uid) == PAWL_CORRUPT, "%s: %s", tables[i],
                      b.err.text);
        box_close(&b);
        b.s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1000), &b.err);
        pawl_status rc = b.s ? b.s->ops->take(b.s, 1000, &b.fence, &b.err) : b.err.status;
        ck_assert_msg(rc == PAWL_CORRUPT || rc == PAWL_OK, "%s: %s", tables[i], b.err.text);
        if (strcmp(tables[i], "history") == 0) {
            ck_assert_int_eq(rc, PAWL_CORRUPT);
            ck_assert_msg(!strstr(b.err.text, "not an error"), "%s", b.err.text);
        }
        box_drop(&b);
    }
}

/* ---- A long reader ------------------------------------------------------------------------- */

TEST(a_wal_that_a_reader_let_grow_is_cut_again)
{
    static char big[1 << 20];
    struct box b;
    sqlite3 *reader;
    pawl_store_figures figures = {0};
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    ck_assert_int_eq(sqlite3_open(b.file, &reader), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(reader, "BEGIN;SELECT count(*) FROM history", NULL, NULL, NULL),
                     SQLITE_OK);
    memset(big, 'x', sizeof big);
    for (int i = 0; i < 40; i++) {
        pawl_message m = {
            .id = box_id(&b), .uid = 1, .kind = 1, .data = {big, sizeof big}
        };
        ck_assert_int_eq(box_commit(&b, &(pawl_round){.messages = &m, .message_count = 1}, 1),
                         PAWL_OK);
    }
    b.s->ops->figures(b.s, &figures);
    ck_assert_uint_ge(figures.log_bytes, 40 << 20);
    ck_assert_int_eq(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < 40 && figures.log_bytes > 20 << 20; i++) {
        pawl_message m = {
            .id = box_id(&b), .uid = 1, .kind = 1, .data = {big, sizeof big}
        };
        ck_assert_int_eq(box_commit(&b, &(pawl_round){.messages = &m, .message_count = 1}, 1),
                         PAWL_OK);
        b.s->ops->figures(b.s, &figures);
    }
    ck_assert_uint_le(figures.log_bytes, 20 << 20);
    (void)sqlite3_close(reader);
    box_drop(&b);
}
