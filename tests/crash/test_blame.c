/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_blame.c -- who brought the process down, and what follows.
 *
 * A supervisor restarts the process whenever it dies.  The item that kills it is
 * counted and given up after max_attempts; everything else goes on, and the
 * process lives.
 */
#include "../harness.h"
#include "crash.h"
#include "rude.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS 3

/* Restart until it ends well; the deaths on the way, each by `signal_number` (or,
 * negative, with that exit status).  Never more than `most`. */
static int supervise(struct plan *plan, int signal_number, int most)
{
    plan->app = app_rude;
    if (!plan->options.max_attempts)
        plan->options.max_attempts = ATTEMPTS;
    for (int deaths = 0;; deaths++) {
        int status = child_run(plan_run, plan, 20000);
        if (exited_with(status, 0))
            return deaths;
        bool expected = signal_number > 0 ? killed_by(status, signal_number)
                                          : exited_with(status, -signal_number);
        ck_assert_msg(expected, "death %d: %s", deaths + 1, status_words(status));
        ck_assert_msg(deaths < most, "still dying after %d deaths: %s", deaths,
                      status_words(status));
    }
}

static void answers(const char *id, const char *want)
{
    char *answer = answer_of(id);
    ck_assert_msg(answer && strcmp(answer, want) == 0, "%s: \"%s\", not \"%s\"", id,
                  answer ? answer : "nothing", want);
    free(answer);
}

static void at_rest(void)
{
    const char *wrong = wrong_at_rest();
    ck_assert_msg(!wrong, "%s", wrong);
    scratch_drop();
}

/* ---- Activities ------------------------------------------------------------------------ */

static void gives_up(const char *input, int signal_number, const char *want)
{
    const struct plan_item items[] = {
        {"Call", "bad",    input,    NULL, NULL},
        {"Call", "good-1", "Fine x", NULL, NULL},
        {"Call", "good-2", "Fine y", NULL, NULL},
    };
    bool alone = signal_number < 0; /* it says nothing: an end beside others is not counted */
    struct plan plan = {.items = items, .count = alone ? 1 : 3};
    scratch_make();
    ck_assert_int_eq(supervise(&plan, signal_number, ATTEMPTS), ATTEMPTS);
    answers("bad", want);
    if (!alone) {
        answers("good-1", "completed x");
        answers("good-2", "completed y");
    }
    at_rest();
}

TEST(S11_an_activity_that_aborts_fails_as_poison_and_the_process_lives)
{
    gives_up("Abort", SIGABRT, "failed poison: activity 'Abort' ended the process 3 times");
}

TEST(S11_an_activity_that_dereferences_null_fails_as_poison)
{
    gives_up("Null", SIGSEGV, "failed poison: activity 'Null' ended the process 3 times");
}

TEST(S11_an_activity_that_exits_fails_as_poison)
{
    gives_up("Exit", -9, "failed poison: activity 'Exit' ended the process 3 times");
}

TEST(S11_an_activity_that_crashes_twice_and_then_works_completes)
{
    const struct plan_item items[] = {
        {"Call", "late", "Recover 3", NULL, NULL}
    };
    struct plan plan = {.items = items, .count = 1};
    scratch_make();
    ck_assert_int_eq(supervise(&plan, SIGABRT, 5), 2);
    answers("late", "completed attempt 3");
    at_rest();
}

/* It brings the process down; the next one dies before it could record that.  Who is to blame is
 * not forgotten: three crashes of it are enough, whatever dies in between. */
TEST(S11_A21_blame_outlives_a_death_before_it_was_recorded)
{
    const struct plan_item items[] = {
        {"Call", "bad", "Abort", NULL, NULL}
    };
    struct plan plan = {.items = items, .count = 1, .app = app_rude};
    plan.options.max_attempts = ATTEMPTS;
    scratch_make();
    for (int n = 0; n < ATTEMPTS; n++) {
        plan.crash_at = NULL;
        int status = child_run(plan_run, &plan, 20000);
        ck_assert_msg(killed_by(status, SIGABRT), "crash %d: %s", n + 1, status_words(status));
        plan.crash_at = "recover.blame:1";
        status = child_run(plan_run, &plan, 20000);
        ck_assert_msg(killed_by(status, SIGKILL), "crash %d: %s", n + 1, status_words(status));
    }
    plan.crash_at = NULL;
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    answers("bad", "failed poison: activity 'Abort' ended the process 3 times");
    at_rest();
}

TEST(S11_by_default_ten_crashes_are_needed)
{
    const struct plan_item items[] = {
        {"Call", "bad", "Abort", NULL, NULL}
    };
    struct plan plan = {.items = items, .count = 1, .options.max_attempts = 10};
    scratch_make();
    ck_assert_int_eq(supervise(&plan, SIGABRT, 11), 10);
    answers("bad", "failed poison: activity 'Abort' ended the process 10 times");
    at_rest();
}

TEST(S11_an_activity_that_runs_beside_a_crashing_one_is_not_blamed)
{
    const struct plan_item items[] = {
        {"Call", "beside", "Long 300", NULL, NULL},
        {"Call", "bad",    "Abort",    NULL, NULL},
    };
    struct plan plan = {.items = items, .count = 2};
    scratch_make();
    ck_assert_int_eq(supervise(&plan, SIGABRT, ATTEMPTS + 1), ATTEMPTS);
    answers("bad", "failed poison: activity 'Abort' ended the process 3 times");
    answers("beside", "completed took long");
    /* No attempt of it was a crash: the completion is that of a first attempt. */
    ck_assert_int_eq(ask("SELECT count(*) FROM history h JOIN instance i USING(uid)"
                         " WHERE i.id='beside' AND kind=11 AND attrs NOT LIKE '%attempts%'"),
                     1);
    at_rest();
}

/* ---- Turns ------------------------------------------------------------------------------ */

static void try_again(pawl_client *c)
{
    pawl_error err;
    if (pawl_client_retry(c, "bad", &err) != PAWL_OK) {
        fprintf(stderr, "retry: %s\n", err.text);
        _exit(7);
    }
}

/* Wait until `bad` is blocked; then end. */
static void until_blocked(pawl_client *c)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info = {0};
    pawl_error err;
    for (int i = 0; i < 2000 && info.state != PAWL_BLOCKED; i++) {
        nap_ms(5);
        pawl_mem_reset(mem);
        if (pawl_client_get(c, "bad", 0, mem, &info, &err) != PAWL_OK)
            _exit(8);
    }
    append_line("out", "bad %s %.*s", pawl_state_name(info.state), PAWL_FMT(info.finding));
    pawl_mem_free(mem);
}

/* A turn of `bad` kills the process until it is blocked; a bystander completes;
 * the mended code goes on after retry. */
static void blocks(const char *orchestration, const char *event, int signal_number)
{
    const struct plan_item bad = {orchestration, "bad", "", event, ""};
    const struct plan_item good = {"Call", "good", "Fine x", NULL, NULL};
    /* Wait for `good` only: `bad` does not end. */
    struct plan plan = {.items = &good, .count = 1, .then = until_blocked};
    struct plan first = {.items = &bad, .count = 1};
    if (signal_number == -70)
        plan.options.turn_limit_ms = first.options.turn_limit_ms = 300;
    scratch_make();
    first.app = app_rude;
    first.options.max_attempts = ATTEMPTS;
    int status = 0, starts = 0;
    /* Until its start (and event) are stored: then the supervisor needs no client. */
    do {
        status = child_run(plan_run, &first, 20000);
        bool died = signal_number > 0 ? killed_by(status, signal_number)
                                      : exited_with(status, -signal_number);
        ck_assert_msg(died, "%s: %s", orchestration, status_words(status));
    } while (++starts < 2);
    int deaths = starts + supervise(&plan, signal_number, ATTEMPTS + 2);
    ck_assert_msg(deaths >= ATTEMPTS && deaths <= ATTEMPTS + 2, "%d deaths", deaths);
    char *found = answer_of("bad");
    ck_assert_msg(found && strstr(found, "blocked poison: "), "%s", found ? found : "nothing");
    ck_assert_ptr_nonnull(strstr(found, "ended the process 3 times; repair the code, then retry"));
    free(found);
    answers("good", "completed x");
    const char *wrong = wrong_in_history();
    ck_assert_msg(!wrong, "%s", wrong);

    struct plan mended = {.items = &bad, .count = 1, .before = rude_mend, .then = try_again};
    ck_assert_int_eq(supervise(&mended, SIGSEGV, 0), 0);
    answers("bad", "completed mended");
    at_rest();
}

TEST(S32_a_start_that_crashes_is_blocked_and_goes_on_when_mended)
{
    blocks("DiesAtOnce", NULL, SIGSEGV);
}

/* Its start is a message sent by name: there is no instance to find it by. */
TEST(S32_a_child_whose_start_crashes_is_blocked_and_goes_on_when_mended)
{
    const struct plan_item parent = {"HasBadChild", "p", "", NULL, NULL};
    const struct plan_item good = {"Call", "good", "Fine x", NULL, NULL};
    struct plan first = {.items = &parent, .count = 1, .app = app_rude};
    first.options.max_attempts = ATTEMPTS;
    scratch_make();
    for (int i = 0; i < ATTEMPTS; i++)
        ck_assert(killed_by(child_run(plan_run, &first, 20000), SIGSEGV));
    struct plan plan = {.items = &good, .count = 1, .then = until_blocked};
    ck_assert_int_le(supervise(&plan, SIGSEGV, 1), 1);
    char *found = answer_of("bad");
    ck_assert_msg(found && strstr(found, "blocked poison: its start ended the process 3 times"),
                  "%s", found ? found : "nothing");
    free(found);
    struct plan mended = {.items = &parent, .count = 1, .before = rude_mend, .then = try_again};
    ck_assert_int_eq(supervise(&mended, SIGSEGV, 0), 0);
    answers("p", "completed mended");
    at_rest();
}

TEST(S32_a_turn_that_crashes_on_a_completion_is_blocked)
{
    blocks("DiesAfterCall", NULL, SIGSEGV);
}

TEST(S32_a_turn_that_crashes_on_an_event_is_blocked)
{
    blocks("DiesOnEvent", "Go", SIGSEGV);
}

TEST(S32_a_turn_that_crashes_on_a_timer_is_blocked)
{
    blocks("DiesOnTimer", NULL, SIGSEGV);
}

TEST(S32_the_first_turn_of_the_next_execution_crashes_and_is_blocked)
{
    blocks("DiesAsNew", NULL, SIGSEGV);
}

TEST(S32_a_turn_that_never_ends_stops_the_process_and_is_blocked)
{
    blocks("Spins", NULL, -70);
}

TEST(S32_a_turn_over_the_limit_is_named)
{
    const struct plan_item items[] = {
        {"Spins", "bad", "", NULL, NULL}
    };
    struct plan plan = {.items = items, .count = 1, .app = app_rude, .options.turn_limit_ms = 200};
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(exited_with(status, 70), "%s", status_words(status));
    ck_assert_msg(text_has("err", "orchestration=Spins"), "%s", status_words(status));
    scratch_drop();
}

/* The clock goes on while the process is stopped: no turn has to answer for that. */
TEST(A20_a_process_stopped_beyond_the_turn_limit_goes_on)
{
    const struct plan_item items[] = {
        {"Dawdles", "slow", "400", NULL, NULL}
    };
    struct plan plan = {.items = items, .count = 1, .app = app_rude, .options.turn_limit_ms = 2000};
    scratch_make();
    pid_t pid = child_start(plan_run, &plan);
    ck_assert(wait_for_words("began", "slow", 10000));
    (void)kill(pid, SIGSTOP);
    nap_ms(3000);
    (void)kill(pid, SIGCONT);
    int status = child_wait(pid, 10000);
    ck_assert_msg(exited_with(status, 0), "%s", status_words(status));
    answers("slow", "completed dawdled");
    at_rest();
}

TEST(S32_a_stack_overflow_names_the_orchestration_and_is_blocked)
{
    blocks("Overflows", NULL, SIGSEGV);
}

TEST(S32_a_stack_overflow_says_so_on_stderr)
{
    const struct plan_item items[] = {
        {"Overflows", "bad", "", NULL, NULL}
    };
    struct plan plan = {.items = items, .count = 1, .app = app_rude};
    scratch_make();
    int status = child_run(plan_run, &plan, 20000);
    ck_assert_msg(killed_by(status, SIGSEGV), "%s", status_words(status));
    ck_assert_msg(text_has("err", "stack overflow in orchestration Overflows"), "%s",
                  status_words(status));
    scratch_drop();
}

TEST(S32_a_deploy_that_crashes_in_replay_is_blocked_and_the_old_code_goes_on)
{
    const struct plan_item bad = {"Broken", "bad", "", NULL, NULL};
    const struct plan_item go = {"Broken", "bad", "", "Go", "1"};
    const struct plan_item good = {"Call", "good", "Fine x", NULL, NULL};
    struct plan opens = {.items = &bad, .count = 1, .app = app_rude, .wait_ms = 300};
    scratch_make();
    int status = child_run(plan_run, &opens, 20000);
    ck_assert_msg(exited_with(status, 3), "%s", status_words(status)); /* it waits for Go */

    struct plan first = {.items = &go, .count = 1, .app = app_rude, .before = rude_mend};
    first.options.max_attempts = ATTEMPTS;
    for (int i = 0; i < 2; i++) {
        status = child_run(plan_run, &first, 20000);
        ck_assert_msg(killed_by(status, SIGSEGV), "%s", status_words(status));
    }
    struct plan after = {.items = &good, .count = 1, .before = rude_mend, .then = until_blocked};
    int deaths = 2 + supervise(&after, SIGSEGV, ATTEMPTS + 2);
    ck_assert_msg(deaths >= ATTEMPTS && deaths <= ATTEMPTS + 2, "%d deaths", deaths);
    answers("good", "completed x");
    struct plan back = {.items = &go, .count = 1, .then = try_again};
    ck_assert_int_eq(supervise(&back, SIGSEGV, 0), 0);
    answers("bad", "completed whole");
    at_rest();
}

TEST(S32_a_turn_that_crashes_does_not_blame_activities_that_run)
{
    const struct plan_item items[] = {
        {"Call",          "beside", "Long 400", NULL, NULL},
        {"DiesAfterCall", "bad",    "",         NULL, NULL},
    };
    const struct plan_item beside = {"Call", "beside", "Long 400", NULL, NULL};
    struct plan both = {.items = items, .count = 2, .app = app_rude};
    both.options.max_attempts = ATTEMPTS;
    scratch_make();
    int status = child_run(plan_run, &both, 20000);
    ck_assert_msg(killed_by(status, SIGSEGV), "%s", status_words(status));
    struct plan plan = {.items = &beside, .count = 1, .then = until_blocked};
    (void)supervise(&plan, SIGSEGV, ATTEMPTS + 2);
    answers("beside", "completed took long");
    ck_assert_int_eq(ask("SELECT count(*) FROM history h JOIN instance i USING(uid)"
                         " WHERE i.id='beside' AND kind=11 AND attrs NOT LIKE '%attempts%'"),
                     1);
    scratch_drop();
}
