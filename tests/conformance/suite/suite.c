/* SPDX-License-Identifier: MIT */
/*
 * suite/suite.c -- runs the tests on stores and prints clause by clause.
 *
 * A test's clauses are the words in front of its name: c2_c3_a_sentence checks
 * C2 and C3.  Each test gets a fresh store in a child process, so a crash or a
 * leak is one failed test; the child sends its failure through a pipe.
 */
#include "suite.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS_MAX 120
#define CLAUSES_MAX      160
#define STORES_MAX       8
#define START_MS         1000000

enum outcome { PASSED = 0, FAILED = 1, SKIPPED = 2 };

static const struct probe_case *const groups[] = {
#define GROUP_ENTRY(group) cases_##group,
    CONFORMANCE_GROUPS(GROUP_ENTRY)
#undef GROUP_ENTRY
};

struct clause {
    char name[8];
    struct {
        int passed, failed;
    } by_store[STORES_MAX];
};

struct report {
    struct clause clauses[CLAUSES_MAX];
    size_t count;
};

/* The next clause word of a test's name: 0 length when the sentence begins. */
static size_t clause_word(const char *at)
{
    if (!islower((unsigned char)at[0]) || !isdigit((unsigned char)at[1]))
        return 0;
    size_t n = 1;
    while (isdigit((unsigned char)at[n]))
        n++;
    return at[n] == '_' ? n : 0;
}

static bool name_has_clause(const char *name, const char *clause)
{
    for (size_t n; (n = clause_word(name)); name += n + 1) {
        if (strlen(clause) == n && strncasecmp(name, clause, n) == 0)
            return true;
    }
    return false;
}

int pawl_conformance_tests(const char *clause)
{
    int count = 0;
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        for (const struct probe_case *c = groups[g]; c->name; c++)
            count += name_has_clause(c->name, clause);
    }
    return count;
}

/* ---- One test ------------------------------------------------------------ */

static enum outcome run_here(const pawl_conformance_factory *factory, const struct probe_case *c,
                             char *failure, size_t size)
{
    struct probe t = {.factory = factory, .file = c->file, .mem = pawl_mem_new(), .now = START_MS};
    pawl_error err = {0};
    t.store = t.first = factory->open(factory->user, &err);
    if (!t.store) {
        snprintf(failure, size, "cannot open a store: %s", err.text);
        pawl_mem_free(t.mem);
        return FAILED;
    }
    if (setjmp(t.out) == 0) {
        take(&t);
        if (name_has_clause(c->name, "M3") || name_has_clause(c->name, "W3") ||
            name_has_clause(c->name, "N1"))
            needs_delays(&t);
        c->run(&t);
    }
    sides_close(&t);
    if (t.first)
        factory->close(factory->user, t.first);
    pawl_mem_free(t.mem);
    snprintf(failure, size, "%s", t.failure);
    return t.failure[0] ? FAILED : t.skipped ? SKIPPED : PASSED;
}

static enum outcome run_forked(const pawl_conformance_factory *factory, const struct probe_case *c,
                               char *failure, size_t size)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0)
        return run_here(factory, c, failure, size);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        alarm(TEST_SECONDS_MAX);
        enum outcome outcome = run_here(factory, c, failure, size);
        if (outcome == FAILED && write(ends[1], failure, strlen(failure)) < 0)
            _exit(FAILED);
        if (outcome == FAILED)
            _exit(FAILED); /* the test stopped half-way: leaks mean nothing */
        exit((int)outcome);
    }
    close(ends[1]);
    size_t got = 0;
    ssize_t n;
    while (got < size - 1 && (n = read(ends[0], failure + got, size - 1 - got)) > 0)
        got += (size_t)n;
    failure[got] = '\0';
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status))
        snprintf(failure, size, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    if (WIFEXITED(status) && WEXITSTATUS(status) <= SKIPPED)
        return (enum outcome)WEXITSTATUS(status);
    if (WIFEXITED(status))
        snprintf(failure, size, "ended with status %d (a leak?)", WEXITSTATUS(status));
    return FAILED;
}

/* ---- The report ---------------------------------------------------------- */

static struct clause *clause_of(struct report *r, const char *word, size_t n)
{
    char name[sizeof(r->clauses[0].name)] = {0};
    for (size_t i = 0; i < n && i + 1 < sizeof(name); i++)
        name[i] = (char)toupper((unsigned char)word[i]);
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->clauses[i].name, name) == 0)
            return &r->clauses[i];
    }
    if (r->count == CLAUSES_MAX)
        abort();
    memcpy(r->clauses[r->count].name, name, sizeof(name));
    return &r->clauses[r->count++];
}

static void note(struct report *r, const char *name, size_t store, enum outcome outcome)
{
    for (size_t n; (n = clause_word(name)); name += n + 1) {
        struct clause *c = clause_of(r, name, n);
        c->by_store[store].passed += outcome == PASSED;
        c->by_store[store].failed += outcome == FAILED;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct clause *x = a, *y = b;
    if (x->name[0] != y->name[0])
        return x->name[0] < y->name[0] ? -1 : 1;
    return atoi(x->name + 1) - atoi(y->name + 1);
}

static void print_table(struct report *r, const pawl_conformance_factory *factories, size_t count)
{
    qsort(r->clauses, r->count, sizeof(r->clauses[0]), by_name);
    printf("| %-8s", "clause");
    for (size_t s = 0; s < count; s++)
        printf(" %12s", factories[s].name);
    printf("\n");
    for (size_t i = 0; i < r->count; i++) {
        printf("| %-8s", r->clauses[i].name);
        for (size_t s = 0; s < count; s++) {
            int passed = r->clauses[i].by_store[s].passed,
                failed = r->clauses[i].by_store[s].failed;
            char cell[32];
            if (failed > 0)
                snprintf(cell, sizeof(cell), "%d FAILED", failed);
            else if (passed > 0)
                snprintf(cell, sizeof(cell), "ok %d", passed);
            else
                snprintf(cell, sizeof(cell), "-");
            printf(" %12s", cell);
        }
        printf("\n");
    }
}

/* One test on every store. */
static void run_case(struct report *r, const pawl_conformance_factory *factories, size_t count,
                     const struct probe_case *c, pawl_conformance_totals *totals)
{
    const char *mode = getenv("CK_FORK");
    bool here = mode && strcmp(mode, "no") == 0;
    for (size_t s = 0; s < count; s++) {
        char failure[1000] = "";
        enum outcome outcome =
            (here ? run_here : run_forked)(&factories[s], c, failure, sizeof(failure));
        totals->passed += outcome == PASSED;
        totals->failed += outcome == FAILED;
        totals->skipped += outcome == SKIPPED;
        note(r, c->name, s, outcome);
        if (outcome == FAILED)
            printf("FAIL %s %s: %s\n", factories[s].name, c->name, failure);
    }
}

pawl_conformance_totals pawl_conformance_run(const pawl_conformance_factory *factories,
                                             size_t count, const pawl_conformance_opts *opts)
{
    static struct report report;
    pawl_conformance_totals totals = {0};
    const char *filter = opts && opts->filter ? opts->filter : "";
    memset(&report, 0, sizeof(report));
    if (count > STORES_MAX)
        abort();
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        for (const struct probe_case *c = groups[g]; c->name; c++) {
            if (strstr(c->name, filter))
                run_case(&report, factories, count, c, &totals);
        }
    }
    for (size_t i = 0; opts && i < opts->spec_count; i++) {
        char name[200];
        spec_name(opts->specs[i], name, sizeof(name));
        struct probe_case c = {.name = name, .run = spec_run, .file = opts->specs[i]};
        if (strstr(name, filter))
            run_case(&report, factories, count, &c, &totals);
    }
    print_table(&report, factories, count);
    return totals;
}

int pawl_conformance(const pawl_conformance_factory *factory, const char *filter)
{
    pawl_conformance_opts opts = {.size = sizeof(opts), .filter = filter};
    pawl_conformance_totals totals = pawl_conformance_run(factory, 1, &opts);
    printf("%s: %d passed, %d failed\n", factory->name, totals.passed, totals.failed);
    return totals.failed;
}
