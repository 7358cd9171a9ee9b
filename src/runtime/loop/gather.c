/* SPDX-License-Identifier: MIT */
/* runtime/loop/gather.c -- see gather.h.  Called by loop.c before a pass, and by lend.c. */
#include "runtime/loop/gather.h"

#include "base/clock.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/items.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/work/jobs.h"

#include <sched.h>

#define PATIENCE_US 30 /* as long as it takes to wake a thread */
#define TRY_AGAIN   8  /* wait again in one commit of this many, after a useless wait */
#define LOOKS       2

bool gather_waits(struct patience *g, size_t have, size_t out, unsigned looks)
{
    bool hopes = g->misses % TRY_AGAIN == 0;
    if (have >= out || (!hopes && !looks))
        return false;
    if (have != g->seen) {
        g->seen = have;
        g->looks = 0;
        g->quiet_us = hopes ? clock_mono_us() : 0;
        return true;
    }
    return ++g->looks < looks || (hopes && clock_mono_us() - g->quiet_us <= PATIENCE_US);
}

void gather_ends(struct patience *g, size_t have, size_t out)
{
    g->misses = have >= out ? 0 : g->misses + 1;
    g->seen = 0;
}

void gather_more(pawl_runtime *rt, struct patience *g)
{
    size_t have = 0, all, clients = rt->queue_cache ? rt->queue_cache->ops : 0;
    size_t out = jobs_backlog(rt) > clients ? jobs_backlog(rt) : clients;
    enum item_kind kind = jobs_backlog(rt) > clients ? ITEM_JOB : ITEM_QUEUE;
    for (const struct item *i = items_first(rt); i && have < out; i = i->next)
        have += i->kind == kind;
    if (!here_has_threads(rt) || !have ||
        have >= out) /* with one out there is nothing to wait for */
        return;
    g->seen = 0; /* a borrower may have begun to wait, and left it to us */
    while (gather_waits(g, all = have + inbox_count(rt), out, LOOKS))
        sched_yield(); /* the others need the processor */
    gather_ends(g, all, out);
    inbox_take(rt);
}
