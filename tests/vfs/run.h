/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/run.h -- what the programs here have in common: options, a process for each
 * story, sums.
 *
 *     --seed N        other damage                  --full          all variants
 *     --seconds N     go on with new seeds so long  --jobs N        processes at a time (2)
 *     --summary FILE  append a line of JSON         WORD            only points so named
 */
#ifndef PAWL_TESTS_RUN_H
#define PAWL_TESTS_RUN_H

#include "world.h"

struct run {
    uint64_t seed;
    int variants; /* at each point */
    int jobs;
    bool full, quiet;
    long seconds;
    int64_t until_ms; /* mono; 0: no end */
    const char *summary, *word, *mutant;
};

struct run_totals {
    int passed, failed;
    int points;  /* operations or allocations of the story */
    int ordered; /* answers and starts that found their commit synced */
    int states;  /* came back to a committed state, row for row */
    int aborted; /* ended the process with a clear line, and came back */
    int refused; /* somebody was told, and tried again */
};

typedef struct run_totals run_story_fn(const struct run *run, const struct story *story,
                                       bool opening);

void run_options(struct run *ret, int argc, char **argv);
bool run_wants(const struct run *run, const char *name);
bool run_is_over(const struct run *run);
/* One story in a process of its own. */
struct run_totals run_in_process(const struct run *run, const struct story *story,
                                 run_story_fn *fn);
/* All of them; the first is told with the opening of an empty disk. */
struct run_totals run_all(struct run *run, run_story_fn *fn);
/* Print a failure of `program` at `where`, and count it. */
__attribute__((format(printf, 4, 5))) void
run_fail(const char *program, const char *where, struct run_totals *sum, const char *format, ...);
/* Print and write the sums; the exit status. */
int run_sum_up(const struct run *run, const char *program, const char *what,
               const struct run_totals *sum);

#endif
