/* SPDX-License-Identifier: MIT */
/* tests/unit/test_testing.c -- pawl/test.h: what it promises to people who test their code. */
#include "../harness.h"

#include "pawl.h"
#include "pawl/test.h"

#include <stdlib.h>
#include <string.h>

/* ---- Code under test ------------------------------------------------------------------- */

static pawl_result one_call(pawl_ctx *ctx, pawl_str in)
{
    return pawl_call(ctx, "Work", in);
}

static pawl_result limited(pawl_ctx *ctx, pawl_str in)
{
    return pawl_call_with(ctx, "Work", in,
                          PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 1000, .factor = 2,
                                         .start_to_close_ms = PAWL_MINUTES(5)));
}

static pawl_result two_at_once(pawl_ctx *ctx, pawl_str in)
{
    pawl_task both[] = {pawl_start(ctx, "Slow", in), pawl_start(ctx, "Quick", in)};
    int first = pawl_race(ctx, both, 2);
    return pawl_await(ctx, both[first]);
}

static pawl_result waits(pawl_ctx *ctx, pawl_str in)
{
    (void)in;
    pawl_set_status(ctx, "waiting");
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result two_events(pawl_ctx *ctx, pawl_str in)
{
    (void)in;
    pawl_str a = pawl_await(ctx, pawl_wait_event(ctx, "Go")).value;
    pawl_str b = pawl_await(ctx, pawl_wait_event(ctx, "Go")).value;
    return pawl_donef(ctx, "%s%s", a.ptr, b.ptr);
}

static pawl_result sleeps(pawl_ctx *ctx, pawl_str in)
{
    pawl_ignore(pawl_sleep(ctx, PAWL_DAYS(400)));
    pawl_ignore(pawl_call(ctx, "Work", in));
    return pawl_done(ctx, "slept");
}

static pawl_result parent(pawl_ctx *ctx, pawl_str in)
{
    return pawl_call_child(ctx, "OneCall", in, NULL);
}

static pawl_result yearly(pawl_ctx *ctx, pawl_str in)
{
    pawl_ignore(pawl_call(ctx, "Work", in));
    pawl_ignore(pawl_sleep(ctx, PAWL_DAYS(365)));
    return pawl_continue_as_new(ctx, in, NULL);
}

static pawl_result gambles(pawl_ctx *ctx, pawl_str in)
{
    static int turns;
    (void)in;
    pawl_ignore(pawl_sleep(ctx, 1000 + ++turns));
    return pawl_done(ctx, "lucky");
}

static pawl_result compensates(pawl_ctx *ctx, pawl_str in)
{
    pawl_result r = pawl_sleep(ctx, PAWL_HOURS(5));
    if (!r.cancelled)
        return pawl_done(ctx, "in time");
    pawl_shield(ctx);
    pawl_ignore(pawl_call(ctx, "Undo", in));
    pawl_unshield(ctx);
    return pawl_fail(ctx, "undone");
}

static pawl_result real_work(pawl_activity *act, pawl_str in)
{
    (void)in;
    return pawl_okf(act, "real %s", (const char *)pawl_activity_user(act));
}

static void setup(pawl_app *app)
{
    static char user[] = "user";
    pawl_register_activity_with(app, "Work", real_work, PAWL_REGISTER_OPTS(.user = user));
    pawl_register_orchestration(app, "OneCall", "1.0.0", one_call);
    pawl_register_orchestration(app, "Limited", "1.0.0", limited);
    pawl_register_orchestration(app, "TwoAtOnce", "1.0.0", two_at_once);
    pawl_register_orchestration(app, "Waits", "1.0.0", waits);
    pawl_register_orchestration(app, "TwoEvents", "1.0.0", two_events);
    pawl_register_orchestration(app, "Sleeps", "1.0.0", sleeps);
    pawl_register_orchestration(app, "Parent", "1.0.0", parent);
    pawl_register_orchestration(app, "Yearly", "1.0.0", yearly);
    pawl_register_orchestration(app, "Gambles", "1.0.0", gambles);
    pawl_register_orchestration(app, "Compensates", "1.0.0", compensates);
}

static pawl_result sleeps_longer(pawl_ctx *ctx, pawl_str in)
{
    (void)in;
    pawl_ignore(pawl_sleep(ctx, PAWL_DAYS(500)));
    return pawl_done(ctx, "overslept");
}

static void changed_setup(pawl_app *app)
{
    pawl_register_orchestration(app, "Sleeps", "1.0.0", sleeps_longer);
}

/* ---- Activities ---------------------------------------------------------------------------- */

TEST(every_attempt_gets_its_answer)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_ok("{\"n\":1}"));
    pawl_test_start(t, "OneCall", "\"in\"");
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_ENDED);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "{\"n\":1}"));
    ck_assert(PAWL_EXPECT_RUNS(t, "Work", 1));
    ck_assert_str_eq(pawl_test_input(t, "Work", 1), "\"in\"");
    ck_assert_ptr_null(pawl_test_input(t, "Work", 2));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(the_nth_attempt_goes_first)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_ok("3"));
    pawl_test_on_nth(t, "Work", 1, pawl_test_fail("first"));
    pawl_test_on_nth(t, "Work", 2, pawl_test_fail("second"));
    pawl_test_start(t, "Limited", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "3"));
    ck_assert(PAWL_EXPECT_RUNS(t, "Work", 3));
    ck_assert_int_eq(pawl_test_now(t), 3000); /* 1 s, then 2 s */
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(a_failure_without_policy_is_the_result)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_fail("broken"));
    pawl_test_start(t, "OneCall", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_FAILED(t, "broken"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(a_final_failure_is_not_tried_again)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_fail_final("no"));
    pawl_test_start(t, "Limited", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_FAILED(t, "no"));
    ck_assert(PAWL_EXPECT_RUNS(t, "Work", 1));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(a_time_out_is_the_calls)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_time_out());
    pawl_test_start(t, "Limited", NULL);
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_ENDED);
    ck_assert_int_eq(pawl_test_state(t), PAWL_FAILED);
    ck_assert_msg(strncmp(pawl_test_error(t), "timeout: ", 9) == 0, "%s", pawl_test_error(t));
    ck_assert(PAWL_EXPECT_RUNS(t, "Work", 3));
    ck_assert_int_ge(pawl_test_now(t), 3 * PAWL_MINUTES(5) + 3000);
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(without_a_limit_a_time_out_is_for_ever)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_time_out());
    pawl_test_start(t, "OneCall", NULL);
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_STUCK);
    ck_assert_ptr_nonnull(strstr(pawl_test_why(t), "activity 'Work', which never answers"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(answers_may_take_their_time)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Slow", pawl_test_after(PAWL_DAYS(3), pawl_test_ok("slow")));
    pawl_test_on(t, "Quick", pawl_test_after(PAWL_HOURS(1), pawl_test_ok("quick")));
    pawl_test_start(t, "TwoAtOnce", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "quick"));
    ck_assert_int_eq(pawl_test_now(t), PAWL_HOURS(1));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

static pawl_result counts(pawl_activity *act, pawl_str in)
{
    int *n = pawl_test_user(pawl_test_of(act));
    return pawl_okf(act, "%d %s", ++*n, in.ptr);
}

TEST(a_function_of_the_test_answers)
{
    pawl_test *t = pawl_test_new(setup);
    int n = 41;
    pawl_test_set_user(t, &n);
    pawl_test_on(t, "Work", pawl_test_call(counts));
    pawl_test_start(t, "OneCall", "7");
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "42 7"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(the_registered_function_runs_when_asked_for)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_real());
    pawl_test_start(t, "OneCall", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "real user"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(an_activity_nobody_spoke_of_waits_and_is_named)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "TwoAtOnce", NULL); /* Slow and Quick are not even registered */
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_STUCK);
    ck_assert_ptr_nonnull(strstr(pawl_test_why(t), "the test does not say what it answers"));
    pawl_test_on(t, "Slow", pawl_test_ok("late but here"));
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_ENDED);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "late but here"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

/* ---- Events and time ------------------------------------------------------------------------ */

TEST(an_event_comes_when_it_was_said)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "Waits", NULL);
    pawl_test_raise_at(t, PAWL_DAYS(2), "Go", "\"late\"");
    ck_assert_int_eq(pawl_test_run_for(t, PAWL_DAYS(1)), PAWL_TEST_RUNNING);
    ck_assert_int_eq(pawl_test_now(t), PAWL_DAYS(1));
    ck_assert_str_eq(pawl_test_status(t), "waiting");
    ck_assert_ptr_nonnull(strstr(pawl_test_why(t), "event 'Go'"));
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "\"late\""));
    ck_assert_int_eq(pawl_test_now(t), PAWL_DAYS(2));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(nobody_raises_it_and_the_test_says_so)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "Waits", NULL);
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_STUCK);
    ck_assert_str_eq(pawl_test_why(t), "it waits for event 'Go', which nothing raises");
    pawl_test_raise(t, "Go", "1");
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_ENDED);
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(equal_events_are_two_events)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "TwoEvents", NULL);
    pawl_test_raise(t, "Go", "1");
    pawl_test_raise(t, "Go", "1");
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "11"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

static void note(void *arg)
{
    *(int *)arg += 1;
}

TEST(a_function_is_called_at_its_time)
{
    pawl_test *t = pawl_test_new(setup);
    int n = 0;
    pawl_test_on(t, "Work", pawl_test_ok("1"));
    pawl_test_start(t, "Sleeps", NULL);
    pawl_test_at(t, PAWL_DAYS(399), note, &n);
    pawl_test_at(t, PAWL_DAYS(401), note, &n);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "slept"));
    ck_assert_int_eq(n, 1);
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(decades_pass_at_once)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_ok("1"));
    pawl_test_start(t, "Yearly", NULL);
    ck_assert_int_eq(pawl_test_run_for(t, PAWL_DAYS(365 * 30 + 1)), PAWL_TEST_RUNNING);
    ck_assert(PAWL_EXPECT_RUNS(t, "Work", 31));
    ck_assert(PAWL_EXPECT_EVENTS(t, "OrchestrationStarted", NULL, 1)); /* of the newest execution */
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(a_cancel_lets_code_compensate)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Undo", pawl_test_ok("1"));
    pawl_test_start(t, "Compensates", NULL);
    pawl_test_cancel_at(t, PAWL_HOURS(1), "changed my mind");
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_CANCELLED(t, "changed my mind"));
    ck_assert(PAWL_EXPECT_RUNS(t, "Undo", 1));
    ck_assert_int_eq(pawl_test_now(t), PAWL_HOURS(1));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(children_can_be_looked_at)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_ok("deep"));
    pawl_test_start(t, "Parent", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "deep"));
    pawl_test_choose(t, "test:1:1");
    ck_assert(PAWL_EXPECT_COMPLETED(t, "deep"));
    ck_assert(PAWL_EXPECT_EVENTS(t, "ActivityScheduled", "Work", 1));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(a_name_nobody_registered_is_said)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "Nonsense", NULL);
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_STUCK);
    ck_assert_ptr_nonnull(strstr(pawl_test_why(t), "Nonsense"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

/* ---- Crashes ---------------------------------------------------------------------------------- */

TEST(a_crash_at_any_place_changes_nothing_recorded)
{
    static const struct {
        const char *point;
        unsigned runs; /* an attempt that was not recorded is made again */
    } places[] = {
        {"turn.run",        1},
        {"commit.before",   1},
        {"commit.after",    1},
        {"handout.before",  1},
        {"handout.after",   1},
        {"activity.before", 1},
        {"activity.after",  2},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        pawl_test *t = pawl_test_new(setup);
        pawl_test_on(t, "Work", pawl_test_ok("1"));
        pawl_test_crash_at(t, places[i].point, 1);
        pawl_test_start(t, "Sleeps", NULL);
        pawl_test_run(t);
        ck_assert(PAWL_EXPECT_COMPLETED(t, "slept"));
        ck_assert_msg(pawl_test_runs(t, "Work") == places[i].runs, "%s: %u runs", places[i].point,
                      pawl_test_runs(t, "Work"));
        ck_assert_int_eq(pawl_test_end(t), 0);
    }
}

TEST(a_crash_at_the_nth_place)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_fail("no"));
    pawl_test_crash_at(t, "activity.after", 2);
    pawl_test_start(t, "Limited", NULL);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_FAILED(t, "no"));
    ck_assert(PAWL_EXPECT_RUNS(t, "Work", 4)); /* three, and the second once more */
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(a_crash_after_every_commit_changes_nothing)
{
    static const char *const names[] = {"Limited", "Sleeps", "Parent", "TwoEvents"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        pawl_test *t = pawl_test_new(setup);
        pawl_test_on(t, "Work", pawl_test_ok("1"));
        pawl_test_crash_each(t, true);
        pawl_test_start(t, names[i], NULL);
        pawl_test_raise_at(t, 1000, "Go", "1");
        pawl_test_raise_at(t, 2000, "Go", "2");
        ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_ENDED);
        ck_assert_msg(pawl_test_state(t) == PAWL_COMPLETED, "%s", names[i]);
        ck_assert(i == 3 || PAWL_EXPECT_RUNS(t, "Work", 1));
        ck_assert_int_eq(pawl_test_end(t), 0);
    }
}

TEST(a_deploy_that_does_not_fit_is_found)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "Work", pawl_test_ok("1"));
    pawl_test_start(t, "Sleeps", NULL);
    pawl_test_run_for(t, PAWL_DAYS(10));
    pawl_test_deploy(t, changed_setup);
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_STUCK);
    ck_assert_int_eq(pawl_test_state(t), PAWL_BLOCKED);
    ck_assert_ptr_nonnull(strstr(pawl_test_why(t), "recorded delay is 34560000000 ms"));
    pawl_test_deploy(t, setup);
    ck_assert_int_eq(pawl_client_retry(pawl_test_client(t), "test", NULL), PAWL_OK);
    pawl_test_run(t);
    ck_assert(PAWL_EXPECT_COMPLETED(t, "slept"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

TEST(code_that_is_not_deterministic_is_found)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "Gambles", NULL);
    ck_assert_int_eq(pawl_test_run(t), PAWL_TEST_STUCK);
    ck_assert_ptr_nonnull(strstr(pawl_test_why(t), "nondeterministic"));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

/* ---- Expectations ------------------------------------------------------------------------------- */

static void keep_text(void *arg, const char *text)
{
    char *to = arg;
    (void)strncat(to, text, 4000 - strlen(to));
}

TEST(a_failed_expectation_says_where_what_and_how_it_came)
{
    static char text[4096];
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on_failure(t, keep_text, text);
    pawl_test_on(t, "Work", pawl_test_fail("broken"));
    pawl_test_start(t, "OneCall", NULL);
    pawl_test_run(t);
    ck_assert(!PAWL_EXPECT_COMPLETED(t, "1"));
    ck_assert_ptr_nonnull(strstr(text, "test_testing.c:"));
    ck_assert_ptr_nonnull(strstr(text, ": expected completed '1', found failed 'broken'\n"));
    ck_assert_ptr_nonnull(strstr(text, "ActivityScheduled          #1 Work"));
    ck_assert(!PAWL_EXPECT_RUNS(t, "Work", 2));
    ck_assert_ptr_nonnull(strstr(text, "expected 2 attempts of activity 'Work', found 1"));
    ck_assert(!PAWL_EXPECT(t, 1 > 2));
    ck_assert_ptr_nonnull(strstr(text, "expected: 1 > 2"));
    ck_assert(!PAWL_EXPECT_EVENTS(t, "TimerFired", NULL, 1));
    ck_assert_int_eq(pawl_test_end(t), 1);
}

TEST(tests_do_not_meddle_with_each_other)
{
    pawl_test *a = pawl_test_new(setup), *b = pawl_test_new(setup);
    pawl_test_on(a, "Work", pawl_test_ok("a"));
    pawl_test_on(b, "Work", pawl_test_ok("b"));
    pawl_test_start(a, "Sleeps", NULL);
    pawl_test_start(b, "OneCall", NULL);
    pawl_test_run(b);
    pawl_test_run(a);
    ck_assert(PAWL_EXPECT_COMPLETED(a, "slept"));
    ck_assert(PAWL_EXPECT_COMPLETED(b, "b"));
    ck_assert_int_eq(pawl_test_now(b), 0);
    ck_assert_int_eq(pawl_test_end(a), 0);
    ck_assert_int_eq(pawl_test_end(b), 0);
}
