/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_storage.c -- places where data cannot be kept, or not now.
 *
 * Each is a clear line that says what to do; nothing is lost, nothing half done,
 * and what was refused for want of space goes on when there is space again.
 */
#include "../harness.h"
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A small disk ------------------------------------------------------------------------- */

/* scratch/data is a file system of its own; false, and said so, when not permitted. */
static bool small_disk(const char *size)
{
    char options[40];
    scratch_make();
    (void)snprintf(options, sizeof(options), "size=%s,mode=0700", size);
    if (mkdir(in_scratch("data"), 0700) == 0 &&
        mount("tmpfs", in_scratch("data"), "tmpfs", 0, options) == 0)
        return true;
    printf("| skipped: a tmpfs cannot be mounted here (%s)\n", strerror(errno));
    scratch_drop();
    return false;
}

static void unmount(void)
{
    (void)umount2(in_scratch("data"), MNT_DETACH);
    scratch_drop();
}

static void fill_disk(void)
{
    static const char zeros[4096];
    int fd = open(in_scratch("data/filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, zeros, sizeof(zeros)) > 0)
        ;
    close(fd);
}

static void demand(bool holds, const char *what, const pawl_error *err)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, err ? err->text : "");
    _exit(4);
}

static pawl_status begin(pawl_client *c, const char *id, const char *input, pawl_reply *reply)
{
    return pawl_client_start(c, "Call", pawl_s(input), PAWL_START_OPTS(.instance = id), reply);
}

static void await_end(pawl_client *c, const char *id)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info = {0};
    pawl_error err = {0};
    pawl_status rc = pawl_client_wait(c, id, 0, 15000, mem, &info, &err);
    demand(rc == PAWL_OK && info.state == PAWL_COMPLETED, id, &err);
    pawl_mem_free(mem);
}

/* Work runs; the disk fills up; new work is refused; the running work ends; space
 * comes back; new work is taken again. */
static int lives_through_it(void *arg)
{
    (void)arg;
    static char big[300000];
    pawl_app *app = pawl_app_new();
    app_rude(app);
    pawl_error err = {0};
    pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.data = in_scratch("data")), &err);
    demand(rt && pawl_runtime_start(rt, &err) == PAWL_OK, "open", &err);
    pawl_client *c = pawl_runtime_client(rt);
    pawl_reply reply;
    char id[20];
    for (int i = 0; i < 8; i++) {
        (void)snprintf(id, sizeof(id), "run-%d", i);
        demand(begin(c, id, "Long 400", &reply) == PAWL_OK, "start", &reply.error);
    }
    demand(wait_for_words("began", "run-7", 5000), "began", NULL);
    fill_disk();
    memset(big, 'x', sizeof(big) - 1);
    memcpy(big, "Fine ", 5);
    int taken = 0;
    for (; taken < 100; taken++) {
        (void)snprintf(id, sizeof(id), "big-%d", taken);
        if (begin(c, id, big, &reply) != PAWL_OK)
            break;
    }
    demand(taken < 100 && reply.status == PAWL_DISK_FULL, "refused", &reply.error);
    fprintf(stderr, "after %d: %s\n", taken, reply.error.text);
    demand(begin(c, "small", "Fine x", &reply) == PAWL_DISK_FULL, "small", &reply.error);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(id, sizeof(id), "run-%d", i);
        await_end(c, id);
    }
    pawl_stats stats;
    (void)unlink(in_scratch("data/filler"));
    pawl_status rc = PAWL_DISK_FULL;
    for (int i = 0; i < 500 && rc == PAWL_DISK_FULL; i++) {
        nap_ms(10);
        rc = begin(c, "small", "Fine x", &reply);
    }
    demand(rc == PAWL_OK, "again", &reply.error);
    await_end(c, "small");
    for (int i = 0; i < taken; i++) {
        (void)snprintf(id, sizeof(id), "big-%d", i);
        await_end(c, id);
    }
    pawl_runtime_stats(rt, &stats);
    demand(stats.healthy, "healthy", NULL);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    return 0;
}

TEST(D04_a_full_disk_refuses_new_work_and_lets_running_work_end)
{
    if (!small_disk("12m"))
        return;
    int status = child_run(lives_through_it, NULL, 40000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_msg(text_has("err", "disk is full"), "%s", status_words(status));
    const char *wrong = wrong_at_rest();
    if (!wrong)
        wrong = wrong_in_ledger(0);
    ck_assert_msg(!wrong, "%s", wrong);
    /* No attempt was spent on it. */
    ck_assert_int_eq(ask("SELECT count(*) FROM history WHERE kind=11 AND attrs<>''"), 0);
    unmount();
}

static const struct plan_item one = {"Call", "x", "Fine x", NULL, NULL};

TEST(D04_opening_on_a_full_disk_says_so_and_works_when_there_is_space)
{
    if (!small_disk("6m"))
        return;
    struct plan plan = {.items = &one, .count = 1, .app = app_rude};
    fill_disk();
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 1), "%s", status_words(status));
    ck_assert_msg(text_has("err", "disk_full") && text_has("err", "full"), "%s",
                  status_words(status));
    (void)unlink(in_scratch("data/filler"));
    status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_ptr_null(wrong_at_rest());
    unmount();
}

TEST(D04_opening_what_exists_on_a_full_disk_ends_running_work)
{
    if (!small_disk("6m"))
        return;
    struct plan plan = {.items = &one, .count = 1, .app = app_rude, .crash_at = "commit.after:1"};
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(killed_by(status, SIGKILL), "%s", status_words(status));
    fill_disk();
    struct plan wait = {.app = app_rude};
    status = child_run(plan_run, &wait, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    (void)unlink(in_scratch("data/filler"));
    plan.crash_at = NULL;
    status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_ptr_null(wrong_at_rest());
    unmount();
}

TEST(D10_a_read_only_file_system_is_refused)
{
    if (!small_disk("12m"))
        return;
    struct plan plan = {.items = &one, .count = 1, .app = app_rude};
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_int_eq(mount(NULL, in_scratch("data"), NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 1), "%s", status_words(status));
    ck_assert_msg(text_has("err", "Read-only file system"), "%s", status_words(status));
    unmount();
}

/* ---- Places that are none ------------------------------------------------------------------- */

static rlim_t file_limit;

static void limit_files(void)
{
    (void)signal(SIGXFSZ, SIG_IGN); /* as the command does */
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){file_limit, file_limit});
}

static bool said_so(int status)
{
    return exited_with(status, 75) || exited_with(status, 1) || exited_with(status, 2);
}

/* Files must not grow beyond `bytes`: it stops with a word; without the limit it goes on. */
static void grows_only_to(rlim_t bytes)
{
    static char big[60000];
    const struct plan_item items[] = {
        {"Call", "a", big, NULL, NULL},
        {"Call", "b", big, NULL, NULL},
        {"Call", "c", big, NULL, NULL},
    };
    struct plan plan = {.items = items, .count = 3, .app = app_rude, .before = limit_files};
    memset(big, 'x', sizeof(big) - 1);
    memcpy(big, "Fine ", 5);
    file_limit = bytes;
    scratch_make();
    for (int i = 0; i < 2; i++) { /* a second time: said again, not tried for ever */
        int status = child_run(plan_run, &plan, 10000);
        ck_assert_msg(said_so(status), "%d: %s", i, status_words(status));
    }
    plan.before = NULL;
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    const char *wrong = wrong_at_rest();
    ck_assert_msg(!wrong, "%s", wrong);
    scratch_drop();
}

TEST(D04_a_limit_on_file_size_stops_it_and_nothing_is_lost)
{
    grows_only_to(50000);
    grows_only_to(100000);
    grows_only_to(400000);
}

static void refused_with(const char *words)
{
    struct plan plan = {.items = &one, .count = 1, .app = app_rude};
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 1), "%s", status_words(status));
    ck_assert_msg(text_has("err", words), "%s", status_words(status));
}

TEST(D10_a_data_directory_that_is_a_file)
{
    scratch_make();
    append_line("data", "text");
    refused_with("is not a directory; choose another with --data");
    scratch_drop();
}

TEST(D10_a_data_directory_without_a_parent)
{
    scratch_make();
    struct plan plan = {.app = app_rude, .options.data = in_scratch("no/such/place")};
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(exited_with(status, 1) && text_has("err", "cannot make data directory"), "%s",
                  status_words(status));
    scratch_drop();
}

static void change_database(const char *sql)
{
    sqlite3 *db;
    scratch_make();
    (void)mkdir(in_scratch("data"), 0700);
    ck_assert_int_eq(sqlite3_open(in_scratch("data/pawl.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST(D16_a_newer_schema_is_refused_and_left_as_it_is)
{
    scratch_make();
    struct plan plan = {.items = &one, .count = 1, .app = app_rude};
    ck_assert(exited_with(child_run(plan_run, &plan, 10000), 0));
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(in_scratch("data/pawl.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refused_with("database schema 99 is newer than this pawl");
    ck_assert_int_eq(ask("SELECT user_version FROM pragma_user_version"), 99);
    scratch_drop();
}

TEST(D16_a_database_of_another_program_is_refused_and_left_as_it_is)
{
    change_database("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(7)");
    refused_with("is an SQLite database of another program");
    ck_assert_int_eq(ask("SELECT x FROM theirs"), 7);
    scratch_drop();
}

TEST(D07_a_file_that_is_no_database_is_refused)
{
    scratch_make();
    (void)mkdir(in_scratch("data"), 0700);
    for (int i = 0; i < 100; i++)
        append_line("data/pawl.db", "this is a text, and not a short one, and no database");
    refused_with("is not an SQLite database; restore a backup or use another --data");
    scratch_drop();
}
