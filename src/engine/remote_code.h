/* SPDX-License-Identifier: MIT */
/*
 * engine/remote_code.h -- executions whose code runs in a worker (docs/protocol/turns.md).
 *
 * Such an execution has tables and no fiber.  A message is *looked at* first: would it be recorded,
 * and must the code see it?  If it must, a worker is asked, and nothing changes until it has
 * answered.  Then the message is applied as any other (execution_apply), with the worker's step
 * set: the decisions of the step are judged and appended where C code would have made them by its
 * calls.  A step that breaks the rules is ENGINE_REFUSED: nothing of the turn stands, and the caller
 * drops the execution.  Its finding has a seq if one call is refused, and the code is to be told.
 *
 * Life of one message:
 *     execution_look -> asks? -> (hand out, answer) -> execution_step, execution_apply
 *                    -> else                        -> execution_apply
 * After the last step of an answer: execution_expect, so that completions which cannot wake the
 * code are recorded without asking it.
 *
 * Called by: runtime/remote, runtime/instance; tests.
 */
#ifndef PAWL_ENGINE_REMOTE_CODE_H
#define PAWL_ENGINE_REMOTE_CODE_H

#include "engine/engine.h"
#include "pawl/turns.h"

/* What the code did on one message. */
struct remote_step {
    int64_t at_ms; /* of the message, as the worker was told */
    uint64_t seq;  /* the number of the message, as the worker counts */
    const pawl_decision *decisions;
    size_t count;
};

/* What a message would become. */
struct remote_look {
    enum engine_fate fate; /* APPLIED: `event` is recorded */
    bool asks;             /* and the code must see it */
    pawl_event event;      /* kind, ref, name, data, attrs; strings of the message or of `mem` */
};

/* Changes nothing.  A PAWL_MSG_WAKE stands for the kept event that an open wait is to take. */
struct remote_look execution_look(execution *x, const struct mail *msg, pawl_mem *mem);
/* Has an open wait mail? */
bool execution_has_due_mail(const execution *x);
/* The next execution_apply() plays this step; it outlives that call. */
void execution_step(execution *x, const struct remote_step *step);
/* What the code waits for now.  False, with words: it cannot wait for that. */
bool execution_expect(execution *x, pawl_turn_wait mode, const uint64_t *refs, size_t count,
                      char *why, size_t n);
/* The time of its last message. */
int64_t execution_now(const execution *x);

#endif
