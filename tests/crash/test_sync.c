/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_sync.c -- the disk refuses once, at each call in turn.
 *
 * A sync or write that fails at COMMIT has an unknown outcome: the process must
 * leave the mark `dirty` and stop (75), or have opened nothing (1); the next
 * start writes the database anew and everything completes exactly once.  A full
 * disk and a failed read are no reason to stop: at most the start is refused.
 */
#include "../harness.h"
#include "badfs.h"
#include "crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static enum badfs fault;
static int nth;

static void spoil(void)
{
    badfs_install(fault, nth);
}

static const struct plan_item item = {"ProcessOrder", "o-1",
                                      "{\"id\":\"o-1\",\"return_window_ms\":2}", "FraudReview",
                                      "{\"approved\":true}"};

struct tally {
    int stopped, unopened, refused, unharmed;
};

static void end_is_explained(int status, struct tally *tally)
{
    bool marked = access(in_scratch("data/dirty"), F_OK) == 0;
    bool doubt = fault == BADFS_SYNC || fault == BADFS_SYNC_LOST || fault == BADFS_WRITE;
    if (exited_with(status, 75)) {
        ck_assert_msg(doubt && marked, "call %d: marked %d: %s", nth, marked, status_words(status));
        tally->stopped++;
    } else if (exited_with(status, 1)) { /* open said what is wrong */
        ck_assert_msg(text_has("err", "open: "), "call %d: %s", nth, status_words(status));
        tally->unopened++;
    } else if (exited_with(status, 2) || (fault == BADFS_READ && exited_with(status, 3))) {
        ck_assert_msg(text_has("err", "disk_full") || text_has("err", "unavailable"), "call %d: %s",
                      nth, status_words(status));
        tally->refused++;
    } else {
        ck_assert_msg(exited_with(status, 0), "call %d: %s", nth, status_words(status));
        tally->unharmed++;
    }
}

static void write_calls(void)
{
    append_line("calls", "%d", badfs_calls());
}

/* The calls an undisturbed run makes. */
static int count_calls(void)
{
    struct plan plan = {.items = &item, .count = 1, .before = spoil, .after = write_calls};
    nth = 0;
    scratch_make();
    int status = child_run(plan_run, &plan, 30000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    char *text = read_text("calls");
    int count = atoi(text);
    free(text);
    ck_assert_int_gt(count, 3);
    return count;
}

/* The disk fails at call `nth`; then the same plan on a disk that works. */
static void fail_once(const char *name, struct tally *tally)
{
    struct plan plan = {.items = &item, .count = 1, .before = spoil};
    int unharmed = tally->unharmed;
    scratch_make();
    int status = child_run(plan_run, &plan, 30000);
    end_is_explained(status, tally);
    bool harmed = tally->unharmed == unharmed;
    if (harmed) {
        plan.before = NULL;
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(exited_with(status, 0), "%s, after call %d: %s", name, nth,
                      status_words(status));
    }
    ck_assert_int_ne(access(in_scratch("data/dirty"), F_OK), 0);
    char *answer = answer_of("o-1");
    ck_assert_msg(answer && strcmp(answer, "completed Order completed successfully") == 0,
                  "%s, after call %d: %s", name, nth, answer ? answer : "nothing");
    free(answer);
    const char *wrong = wrong_at_rest();
    if (!wrong)
        wrong = wrong_in_ledger(harmed);
    ck_assert_msg(!wrong, "%s, after call %d: %s", name, nth, wrong);
    scratch_drop();
}

/* Every call, and two beyond the last; or every `stride`-th. */
static void fail_each(enum badfs what, int stride, const char *name)
{
    struct tally tally = {0};
    fault = what;
    int count = count_calls(), runs = 0;
    for (int n = 1; n <= count + 2; n += full_matrix() ? 1 : stride, runs++) {
        nth = n;
        fail_once(name, &tally);
    }
    ck_assert_int_gt(tally.stopped + tally.unopened + tally.refused, 0);
    printf("| %s: %d of %d calls: %d stopped (75), %d did not open, %d refused, %d unharmed\n",
           name, runs, count, tally.stopped, tally.unopened, tally.refused, tally.unharmed);
}

TEST(D02_fsync_fails_at_each_call)
{
    fail_each(BADFS_SYNC, 2, "fsync fails");
}

TEST(D02_fsync_fails_and_the_bytes_are_lost)
{
    fail_each(BADFS_SYNC_LOST, 2, "fsync fails, bytes lost");
}

TEST(A11_write_fails_at_each_call)
{
    fail_each(BADFS_WRITE, 11, "write fails");
}

TEST(D04_disk_full_once_at_each_call)
{
    fail_each(BADFS_FULL, 17, "disk full once");
}

TEST(D04_read_fails_at_each_call)
{
    fail_each(BADFS_READ, 5, "read fails");
}

/* The start that writes the database anew is killed at each of its steps. */
TEST(D02_killed_while_the_database_is_written_anew)
{
    static const char *const points[] = {"dirty.copied", "dirty.ready", "dirty.wal_gone",
                                         "dirty.replaced"};
    fault = BADFS_SYNC;
    for (size_t i = 0; i < 4; i++) {
        struct plan plan = {.items = &item, .count = 1, .before = spoil};
        scratch_make();
        nth = 8;
        int status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(exited_with(status, 75), "%s", status_words(status));
        ck_assert_int_eq(access(in_scratch("data/dirty"), F_OK), 0);
        plan.before = NULL;
        plan.crash_at = points[i];
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(killed_by(status, SIGKILL), "%s: %s", points[i], status_words(status));
        ck_assert_int_eq(access(in_scratch("data/dirty"), F_OK), 0);
        plan.crash_at = NULL;
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(exited_with(status, 0), "%s: %s", points[i], status_words(status));
        ck_assert_int_ne(access(in_scratch("data/dirty"), F_OK), 0);
        const char *wrong = wrong_at_rest();
        ck_assert_msg(!wrong, "%s: %s", points[i], wrong);
        scratch_drop();
    }
}

TEST(D02_activities_that_run_when_the_disk_fails_are_not_blamed)
{
    const struct plan_item items[] = {
        {"Call", "long", "Long 300", NULL, NULL},
        {"Call", "a",    "Fine a",   NULL, NULL},
        {"Call", "b",    "Fine b",   NULL, NULL},
    };
    struct plan plan = {.items = items, .count = 3, .before = spoil, .app = app_rude};
    int status = -1;
    fault = BADFS_SYNC;
    for (nth = 5; nth < 20; nth++) { /* the first that hits while it runs */
        scratch_make();
        status = child_run(plan_run, &plan, 30000);
        if (exited_with(status, 75) && text_has("began", "long"))
            break;
    }
    ck_assert_msg(exited_with(status, 75), "%s", status_words(status));
    plan.before = NULL;
    status = child_run(plan_run, &plan, 30000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_int_eq(
        ask("SELECT count(*) FROM history WHERE kind=11 AND attrs NOT LIKE '%attempts%'"), 3);
    const char *wrong = wrong_at_rest();
    ck_assert_msg(!wrong, "%s", wrong);
    scratch_drop();
}
