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
 *   QUEUED ─▶ RUNNING ─▶ DONE        [job_enqueue, worker, job_done]
 *   given_up at any time: withdrawn or timed out; the result is ignored.
 */
#ifndef PAWL_RUNTIME_JOB_H
#define PAWL_RUNTIME_JOB_H

#include "runtime/core/runtime.h"

/* When the row is to be looked at for a time-out; 0: never. */
int64_t job_deadline(const struct call_policy *p, int64_t scheduled_ms, bool started);
/* True when the row about to be inserted goes straight into memory. */
bool job_admit(pawl_runtime *rt, const pawl_work *w);
/* Take a row into memory and queue it for a worker. */
void job_take(pawl_runtime *rt, const pawl_work *w);
/* Fetch free work while there is room. */
void job_fetch(pawl_runtime *rt);
/* A worker is done with it. */
void job_done(pawl_runtime *rt, struct job *job);
/* The same, and nobody wants the result. */
void job_drop(pawl_runtime *rt, struct job *job);
/* It waits for something and needs no worker: others are fetched in its place. */
void job_set_aside(pawl_runtime *rt, struct job *job);
/* The row is gone: tell the activity, ignore its result. */
void job_withdraw(pawl_runtime *rt, uint64_t work_id);
/* Rows whose deadline has passed; attempts that ran too long or went silent. */
void job_look_deadlines(pawl_runtime *rt);
/* figures.c, any thread: an attempt begins now. */
void job_began(pawl_runtime *rt, const pawl_work *w, bool recovered, int64_t now_ms);
void job_look_limits(pawl_runtime *rt);
/* Mono time of the next limit; INT64_MAX: none. */
int64_t job_next_limit(pawl_runtime *rt);
/* PAWL_OP_COMPLETE and PAWL_OP_HEARTBEAT; take ownership. */
void job_complete_request(pawl_runtime *rt, struct request *req);
void job_heartbeat_request(pawl_runtime *rt, struct request *req);
void job_free(struct job *job);
/* It is no longer in memory: neither watched nor found under its row. */
void job_forget(pawl_runtime *rt, struct job *job);
/* Watch its start-to-close and heartbeat limits from now on. */
void job_watch(pawl_runtime *rt, struct job *job);

/* ---- worker.c --------------------------------------------------------------- */

/* Queue for a worker thread, starting one if all are busy. */
void worker_queue(pawl_runtime *rt, struct job *job); /* begins at worker_flush(), or before */
void worker_flush(pawl_runtime *rt);
void worker_look(pawl_runtime *rt); /* when no thread could be started: try again */
/* Without threads: run up to `max` queued jobs on this thread. */
int worker_run_here(pawl_runtime *rt, int max);
/* Stop taking jobs and wait up to `ms` for running ones; false: some still run. */
bool worker_stop(pawl_runtime *rt, int64_t ms);

#endif
