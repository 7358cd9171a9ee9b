/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_zones.h -- zone files that change. [engine]
 *
 * For each zone that a schedule uses, an object of kind PAWL_OBJECT_ZONE has the hash of the file
 * that occurrences were computed from (0: there was none).  A process that starts compares these
 * hashes with the files, and so does a look at a schedule.  When one differs, the engine walks over
 * all schedules, one page per pass, and looks at those of that zone: their next occurrence may have
 * moved, and those that were parked because their zone was gone go on.
 *
 * Called by schedule_hand.c, life/recover.c and loop/loop.c.
 */
#ifndef PAWL_RUNTIME_SCHEDULE_ZONES_H
#define PAWL_RUNTIME_SCHEDULE_ZONES_H

#include "runtime/core/stage.h"

/* A schedule of this zone was computed from the file with this hash; 0: it is not there. */
void zones_note(pawl_runtime *rt, struct stage *s, pawl_str zone, uint64_t hash);
/* When the runtime opens: look whether a file has changed. */
PAWL_MUST_USE pawl_status zones_recover(pawl_runtime *rt, pawl_error *reterr);
/* After a change: look at the next page of schedules. */
void zones_look(pawl_runtime *rt);
void zones_open(pawl_runtime *rt);
void zones_close(pawl_runtime *rt);

#endif
