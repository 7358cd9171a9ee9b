/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/job.h -- activity attempts: taken in, tried, retried, timed out.
 * [engine], except worker.c's own threads.
 *
 * The work row is the truth; a job is one attempt of it in memory.  New rows are
 * inserted locked by this epoch while there is room in the backlog and handed to
 * a worker after the commit; the rest is inserted free and fetched later.
 * Attempts and delays live on the row (SEMANTICS 8): no turn runs and the history
 * does not grow until the call is decided.
 *
 *   queued ─▶ running ─▶ done        [worker_queue, worker.c, job_done]
 *   given_up at any time: withdrawn or timed out; the result is ignored.
 */
#ifndef PAWL_RUNTIME_JOB_H
#define PAWL_RUNTIME_JOB_H

#include "runtime/core/verdict.h"

/* True when the row about to be inserted goes straight into memory. */
bool job_admit(pawl_runtime *rt, const pawl_work *w);
/* Take a row into memory and queue it for a worker. */
void job_take(pawl_runtime *rt, const pawl_work *w);
/* A job in the table whose turn it is: queue it, unless its call is decided already. */
void job_begin(pawl_runtime *rt, struct job *job);
/* Fetch free work while there is room. */
void job_fetch(pawl_runtime *rt);
/* A worker is done with it.  DONE or FIRST. */
enum verdict_kind job_done(pawl_runtime *rt, struct job *job);
/* The same, and the result is not needed. */
void job_drop(pawl_runtime *rt, struct job *job);
/* The row is gone: tell the activity, ignore its result. */
void job_withdraw(pawl_runtime *rt, uint64_t work_id);
void job_look_limits(pawl_runtime *rt);

#endif
