/* SPDX-License-Identifier: MIT */
/* tests/harness.c -- runs the registered tests and prints one line a failure. */
#include "harness.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TESTS_MAX 1000

static const TTest *tests[TESTS_MAX];
static int test_count;

void harness_add(const TTest *test)
{
    if (test_count == TESTS_MAX)
        abort();
    tests[test_count++] = test;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    Suite *suite = suite_create(argv[0]);
    const char *limit = getenv("PAWL_TEST_TIMEOUT");

    (void)mallopt(M_PERTURB,
                  165); /* who reads memory nobody wrote, or that was given back, is noticed */
    for (int i = 0; i < test_count; i++) {
        if (!strstr(tests[i]->name, word))
            continue;
        TCase *tc = tcase_create(tests[i]->name);
        tcase_set_timeout(tc, limit ? atof(limit) : 300); /* a hang, not a busy machine */
        tcase_add_test(tc, tests[i]);
        suite_add_tcase(suite, tc);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_SILENT);

    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    TestResult **bad = srunner_failures(runner);
    for (int i = 0; i < failed; i++)
        printf("FAIL %s: %s:%d: %s\n", tr_tcname(bad[i]), tr_lfile(bad[i]), tr_lno(bad[i]),
               tr_msg(bad[i]));
    free(bad);
    const char *name = strrchr(argv[0], '/');
    printf("%s: %d passed, %d failed\n", name ? name + 1 : argv[0], run - failed, failed);
    srunner_free(runner);
    return failed != 0;
}
