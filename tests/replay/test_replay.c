/* SPDX-License-Identifier: MIT */
/*
 * tests/replay/test_replay.c -- every *.replay file here is one test.
 *
 * Check gives a test function no argument, so there is one function a slot; the
 * files are sorted and take the slots in order.  `test_replay WORD` runs the
 * scripts whose name contains WORD.
 */
#include "../harness.h"
#include "script.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 256

static glob_t found;
static TTest tests[SLOTS];

static void run_slot(size_t slot)
{
    runner_run(found.gl_pathv[slot]);
}

#define SLOT(n)                                                                                    \
    static void slot_##n(int unused __attribute__((unused)))                                       \
    {                                                                                              \
        run_slot(0x##n);                                                                           \
    }
#define NAME(n) slot_##n,
#define ROW(X, h)                                                                                  \
    X(h##0)                                                                                        \
    X(h##1)                                                                                        \
    X(h##2)                                                                                        \
    X(h##3)                                                                                        \
    X(h##4)                                                                                        \
    X(h##5)                                                                                        \
    X(h##6)                                                                                        \
    X(h##7)                                                                                        \
    X(h##8)                                                                                        \
    X(h##9)                                                                                        \
    X(h##a)                                                                                        \
    X(h##b)                                                                                        \
    X(h##c)                                                                                        \
    X(h##d)                                                                                        \
    X(h##e)                                                                                        \
    X(h##f)
#define ALL(X)                                                                                     \
    ROW(X, 0)                                                                                      \
    ROW(X, 1)                                                                                      \
    ROW(X, 2)                                                                                      \
    ROW(X, 3)                                                                                      \
    ROW(X, 4)                                                                                      \
    ROW(X, 5)                                                                                      \
    ROW(X, 6)                                                                                      \
    ROW(X, 7)                                                                                      \
    ROW(X, 8)                                                                                      \
    ROW(X, 9)                                                                                      \
    ROW(X, a)                                                                                      \
    ROW(X, b)                                                                                      \
    ROW(X, c)                                                                                      \
    ROW(X, d)                                                                                      \
    ROW(X, e)                                                                                      \
    ROW(X, f)

ALL(SLOT)
static const TFun slots[SLOTS] = {ALL(NAME)};

__attribute__((constructor)) static void add_scripts(void)
{
    char pattern[512];

    const char *other = getenv("REPLAY"); /* a directory: the scripts of tests/replay/random */

    if (other)
        (void)snprintf(pattern, sizeof(pattern), "%s/*.replay", other);
    else
        (void)snprintf(pattern, sizeof(pattern), "%.*s*.replay",
                       (int)(strrchr(__FILE__, '/') + 1 - __FILE__), __FILE__);
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc > SLOTS) {
        fprintf(stderr, "%s: no scripts, or more than %d\n", pattern, SLOTS);
        abort();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        tests[i] = (TTest){strrchr(found.gl_pathv[i], '/') + 1, slots[i], __FILE__, __LINE__};
        harness_add(&tests[i]);
    }
}
