/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_queue.c -- `pawl bench queue`: push, then pop and acknowledge.
 *
 * All clients push to one queue, then all of them pop under locks of their own
 * (max_locks 0) and acknowledge, from what was pushed.  Beside it the rate of a
 * queue as it is by default, where one lock at a time is the rule: one client.
 */
#include "cli/bench/bench_queue.h"

#include "cli/disk.h"
#include "cli/out.h"
#include "view/units.h"

#include <stdlib.h>
#include <string.h>

static void summarize(const struct queue_phase *p, struct bench_phase *ret)
{
    *ret = (struct bench_phase){.seconds = p->seconds,
                                .count = p->count,
                                .syncs = p->syncs,
                                .p50_us = p->p50_us,
                                .p99_us = p->p99_us,
                                .cpu_us = p->cpu_us};
}

static int run_phase(const struct transport *t, void *of, struct queue_phase *p,
                     struct bench_phase *ret)
{
    p->seconds = p->cpu_us = 0;
    p->count = p->syncs = 0;
    memset(p->took, 0, sizeof(*p->took));
    int status = t->run(of, p);
    p->p50_us = histogram_at(p->took, 50);
    p->p99_us = histogram_at(p->took, 99);
    summarize(p, ret);
    return status;
}

/* Push, then pop and acknowledge, on one queue. */
static int run_pair(const struct transport *t, void *of, struct queue_phase *p, const char *queue,
                    uint32_t max_locks, uint32_t poppers, struct bench_phase ret[2])
{
    p->queue = queue;
    int status = t->configure(of, queue, max_locks);
    p->pops = false;
    if (!status)
        status = run_phase(t, of, p, &ret[0]);
    p->pops = true;
    p->lanes = poppers;
    return status ? status : run_phase(t, of, p, &ret[1]);
}

int bench_queue(struct bench *b, struct bench_result *ret)
{
    const struct transport *t = b->over_http ? &bench_remote : &bench_local;
    struct queue_phase p = {.lanes = b->in_flight, .for_seconds = (double)b->cli->args.seconds};
    struct bench_phase single[2] = {0};
    void *of = NULL;
    p.took = calloc(1, sizeof(*p.took));
    assert_that(p.took);
    char name[2][64];
    for (int i = 0; i < 2; i++) /* a name of its own: that of its directory */
        snprintf(name[i], sizeof(name[i]), "%s-%d", strrchr(b->dir, '/') + 1, i);
    int status = t->open(b, &of);
    if (!status)
        status = run_pair(t, of, &p, name[0], 0, b->in_flight, ret->queue);
    ret->rss_kb = p.rss_kb;
    p.lanes = b->in_flight;
    p.for_seconds = (double)b->cli->args.seconds / 2;
    if (!status)
        status = run_pair(t, of, &p, name[1], 1, 1, single);
    ret->queue[2] = single[1];
    if (of)
        t->close(of);
    free(p.took);
    ret->seconds = ret->queue[0].seconds;
    ret->steps = ret->rounds = ret->queue[0].count;
    ret->syncs = ret->queue[0].syncs;
    return status;
}

/* ---- The report ------------------------------------------------------------------------ */

static double rate(const struct bench_phase *p)
{
    return p->seconds > 0 ? (double)p->count / p->seconds : 0;
}

static double each(double sum, const struct bench_phase *p)
{
    return sum / (double)(p->count ? p->count : 1);
}

void bench_queue_json(const struct bench *b, const struct bench_result *r, pawl_json *w)
{
    const struct bench_phase *push = &r->queue[0], *pop = &r->queue[1], *single = &r->queue[2];
    pawl_json_key(w, "over");
    pawl_json_cstr(w, b->over_http ? "http" : "api");
    pawl_json_key(w, "max_locks");
    pawl_json_num(w, 0);
    bench_number(w, "seconds", push->seconds);
    pawl_json_key(w, "orchestrations_per_s");
    pawl_json_null(w);
    bench_number(w, "messages", (double)push->count);
    bench_number(w, "messages_per_s", rate(push));
    bench_number(w, "push_per_s", rate(push));
    bench_number(w, "pop_ack_per_s", rate(pop));
    bench_number(w, "single_lock_pop_ack_per_s", rate(single));
    bench_number(w, "p50_us", (double)push->p50_us);
    bench_number(w, "p99_us", (double)push->p99_us);
    bench_number(w, "pop_ack_p50_us", (double)pop->p50_us);
    bench_number(w, "pop_ack_p99_us", (double)pop->p99_us);
    bench_number(w, "single_lock_p50_us", (double)single->p50_us);
    bench_number(w, "fdatasync_us", r->fdatasync_us);
    bench_number(w, "syncs", (double)push->syncs);
    bench_number(w, "steps_per_sync",
                 (double)push->count / (double)(push->syncs ? push->syncs : 1));
    bench_number(w, "pop_ack_per_sync", (double)pop->count / (double)(pop->syncs ? pop->syncs : 1));
    pawl_json_key(w, "store_ceiling_per_s");
    if (r->ceiling_per_s > 0)
        pawl_json_num(w, (int64_t)(r->ceiling_per_s + 0.5));
    else
        pawl_json_null(w);
    bench_number(w, "cpu_us_per_step", each(push->cpu_us, push));
    bench_number(w, "cpu_us_per_pop_ack", each(pop->cpu_us, pop));
}

static void line(const char *name, const struct bench_phase *p)
{
    char count[UNITS_BYTES];
    printf("  %-18s %12s %10lld %10lld %12.1f %12.1f\n", name,
           format_count(count, (uint64_t)(rate(p) + 0.5)), (long long)p->p50_us,
           (long long)p->p99_us, (double)p->count / (double)(p->syncs ? p->syncs : 1),
           each(p->cpu_us, p));
}

void bench_queue_table(const struct bench *b, const struct bench_result *r)
{
    char text[UNITS_BYTES];
    printf("queue, %u clients, %s, %s on %s\n\n", b->in_flight,
           b->over_http ? "over HTTP" : "in process", b->kind, disk_kind(b->dir));
    printf("  %-18s %12s %10s %10s %12s %12s\n", "", "messages/s", "median µs", "p99 µs",
           "per sync", "CPU µs each");
    line("push", &r->queue[0]);
    line("pop and ack", &r->queue[1]);
    line("same, one lock", &r->queue[2]);
    printf("\n");
    if (r->ceiling_per_s > 0)
        printf("  %-18s %12s  %.0f %% of it reached by push\n", "bare SQLite",
               format_count(text, (uint64_t)r->ceiling_per_s),
               100 * rate(&r->queue[0]) / r->ceiling_per_s);
    printf("  %-18s %12.0f  µs, bare, same disk\n", "fdatasync, median", r->fdatasync_us);
    printf("  %-18s %12s  KiB%s\n", "resident memory", format_count(text, r->rss_kb),
           b->over_http ? ", the server" : "");
}
