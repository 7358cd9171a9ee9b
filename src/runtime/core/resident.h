/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/resident.h -- the router: instances in memory. [engine]
 *
 * A resident is a cache of the store: its row as committed and, when it can run
 * here, its execution (fiber, tasks, arena).  Dropping it loses nothing; the
 * next letter loads the row and replays the history.  The memory budget evicts
 * the one used longest ago (dehydration); what is staged in the group being
 * built is never evicted by the budget.
 *
 * Invariants (resident_check): every resident is in both maps and in the list
 * once; rt->residents.bytes is the sum of their bytes.
 */
#ifndef PAWL_RUNTIME_RESIDENT_H
#define PAWL_RUNTIME_RESIDENT_H

#include "runtime/core/runtime.h"

struct resident *resident_by_uid(pawl_runtime *rt, uint64_t uid);
struct resident *resident_by_id(pawl_runtime *rt, pawl_str id);
/* Take in a row (copied).  NULL when out of memory. */
struct resident *resident_add(pawl_runtime *rt, const pawl_row *row);
/* Replace the row after a commit (copied). */
void resident_set_row(struct resident *r, const pawl_row *row);
/* The row as this group sees it: staged if staged, else committed. */
pawl_row *resident_row(struct resident *r);
void resident_touch(pawl_runtime *rt, struct resident *r);
/* Count its memory again after a turn. */
void resident_weigh(pawl_runtime *rt, struct resident *r);
/* Forget it.  Its stage, if any, must be gone. */
void resident_evict(pawl_runtime *rt, struct resident *r);
/* Evict the oldest until the budget holds; `all`: everything not staged, except `keep`. */
void resident_trim(pawl_runtime *rt, bool all, const struct resident *keep);
void resident_check(pawl_runtime *rt);
void resident_open(pawl_runtime *rt);
bool resident_open_fibers(pawl_runtime *rt); /* false: out of memory */
/* Evicts all. */
void resident_close(pawl_runtime *rt);

/* The stacks of their fibers. */
static inline struct fiber_pool *resident_fibers(const pawl_runtime *rt)
{
    return rt->residents.fibers;
}

#endif
