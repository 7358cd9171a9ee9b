/* SPDX-License-Identifier: MIT */
/* runtime/work/activity.h -- run one attempt of an activity on this thread. */
#ifndef PAWL_RUNTIME_ACTIVITY_H
#define PAWL_RUNTIME_ACTIVITY_H

#include "pawl/activity.h"
#include "runtime/core/runtime.h"

/* Call the author's function; verdict and result are left on the job.  False: it is away, and
 * no longer this thread's. */
bool activity_run(pawl_runtime *rt, struct job *job);

/* For activities of the runtime that wait without holding a thread: hand the job to the
 * thread that will call activity_answer(), and return activity_away() at once. */
struct job *activity_job(pawl_activity *act);
pawl_result activity_away(pawl_activity *act);
/* `value` is copied. */
void activity_answer(pawl_runtime *rt, struct job *job, enum job_verdict verdict, pawl_str value);
/* It did not run, and that is not a failed attempt. */
pawl_result activity_skip(pawl_activity *act);
/* The idempotency key of a piece of work; returns `out`. */
#define ACTIVITY_KEY_BYTES 96
const char *activity_key(const pawl_work *w, char out[ACTIVITY_KEY_BYTES]);

/* The policy of the call whose attempt this is. */
const struct call_policy *activity_policy(const pawl_activity *act);

#endif
