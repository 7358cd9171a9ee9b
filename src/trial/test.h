/* SPDX-License-Identifier: MIT */
/* trial/test.h -- a test of pawl/test.h from inside; shared by script.c, test.c and expect.c. */
#ifndef PAWL_TRIAL_TEST_H
#define PAWL_TRIAL_TEST_H

#include "base/vec.h"
#include "pawl/test.h"
#include "trial/world.h"

enum answer_kind {
    ANSWER_NONE, /* no answer was given: it is left waiting */
    ANSWER_OK,
    ANSWER_FAIL,
    ANSWER_FAIL_FINAL,
    ANSWER_TIME_OUT,
    ANSWER_CALL,
    ANSWER_REAL,
};

struct nth_answer {
    unsigned n;
    pawl_test_answer answer;
};

/* What is said and known of one activity. */
struct script {
    struct script *next;
    const char *name;
    pawl_test_answer always;
    VEC(struct nth_answer) nth;
    VEC(const char *) inputs;  /* one for each attempt */
    VEC(const char *) waiting; /* tokens of attempts without an answer */
};

struct pawl_test {
    struct world world;
    VEC(pawl_app *) apps; /* every code there was; the last one runs */
    pawl_mem mem;         /* dies with the test */
    pawl_mem look;        /* what was returned last */
    struct script *scripts;
    unsigned starts;
    char *subject;
    void *user;
    const char *crash_point; /* NULL: none */
    unsigned crash_n;
    bool crash_each;
    unsigned failures;
    void (*on_failure)(void *arg, const char *text);
    void *on_failure_arg;
};

/* Made when asked for the first time. */
struct script *script_of(pawl_test *t, pawl_str activity);
/* The hook: an attempt is made. */
pawl_result script_play(void *user, pawl_activity *act, pawl_str input);
void script_free(pawl_test *t);

#endif
