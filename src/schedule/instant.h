/* SPDX-License-Identifier: MIT */
/* schedule/instant.h -- instants as text: of ids, of people in a zone, and read again. */
#ifndef PAWL_SCHEDULE_INSTANT_H
#define PAWL_SCHEDULE_INSTANT_H

#include "pawl/schedule.h"

/* "2026-11-17T06:00:00Z"; ".250" in front of Z when there are milliseconds; 1970 to 9999.  Part of
 * the ids of runs: stored, never changes. */
const char *instant_text(char ret[PAWL_LOCAL_TIME_BYTES], int64_t ms);
/* The same with an offset that is not 0: "2026-11-17T07:00:00+01:00". */
const char *instant_local_text(char ret[PAWL_LOCAL_TIME_BYTES], int64_t ms, int32_t offset);

#endif
