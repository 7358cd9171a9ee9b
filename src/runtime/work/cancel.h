/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/cancel.h -- tell activities that they were cancelled.
 *
 * The flag is set at once.  What an activity left to be called (pawl_activity_on_cancel) is the
 * author's code: it may take its time, take locks, or call clients.  So it runs on a thread of
 * its own, started when needed, with no lock held; without threads, on the thread that steps,
 * after the pass.
 *
 * A job is queued or being called only while its activity runs: cancel_forget() takes it
 * out, or waits for the call under way.
 */
#ifndef PAWL_RUNTIME_CANCEL_H
#define PAWL_RUNTIME_CANCEL_H

#include "runtime/core/runtime.h"

/* Any thread: the result is not needed any more. */
void job_cancel(struct job *job);
/* Call `fn` then; NULL: nothing.  At once, on this thread, when it is cancelled already. */
void cancel_set(struct job *job, void (*fn)(void *arg), void *arg);
/* The activity has returned: the callback is not called after this. */
void cancel_forget(struct job *job);
/* Without threads: call what is to be called. */
void cancel_run_here(pawl_runtime *rt);
/* All activities have returned: the threads end. */
void cancel_stop(pawl_runtime *rt);
void cancel_open(pawl_runtime *rt);

#endif
