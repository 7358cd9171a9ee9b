/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_check.h -- the checks of a call on a schedule that need no store.  They
 * run on the caller's thread.
 *
 * Called by api/client.c.
 */
#ifndef PAWL_RUNTIME_SCHEDULE_CHECK_H
#define PAWL_RUNTIME_SCHEDULE_CHECK_H

#include "runtime/core/runtime.h"

bool schedule_check(pawl_runtime *rt, const pawl_request *q, pawl_error *err);

#endif
