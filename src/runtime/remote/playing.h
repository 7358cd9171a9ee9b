/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/playing.h -- a worker's answer while it is applied; opening and closing of the room.
 * [engine]
 *
 * An answer is applied by delivering its letters a second time (instance/elsewhere.h).  Between
 * remote_play_begin() and remote_play_end() this room holds the worker's step, which the execution
 * of that instance takes instead of running code.
 *
 * Invariant: at most one answer is applied at a time.
 *
 * Called by turns_answer.c (begin and end), elsewhere.c, begin.c and finish.c (play), and by the loop.
 */
#ifndef PAWL_RUNTIME_PLAYING_H
#define PAWL_RUNTIME_PLAYING_H

#include "engine/remote_code.h"
#include "runtime/core/runtime.h"

/* False: out of memory. */
bool remote_open(pawl_runtime *rt);
void remote_close(pawl_runtime *rt);
/* Mono time of the next thing to do; INT64_MAX: none. */
int64_t remote_next(const pawl_runtime *rt);

/* ---- The answer that is being applied (request/turns_answer.c) -------------- */

/* From here on, the letter that is delivered is answered by this step (NULL: it is skipped). */
void remote_play_begin(pawl_runtime *rt, uint64_t uid, const struct code_entry *code,
                       const struct remote_step *step, pawl_str start_attrs);
/* True: the step was played, and stands; false: see `ret`, if it was refused. */
bool remote_play_end(pawl_runtime *rt, bool *retrefused, struct engine_finding *ret);
/* The code that answers for this instance; NULL: none is being applied. */
const struct code_entry *remote_playing(const pawl_runtime *rt, uint64_t uid);
/* Is its step the first of an execution? */
bool remote_play_starts(const pawl_runtime *rt);
/* Give the step to the execution that is applied next, and the attrs of a start to its mail. */
void remote_play(pawl_runtime *rt, execution *x, struct mail *start);
/* The engine refused the step. */
void remote_play_refused(pawl_runtime *rt, const struct engine_finding *finding);

#endif
