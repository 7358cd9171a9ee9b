/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/test_conformance.c -- the suite on every store we have, and
 * the check that no clause of the contract is without a test.
 *
 *     test_conformance [WORD [STORE]]     tests whose name contains WORD
 */
#include "stores.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#define SPECS "tests/conformance/*.spec"

static const char *const contracts[] = {"include/pawl/provider.h", "include/pawl/queue_store.h"};

/* A clause begins with its number and two spaces: "C3  CONFLICT when".  The
 * length of the number, or 0. */
static size_t clause_at(const char *line, const char *at)
{
    size_t n = 1;
    if (at == line || at[-1] != ' ' || !isupper((unsigned char)at[0]))
        return 0;
    while (isdigit((unsigned char)at[n]))
        n++;
    return n > 1 && strncmp(at + n, "  ", 2) == 0 ? n : 0;
}

/* How many clauses of a contract have no test; -1 when it cannot be read. */
static int untested_clauses(const char *contract)
{
    FILE *f = fopen(contract, "r");
    char line[512];
    int untested = 0, clauses = 0;
    if (!f)
        return -1;
    while (fgets(line, sizeof(line), f)) {
        for (const char *at = line; *at; at++) {
            char clause[8] = "";
            size_t n = clause_at(line, at);
            if (n == 0 || n >= sizeof(clause))
                continue;
            memcpy(clause, at, n);
            clauses++;
            if (pawl_conformance_tests(clause) == 0) {
                printf("FAIL clause %s of %s has no test\n", clause, contract);
                untested++;
            }
        }
    }
    fclose(f);
    printf("%d clauses in %s, %d without a test\n", clauses, contract, untested);
    return clauses > 0 ? untested : -1;
}

int main(int argc, char **argv)
{
    pawl_conformance_factory all[STORES_MAX];
    size_t count = stores(all);
    if (argc > 2) { /* one store only */
        all[0] = store_called(argv[2]);
        count = 1;
    }
    glob_t specs = {0};
    if (glob(SPECS, 0, NULL, &specs) != 0)
        printf("no specs in %s\n", SPECS);
    pawl_conformance_opts opts = {.size = sizeof(opts),
                                  .filter = argc > 1 ? argv[1] : NULL,
                                  .specs = (const char *const *)specs.gl_pathv,
                                  .spec_count = specs.gl_pathc};
    pawl_conformance_totals totals = pawl_conformance_run(all, count, &opts);
    globfree(&specs);
    for (int i = 0; i < 2; i++) {
        int untested = untested_clauses(contracts[i]);
        if (untested < 0) {
            printf("FAIL cannot read %s: run from the top of the source tree\n", contracts[i]);
            untested = 1;
        }
        totals.failed += untested;
        totals.passed += untested == 0;
    }
    if (totals.skipped > 0)
        printf("%d skipped\n", totals.skipped);
    printf("test_conformance: %d passed, %d failed\n", totals.passed, totals.failed);
    return totals.failed != 0;
}
