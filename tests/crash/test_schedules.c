/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_schedules.c -- a schedule under kill -9, with a clock that runs years in seconds.
 *
 * A child steps a runtime whose clock runs 4,000,000 times as fast as ours, from one child to the
 * next without a gap.  A schedule of each night in Berlin starts a run, which writes its occurrence
 * into a ledger outside the store.  The parent kills children at random moments.  At last one is
 * left in peace, with a clock that stands still: every night of those years has run, none twice, none
 * is missing, over every change of clocks.
 */
#include "../harness.h"
#include "crash.h"

#include "pawl/json.h"
#include "pawl/schedule.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SPEED    4000000
#define BEGIN_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

/* Shared with the children: it is there before they are. */
static int64_t zero_ms, stop_ms;

static int64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t fast_ms(void *user)
{
    (void)user;
    int64_t now = BEGIN_MS + (real_ms() - zero_ms) * SPEED;
    return stop_ms && now > stop_ms ? stop_ms : now;
}

static pawl_result note(pawl_activity *act, pawl_str input)
{
    (void)act;
    append_record("ledger", "%.*s", PAWL_FMT(input));
    return pawl_ok(act, "");
}

static pawl_result report(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_call(ctx, "Note", pawl_printf(ctx, "%lld", (long long)pawl_scheduled_at(ctx)));
}

static const char *const cron[] = {"30 2 * * *", NULL};
static const pawl_schedule nightly = {.size = sizeof(nightly),
                                      .name = "nightly",
                                      .cron = cron,
                                      .zone = "Europe/Berlin",
                                      .missed = PAWL_MISSED_ALL,
                                      .missed_window_ms = PAWL_DAYS(3660),
                                      .overlap = PAWL_OVERLAP_ALLOW,
                                      .orchestration = "Report"};

static pawl_runtime *open_runtime(pawl_app *app)
{
    pawl_error err;
    pawl_env env = {.now_ms = fast_ms};
    pawl_register_orchestration(app, "Report", "1.0.0", report);
    pawl_register_activity(app, "Note", note);
    pawl_runtime *rt =
        pawl_runtime_open(app, PAWL_OPTIONS(.data = in_scratch("data"), .env = &env), &err);
    if (!rt) {
        fprintf(stderr, "open: %s\n", err.text);
        _exit(1);
    }
    return rt;
}

static void stored(void *arg, const pawl_reply *reply)
{
    *(pawl_status *)arg = reply->status;
}

static void put(pawl_runtime *rt)
{
    pawl_status rc = PAWL_BUSY;
    pawl_error err;
    pawl_mem *mem = pawl_mem_new();
    pawl_str json;
    if (pawl_schedule_to_json(&nightly, mem, &json, &err) != PAWL_OK ||
        pawl_client_submit(
            pawl_runtime_client(rt),
            PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PUT, .name = "nightly", .data = json), stored, &rc,
            &err) != PAWL_OK) {
        fprintf(stderr, "put: %s\n", err.text);
        _exit(2);
    }
    while (rc == PAWL_BUSY)
        (void)pawl_runtime_step(rt, 0);
    if (rc != PAWL_OK)
        _exit(3);
    pawl_mem_free(mem);
}

/* Step until it is killed, or, when the clock stands, until there is nothing left to do. */
static int carry(void *arg)
{
    pawl_app *app = pawl_app_new();
    pawl_runtime *rt = open_runtime(app);
    if (*(const bool *)arg)
        put(rt);
    for (int idle = 0; !stop_ms || idle < 200;) {
        idle = pawl_runtime_step(rt, 0) > 0 ? 0 : idle + 1;
        if (idle)
            (void)usleep(1000);
    }
    pawl_runtime_close(rt);
    pawl_app_free(app);
    return 0;
}

/* ---- What there must be ---------------------------------------------------------------------- */

static int64_t *expected(int64_t from_ms, int64_t until_ms, size_t *retn)
{
    size_t n = 0, got = 1;
    int64_t *all = calloc(100000, sizeof(*all)), at = from_ms;
    pawl_error err;
    while (n < 100000 && got) {
        ck_assert_int_eq(pawl_schedule_next(&nightly, at, &at, 1, &got, &err), PAWL_OK);
        if (got && at > until_ms)
            break;
        all[n++] = at;
    }
    *retn = n;
    return all;
}

static int count_of(const char *text, int64_t at)
{
    char number[24];
    int n = 0;
    (void)snprintf(number, sizeof(number), "%lld", (long long)at);
    for (const char *p = text; (p = strstr(p, number)); p++)
        n++;
    return n;
}

static int check(void *arg)
{
    unsigned kills = *(unsigned *)arg;
    pawl_app *app = pawl_app_new();
    pawl_runtime *rt = open_runtime(app);
    pawl_mem *mem = pawl_mem_new();
    pawl_error err;
    pawl_str state;
    size_t n, again = 0;
    if (pawl_schedule_get(pawl_runtime_client(rt), "nightly", mem, &state, &err) != PAWL_OK)
        return 4;
    int64_t *all = expected(pawl_json_int(state, "/created_ms", 0), stop_ms, &n);
    char *ledger = read_text("ledger");
    for (size_t i = 0; i < n; i++) {
        int times = count_of(ledger, all[i]);
        again += (size_t)times - 1;
        if (times < 1) {
            fprintf(stderr, "occurrence %lld is missing\n", (long long)all[i]);
            return 5;
        }
    }
    /* An activity that a kill interrupted runs again, with the same key: no more than one per kill. */
    if ((size_t)pawl_json_int(state, "/runs", 0) != n || pawl_json_int(state, "/missed", 0) ||
        pawl_json_int(state, "/skipped", 0) || again > kills) {
        fprintf(stderr, "%zu occurrences, %zu again: %s\n", n, again, state.ptr);
        return 6;
    }
    append_line("out", "%zu", n);
    free(ledger);
    free(all);
    pawl_mem_free(mem);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    return 0;
}

TEST(Y1_killed_at_random_each_night_of_years_runs_once)
{
    unsigned seed = (unsigned)time(NULL), kills = 0;
    bool first = true;
    scratch_make();
    zero_ms = real_ms();
    int64_t end = zero_ms + (full_matrix() ? 60000 : 5000);
    while (real_ms() < end) {
        pid_t pid = child_start(carry, &first);
        nap_ms((int)((unsigned)rand_r(&seed) % (first ? 400 : 250)) + 30);
        (void)kill(pid, SIGKILL);
        int status = child_wait(pid, 10000);
        ck_assert_msg(killed_by(status, SIGKILL), "%s", status_words(status));
        kills++;
        first = first && ask("SELECT count(*) FROM object WHERE kind=1") == 0;
    }
    ck_assert(!first);
    stop_ms = fast_ms(NULL);
    int status = child_run(carry, &first, 60000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    status = child_run(check, &kills, 60000);
    char *err = read_text("err");
    ck_assert_msg(exited_with(status, 0), "%s: %s", status_words(status), err);
    free(err);
    char *nights = read_text("out");
    long long n = atoll(nights);
    free(nights);
    ck_assert_int_eq(ask("SELECT count(*) FROM instance WHERE id LIKE 'nightly@%' AND state=4"), n);
    ck_assert_int_eq(ask("SELECT count(*) FROM instance"), n);
    printf("| %lld nights, %u kills\n", n, kills);
    ck_assert_int_gt(n, 100);
    scratch_drop();
}
