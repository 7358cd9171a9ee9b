/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_places.c -- every call of a client in every place where it may not be: in a forked
 * child, inside a callback, inside an orchestration, and on a runtime that only looks.
 *
 * A call that is refused says so by its status and with the cure in its text; none hangs.  The last
 * test looks through include/pawl for calls of a client or a runtime that are not in the table.
 */
#include "child.h"

#include "base/attr.h"
#include "pawl.h"
#include "pawl/limit.h"
#include "pawl/queue.h"
#include "pawl/runtime.h"
#include "pawl/schedule.h"
#include "pawl/turns.h"
#include "pawl/worker.h"

#include <glob.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pawl_app *app;
static pawl_runtime *rt;
static pawl_client *c;
static pawl_mem *mem;
static pawl_error err;
static pawl_reply reply;
static char dir[64];

/* ---- The calls ---------------------------------------------------------------------------------- */

static const pawl_str some = {"1", 1};
static const char *const names[] = {"Act"};
static pawl_limit_match one_match = {"A"};
static pawl_limit limit = {
    .size = sizeof(limit), .name = "n", .match = &one_match, .match_count = 1, .concurrency = 1};
static pawl_schedule schedule = {
    .size = sizeof(schedule), .name = "n", .every_ms = 60000, .orchestration = "Flow"};
static const pawl_turns session = {
    .protocol = PAWL_TURNS_PROTOCOL, .session = {"0123456789abcdef", 16}
};
static pawl_queue_item item = {
    .data = {"1", 1}
};
static pawl_queue_reply moved;
static pawl_queue_message message;
static pawl_queue_messages messages;
static pawl_queue_stats queue_stats;
static pawl_queue_config config;
static pawl_queue_page queues;
static pawl_queue_locks locks;
static pawl_result answer;
static pawl_info info;
static pawl_page page;
static pawl_state state;
static pawl_history history;
static pawl_worker_page workers;
static const pawl_event *events;
static pawl_str text;
static size_t count;
static uint64_t number;

static void nothing_done(void *arg, const pawl_reply *r)
{
    (void)arg, (void)r;
}

static void nothing_moved(void *arg, const pawl_queue_reply *r)
{
    (void)arg, (void)r;
}

static void nothing_polled(void *arg, const pawl_worker_reply *r)
{
    (void)arg, (void)r;
}

static void nothing_turned(void *arg, const pawl_turns_reply *r)
{
    (void)arg, (void)r;
}

static void a_value(void *arg, pawl_str key, pawl_str value, uint64_t version, int64_t updated_ms)
{
    (void)arg, (void)key, (void)value, (void)version, (void)updated_ms;
}

/* WAITS: it writes and waits.  PATIENT: it reads and waits.  HANDS_IN: it writes and does not wait.
 * READS: neither. */
enum kind { WAITS, PATIENT, HANDS_IN, READS };

/* clang-format off */
#define CALLS(X) \
    X(pawl_client_start,         WAITS,    (c, "Flow", some, NULL, &reply)) \
    X(pawl_client_raise,         WAITS,    (c, "i", "E", some, NULL, &err)) \
    X(pawl_client_update,        WAITS,    (c, "i", "u", some, NULL, 60000, mem, &answer, &err)) \
    X(pawl_client_cancel,        WAITS,    (c, "i", NULL, &err)) \
    X(pawl_client_terminate,     WAITS,    (c, "i", NULL, &err)) \
    X(pawl_client_suspend,       WAITS,    (c, "i", NULL, &err)) \
    X(pawl_client_resume,        WAITS,    (c, "i", NULL, &err)) \
    X(pawl_client_retry,         WAITS,    (c, "i", &err)) \
    X(pawl_client_set_attributes, WAITS,   (c, "i", pawl_s("{}"), &err)) \
    X(pawl_client_remove,        WAITS,    (c, "i", false, &reply)) \
    X(pawl_client_prune,         WAITS,    (c, 1, 0, &reply)) \
    X(pawl_client_complete,      WAITS,    (c, "w1", (pawl_result){.ok = true}, &err)) \
    X(pawl_client_heartbeat,     WAITS,    (c, "w1", &err)) \
    X(pawl_client_call,          WAITS,    (c, PAWL_REQUEST(.op = PAWL_OP_PRUNE), &reply)) \
    X(pawl_schedule_put,         WAITS,    (c, &schedule, 0, &err)) \
    X(pawl_schedule_remove,      WAITS,    (c, "n", &err)) \
    X(pawl_schedule_pause,       WAITS,    (c, "n", NULL, &err)) \
    X(pawl_schedule_resume,      WAITS,    (c, "n", &err)) \
    X(pawl_schedule_trigger,     WAITS,    (c, "n", NULL, &err)) \
    X(pawl_schedule_backfill,    WAITS,    (c, "n", 0, 1, false, NULL, &err)) \
    X(pawl_limit_put,            WAITS,    (c, &limit, 0, &err)) \
    X(pawl_limit_remove,         WAITS,    (c, "n", &err)) \
    X(pawl_client_push,          WAITS,    (c, "q", some, NULL, &number, &err)) \
    X(pawl_client_pop,           WAITS,    (c, "q", 60000, mem, &message, &err)) \
    X(pawl_client_pop_locked,    WAITS,    (c, "q", 1000, 60000, mem, &message, &err)) \
    X(pawl_client_ack,           WAITS,    (c, "q", "l", &err)) \
    X(pawl_queue_call,           WAITS,    (c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", \
                                            .items = &item, .item_count = 1), mem, &moved)) \
    X(pawl_client_wait,          PATIENT,  (c, "i", 0, 60000, mem, &info, &err)) \
    X(pawl_client_update_result, PATIENT,  (c, "i", "u", NULL, 60000, mem, &answer, &err)) \
    X(pawl_client_submit,        HANDS_IN, (c, PAWL_REQUEST(.op = PAWL_OP_PRUNE), nothing_done, NULL, \
                                            &err)) \
    X(pawl_queue_submit,         HANDS_IN, (c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", \
                                            .items = &item, .item_count = 1), nothing_moved, NULL, &err)) \
    X(pawl_worker_poll,          HANDS_IN, (c, PAWL_POLL(.activities = names, .activity_count = 1), \
                                            nothing_polled, NULL, &err)) \
    X(pawl_worker_extend,        HANDS_IN, (c, "w1", 0, nothing_polled, NULL, &err)) \
    X(pawl_worker_beat,          HANDS_IN, (c, "w1", 0, some, nothing_polled, NULL, &err)) \
    X(pawl_worker_abandon,       HANDS_IN, (c, "w1", 0, nothing_polled, NULL, &err)) \
    X(pawl_turns_exchange,       HANDS_IN, (c, &session, nothing_turned, NULL, &err)) \
    X(pawl_client_get,           READS,    (c, "i", 0, mem, &info, &err)) \
    X(pawl_client_list,          READS,    (c, NULL, mem, &page, &err)) \
    X(pawl_client_history,       READS,    (c, "i", 0, 0, 0, mem, &history, &err)) \
    X(pawl_client_state,         READS,    (c, "i", mem, &state, &err)) \
    X(pawl_client_published,     READS,    (c, "i", NULL, a_value, NULL, &err)) \
    X(pawl_client_asks,          READS,    (c, NULL, mem, &text, &err)) \
    X(pawl_client_count,         READS,    (c, NULL, "status", mem, &text, &err)) \
    X(pawl_schedule_get,         READS,    (c, "n", mem, &text, &err)) \
    X(pawl_schedule_list,        READS,    (c, NULL, NULL, 0, mem, &text, &err)) \
    X(pawl_limit_get,            READS,    (c, "n", mem, &text, &err)) \
    X(pawl_limit_list,           READS,    (c, NULL, NULL, 0, mem, &text, &err)) \
    X(pawl_worker_list,          READS,    (c, mem, &workers, &err)) \
    X(pawl_turns_history,        READS,    (c, some, 0, mem, &events, &count, &number, &err)) \
    X(pawl_queue_get_stats,      READS,    (c, "q", mem, &queue_stats, &err)) \
    X(pawl_queue_get_config,     READS,    (c, "q", mem, &config, &err)) \
    X(pawl_queue_list,           READS,    (c, NULL, NULL, 0, mem, &queues, &err)) \
    X(pawl_queue_browse_messages, READS,   (c, "q", NULL, mem, &messages, &err)) \
    X(pawl_queue_get_message,    READS,    (c, "q", 1, mem, &message, &err)) \
    X(pawl_queue_get_locks,      READS,    (c, "q", mem, &locks, &err))

#define DEFINE(name, kind, arguments) static pawl_status do_##name(void) { return name arguments; }
CALLS(DEFINE)
#define ROW(name, kind, arguments) {#name, kind, do_##name},
/* clang-format on */

static const struct {
    const char *name;
    enum kind kind;
    pawl_status (*call)(void);
} calls[] = {CALLS(ROW)};

/* Where its words went: there are three kinds of answers. */
static const char *words(void)
{
    return err.text[0] ? err.text : reply.error.text[0] ? reply.error.text : moved.error.text;
}

static pawl_status try_call(size_t i)
{
    err = (pawl_error){0};
    reply.error = moved.error = err;
    return calls[i].call();
}

/* What is wrong with call i here, on stderr; 1 if something is. */
static int is_wrong(size_t i, pawl_status want, const char *say)
{
    pawl_status got = try_call(i);
    if (got == want && (!say || strstr(words(), say)))
        return 0;
    (void)fprintf(stderr, "%s: %d (%s), want %d (%s)\n", calls[i].name, (int)got, words(),
                  (int)want, say ? say : "");
    return 1;
}

static int is_refused_for_no_place(size_t i)
{
    pawl_status got = try_call(i);
    if (got != PAWL_MISUSE)
        return 0;
    (void)fprintf(stderr, "%s is refused: %s\n", calls[i].name, words());
    return 1;
}

/* ---- A runtime with threads, on files ----------------------------------------------------------- */

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

static int wrong_in_code;

static pawl_result calls_everything(pawl_ctx *ctx, pawl_str input)
{
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        wrong_in_code += is_wrong(i, PAWL_MISUSE, "not for orchestrations");
    return pawl_done_str(ctx, input);
}

static void open_at(const pawl_options *options)
{
    app = pawl_app_new();
    mem = pawl_mem_new();
    ck_assert_int_eq(pawl_register_orchestration(app, "Flow", NULL, flow), PAWL_OK);
    ck_assert_int_eq(pawl_register_orchestration(app, "Calls", NULL, calls_everything), PAWL_OK);
    rt = pawl_runtime_open(app, options, &err);
    ck_assert_msg(rt, "%s", err.text);
    c = pawl_runtime_client(rt);
}

static void open_world(void)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/pawl-places-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    open_at(PAWL_OPTIONS(.data = dir));
    ck_assert_int_eq(pawl_runtime_start(rt, &err), PAWL_OK);
    ck_assert_int_eq(pawl_client_start(c, "Flow", some, PAWL_START_OPTS(.instance = "i"), NULL),
                     PAWL_OK);
}

static void close_world(void)
{
    pawl_runtime_close(rt);
    pawl_app_free(app);
    pawl_mem_free(mem);
}

static void remove_files(void)
{
    char command[100];
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* ---- The places --------------------------------------------------------------------------------- */

static void in_forked_child(void *arg)
{
    (void)arg;
    int wrong = 0;
    (void)alarm(30); /* a call that hangs is one of the things to be seen */
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        wrong += is_wrong(i, PAWL_MISUSE, "forked");
    _exit(wrong != 0);
}

static void figures_in_forked_child(void *arg)
{
    (void)arg;
    char trouble[PAWL_TROUBLE_BYTES];
    pawl_stats stats;
    const pawl_tally *tallies = NULL;
    (void)alarm(30);
    bool good = !pawl_runtime_healthy(rt, trouble) && strstr(trouble, "forked");
    good = good && !pawl_runtime_ready(rt, trouble) && strstr(trouble, "forked");
    pawl_runtime_stats(rt, &stats);
    good = good && !stats.healthy && strstr(stats.trouble, "forked") && !stats.instances;
    stats.healthy = true;
    pawl_runtime_counters(rt, &stats);
    good = good && !stats.healthy && strstr(stats.trouble, "forked");
    good = good && pawl_runtime_tallies(rt, mem, &tallies) < 400; /* those of the fork */
    good = good && pawl_runtime_step(rt, 60000) < 0 && pawl_runtime_fd(rt) < 0;
    good = good && pawl_runtime_start(rt, &err) == PAWL_MISUSE;
    (void)pawl_client_now(c);
    pawl_client_retries(c, NULL, NULL);
    (void)fprintf(stderr, "trouble: %s\n", trouble);
    _exit(!good);
}

static void expect_good_end(void (*fn)(void *))
{
    struct child_end end;
    run_child(fn, NULL, &end);
    ck_assert_msg(end.signal == 0 && end.status == 0, "signal %d: %s", end.signal, end.text);
}

TEST(every_call_is_refused_in_a_forked_child)
{
    open_world();
    expect_good_end(in_forked_child);
    ck_assert_int_eq(pawl_client_start(c, "Flow", some, NULL, NULL), PAWL_OK); /* it goes on here */
    close_world();
    remove_files();
}

TEST(figures_of_a_forked_child_say_where_they_are)
{
    open_world();
    expect_good_end(figures_in_forked_child);
    close_world();
    remove_files();
}

TEST(every_call_is_refused_inside_an_orchestration)
{
    open_world();
    ck_assert_int_eq(pawl_client_start(c, "Calls", some, PAWL_START_OPTS(.instance = "all"), NULL),
                     PAWL_OK);
    ck_assert_int_eq(pawl_client_wait(c, "all", 0, 30000, mem, &info, &err), PAWL_OK);
    ck_assert_int_eq(wrong_in_code, 0);
    close_world();
    remove_files();
}

static int wrong_in_callback;
static sem_t called;

/* What waits is refused, the others are not: a dashboard reads inside a feed. */
static void in_callback(void)
{
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        wrong_in_callback += calls[i].kind == WAITS || calls[i].kind == PATIENT
                                 ? is_wrong(i, PAWL_MISUSE, "call from another thread")
                                 : is_refused_for_no_place(i);
    sem_post(&called);
}

static void in_reply(void *arg, const pawl_reply *r)
{
    (void)arg, (void)r;
    in_callback();
}

static void in_queue_reply(void *arg, const pawl_queue_reply *r)
{
    (void)arg, (void)r;
    in_callback();
}

static void in_poll(void *arg, const pawl_worker_reply *r)
{
    (void)arg, (void)r;
    in_callback();
}

static void in_turns(void *arg, const pawl_turns_reply *r)
{
    (void)arg, (void)r;
    in_callback();
}

static void in_feed(void *arg, const pawl_change *changes, size_t n)
{
    bool *once = arg;
    (void)changes, (void)n;
    if (!*once)
        in_callback();
    *once = true;
}

static void expect_called(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    ck_assert_msg(sem_timedwait(&called, &until) == 0, "the callback hangs");
    ck_assert_int_eq(wrong_in_callback, 0);
}

TEST(every_call_that_waits_is_refused_inside_every_callback)
{
    bool once = false;
    open_world();
    sem_init(&called, 0, 0);
    ck_assert_int_eq(pawl_client_submit(c, PAWL_REQUEST(.op = PAWL_OP_PRUNE), in_reply, NULL, &err),
                     PAWL_OK);
    expect_called();
    ck_assert_int_eq(pawl_queue_submit(c,
                                       PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q",
                                                          .items = &item, .item_count = 1),
                                       in_queue_reply, NULL, &err),
                     PAWL_OK);
    expect_called();
    ck_assert_int_eq(pawl_worker_extend(c, "w1", 0, in_poll, NULL, &err), PAWL_OK);
    expect_called();
    ck_assert_int_eq(pawl_worker_poll(c, PAWL_POLL(.activities = names, .activity_count = 1),
                                      in_poll, NULL, &err),
                     PAWL_OK);
    expect_called();
    ck_assert_int_eq(pawl_turns_exchange(c, &session, in_turns, NULL, &err), PAWL_OK);
    expect_called();
    ck_assert_uint_ne(pawl_client_feed(c, in_feed, &once), 0);
    ck_assert_int_eq(pawl_client_start(c, "Flow", some, NULL, NULL), PAWL_OK);
    expect_called();
    close_world();
    remove_files();
}

TEST(a_runtime_that_only_looks_writes_nothing)
{
    int wrong = 0;
    open_world();
    close_world();
    open_at(PAWL_OPTIONS(.data = dir, .read_only = true));
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (calls[i].kind == WAITS || calls[i].kind == HANDS_IN)
            wrong += is_wrong(i, PAWL_MISUSE, "to look only");
        else if (calls[i].kind == READS)
            wrong += is_refused_for_no_place(i);
    ck_assert_int_eq(wrong, 0);
    close_world();
    remove_files();
}

/* ---- All of them -------------------------------------------------------------------------------- */

/* They have no status; what they do in a forked child is above, or in test_fork.c. */
static const char *const others[] = {
    "pawl_client_hold",   "pawl_client_release", "pawl_client_withdraw",    "pawl_client_feed",
    "pawl_client_unfeed", "pawl_client_now",     "pawl_client_retries",     "pawl_runtime_start",
    "pawl_runtime_step",  "pawl_runtime_fd",     "pawl_runtime_timeout_ms", "pawl_runtime_client",
    "pawl_runtime_app",   "pawl_runtime_data",   "pawl_runtime_close",      "pawl_runtime_healthy",
    "pawl_runtime_ready", "pawl_runtime_stats",  "pawl_runtime_counters",   "pawl_runtime_tallies",
};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (strcmp(calls[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

/* What an inline function calls: the same call, see test_sizes.c. */
static bool is_sized(const char *name)
{
    size_t len = strlen(name);
    return len > 6 && strcmp(name + len - 6, "_sized") == 0;
}

/* The name of a declaration whose first parameter is a client or a runtime; false: another one. */
static bool is_of_a_client(const char *line, char name[80])
{
    const char *open = strchr(line, '(');
    if (!open || (strncmp(open, "(pawl_client *", 14) != 0 &&
                  strncmp(open, "(struct pawl_client *", 21) != 0 &&
                  strncmp(open, "(pawl_runtime *", 15) != 0))
        return false;
    const char *from = open;
    while (from > line && (from[-1] == '_' || (from[-1] >= 'a' && from[-1] <= 'z')))
        from--;
    (void)snprintf(name, 80, "%.*s", (int)(open - from), from);
    return true;
}

static void look_through(const char *path)
{
    char line[400], name[80];
    FILE *f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof(line), f))
        if ((strncmp(line, "PAWL_API ", 9) == 0 || strncmp(line, "PAWL_SIZED ", 11) == 0) &&
            is_of_a_client(line, name))
            ck_assert_msg(is_sized(name) || is_known(name), "%s() of %s is not tried here", name,
                          path);
    fclose(f);
}

TEST(no_call_of_a_client_is_left_out)
{
    char pattern[500], here[400];
    glob_t found;
    (void)snprintf(here, sizeof(here), "%s", __FILE__);
    char *tests = strstr(here, "tests/unit");
    ck_assert_ptr_nonnull(tests);
    *tests = 0;
    (void)snprintf(pattern, sizeof(pattern), "%sinclude/pawl/*.h", here);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!strstr(found.gl_pathv[i], "conformance.h") && !strstr(found.gl_pathv[i], "server.h"))
            look_through(found.gl_pathv[i]);
    globfree(&found);
}
