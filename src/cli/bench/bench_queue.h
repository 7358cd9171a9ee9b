/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_queue.h -- the queue workload, over two ways to reach a queue.
 *
 *   bench_queue.c   which phases there are, and the report
 *   bench_local.c   in process: requests and replies of pawl/queue.h
 *   bench_http.c    over HTTP: a server, and connections to it (also for hello)
 *
 * A phase keeps `lanes` clients busy with one thing.  A lane has one request out
 * at a time; the next follows from the answer.
 */
#ifndef PAWL_CLI_BENCH_QUEUE_H
#define PAWL_CLI_BENCH_QUEUE_H

#include "cli/bench/bench.h"
#include "cli/bench/histogram.h"

struct queue_phase {
    const char *queue;
    bool pops; /* pop under a lock and acknowledge; else push */
    uint32_t lanes;
    double for_seconds; /* or until the queue is empty */

    double seconds; /* it took */
    uint64_t count; /* messages pushed, or popped and acknowledged */
    uint64_t syncs;
    double cpu_us; /* of the server; of the whole process without one */
    uint64_t rss_kb;
    int64_t p50_us, p99_us;
    struct histogram *took;
};

struct transport {
    int (*open)(struct bench *b, void **ret);
    /* The queue takes any number of locks at once, or one. */
    int (*configure)(void *of, const char *queue, uint32_t max_locks);
    int (*run)(void *of, struct queue_phase *p);
    void (*close)(void *of);
};

extern const struct transport bench_local, bench_remote;

#endif
