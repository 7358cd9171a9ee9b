/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_backup.c -- pawl/backup.h: what a copy has, what a restore changes, what
 * is refused, and what is left when any call on the way fails.
 *
 * The functions below stand in front of those of SQLite and the C library and count; one of them
 * fails when it is told to.  A backup whose n-th call failed was not made, for every n: it says so,
 * the file under the goal's name is what it was, and no file and no descriptor is left behind.
 */
#include "test_sqlite.h"

#include "pawl/backup.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define EPOCH_LEAP 1048576u

/* ---- Calls that fail --------------------------------------------------------------- */

static int calls_left = -1; /* until one fails; -1: none does */
static bool failed;
static int error_then = EIO, code_then = SQLITE_IOERR;

static bool fails_now(void)
{
    if (calls_left < 0 || calls_left-- > 0)
        return false;
    failed = true;
    errno = error_then;
    return true;
}

#define REAL(name, type, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

int sqlite3_exec(sqlite3 *db, const char *sql, int (*fn)(void *, int, char **, char **), void *arg,
                 char **text)
{
    REAL(sqlite3_exec, int, sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *,
         char **);
    if (strcmp(sql, "ROLLBACK") != 0 && fails_now())
        return code_then;
    return real(db, sql, fn, arg, text);
}

int sqlite3_backup_step(sqlite3_backup *b, int pages)
{
    REAL(sqlite3_backup_step, int, sqlite3_backup *, int);
    return fails_now() ? code_then : real(b, pages);
}

int sqlite3_open_v2(const char *file, sqlite3 **db, int flags, const char *vfs)
{
    REAL(sqlite3_open_v2, int, const char *, sqlite3 **, int, const char *);
    int rc = real(file, db, flags, vfs);
    return rc == SQLITE_OK && fails_now() ? code_then : rc;
}

int fsync(int fd)
{
    REAL(fsync, int, int);
    return fails_now() ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename, int, const char *, const char *);
    return fails_now() ? -1 : real(from, to);
}

int ftruncate(int fd, off_t size)
{
    REAL(ftruncate, int, int, off_t);
    return size == 0 && fails_now() ? -1 : real(fd, size);
}

int fchmod(int fd, mode_t mode)
{
    REAL(fchmod, int, int, mode_t);
    return fails_now() ? -1 : real(fd, mode);
}

/* ---- A store with something of everything ------------------------------------------- */

struct spot {
    struct box b;
    char copy[96], dir[80], file[96];
    pawl_backup_info info;
};

static void name_all(struct spot *p)
{
    (void)snprintf(p->copy, sizeof p->copy, "%s/copy", p->b.dir);
    (void)snprintf(p->dir, sizeof p->dir, "%s/new", p->b.dir);
    (void)snprintf(p->file, sizeof p->file, "%s/pawl.db", p->dir);
}

/* Two instances, seven events, work under a lease and work that waits, a queue with two entries
 * and a lock on one; the owner runs. */
static void make(struct spot *p)
{
    *p = (struct spot){0};
    box_make(&p->b);
    box_open(&p->b);
    pawl_row row = box_instance(&p->b, "a", 3);
    (void)box_instance(&p->b, "b", 4);
    pawl_work work[] = {
        {.id = row.first_rid,
         .uid = row.uid,
         .execution = 1,
         .name = pawl_s("Step"),
         .lock_token = pawl_s("token"),
         .lock_until_ms = 99999},
        {.id = row.last_rid,
         .uid = row.uid,
         .execution = 1,
         .name = pawl_s("Step"),
         .visible_ms = 5000       }
    };
    uint64_t qid = box_id(&p->b), one = box_id(&p->b), two = box_id(&p->b), lock = box_id(&p->b);
    pawl_queue_row queue = {.qid = qid, .name = pawl_s("q"), .locks = 1};
    pawl_queue_entry entries[] = {
        {.id = one, .qid = qid, .data = pawl_s("1"), .state = 2,         .place = 1},
        {.id = two,         .qid = qid,           .data = pawl_s("2"),            .place = 2}
    };
    pawl_queue_lock held = {.qid = qid,
                            .number = lock,
                            .id = pawl_s("lock"),
                            .until_ms = 88888,
                            .entries = &one,
                            .entry_count = 1};
    pawl_queue_round part = {.new_queues = &queue,
                             .new_queue_count = 1,
                             .entries = entries,
                             .entry_count = 2,
                             .new_locks = &held,
                             .new_lock_count = 1};
    pawl_round r = {.uid = row.uid,
                    .execution = 1,
                    .base_seq = row.last_seq,
                    .base_rid = row.last_rid,
                    .work = work,
                    .work_count = 2,
                    .queue = &part};
    pawl_status rc = box_commit(&p->b, &r, 1);
    ck_assert_msg(rc == PAWL_OK && r.result == PAWL_OK, "%s", p->b.err.text);
    name_all(p);
}

static void unlink_in(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[500];
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.')
            (void)unlink(path);
    }
    if (d)
        closedir(d);
    (void)rmdir(dir);
}

static void drop(struct spot *p)
{
    unlink_in(p->dir);
    box_drop(&p->b);
}

/* How many names there begin so. */
static int count_of(const char *dir, const char *prefix)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    if (d)
        closedir(d);
    return n;
}

static int count_in(const char *dir)
{
    return count_of(dir, "");
}

static int64_t ask(const char *file, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return n;
}

static pawl_status back_up(struct spot *p, bool replace)
{
    p->b.err = (pawl_error){0};
    return pawl_sqlite_backup(p->b.file, p->copy, replace, &p->info, &p->b.err);
}

static pawl_status restore(struct spot *p)
{
    p->b.err = (pawl_error){0};
    return pawl_sqlite_restore(p->copy, p->file, &p->info, &p->b.err);
}

static void write_to(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    fclose(f);
}

static bool has(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f)
        fclose(f);
    return n == strlen(text) && memcmp(got, text, n) == 0;
}

/* ---- What it has ------------------------------------------------------------------- */

TEST(a_backup_says_what_it_has_and_has_it)
{
    struct spot p;
    struct stat st;
    make(&p);
    ck_assert_msg(back_up(&p, false) == PAWL_OK, "%s", p.b.err.text);
    ck_assert(stat(p.copy, &st) == 0 && (st.st_mode & 0777) == 0600);
    ck_assert_uint_eq(p.info.bytes, (uint64_t)st.st_size);
    ck_assert_uint_eq(p.info.instances, 2);
    ck_assert_uint_eq(p.info.events, 7);
    ck_assert_uint_eq(p.info.queue_items, 2);
    ck_assert_uint_eq(p.info.epoch, p.b.fence.epoch);
    ck_assert_int_eq(p.info.schema, (int)ask(p.copy, "PRAGMA user_version"));
    ck_assert_int_eq(ask(p.copy, "SELECT count(*) FROM history"), 7);
    ck_assert_int_eq(ask(p.copy, "SELECT count(*) FROM work WHERE lock_token='token'"), 1);
    ck_assert_int_eq(ask(p.copy, "SELECT until_ms FROM queue_lock"), 88888); /* as it was */
    /* The owner goes on; the copy does not change. */
    (void)box_instance(&p.b, "c", 5);
    ck_assert_int_eq(ask(p.copy, "SELECT count(*) FROM instance"), 2);
    ck_assert_int_eq(back_up(&p, true), PAWL_OK);
    ck_assert_uint_eq(p.info.instances, 3);
    drop(&p);
}

TEST(a_restored_store_is_nobodys_and_its_leases_and_locks_are_over)
{
    struct spot p;
    make(&p);
    ck_assert_int_eq(back_up(&p, false), PAWL_OK);
    uint64_t epoch = p.info.epoch, next = (uint64_t)ask(p.copy, "SELECT next_id FROM fence");
    ck_assert_msg(restore(&p) == PAWL_OK, "%s", p.b.err.text);
    ck_assert_uint_eq(p.info.epoch, epoch + EPOCH_LEAP);
    ck_assert_uint_eq(p.info.instances, 2);
    ck_assert_uint_eq(p.info.events, 7);
    ck_assert_uint_eq(p.info.queue_items, 2);
    ck_assert_int_eq(ask(p.file, "SELECT epoch FROM fence"), (int64_t)(epoch + EPOCH_LEAP));
    ck_assert_int_eq(ask(p.file, "SELECT next_id FROM fence"), (int64_t)next + INT64_C(4294967296));
    ck_assert_int_eq(ask(p.file, "SELECT count(*) FROM work WHERE lock_token<>''"), 0);
    ck_assert_int_eq(ask(p.file, "SELECT count(*) FROM work WHERE attempt=1 AND crashes=1 AND "
                                 "deadline_ms=1 AND lock_until_ms=0"),
                     1);
    ck_assert_int_eq(ask(p.file, "SELECT count(*) FROM work WHERE attempt=0 AND crashes=0"), 1);
    ck_assert_int_eq(ask(p.file, "SELECT until_ms FROM queue_lock"), 1);
    ck_assert_int_eq(ask(p.file, "SELECT due_ms FROM queue"), 1);
    /* It opens, and the ids it gives are above those of the original. */
    struct box other = {.mem = pawl_mem_new()};
    (void)snprintf(other.file, sizeof other.file, "%s", p.file);
    box_open(&other);
    ck_assert_uint_gt(other.fence.epoch, epoch + EPOCH_LEAP);
    ck_assert_uint_ge(other.fence.next_id, next + UINT64_C(4294967296));
    pawl_row row;
    ck_assert_int_eq(other.s->ops->find(other.s, pawl_s("b"), other.mem, &row, NULL), PAWL_OK);
    ck_assert_uint_eq(row.last_seq, 4);
    box_close(&other);
    pawl_mem_free(other.mem);
    drop(&p);
}

/* ---- What is refused ------------------------------------------------------------------ */

#define REFUSED(call, code, words)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (code));                                                          \
        ck_assert_int_eq(p.b.err.status, (code));                                                  \
        ck_assert_msg(strstr(p.b.err.text, (words)) != NULL, "%s", p.b.err.text);                  \
    } while (0)

TEST(a_backup_is_refused_where_it_would_hurt)
{
    struct spot p;
    char path[200];
    make(&p);
    int before = count_in(p.b.dir);
    REFUSED(pawl_sqlite_backup(p.b.file, p.b.file, true, &p.info, &p.b.err), PAWL_INVALID,
            "is the store itself");
    REFUSED(pawl_sqlite_backup(p.b.file, p.b.dir, true, &p.info, &p.b.err), PAWL_INVALID,
            "is no plain file");
    (void)snprintf(path, sizeof path, "%s/none/copy", p.b.dir);
    REFUSED(pawl_sqlite_backup(p.b.file, path, false, &p.info, &p.b.err), PAWL_UNAVAILABLE,
            "none/copy.part: No such file");
    ck_assert_int_eq(count_in(p.b.dir), before);
    write_to(p.copy, "older");
    REFUSED(back_up(&p, false), PAWL_EXISTS, "exists; choose another file, or replace it");
    ck_assert(has(p.copy, "older"));
    (void)snprintf(path, sizeof path, "%s-wal", p.copy);
    write_to(path, "log");
    REFUSED(back_up(&p, true), PAWL_EXISTS, "is a database in use");
    ck_assert(has(p.copy, "older") && has(path, "log"));
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/dirty", p.b.dir);
    write_to(path, "");
    REFUSED(back_up(&p, true), PAWL_UNAVAILABLE, "pawl work --until-idle");
    (void)unlink(path);
    ck_assert_int_eq(back_up(&p, true), PAWL_OK);
    drop(&p);
}

TEST(what_is_no_database_of_ours_is_not_copied)
{
    struct spot p;
    char path[200];
    make(&p);
    (void)snprintf(path, sizeof path, "%s/text", p.b.dir);
    write_to(path, "this is not a database, and long enough to be looked at as one; so it is no "
                   "database, and it says so in as many words as it takes");
    ck_assert_int_ne(pawl_sqlite_backup(path, p.copy, false, &p.info, &p.b.err), PAWL_OK);
    ck_assert_msg(strstr(p.b.err.text, path) != NULL, "%s", p.b.err.text);
    write_to(path, "");
    REFUSED(pawl_sqlite_backup(path, p.copy, false, &p.info, &p.b.err), PAWL_INVALID,
            "holds no pawl data");
    REFUSED(pawl_sqlite_restore(path, p.file, &p.info, &p.b.err), PAWL_INVALID,
            "holds no pawl data");
    ck_assert_int_ne(access(p.copy, F_OK), 0);
    ck_assert_int_ne(access(p.dir, F_OK), 0);
    ck_assert_int_eq(pawl_sqlite_backup(path, p.copy, false, &p.info, NULL), PAWL_INVALID);
    drop(&p);
}

TEST(a_part_that_somebody_writes_is_left_alone_and_an_old_one_written_over)
{
    struct spot p;
    char part[200], log[220];
    make(&p);
    (void)snprintf(part, sizeof part, "%s.part", p.copy);
    (void)snprintf(log, sizeof log, "%s-journal", part);
    write_to(part, "half a copy");
    int fd = open(part, O_RDWR);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    REFUSED(back_up(&p, false), PAWL_UNAVAILABLE, "another process is writing");
    ck_assert(has(part, "half a copy"));
    close(fd);
    ck_assert_int_eq(chmod(part, 0644), 0);
    write_to(log, "of the old one");
    ck_assert_msg(back_up(&p, false) == PAWL_OK, "%s", p.b.err.text);
    ck_assert_int_ne(access(part, F_OK), 0);
    ck_assert_int_ne(access(log, F_OK), 0);
    struct stat st;
    ck_assert(stat(p.copy, &st) == 0 && (st.st_mode & 0777) == 0600);
    ck_assert_int_eq(unlink(p.copy), 0);
    ck_assert_int_eq(symlink(p.b.file, part), 0);
    REFUSED(back_up(&p, false), PAWL_UNAVAILABLE, part);
    drop(&p);
}

TEST(a_restore_needs_a_directory_of_its_own)
{
    struct spot p;
    char path[200];
    make(&p);
    ck_assert_int_eq(back_up(&p, false), PAWL_OK);
    ck_assert_int_eq(mkdir(p.dir, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/letter", p.dir);
    write_to(path, "dear");
    REFUSED(restore(&p), PAWL_EXISTS, "is not empty (letter)");
    ck_assert_int_eq(count_in(p.dir), 3); /* not even a lock */
    ck_assert_int_eq(unlink(path), 0);
    /* What a restore that was killed left does not count. */
    (void)snprintf(path, sizeof path, "%s.part", p.file);
    write_to(path, "half");
    ck_assert_msg(restore(&p) == PAWL_OK, "%s", p.b.err.text);
    REFUSED(restore(&p), PAWL_EXISTS, "is not empty (pawl.db)");
    /* Somebody has it. */
    struct box other = {.mem = pawl_mem_new()};
    (void)snprintf(other.file, sizeof other.file, "%s", p.file);
    box_open(&other);
    ck_assert_int_eq(restore(&p), PAWL_UNAVAILABLE);
    box_close(&other);
    pawl_mem_free(other.mem);
    /* A parent that is not there. */
    (void)snprintf(path, sizeof path, "%s/no/where/pawl.db", p.b.dir);
    REFUSED(pawl_sqlite_restore(p.copy, path, &p.info, &p.b.err), PAWL_UNAVAILABLE, "cannot make");
    drop(&p);
}

TEST(a_damaged_backup_is_not_restored)
{
    struct spot p;
    make(&p);
    (void)box_instance(&p.b, "long", 400);
    ck_assert_int_eq(back_up(&p, false), PAWL_OK);
    off_t root = ask(p.copy, "SELECT rootpage FROM sqlite_schema WHERE name='history'");
    int fd = open(p.copy, O_WRONLY);
    ck_assert(fd >= 0 && pwrite(fd, "UUUUUUUU", 8, (root - 1) * 4096) == 8);
    close(fd);
    ck_assert_int_eq(restore(&p), PAWL_CORRUPT);
    ck_assert_msg(strstr(p.b.err.text, p.copy) != NULL, "%s", p.b.err.text);
    ck_assert_int_ne(access(p.dir, F_OK), 0);
    drop(&p);
}

/* ---- Every call on the way fails -------------------------------------------------------- */

static int descriptors(void)
{
    return count_in("/proc/self/fd");
}

static const struct {
    int code, error;
    pawl_status status;
} troubles[] = {
    {SQLITE_IOERR,   EIO,    PAWL_UNAVAILABLE},
    {SQLITE_FULL,    ENOSPC, PAWL_DISK_FULL  },
    {SQLITE_FULL,    EDQUOT, PAWL_DISK_FULL  },
    {SQLITE_CORRUPT, EIO,    PAWL_CORRUPT    },
    {SQLITE_NOTADB,  EIO,    PAWL_CORRUPT    },
    {SQLITE_BUSY,    EIO,    PAWL_BUSY       },
};

/* One of the statuses that the trouble may be told as. */
static bool is_told(const struct spot *p, size_t i)
{
    pawl_status s = p->b.err.status;
    bool full = s == PAWL_DISK_FULL;
    return (s == troubles[i].status || s == PAWL_UNAVAILABLE ||
            s == (troubles[i].error == EIO ? PAWL_UNAVAILABLE : PAWL_DISK_FULL)) &&
           (strstr(p->b.err.text, "; free some space") != NULL) == full;
}

TEST(a_backup_of_which_any_call_failed_was_not_made)
{
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        struct spot p;
        int told[2] = {0};
        make(&p);
        box_close(&p.b); /* SQLite keeps descriptors while another connection has locks */
        write_to(p.copy, "older");
        int open_ones = descriptors();
        code_then = troubles[i].code;
        error_then = troubles[i].error;
        for (int n = 0; n < 60; n++) {
            failed = false;
            calls_left = n;
            pawl_status rc = back_up(&p, true);
            calls_left = -1;
            if (!failed) {
                ck_assert_msg(rc == PAWL_OK && n > 6, "call %d: %s", n, p.b.err.text);
                break;
            }
            ck_assert_msg(rc == p.b.err.status && is_told(&p, i), "call %d: %d %s", n, (int)rc,
                          p.b.err.text);
            told[p.b.err.status == troubles[i].status]++;
            ck_assert_msg(has(p.copy, "older") || n > 6, "call %d: the old one is gone", n);
            ck_assert_msg(count_of(p.b.dir, "copy") == 1, "call %d left a file", n);
            ck_assert_msg(descriptors() == open_ones, "call %d left a descriptor", n);
            if (!has(p.copy, "older")) /* the sync behind the rename failed */
                write_to(p.copy, "older");
        }
        ck_assert_int_gt(told[1], 0);
        drop(&p);
    }
}

TEST(a_restore_of_which_any_call_failed_can_be_made_again)
{
    struct spot p;
    make(&p);
    ck_assert_int_eq(back_up(&p, false), PAWL_OK);
    code_then = SQLITE_IOERR;
    error_then = EIO;
    box_close(&p.b);
    int open_ones = descriptors(), n = 0, refused = 0;
    for (; n < 60; n++) {
        failed = false;
        calls_left = n;
        pawl_status rc = restore(&p);
        calls_left = -1;
        if (!failed)
            break;
        refused += rc != PAWL_OK; /* a mode or the text of a lock may not matter */
        ck_assert_msg(rc == p.b.err.status && !rc == !p.b.err.text[0], "call %d", n);
        ck_assert_msg(descriptors() == open_ones, "call %d left a descriptor", n);
        if (access(p.file, F_OK) == 0) { /* it has its name, whole: only a sync is missing */
            ck_assert_int_eq(ask(p.file, "SELECT epoch>1048576 FROM fence"), 1);
            (void)unlink(p.file);
        }
    }
    ck_assert_msg(refused > 9 && n < 60, "%d calls, %d refused", n, refused);
    ck_assert_int_eq(ask(p.file, "SELECT epoch>1048576 FROM fence"), 1);
    ck_assert_int_eq(ask(p.file, "SELECT count(*) FROM history"), 7);
    drop(&p);
}
