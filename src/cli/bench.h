/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.h -- the parts of `pawl bench`.
 *
 *   verb_bench.c     flags, a fresh directory, the report
 *   bench_load.c     keeps N orchestrations in flight and measures them
 *   bench_ceiling.c  the same rows written by bare SQLite, for comparison
 *
 * A *step* is one activity: from the commit that scheduled it to the commit that
 * recorded its completion.
 */
#ifndef PAWL_CLI_BENCH_H
#define PAWL_CLI_BENCH_H

#include "cli/cli.h"
#include "cli/watch.h"

enum workload { WORKLOAD_HELLO, WORKLOAD_CHAIN, WORKLOAD_FANOUT };

struct bench {
    struct cli *cli;
    enum workload workload;
    const char *dir; /* fresh, on a disk; owned by cli->mem */
    bool in_memory;  /* --store memory: */
    uint32_t steps;  /* activities an orchestration: 1, --steps or --width */
    uint32_t in_flight;
    struct watch *watch;
};

/* What was measured. */
struct bench_result {
    double seconds;
    uint64_t orchestrations, steps, syncs, rounds;
    int64_t p50_us, p99_us, step_p50_us, step_p99_us; /* p50_us is 0 when none ended */
    double cpu_us;                                    /* of the whole process */
    uint64_t rss_kb;
    double fdatasync_us;
    double ceiling_per_s; /* 0: not measured */
};

/* Payloads of every step; bench_ceiling.c writes the same bytes. */
#define BENCH_INPUT  "{\"name\":\"world\",\"count\":1,\"note\":\"a step of a benchmark\"}"
#define BENCH_OUTPUT "\"Hello, world, from a step of a benchmark\""

/* Run the workload.  0, or an exit status after having said what is wrong. */
int bench_load(struct bench *b, struct bench_result *ret);

/*
 * Write the rows of the workload with bare SQLite, `batch` rounds a commit, in a
 * file of its own in `dir`, for about `seconds`.  Orchestrations a second for
 * hello, steps a second for the others; negative on failure, with *reterr set.
 */
double bench_ceiling(const struct bench *b, uint64_t batch, double seconds, pawl_error *reterr);

#endif
