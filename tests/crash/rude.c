/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/rude.c -- code that brings its process down, and bystanders.
 *
 * `rude_mended` is the deploy that mends it (or, for Broken, the one that breaks
 * it): set in the child before the app is registered.
 */
#include "rude.h"
#include "crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool rude_mended;

static void note(pawl_activity *act)
{
    append_record("ledger", "%s %u %s", pawl_activity_key(act), pawl_activity_attempt(act),
                  pawl_activity_name(act).ptr);
}

/* A fault of the machine in every build: the sanitizers would report it and exit. */
__attribute__((no_sanitize("undefined", "address"))) static void crash_here(void)
{
    volatile int *volatile nowhere = NULL; /* or the optimizer removes it */
    *nowhere = 1;
}

/* ---- Activities ---------------------------------------------------------------------- */

static pawl_result aborts(pawl_activity *act, pawl_str input)
{
    (void)input;
    note(act);
    if (text_has("ledger", " Long")) /* give a bystander time to be running */
        usleep(20000);
    abort();
}

static pawl_result dereferences(pawl_activity *act, pawl_str input)
{
    (void)input;
    note(act);
    crash_here();
    return pawl_ok(act, "not reached");
}

/* Crashes until its attempt is the number in the input. */
static pawl_result recovers(pawl_activity *act, pawl_str input)
{
    note(act);
    if ((long)pawl_activity_attempt(act) < strtol(input.ptr, NULL, 10))
        abort();
    return pawl_okf(act, "attempt %u", pawl_activity_attempt(act));
}

static pawl_result fine(pawl_activity *act, pawl_str input)
{
    note(act);
    return pawl_ok_str(act, input);
}

/* Runs so many milliseconds; says when it is over. */
static pawl_result takes_long(pawl_activity *act, pawl_str input)
{
    note(act);
    append_line("began", "%s", pawl_activity_instance(act).ptr);
    for (long left = strtol(input.ptr, NULL, 10); left > 0; left -= 5) {
        if (pawl_activity_cancelled(act))
            return pawl_err(act, "cancelled");
        usleep(5000);
    }
    append_line("ended", "%s", pawl_activity_instance(act).ptr);
    return pawl_ok(act, "took long");
}

static pawl_result is_deaf(pawl_activity *act, pawl_str input)
{
    note(act);
    append_line("began", "%s", pawl_activity_instance(act).ptr);
    usleep((unsigned)strtol(input.ptr, NULL, 10) * 1000);
    return pawl_ok(act, "heard nothing");
}

static pawl_result exits(pawl_activity *act, pawl_str input)
{
    (void)input;
    note(act);
    _exit(9);
}

static pawl_result leaves(pawl_activity *act, pawl_str input)
{
    (void)input;
    note(act);
    exit(0); // NOLINT(concurrency-mt-unsafe)
}

/* Another process, which has what this one has, ends as it likes. */
static pawl_result forks(pawl_activity *act, pawl_str input)
{
    (void)input;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        exit(3); // NOLINT(concurrency-mt-unsafe)
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return pawl_err(act, "it did not end");
    return pawl_okf(act, "%d", WEXITSTATUS(status));
}

static pawl_ctx *lent;

static void *uses_ctx(void *unused)
{
    (void)unused;
    (void)pawl_timer(lent, 1);
    return NULL;
}

/* ---- Orchestrations ------------------------------------------------------------------- */

/* "NAME INPUT": calls it. */
static pawl_result calls(pawl_ctx *ctx, pawl_str input)
{
    const char *space = strchr(input.ptr, ' ');
    pawl_str name =
        pawl_printf(ctx, "%.*s", (int)(space ? space - input.ptr : (long)input.len), input.ptr);
    return pawl_call(ctx, name.ptr, pawl_s(space ? space + 1 : ""));
}

static pawl_result dies_at_once(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    if (!rude_mended)
        crash_here();
    return pawl_call(ctx, "Fine", pawl_s("mended"));
}

static pawl_result has_bad_child(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_child(ctx, "DiesAtOnce", input, PAWL_CHILD_OPTS(.instance = "bad"));
}

static pawl_result dies_after_call(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_call(ctx, "Fine", pawl_s("mended"));
    if (!rude_mended)
        crash_here();
    return r;
}

static pawl_result dies_on_event(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    if (!rude_mended)
        crash_here();
    return r.ok ? pawl_done(ctx, "mended") : r;
}

static pawl_result dies_on_timer(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_sleep(ctx, 1));
    if (!rude_mended)
        crash_here();
    return pawl_done(ctx, "mended");
}

/* The second execution dies in its first turn. */
static pawl_result dies_as_new(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_str_is(input, "again")) {
        if (!rude_mended)
            crash_here();
        return pawl_done(ctx, "mended");
    }
    pawl_ignore(pawl_sleep(ctx, 1));
    return pawl_continue_as_new(ctx, pawl_s("again"), NULL);
}

/* A deploy that crashes where recorded history is replayed. */
static pawl_result broken(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_call(ctx, "Fine", pawl_s("whole"));
    if (rude_mended)
        crash_here();
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return go.ok ? r : go;
}

static pawl_result spins(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_call(ctx, "Fine", pawl_s("mended"));
    for (volatile bool on = !rude_mended; on;)
        ;
    return r;
}

/* A turn that takes so many milliseconds, and says that it began. */
static pawl_result dawdles(pawl_ctx *ctx, pawl_str input)
{
    append_line("began", "%s", pawl_instance(ctx).ptr);
    for (long left = strtol(input.ptr, NULL, 10); left > 0; left -= 5)
        usleep(5000);
    return pawl_done(ctx, "dawdled");
}

static int deeper(volatile char *above, int n)
{
    volatile char here[512];
    here[0] = above ? above[0] : 0;
    return n > 0 ? deeper(here, n - 1) + here[0] : 0;
}

static pawl_result overflows(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    if (!rude_mended && deeper(NULL, 100000) != 0)
        return pawl_fail(ctx, "odd");
    return pawl_done(ctx, "mended");
}

void rude_mend(void)
{
    rude_mended = true;
}

/* Gives its ctx to another thread. */
static pawl_result lends(pawl_ctx *ctx, pawl_str input)
{
    pthread_t thread;
    lent = ctx;
    (void)input;
    if (pthread_create(&thread, NULL, uses_ctx, NULL) == 0)
        (void)pthread_join(thread, NULL);
    return pawl_done(ctx, "not reached");
}

static pawl_result leaves_too(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    (void)ctx;
    exit(0); // NOLINT(concurrency-mt-unsafe)
}

void app_rude(pawl_app *app)
{
    pawl_register_activity(app, "Abort", aborts);
    pawl_register_activity(app, "Null", dereferences);
    pawl_register_activity(app, "Recover", recovers);
    pawl_register_activity(app, "Fine", fine);
    pawl_register_activity(app, "Long", takes_long);
    pawl_register_activity(app, "Deaf", is_deaf);
    pawl_register_activity(app, "Exit", exits);
    pawl_register_activity(app, "Leave", leaves);
    pawl_register_activity(app, "Fork", forks);
    pawl_register_orchestration(app, "Lends", "1.0.0", lends);
    pawl_register_orchestration(app, "Leaves", "1.0.0", leaves_too);
    pawl_register_orchestration(app, "Call", "1.0.0", calls);
    pawl_register_orchestration(app, "HasBadChild", "1.0.0", has_bad_child);
    pawl_register_orchestration(app, "DiesAtOnce", "1.0.0", dies_at_once);
    pawl_register_orchestration(app, "DiesAfterCall", "1.0.0", dies_after_call);
    pawl_register_orchestration(app, "DiesOnEvent", "1.0.0", dies_on_event);
    pawl_register_orchestration(app, "DiesOnTimer", "1.0.0", dies_on_timer);
    pawl_register_orchestration(app, "DiesAsNew", "1.0.0", dies_as_new);
    pawl_register_orchestration(app, "Broken", "1.0.0", broken);
    pawl_register_orchestration(app, "Spins", "1.0.0", spins);
    pawl_register_orchestration(app, "Dawdles", "1.0.0", dawdles);
    pawl_register_orchestration(app, "Overflows", "1.0.0", overflows);
}
