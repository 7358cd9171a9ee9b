/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_local.c -- the queue workload in process.
 *
 * Clients need no thread: the reply of one request submits the next, on the engine
 * thread.  A phase's counters belong to that thread until `left` is 0.
 */
#include "base/clock.h"
#include "cli/bench/bench_queue.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define STUCK_S 60 /* no answer in this time: give up */

struct local_lane {
    struct local *local;
    int64_t begun_us;
    char lock[32]; /* held; "": none */
};

struct local {
    struct bench *bench;
    pawl_app *app;
    pawl_runtime *rt;
    pawl_client *client;
    struct local_lane *lanes;
    struct queue_phase *phase;
    int64_t end_us;
    atomic_uint left; /* lanes with a request out */
    atomic_bool enough, failed;
    char trouble[200]; /* written by the thread that set `failed` */
    sem_t over;
};

static void rest(struct local *l)
{
    if (atomic_fetch_sub(&l->left, 1) == 1)
        sem_post(&l->over);
}

static void fail(struct local *l, const char *text)
{
    if (!atomic_exchange(&l->failed, true))
        snprintf(l->trouble, sizeof(l->trouble), "%.190s", text);
    atomic_store(&l->enough, true);
}

static void on_reply(void *arg, const pawl_queue_reply *reply);

pawl_queue_request bench_message(const char *queue, bool pops, const char *const *held)
{
    static const pawl_queue_item item = {
        .data = {BENCH_ITEM, sizeof(BENCH_ITEM) - 1}
    };
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_PUSH, .queue = queue};
    if (pops) {
        q.op = (*held)[0] ? PAWL_QUEUE_ACK : PAWL_QUEUE_POP;
        q.require_ack = true;
        q.lock_ids = held;
        q.lock_count = 1;
    } else {
        q.items = &item;
        q.item_count = 1;
    }
    return q;
}

static bool submit(struct local_lane *lane)
{
    struct queue_phase *p = lane->local->phase;
    const char *held = lane->lock;
    pawl_queue_request q = bench_message(p->queue, p->pops, &held);
    pawl_error err;
    if (!held[0])
        lane->begun_us = clock_mono_us();
    if (pawl_queue_submit(lane->local->client, &q, on_reply, lane, &err) == PAWL_OK)
        return true;
    fail(lane->local, err.text);
    return false;
}

static void on_reply(void *arg, const pawl_queue_reply *reply)
{
    struct local_lane *lane = arg;
    struct local *l = lane->local;
    struct queue_phase *p = l->phase;
    int64_t now = clock_mono_us();
    bool popped = p->pops && !lane->lock[0];
    lane->lock[0] = 0;
    if (reply->status != PAWL_OK)
        fail(l, reply->error.text);
    else if (popped && reply->message_count == 0)
        atomic_store(&l->enough, true); /* it is empty */
    else if (popped)
        snprintf(lane->lock, sizeof(lane->lock), "%.*s", PAWL_FMT(reply->lock_id));
    else {
        p->count++;
        histogram_add(p->took, now - lane->begun_us, 1);
    }
    if (now >= l->end_us)
        atomic_store(&l->enough, true);
    if ((atomic_load(&l->enough) && !lane->lock[0]) || !submit(lane))
        rest(l);
}

/* ---- Running it ------------------------------------------------------------------------- */

static void local_close(void *of)
{
    struct local *l = of;
    if (l->rt)
        pawl_runtime_close(l->rt);
    pawl_app_free(l->app);
    sem_destroy(&l->over);
    free(l->lanes);
    free(l);
}

static int local_open(struct bench *b, void **ret)
{
    struct local *l = calloc(1, sizeof(*l));
    struct local_lane *lanes = calloc(b->in_flight, sizeof(*lanes));
    pawl_error err = {.status = PAWL_NO_MEMORY, .text = "out of memory"};
    assert_that(l && lanes);
    *ret = l;
    l->bench = b;
    l->lanes = lanes;
    l->app = pawl_app_new();
    sem_init(&l->over, 0, 0);
    for (uint32_t i = 0; i < b->in_flight; i++)
        lanes[i].local = l;
    l->rt = bench_runtime(b, l->app, &err);
    if (!l->rt)
        return cli_fail_error(b->cli, &err);
    l->client = pawl_runtime_client(l->rt);
    return 0;
}

static int local_configure(void *of, const char *queue, uint32_t max_locks)
{
    struct local *l = of;
    pawl_queue_config config = pawl_queue_config_default();
    pawl_queue_reply reply;
    pawl_mem *mem = pawl_mem_new();
    config.max_locks = max_locks;
    pawl_status rc = pawl_queue_call(
        l->client,
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = queue, .config = &config), mem,
        &reply);
    pawl_mem_free(mem);
    return rc == PAWL_OK ? 0 : cli_fail_error(l->bench->cli, &reply.error);
}

static uint64_t commits(const struct local *l)
{
    pawl_stats stats;
    pawl_runtime_stats(l->rt, &stats);
    return stats.commits;
}

/* Wait until no lane has a request out. */
static int wait_for_lanes(struct local *l)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)l->phase->for_seconds + STUCK_S;
    while (sem_timedwait(&l->over, &until) != 0)
        if (errno != EINTR)
            return cli_fail(l->bench->cli, EXIT_NO_STORE,
                            "nothing was committed for a minute; see: %s doctor",
                            l->bench->cli->prog);
    return l->trouble[0]
               ? cli_fail(l->bench->cli, EXIT_FAILED, "the benchmark failed: %s", l->trouble)
               : 0;
}

static int local_run(void *of, struct queue_phase *p)
{
    struct local *l = of;
    uint64_t before = commits(l);
    double cpu = bench_cpu_us();
    int64_t begin = clock_mono_us();
    l->phase = p;
    l->end_us = begin + (int64_t)(p->for_seconds * 1e6);
    atomic_store(&l->enough, false);
    atomic_store(&l->left, p->lanes);
    for (uint32_t i = 0; i < p->lanes; i++)
        if (!submit(&l->lanes[i]))
            rest(l);
    int status = wait_for_lanes(l);
    p->seconds = (double)(clock_mono_us() - begin) / 1e6;
    p->cpu_us = bench_cpu_us() - cpu;
    p->rss_kb = bench_rss_kb();
    p->syncs = commits(l) - before;
    return status;
}

const struct transport bench_local = {local_open, local_configure, local_run, local_close};
