/* SPDX-License-Identifier: MIT */
/*
 * runtime/pace.c -- when the engine waits a moment for what is about to come.
 *
 * Short activities come back while their neighbours are committed: the instances in
 * flight fall into two halves that take turns, and every step pays a sync for half as
 * many.  And an engine that sleeps between a hand-out and its result pays for a wake-up
 * that takes longer than the activity.  So the engine knows how long a trip to a worker
 * and back usually is, and how long a commit.  Where trips are short it waits for one:
 * before a commit at most half of what a commit takes, before sleep at most SPIN_US.
 * Where activities do something that takes time it waits for nothing.
 *
 * Called by loop.c on the engine's thread.
 */
#include "runtime/pace.h"

#include "base/clock.h"
#include "runtime/inbox.h"
#include "runtime/queue_desk.h"

#include <sched.h>

#define SPIN_US 50 /* a wake-up costs about as much */

static int64_t usual(int64_t before, int64_t us)
{
    return before + (us - before) / 8;
}

void pace_trip(pawl_runtime *rt, int64_t us)
{
    if (us > 0)
        rt->trip_us = usual(rt->trip_us, us < PACE_LONG_US ? us : PACE_LONG_US);
}

void pace_commit(pawl_runtime *rt, int64_t us)
{
    rt->commit_us = usual(rt->commit_us, us);
}

static size_t arrived(pawl_runtime *rt)
{
    return atomic_load_explicit(&rt->inbox_count, memory_order_relaxed);
}

/* How many of those that are out are here already: jobs, or clients of queues whose
 * requests the last commit answered. */
static size_t count_here(const pawl_runtime *rt, enum item_kind kind, size_t out)
{
    size_t here = 0;
    for (const struct item *i = rt->items; i && here < out; i = i->next)
        here += i->kind == kind;
    return here;
}

/* Yield while more comes, or until the time is up. */
static void let_come(pawl_runtime *rt, size_t missing, int64_t until_us)
{
    size_t before = arrived(rt), last = before;
    for (int quiet = 0; last - before < missing && (quiet < 2 || clock_mono_us() < until_us);) {
        sched_yield();
        size_t now = arrived(rt);
        quiet = now == last ? quiet + 1 : 0;
        last = now;
    }
    inbox_take(rt);
}

void pace_gather(pawl_runtime *rt)
{
    size_t clients = rt->desk ? rt->desk->ops : 0;
    bool jobs = rt->backlog > clients;
    size_t out = jobs ? rt->backlog : clients;
    size_t here = rt->threaded ? count_here(rt, jobs ? ITEM_JOB : ITEM_QUEUE, out) : 0;
    if (!here || here >= out)
        return;
    bool worth_it = jobs && 2 * rt->trip_us <= rt->commit_us;
    let_come(rt, out - here, worth_it ? clock_mono_us() + rt->commit_us / 2 : 0);
}

bool pace_linger(pawl_runtime *rt)
{
    if (!rt->threaded || !rt->backlog || rt->trip_us > SPIN_US)
        return arrived(rt) != 0;
    int64_t until_us = clock_mono_us() + SPIN_US;
    while (!arrived(rt) && clock_mono_us() < until_us)
        sched_yield();
    return arrived(rt) != 0;
}
