/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_load.c -- keep N orchestrations in flight and measure them.
 *
 * Instances need no thread: the commit feed tells that one has ended, and the same callback submits
 * the next.  Counters belong to the engine thread until `over`
 * is set, a slot from its first submit on; the verb's thread only sleeps.  The
 * feed also counts: its calls are commits, and how far an instance has come
 * follows from its last seq.
 */
#include "cli/bench/bench.h"

#include "base/clock.h"
#include "cli/bench/histogram.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STUCK_MS 60000 /* nothing ended in this time after the end: give up */

/* An orchestration in flight. */
struct slot {
    uint64_t number;      /* which one it is now */
    uint64_t completed;   /* steps recorded */
    int64_t begun_us;     /* submitted */
    int64_t scheduled_us; /* commit that scheduled what runs now */
};

struct load {
    struct bench *bench;
    pawl_client *client;
    struct slot *slots;
    const char *name; /* of the orchestration */
    char input[32];
    int64_t begin_us, end_us, over_us;
    uint64_t orchestrations, steps, rounds;
    atomic_ulong commits;
    struct histogram whole, step;
    struct histogram early, late; /* steps in the first and the last tenth of an instance */
    double cpu_us;                /* at the beginning, then what was used */
    uint64_t rss_kb;
    atomic_bool ending,
        over;          /* the thread that sets the first fills in the rest, then sets the second */
    char trouble[200]; /* an orchestration that did not complete; "": none */
};

/* ---- The workloads ---------------------------------------------------------------------- */

static pawl_result bench_step(pawl_activity *act, pawl_str input)
{
    (void)input;
    return pawl_ok(act, BENCH_OUTPUT);
}

static pawl_result bench_chain(pawl_ctx *ctx, pawl_str input)
{
    int64_t steps = pawl_json_int(input, "", 1);
    for (int64_t i = 0; i < steps; i++) {
        pawl_scope_begin(ctx);
        pawl_result r = pawl_call(ctx, "BenchStep", pawl_s(BENCH_INPUT));
        pawl_scope_end(ctx);
        if (!r.ok)
            return pawl_fail(ctx, "a step failed");
    }
    return pawl_done(ctx, BENCH_OUTPUT);
}

static pawl_result bench_fanout(pawl_ctx *ctx, pawl_str input)
{
    size_t width = (size_t)pawl_json_int(input, "", 1);
    pawl_task *tasks = pawl_alloc(ctx, width * sizeof(*tasks));
    for (size_t i = 0; i < width; i++)
        tasks[i] = pawl_start(ctx, "BenchStep", pawl_s(BENCH_INPUT));
    pawl_result all = pawl_await_all(ctx, tasks, width);
    return all.ok ? pawl_done(ctx, BENCH_OUTPUT) : all;
}

/* Waits for events for ever; a new execution now and then keeps its history short. */
static pawl_result bench_events_code(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 500; i++) {
        pawl_scope_begin(ctx);
        pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "go"));
        pawl_scope_end(ctx);
        if (!r.ok)
            return pawl_fail(ctx, "a wait failed");
    }
    return pawl_continue_as_new(ctx, input, NULL);
}

/* A chain, and then something to wait for. */
static pawl_result bench_replay_code(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = bench_chain(ctx, input);
    return r.ok ? pawl_await(ctx, pawl_wait_event(ctx, "go")) : r;
}

/* Sleeps until the time that is its input. */
static pawl_result bench_sleep_code(pawl_ctx *ctx, pawl_str input)
{
    int64_t left = pawl_json_int(input, "", 0) - pawl_now(ctx);
    pawl_result r = pawl_sleep(ctx, left > 0 ? left : 0);
    return r.ok ? pawl_done(ctx, "null") : r;
}

pawl_app *bench_app(void)
{
    pawl_app *app = pawl_app_new();
    pawl_register_activity(app, "BenchStep", bench_step);
    pawl_register_orchestration(app, "BenchHello", "1.0.0", bench_chain);
    pawl_register_orchestration(app, "BenchChain", "1.0.0", bench_chain);
    pawl_register_orchestration(app, "BenchFanout", "1.0.0", bench_fanout);
    pawl_register_orchestration(app, "BenchEvents", "1.0.0", bench_events_code);
    pawl_register_orchestration(app, "BenchSleep", "1.0.0", bench_sleep_code);
    pawl_register_orchestration(app, "BenchReplay", "1.0.0", bench_replay_code);
    return app;
}

/* Steps recorded by an instance with a history of this length.  A chain has
 * OrchestrationStarted, then two events per step (scheduled, completed), and one
 * at the end; a fan-out schedules everything first. */
static uint64_t completed_at(const struct load *l, uint64_t last_seq, bool ended)
{
    if (l->bench->workload != WORKLOAD_FANOUT)
        return last_seq < 2 ? 0 : (last_seq - 2) / 2;
    uint64_t before = 1 + (uint64_t)l->bench->steps + (ended ? 1 : 0);
    return last_seq > before ? last_seq - before : 0;
}

/* ---- Measuring ---------------------------------------------------------------------------- */

double bench_cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

uint64_t bench_rss_kb(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

/* End the measurement; `trouble`: why, NULL when all went well. */
static void finish(struct load *l, const char *trouble, const char *detail)
{
    if (atomic_exchange(&l->ending, true))
        return;
    l->over_us = clock_mono_us();
    l->cpu_us = bench_cpu_us() - l->cpu_us;
    l->rss_kb = bench_rss_kb();
    if (trouble)
        snprintf(l->trouble, sizeof(l->trouble), "%.40s: %.150s", trouble, detail);
    atomic_store(&l->over, true);
    uint64_t one = 1;
    ssize_t n = write(l->bench->watch->wake, &one, sizeof(one));
    (void)n; /* an eventfd takes it */
}

static void on_start(void *arg, const pawl_reply *reply)
{
    if (reply->status != PAWL_OK)
        finish(arg, "a start was refused", reply->error.text);
}

static void submit(struct load *l, uint32_t index)
{
    struct slot *slot = &l->slots[index];
    char id[64];
    *slot = (struct slot){.number = slot->number + 1, .begun_us = clock_mono_us()};
    snprintf(id, sizeof(id), "bench-%u-%llu", index, (unsigned long long)slot->number);
    const pawl_request *start = PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = l->name,
                                             .data = pawl_s(l->input));
    pawl_error err;
    if (pawl_client_submit(l->client, start, on_start, l, &err) != PAWL_OK)
        finish(l, "a start was refused", err.text);
}

/* "bench-INDEX-NUMBER"; runs on the engine's thread, so it must be cheap. */
static struct slot *slot_of(struct load *l, pawl_str instance, uint32_t *retindex)
{
    uint64_t part[2] = {0, 0};
    size_t i = sizeof("bench-") - 1, dashes = 0;
    for (; i < instance.len && dashes < 2; i++) {
        if (instance.ptr[i] == '-')
            dashes++;
        else
            part[dashes] = part[dashes] * 10 + (uint64_t)(instance.ptr[i] - '0');
    }
    if (dashes != 1 || part[0] >= l->bench->in_flight || l->slots[part[0]].number != part[1])
        return NULL;
    *retindex = (uint32_t)part[0];
    return &l->slots[part[0]];
}

static void note_progress(struct load *l, struct slot *slot, uint64_t completed, int64_t now_us)
{
    uint64_t more = completed - slot->completed;
    slot->completed = completed;
    l->steps += more;
    if (more)
        histogram_add(&l->step, now_us - slot->scheduled_us, more);
    if (more && completed * 10 <= l->bench->steps)
        histogram_add(&l->early, now_us - slot->scheduled_us, more);
    else if (more && completed * 10 > (uint64_t)l->bench->steps * 9)
        histogram_add(&l->late, now_us - slot->scheduled_us, more);
    if (l->bench->workload != WORKLOAD_FANOUT || !slot->scheduled_us)
        slot->scheduled_us = now_us;
}

static void note_end(struct load *l, const pawl_change *change, uint32_t index, int64_t now_us)
{
    if (change->state != PAWL_COMPLETED) {
        finish(l, "an orchestration ended", pawl_state_name(change->state));
        return;
    }
    l->orchestrations++;
    histogram_add(&l->whole, now_us - l->slots[index].begun_us, 1);
    if (now_us < l->end_us)
        submit(l, index);
}

static void on_commit(void *arg, const pawl_change *changes, size_t count)
{
    struct load *l = arg;
    if (atomic_load(&l->ending))
        return;
    int64_t now_us = clock_mono_us();
    atomic_fetch_add_explicit(&l->commits, 1, memory_order_relaxed);
    l->rounds += count;
    for (size_t i = 0; i < count; i++) {
        uint32_t index;
        struct slot *slot = slot_of(l, changes[i].instance, &index);
        if (!slot)
            continue;
        bool ended = pawl_state_is_terminal(changes[i].state);
        note_progress(l, slot, completed_at(l, changes[i].last_seq, ended), now_us);
        if (ended)
            note_end(l, &changes[i], index, now_us);
    }
    if (now_us >= l->end_us && l->orchestrations)
        finish(l, NULL, NULL);
}

/* ---- Running it ------------------------------------------------------------------------- */

pawl_runtime *bench_runtime(struct bench *b, pawl_app *app, pawl_error *reterr)
{
    pawl_options options = b->cli->args.options;
    options.data = b->dir;
    options.store = b->in_memory ? "memory:" : b->url;
    options.log_level =
        b->cli->args.log_level < 0 ? PAWL_LOG_WARN : (pawl_log_level)b->cli->args.log_level;
    uint64_t events = 2 * (uint64_t)b->steps + 16;
    if (!options.max_history && events > 50000)
        options.max_history = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
    pawl_runtime *rt = pawl_runtime_open(app, &options, reterr);
    if (rt && pawl_runtime_start(rt, reterr) != PAWL_OK) {
        pawl_runtime_close(rt);
        rt = NULL;
    }
    return rt;
}

static int wait_for_load(struct load *l)
{
    struct cli *cli = l->bench->cli;
    uint64_t seen = 0;
    int64_t quiet_since = 0;
    while (!atomic_load(&l->over)) {
        int signal_number;
        if (watch_next(l->bench->watch, 1000, &signal_number) == WATCH_SIGNAL)
            return EXIT_INTERRUPTED + signal_number;
        uint64_t commits = atomic_load_explicit(&l->commits, memory_order_relaxed);
        int64_t now = clock_mono_ms();
        if (commits != seen || !quiet_since)
            quiet_since = now;
        seen = commits;
        if (now - quiet_since > STUCK_MS)
            return cli_fail(cli, EXIT_NO_STORE,
                            "nothing was committed for a minute; see: %s doctor", cli->prog);
    }
    return l->trouble[0] ? cli_fail(cli, EXIT_FAILED, "the benchmark failed: %s", l->trouble) : 0;
}

static void summarize(struct load *l, struct bench_result *ret)
{
    ret->seconds = (double)(l->over_us - l->begin_us) / 1e6;
    ret->orchestrations = l->orchestrations;
    ret->steps = l->steps;
    ret->syncs = atomic_load(&l->commits);
    ret->rounds = l->rounds;
    ret->p50_us = histogram_at(&l->whole, 50);
    ret->p99_us = histogram_at(&l->whole, 99);
    ret->step_p50_us = histogram_at(&l->step, 50);
    ret->step_p99_us = histogram_at(&l->step, 99);
    ret->step_early_us = histogram_at(&l->early, 50);
    ret->step_late_us = histogram_at(&l->late, 50);
    ret->cpu_us = l->cpu_us;
    ret->rss_kb = l->rss_kb;
}

static int drive(struct load *l, pawl_runtime *rt)
{
    struct bench *b = l->bench;
    l->client = pawl_runtime_client(rt);
    uint64_t feed = pawl_client_feed(l->client, on_commit, l);
    if (!feed)
        return cli_fail(b->cli, EXIT_NO_STORE, "out of memory");
    l->cpu_us = bench_cpu_us();
    l->begin_us = clock_mono_us();
    l->end_us = l->begin_us + (int64_t)b->cli->args.seconds * 1000000;
    for (uint32_t i = 0; i < b->in_flight; i++)
        submit(l, i);
    int status = wait_for_load(l);
    pawl_client_unfeed(l->client, feed);
    return status;
}

int bench_load(struct bench *b, struct bench_result *ret)
{
    static const char *const names[] = {"BenchHello", "BenchChain", "BenchFanout"};
    struct load *l = calloc(1, sizeof(*l));
    struct slot *slots = calloc(b->in_flight, sizeof(*slots));
    pawl_app *app = bench_app();
    pawl_runtime *rt = NULL;
    pawl_error err = {.status = PAWL_NO_MEMORY, .text = "out of memory"};
    int status = EXIT_NO_STORE;
    if (l && slots)
        rt = bench_runtime(b, app, &err);
    if (rt) {
        l->bench = b;
        l->slots = slots;
        l->name = names[b->workload];
        snprintf(l->input, sizeof(l->input), "%u", b->steps);
        status = drive(l, rt);
    } else {
        cli_fail_error(b->cli, &err);
    }
    pawl_runtime_close(rt); /* no callback runs after this */
    if (!status)
        summarize(l, ret);
    pawl_app_free(app);
    free(slots);
    free(l);
    return status;
}
