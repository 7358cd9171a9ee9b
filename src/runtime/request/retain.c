/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/retain.c -- remove what ended longer ago than `retain_ms`. [engine]
 *
 * A sweep walks the instances that were made before the cutoff, newest first, one page per
 * pass, and stages the removal of finished trees together with the other work of the pass.
 * An instance made after the cutoff cannot have ended before it: a bisection over the uids
 * finds where to begin.  So a sweep visits instances that are due or old and still open, and
 * none of the newer ones.
 *
 * Idle costs nothing: no instance ended after `last_end_ms`, so after a sweep with a later
 * cutoff found nothing, the next one is retain_ms after the next ending.  Until then sweeps
 * are a sixteenth of retain_ms apart, at most ten minutes.
 *
 * Called by loop.c and group.c.
 */
#include "runtime/request/retain.h"

#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/request/remove.h"
#include "store/store.h"

#define BATCH        100 /* trees per pass */
#define PAUSE_MS     20  /* between two pages of a sweep, for other work */
#define INTERVAL_MIN 1000
#define INTERVAL_MAX 600000

void retain_open(pawl_runtime *rt)
{
    rt->removal.retain.last_end_ms = rt_now(rt); /* no stored instance ended after now */
    rt->removal.retain.at_ms = rt->opts.retain_ms ? rt_mono(rt) : INT64_MAX;
}

void retain_ended(pawl_runtime *rt)
{
    if (rt->removal.retain.last_end_ms < rt->now_ms) /* the clock may have been set back */
        rt->removal.retain.last_end_ms = rt->now_ms;
    if (rt->opts.retain_ms && rt->removal.retain.at_ms == INT64_MAX)
        rt->removal.retain.at_ms = rt_mono(rt) + rt->opts.retain_ms + 1;
}

/* Uids from here on were made at the cutoff or later. */
static pawl_status find_begin(pawl_runtime *rt, int64_t cutoff_ms, uint64_t *ret, pawl_error *err)
{
    uint64_t low = 0, high = rt->fence.next_id;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        pawl_row_query query = {.before_uid = middle, .limit = 1};
        pawl_row_list list;
        arena_reset(&rt->load_mem);
        pawl_status rc = store_list(rt->store, &query, &rt->load_mem, &list, err);
        if (rc != PAWL_OK)
            return rc;
        if (list.count && list.items[0].created_ms >= cutoff_ms)
            high = list.items[0].uid;
        else
            low = middle;
        if (high <= low)
            break;
    }
    *ret = high;
    return PAWL_OK;
}

static void sleep_until_due(pawl_runtime *rt)
{
    int64_t retain = rt->opts.retain_ms, interval = retain / 16;
    interval = interval < INTERVAL_MIN ? INTERVAL_MIN : interval;
    interval = interval > INTERVAL_MAX ? INTERVAL_MAX : interval;
    int64_t last =
        rt->removal.retain.last_end_ms + retain + 1 - rt->now_ms; /* until the newest is due */
    bool over =
        rt->removal.retain.last_end_ms < rt->removal.retain.cutoff_ms && !rt->removal.retain.found;
    rt->removal.retain.at_ms = over                          ? INT64_MAX
                               : last > 0 && last < interval ? rt_mono(rt) + last
                                                             : rt_mono(rt) + interval;
}

static pawl_status begin_sweep(pawl_runtime *rt, pawl_error *err)
{
    rt->removal.retain.cutoff_ms = rt->now_ms - rt->opts.retain_ms;
    rt->removal.retain.found = false;
    return find_begin(rt, rt->removal.retain.cutoff_ms, &rt->removal.retain.cursor, err);
}

void retain_look(pawl_runtime *rt)
{
    if (rt_mono(rt) < rt->removal.retain.at_ms)
        return;
    pawl_error err = {0};
    pawl_status rc = rt->removal.retain.cursor ? PAWL_OK : begin_sweep(rt, &err);
    pawl_reply removed = {0};
    bool found = false;
    if (rc == PAWL_OK)
        rc = prune_page(rt, rt->removal.retain.cutoff_ms, BATCH, &rt->removal.retain.cursor,
                        &removed, &found, &err);
    if (rc != PAWL_OK) {
        health_unread(rt, &err);
        rt->removal.retain.cursor = 0;
        rt->removal.retain.at_ms = rt_mono(rt) + INTERVAL_MIN;
        return;
    }
    rt->removal.retain.found = rt->removal.retain.found || found;
    if (removed.instances) {
        due_purge(rt);
        COUNT_BY(rt, retired, removed.instances);
        log_debug(&rt->log, "retain", "removed what ended long ago", "instances=%llu",
                  (unsigned long long)removed.instances);
    }
    if (rt->removal.retain.cursor)
        rt->removal.retain.at_ms = rt_mono(rt) + PAUSE_MS;
    else
        sleep_until_due(rt);
}
