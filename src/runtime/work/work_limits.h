/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/work_limits.h -- stored limits, in memory; what was used of rates, in the store. [engine]
 *
 *   put, removed  ─▶ committed [limits_committed] ─▶ when all rows of that group are handed out as
 *                    they were sealed: in force; work that it names comes by its turn  [limits_apply]
 *   rate: taken   ─▶ its bucket is dirty ─▶ written in the commit of this pass     [limits_seal]
 *                    a lease is told by the same commit; a job of this process waits for it
 *                    [limits_wait] and is given back to begin              [limits_committed]
 *
 * So the beginning of an attempt is paid for before it happens, also after crashes.  The policy is
 * pure (fair/bucket.h).  Places (concurrency) are not stored: leased rows are, and an attempt of a
 * process dies with it.
 *
 * Invariants: rt->hands.limits is the number of limits in force; a job in `waits` has its place and
 * its tokens, is out, and no thread has it; a bucket with `stored` has an object of kind RATE, and
 * no other has, but for those in `wiped`.
 *
 * Called by handout.c, deal.c, group.c and limit_call.c.
 */
#ifndef PAWL_RUNTIME_WORK_LIMITS_H
#define PAWL_RUNTIME_WORK_LIMITS_H

#include "fair/bucket.h"
#include "runtime/core/runtime.h"

struct handout;
struct tray;

/* A limit in force. */
struct limit {
    struct fair_limit fair;
    pawl_mem mem; /* of its texts */
    uint64_t version;
};

/* Can this store have limits?  It needs trays, objects and atomic rounds. */
bool limits_work(const pawl_runtime *rt);

/* Read limits and what was used of them. */
pawl_status limits_open(pawl_runtime *rt, pawl_error *reterr);
/* The trays are gone already. */
void limits_close(struct handout *h);

/* Does a limit name the activity? */
bool limits_name(const pawl_runtime *rt, pawl_str activity);
/* NULL: there is none. */
const struct limit *limits_find(const pawl_runtime *rt, pawl_str name);

/* Must the beginning of its attempts be committed first? */
bool limits_bound(const struct tray *tray);
/* The job begins when what it used is committed. */
void limits_wait(pawl_runtime *rt, struct job *job);
/* What was used in this pass goes with its commit.  Returns the jobs that wait for none any more,
 * because their limit is gone; chained by next_queued, NULL: none. */
struct job *limits_seal(pawl_runtime *rt);
/* The stage has objects, and is committed.  Returns the jobs whose beginning is paid for now. */
struct job *limits_committed(pawl_runtime *rt, const struct stage *s);
/* All rows of the group are handed out as they were sealed: from now on its limits are in force. */
void limits_apply(pawl_runtime *rt);

#endif
