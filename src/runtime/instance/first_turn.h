/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/first_turn.h -- a start whose code is in workers, decided before it is stored.
 * [engine]
 *
 * The rule: when a client's start is all that there is to commit, and a worker's call waits that may
 * have it, its turn is handed out before the commit, and the group waits for that worker's answer.  It
 * waits RUN_FIRST_MS at most, and no longer once anything else is to be committed.
 *
 *   the answer came    the stage is taken back, and the start is played with the worker's step, as
 *                      one of C code: start and first decisions are one commit
 *   anything else      the group is committed as it is: the start is a row, its letter becomes the
 *                      run's, and the turn, which may be answered meanwhile, stays good
 *
 * So nothing is seen of it: until the commit no client is answered, and whatever comes by name finds an
 * instance that this group inserts.  A worker that is lost costs RUN_FIRST_MS, and its turn is given
 * again as any other.  It needs a thread of the engine's own: a stepped one never waits inside a pass.
 *
 * Called by begin.c (offer), loop.c (wait), turns_answer.c (take).
 */
#ifndef PAWL_RUNTIME_FIRST_TURN_H
#define PAWL_RUNTIME_FIRST_TURN_H

#include "engine/remote_code.h"
#include "runtime/core/verdict.h"

/* Its start is staged.  Is it all that there is to commit, so that a worker may have it now? */
bool first_turn_may(pawl_runtime *rt, const struct resident *r, const struct letter *l);
/* Give it to a call that waits, if one does. */
void first_turn_offer(pawl_runtime *rt, struct resident *r, const struct letter *l,
                      const struct code_entry *code, pawl_str attrs);
/* Is the group such a start, and nothing else? */
bool first_turn_waits(const pawl_runtime *rt);
/* Is it that of `r`? */
bool first_turn_is(const pawl_runtime *rt, const struct resident *r);
/* Its stage is undone and `r` is gone: the letter is the caller's. */
struct letter *first_turn_take(pawl_runtime *rt, struct resident *r);

#endif
