/* SPDX-License-Identifier: MIT */
/* runtime/work/worker.h -- threads that run activities. */
#ifndef PAWL_RUNTIME_WORKER_H
#define PAWL_RUNTIME_WORKER_H

#include "runtime/core/runtime.h"

/* Queue for a worker thread, starting one if all are busy. */
void worker_queue(pawl_runtime *rt, struct job *job); /* begins at worker_flush(), or before */
void worker_flush(pawl_runtime *rt);
void worker_look(pawl_runtime *rt); /* when no thread could be started: try again */
/* Without threads: run up to `max` queued jobs on this thread. */
int worker_run_here(pawl_runtime *rt, int max);
/* Stop taking jobs and wait up to `ms` for running ones; false: some still run. */
bool worker_stop(pawl_runtime *rt, int64_t ms);
/* May work of this priority that comes by its turn go to the threads?  When one is free; else one
 * waits before the shares.  The threads that are kept for other names stay free. */
bool worker_may(pawl_runtime *rt, const struct activity_entry *activity, uint32_t priority,
                uint32_t unflushed); /* of the caller's */
/* Do jobs without a tray wait for a thread? */
bool worker_has_queued(pawl_runtime *rt);
/* Jobs of the activity that no thread has begun, out of the queue, in order. */
struct job *worker_take_back(pawl_runtime *rt, const struct activity_entry *activity);
/* How many activities run now.  Any thread. */
uint32_t worker_running(pawl_runtime *rt);
/* When the thread that runs this work began; 0: none runs it.  Any thread. */
int64_t worker_started(const pawl_runtime *rt, uint64_t work_id);
/* worker_stop() was called: no job is begun any more. */
bool worker_is_closing(pawl_runtime *rt);
bool worker_open(pawl_runtime *rt); /* false: out of memory */
void worker_close(pawl_runtime *rt);

#endif
