/* SPDX-License-Identifier: MIT */
/*
 * pawl/test.h -- test an orchestration in milliseconds: no server, no disk, no waiting.
 *
 * A test is a small world on one thread: the real engine, a store in memory, and a clock
 * that skips to the next timer, so that thirty days pass at once.  Activities do not run:
 * a script says what each one answers.  Events are raised when the test says so.  The test
 * may make the process crash anywhere; it then continues from its history.  After every
 * turn the history is replayed and compared, so the first test of code that is not
 * deterministic finds it.
 *
 *     static int pays_after_thirty_days(void)
 *     {
 *         pawl_test *t = pawl_test_new(setup);               // registers the code
 *         pawl_test_on(t, "Charge", pawl_test_ok("\"receipt-1\""));
 *         pawl_test_on_nth(t, "Charge", 1, pawl_test_fail("bank down"));
 *         pawl_test_start(t, "ProcessOrder", "{\"id\":\"o-1\"}");
 *         pawl_test_raise_at(t, PAWL_HOURS(2), "FraudReview", "{\"approved\":true}");
 *         pawl_test_crash_each(t, true);                     // after every commit
 *         pawl_test_run(t);
 *         PAWL_EXPECT_COMPLETED(t, "Order completed successfully");
 *         PAWL_EXPECT_RUNS(t, "Charge", 2);
 *         PAWL_EXPECT(t, pawl_test_now(t) >= PAWL_DAYS(30));
 *         return pawl_test_end(t);                           // 0: all held
 *     }
 *
 * Link with libpawl.  A failed expectation prints its place, what was expected, what was
 * found and the history, and is counted; the test continues.  To end the test as a test
 * library does, give pawl_test_on_failure() a function that does not return.
 *
 * Text that you pass is copied.  Text that is returned lives until the next call that lets
 * time pass, or the end.  Use one thread; several tests may be open at once.
 */
#ifndef PAWL_TEST_H
#define PAWL_TEST_H

#include "pawl/activity.h"
#include "pawl/client.h"
#include "pawl/runtime.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_test pawl_test;

/* The type of `setup` in PAWL_EXPORT(setup). */
typedef void pawl_test_setup_fn(pawl_app *app);

/* Begin.  `setup` registers the code; its activities do not run (unless pawl_test_real()).
 * A bad registration or lack of memory ends the process with a message. */
PAWL_API pawl_test *pawl_test_new(pawl_test_setup_fn *setup);
/* End and free.  0 when every expectation held, otherwise 1. */
PAWL_API int pawl_test_end(pawl_test *t);
/* Called for every failed expectation instead of printing it. */
PAWL_API void pawl_test_on_failure(pawl_test *t, void (*fn)(void *arg, const char *text),
                                   void *arg);

/* ---- What activities answer ------------------------------------------------- */

/* How one attempt of an activity ends.  Make it with the functions below. */
typedef struct pawl_test_answer {
    int kind;
    const char *text;
    int64_t after_ms; /* how long the attempt takes */
    pawl_activity_fn *fn;
} pawl_test_answer;

/* It returns this text: JSON or any other. */
PAWL_API pawl_test_answer pawl_test_ok(const char *result);
/* It fails with this text; the call's policy says whether it is tried again. */
PAWL_API pawl_test_answer pawl_test_fail(const char *error);
/* It fails and is not tried again, whatever the policy says. */
PAWL_API pawl_test_answer pawl_test_fail_final(const char *error);
/* It never returns: the time-outs of the call decide.  Without any, the orchestration is
 * stuck, and pawl_test_why() says so. */
PAWL_API pawl_test_answer pawl_test_time_out(void);
/* `fn` is called and answers; pawl_test_of() gives it the test. */
PAWL_API pawl_test_answer pawl_test_call(pawl_activity_fn *fn);
/* The function that `setup` registered runs. */
PAWL_API pawl_test_answer pawl_test_real(void);
/* The same answer, but the attempt takes this long. */
PAWL_API pawl_test_answer pawl_test_after(int64_t ms, pawl_test_answer answer);

/* From now on every attempt of `activity` ends with this answer.  An activity without an
 * answer waits for ever: the orchestration is stuck, and pawl_test_why() names it. */
PAWL_API void pawl_test_on(pawl_test *t, const char *activity, pawl_test_answer answer);
/* Only the n-th attempt (1, 2, 3 …, counted over the whole test, with retries and runs
 * after a crash).  It takes precedence over pawl_test_on(). */
PAWL_API void pawl_test_on_nth(pawl_test *t, const char *activity, unsigned n,
                               pawl_test_answer answer);
/* The test an activity runs in, and a pointer of yours that the test carries. */
PAWL_API pawl_test *pawl_test_of(pawl_activity *act);
PAWL_API void pawl_test_set_user(pawl_test *t, void *user);
PAWL_API void *pawl_test_user(pawl_test *t);

/* ---- Instances and events --------------------------------------------------- */

/* Start an instance: the *subject* of everything below, until another is started
 * or chosen.  Its id is "test", then "test-2", "test-3" …  `input` may be NULL. */
PAWL_API void pawl_test_start(pawl_test *t, const char *orchestration, const char *input);
PAWL_API void pawl_test_start_as(pawl_test *t, const char *id, const char *orchestration,
                                 const char *input);
/* Choose another subject, for instance a child: "test:1:2" is what task 2 of the first
 * execution started. */
PAWL_API void pawl_test_choose(pawl_test *t, const char *id);

/* Raise an event to the subject, now or `at_ms` after the beginning of the test (a time in
 * the past means now). */
PAWL_API void pawl_test_raise(pawl_test *t, const char *event, const char *data);
PAWL_API void pawl_test_raise_at(pawl_test *t, int64_t at_ms, const char *event, const char *data);
/* Ask the subject for an update, now or at a time, as above.  The n-th (1, 2, …) answer or rejection
 * that the newest execution has given to updates of this name; NULL: there is none. */
PAWL_API void pawl_test_update_at(pawl_test *t, int64_t at_ms, const char *name, const char *data);
PAWL_API const char *pawl_test_answered(pawl_test *t, const char *name, unsigned n);
/* Cancel the subject. */
PAWL_API void pawl_test_cancel_at(pawl_test *t, int64_t at_ms, const char *reason);
/* Call a function at a time; it may call anything here but pawl_test_run() and _end(). */
PAWL_API void pawl_test_at(pawl_test *t, int64_t at_ms, void (*fn)(void *arg), void *arg);

/* ---- Crashes ---------------------------------------------------------------- */

/* The process dies now and is started again. */
PAWL_API void pawl_test_crash(pawl_test *t);
/* It dies when it reaches a place for the n-th time from now on: "turn.run" (about to
 * run the code), "commit.before", "commit.after", "activity.before", "activity.after". */
PAWL_API void pawl_test_crash_at(pawl_test *t, const char *point, unsigned n);
/* It dies after every commit, so the code restarts from its history at every wait. */
PAWL_API void pawl_test_crash_each(pawl_test *t, bool on);
/* A deploy: the process dies and is started with other code. */
PAWL_API void pawl_test_deploy(pawl_test *t, pawl_test_setup_fn *setup);

/* ---- Running ---------------------------------------------------------------- */

typedef enum pawl_test_outcome {
    PAWL_TEST_ENDED = 0,   /* completed, failed or cancelled */
    PAWL_TEST_STUCK = 1,   /* nothing more will happen, or it is blocked: pawl_test_why() */
    PAWL_TEST_RUNNING = 2, /* the time ran out first */
} pawl_test_outcome;

/* Let time pass until the subject has ended or nothing more can happen.  An orchestration
 * that never ends by itself needs pawl_test_run_for(). */
PAWL_API pawl_test_outcome pawl_test_run(pawl_test *t);
/* The same, but at most `ms`: unless it ends before, exactly that much time passes. */
PAWL_API pawl_test_outcome pawl_test_run_for(pawl_test *t, int64_t ms);
/* Milliseconds since the beginning of the test. */
PAWL_API int64_t pawl_test_now(pawl_test *t);

/* ---- Looking ---------------------------------------------------------------- */

PAWL_API pawl_state pawl_test_state(pawl_test *t);   /* PAWL_PENDING when there is none */
PAWL_API const char *pawl_test_output(pawl_test *t); /* "" unless completed */
PAWL_API const char *pawl_test_error(pawl_test *t);  /* "" unless failed or cancelled */
PAWL_API const char *pawl_test_status(pawl_test *t); /* of pawl_set_status() */
/* What the subject waits for, or why it cannot continue. */
PAWL_API const char *pawl_test_why(pawl_test *t);
/* Attempts of an activity so far, and the input of the n-th (NULL: there was none). */
PAWL_API unsigned pawl_test_runs(pawl_test *t, const char *activity);
PAWL_API const char *pawl_test_input(pawl_test *t, const char *activity, unsigned n);
/* The history of the subject's newest execution. */
PAWL_SIZED pawl_history pawl_test_history(pawl_test *t);
/* How many events of this kind (and name, unless NULL) it has. */
PAWL_API unsigned pawl_test_events(pawl_test *t, const char *kind, const char *name);
/* Print it to stderr. */
PAWL_API void pawl_test_print(pawl_test *t);
/* A client for everything else.  Valid until the next crash. */
PAWL_API pawl_client *pawl_test_client(pawl_test *t);

/* ---- Expectations ----------------------------------------------------------- */

#define PAWL_EXPECT(t, condition) pawl_test_expect((t), __FILE__, __LINE__, (condition), #condition)
#define PAWL_EXPECT_COMPLETED(t, output)                                                           \
    pawl_test_expect_end((t), __FILE__, __LINE__, PAWL_COMPLETED, (output))
#define PAWL_EXPECT_FAILED(t, error)                                                               \
    pawl_test_expect_end((t), __FILE__, __LINE__, PAWL_FAILED, (error))
#define PAWL_EXPECT_CANCELLED(t, reason)                                                           \
    pawl_test_expect_end((t), __FILE__, __LINE__, PAWL_CANCELLED, (reason))
#define PAWL_EXPECT_RUNS(t, activity, n)                                                           \
    pawl_test_expect_runs((t), __FILE__, __LINE__, (activity), (n))
#define PAWL_EXPECT_EVENTS(t, kind, name, n)                                                       \
    pawl_test_expect_events((t), __FILE__, __LINE__, (kind), (name), (n))

/* What the macros call; true when the expectation holds.  NULL text: any. */
PAWL_API bool pawl_test_expect(pawl_test *t, const char *file, int line, bool holds,
                               const char *text);
PAWL_API bool pawl_test_expect_end(pawl_test *t, const char *file, int line, pawl_state state,
                                   const char *text);
PAWL_API bool pawl_test_expect_runs(pawl_test *t, const char *file, int line, const char *activity,
                                    unsigned n);
PAWL_API bool pawl_test_expect_events(pawl_test *t, const char *file, int line, const char *kind,
                                      const char *name, unsigned n);

/* The call marked PAWL_SIZED (pawl/types.h): `size` is sizeof(pawl_history) of the caller. */
PAWL_API void pawl_test_history_sized(pawl_test *t, pawl_history *ret, size_t size);

#ifndef PAWL_PLAIN

static inline pawl_history pawl_test_history(pawl_test *t)
{
    pawl_history history;
    pawl_test_history_sized(t, &history, sizeof(history));
    return history;
}

#endif

#ifdef __cplusplus
}
#endif
#endif
