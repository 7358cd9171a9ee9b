/* SPDX-License-Identifier: MIT */
/* runtime/activity.h -- run one attempt of an activity on this thread. */
#ifndef PAWL_RUNTIME_ACTIVITY_H
#define PAWL_RUNTIME_ACTIVITY_H

#include "runtime/runtime.h"

/* Call the author's function; verdict and result are left on the job. */
void activity_run(pawl_runtime *rt, struct job *job);
/* The idempotency key of a piece of work; returns `out`. */
#define ACTIVITY_KEY_BYTES 96
const char *activity_key(const pawl_work *w, char out[ACTIVITY_KEY_BYTES]);

#endif
