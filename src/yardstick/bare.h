/* SPDX-License-Identifier: MIT */
/*
 * yardstick/bare.h -- the rows of a workload of `pawl bench`, written by bare, batched SQLite.
 *
 * The engine cannot be faster than this on the same disk; how near it comes is its own cost.  The
 * room knows no store and no runtime: the command line is its only caller.
 */
#ifndef PAWL_YARDSTICK_BARE_H
#define PAWL_YARDSTICK_BARE_H

#include "pawl/types.h"

enum workload {
    WORKLOAD_HELLO,
    WORKLOAD_CHAIN,
    WORKLOAD_FANOUT,
    WORKLOAD_QUEUE,
    WORKLOAD_EVENTS,
    WORKLOAD_TIMERS,
    WORKLOAD_REPLAY,
};

/* Payloads of every step; the yardstick writes the same bytes. */
#define BENCH_INPUT  "{\"name\":\"world\",\"count\":1,\"note\":\"a step of a benchmark\"}"
#define BENCH_OUTPUT "\"Hello, world, from a step of a benchmark\""
/* And what is pushed. */
#define BENCH_ITEM "{\"id\":1,\"name\":\"performance-test\",\"note\":\"an item of a benchmark\"}"

struct bare_load {
    enum workload workload; /* none of TIMERS and REPLAY */
    const char *dir;        /* a file of its own is made here */
    uint32_t in_flight;     /* orchestrations */
    uint32_t steps;         /* of each */
};

/*
 * Write for about `seconds`, `batch` rounds per commit.  Orchestrations per second for hello, steps
 * per second for the others; negative on failure, with *reterr set.
 */
double bare_sqlite(const struct bare_load *load, uint64_t batch, double seconds,
                   pawl_error *reterr);

#endif
