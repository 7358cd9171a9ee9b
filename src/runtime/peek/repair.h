/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/repair.h -- peek-lock mode: repair what a half-done round left. [engine]
 *
 * A store without atomic rounds applies a round in order: events, row, inserts,
 * drops (append, enqueue, ack).  A crash or error may leave a prefix.
 * The events are the truth, and the rest follows from them: an open schedule has its
 * row, a withdrawn or completed one has none, an ended child has told its parent, a
 * closed execution has a successor, a recorded raise has no row.  The repair inserts and
 * drops exactly that, for events the store does not know to be whole (clause K5); the
 * store skips rows that exist.
 *
 * It runs before anything of the instance is delivered or acked: for every instance when
 * the runtime opens, and after a failed commit for the instances it touched.  Without
 * delayed visibility, opening also fills the heap of timers (timers.h) from the events.
 */
#ifndef PAWL_RUNTIME_REPAIR_H
#define PAWL_RUNTIME_REPAIR_H

#include "runtime/core/runtime.h"

/* Remember an instance to be repaired before the next letter is delivered. */
void repair_later(pawl_runtime *rt, uint64_t uid);
/* When the runtime opens: every instance. */
pawl_status repair_all_later(pawl_runtime *rt, pawl_error *reterr);
/* A stage was not committed, but may be half done: none of its inserts is in memory, so the store
 * may hand them out. */
void repair_failed(pawl_runtime *rt, const struct stage *s);
/* Stage what is missing for the instances remembered.  True: this pass repairs, and does
 * nothing else.  *retunread: the store did not answer for one of them. */
bool repair_look(pawl_runtime *rt, bool *retunread);
void repair_open(pawl_runtime *rt);
void repair_close(pawl_runtime *rt);

#endif
