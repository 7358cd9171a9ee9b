/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_signals.c -- the polite end, the impatient end, and an owner
 * that is only asleep.  The child is `pawl work` itself, on the tests' code.
 */
#include "../harness.h"
#include "crash.h"
#include "rude.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *drain;
static bool until_idle = true;

/* pawl work --data scratch/data [--drain X] */
static int works(void *ends)
{
    pawl_app *app = pawl_app_new();
    char data[300], verb[] = "work", prog[] = "pawl", data_flag[] = "--data";
    char drain_flag[] = "--drain", drain_value[20], idle[] = "--until-idle";
    (void)snprintf(data, sizeof(data), "%s", in_scratch("data"));
    (void)snprintf(drain_value, sizeof(drain_value), "%s", drain ? drain : "10s");
    char *argv[] = {prog, verb, data_flag, data, drain_flag, drain_value, ends ? idle : NULL, NULL};
    app_rude(app);
    int status = pawl_main(app, ends ? 7 : 6, argv);
    pawl_app_free(app);
    return status;
}

/* An instance that is stored, with its first activity not yet run. */
static void given(const char *input)
{
    static struct plan_item item;
    item = (struct plan_item){"Call", "x", input, NULL, NULL};
    struct plan plan = {.items = &item, .count = 1, .app = app_rude, .crash_at = "commit.after:1"};
    scratch_make();
    int status = child_run(plan_run, &plan, 10000);
    ck_assert_msg(killed_by(status, SIGKILL), "%s", status_words(status));
}

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nobody_is_blamed(void)
{
    drain = NULL;
    int status = child_run(works, &until_idle, 20000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_msg(!text_has("err", "was running when the process died"), "%s",
                  status_words(status));
    ck_assert_int_eq(
        ask("SELECT count(*) FROM history WHERE kind=11 AND attrs NOT LIKE '%attempts%'"), 1);
    const char *wrong = wrong_at_rest();
    ck_assert_msg(!wrong, "%s", wrong);
    scratch_drop();
}

TEST(A19_sigterm_lets_the_running_activity_finish_and_records_it)
{
    given("Long 300");
    drain = NULL;
    pid_t pid = child_start(works, NULL);
    ck_assert(wait_for_words("began", "x", 10000));
    (void)kill(pid, SIGTERM);
    int status = child_wait(pid, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert(text_has("ended", "x"));
    ck_assert_int_eq(ask("SELECT count(*) FROM history WHERE kind=11"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM work"), 0);
    nobody_is_blamed();
}

TEST(A19_sigterm_waits_no_longer_than_the_drain_time)
{
    given("Deaf 1500");
    drain = "200ms";
    pid_t pid = child_start(works, NULL);
    ck_assert(wait_for_words("began", "x", 10000));
    long long sent = now_ms();
    (void)kill(pid, SIGTERM);
    int status = child_wait(pid, 10000);
    long long took = now_ms() - sent;
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert_msg(took >= 150 && took < 1200, "took %lld ms", took);
    ck_assert_int_eq(ask("SELECT count(*) FROM history WHERE kind=11"), 0);
    nobody_is_blamed(); /* it was told to end: that is no crash of the activity's */
}

TEST(A19_a_second_sigterm_ends_it_at_once)
{
    given("Deaf 3000");
    drain = "10s";
    pid_t pid = child_start(works, NULL);
    ck_assert(wait_for_words("began", "x", 10000));
    (void)kill(pid, SIGTERM);
    nap_ms(150);
    long long sent = now_ms();
    (void)kill(pid, SIGTERM);
    int status = child_wait(pid, 10000);
    ck_assert_msg(killed_by(status, SIGTERM), "%s", status_words(status));
    ck_assert_msg(now_ms() - sent < 1000, "took %lld ms", now_ms() - sent);
    const char *wrong = wrong_in_history();
    ck_assert_msg(!wrong, "%s", wrong);
    scratch_drop();
}

/* ---- One owner ---------------------------------------------------------------------------- */

static void refused_while_owned(pid_t owner)
{
    struct plan plan = {.app = app_rude};
    char words[100];
    int status = child_run(plan_run, &plan, 5000);
    ck_assert_msg(exited_with(status, 1), "%s", status_words(status));
    (void)snprintf(words, sizeof(words), "is in use by pid %d; stop it or use another --data",
                   (int)owner);
    ck_assert_msg(text_has("err", words), "%s", status_words(status));
}

TEST(A20_a_stopped_owner_keeps_its_directory_and_goes_on)
{
    given("Long 200");
    drain = NULL;
    pid_t pid = child_start(works, &until_idle);
    ck_assert(wait_for_words("began", "x", 10000));
    refused_while_owned(pid);
    (void)kill(pid, SIGSTOP);
    nap_ms(20);
    refused_while_owned(pid);
    nap_ms(300);
    (void)kill(pid, SIGCONT);
    int status = child_wait(pid, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    nobody_is_blamed();
}

TEST(A20_a_killed_owner_leaves_no_lock_behind)
{
    given("Long 200");
    nobody_is_blamed();
}

/* ---- Closing ------------------------------------------------------------------------------- */

/* Closed again and again with everything on its way: nothing is lost, nobody blamed. */
TEST(A19_closing_in_the_middle_of_everything_loses_nothing)
{
    static char ids[40][16];
    struct plan_item items[40];
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "trip-%zu", i);
        items[i] = (struct plan_item){"BookTrip", ids[i], "{\"trip\":\"Oslo\"}", "Confirm", "{}"};
    }
    scratch_make();
    for (int round = 0; round < 6; round++) {
        struct plan plan = {.items = items, .count = 40, .wait_ms = round < 5 ? 1 : 0};
        plan.options.workers = 2;
        plan.count = round < 5 ? (size_t)round * 8 + 1 : 40;
        int status = child_run(plan_run, &plan, 20000);
        ck_assert_msg(exited_with(status, 0) || (round < 5 && exited_with(status, 3)),
                      "round %d: %s", round, status_words(status));
    }
    const char *wrong = wrong_at_rest();
    if (!wrong)
        wrong = wrong_in_ledger(0);
    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert_int_eq(ask("SELECT count(*) FROM instance WHERE state=4"), 40);
    scratch_drop();
}

TEST(A19_an_instance_that_never_rests_does_not_keep_the_runtime_open)
{
    const struct plan_item item = {"Heartbeat", "heart", "{\"every_ms\":0}", NULL, NULL};
    struct plan plan = {.items = &item, .count = 1, .wait_ms = 100};
    scratch_make();
    long long began = now_ms();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 3), "%s", status_words(status));
    ck_assert_msg(now_ms() - began < 3000, "took %lld ms", now_ms() - began);
    const char *wrong = wrong_in_history();
    ck_assert_msg(!wrong, "%s", wrong);
    scratch_drop();
}
