/* SPDX-License-Identifier: MIT */
/* tests/harness.c -- runs the registered tests and prints one line a failure. */
#include "harness.h"

#include <malloc.h>
#include <stdbool.h>
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

/* Tests on a PostgreSQL server need one; tests/postgres/cluster starts it. */
static bool lacks_server(const char *name)
{
    size_t n = strlen(name), end = strlen("_postgres");
    return !getenv("PAWL_TEST_PG") && n > end && strcmp(name + n - end, "_postgres") == 0;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int left_out = 0;
    Suite *suite = suite_create(argv[0]);
    const char *limit = getenv("PAWL_TEST_TIMEOUT");

    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what a test prints is not lost when it fails */
    (void)mallopt(M_PERTURB,
                  165); /* who reads memory nobody wrote, or that was given back, is noticed */
    for (int i = 0; i < test_count; i++) {
        if (!strstr(tests[i]->name, word))
            continue;
        if (lacks_server(tests[i]->name)) {
            left_out++;
            continue;
        }
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
    if (left_out)
        printf("- %d tests on PostgreSQL: PAWL_TEST_PG is not set (tests/postgres/cluster)\n",
               left_out);
    const char *name = strrchr(argv[0], '/');
    printf("%s: %d passed, %d failed\n", name ? name + 1 : argv[0], run - failed, failed);
    srunner_free(runner);
    return failed != 0;
}
