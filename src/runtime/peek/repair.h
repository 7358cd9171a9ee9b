/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/repair.h -- peek-lock mode: repair what a half-done round left. [engine]
 *
 * A store without atomic rounds applies a round in order: events, row, inserts,
 * drops (append, enqueue, ack).  A crash or error may leave a prefix.
 * The events are the truth, so the rest follows from them: open schedules must
 * have their rows, withdrawn and completed ones none, an ended child has told its
 * parent, a closed execution has a successor, a raise that was recorded has no row
 * any more.  The repair inserts and drops exactly that, for events the store does not
 * know to be whole (clause K5); the store skips what is there already.
 *
 * It happens before anything of the instance is delivered or acked: at start for
 * every instance, after a failed commit for those it touched.  Without delayed
 * visibility the start also fills the heap of timers (timers.h) from the events.
 */
#ifndef PAWL_RUNTIME_REPAIR_H
#define PAWL_RUNTIME_REPAIR_H

#include "runtime/core/runtime.h"

/* Remember an instance to be repaired before the next letter is delivered. */
void repair_later(pawl_runtime *rt, uint64_t uid);
/* At start: every instance. */
pawl_status repair_all_later(pawl_runtime *rt, pawl_error *reterr);
/* A stage was not committed, but perhaps half of it happened: nothing it inserted is
 * in memory, so the store may hand it out. */
void repair_failed(pawl_runtime *rt, const struct stage *s);
/* Stage what is missing for the instances remembered.  True: this pass repairs, and does
 * nothing else.  *retunread: the store did not answer for one of them. */
bool repair_look(pawl_runtime *rt, bool *retunread);
void repair_open(pawl_runtime *rt);
void repair_close(pawl_runtime *rt);

#endif
