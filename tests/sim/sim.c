/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sim.c -- pawl-sim: many seeds, each repeatable.
 *
 *     pawl-sim --seeds 1..1000 [--store memory|sqlite|jsonl] [--seconds N]
 *     pawl-sim --seed 42 -v          one seed, every step told
 *     pawl-sim --regress DIR         first the seeds of DIR/NAME.seed
 *     --ops N --instances N --size N --off SITE,SITE --plain    a smaller plan
 *
 * Seeds run in a child process, so that a violation, a failed assertion or a
 * crash costs one seed.  A failing seed is shrunk: fewer calls, smaller programs,
 * fewer faults, as long as the same rule is broken.
 */
#include "sim.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEED_SECONDS 60 /* longer than that is a hang */

struct settings {
    uint64_t from, to;
    enum sim_store store;
    bool one, shrink;
    double seconds; /* 0: no limit */
    const char *regress;
    struct overrides over;
};

/* Shared with the children. */
struct shared {
    uint64_t seed;
    struct counters n;
};

struct outcome {
    bool failed;
    uint64_t seed;
    char text[2500]; /* the end of what it said */
    char rule[40];
};

static struct shared *shared;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- Children --------------------------------------------------------------------------- */

NORETURN static void child_main(int out, uint64_t from, uint64_t to, const struct settings *set,
                                double until)
{
    (void)dup2(out, 1);
    (void)dup2(out, 2);
    for (uint64_t seed = from; seed <= to; seed++) {
        if (until > 0 && seed > from && seconds_now() > until)
            break;
        shared->seed = seed;
        alarm(SEED_SECONDS);
        struct plan plan = plan_make(seed, set->store, &set->over);
        world_run(&plan, &shared->n);
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
    const char *open = strrchr(o->text, '[');
    const char *fail = strstr(o->text, "FAIL seed=");
    if (fail && (open = strchr(fail, '[')))
        (void)snprintf(o->rule, sizeof(o->rule), "%.*s", (int)strcspn(open + 1, "]"), open + 1);
    else if (WIFSIGNALED(status))
        (void)snprintf(o->rule, sizeof(o->rule), "signal %d", WTERMSIG(status));
    else
        (void)snprintf(o->rule, sizeof(o->rule), "exit %d", WEXITSTATUS(status));
}

/* Run seeds until one fails or all are done; the last one run is o->seed. */
static void run_child(uint64_t from, uint64_t to, const struct settings *set, double until,
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
    o->seed = shared->seed;
    o->failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (o->failed)
        rule_of(o, status);
}

/* ---- Shrinking --------------------------------------------------------------------------- */

static bool still_fails(uint64_t seed, const struct settings *set, const struct overrides *over,
                        const char *rule, struct outcome *o)
{
    struct settings smaller = *set;
    struct counters before = shared->n;
    smaller.over = *over;
    run_child(seed, seed, &smaller, 0, o);
    shared->n = before;
    return o->failed && strcmp(o->rule, rule) == 0;
}

static void print_command(uint64_t seed, const struct settings *set, const struct overrides *over)
{
    printf("  repeat: build/tests/sim/pawl-sim --seed %llu", (unsigned long long)seed);
    if (set->store != SIM_MEMORY)
        printf(" --store %s", sim_store_names[set->store]);
    if (over->ops >= 0)
        printf(" --ops %d", over->ops);
    if (over->instances >= 0)
        printf(" --instances %d", over->instances);
    if (over->size >= 0)
        printf(" --size %d", over->size);
    if (over->off) {
        const char *comma = " --off ";
        for (int i = 0; i < SITE_COUNT; i++)
            if (over->off >> i & 1) {
                printf("%s%s", comma, sim_site_names[i]);
                comma = ",";
            }
    }
    printf("%s -v\n", over->plain ? " --plain" : "");
}

/* Try smaller values of one number, half of it first. */
static void shrink_number(uint64_t seed, const struct settings *set, struct overrides *best,
                          int *field, int now, const char *rule)
{
    struct outcome o;
    int low = 1;
    while (low < now) {
        int middle = low + (now - low) / 2, before = *field;
        *field = middle;
        if (still_fails(seed, set, best, rule, &o)) {
            now = middle;
        } else {
            *field = before;
            low = middle + 1;
        }
    }
}

static void shrink(const struct outcome *found, const struct settings *set)
{
    struct overrides best = set->over;
    struct outcome o;
    struct plan plan = plan_make(found->seed, set->store, &best);
    struct overrides trial = best;
    trial.plain = true;
    if (still_fails(found->seed, set, &trial, found->rule, &o))
        best = trial;
    for (int i = 0; i < SITE_COUNT; i++) {
        trial = best;
        trial.off |= 1U << i;
        if (plan.rate[i] && still_fails(found->seed, set, &trial, found->rule, &o))
            best = trial;
    }
    shrink_number(found->seed, set, &best, &best.ops, plan.ops, found->rule);
    shrink_number(found->seed, set, &best, &best.instances, plan.instances, found->rule);
    shrink_number(found->seed, set, &best, &best.size, plan.size, found->rule);
    (void)still_fails(found->seed, set, &best, found->rule, &o);
    printf("  smallest: %s", strstr(o.text, "FAIL") ? strstr(o.text, "FAIL") : o.text);
    print_command(found->seed, set, &best);
}

/* ---- Ranges -------------------------------------------------------------------------------- */

static uint64_t failures, passes;

static void run_range(const struct settings *set)
{
    double until = set->seconds > 0 ? seconds_now() + set->seconds : 0;
    uint64_t seed = set->from;
    while (seed <= set->to && (until <= 0 || seconds_now() < until)) {
        struct outcome o;
        run_child(seed, set->to, set, until, &o);
        passes += o.seed - seed + !o.failed;
        seed = o.seed + 1;
        if (!o.failed)
            continue;
        failures++;
        printf("seed %llu failed (%s):\n%s", (unsigned long long)o.seed, o.rule, o.text);
        if (o.text[0] && o.text[strlen(o.text) - 1] != '\n')
            printf("\n");
        print_command(o.seed, set, &set->over);
        if (set->shrink && failures <= 5)
            shrink(&o, set);
        fflush(stdout);
        if (failures >= 25) {
            printf("enough failures; stopped at seed %llu\n", (unsigned long long)o.seed);
            break;
        }
    }
}

static void print_counts(double began)
{
    const struct counters *n = &shared->n;
    double took = seconds_now() - began;
    printf("| sim: %llu seeds in %.1f s (%.0f/s): %llu steps, %llu looks, %llu instances "
           "(%llu ended), %llu events, %llu activities, %llu calls acknowledged, %llu crashes, "
           "%llu duplicates, %llu replays\n",
           (unsigned long long)n->seeds, took, (double)n->seeds / took,
           (unsigned long long)n->steps, (unsigned long long)n->looks,
           (unsigned long long)n->instances, (unsigned long long)n->completed,
           (unsigned long long)n->events, (unsigned long long)n->activities,
           (unsigned long long)n->acked, (unsigned long long)n->crashes,
           (unsigned long long)n->duplicates, (unsigned long long)n->replays);
    printf("| faults:");
    for (int i = 0; i < SITE_COUNT; i++)
        printf(" %s=%llu", sim_site_names[i], (unsigned long long)n->fired[i]);
    printf("\n");
}

/* ---- The command line ----------------------------------------------------------------------- */

static unsigned sites_of(const char *list)
{
    unsigned off = 0;
    for (int i = 0; i < SITE_COUNT; i++) {
        size_t n = strlen(sim_site_names[i]);
        for (const char *at = list; (at = strstr(at, sim_site_names[i])); at += n)
            if ((at == list || at[-1] == ',') && (at[n] == ',' || !at[n]))
                off |= 1U << i;
    }
    return off;
}

static void usage(void)
{
    fprintf(stderr, "usage: pawl-sim --seed N | --seeds A..B [--store memory|sqlite|jsonl] "
                    "[--seconds N] [--regress DIR] [--no-shrink] [--ops N] [--instances N] "
                    "[--size N] [--off SITES] [--plain] [-v]\n");
    exit(2);
}

static bool parse(int argc, char **argv, struct settings *set)
{
    for (int i = 0; i < argc; i++) {
        const char *flag = argv[i];
        if (strcmp(flag, "-v") == 0) {
            sim_verbose = true;
            continue;
        }
        if (strcmp(flag, "--plain") == 0) {
            set->over.plain = true;
            continue;
        }
        if (strcmp(flag, "--no-shrink") == 0) {
            set->shrink = false;
            continue;
        }
        if (i + 1 >= argc)
            return false;
        char *value = argv[++i], *end = value;
        if (strcmp(flag, "--seed") == 0) {
            set->from = set->to = strtoull(value, &end, 10);
            set->one = true;
        } else if (strcmp(flag, "--seeds") == 0) {
            set->from = strtoull(value, &end, 10);
            if (strncmp(end, "..", 2) != 0)
                return false;
            set->to = strtoull(end + 2, &end, 10);
        } else if (strcmp(flag, "--store") == 0) {
            set->store = SIM_JSONL;
            while (set->store != SIM_MEMORY && strcmp(value, sim_store_names[set->store]) != 0)
                set->store--;
        } else if (strcmp(flag, "--seconds") == 0) {
            set->seconds = strtod(value, &end);
        } else if (strcmp(flag, "--regress") == 0) {
            set->regress = value;
        } else if (strcmp(flag, "--ops") == 0) {
            set->over.ops = (int)strtol(value, &end, 10);
        } else if (strcmp(flag, "--instances") == 0) {
            set->over.instances = (int)strtol(value, &end, 10);
        } else if (strcmp(flag, "--size") == 0) {
            set->over.size = (int)strtol(value, &end, 10);
        } else if (strcmp(flag, "--off") == 0) {
            set->over.off = sites_of(value);
        } else {
            return false;
        }
    }
    return true;
}

/* Each line of a .seed file that is not a comment holds the arguments of one run.
 * Read at once: a child that exits moves the offset of an open file. */
static void run_file(const char *path, const struct settings *set)
{
    static char text[20000];
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    for (char *line, *next = text; (line = strsep(&next, "\n"));) {
        char *words[32], *rest = line;
        int n = 0;
        line[strcspn(line, "#")] = 0;
        for (char *w; n < 32 && (w = strtok_r(rest, " ", &rest));)
            words[n++] = w;
        struct settings one = {
            .shrink = false, .over = {-1, -1, -1, 0, false}
        };
        if (n && parse(n, words, &one) && one.store == set->store)
            run_range(&one);
    }
}

static void run_regress(const struct settings *set)
{
    struct dirent **names = NULL;
    int n = scandir(set->regress, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[1000];
        size_t len = strlen(names[i]->d_name);
        (void)snprintf(path, sizeof(path), "%s/%s", set->regress, names[i]->d_name);
        if (len > 5 && strcmp(names[i]->d_name + len - 5, ".seed") == 0)
            run_file(path, set);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    struct settings set = {
        .from = 1, .to = 1000, .shrink = true, .over = {-1, -1, -1, 0, false}
    };
    if (!parse(argc - 1, argv + 1, &set) || set.to < set.from)
        usage();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    if (set.one && sim_verbose) { /* in this process: for a debugger */
        struct plan plan = plan_make(set.from, set.store, &set.over);
        plan_print(&plan, stdout);
        world_run(&plan, &shared->n);
        printf("pawl-sim: 1 passed, 0 failed\n");
        return 0;
    }
    double began = seconds_now();
    if (set.regress)
        run_regress(&set);
    run_range(&set);
    print_counts(began);
    printf("pawl-sim: %llu passed, %llu failed\n", (unsigned long long)passes,
           (unsigned long long)failures);
    return failures ? 1 : 0;
}
