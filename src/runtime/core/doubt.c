/* SPDX-License-Identifier: MIT */
/* runtime/core/doubt.c -- see doubt.h.  Called by loop/group.c and request/remove.c. */
#include "runtime/core/doubt.h"

#include "base/limits.h"
#include "runtime/core/health.h"
#include "store/store.h"

void doubt_begin(pawl_runtime *rt, pawl_round *rounds, size_t count, const pawl_error *err)
{
    assert_that(!rt->staging.doubt.is);
    rt->staging.doubt = (struct doubt){.is = true,
                                       .rounds = rounds,
                                       .count = count,
                                       .now_ms = rt->now_ms,
                                       .fence = rt->fence,
                                       .why = *err};
    log_warn(&rt->log, "store", "a commit may have happened or not; asking the store", "why=\"%s\"",
             err->text);
    health_doubt(rt, err);
}

static bool is_not_yet(pawl_status rc)
{
    return rc == PAWL_BUSY || rc == PAWL_DISK_FULL || rc == PAWL_UNAVAILABLE ||
           rc == PAWL_NO_MEMORY;
}

/* Whatever else it answers: this process does not learn it. */
static bool is_final(pawl_status rc)
{
    return rc == PAWL_FENCED || rc == PAWL_NOT_FOUND || rc == PAWL_CORRUPT;
}

static void doubt_end(pawl_runtime *rt, bool committed)
{
    uint64_t next_id = rt->fence.next_id; /* ids may have been given out since */
    rt->staging.doubt.is = false;
    rt->fence = rt->staging.doubt.fence;
    rt->fence.next_id = next_id;
    health_wait(rt, 0);
    log_warn(&rt->log, "store", "the outcome of the commit is known", "committed=%s",
             committed ? "yes" : "no");
}

pawl_status doubt_ask(pawl_runtime *rt, const pawl_round **retrounds, pawl_error *reterr)
{
    struct doubt *d = &rt->staging.doubt;
    bool committed = false;
    assert_that(d->is);
    *retrounds = d->rounds;
    pawl_status rc =
        store_outcome(rt->store, &d->fence, d->rounds, d->count, d->now_ms, &committed, reterr);
    if (is_not_yet(rc)) {
        health_doubt(rt, reterr);
        return PAWL_EMPTY;
    }
    if (rc != PAWL_OK && is_final(rc)) /* the doubt stays: callers that wait get UNKNOWN */
        return rc;
    if (rc != PAWL_OK) { /* likewise; what went wrong with the commit says more than this */
        *reterr = d->why;
        return PAWL_UNKNOWN;
    }
    doubt_end(rt, committed);
    if (committed)
        return PAWL_OK;
    error_set(reterr, PAWL_UNAVAILABLE, "the store lost a commit before it was done");
    return PAWL_UNAVAILABLE;
}
