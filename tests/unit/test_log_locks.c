/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_log_locks.c -- the program's log function runs without a lock of ours.
 *
 * It is foreign code: it may block, or wait for another thread that is in Pawl.  Here it tries the
 * lock that its caller works under; a lock that this very thread holds is busy.
 */
#include "child.h"
#include "runtime/core/runtime.h"

#include <pawl.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct world {
    pawl_app *app;
    pawl_runtime *rt;
    pawl_client *c;
    const char *words;     /* of the line that is waited for */
    pthread_mutex_t *lock; /* that must not be held then */
    atomic_int lines, held;
    bool is_last; /* the process ends after the line */
    atomic_bool began, end;
};

static struct world w;

static void on_log(void *user, pawl_log_level level, const char *area, const char *text)
{
    (void)user;
    (void)level;
    (void)area;
    if (!w.words || !strstr(text, w.words))
        return;
    if (pthread_mutex_trylock(w.lock) == 0)
        pthread_mutex_unlock(w.lock);
    else
        atomic_fetch_add(&w.held, 1);
    atomic_fetch_add(&w.lines, 1);
    if (w.is_last && atomic_load(&w.held))
        _exit(1);
}

/* From now on no thread can be started, or can be again. */
static void forbid_threads(bool on)
{
    static pthread_attr_t usual, huge;
    if (on) {
        ck_assert_int_eq(pthread_getattr_default_np(&usual), 0);
        ck_assert_int_eq(pthread_getattr_default_np(&huge), 0);
        ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
    }
    ck_assert_int_eq(pthread_setattr_default_np(on ? &huge : &usual), 0);
}

static bool comes(atomic_int *n)
{
    for (int i = 0; i < 20000 && !atomic_load(n); i++)
        usleep(1000);
    return atomic_load(n) != 0;
}

static void cancelled(void *arg)
{
    (void)arg;
}

/* Waits until it is let go. */
static pawl_result linger(pawl_activity *act, pawl_str input)
{
    (void)input;
    pawl_activity_on_cancel(act, cancelled, NULL);
    atomic_store(&w.began, true);
    while (!atomic_load(&w.end))
        usleep(1000);
    return pawl_ok(act, "1");
}

static pawl_result call(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Linger", input);
}

static pawl_result hang(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    while (!pawl_is_replaying(ctx))
        usleep(1000);
    return pawl_done(ctx, "1");
}

static void open_world(int64_t turn_limit_ms)
{
    pawl_error err = {0};
    w.app = pawl_app_new();
    pawl_register_activity(w.app, "Linger", linger);
    pawl_register_orchestration(w.app, "Call", "1.0.0", call);
    pawl_register_orchestration(w.app, "Hang", "1.0.0", hang);
    w.rt = pawl_runtime_open(
        w.app, PAWL_OPTIONS(.store = "memory:", .log = on_log, .turn_limit_ms = turn_limit_ms),
        &err);
    ck_assert_msg(w.rt && pawl_runtime_start(w.rt, &err) == PAWL_OK, "%s", err.text);
    w.c = pawl_runtime_client(w.rt);
}

static void start(const char *name)
{
    pawl_error err = {0};
    pawl_status rc = pawl_client_submit(
        w.c, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "i", .name = name), NULL, NULL, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
}

static void close_world(void)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info = {0};
    pawl_error err = {0};
    atomic_store(&w.end, true);
    ck_assert_int_eq(pawl_client_wait(w.c, "i", 0, 20000, mem, &info, &err), PAWL_OK);
    pawl_mem_free(mem);
    pawl_runtime_close(w.rt);
    pawl_app_free(w.app);
}

TEST(no_lock_is_held_when_it_hears_that_no_worker_can_be_started)
{
    open_world(0);
    w.lock = &w.rt->workers.lock;
    w.words = "no thread for activities";
    forbid_threads(true);
    start("Call");
    ck_assert(comes(&w.lines));
    forbid_threads(false);
    close_world(); /* the engine tried again */
    ck_assert_int_eq(atomic_load(&w.held), 0);
}

TEST(no_lock_is_held_when_it_hears_that_a_cancel_callback_has_no_thread)
{
    pawl_error err = {0};
    open_world(0);
    w.lock = &w.rt->workers.cancels.lock;
    w.words = "no thread for a callback";
    start("Call");
    for (int i = 0; i < 20000 && !atomic_load(&w.began); i++)
        usleep(1000);
    ck_assert(atomic_load(&w.began));
    forbid_threads(true);
    ck_assert_int_eq(pawl_client_submit(w.c, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = "i"),
                                        NULL, NULL, &err),
                     PAWL_OK);
    ck_assert(comes(&w.lines));
    forbid_threads(false);
    close_world();
    ck_assert_int_eq(atomic_load(&w.held), 0);
}

/* The watchdog's line is the last: then the process exits with 70. */
static void run_over_the_limit(void *arg)
{
    (void)arg;
    open_world(100);
    w.lock = &w.rt->watch.lock;
    w.words = "a turn ran over the limit";
    w.is_last = true;
    start("Hang");
    usleep(20000000);
}

TEST(no_lock_is_held_when_it_hears_of_a_turn_over_the_limit)
{
    struct child_end end;
    run_child(run_over_the_limit, NULL, &end);
    ck_assert_msg(end.signal == 0 && end.status == 70, "signal %d, status %d: %s", end.signal,
                  end.status, end.text);
}
