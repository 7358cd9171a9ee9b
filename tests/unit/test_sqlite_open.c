/* SPDX-License-Identifier: MIT */
/* tests/unit/test_sqlite_open.c -- who may open a database, and which one. */
#include "test_sqlite.h"

#include "pawl/backup.h"
#include "pawl/runtime.h"
#include "store/sqlite/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

static int64_t pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static void refuse(struct box *b, pawl_status status, const char *words)
{
    b->err = (pawl_error){0};
    ck_assert_ptr_null(pawl_sqlite_store(b->file, PAWL_STORE_OPTS(.now_ms = 1), &b->err));
    ck_assert_msg(b->err.status == status, "%d: %s", (int)b->err.status, b->err.text);
    ck_assert_msg(strstr(b->err.text, words) != NULL, "%s", b->err.text);
    ck_assert_ptr_null(strchr(b->err.text, '\n'));
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

static bool exists(const struct box *b, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
    return access(path, F_OK) == 0;
}

/* The kind of file system the directory seems to be on; 0: what it is. */
static unsigned long file_system;

int __real_statfs(const char *path, struct statfs *fs);
int __wrap_statfs(const char *path, struct statfs *fs);

int __wrap_statfs(const char *path, struct statfs *fs)
{
    int rc = __real_statfs(path, fs);
    if (file_system)
        fs->f_type = (__typeof__(fs->f_type))file_system;
    return rc;
}

TEST(C17_a_network_file_system_is_refused_and_nothing_is_made_there)
{
    static const struct {
        unsigned long magic;
        const char *words;
    } kinds[] = {
        {0x6969,     "is on NFS" },
        {0x517b,     "is on SMB" },
        {0xff534d42, "is on CIFS"},
        {0xfe534d42, "is on SMB2"},
    };
    struct box b;
    box_make(&b);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        file_system = kinds[i].magic;
        refuse(&b, PAWL_UNSUPPORTED, kinds[i].words);
        refuse(&b, PAWL_UNSUPPORTED, "use a local disk");
        ck_assert(!exists(&b, "lock"));
        ck_assert(access(b.file, F_OK) != 0);
    }
    file_system = 0;
    box_open(&b);
    box_drop(&b);
}

TEST(durability_settings_are_what_they_should_be)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    sqlite3 *db = sqlite_of(b.s)->writer.db;
    ck_assert_int_eq(pragma(db, "PRAGMA synchronous"), 2);
    ck_assert_int_eq(pragma(db, "SELECT journal_mode='wal' FROM pragma_journal_mode"), 1);
    ck_assert_int_eq(pragma(db, "PRAGMA foreign_keys"), 0);
    ck_assert_int_eq(pragma(db, "PRAGMA wal_autocheckpoint"), 0);
    ck_assert_int_eq(pragma(db, "PRAGMA application_id"), SCHEMA_APPLICATION_ID);
    ck_assert_int_eq(pragma(db, "PRAGMA user_version"), schema_version);
    box_drop(&b);
}

TEST(files_are_for_their_owner_only)
{
    struct box b;
    box_make(&b);
    umask(0);
    box_open(&b);
    const char *names[] = {"pawl.db", "pawl.db-wal", "pawl.db-shm", "lock", "reserve"};
    for (size_t i = 0; i < 5; i++) {
        char path[200];
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/%s", b.dir, names[i]);
        ck_assert_msg(stat(path, &st) == 0, "%s", path);
        ck_assert_msg((st.st_mode & 0777) == 0600, "%s has mode %o", names[i], st.st_mode & 0777);
    }
    box_close(&b);
    chmod(b.file, 0644); /* somebody's backup tool */
    box_open(&b);
    struct stat st;
    ck_assert_int_eq(stat(b.file, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    box_drop(&b);
}

TEST(the_reserve_is_real_disk_space)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    char path[200];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/reserve", b.dir);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_ge(st.st_blocks * 512, 1 << 20);
    ck_assert_int_eq(st.st_size, sqlite_of(b.s)->reserve.bytes);
    ck_assert_int_eq(b.s->ops->space(b.s), PAWL_OK);
    box_drop(&b);
}

TEST(a_second_owner_hears_who_is_there)
{
    struct box b;
    char words[64];
    box_make(&b);
    box_open(&b);
    (void)snprintf(words, sizeof words, "is in use by pid %d; stop it or use another --data",
                   (int)getpid());
    refuse(&b, PAWL_UNAVAILABLE, words);
    ck_assert_ptr_nonnull(strstr(b.err.text, b.dir));
    box_close(&b);
    box_open(&b);
    box_drop(&b);
}

TEST(the_lock_goes_with_its_holder)
{
    struct box b;
    int ready[2];
    char c;
    box_make(&b);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        pawl_error err;
        pawl_store *s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1), &err);
        (void)!write(ready[1], s ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    ck_assert_int_eq(c, 'y');
    refuse(&b, PAWL_UNAVAILABLE, "is in use by pid");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    box_open(&b);
    box_drop(&b);
}

TEST(bad_directories_are_named)
{
    struct box b;
    box_make(&b);
    char keep[sizeof b.file];
    memcpy(keep, b.file, sizeof keep);
    (void)snprintf(b.file, sizeof b.file, "%s/no/pawl.db", b.dir);
    refuse(&b, PAWL_NOT_FOUND, "cannot use data directory");
    memcpy(b.file, keep, sizeof keep);
    ck_assert_ptr_null(pawl_sqlite_store("", PAWL_STORE_OPTS(.now_ms = 1), &b.err));
    ck_assert_int_eq(b.err.status, PAWL_MISUSE);
    box_drop(&b);
}

TEST(a_newer_schema_is_refused)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    box_close(&b);
    box_sql(&b, "PRAGMA user_version=7");
    refuse(&b, PAWL_UNSUPPORTED, "database schema 7 is newer than this pawl (6); upgrade pawl");
    box_drop(&b);
}

TEST(a_database_of_another_program_is_refused_and_untouched)
{
    struct box b;
    box_make(&b);
    box_sql(&b, "CREATE TABLE theirs(x); INSERT INTO theirs VALUES(7)");
    refuse(&b, PAWL_INVALID, "of another program");
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(b.file, &db), SQLITE_OK);
    ck_assert_int_eq(pragma(db, "SELECT count(*) FROM sqlite_schema"), 1);
    ck_assert_int_eq(pragma(db, "SELECT journal_mode='delete' FROM pragma_journal_mode"), 1);
    sqlite3_close(db);
    box_drop(&b);
}

TEST(garbage_is_refused_and_untouched)
{
    struct box b;
    static char garbage[8192];
    memset(garbage, 'x', sizeof garbage);
    box_make(&b);
    write_file(b.file, garbage, sizeof garbage);
    refuse(&b, PAWL_CORRUPT, "is not an SQLite database");
    struct stat st;
    ck_assert_int_eq(stat(b.file, &st), 0);
    ck_assert_int_eq(st.st_size, sizeof garbage);
    box_drop(&b);
}

/* Cut at every page: refused at open, or an error from the first use; no crash. */
TEST(a_truncated_database_is_found_out)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row row = box_instance(&b, "a", 300);
    box_close(&b);
    struct stat st;
    ck_assert_int_eq(stat(b.file, &st), 0);
    char *whole = malloc((size_t)st.st_size);
    int fd = open(b.file, O_RDONLY);
    ck_assert_int_eq(read(fd, whole, (size_t)st.st_size), st.st_size);
    close(fd);
    for (off_t size = st.st_size - 4096; size > 0; size -= 4096) {
        write_file(b.file, whole, (size_t)size);
        b.s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1), &b.err);
        pawl_status status = b.err.status;
        if (b.s) {
            pawl_event_list list;
            status = b.s->ops->take(b.s, 1, &b.fence, &b.err);
            if (status == PAWL_OK)
                status = b.s->ops->read_history(b.s, row.uid, 1, 0, 0, b.mem, &list, &b.err);
        }
        ck_assert_msg(status == PAWL_CORRUPT, "%d bytes: %d %s", (int)size, status, b.err.text);
        box_close(&b);
        char wal[120];
        (void)snprintf(wal, sizeof wal, "%s-wal", b.file);
        unlink(wal);
    }
    free(whole);
    box_drop(&b);
}

TEST(a_reader_runs_beside_the_owner)
{
    struct box b;
    box_make(&b);
    b.err = (pawl_error){0};
    ck_assert_ptr_null(
        pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true, .now_ms = 1), &b.err));
    ck_assert_int_eq(b.err.status, PAWL_NOT_FOUND);
    ck_assert(!exists(&b, "lock"));
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    pawl_store *r = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err);
    ck_assert_msg(r != NULL, "%s", b.err.text);
    pawl_row row;
    ck_assert_int_eq(r->ops->find(r, pawl_s("a"), b.mem, &row, &b.err), PAWL_OK);
    ck_assert_uint_eq(row.last_seq, 3);
    box_instance(&b, "later", 2);
    ck_assert_int_eq(r->ops->find(r, pawl_s("later"), b.mem, &row, &b.err), PAWL_OK);
    pawl_fence fence = b.fence;
    pawl_round round = {0};
    bool left;
    ck_assert_int_eq(r->ops->take(r, 1, &fence, &b.err), PAWL_UNSUPPORTED);
    ck_assert_int_eq(r->ops->commit(r, &fence, &round, 1, 1, &b.err), PAWL_UNSUPPORTED);
    ck_assert_int_eq(r->ops->purge(r, &fence, 10, &left, &b.err), PAWL_UNSUPPORTED);
    pawl_message_list messages;
    pawl_work_list work;
    int64_t due;
    ck_assert_int_eq(r->ops->fetch_messages(r, 1, 1, b.mem, &messages, &b.err), PAWL_UNSUPPORTED);
    ck_assert_int_eq(r->ops->fetch_work(r, 1, NULL, 0, 1, b.mem, &work, &b.err), PAWL_UNSUPPORTED);
    ck_assert_int_eq(r->ops->fetch_deadlines(r, 1, 1, b.mem, &work, &b.err), PAWL_UNSUPPORTED);
    ck_assert_int_eq(r->ops->next_due(r, 1, &due, &b.err), PAWL_UNSUPPORTED);
    r->ops->abandon_work(r, &a.uid, 1);
    r->ops->abandon_messages(r, &a.uid, 1);
    ck_assert_int_eq(r->ops->space(r), PAWL_OK);
    box_close(&b); /* the owner goes, the reader stays */
    ck_assert_int_eq(r->ops->find_uid(r, a.uid, b.mem, &row, &b.err), PAWL_OK);
    r->ops->close(r);
    r = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err);
    ck_assert_msg(r != NULL, "%s", b.err.text);
    ck_assert_int_eq(r->ops->find_uid(r, a.uid, b.mem, &row, &b.err), PAWL_OK);
    r->ops->close(r);
    box_drop(&b);
}

/* ---- Migrations -------------------------------------------------------------- */

static const char *const step_7[] = {"ALTER TABLE instance ADD COLUMN note TEXT",
                                     "UPDATE instance SET note='from 6'", NULL};
static const char *const step_bad[] = {"ALTER TABLE instance ADD COLUMN other TEXT",
                                       "INSERT INTO no_such_table VALUES(1)", NULL};

TEST(an_older_schema_is_brought_up_to_date_in_one_transaction)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    box_close(&b);
    const char *const *steps[8];
    for (int i = 0; i < 6; i++)
        steps[i] = schema_steps[i];
    steps[6] = step_7;
    steps[7] = step_bad;
    sqlite3 *db;
    int version = 0;
    ck_assert_int_eq(sqlite3_open(b.file, &db), SQLITE_OK);
    ck_assert_int_eq(schema_check(db, b.file, 7, &version, &b.err), PAWL_OK);
    ck_assert_int_eq(version, 6);
    ck_assert_int_eq(schema_migrate(db, steps, 6, 8, 1, &b.err), PAWL_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(b.err.text, "from schema 6 to 8"));
    ck_assert_int_eq(pragma(db, "PRAGMA user_version"), 6);
    ck_assert_int_eq(pragma(db, "SELECT count(*) FROM pragma_table_info('instance')"
                                " WHERE name IN ('note','other')"),
                     0);
    ck_assert_int_eq(schema_migrate(db, steps, 6, 7, 1, &b.err), PAWL_OK);
    ck_assert_int_eq(pragma(db, "PRAGMA user_version"), 7);
    ck_assert_int_eq(pragma(db, "SELECT count(*) FROM instance WHERE note='from 6'"), 1);
    ck_assert_int_eq(pragma(db, "SELECT last_seq FROM head"), (int64_t)a.last_seq);
    sqlite3_close(db);
    refuse(&b, PAWL_UNSUPPORTED, "schema 7 is newer");
    box_drop(&b);
}

TEST(a_reader_says_how_to_bring_an_older_file_up_to_date)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    box_close(&b);
    box_sql(&b, BOX_SCHEMA_3);
    ck_assert_ptr_null(pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err));
    ck_assert_ptr_nonnull(strstr(b.err.text, "database schema 3 is older than this pawl (6)"));
    box_drop(&b);
}

/* Rows of before have no sum; rows of later must have one. */
TEST(rows_of_schema_3_are_read_without_sums)
{
    struct box b;
    pawl_row row;
    pawl_event_list list;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    box_close(&b);
    box_sql(&b, BOX_SCHEMA_3);
    box_open(&b);
    pawl_row n = box_instance(&b, "n", 3);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, a.uid, b.mem, &row, &b.err), PAWL_OK);
    ck_assert_int_eq(b.s->ops->read_history(b.s, a.uid, 1, 0, 0, b.mem, &list, &b.err), PAWL_OK);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, n.uid, b.mem, &row, &b.err), PAWL_OK);
    box_close(&b);
    box_sql(&b, "UPDATE history SET seq=seq&4294967295; UPDATE instance SET sum=0");
    box_open(&b);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, a.uid, b.mem, &row, &b.err), PAWL_OK);
    ck_assert_int_eq(b.s->ops->read_history(b.s, a.uid, 1, 0, 0, b.mem, &list, &b.err), PAWL_OK);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, n.uid, b.mem, &row, &b.err), PAWL_CORRUPT);
    ck_assert_int_eq(b.s->ops->read_history(b.s, n.uid, 1, 0, 0, b.mem, &list, &b.err),
                     PAWL_CORRUPT);
    box_drop(&b);
}

TEST(a_file_from_before_queues_gets_their_tables)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    box_instance(&b, "a", 3);
    box_close(&b);
    box_sql(&b, BOX_SCHEMA_3 "DROP TABLE queue; DROP TABLE queue_entry; DROP TABLE queue_lock;"
                             "DROP TABLE queue_past; DROP TABLE queue_key; PRAGMA user_version=1");
    box_open(&b);
    pawl_queue_row_list list;
    pawl_mem *mem = pawl_mem_new();
    ck_assert_int_eq(
        b.s->ops->queues->list_queues(b.s, (pawl_str){0}, (pawl_str){0}, 10, mem, &list, &b.err),
        PAWL_OK);
    ck_assert_uint_eq(list.count, 0);
    pawl_mem_free(mem);
    box_drop(&b);
}

TEST(a_file_from_before_objects_gets_their_table)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3), row;
    box_close(&b);
    box_sql(&b, BOX_SCHEMA_4);
    ck_assert_ptr_null(pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err));
    ck_assert_ptr_nonnull(strstr(b.err.text, "database schema 4 is older than this pawl (6)"));
    box_open(&b);
    pawl_object_list list;
    ck_assert_int_eq(
        b.s->ops->list_objects(b.s, 1, (pawl_str){0}, (pawl_str){0}, 10, b.mem, &list, &b.err),
        PAWL_OK);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(b.s->ops->find_uid(b.s, a.uid, b.mem, &row, &b.err), PAWL_OK);
    box_drop(&b);
}

TEST(people_can_read_it)
{
    struct box b;
    box_make(&b);
    box_open(&b);
    box_instance(&b, "order-1", 3);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(b.file, &db), SQLITE_OK);
    ck_assert_int_eq(pragma(db, "SELECT count(*) FROM events WHERE instance='order-1' AND"
                                " kind='ActivityScheduled' AND at LIKE '1970-01-01T00:00:01%'"),
                     3);
    sqlite3_close(db);
    box_drop(&b);
}

/* ---- A restored directory -------------------------------------------------------------- */

static ino_t watched;
static int synced;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
static bool sync_fails;

int __wrap_fsync(int fd)
{
    struct stat st;
    if (sync_fails) {
        errno = EIO;
        return -1;
    }
    synced += watched && fstat(fd, &st) == 0 && st.st_ino == watched;
    return __real_fsync(fd);
}

TEST(a_restored_directory_outlives_a_power_loss)
{
    struct box b;
    struct stat st;
    char copy[128], dir[128], file[160];
    pawl_backup_info info;
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    box_close(&b);
    (void)snprintf(copy, sizeof copy, "%s/copy.db", b.dir);
    (void)snprintf(dir, sizeof dir, "%s/new", b.dir);
    (void)snprintf(file, sizeof file, "%s/pawl.db", dir);
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, false, &info, &b.err), PAWL_OK);
    ck_assert_int_eq(stat(b.dir, &st), 0);
    watched = st.st_ino; /* it has the name of the new directory */
    ck_assert_int_eq(pawl_sqlite_restore(copy, file, &info, &b.err), PAWL_OK);
    watched = 0;
    ck_assert_int_ge(synced, 1);
    (void)unlink(file);
    (void)snprintf(file, sizeof file, "%s/lock", dir);
    (void)unlink(file);
    (void)rmdir(dir);
    box_drop(&b);
}

/* ---- Whose directory ------------------------------------------------------------------------- */

TEST(C17_a_link_in_the_data_directory_is_not_followed)
{
    static const char *const names[] = {
        "pawl.db", "pawl.db-wal", "pawl.db-shm", "lock",
        "slots",   "reserve",     "dirty",       "pawl.db-committed"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct box b;
        char link[200], target[200];
        struct stat st;
        box_make(&b);
        (void)snprintf(link, sizeof link, "%s/%s", b.dir, names[i]);
        (void)snprintf(target, sizeof target, "%s/somebodys", b.dir);
        write_file(target, "theirs", 6);
        ck_assert_int_eq(chmod(target, 0644), 0);
        ck_assert_int_eq(symlink(target, link), 0);
        refuse(&b, PAWL_INVALID, "is a symbolic link");
        ck_assert(stat(target, &st) == 0 && st.st_size == 6 && (st.st_mode & 0777) == 0644);
        box_drop(&b);
    }
}

TEST(C17_what_is_no_plain_file_is_refused_untouched)
{
    struct box b;
    struct stat st;
    box_make(&b);
    ck_assert_int_eq(mkfifo(b.file, 0666), 0);
    ck_assert_int_eq(chmod(b.file, 0666), 0);
    refuse(&b, PAWL_INVALID, "is not a plain file");
    ck_assert(stat(b.file, &st) == 0 && (st.st_mode & 0777) == 0666);
    ck_assert(!exists(&b, "lock"));
    ck_assert_ptr_null(pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err));
    ck_assert_ptr_nonnull(strstr(b.err.text, "is not a plain file"));
    box_drop(&b);
}

TEST(C17_a_directory_that_others_may_write_is_refused)
{
    static const mode_t modes[] = {0770, 0707, 01777};
    struct box b;
    box_make(&b);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        ck_assert_int_eq(chmod(b.dir, modes[i]), 0);
        refuse(&b, PAWL_UNAVAILABLE,
               i < 2 ? "may be written by others" : "is writable by all users");
        refuse(&b, PAWL_UNAVAILABLE, i < 2 ? "chmod go-w" : "of your own in it");
        ck_assert(!exists(&b, "lock") && !exists(&b, "pawl.db"));
    }
    ck_assert_int_eq(chmod(b.dir, 0755), 0); /* to be looked at by all is fine */
    box_open(&b);
    box_drop(&b);
}

/* Needs root, who is let into everybody's. */
TEST(C17_a_directory_of_somebody_else_is_refused)
{
    struct box b;
    if (geteuid() != 0)
        return;
    box_make(&b);
    ck_assert_int_eq(chmod(b.dir, 0755), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    refuse(&b, PAWL_UNAVAILABLE, "belongs to user 0, not to you (65534)");
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert(!exists(&b, "lock"));
    ck_assert_int_eq(chown(b.dir, 65534, 65534), 0);
    box_open(&b);
    box_drop(&b);
}

/* ---- Backups that were not made ----------------------------------------------------------- */

TEST(a_backup_that_was_not_synced_was_not_made)
{
    struct box b;
    struct stat st;
    char copy[128];
    pawl_backup_info info;
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    (void)snprintf(copy, sizeof copy, "%s/copy", b.dir);
    sync_fails = true;
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, false, &info, &b.err), PAWL_UNAVAILABLE);
    ck_assert(!exists(&b, "copy"));
    write_file(copy, "older", 5);
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, true, &info, &b.err), PAWL_UNAVAILABLE);
    ck_assert(stat(copy, &st) == 0 && st.st_size == 5);
    sync_fails = false;
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, true, &info, &b.err), PAWL_OK);
    ck_assert(stat(copy, &st) == 0 && st.st_size > 0);
    ck_assert_uint_eq(info.bytes, (uint64_t)st.st_size);
    box_drop(&b);
}

/* The first page of a table, so that no read of it succeeds. */
static void break_table(const char *file, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    char sql[128], page[4096];
    (void)snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_schema WHERE name='%s'", table);
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    off_t root = sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    memset(page, 0xff, sizeof page);
    int fd = open(file, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, page, sizeof page, (root - 1) * 4096), 4096);
    close(fd);
}

TEST(a_backup_of_a_damaged_file_was_not_made)
{
    struct box b;
    char copy[128];
    pawl_backup_info info;
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    box_close(&b);
    break_table(b.file, "fence");
    (void)snprintf(copy, sizeof copy, "%s/copy", b.dir);
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, false, &info, &b.err), PAWL_CORRUPT);
    ck_assert_msg(strstr(b.err.text, copy) != NULL, "%s", b.err.text);
    ck_assert(!exists(&b, "copy"));
    box_drop(&b);
}

/* SQLite without memory: no object of a copy, and `to` says why. */
static bool no_copy;

sqlite3_backup *__real_sqlite3_backup_init(sqlite3 *to, const char *name, sqlite3 *from,
                                           const char *source);
sqlite3_backup *__wrap_sqlite3_backup_init(sqlite3 *to, const char *name, sqlite3 *from,
                                           const char *source);

sqlite3_backup *__wrap_sqlite3_backup_init(sqlite3 *to, const char *name, sqlite3 *from,
                                           const char *source)
{
    return __real_sqlite3_backup_init(to, no_copy ? "nowhere" : name, from, source);
}

TEST(a_backup_of_what_cannot_be_read_says_why)
{
    struct box b;
    char copy[128], from[160];
    pawl_backup_info info;
    box_make(&b);
    box_open(&b);
    (void)snprintf(copy, sizeof copy, "%s/copy", b.dir);
    (void)snprintf(from, sizeof from, "%s/nothing", b.dir);
    ck_assert_int_eq(pawl_sqlite_backup(from, copy, false, &info, &b.err), PAWL_NOT_FOUND);
    (void)snprintf(from, sizeof from, "%s/inside", b.file); /* of a file that is no directory */
    ck_assert_int_eq(pawl_sqlite_backup(from, copy, false, &info, &b.err), PAWL_UNAVAILABLE);
    ck_assert_msg(strstr(b.err.text, "Not a directory") != NULL, "%s", b.err.text);
    ck_assert(!exists(&b, "copy") && !exists(&b, "copy.part"));
    box_drop(&b);
}

TEST(a_backup_that_could_not_begin_was_not_made)
{
    struct box b;
    char copy[128];
    pawl_backup_info info;
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    (void)snprintf(copy, sizeof copy, "%s/copy", b.dir);
    no_copy = true;
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, false, &info, &b.err), PAWL_UNAVAILABLE);
    ck_assert_msg(strstr(b.err.text, "unknown database nowhere") != NULL, "%s", b.err.text);
    ck_assert(!exists(&b, "copy") && !exists(&b, "copy.part"));
    no_copy = false;
    ck_assert_int_eq(pawl_sqlite_backup(b.file, copy, false, &info, &b.err), PAWL_OK);
    box_drop(&b);
}

/* ---- Media that cannot be written ----------------------------------------------------------- */

static bool read_only_disk;

int __real_statvfs(const char *path, struct statvfs *fs);
int __wrap_statvfs(const char *path, struct statvfs *fs);

int __wrap_statvfs(const char *path, struct statvfs *fs)
{
    int rc = __real_statvfs(path, fs);
    if (read_only_disk)
        fs->f_flag |= ST_RDONLY;
    return rc;
}

/* Shared memory could not be made there, so none is asked for. */
TEST(a_reader_of_a_read_only_disk_makes_no_file)
{
    struct box b;
    pawl_row row;
    box_make(&b);
    box_open(&b);
    (void)box_instance(&b, "a", 3);
    box_close(&b);
    ck_assert(!exists(&b, "pawl.db-shm"));
    read_only_disk = true;
    b.s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.read_only = true), &b.err);
    ck_assert_msg(b.s, "%s", b.err.text);
    ck_assert_int_eq(b.s->ops->find(b.s, pawl_s("a"), b.mem, &row, &b.err), PAWL_OK);
    ck_assert(!exists(&b, "pawl.db-shm") && !exists(&b, "pawl.db-wal"));
    read_only_disk = false;
    box_drop(&b);
}

static void drop_data(const char *dir)
{
    static const char *const files[] = {"pawl.db", "pawl.db-wal", "pawl.db-shm", "lock", "slots"};
    char path[160];
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

/* However the path is written: the directory that has its name is synced. */
TEST(a_new_data_directory_outlives_a_power_loss)
{
    static const char *const names[] = {"/one", "/two/", "/three//"};
    struct box b;
    struct stat st;
    char dir[128];
    box_make(&b);
    ck_assert_int_eq(stat(b.dir, &st), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)snprintf(dir, sizeof dir, "%s%s", b.dir, names[i]);
        pawl_app *app = pawl_app_new();
        synced = 0;
        watched = st.st_ino;
        pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.data = dir), &b.err);
        watched = 0;
        ck_assert_msg(rt, "%s", b.err.text);
        ck_assert_msg(synced >= 1, "%s: nobody synced the directory that has it", dir);
        pawl_runtime_close(rt);
        pawl_app_free(app);
        drop_data(dir);
    }
    box_drop(&b);
}
