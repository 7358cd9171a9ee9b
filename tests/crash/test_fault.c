/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_fault.c -- user code that ends the process has a name: at the signal, at the
 * next start, when it exits; an end from outside is laid at nobody's door; the handlers are a
 * guest in the process.
 */
#include "../harness.h"
#include "crash.h"
#include "rude.h"
#include "runtime/core/slots.h"
#include "view/why.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct plan plan_of(const struct plan_item *items, size_t count)
{
    return (struct plan){
        .items = items,
        .count = count,
        .app = app_rude,
        .options = {.max_attempts = 3, .log_level = PAWL_LOG_WARN}
    };
}

static void said(const char *words)
{
    char *err = read_text("err");
    ck_assert_msg(strstr(err, words), "\"%s\" is not in: %s", words, err);
    free(err);
}

/* Dies once; the next process tells of it. */
static void names(const char *orchestration, const char *input, int signal_number,
                  const char *words)
{
    const struct plan_item items[] = {
        {orchestration, "bad", input, NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    if (signal_number > 0)
        ck_assert_msg(killed_by(status, signal_number), "%s", status_words(status));
    else
        ck_assert_msg(exited_with(status, -signal_number), "%s", status_words(status));
    said("pawl: ");
    said(words);
    (void)child_run(plan_run, &plan, 20000);
    said("user code ended the process before");
    said(words);
    scratch_drop();
}

TEST(S11_an_activity_that_aborts_is_named_with_its_line)
{
    names("Call", "Abort", SIGABRT,
          "SIGABRT in activity 'Abort', instance 'bad', execution 1, at aborts at rude.c:");
}

TEST(S11_an_activity_that_faults_is_named)
{
    names("Call", "Null", SIGSEGV, "SIGSEGV in activity 'Null', instance 'bad', execution 1, at ");
}

TEST(S32_a_turn_that_faults_is_named_with_its_line)
{
    names("DiesAtOnce", "", SIGSEGV,
          "in orchestration 'DiesAtOnce', instance 'bad', execution 1, at ");
}

TEST(S11_exit_inside_an_activity_is_told_and_is_no_success)
{
    names("Call", "Leave", -70,
          "exit() inside activity 'Leave', instance 'bad', execution 1, at leaves at rude.c:");
}

TEST(S11_exit_of_a_forked_child_is_its_own_affair)
{
    const struct plan_item items[] = {
        {"Call", "good", "Fork", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    char *answer = answer_of("good");
#ifndef __SANITIZE_ADDRESS__ /* it has a status of its own for what a copy leaves behind */
    ck_assert_str_eq(answer, "completed 3");
#endif
    ck_assert_str_ne(answer, "completed 70");
    ck_assert(!text_has("err", "exit() inside"));
    free(answer);
    scratch_drop();
}

TEST(S32_exit_inside_a_turn_is_told_and_is_no_success)
{
    names("Leaves", "", -70,
          "exit() inside orchestration 'Leaves', instance 'bad', execution 1, at leaves_too at");
}

TEST(S32_a_turn_over_the_limit_is_named_with_instance_and_line)
{
    const struct plan_item items[] = {
        {"Spins", "bad", "", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    plan.options.turn_limit_ms = 200;
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 70), "%s", status_words(status));
    said("orchestration 'Spins', instance 'bad', execution 1, at ");
    said("rude.c:");
    scratch_drop();
}

static void reports(int number)
{
    (void)number;
    _exit(99);
}

static void put_on_top(pawl_client *c)
{
    (void)c;
    (void)signal(SIGABRT, reports);
}

/* The watchdog asks by a signal only where the answer is ours. */
TEST(S32_a_handler_put_on_top_is_not_called_by_the_watchdog)
{
    const struct plan_item items[] = {
        {"Dawdles", "slow", "600", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    plan.options.turn_limit_ms = 200;
    plan.then = put_on_top;
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 70), "%s", status_words(status));
    scratch_drop();
}

TEST(S30_ctx_on_another_thread_is_answered_with_the_rule)
{
    const struct plan_item items[] = {
        {"Lends", "bad", "", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(killed_by(status, SIGABRT), "%s", status_words(status));
    said("pass ctx to no other (rule 4");
    scratch_drop();
}

static int steps(void *arg)
{
    pawl_error err;
    pawl_app *app = pawl_app_new();
    (void)arg;
    app_rude(app);
    pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.data = in_scratch("data")), &err);
    if (!rt || pawl_client_submit(
                   pawl_runtime_client(rt),
                   PAWL_REQUEST(.op = PAWL_OP_START, .name = "Overflows", .instance = "bad"), NULL,
                   NULL, &err) != PAWL_OK)
        return 1;
    for (int i = 0; i < 100; i++)
        (void)pawl_runtime_step(rt, 10);
    return 2;
}

TEST(S32_a_stack_overflow_is_told_where_a_program_steps_itself)
{
    scratch_make();
    int status = child_run(steps, NULL, 20000);
    ck_assert_msg(killed_by(status, SIGSEGV), "%s", status_words(status));
    said("stack overflow in orchestration Overflows");
    scratch_drop();
}

/* What `why` says of it between two deaths. */
static void why_says(const char *orchestration, const char *input, const char *event,
                     const char *words)
{
    const struct plan_item items[] = {
        {orchestration, "bad", input, event, "x"}
    };
    struct plan plan = plan_of(items, 1);
    pawl_error err;
    scratch_make();
    for (int i = 0; i < 3; i++) /* the second counts the first, at the latest the third */
        (void)child_run(plan_run, &plan, 20000);
    pawl_app *app = pawl_app_new();
    pawl_runtime *rt = pawl_runtime_open(
        app, PAWL_OPTIONS(.data = in_scratch("data"), .read_only = true, .max_attempts = 7), &err);
    ck_assert_msg(rt, "%s", err.text);
    struct why y = {.mem = pawl_mem_new(), .prog = "pawl", .owner = 1};
    buf_init(&y.sentence, 1 << 20);
    pawl_status rc = why_gather(&y, pawl_runtime_client(rt), "bad", &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    pawl_str sentence = why_compose(&y);
    ck_assert_msg(strstr(sentence.ptr, words), "%.*s", PAWL_FMT(sentence));
    buf_deinit(&y.sentence);
    pawl_mem_free(y.mem);
    pawl_runtime_close(rt);
    pawl_app_free(app);
    scratch_drop();
}

TEST(S11_why_tells_how_often_an_activity_ended_the_process)
{
    why_says("Call", "Abort", NULL, ", which ended the process 2 of 7 times");
}

TEST(S32_why_tells_how_often_its_turn_ended_the_process)
{
    why_says("DiesOnTimer", "", NULL, "; its turn ended the process 2 of 7 times");
}

/* ---- Killed from outside ---------------------------------------------------------------- */

TEST(S11_a_process_killed_from_outside_again_and_again_makes_nobody_poison)
{
    const struct plan_item items[] = {
        {"Call", "one", "Long 60000", NULL, NULL},
        {"Call", "two", "Long 60000", NULL, NULL},
    };
    struct plan plan = plan_of(items, 2);
    scratch_make();
    for (int i = 0; i < 5; i++) { /* three would be enough for poison */
        (void)unlink(in_scratch("began"));
        pid_t pid = child_start(plan_run, &plan);
        ck_assert_msg(wait_for_words("began", "one", 10000), "life %d", i + 1);
        ck_assert_msg(wait_for_words("began", "two", 10000), "life %d", i + 1);
        (void)kill(pid, SIGKILL);
        (void)child_wait(pid, 10000);
    }
    said("ended from outside while several things ran: not counted");
    ck_assert_int_eq(ask("SELECT count(*) FROM all_work WHERE crashes>0"), 0);
    scratch_drop();
}

TEST(S11_one_that_ran_alone_when_the_process_ended_is_counted)
{
    const struct plan_item items[] = {
        {"Call", "bad", "Exit", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    scratch_make();
    for (int i = 0; i < 3; i++) {
        int status = child_run(plan_run, &plan, 20000);
        ck_assert_msg(exited_with(status, 9), "%s", status_words(status));
    }
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    char *answer = answer_of("bad");
    ck_assert_str_eq(answer, "failed poison: activity 'Exit' ended the process 3 times");
    free(answer);
    scratch_drop();
}

/* As if the machine had gone down with the process. */
static void another_boot(void)
{
    const uint64_t number = 1;
    int fd = open(in_scratch("data/slots"), O_RDWR);
    ck_assert_int_eq(pwrite(fd, &number, sizeof(number), SLOTS_BOOT_AT), sizeof(number));
    close(fd);
}

TEST(S11_a_machine_that_went_down_makes_no_activity_poison)
{
    const struct plan_item items[] = {
        {"Call", "alone", "Long 60000", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    scratch_make();
    for (int i = 0; i < 5; i++) { /* three would be enough for poison */
        (void)unlink(in_scratch("began"));
        pid_t pid = child_start(plan_run, &plan);
        ck_assert_msg(wait_for_words("began", "alone", 10000), "life %d", i + 1);
        (void)kill(pid, SIGKILL);
        (void)child_wait(pid, 10000);
        another_boot();
    }
    said("the machine went down while activities ran: none of them is to blame");
    ck_assert_int_eq(ask("SELECT count(*) FROM all_work"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM all_work WHERE crashes>0"), 0);
    scratch_drop();
}

static void mend(void)
{
    rude_mended = true;
}

TEST(S32_a_machine_that_went_down_blocks_no_instance)
{
    const struct plan_item items[] = {
        {"DiesOnTimer", "i", "", NULL, NULL}
    };
    struct plan plan = plan_of(items, 1);
    plan.before = mend;
    scratch_make();
    for (int i = 0; i < 5; i++) {
        plan.crash_at = i ? "turn.run:1" : "turn.run:2"; /* when its timer fires */
        int status = child_run(plan_run, &plan, 20000);
        ck_assert_msg(killed_by(status, SIGKILL), "life %d: %s", i + 1, status_words(status));
        another_boot();
    }
    plan.crash_at = NULL;
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    char *answer = answer_of("i");
    ck_assert_str_eq(answer, "completed mended");
    free(answer);
    scratch_drop();
}

/* ---- A guest in the process ---------------------------------------------------------------- */

static void mine(int number)
{
    (void)number;
}

static int handlers(void *arg)
{
    bool off = *(bool *)arg;
    struct sigaction now;
    stack_t before;
    pawl_error err;
    (void)sigaltstack(NULL, &before); /* a sanitizer has its own */
    struct sigaction action = {.sa_handler = mine};
    (void)sigaction(SIGSEGV, &action, NULL);
    pawl_app *app = pawl_app_new();
    pawl_runtime *rt =
        pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:", .no_signals = off), &err);
    if (!rt || pawl_runtime_step(rt, 0) < 0)
        return 1;
    (void)sigaction(SIGSEGV, NULL, &now);
    if ((now.sa_handler == mine) != off)
        return 2;
    pawl_runtime_close(rt);
    pawl_app_free(app);
    (void)sigaction(SIGSEGV, NULL, &now);
    stack_t after;
    if (now.sa_handler != mine)
        return 3;
    return sigaltstack(NULL, &after) == 0 && after.ss_flags == before.ss_flags ? 0 : 4;
}

TEST(A19_the_handlers_that_were_there_before_are_put_back_at_close)
{
    bool off = false;
    scratch_make();
    int status = child_run(handlers, &off, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    scratch_drop();
}

TEST(A19_without_signals_no_handler_is_touched)
{
    bool off = true;
    scratch_make();
    int status = child_run(handlers, &off, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    scratch_drop();
}

/* ---- Who has the directory -------------------------------------------------------------------- */

/* Opens, forks, and ends; the child starts (a daemon), or only holds what it has inherited. */
static int becomes_daemon(void *arg)
{
    bool starts = *(bool *)arg;
    pawl_error err;
    pawl_app *app = pawl_app_new();
    pawl_runtime *rt = pawl_runtime_open(app, PAWL_OPTIONS(.data = in_scratch("data")), &err);
    if (!rt)
        return 1;
    pid_t pid = fork();
    if (pid > 0) {
        append_line("daemon", "%d", (int)pid);
        _exit(0);
    }
    if (starts && pawl_runtime_start(rt, &err) != PAWL_OK)
        _exit(2);
    append_line("up", "up");
    (void)sleep(20);
    _exit(0);
}

static void held_by_a_child(bool starts)
{
    char want[80];
    pawl_error err;
    scratch_make();
    int status = child_run(becomes_daemon, &starts, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    ck_assert(wait_for_words("up", "up", 10000));
    char *text = read_text("daemon");
    pid_t daemon = (pid_t)strtol(text, NULL, 10);
    free(text);
    (void)snprintf(want, sizeof(want), "is in use by pid %d;", (int)daemon);
    pawl_app *app = pawl_app_new();
    ck_assert_ptr_null(pawl_runtime_open(app, PAWL_OPTIONS(.data = in_scratch("data")), &err));
    (void)kill(daemon, SIGKILL);
    ck_assert_msg(strstr(err.text, starts ? want : "is in use by a child that pid "), "%s",
                  err.text);
    pawl_app_free(app);
    scratch_drop();
}

TEST(A20_the_lock_names_the_daemon_that_runs)
{
    held_by_a_child(true);
}

TEST(A20_the_lock_says_that_a_child_holds_it)
{
    held_by_a_child(false);
}
