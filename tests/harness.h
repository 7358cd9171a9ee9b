/* SPDX-License-Identifier: MIT */
/*
 * tests/harness.h -- Check with self-registering tests.
 *
 *     TEST(a_sentence_about_what_holds) { ck_assert_int_eq(1 + 1, 2); }
 *
 * Each test runs in its own process, so a crash or leak is one failed test with
 * its name.  `test_x WORD` runs the tests whose name contains WORD.  With
 * CK_FORK=no everything runs in one process, for a debugger.
 */
#ifndef PAWL_TESTS_HARNESS_H
#define PAWL_TESTS_HARNESS_H

#include <check.h>

void harness_add(const TTest *test);

#define TEST(name)                                                                                 \
    static void body_##name(int unused);                                                           \
    static const TTest ttest_##name = {#name, body_##name, __FILE__, __LINE__};                    \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        harness_add(&ttest_##name);                                                                \
    }                                                                                              \
    static void body_##name(int unused __attribute__((unused)))

#endif
