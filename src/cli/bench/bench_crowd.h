/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_crowd.h -- a great many instances that wait, for `events` and `timers`.
 *
 * Starting them is not what is measured: they are submitted a thousand at a time
 * and the caller sleeps until the last is durable.  Counters belong to the engine
 * thread while it runs (replies come on it), and to the caller before and after.
 */
#ifndef PAWL_CLI_BENCH_CROWD_H
#define PAWL_CLI_BENCH_CROWD_H

#include "cli/bench/bench.h"

#define CROWD_ID_BYTES 40

struct crowd {
    struct bench *bench;
    pawl_app *app;    /* owned */
    pawl_runtime *rt; /* owned; NULL between close and open */
    pawl_client *client;
    const char *name; /* of the orchestration */
    uint64_t count;   /* instances wanted */
    /* Id and input of one of them. */
    void (*describe)(struct crowd *c, uint64_t index, char id[CROWD_ID_BYTES], char input[32]);
    uint64_t submitted, started;
    atomic_ulong commits;
    atomic_bool over;
    char trouble[200]; /* what went wrong; "": nothing */
    void *user;
};

/* A runtime with the workloads' code, and a feed that counts commits. */
int crowd_open(struct crowd *c, pawl_feed_fn *feed, void *arg);
void crowd_close(struct crowd *c);
/* Start all of them; 0 or an exit status. */
int crowd_start(struct crowd *c);
/* End the wait; `trouble`: why it failed, or NULL.  From any thread, once. */
void crowd_over(struct crowd *c, const char *trouble);
/* Sleep until crowd_over(); 0, or an exit status: the error was printed. */
int crowd_wait(struct crowd *c);

#endif
