/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_call.h -- clients' calls on schedules. [engine]
 *
 * Called by request/request.c; the request was checked on its caller's thread (schedule_check.h).
 */
#ifndef PAWL_RUNTIME_SCHEDULE_CALL_H
#define PAWL_RUNTIME_SCHEDULE_CALL_H

#include "runtime/core/verdict.h"

#define BACKFILL_MAX 10000 /* occurrences */

enum verdict_kind schedule_call(pawl_runtime *rt, struct letter *call);

#endif
