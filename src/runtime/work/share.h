/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/share.h -- which queued activity runs next, so that no name has all the threads.
 *
 * A share is what is queued and runs under one activity's name.  A thread that is free takes from
 * the share that runs least, the one that waited longest among equals.  The last eighth of the
 * threads is kept for names of which nothing runs: a hundred calls that block do not hold up
 * other activities.
 *
 * Jobs with a tray come by their turn (handout.h) and go before the shares: few at a time, by
 * priority.
 *
 * All under work_lock.  Called by worker.c and close.c.
 */
#ifndef PAWL_RUNTIME_SHARE_H
#define PAWL_RUNTIME_SHARE_H

#include "runtime/core/runtime.h"

/* That of the job's activity. [engine] */
struct share *share_of(pawl_runtime *rt, const struct job *job);
/* With this many threads at work, may a name get another one?  Else only names without one. */
bool share_has_room(const pawl_runtime *rt, uint32_t running);
void share_add(pawl_runtime *rt, struct job *job);
/* NULL: nothing is queued that may run now.  share_done() follows. */
struct job *share_take(pawl_runtime *rt);
bool share_may(const pawl_runtime *rt); /* would share_take() give one? */
void share_done(struct share *s);
/* Jobs whose turn it is, with this priority or a lower number. */
uint32_t share_ahead(const pawl_runtime *rt, uint32_t priority);
/* Does a job of the activity run, or is it to begin? */
bool share_runs(const pawl_runtime *rt, const struct activity_entry *activity);
/* Those of the activity that wait and are not marked (once.h), out of its queue, in order. */
struct job *share_take_back(pawl_runtime *rt, const struct activity_entry *activity);
/* Any that waits and is marked (once.h), taken out of its queue; NULL: none. */
struct job *share_take_marked(pawl_runtime *rt);
/* Free all, and the jobs that wait. */
void share_free(pawl_runtime *rt);
void share_open(pawl_runtime *rt);

/* How many jobs wait for a thread.  Without threads: on this thread. */
static inline size_t share_queued(const pawl_runtime *rt)
{
    return rt->shares.queued + rt->shares.ahead_count;
}

#endif
