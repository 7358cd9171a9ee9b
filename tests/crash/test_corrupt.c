/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_corrupt.c -- random bytes in the database, the WAL and the slot
 * file.
 *
 * Whatever is overwritten, a process that opens it must do one of three things:
 * give the right answers, refuse with a clear error, or block the instance that
 * is damaged.  It must not crash and not hang, and no payload is served that was not
 * written: rows have check sums (tests/unit/test_sqlite_damage asks each of them).
 */
#include "../harness.h"
#include "crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static unsigned long long seed;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % below;
}

/* ---- A database worth damaging ------------------------------------------------------------- */

#define ORDERS 12

static char ids[ORDERS][16];
static struct plan_item items[ORDERS];

static void make_items(void)
{
    for (size_t i = 0; i < ORDERS; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "o-%zu", i);
        items[i] =
            (struct plan_item){"ProcessOrder", ids[i], "{\"id\":\"o\",\"return_window_ms\":1}",
                               i % 2 ? "FraudReview" : NULL, "{}"};
    }
}

/* Half of the orders have ended, half wait for their review.  The child dies, so
 * that the WAL stays. */
static void die_soon(pawl_client *c)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    pawl_error err;
    for (size_t i = 1; i < ORDERS; i += 2)
        if (pawl_client_wait(c, ids[i], 0, 10000, mem, &info, &err) != PAWL_OK)
            _exit(5);
    for (size_t i = 0; i < ORDERS; i += 2)
        for (int n = 0; n < 2000; n++, nap_ms(1))
            if (pawl_client_get(c, ids[i], 0, mem, &info, &err) == PAWL_OK &&
                info.history_length >= 7)
                break;
    (void)kill(getpid(), SIGKILL);
}

static void copy_file(const char *from, const char *to)
{
    char buffer[4096];
    int in = open(in_scratch(from), O_RDONLY);
    int out = open(in_scratch(to), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t n; in >= 0 && (n = read(in, buffer, sizeof(buffer))) > 0;)
        ck_assert_int_eq(write(out, buffer, (size_t)n), n);
    close(in);
    close(out);
}

static const char *const files[] = {"pawl.db", "pawl.db-wal", "slots", "pawl.db-committed"};
#define FILES (sizeof(files) / sizeof(files[0]))

static void copy_files(const char *from, const char *to)
{
    char a[64], b[64];
    (void)unlink(in_scratch("data/pawl.db-shm"));
    (void)unlink(in_scratch("data/dirty"));
    for (size_t i = 0; i < FILES; i++) {
        (void)snprintf(a, sizeof(a), "%s/%s", from, files[i]);
        (void)snprintf(b, sizeof(b), "%s/%s", to, files[i]);
        (void)unlink(in_scratch(b));
        if (access(in_scratch(a), F_OK) == 0)
            copy_file(a, b);
    }
}

static void make_database(bool with_wal)
{
    struct plan plan = {.items = items, .count = ORDERS, .then = die_soon};
    make_items();
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(killed_by(status, SIGKILL), "%s", status_words(status));
    if (!with_wal) /* a clean close moves it into the database */
        ck_assert_int_ge(ask("PRAGMA wal_checkpoint(TRUNCATE)"), 0);
    (void)mkdir(in_scratch("safe"), 0700);
    copy_files("data", "safe");
}

/* ---- One damage ------------------------------------------------------------------------------ */

static void damage(const char *name, unsigned spots)
{
    char path[64];
    struct stat st;
    (void)snprintf(path, sizeof(path), "data/%s", name);
    int fd = open(in_scratch(path), O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    for (unsigned i = 0; i < spots; i++) {
        unsigned char bytes[16];
        unsigned n = 1 + draw(sizeof(bytes));
        for (unsigned k = 0; k < n; k++)
            bytes[k] = draw(4) ? (unsigned char)draw(256) : 0;
        ck_assert_int_eq(pwrite(fd, bytes, n, (off_t)draw((unsigned)st.st_size)), n);
    }
    if (draw(8) == 0)
        ck_assert_int_eq(ftruncate(fd, (off_t)draw((unsigned)st.st_size)), 0);
    close(fd);
}

/* Wait for each; an answer that is given must be the right one. */
static int look_at_all(void *arg)
{
    (void)arg;
    pawl_error err = {0};
    pawl_app *app = pawl_app_new();
    app_examples(app);
    pawl_runtime *rt = pawl_runtime_open(
        app, PAWL_OPTIONS(.data = in_scratch("data"), .log_level = PAWL_LOG_WARN), &err);
    if (!rt || pawl_runtime_start(rt, &err) != PAWL_OK) {
        fprintf(stderr, "refused: %s\n", err.text);
        return err.text[0] ? 1 : 90;
    }
    pawl_client *c = pawl_runtime_client(rt);
    pawl_mem *mem = pawl_mem_new();
    int errors = 0, wrong = 0;
    for (size_t i = 0; i < ORDERS; i++) {
        pawl_info info = {0};
        pawl_status rc = pawl_client_raise(c, ids[i], "FraudReview", pawl_s("{}"),
                                           PAWL_RAISE_OPTS(.idempotency_key = "once"), &err);
        rc = pawl_client_wait(c, ids[i], 0, errors ? 60 : 400, mem, &info, &err);
        if (rc == PAWL_OK && info.state == PAWL_COMPLETED) {
            wrong += !pawl_str_is(info.output, "Order completed successfully");
            continue;
        }
        errors++;
        fprintf(stderr, "%s: %s %s: %s\n", ids[i], pawl_status_code(rc),
                rc == PAWL_OK || rc == PAWL_TIMEOUT ? pawl_state_name(info.state) : "?",
                rc == PAWL_OK ? "" : err.text);
    }
    pawl_page page;
    if (pawl_client_list(c, NULL, mem, &page, &err) != PAWL_OK)
        errors++;
    pawl_mem_free(mem);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    return wrong ? 91 : errors ? 7 : 0;
}

/* Damaged `times` times, `spots` places each time. */
static void survives(const char *name, bool with_wal, unsigned spots, int times)
{
    int same = 0, refused = 0, partly = 0, stopped = 0, changed = 0;
    const char *given = getenv("PAWL_CRASH_SEED");
    unsigned long long start = given ? strtoull(given, NULL, 10) : (unsigned long long)time(NULL);
    make_database(with_wal);
    for (int i = 0; i < times; i++) {
        seed = start + (unsigned)i;
        copy_files("safe", "data");
        damage(name, spots);
        int status = child_run(look_at_all, NULL, 20000);
        same += exited_with(status, 0);
        refused += exited_with(status, 1);
        partly += exited_with(status, 7);
        changed += exited_with(status, 91);
        /* A commit that meets damage stops the process, and says so. */
        bool stop = (exited_with(status, 75) || exited_with(status, 3)) &&
                    text_has("err", "stopping at once");
        stopped += stop;
        ck_assert_msg(!changed && same + refused + partly + stopped == i + 1,
                      "%s, seed %llu, %u spots: %s", name, start + (unsigned)i, spots,
                      status_words(status));
    }
    printf("| %s, %u spots, seed %llu: %d times: %d the same, %d refused, %d partly, %d stopped\n",
           name, spots, start, times, same, refused, partly, stopped);
    scratch_drop();
}

static int times(int sampled, int full)
{
    return full_matrix() ? full : sampled;
}

TEST(D07_a_few_bad_bytes_in_the_database)
{
    survives("pawl.db", false, 1, times(8, 400));
}

TEST(D07_many_bad_bytes_in_the_database)
{
    survives("pawl.db", false, 20, times(6, 300));
}

TEST(D06_bad_bytes_in_the_wal)
{
    survives("pawl.db-wal", true, 2, times(6, 200));
}

TEST(D09_bad_bytes_in_the_slot_file)
{
    survives("slots", true, 40, times(6, 100));
}
