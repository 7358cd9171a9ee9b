/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_timers.c -- a great many sleeping instances: what they cost, and
 * whether they wake in time.
 *
 *   start --instances that sleep for a year, then --seconds * 10,000 that are due
 *   soon  ->  close, open again (how long until a turn runs)  ->  do nothing for two
 *   seconds (CPU, memory)  ->  the due ones fire, 10,000 a second: how late?
 *
 * An id says when it is due, so lateness needs no table.  Late is measured to the
 * commit that recorded the end, on the wall clock the timers are set by.
 */
#include "cli/bench/bench_crowd.h"

#include "base/clock.h"
#include "cli/bench/histogram.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RATE      10000 /* due per second */
#define IDLE_MS   2000
#define YEAR_MS   INT64_C(31536000000)
#define MARGIN_MS 15000 /* from the last start to the first due one: restart and idle lie in it */

struct timers {
    struct crowd crowd;
    struct histogram late;
    uint64_t due_count, fired;
    int64_t first_due_ms; /* wall */
    int64_t last_us;      /* when the last one fired */
};

static void describe_far(struct crowd *c UNUSED, uint64_t index, char id[CROWD_ID_BYTES],
                         char input[32])
{
    snprintf(id, CROWD_ID_BYTES, "far-%llu", (unsigned long long)index);
    snprintf(input, 32, "%lld", YEAR_MS + (long long)clock_wall_ms());
}

static void describe_due(struct crowd *c, uint64_t index, char id[CROWD_ID_BYTES], char input[32])
{
    struct timers *t = c->user;
    long long due = t->first_due_ms + (int64_t)(index * 1000 / RATE);
    snprintf(id, CROWD_ID_BYTES, "due-%lld-%llu", due, (unsigned long long)index);
    snprintf(input, 32, "%lld", due);
}

/* The time in "due-TIME-N"; 0: another instance. */
static int64_t due_of(pawl_str id)
{
    int64_t due = 0;
    if (id.len < 5 || memcmp(id.ptr, "due-", 4) != 0)
        return 0;
    for (size_t i = 4; i < id.len && id.ptr[i] != '-'; i++)
        due = due * 10 + (id.ptr[i] - '0');
    return due;
}

static void on_commit(void *arg, const pawl_change *changes, size_t count)
{
    struct timers *t = arg;
    int64_t now_ms = clock_wall_ms();
    atomic_fetch_add_explicit(&t->crowd.commits, 1, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) {
        int64_t due = due_of(changes[i].instance);
        if (!due || !pawl_state_is_terminal(changes[i].state))
            continue;
        histogram_add(&t->late, now_ms > due ? (now_ms - due) * 1000 : 0, 1);
        t->last_us = clock_mono_us();
        if (++t->fired == t->due_count)
            crowd_over(&t->crowd, NULL);
    }
}

/* Close, open, and let one new instance make its first turn. */
static int restart(struct timers *t, struct bench_result *ret)
{
    crowd_close(&t->crowd);
    (void)malloc_trim(0); /* as a new process would have it */
    int64_t began = clock_mono_us();
    int status = crowd_open(&t->crowd, on_commit, t);
    pawl_reply reply;
    if (status)
        return status;
    if (pawl_client_start(t->crowd.client, "BenchHello", pawl_s("1"), NULL, &reply) != PAWL_OK)
        return cli_fail_error(t->crowd.bench->cli, &reply.error);
    ret->restart_ms = (double)(clock_mono_us() - began) / 1000;
    return 0;
}

static void idle(struct bench_result *ret)
{
    struct timespec pause = {.tv_sec = IDLE_MS / 1000};
    struct timespec settle = {.tv_sec = 1};
    (void)nanosleep(&settle, NULL);
    double cpu_us = bench_cpu_us();
    (void)nanosleep(&pause, NULL);
    ret->idle_cpu_us_per_s = (bench_cpu_us() - cpu_us) * 1000 / IDLE_MS;
    ret->idle_rss_kb = bench_rss_kb();
}

static int populate(struct timers *t, uint64_t far, struct bench_result *ret)
{
    struct crowd *c = &t->crowd;
    int64_t began = clock_mono_us();
    c->count = far;
    c->describe = describe_far;
    int status = crowd_start(c);
    if (status)
        return status;
    ret->starts_per_s = (double)far * 1e6 / (double)(clock_mono_us() - began);
    c->count = t->due_count;
    c->describe = describe_due;
    double start_ms = 2000 * (double)t->due_count / ret->starts_per_s;
    t->first_due_ms = clock_wall_ms() + MARGIN_MS + (int64_t)start_ms;
    return crowd_start(c);
}

static int drive(struct timers *t, struct bench_result *ret)
{
    struct crowd *c = &t->crowd;
    uint64_t rss_kb = bench_rss_kb(), far = c->bench->instances;
    int status = populate(t, far, ret);
    if (!status)
        status = restart(t, ret);
    if (status)
        return status;
    idle(ret);
    uint64_t grown = ret->idle_rss_kb > rss_kb ? ret->idle_rss_kb - rss_kb : 0;
    ret->bytes_each = (double)grown * 1024 / (double)far;
    uint64_t syncs = atomic_load(&c->commits);
    double cpu_us = bench_cpu_us();
    status = crowd_wait(c);
    ret->seconds = (double)(clock_wall_ms() - t->first_due_ms) / 1000;
    ret->cpu_us = bench_cpu_us() - cpu_us;
    ret->rss_kb = bench_rss_kb();
    ret->syncs = atomic_load(&c->commits) - syncs;
    ret->orchestrations = ret->steps = ret->rounds = t->fired;
    ret->p50_us = ret->step_p50_us = histogram_at(&t->late, 50);
    ret->p99_us = ret->step_p99_us = histogram_at(&t->late, 99);
    return status;
}

int bench_timers(struct bench *b, struct bench_result *ret)
{
    struct timers *t = calloc(1, sizeof(*t));
    assert_that(t);
    t->crowd.bench = b;
    t->crowd.name = "BenchSleep";
    t->crowd.user = t;
    b->instances = b->instances ? b->instances : 100000;
    t->due_count = b->cli->args.seconds * RATE;
    int status = crowd_open(&t->crowd, on_commit, t);
    if (!status)
        status = drive(t, ret);
    crowd_close(&t->crowd);
    pawl_app_free(t->crowd.app);
    free(t);
    return status;
}
