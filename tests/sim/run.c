/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/run.c -- many seeds.
 *
 * Seeds run in child processes, so that a violation, a failed assertion or a
 * crash costs one seed.  With several jobs each takes the next piece of the range from
 * a counter they share; a seed is the same whoever runs it.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEED_SECONDS 60 /* longer than that is a hang */
#define PIECE        200
#define SHRUNK_MAX   5

struct tally *tally;

/* Shared by all jobs. */
struct common {
    atomic_uint_fast64_t next;     /* seed not yet given to anybody */
    atomic_uint_fast64_t failures; /* of all */
};

static struct common *common;

double run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *share(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_that(p != MAP_FAILED);
    return p;
}

/* ---- Children --------------------------------------------------------------------------- */

NORETURN static void child_main(int out, uint64_t from, uint64_t to, const struct settings *set,
                                double until)
{
    (void)dup2(out, 1);
    (void)dup2(out, 2);
    for (uint64_t seed = from; seed <= to; seed++) {
        if (until > 0 && seed > from && run_seconds() > until)
            break;
        tally->seed = seed;
        alarm(SEED_SECONDS);
        struct plan plan = plan_of_seed(seed, set->store, &set->over);
        world_run(&plan, &tally->n);
    }
    exit(0);
}

/* Keep the end of what comes. */
static void read_all(int in, char *text, size_t size)
{
    size_t len = 0;
    for (ssize_t n; (n = read(in, text + len, size - 1 - len)) > 0;) {
        len += (size_t)n;
        if (len > size / 2) {
            size_t keep = size / 4;
            memmove(text, text + len - keep, keep);
            len = keep;
        }
    }
    text[len] = 0;
}

static void rule_of(struct outcome *o, int status)
{
    const char *fail = strstr(o->text, "FAIL seed=");
    const char *open = fail ? strchr(fail, '[') : NULL;
    if (open)
        (void)snprintf(o->rule, sizeof(o->rule), "%.*s", (int)strcspn(open + 1, "]"), open + 1);
    else if (WIFSIGNALED(status))
        (void)snprintf(o->rule, sizeof(o->rule), "signal %d", WTERMSIG(status));
    else
        (void)snprintf(o->rule, sizeof(o->rule), "exit %d", WEXITSTATUS(status));
}

void run_child(uint64_t from, uint64_t to, const struct settings *set, double until,
               struct outcome *o)
{
    int pipes[2];
    *o = (struct outcome){0};
    fflush(stdout);
    if (pipe(pipes) != 0)
        abort();
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        close(pipes[0]);
        child_main(pipes[1], from, to, set, until);
    }
    close(pipes[1]);
    read_all(pipes[0], o->text, sizeof(o->text));
    close(pipes[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    o->seed = tally->seed;
    o->failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (o->failed)
        rule_of(o, status);
}

/* ---- Pieces of the range --------------------------------------------------------------- */

static void tell_failure(const struct outcome *o, const struct settings *set)
{
    uint64_t n = atomic_fetch_add(&common->failures, 1) + 1;
    tally->failures++;
    printf("seed %llu failed (%s):\n%s", (unsigned long long)o->seed, o->rule, o->text);
    if (o->text[0] && o->text[strlen(o->text) - 1] != '\n')
        printf("\n");
    shrink_command(o->seed, set, &set->over);
    if (set->shrink && n <= SHRUNK_MAX)
        shrink(o, set);
    fflush(stdout);
}

static void run_piece(const struct settings *set, uint64_t seed, uint64_t to, double until)
{
    static struct outcome o;
    while (seed <= to && (until <= 0 || run_seconds() < until) &&
           atomic_load(&common->failures) < (unsigned)set->failures) {
        run_child(seed, to, set, until, &o);
        tally->passes += o.seed - seed + !o.failed;
        seed = o.seed + 1;
        if (o.failed)
            tell_failure(&o, set);
        else
            break;
    }
}

static void run_job(const struct settings *set, double until)
{
    while (atomic_load(&common->failures) < (unsigned)set->failures &&
           (until <= 0 || run_seconds() < until)) {
        uint64_t from = atomic_fetch_add(&common->next, PIECE);
        if (from > set->to)
            return;
        uint64_t to = set->to - from < PIECE ? set->to : from + PIECE - 1;
        run_piece(set, from, to, until);
    }
}

static void add_up(const struct tally *from)
{
    tally->passes += from->passes;
    tally->failures += from->failures;
    uint64_t *to = (uint64_t *)&tally->n;
    const uint64_t *of = (const uint64_t *)&from->n;
    for (size_t i = 0; i < sizeof(tally->n) / sizeof(*to); i++)
        to[i] += of[i];
}

void run_seeds(const struct settings *set)
{
    double until = set->seconds > 0 ? run_seconds() + set->seconds : 0;
    int jobs = set->jobs > 0 ? set->jobs : 1;
    pid_t pids[64];
    if (!common)
        common = share(sizeof(*common));
    if (!tally)
        tally = share(sizeof(*tally));
    atomic_store(&common->next, set->from);
    if (jobs == 1) {
        run_job(set, until);
        return;
    }
    struct tally *each = share((size_t)jobs * sizeof(*each));
    fflush(stdout);
    for (int i = 0; i < jobs; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            abort();
        if (pids[i] == 0) {
            tally = &each[i];
            run_job(set, until);
            exit(0);
        }
    }
    for (int i = 0; i < jobs; i++) {
        int status;
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
            ;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            each[i].failures++;
        add_up(&each[i]);
    }
    (void)munmap(each, (size_t)jobs * sizeof(*each));
}
