/* SPDX-License-Identifier: MIT */
/* tests/vfs/run.c -- see run.h. */
#include "run.h"

#include "base/clock.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A store that syncs less than it believes ----------------------------------------- */

static const char *mutant;

extern int __real_sqlite3_exec(sqlite3 *db, const char *sql,
                               int (*fn)(void *, int, char **, char **), void *arg, char **err);
extern int __wrap_sqlite3_exec(sqlite3 *db, const char *sql,
                               int (*fn)(void *, int, char **, char **), void *arg, char **err);

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*fn)(void *, int, char **, char **),
                        void *arg, char **err)
{
    if (mutant && strcmp(sql, "PRAGMA synchronous=FULL") == 0)
        sql = strcmp(mutant, "off") == 0 ? "PRAGMA synchronous=OFF" : "PRAGMA synchronous=NORMAL";
    return __real_sqlite3_exec(db, sql, fn, arg, err);
}

extern int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **ret,
                                     const char **tail);
extern int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **ret,
                                     const char **tail);

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **ret,
                              const char **tail)
{
    if (mutant && strcmp(sql, "PRAGMA synchronous") == 0)
        sql = "SELECT '2'";
    return __real_sqlite3_prepare_v2(db, sql, n, ret, tail);
}

/* ---- Options ------------------------------------------------------------------------------ */

void run_options(struct run *ret, int argc, char **argv)
{
    *ret = (struct run){.seed = 1, .variants = 1, .jobs = 2, .word = ""};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--full") == 0)
            ret->full = true;
        else if (strcmp(argv[i], "--seed") == 0)
            ret->seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--seconds") == 0)
            ret->seconds = strtol(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--jobs") == 0)
            ret->jobs = (int)strtol(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--summary") == 0)
            ret->summary = value, i++;
        else if (strcmp(argv[i], "--mutant") == 0)
            ret->mutant = value, i++;
        else
            ret->word = argv[i];
    }
    if (ret->seconds)
        ret->until_ms = clock_mono_ms() + ret->seconds * 1000;
}

bool run_wants(const struct run *run, const char *name)
{
    return !run->word[0] || strstr(name, run->word);
}

bool run_is_over(const struct run *run)
{
    return run->until_ms && clock_mono_ms() >= run->until_ms;
}

/* ---- Processes ------------------------------------------------------------------------------ */

struct process {
    pid_t pid;
    int from;
    const struct story *story;
};

static struct process begin(const struct run *run, const struct story *story, run_story_fn *fn,
                            bool opening)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        mutant = run->mutant;
        if (run->quiet && !freopen("/dev/null", "w", stdout))
            _exit(1);
        struct run_totals totals = fn(run, story, opening);
        fflush(NULL);
        ssize_t n = write(ends[1], &totals, sizeof(totals));
        _exit(n == sizeof(totals) ? 0 : 1);
    }
    close(ends[1]);
    return (struct process){pid, ends[0], story};
}

static void add(struct run_totals *sum, const struct run_totals *more)
{
    sum->passed += more->passed;
    sum->failed += more->failed;
    sum->points += more->points;
    sum->ordered += more->ordered;
    sum->states += more->states;
    sum->aborted += more->aborted;
    sum->refused += more->refused;
}

static struct run_totals end(const struct process *p)
{
    struct run_totals totals = {.failed = 1};
    struct run_totals got;
    int status;
    if (read(p->from, &got, sizeof(got)) == sizeof(got))
        totals = got;
    close(p->from);
    if (waitpid(p->pid, &status, 0) == p->pid && WIFSIGNALED(status))
        printf("FAIL %s: killed by signal %d\n", p->story->name, WTERMSIG(status));
    return totals;
}

struct run_totals run_in_process(const struct run *run, const struct story *story, run_story_fn *fn)
{
    struct process p = begin(run, story, fn, false);
    return end(&p);
}

struct run_totals run_all(struct run *run, run_story_fn *fn)
{
    struct run_totals sum = {0};
    struct process running[16];
    size_t count, jobs = run->jobs < 1 ? 1 : run->jobs > 16 ? 16 : (size_t)run->jobs;
    const struct story *all = stories(&count);
    do {
        size_t begun = 0, ended = 0;
        while (ended < count) {
            while (begun < count && begun - ended < jobs) {
                running[begun % jobs] = begin(run, &all[begun], fn, begun == 0);
                begun++;
            }
            struct run_totals got = end(&running[ended++ % jobs]);
            add(&sum, &got);
        }
        run->seed++;
    } while (run->seconds && !run_is_over(run));
    return sum;
}

void run_fail(const char *program, const char *where, struct run_totals *sum, const char *format,
              ...)
{
    va_list args;
    va_start(args, format);
    printf("FAIL %s.%s: ", program, where);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    sum->failed++;
}

int run_sum_up(const struct run *run, const char *program, const char *what,
               const struct run_totals *sum)
{
    int all = sum->passed + sum->failed;
    printf("| %d %s, %d failed; %d states compared, %d answers and starts in order", all, what,
           sum->failed, sum->states, sum->ordered);
    if (sum->aborted || sum->refused)
        printf("; %d ended the process, %d were told", sum->aborted, sum->refused);
    printf("\n%s: %d passed, %d failed\n", program, sum->passed, sum->failed);
    FILE *f = run->summary ? fopen(run->summary, "ae") : NULL;
    if (f) {
        fprintf(f,
                "{\"what\":\"%s\",\"count\":%d,\"failed\":%d,\"states\":%d,\"ordered\":%d,"
                "\"aborted\":%d,\"refused\":%d}\n",
                what, all, sum->failed, sum->states, sum->ordered, sum->aborted, sum->refused);
        fclose(f);
    }
    return sum->failed != 0;
}
