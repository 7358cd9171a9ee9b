/* SPDX-License-Identifier: MIT */
/*
 * bench/instructions.c -- workloads whose instructions can be counted: the same work
 * every time, on one thread, with pawl_runtime_step() and a database in DIR.
 *
 *     instructions prepare-WORKLOAD COUNT DIR     what the workload finds, where it needs some
 *     instructions WORKLOAD COUNT DIR
 *
 * Nothing here depends on how fast anything is: so many are in flight, and the next
 * begins in the commit that ended the one before.  bench/instructions runs it with two
 * counts; the difference is what one more costs.
 */
#include "base/attr.h"
#include "base/clock.h"
#include "cli/bench/bench.h"
#include "pawl.h"
#include "pawl/replay.h"

#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT  32
#define LONG_STEPS 1000 /* of a history that is replayed */

struct work {
    pawl_app *app;
    pawl_runtime *rt;
    pawl_client *client;
    const char *name; /* of the orchestration */
    char input[16];
    uint64_t count, begun, ended;
    bool raises; /* prepared instances go on instead of new ones starting */
    bool pops;   /* instead of pushing */
};

struct lane {
    struct work *work;
    char lock[32]; /* held; "": none */
};

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "instructions: %s: %s\n", what, text);
    exit(1);
}

/* ---- Orchestrations ----------------------------------------------------------------- */

/* A history of some length, and then something to wait for. */
static pawl_result long_code(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (int i = 0; i < LONG_STEPS; i++) {
        pawl_scope_begin(ctx);
        pawl_result r = pawl_call(ctx, "BenchStep", pawl_s(BENCH_INPUT));
        pawl_scope_end(ctx);
        if (!r.ok)
            return r;
    }
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "go"));
    return go.ok ? pawl_done(ctx, BENCH_OUTPUT) : go;
}

static void on_reply(void *arg, const pawl_reply *reply)
{
    (void)arg;
    if (reply->status != PAWL_OK)
        fail("refused", reply->error.text);
}

static void next_orchestration(struct work *w)
{
    char id[32];
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_START, .instance = id};
    pawl_error err;
    if (w->begun == w->count)
        return;
    snprintf(id, sizeof(id), "count-%06llu", (unsigned long long)w->begun++);
    q.name = w->raises ? "go" : w->name;
    q.data = w->raises ? pawl_s("1") : pawl_s(w->input);
    if (w->raises)
        q.op = PAWL_OP_RAISE;
    if (pawl_client_submit(w->client, &q, on_reply, w, &err) != PAWL_OK)
        fail("refused", err.text);
}

static void on_commit(void *arg, const pawl_change *changes, size_t count)
{
    struct work *w = arg;
    for (size_t i = 0; i < count; i++) {
        bool waits = strcmp(w->name, "Long") == 0 && !w->raises;
        if (pawl_state_is_terminal(changes[i].state) && changes[i].state != PAWL_COMPLETED)
            fail("an orchestration ended", pawl_state_name(changes[i].state));
        if (waits ? changes[i].last_seq != 2 * LONG_STEPS + 2 : changes[i].state != PAWL_COMPLETED)
            continue;
        w->ended++;
        next_orchestration(w);
    }
}

static void step_until_ended(struct work *w)
{
    while (w->ended < w->count)
        if (pawl_runtime_step(w->rt, 1000) < 0)
            fail("the runtime", "has stopped");
}

/* COUNT orchestrations, IN_FLIGHT of them at a time. */
static void orchestrations(struct work *w, const char *name, int input)
{
    w->name = name;
    snprintf(w->input, sizeof(w->input), "%d", input);
    uint64_t feed = pawl_client_feed(w->client, on_commit, w);
    for (int i = 0; i < IN_FLIGHT; i++)
        next_orchestration(w);
    step_until_ended(w);
    pawl_client_unfeed(w->client, feed);
}

static void hello(struct work *w)
{
    orchestrations(w, "BenchHello", 1);
}

/* COUNT steps in each of IN_FLIGHT instances. */
static void chain(struct work *w)
{
    int steps = (int)w->count;
    w->count = IN_FLIGHT;
    orchestrations(w, "BenchChain", steps);
}

/* The same steps, one at a time: what a commit costs that nobody shares. */
static void chain_alone(struct work *w)
{
    int steps = (int)w->count;
    w->count = 1;
    orchestrations(w, "BenchChain", steps);
}

static void fanout(struct work *w)
{
    orchestrations(w, "BenchFanout", 100);
}

static void prepare_long(struct work *w)
{
    orchestrations(w, "Long", 0);
}

/* COUNT instances of a process that is gone: load, replay, end. */
static void load(struct work *w)
{
    w->raises = true;
    orchestrations(w, "Long", 0);
}

/* One history, COUNT times. */
static void replay(struct work *w)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    pawl_history history;
    pawl_replay_report report;
    pawl_error err;
    if (pawl_client_get(w->client, "count-000000", 0, mem, &info, &err) != PAWL_OK ||
        pawl_client_history(w->client, "count-000000", 0, 0, 2 * LONG_STEPS + 2, mem, &history,
                            &err) != PAWL_OK)
        fail("the history", err.text);
    for (uint64_t i = 0; i < w->count; i++) {
        if (pawl_replay(w->app, &info, history.events, history.count, NULL, &report, &err) !=
            PAWL_OK)
            fail("replay", err.text);
        if (report.outcome != PAWL_REPLAY_WAITS || report.events != 2 * LONG_STEPS + 2)
            fail("replay", report.text);
    }
    pawl_mem_free(mem);
}

/* ---- Queues ------------------------------------------------------------------------- */

static void next_message(struct lane *lane);

static void on_answer(void *arg, const pawl_queue_reply *reply)
{
    struct lane *lane = arg;
    struct work *w = lane->work;
    bool popped = w->pops && !lane->lock[0];
    lane->lock[0] = 0;
    if (reply->status != PAWL_OK)
        fail("the queue", reply->error.text);
    if (popped)
        snprintf(lane->lock, sizeof(lane->lock), "%.*s", PAWL_FMT(reply->lock_id));
    else
        w->ended++;
    next_message(lane);
}

static void next_message(struct lane *lane)
{
    struct work *w = lane->work;
    const char *held = lane->lock;
    pawl_queue_request q = bench_message("count", w->pops, &held);
    pawl_error err;
    if (!held[0] && w->begun++ >= w->count)
        return;
    if (pawl_queue_submit(w->client, &q, on_answer, lane, &err) != PAWL_OK)
        fail("the queue", err.text);
}

static void messages(struct work *w)
{
    struct lane lanes[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) {
        lanes[i] = (struct lane){.work = w};
        next_message(&lanes[i]);
    }
    step_until_ended(w);
}

static void push(struct work *w)
{
    pawl_queue_config config = pawl_queue_config_default();
    pawl_queue_reply reply;
    pawl_mem *mem = pawl_mem_new();
    config.max_locks = 0;
    if (pawl_queue_call(
            w->client,
            PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "count", .config = &config),
            mem, &reply) != PAWL_OK)
        fail("the queue", reply.error.text);
    pawl_mem_free(mem);
    messages(w);
}

static void pop(struct work *w)
{
    w->pops = true;
    messages(w);
}

/* A clock that stands still: what is recorded does not depend on how fast the machine is (an attempt
 * that began late says so in its history).  The clock is read all the same. */
static int64_t standing_clock(void *user)
{
    (void)user;
    return clock_wall_ms() ? 1700000000000 : 0;
}

/* ---- Running it --------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*fn)(struct work *w);
} workloads[] = {
    {"hello",          hello       },
    {"chain",          chain       },
    {"chain-alone",    chain_alone },
    {"fanout",         fanout      },
    {"prepare-replay", prepare_long},
    {"replay",         replay      },
    {"prepare-load",   prepare_long},
    {"load",           load        },
    {"push",           push        },
    {"prepare-pop",    push        },
    {"pop",            pop         },
};

int main(int argc, char **argv)
{
    struct work w = {.app = bench_app(), .name = ""};
    pawl_error err;
    if (argc != 4)
        fail("usage", "instructions WORKLOAD COUNT DIR");
    pawl_register_orchestration(w.app, "Long", "1.0.0", long_code);
    w.count = strtoull(argv[2], NULL, 10);
    const pawl_env env = {.now_ms = standing_clock};
    w.rt = pawl_runtime_open(w.app, PAWL_OPTIONS(.data = argv[3], .env = &env), &err);
    if (!w.rt)
        fail("the store", err.text);
    w.client = pawl_runtime_client(w.rt);
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(workloads); i++)
        if (strcmp(argv[1], workloads[i].name) == 0) {
            found = true;
            workloads[i].fn(&w);
        }
    if (!found)
        fail("there is no workload", argv[1]);
    pawl_runtime_close(w.rt);
    pawl_app_free(w.app);
    return 0;
}
