/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/run.h -- many seeds: settings, processes, shrinking, reports.
 *
 *   sim.c     the command line, seeds kept in files
 *   run.c     seeds in child processes, on several cores
 *   shrink.c  the smallest plan that still breaks the same rule
 *   report.c  counters for people and as one line of JSON
 */
#ifndef PAWL_TESTS_SIM_RUN_H
#define PAWL_TESTS_SIM_RUN_H

#include "sim.h"

#include <stdatomic.h>

struct settings {
    uint64_t from, to;
    enum sim_store store;
    bool one, shrink;
    double seconds; /* 0: no limit */
    int jobs;       /* processes that run seeds */
    int failures;   /* so many are enough */
    const char *regress, *summary;
    struct overrides over;
};

/* What one of the processes did; in memory shared with its children. */
struct tally {
    uint64_t seed; /* running */
    uint64_t passes, failures;
    struct counters n;
};

struct outcome {
    bool failed;
    uint64_t seed;
    char text[24000]; /* the end of what it said */
    char rule[40];
};

extern struct tally *tally; /* of this process */

/* Run seeds in a child until one fails or all are done; the last one run is o->seed. */
void run_child(uint64_t from, uint64_t to, const struct settings *set, double until,
               struct outcome *o);
/* All of set->from..to, on set->jobs processes; adds to *tally. */
void run_seeds(const struct settings *set);
double run_seconds(void); /* since some time */

void shrink(const struct outcome *found, const struct settings *set);
void shrink_command(uint64_t seed, const struct settings *set, const struct overrides *over);

void report_print(const struct tally *t, double seconds);
/* One line of JSON, appended to the file; false: it cannot be written. */
bool report_append(const struct tally *t, const struct settings *set, double seconds);

#endif
