/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_events.c -- raise, resumed, recorded: how long, and how many a second.
 *
 * --instances of them wait for an event; --concurrency raises are on their way at
 * any time, to instances drawn at random.  With many more instances than fit into
 * the fiber memory each raise loads and replays one first.  An answer to a raise
 * comes after the commit that recorded the event and what the code did with it.
 */
#include "cli/bench/bench_crowd.h"

#include "base/clock.h"
#include "cli/bench/histogram.h"

#include <stdlib.h>

struct caller {
    struct events *events;
    int64_t begun_us;
};

struct events {
    struct crowd crowd;
    struct caller *callers;
    struct histogram took;
    uint64_t random, raised;
    uint32_t busy;
    int64_t end_us;
};

static void describe(struct crowd *c UNUSED, uint64_t index, char id[CROWD_ID_BYTES],
                     char input[32])
{
    snprintf(id, CROWD_ID_BYTES, "bench-%llu", (unsigned long long)index);
    snprintf(input, 32, "1");
}

/* xorshift: drawing the next instance must be cheap. */
static uint64_t draw(struct events *e)
{
    e->random ^= e->random << 13;
    e->random ^= e->random >> 7;
    e->random ^= e->random << 17;
    return e->random % e->crowd.count;
}

static void on_raise(void *arg, const pawl_reply *reply);

static void raise_one(struct caller *caller)
{
    struct events *e = caller->events;
    char id[CROWD_ID_BYTES], input[32];
    pawl_error err;
    bool own = e->crowd.count == e->crowd.bench->in_flight;
    describe(&e->crowd, own ? (uint64_t)(caller - e->callers) : draw(e), id, input);
    const pawl_request *raise = PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = id, .name = "go",
                                             .data = pawl_s(BENCH_OUTPUT));
    caller->begun_us = clock_mono_us();
    if (pawl_client_submit(e->crowd.client, raise, on_raise, caller, &err) != PAWL_OK)
        crowd_over(&e->crowd, err.text);
}

static void on_raise(void *arg, const pawl_reply *reply)
{
    struct caller *caller = arg;
    struct events *e = caller->events;
    int64_t now = clock_mono_us();
    if (reply->status != PAWL_OK) {
        crowd_over(&e->crowd, reply->error.text);
        return;
    }
    histogram_add(&e->took, now - caller->begun_us, 1);
    e->raised++;
    if (now < e->end_us)
        raise_one(caller);
    else if (--e->busy == 0)
        crowd_over(&e->crowd, NULL);
}

static void on_commit(void *arg, const pawl_change *changes UNUSED, size_t count UNUSED)
{
    struct events *e = arg;
    atomic_fetch_add_explicit(&e->crowd.commits, 1, memory_order_relaxed);
}

static int drive(struct events *e, struct bench_result *ret)
{
    struct bench *b = e->crowd.bench;
    int status = crowd_start(&e->crowd);
    if (status)
        return status;
    uint64_t syncs = atomic_load(&e->crowd.commits);
    double cpu_us = bench_cpu_us();
    int64_t begin = clock_mono_us();
    e->end_us = begin + (int64_t)b->cli->args.seconds * 1000000;
    e->busy = b->in_flight;
    for (uint32_t i = 0; i < b->in_flight; i++) {
        e->callers[i].events = e;
        raise_one(&e->callers[i]);
    }
    status = crowd_wait(&e->crowd);
    ret->seconds = (double)(clock_mono_us() - begin) / 1e6;
    ret->cpu_us = bench_cpu_us() - cpu_us;
    ret->rss_kb = bench_rss_kb();
    ret->syncs = atomic_load(&e->crowd.commits) - syncs;
    ret->steps = ret->rounds = e->raised;
    ret->p50_us = ret->step_p50_us = histogram_at(&e->took, 50);
    ret->p99_us = ret->step_p99_us = histogram_at(&e->took, 99);
    return status;
}

int bench_events(struct bench *b, struct bench_result *ret)
{
    struct events *e = calloc(1, sizeof(*e));
    assert_that(e);
    e->callers = calloc(b->in_flight, sizeof(*e->callers));
    assert_that(e->callers);
    e->random = 88172645463325252u;
    e->crowd.bench = b;
    e->crowd.name = "BenchEvents";
    e->crowd.describe = describe;
    b->instances = b->instances > b->in_flight ? b->instances : b->in_flight;
    e->crowd.count = b->instances;
    int status = crowd_open(&e->crowd, on_commit, e);
    if (!status)
        status = drive(e, ret);
    crowd_close(&e->crowd);
    pawl_app_free(e->crowd.app);
    free(e->callers);
    free(e);
    return status;
}
