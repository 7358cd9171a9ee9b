/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_trouble.c -- B9, S20, S25, S30: nothing is lost when the store, memory or
 * the order of things makes trouble. */
#include "scene.h"

#include <dirent.h>
#include <time.h>

#include <unistd.h>

/* ---- Store trouble ------------------------------------------------------------------- */

static pawl_result go_on(pawl_ctx *ctx, pawl_str version)
{
    if (pawl_execution(ctx) == 2)
        return pawl_done_str(ctx, pawl_version(ctx));
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_continue_as_new(ctx, version, version.ptr);
}

static struct {
    bool early, late;
    char said[PAWL_TROUBLE_BYTES];
} health;

/* A disk that does not answer: the clock goes on while the commit does not come back. */
static void hang(struct scene *s)
{
    s->mono += 9000;
    health.early = pawl_runtime_healthy(s->rt, health.said);
    s->mono += 3000;
    health.late = pawl_runtime_healthy(s->rt, health.said);
}

SCENARIO(s25_a_commit_that_does_not_come_back_is_bad_health)
{
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_start(s, "Flow", "i", "2.0.0");
    s->before_commit = hang;
    scene_raise(s, "i", "Mail", "in between");
    ck_assert(health.early && !health.late);
    expect_text(health.said, "store: the disk has not answered a commit for 12 s");
    s->before_commit = NULL;
    ck_assert(pawl_runtime_healthy(s->rt, health.said));
}

static pawl_result nap(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_done_str(ctx, input);
}

static void scene_s25_a_store_that_cannot_be_read_is_bad_health(struct scene *s)
{
    char said[PAWL_TROUBLE_BYTES] = "";
    scene_flow(s, "Nap", nap);
    for (int i = 1; i <= 3; i++) { /* each trouble is told, not only the first */
        const char *id = scene_id(s, "i", i);
        scene_start(s, "Nap", id, "x");
        scene_fail(s, FAULT_OP_next_due, 0, 1000000, FAULT_BEFORE, PAWL_UNAVAILABLE);
        scene_fail(s, FAULT_OP_fetch_messages, 0, 1000000, FAULT_BEFORE, PAWL_UNAVAILABLE);
        s->now += 1000;
        s->mono += 1000;
        (void)pawl_runtime_step(s->rt, 0);
        ck_assert(!pawl_runtime_healthy(s->rt, said));
        expect_text(said, "store: fetch_messages");
        scene_fail(s, FAULT_OP_next_due, 0, 0, FAULT_BEFORE, PAWL_OK);
        scene_fail(s, FAULT_OP_fetch_messages, 0, 0, FAULT_BEFORE, PAWL_OK);
        scene_advance(s, 1000);
        ck_assert(pawl_runtime_healthy(s->rt, said));
        scene_expect(s, id, PAWL_COMPLETED, "x");
    }
}
SCENE_TEST(s25_a_store_that_cannot_be_read_is_bad_health, memory, SCENE_MEMORY)
SCENE_TEST(s25_a_store_that_cannot_be_read_is_bad_health, sqlite,
           SCENE_SQLITE) /* jsonl: in memory */
SCENE_TEST(s25_a_store_that_cannot_be_read_is_bad_health, postgres, SCENE_POSTGRES)

static void ask_for_health(void *arg, const pawl_reply *reply)
{
    struct scene *s = arg;
    health.early = reply->status == PAWL_DISK_FULL;
    health.late = pawl_runtime_healthy(s->rt, health.said);
}

SCENARIO(s25_who_is_refused_on_a_full_disk_finds_bad_health)
{
    scene_flow(s, "Nap", nap);
    scene_up(s);
    scene_fail(s, FAULT_OP_commit, 0, 3, FAULT_BEFORE, PAWL_DISK_FULL); /* the first to notice */
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Nap", .instance = "i"),
                                 ask_for_health, s, NULL),
              PAWL_OK);
    scene_settle(s);
    ck_assert(health.early && !health.late);
}

static uint64_t log_bytes;

static void say_log_bytes(pawl_store *store, pawl_store_figures *ret)
{
    (void)store;
    *ret = (pawl_store_figures){.log_bytes = log_bytes};
}

static void put_log_bytes(pawl_store *store)
{
    static pawl_store_ops ops;
    ops = *store->ops;
    ops.figures = say_log_bytes;
    store->ops = &ops;
}

/* One pass a second later; how often the log has those words now. */
static int told_of_log(struct scene *s, uint64_t bytes, const char *words)
{
    int n = 0;
    log_bytes = bytes;
    scene_advance(s, 1000);
    scene_raise(s, "i", "Other", "a pass");
    for (const char *at = s->log; (at = strstr(at, words)); at++)
        n++;
    return n;
}

/* Told at 64 MiB and whenever it is twice as long as told; short again below 32 MiB. */
static void scene_s25_a_write_ahead_log_that_grows_is_told(struct scene *s)
{
    const char *grows = "the write-ahead log grows", *is_short = "log is short again";
    const uint64_t mib = 1 << 20;
    log_bytes = 0;
    s->decorate = put_log_bytes;
    s->opts.log_level = PAWL_LOG_WARN;
    scene_flow(s, "Flow", go_on);
    scene_start(s, "Flow", "i", "1.0.0");
    expect_is(told_of_log(s, 64 * mib - 1, grows), 0);
    expect_is(told_of_log(s, 64 * mib, grows), 1);
    expect_is(told_of_log(s, 128 * mib - 1, grows), 1);
    expect_is(told_of_log(s, 128 * mib, grows), 2);
    expect_is(told_of_log(s, 32 * mib, is_short), 0);
    expect_is(told_of_log(s, 32 * mib - 1, is_short), 1);
    expect_is(told_of_log(s, 0, is_short), 1);
    expect_is(told_of_log(s, 64 * mib, grows), 3);
}
SCENE_TEST(s25_a_write_ahead_log_that_grows_is_told, memory, SCENE_MEMORY)

/* The commit that parks it between two executions fails first. */
SCENARIO(b09_s26_parked_between_executions_by_the_second_commit)
{
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_start(s, "Flow", "i", "2.0.0");
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    scene_raise(s, "i", "Go", "");
    expect_text(scene_info(s, "i").finding.ptr, "version 2.0.0 is not registered");
    expect_is(scene_try_raise(s, "i", "Mail", "in between"), PAWL_OK);
    scene_flow_at(s, "Flow", "2.0.0", go_on);
    scene_expect(s, "i", PAWL_COMPLETED, "2.0.0");
    scene_expect_empty(s);
}

static pawl_result one_call(pawl_ctx *ctx, pawl_str input)
{
    pawl_result first = pawl_call(ctx, "Echo", input);
    return pawl_await(ctx, pawl_wait_event(ctx, first.value.ptr));
}

/* A history that cannot be read for long, then a failed commit: the result waits. */
SCENARIO(b09_s30_long_read_trouble_then_a_failed_commit_loses_nothing)
{
    s->opts.fiber_memory = 1;
    scene_flow(s, "Flow", one_call);
    scene_up(s);
    scene_start(s, "Flow", "i", "Go");
    scene_fail(s, FAULT_OP_read_history, 0, 20, FAULT_BEFORE, PAWL_UNAVAILABLE);
    pawl_error err;
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                              .data = pawl_s("end")),
                                 NULL, NULL, &err),
              PAWL_OK);
    for (int i = 0; i < 40 && s->fault.left; i++)
        (void)scene_hop(s);
    expect_is(s->fault.left, 0);
    scene_fail(s, FAULT_OP_commit, 0, 1, FAULT_BEFORE, PAWL_BUSY);
    for (int i = 0; i < 5; i++)
        (void)scene_hop(s);
    scene_expect(s, "i", PAWL_COMPLETED, "end");
    scene_expect_empty(s);
}

static pawl_result two_events(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result first = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_result second = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_donef(ctx, "%s%s", first.value.ptr, second.value.ptr);
}

/* A key is looked up again when the store did not answer. */
SCENARIO(s18_b09_a_key_before_the_start_holds_in_trouble)
{
    static const char *const data[] = {"a", "again", "b"};
    scene_flow(s, "Flow", two_events);
    for (int i = 0; i < 3; i++) {
        scene_up(s);
        scene_fail(s, FAULT_OP_read_messages, 0, i, FAULT_BEFORE, PAWL_UNAVAILABLE);
        expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go",
                                           .data = pawl_s(data[i]), .await_start = true,
                                           .idempotency_key = i < 2 ? "k" : "k2")),
                  PAWL_OK);
    }
    scene_start(s, "Flow", "i", "");
    scene_expect(s, "i", PAWL_COMPLETED, "ab");
}

/* Its mail cannot be read, and never will be; found by fuzzing. */
TEST(b14_damaged_mail_of_one_instance_stops_no_other)
{
    struct scene *s = scene_open(SCENE_SQLITE);
    scene_flow(s, "Flow", two_events);
    scene_start(s, "Flow", "i", "");
    scene_start(s, "Flow", "j", "");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_SUSPEND, .instance = "i")), PAWL_OK);
    scene_raise(s, "i", "Go", "a");
    scene_fail(s, FAULT_OP_read_messages, 0, 1000000, FAULT_BEFORE, PAWL_CORRUPT);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_RESUME, .instance = "i")), PAWL_OK);
    scene_raise(s, "j", "Go", "a");
    scene_raise(s, "j", "Go", "b");
    scene_expect(s, "j", PAWL_COMPLETED, "ab");
    s->fault.left = 0;
    scene_crash(s); /* it was not damaged after all: nothing is lost */
    scene_raise(s, "i", "Go", "b");
    scene_expect(s, "i", PAWL_COMPLETED, "ab");
    scene_close(s);
}

/* Nobody was given it; live, a refused start answered with its refusal, in a replay with nothing.
 * Found by fuzzing. */
static pawl_result forged(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result none = pawl_start_detached(ctx, "", pawl_s(""), NULL);
    pawl_result got = pawl_await(ctx, (pawl_task){1});
    pawl_result then = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_donef(ctx, "%d %d %s%s", none.ok, got.ok, got.value.ptr, then.value.ptr);
}

SCENARIO(s6_a_detached_start_has_no_handle)
{
    scene_flow(s, "Flow", forged);
    scene_start(s, "Flow", "i", "");
    scene_crash(s);
    scene_raise(s, "i", "Go", "!");
    scene_expect(s, "i", PAWL_COMPLETED,
                 "0 0 no such task: the handle was not made by this execution!");
}

/* ---- Families ---------------------------------------------------------------------------- */

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result parent(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_child(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "kid"));
}

/* The child is made in the very group that removes its parent. */
SCENARIO(s20_removing_a_parent_reaches_a_child_being_made)
{
    pawl_error err;
    scene_flow(s, "Parent", parent);
    scene_flow(s, "Kid", kid);
    scene_up(s);
    expect_is(pawl_client_submit(
                  s->c, PAWL_REQUEST(.op = PAWL_OP_START, .name = "Parent", .instance = "p"), NULL,
                  NULL, &err),
              PAWL_OK);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = "p", .force = true)),
              PAWL_OK);
    pawl_info info;
    expect_is(pawl_client_get(s->c, "p", 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    expect_is(pawl_client_get(s->c, "kid", 0, s->mem, &info, &err), PAWL_NOT_FOUND);
    scene_expect_empty(s);
}

static pawl_result five_kids(pawl_ctx *ctx, pawl_str input)
{
    pawl_task t[5];
    for (int i = 0; i < 5; i++)
        t[i] = pawl_start_child(ctx, "Done", input, NULL);
    return pawl_await_all(ctx, t, 5);
}

static pawl_result done(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

/* Children fill the first pages, running instances others. */
SCENARIO(e12_prune_finds_a_root_behind_its_children)
{
    scene_flow(s, "Parent", five_kids);
    scene_flow(s, "Done", done);
    scene_flow(s, "Kid", kid);
    scene_start(s, "Parent", "p", "");
    scene_expect(s, "p", PAWL_COMPLETED, NULL);
    for (int i = 0; i < 5; i++)
        scene_start(s, "Kid", scene_id(s, "k", i), "");
    scene_advance(s, 1000);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = s->now, .limit = 2)),
              PAWL_OK);
    expect_is(s->reply.instances, 6);
    expect_is(scene_depths(s).instances, 5);
}

/* ---- Suspending ---------------------------------------------------------------------------- */

SCENARIO(s25_suspend_between_executions_is_not_answered_and_forgotten)
{
    scene_flow_at(s, "Flow", "1.0.0", go_on);
    scene_start(s, "Flow", "i", "2.0.0");
    scene_raise(s, "i", "Go", "");
    bool suspended = scene_try_steer(s, PAWL_OP_SUSPEND, "i") == PAWL_OK;
    scene_flow_at(s, "Flow", "2.0.0", go_on);
    scene_settle(s);
    expect_is(scene_info(s, "i").state, suspended ? PAWL_SUSPENDED : PAWL_COMPLETED);
}

/* ---- For ever ------------------------------------------------------------------------------ */

static pawl_result compensate(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, input.ptr)));
    pawl_shield(ctx);
    return pawl_await(ctx, pawl_wait_event(ctx, "Compensated"));
}

/* Times so long that a sum with the clock would overflow. */
SCENARIO(s23_a_grace_for_ever_does_not_end_at_once)
{
    s->opts.cancel_grace_ms = INT64_MAX;
    scene_flow(s, "Flow", compensate);
    scene_start(s, "Flow", "i", "Go");
    scene_cancel(s, "i", "stop");
    scene_advance(s, PAWL_DAYS(1));
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    expect_is(pawl_runtime_step(s->rt, INT64_MAX), 0);
    scene_raise(s, "i", "Compensated", "");
    scene_expect(s, "i", PAWL_CANCELLED, "stop");
}

/* ---- Code that comes late --------------------------------------------------------------------- */

static pawl_result some_activity(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

/* Who mends them one by one starts the program once for each. */
TEST(all_bad_registrations_are_told_at_once)
{
    pawl_error err = {0};
    pawl_app *app = pawl_app_new();
    pawl_ignore(pawl_register_activity(app, "Send", some_activity));
    pawl_ignore(pawl_register_activity(app, "Send", some_activity));
    pawl_ignore(pawl_register_activity(app, "a/b", some_activity));
    pawl_ignore(pawl_register_activity(app, "", some_activity));
    ck_assert_ptr_null(pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err));
    expect_is(err.status, PAWL_INVALID);
    expect_text(err.text, "activity 'Send' is registered twice; ");
    expect_text(err.text, "has a '/' at byte 1");
    expect_text(err.text, "activity name is empty");
    for (int i = 0; i < 40; i++)
        pawl_ignore(pawl_register_activity(app, "c/d", some_activity));
    ck_assert_ptr_null(pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err));
    expect_text(err.text, "; and 3");
    expect_text(err.text, " more");
    pawl_app_free(app);
}

TEST(s26_registering_wakes_the_engine)
{
    struct scene *s = scene_open(SCENE_MEMORY);
    scene_threads(s);
    scene_up(s);
    expect_is(pawl_client_start(s->c, "Late", pawl_s(""),
                                PAWL_START_OPTS(.instance = "i", .allow_unregistered = true), NULL),
              PAWL_OK);
    usleep(50000); /* it sleeps by now */
    scene_flow(s, "Late", kid);
    for (int i = 0; i < 1000 && scene_info(s, "i").state != PAWL_RUNNING; i++)
        usleep(5000);
    expect_is(scene_info(s, "i").state, PAWL_RUNNING);
    scene_close(s);
}

/* ---- A runtime that stops ------------------------------------------------------------------------ */

/* A blocking call that saw the end of the runtime is not answered a second time. */
SCENARIO(b12_a_blocking_call_on_a_fenced_runtime_is_answered_once)
{
    pawl_error err = {0};
    scene_flow(s, "Kid", kid);
    scene_start(s, "Kid", "i", "");
    pawl_runtime *second = pawl_runtime_open(s->app, &s->opts, &err);
    ck_assert_msg(second, "%s", err.text);
    expect_is(pawl_client_raise(s->c, "i", "Go", pawl_s("x"), NULL, &err), PAWL_FENCED);
    pawl_runtime_close(s->rt);
    s->rt = second;
    s->c = pawl_runtime_client(second);
    scene_raise(s, "i", "Go", "y");
    scene_expect(s, "i", PAWL_COMPLETED, "y");
}

static pawl_result calls_echo(pawl_ctx *ctx, pawl_str input);

/* The start must wait for code, and mail kept for its name cannot be read just now: neither is
 * lost. */
SCENARIO(b09_s16_a_start_without_code_waits_for_mail_it_cannot_read)
{
    scene_up(s);
    pawl_error err = {0};
    expect_is(pawl_client_raise(s->c, "i", "Go", pawl_s("kept"),
                                PAWL_RAISE_OPTS(.await_start = true), &err),
              PAWL_OK);
    scene_fail(s, FAULT_OP_read_messages, 0, 1, FAULT_BEFORE, PAWL_UNAVAILABLE);
    expect_is(pawl_client_submit(s->c,
                                 PAWL_REQUEST(.op = PAWL_OP_START, .name = "Late", .instance = "i",
                                              .allow_unregistered = true),
                                 NULL, NULL, &err),
              PAWL_OK);
    for (int i = 0; i < 5; i++)
        (void)scene_hop(s);
    scene_settle(s);
    expect_is(scene_row(s, "i").state, PAWL_PENDING);
    scene_flow(s, "Late", calls_echo);
    scene_expect(s, "i", PAWL_COMPLETED, "kept");
}

/* ---- What an opening leaves behind ------------------------------------------------------- */

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

SCENARIO(e10_an_opening_leaves_no_file_open)
{
    scene_restart(s);
    int before = open_files();
    for (int i = 0; i < 20; i++)
        scene_restart(s);
    expect_is(open_files(), before);
}

/* ---- Where the code stood: noted at once, looked up when somebody asks ------------------ */

static pawl_result calls_echo(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result calls_fail(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Fail", input));
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

SCENARIO(s28_the_source_line_is_looked_up_when_somebody_asks)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    s->now = (int64_t)now.tv_sec * 1000; /* the program is older than the finding */
    scene_flow(s, "Flow", calls_echo);
    scene_start(s, "Flow", "i", "x");
    scene_settle(s);
    scene_new_code(s);
    scene_flow(s, "Flow", calls_fail);
    scene_raise(s, "i", "Go", "");
    scene_settle(s);
    pawl_row row = scene_row(s, "i");
    expect_is(row.state, PAWL_BLOCKED);
    expect_text(row.finding.ptr, "; called from /");
    expect_text(row.finding.ptr, "+0x");
    expect_text(scene_info(s, "i").finding.ptr, "; called from calls_fail at test_trouble.c:");
}
