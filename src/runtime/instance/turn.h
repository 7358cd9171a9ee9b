/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/turn.h -- one letter, one instance: run it, keep it, or let it wait.
 * [engine]
 */
#ifndef PAWL_RUNTIME_TURN_H
#define PAWL_RUNTIME_TURN_H

#include "runtime/core/runtime.h"

/* Deliver a letter to its instance; takes ownership. */
void turn_deliver(pawl_runtime *rt, struct letter *l);
/* Mailbox rows that the turn consumed or threw away. */
void turn_drop_consumed(pawl_runtime *rt, struct resident *r, struct stage *s);
/* Its instance cannot be read: rows stay as they are until the next start. */
void turn_damaged(pawl_runtime *rt, struct letter *l);
/* The store did not answer: stop this group, try again soon. */
void turn_hold(pawl_runtime *rt, struct letter *l);

/* ---- begin.c: letters that open an instance ------------------------------- */

/* A START letter; takes ownership. */
void begin_deliver(pawl_runtime *rt, struct letter *l);
/* Record the start of r's execution and run its first turn.  `input` and
 * `wanted` version (empty: latest) as asked.  False: no code here. */
/* Mail that was kept for the id of a new instance moves to it, whatever becomes of the start: later
 * events are younger.  False: the store did not answer. */
bool begin_adopt(pawl_runtime *rt, struct resident *r, struct stage *s);
bool begin_execution(pawl_runtime *rt, struct resident *r, struct letter *l);
/* The input the instance was first started with, good until the next load; EMPTY:
 * not known any more; else: the store did not answer. */
pawl_status begin_input(pawl_runtime *rt, const struct resident *r, pawl_str *ret);

/* ---- finish.c: what ends one, or opens its next execution --------------------- */

/* Apply what the engine answered to the stage.  `l` is consumed. */
void turn_outcome(pawl_runtime *rt, struct resident *r, struct letter *l,
                  enum engine_outcome outcome, const struct engine_finding *finding);
/* It has continued as new, but the next execution could not be opened yet. */
bool turn_is_between(const execution *x);
/* A WAKE letter: open the execution that could not be opened, look at the mail again. */
void turn_wake(pawl_runtime *rt, struct resident *r, struct letter *l);
/* End it now without its code. */
void turn_finish(pawl_runtime *rt, struct resident *r, struct letter *l, int kind, pawl_str reason);

/* ---- park.c: letters that cannot be delivered now ------------------------------ */

/* The instance cannot go on with its code: park it (or fail it, by option). */
void turn_block(pawl_runtime *rt, struct resident *r, struct letter *l,
                const struct engine_finding *finding);
/* No code here for its version: the letter waits as a row. */
void turn_codeless(pawl_runtime *rt, struct resident *r, struct letter *l);
/* "waits for code …", or why it is cancelled, by option. */
pawl_str turn_missing(pawl_runtime *rt, const pawl_row *row, pawl_str version);
/* Let a letter wait as a row until the instance can run. */
void turn_pile(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Make a letter a row first; it comes back when that is durable. */
void turn_store(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Take everything of this instance back and try again, letter by letter. */
void turn_again(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Put the rows that wait for this instance into memory again. */
void turn_unpile(pawl_runtime *rt, uint64_t uid);

/* ---- still.c ---------------------------------------------------------------- */

/* SUSPEND or RESUME for an instance that cannot run now. */
void turn_still(pawl_runtime *rt, struct resident *r, struct letter *l);

/* ---- paranoid.c ------------------------------------------------------------- */

/* Replay every stage of the group and park what does not agree. */
void paranoid_look(pawl_runtime *rt);

/* Crashes counted in `attempt` of a message row; looks for nobody are counted above them. */
#define TURN_LOOKS_SHIFT 16
static inline uint32_t turn_crashes_of(uint32_t attempt)
{
    return attempt & ((1U << TURN_LOOKS_SHIFT) - 1);
}

#endif
