/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_check.h -- what can be refused of a call on a schedule without looking
 * at the store.  On the thread of the caller.
 *
 * Called by api/client.c.
 */
#ifndef PAWL_RUNTIME_SCHEDULE_CHECK_H
#define PAWL_RUNTIME_SCHEDULE_CHECK_H

#include "runtime/core/runtime.h"

bool schedule_check(pawl_runtime *rt, const pawl_request *q, pawl_error *err);

#endif
