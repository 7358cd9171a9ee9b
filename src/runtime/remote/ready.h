/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/ready.h -- runs that wait for a worker: in lists, offered to calls that wait. [engine]
 *
 * A run waits in the list of the session that knows it, for two seconds of silence; else in the list
 * of its code, where any worker may have it.  What is looked at in a pass is what is due: leases that
 * are over, sessions that may have become silent, calls that were offered nothing yet.
 *
 * Also here: which runs a session is remembered for (sticky), because they leave it together.
 *
 * Called by elsewhere.c (waits, look), turns_answer.c (forget, leave) and the files of this room.
 */
#ifndef PAWL_RUNTIME_READY_H
#define PAWL_RUNTIME_READY_H

#include "runtime/core/runtime.h"

struct exchange;
struct remote_code;
struct remote_run;
struct worker_session;

/* ---- Lists ----------------------------------------------------------------- */

/* Into the list of its session, or of its code. */
void ready_put(pawl_runtime *rt, struct remote_run *run);
/* Out of its list, if it is in one. */
void ready_take(struct remote_run *run);
/* Its letters are to be read again: the first that asks goes to a call that waits. */
void ready_bring(pawl_runtime *rt, struct remote_run *run);
/* Into the list of its code, as no session knows it any more. */
void ready_for_all(pawl_runtime *rt, struct remote_run *run);

/* ---- Sticky ------------------------------------------------------------------ */

void ready_join(pawl_runtime *rt, struct remote_run *run, struct worker_session *s);
void ready_leave(pawl_runtime *rt, struct remote_run *run);
/* The session ends or shuts down: no run is its any more, but those whose turn it has. */
void ready_drop_session(pawl_runtime *rt, struct worker_session *s);

/* ---- Calls that wait ------------------------------------------------------------ */

/* May this call have one more turn of this code?  A limit that says no is remembered. */
bool ready_may_have(pawl_runtime *rt, const struct exchange *ex, const struct remote_code *code);
/* Once a pass. */
void ready_look(pawl_runtime *rt);
int64_t ready_next(const pawl_runtime *rt); /* mono */

#endif
