/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/elsewhere.h -- letters for instances whose code is in workers. [engine]
 *
 * The way of a letter: looked at (execution_look).  It does not concern the code: applied as any
 * other.  It does, and a worker's call waits: its turn is handed out, and the run owns the letter
 * until the answer.  No call waits, or the worker has a turn already: the letter is a row.
 * Nothing is recorded before the answer.  Then the same letter is delivered a second time, with the
 * worker's step in hand (remote_playing), and goes the way of all letters.
 *
 * Called by turn.c, begin.c and finish.c, for code that is remote; by loop.c.
 */
#ifndef PAWL_RUNTIME_ELSEWHERE_H
#define PAWL_RUNTIME_ELSEWHERE_H

#include "runtime/core/verdict.h"

/* Its code is elsewhere, its tables are in memory. */
struct delivered elsewhere_deliver(pawl_runtime *rt, struct resident *r, struct letter *l,
                                   struct delivered (*apply)(pawl_runtime *rt, struct resident *r,
                                                             struct letter *l));
/* The start of a pending instance.  False: it is being answered, go on with it. */
bool elsewhere_begins(pawl_runtime *rt, struct resident *r, struct letter *l,
                      const struct code_entry *code, pawl_str attrs, struct delivered *ret);
/* A WAKE, and execution n has continued: the start of n + 1 is the message. */
struct delivered elsewhere_continues(pawl_runtime *rt, struct resident *r, struct letter *l,
                                     const struct code_entry *code, const struct mail *start);

/* What a WAKE is for. */
enum wake_purpose {
    WAKE_OPENS, /* the next execution, or code that is here: turn_wake() */
    WAKE_TAKES, /* a wait of code in workers is to take mail: apply it; r->x is ready */
    WAKE_WAITS, /* the same, but the instance is stopped: the letter has become a row */
};
enum wake_purpose elsewhere_wakes(pawl_runtime *rt, struct resident *r, struct letter *l);
/* A round of it was committed, or it is gone. */
void elsewhere_committed(pawl_runtime *rt, const struct stage *s);
/* Once a pass, before letters are delivered. */
void elsewhere_look(pawl_runtime *rt);

#endif
