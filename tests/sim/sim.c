/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sim.c -- pawl-sim: the command line.
 *
 *     pawl-sim --seeds 1..1000 [--store memory|sqlite|jsonl|far] [--seconds N] [--jobs N]
 *     pawl-sim --seed 42 -v          one seed, every step told
 *     pawl-sim --seed 42 --shrink    the smallest plan that fails like it, and its events
 *     pawl-sim --regress DIR         first the seeds of DIR/NAME.seed
 *     --failures N                   stop after so many (25)
 *     --summary FILE                 append one line of JSON: seeds, turns, faults, checks
 *     --ops N --instances N --size N --off SITE,SITE --drop MASK --plain    a smaller plan
 */
#include "run.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- The command line ----------------------------------------------------------------------- */

static uint64_t sites_of(const char *list)
{
    uint64_t set = 0;
    for (int i = 0; i < SITE_COUNT; i++) {
        size_t n = strlen(sim_site_names[i]);
        for (const char *at = list; (at = strstr(at, sim_site_names[i])); at += n)
            if ((at == list || at[-1] == ',') && (at[n] == ',' || !at[n]))
                set |= UINT64_C(1) << i;
    }
    return set;
}

static void usage(void)
{
    fprintf(
        stderr,
        "usage: pawl-sim --seed N | --seeds A..B [--store memory|sqlite|jsonl|far] "
        "[--seconds N] [--jobs N] [--failures N] [--regress DIR] [--summary FILE] [--no-shrink] "
        "[--ops N] [--instances N] [--size N] [--off SITES] [--on SITES] [--drop MASK] [--plain] "
        "[--shrink] [-v]\n");
    exit(2);
}

/* Flags without a value. */
static bool parse_switch(const char *flag, struct settings *set)
{
    if (strcmp(flag, "-v") == 0)
        sim_verbose = true;
    else if (strcmp(flag, "--plain") == 0)
        set->over.plain = true;
    else if (strcmp(flag, "--no-shrink") == 0)
        set->shrink = false;
    else if (strcmp(flag, "--shrink") == 0)
        set->shrink = true;
    else
        return false;
    return true;
}

static bool parse_seeds(const char *value, struct settings *set)
{
    char *end;
    set->from = strtoull(value, &end, 10);
    if (strncmp(end, "..", 2) != 0)
        return false;
    set->to = strtoull(end + 2, &end, 10);
    return !*end;
}

static bool parse_store(const char *value, struct settings *set)
{
    for (set->store = SIM_MEMORY; set->store <= SIM_FAR; set->store++)
        if (strcmp(value, sim_store_names[set->store]) == 0)
            return true;
    return false;
}

static bool parse_value(const char *flag, const char *value, struct settings *set)
{
    char *end = NULL;
    if (strcmp(flag, "--seed") == 0) {
        set->from = set->to = strtoull(value, &end, 10);
        set->one = true;
    } else if (strcmp(flag, "--seconds") == 0) {
        set->seconds = strtod(value, &end);
    } else if (strcmp(flag, "--jobs") == 0) {
        set->jobs = (int)strtol(value, &end, 10);
        return !*end && set->jobs >= 1 && set->jobs <= 64;
    } else if (strcmp(flag, "--failures") == 0) {
        set->failures = (int)strtol(value, &end, 10);
    } else if (strcmp(flag, "--ops") == 0) {
        set->over.ops = (int)strtol(value, &end, 10);
    } else if (strcmp(flag, "--instances") == 0) {
        set->over.instances = (int)strtol(value, &end, 10);
    } else if (strcmp(flag, "--size") == 0) {
        set->over.size = (int)strtol(value, &end, 10);
    } else if (strcmp(flag, "--drop") == 0) {
        set->over.drop = strtoull(value, &end, 16);
    } else if (strcmp(flag, "--seeds") == 0) {
        return parse_seeds(value, set);
    } else if (strcmp(flag, "--store") == 0) {
        return parse_store(value, set);
    } else if (strcmp(flag, "--off") == 0) {
        set->over.off = sites_of(value);
        return true;
    } else if (strcmp(flag, "--on") == 0) {
        set->over.on = sites_of(value);
        return true;
    } else if (strcmp(flag, "--regress") == 0) {
        set->regress = value;
        return true;
    } else if (strcmp(flag, "--summary") == 0) {
        set->summary = value;
        return true;
    }
    return end && end != value && !*end;
}

static bool parse(int argc, char **argv, struct settings *set)
{
    for (int i = 0; i < argc; i++) {
        if (parse_switch(argv[i], set))
            continue;
        if (i + 1 >= argc || !parse_value(argv[i], argv[i + 1], set))
            return false;
        i++;
    }
    return set->to >= set->from;
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
            .jobs = 1, .failures = 25, .over = {.ops = -1, .instances = -1, .size = -1}
        };
        bool known = !n || parse(n, words, &one);
        one.over.off |= SIM_SITES_LATER & ~one.over.on;
        if (!known) {
            printf("FAIL %s: not understood: %s …\n", path, words[0]);
            tally->failures++;
        } else if (n && one.store == set->store) {
            run_seeds(&one);
        }
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

/* In this process: for a debugger. */
static int run_told(const struct settings *set)
{
    static struct tally mine;
    struct plan plan = plan_of_seed(set->from, set->store, &set->over);
    plan_print(&plan, stdout);
    world_run(&plan, &mine.n);
    printf("pawl-sim: 1 passed, 0 failed\n");
    return 0;
}

int main(int argc, char **argv)
{
    struct settings set = {
        .from = 1,
        .to = 1000,
        .jobs = 1,
        .failures = 25,
        .shrink = true,
        .over = {.ops = -1, .instances = -1, .size = -1}
    };
    if (!parse(argc - 1, argv + 1, &set))
        usage();
    if (set.one && sim_verbose)
        return run_told(&set);
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED)
        return 1;
    double began = run_seconds();
    if (set.regress)
        run_regress(&set);
    run_seeds(&set);
    double took = run_seconds() - began;
    report_print(tally, took);
    bool written = !set.summary || report_append(tally, &set, took);
    if (!written)
        printf("FAIL %s cannot be written\n", set.summary);
    printf("pawl-sim: %llu passed, %llu failed\n", (unsigned long long)tally->passes,
           (unsigned long long)tally->failures + !written);
    return tally->failures || !written ? 1 : 0;
}
