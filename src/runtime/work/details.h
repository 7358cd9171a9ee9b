/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/details.h -- where an attempt got to: the details of its heartbeats (S39).
 *
 * The way of details:
 *
 *   pawl_activity_beat   thread of the activity   copied into the job's beat, and listed
 *   details_look         engine, within a second  written as a named object (PAWL_OBJECT_DETAILS)
 *   details_put          engine                   a beat by token: with its own commit; a failed
 *                                                 attempt: with the commit that says so
 *   details_read         engine                   the next attempt gets them, job or lease
 *   details_leave        engine                   the round that deletes the work row removes them
 *
 * The object's name is the id of the work row in 16 hex digits.  It is no part of any history.
 *
 * Invariants: an object exists only while its work row does (what a removal by purge left behind is
 * swept when the runtime opens); `kept` has every row that may have one; a call without details
 * costs two comparisons with zero.  A crash loses the details of the last second, no others.
 */
#ifndef PAWL_RUNTIME_DETAILS_H
#define PAWL_RUNTIME_DETAILS_H

#include "runtime/work/jobs.h"

#define DETAILS_EVERY_MS 1000 /* details in memory are written at least this often */

/* [thread of the activity] These are the newest; false: out of memory, and those before stand. */
bool details_note(pawl_runtime *rt, struct job *job, pawl_str details);
/* [thread of the activity] Those of an earlier attempt; false: there are none. */
bool details_resume(const struct job *job, pawl_str *ret);

/* Write what is listed, when its time has come. */
void details_look(pawl_runtime *rt, int64_t mono_ms);
/* Write them with this group, before whatever in it deletes the row. */
void details_put(pawl_runtime *rt, uint64_t work_id, pawl_str details);
/* The same of an attempt that is over, if it left any. */
void details_put_of(pawl_runtime *rt, struct job *job);
/* The attempt goes on as another job. */
void details_move(struct job *from, struct job *to);
/* Those of the row, in `mem`; empty: none.  False: the store did not answer. */
bool details_read(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem, pawl_str *ret);
/* They are those that this job begins with. */
bool details_begin(struct job *job, pawl_str details);
void details_free(struct job *job);
/* Rows that this stage deletes take their details with them. */
void details_leave(pawl_runtime *rt, struct stage *s);
/* The row is gone. */
void details_gone(pawl_runtime *rt, uint64_t work_id);
/* For people, from any thread: as they are stored. */
pawl_status details_show(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem, pawl_str *ret,
                         pawl_error *reterr);

void details_init(pawl_runtime *rt);
void details_deinit(pawl_runtime *rt);
pawl_status details_open(pawl_runtime *rt, pawl_error *reterr); /* the store is ours */

/* May some row have details? */
static inline bool details_any(pawl_runtime *rt)
{
    return jobs_details(rt)->kept.count > 0;
}

/* May this row? */
static inline bool details_has(pawl_runtime *rt, uint64_t work_id)
{
    return details_any(rt) && idset_has(&jobs_details(rt)->kept, work_id);
}

/* Mono time at which to look; INT64_MAX: never. */
static inline int64_t details_next(pawl_runtime *rt)
{
    return atomic_load_explicit(&jobs_details(rt)->due_ms, memory_order_relaxed);
}

/* Is it that time, or may the last look's commit have failed? */
static inline bool details_are_due(pawl_runtime *rt, int64_t mono_ms)
{
    return details_next(rt) <= mono_ms || jobs_details(rt)->flying.count;
}

#endif
