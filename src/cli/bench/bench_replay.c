/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_replay.c -- what a long history costs a process that finds it.
 *
 * One instance records --steps activities and then waits.  In a new
 * runtime its history is read (warm: the file is in the system's cache) and replayed,
 * again and again; then, in another runtime, it is woken: read, replayed and ended by
 * the engine itself.  Called by verb_bench.c.
 */
#include "cli/bench/bench.h"

#include "base/clock.h"
#include "base/limits.h"
#include "cli/bench/histogram.h"
#include "pawl/replay.h"

#include <stdlib.h>

#define INSTANCE "bench-replay"

struct replays {
    struct bench *bench;
    pawl_app *app;
    pawl_runtime *rt;
    pawl_client *client;
    pawl_mem *mem;
    struct histogram reads, replays; /* µs of a whole history */
    atomic_ulong last_seq;           /* told by the feed */
    atomic_int ended;
    pawl_error err;
};

static void on_commit(void *arg, const pawl_change *changes, size_t count)
{
    struct replays *r = arg;
    if (pawl_state_is_terminal(changes[count - 1].state))
        atomic_store(&r->ended, 1);
    atomic_store(&r->last_seq, changes[count - 1].last_seq);
}

static bool reopen(struct replays *r)
{
    pawl_runtime_close(r->rt);
    r->rt = bench_runtime(r->bench, r->app, &r->err);
    if (!r->rt)
        return false;
    r->client = pawl_runtime_client(r->rt);
    return pawl_client_feed(r->client, on_commit, r) != 0;
}

/* OrchestrationStarted, two a step, and the wait. */
static uint64_t events_of(const struct bench *b)
{
    return 2 * (uint64_t)b->steps + 2;
}

/* An exit status when it was interrupted or ended too early. */
static int record(struct replays *r)
{
    char input[32];
    pawl_reply reply;
    int signal_number;
    snprintf(input, sizeof(input), "%u", r->bench->steps);
    if (pawl_client_start(r->client, "BenchReplay", pawl_s(input),
                          PAWL_START_OPTS(.instance = INSTANCE), &reply) != PAWL_OK)
        return cli_fail_error(r->bench->cli, &reply.error);
    while (atomic_load(&r->last_seq) < events_of(r->bench)) {
        if (watch_next(r->bench->watch, 50, &signal_number) == WATCH_SIGNAL)
            return EXIT_INTERRUPTED + signal_number;
        if (atomic_load(&r->ended))
            return cli_fail(r->bench->cli, EXIT_FAILED, "the benchmark failed: a step failed");
    }
    return 0;
}

/* Read and replay once. */
static bool replay_once(struct replays *r)
{
    pawl_info info;
    pawl_history history;
    pawl_replay_report report;
    pawl_mem_reset(r->mem);
    if (pawl_client_get(r->client, INSTANCE, 0, r->mem, &info, &r->err) != PAWL_OK)
        return false;
    int64_t begin = clock_mono_us();
    if (pawl_client_history(r->client, INSTANCE, 0, 0, (uint32_t)events_of(r->bench), r->mem,
                            &history, &r->err) != PAWL_OK)
        return false;
    int64_t read = clock_mono_us();
    if (pawl_replay(r->app, &info, history.events, history.count, NULL, &report, &r->err) !=
        PAWL_OK)
        return false;
    histogram_add(&r->replays, clock_mono_us() - read, 1);
    histogram_add(&r->reads, read - begin, 1);
    if (report.outcome == PAWL_REPLAY_WAITS && report.events == events_of(r->bench))
        return true;
    error_set(&r->err, PAWL_CORRUPT, "the history does not fit: %s", report.text);
    return false;
}

/* From the event that wakes it to the commit of its end. */
static bool wake(struct replays *r, struct bench_result *ret)
{
    pawl_info info;
    pawl_mem_reset(r->mem);
    int64_t begin = clock_mono_us();
    if (pawl_client_raise(r->client, INSTANCE, "go", pawl_s("1"), NULL, &r->err) != PAWL_OK ||
        pawl_client_wait(r->client, INSTANCE, 0, -1, r->mem, &info, &r->err) != PAWL_OK)
        return false;
    ret->wake_ms = (double)(clock_mono_us() - begin) / 1e3;
    return info.state == PAWL_COMPLETED;
}

static bool measure(struct replays *r, struct bench_result *ret)
{
    if (!reopen(r))
        return false;
    int64_t begin = clock_mono_us();
    int64_t end = begin + (int64_t)r->bench->cli->args.seconds * 1000000;
    double cpu_us = bench_cpu_us();
    do {
        if (!replay_once(r))
            return false;
    } while (clock_mono_us() < end);
    ret->seconds = (double)(clock_mono_us() - begin) / 1e6;
    ret->cpu_us = bench_cpu_us() - cpu_us;
    double events = (double)events_of(r->bench);
    ret->load_ns_per_event = (double)histogram_at(&r->reads, 50) * 1e3 / events;
    ret->replay_ns_per_event = (double)histogram_at(&r->replays, 50) * 1e3 / events;
    if (!reopen(r) || !wake(r, ret))
        return false;
    ret->rss_kb = bench_rss_kb();
    return true;
}

int bench_replay(struct bench *b, struct bench_result *ret)
{
    struct replays *r = calloc(1, sizeof(*r));
    assert_that(r);
    *r = (struct replays){.bench = b, .app = bench_app(), .mem = pawl_mem_new()};
    r->err = (pawl_error){.status = PAWL_NO_MEMORY, .text = "out of memory"};
    int status = reopen(r) ? record(r) : cli_fail_error(b->cli, &r->err);
    if (!status && !measure(r, ret))
        status = cli_fail_error(b->cli, &r->err);
    pawl_runtime_close(r->rt);
    pawl_app_free(r->app);
    pawl_mem_free(r->mem);
    free(r);
    return status;
}
