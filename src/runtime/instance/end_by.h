/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/end_by.h -- the deadline of an instance. [engine]
 *
 * A moment, fixed when the instance is made: a cancel message that is due then.  START and
 * OrchestrationStarted have it in their attrs (`deadline_ms`), so the next execution and the
 * children know it; the message itself is of the instance and outlives its executions.
 *
 * Called by request.c, begin.c, park.c, finish.c and repair_events.c.
 */
#ifndef PAWL_RUNTIME_END_BY_H
#define PAWL_RUNTIME_END_BY_H

#include "runtime/core/runtime.h"

/* A client's start gets the moment into its attrs. */
void deadline_fix(pawl_runtime *rt, struct letter *l);
/* The moment of a start; 0: none. */
int64_t deadline_of(const struct letter *l);
/* The instance of this stage is made by that start: the message. */
void deadline_set(pawl_runtime *rt, struct stage *s, const struct letter *l);
/* It ends: the message goes.  What cannot be read is dropped when it is due. */
void deadline_drop(pawl_runtime *rt, struct stage *s);
/* The message for this moment, if it is not there (repair). */
void deadline_again(pawl_runtime *rt, struct stage *s, int64_t at_ms);

#endif
