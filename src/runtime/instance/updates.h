/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/updates.h -- clients that wait for the answer to an update. [engine]
 *
 * The walk of a call: a letter (PAWL_OP_UPDATE) -> a turn or the mailbox -> the commit that has it
 * -> here, where the letter hangs under the uid of its instance until a commit has its answer, until
 * the instance ends without one, or until its time is over.  Whatever happens to the caller, the
 * update itself is a row or an event: what hangs here is only who is to be told.
 *
 * Invariants: a letter hangs here only after the commit that made its update durable; each is
 * answered once; a waiting call holds no thread, and no copy of what it asked.
 *
 * Called by: group.c after each commit, loop.c, refuse.c, waiter.c.
 */
#ifndef PAWL_RUNTIME_UPDATES_H
#define PAWL_RUNTIME_UPDATES_H

#include "runtime/core/runtime.h"

/* Is it a client's update that was not asked for before? */
static inline bool updates_hangs(const struct letter *l)
{
    return l->asked && l->ask.op == PAWL_OP_UPDATE && !l->duplicate;
}

/* Give the update its id: the client's key, or one that is made up. */
void updates_name(pawl_runtime *rt, struct letter *l);
/* Committed: hang it up. */
void updates_hang(pawl_runtime *rt, struct stage *s, struct letter *l);
/* Committed: answer those whose update was answered, refused or lost by this stage. */
void updates_tell(pawl_runtime *rt, const struct stage *s);
/* The id was used before: its client looks for the answer. */
void updates_answer_repeated(struct letter *l);
/* Answer those whose time is over; when the next one's is, mono (INT64_MAX: never). */
void updates_look(pawl_runtime *rt);
int64_t updates_next(const pawl_runtime *rt);
/* The time of the call that was submitted with `arg` is over. */
void updates_stop_waiting(pawl_runtime *rt, const void *arg);
void updates_refuse_all(pawl_runtime *rt, pawl_status status, const char *text);

void updates_open(pawl_runtime *rt);
void updates_free(pawl_runtime *rt);

#endif
