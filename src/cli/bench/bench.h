/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench.h -- the parts of `pawl bench`.
 *
 *   verb_bench.c     flags, a fresh directory, the report
 *   bench_load.c     keeps N orchestrations in flight and measures them
 *   bench_http.c     hello over HTTP: start and wait
 *   bench_events.c   raises to waiting instances; bench_timers.c sleeping ones;
 *                    bench_crowd.h starts them
 *   bench_replay.c   reads and replays a long history
 *   bench_queue.c    the queue workload; bench_queue.h has its parts
 *
 * A *step* is one activity: from the commit that scheduled it to the commit that
 * recorded its completion.
 */
#ifndef PAWL_CLI_BENCH_H
#define PAWL_CLI_BENCH_H

#include "cli/cli.h"
#include "cli/watch.h"
#include "yardstick/bare.h"

struct bench {
    struct cli *cli;
    enum workload workload;
    const char *dir;  /* fresh, on a disk; owned by cli->mem */
    bool in_memory;   /* --store memory: */
    const char *url;  /* of a schema of its own on a database server; NULL: none */
    const char *kind; /* the store, for the report */
    bool over_http;   /* --url, or --serve: one started here */
    uint32_t steps;   /* activities per orchestration: 1, --steps or --width */
    uint32_t in_flight;
    uint32_t instances; /* that wait, for events and timers; 0: the workload chooses */
    struct watch *watch;
};

/* Of the queue workload: what all clients did in one phase. */
struct bench_phase {
    double seconds;
    uint64_t count, syncs; /* messages; commits */
    int64_t p50_us, p99_us;
    double cpu_us; /* of the server, or the process */
};

/* What was measured. */
struct bench_result {
    double seconds;
    uint64_t orchestrations, steps, syncs, rounds;
    int64_t p50_us, p99_us, step_p50_us, step_p99_us; /* p50_us is 0 when none ended */
    int64_t step_early_us, step_late_us;              /* medians: first and last tenth */
    double cpu_us;                                    /* of the whole process */
    uint64_t rss_kb;
    double fdatasync_us;
    double ceiling_per_s; /* 0: not measured */
    /* Of timers. */
    double starts_per_s, restart_ms, idle_cpu_us_per_s, bytes_each;
    uint64_t idle_rss_kb;
    double load_ns_per_event, replay_ns_per_event, wake_ms; /* of replay */
    struct bench_phase queue[3]; /* push; pop and ack; the same with one lock */
};

/* Run the workload.  0, or an exit status: the error was printed. */
int bench_load(struct bench *b, struct bench_result *ret);
int bench_hello_http(struct bench *b, struct bench_result *ret);
int bench_queue(struct bench *b, struct bench_result *ret);
int bench_events(struct bench *b, struct bench_result *ret);
int bench_timers(struct bench *b, struct bench_result *ret);
int bench_replay(struct bench *b, struct bench_result *ret);
void bench_queue_json(const struct bench *b, const struct bench_result *r, pawl_json *w);
void bench_queue_table(const struct bench *b, const struct bench_result *r);

/* The orchestrations of the workloads. */
pawl_app *bench_app(void);
/* What a client of the queue does next: push, or pop and then ack what it holds ("": nothing). */
pawl_queue_request bench_message(const char *queue, bool pops, const char *const *held);
/* A runtime on the bench's directory, its threads started; NULL with *reterr set. */
pawl_runtime *bench_runtime(struct bench *b, pawl_app *app, pawl_error *reterr);
double bench_cpu_us(void); /* of this process so far */
uint64_t bench_rss_kb(void);
/* A member with two digits where they matter. */
void bench_number(pawl_json *w, const char *key, double value);

#endif
