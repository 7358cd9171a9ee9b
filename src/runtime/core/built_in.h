/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/built_in.h -- orchestrations that every app has: pawl.job.
 *
 * Their names begin with RESERVED, which no registration from outside may use.
 */
#ifndef PAWL_RUNTIME_BUILT_IN_H
#define PAWL_RUNTIME_BUILT_IN_H

#include "base/reserved.h"
#include "pawl/runtime.h"

#define BUILT_IN_COUNT 1 /* names of orchestrations */

/* For a new app; false: out of memory. */
bool built_in_register(pawl_app *app);
/* May this be the input of pawl.job?  A client is told at its start what a job would fail with. */
bool job_check(pawl_str input, pawl_error *reterr);

#endif
