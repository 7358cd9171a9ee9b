/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/crash.h -- real processes, real files, kill -9.
 *
 * A test makes a scratch directory, forks children that run a plan (start these
 * instances, wait for them) on the data directory in it, ends them in unkind
 * ways, runs the plan again and then reads the database with plain SQL: whatever
 * the process that died believed, the file has to be right.
 *
 *     scratch/data     the data directory       scratch/ledger   what activities did
 *     scratch/out      what instances answered  scratch/acks     ids whose start returned
 *     scratch/err      stderr of the last child scratch/points   points passed, by count
 */
#ifndef PAWL_TESTS_CRASH_H
#define PAWL_TESTS_CRASH_H

#include <pawl.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- proc.c: directories and children --------------------------------------- */

extern char scratch[200];

void scratch_make(void);                  /* a new one, empty */
void scratch_drop(void);                  /* remove the present one */
const char *in_scratch(const char *name); /* its path; four live at a time, by thread */
char *read_text(const char *name);        /* of a file in scratch; free() it; "" if none */
bool text_has(const char *name, const char *words); /* the file in scratch holds them */
void append_line(const char *name, const char *format, ...) PAWL_PRINTF(2, 3); /* one write */
/* As append_line, padded so that it lies in one page of the file: kill -9 can tear a
 * write where a page ends.  Not both in one file. */
void append_record(const char *name, const char *format, ...) PAWL_PRINTF(2, 3);

/* Fork; the child runs fn(arg) with stderr in scratch/err and exits with its value. */
pid_t child_start(int (*fn)(void *arg), void *arg);
/* Wait; the wait status, or -1 when it took longer than `ms` (then it was killed). */
int child_wait(pid_t pid, int ms);
int child_run(int (*fn)(void *arg), void *arg, int ms);
bool exited_with(int status, int code);
bool killed_by(int status, int signal_number);
const char *status_words(int status);
void nap_ms(int ms);
/* Until scratch/NAME has a line with these words; false after `ms`. */
bool wait_for_words(const char *name, const char *words, int ms);
bool full_matrix(void); /* PAWL_CRASH_FULL: everything, not a sample */

/* ---- apps.c: the examples, with a ledger -------------------------------------- */

void app_examples(pawl_app *app);

/* ---- rude.c: code that crashes, hangs and overflows ------------------------------ */

void app_rude(pawl_app *app);

/* ---- plan.c: what a child does -------------------------------------------------- */

struct plan_item {
    const char *orchestration;
    const char *id;
    const char *input;
    const char *event; /* raised once after the start; NULL: none */
    const char *data;
};

struct plan {
    const struct plan_item *items;
    size_t count;
    pawl_options options; /* data is set by plan_run() */
    void (*app)(pawl_app *app);
    void (*before)(void);         /* in the child, before anything is opened */
    void (*after)(void);          /* in the child, when all is closed */
    const char *crash_at;         /* PAWL_CRASH_AT; NULL: none */
    bool census;                  /* count the points passed into scratch/points */
    int wait_ms;                  /* for each instance; 0: 20 s */
    void (*then)(pawl_client *c); /* before waiting */
    int (*last)(
        pawl_client *c); /* when all have ended, before closing; its value as plan_run()'s */
};

/* A child's main: start, raise, wait; a line "ID STATE OUTPUT" in scratch/out
 * each.  0 done, 1 the runtime did not open, 2 a call failed, 3 time ran out. */
int plan_run(void *plan);
/* After a run with a census in scratch: `die` for each point and n-th time (a sample, or
 * all), until it says that the point was not reached.  How often it was; at least
 * `kinds` points. */
int die_everywhere(bool (*die)(const char *point, int n, const void *arg), const void *arg,
                   int kinds);
/* The line of an instance in scratch/out without its id; NULL: none.  free() it. */
char *answer_of(const char *id);

/* ---- look.c: the database afterwards -------------------------------------------- */

/* One number by SQL from scratch/data/pawl.db; -1 when it cannot be asked. */
long long ask(const char *sql);
/* Everything that must hold once all instances have ended: NULL, or what is wrong. */
const char *wrong_at_rest(void);
/* The same, for instances that may still be open. */
const char *wrong_in_history(void);
/* Every activity ran, none without its schedule, at most `twice` of them more than
 * once: NULL, or what is wrong. */
const char *wrong_in_ledger(int twice);

#endif
