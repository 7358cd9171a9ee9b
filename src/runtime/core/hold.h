/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/hold.h -- timers in memory, for stores without delayed visibility. [engine]
 *
 * Such a store hands out a row whatever its visible time says, and keeps no
 * timer messages.  What is not due yet is held here, in a heap, and delivered
 * when its time comes.  Nothing here is the truth: timers follow from the open
 * TimerCreated events, rows stay in the store, and a restart fills the heap again
 * (mend.c).
 */
#ifndef PAWL_RUNTIME_HOLD_H
#define PAWL_RUNTIME_HOLD_H

#include "runtime/core/runtime.h"
void hold_open(pawl_runtime *rt);

static inline bool hold_needed(const pawl_runtime *rt)
{
    return !rt->caps.delayed_visibility;
}

/* Deliver `l` at `due_ms`; takes ownership. */
void hold_letter(pawl_runtime *rt, struct letter *l, int64_t due_ms);
/* A timer or cancel deadline of an instance: no row of its own.  One that is held already
 * stays as it is. */
void hold_timer(pawl_runtime *rt, int kind, uint64_t uid, uint64_t execution_no, uint64_t ref,
                int64_t due_ms);
/* The timer was withdrawn. */
void hold_cancel(pawl_runtime *rt, uint64_t uid, uint64_t execution_no, uint64_t ref);
/* Take this work row into memory at `due_ms`. */
void hold_work(pawl_runtime *rt, uint64_t work_id, int64_t due_ms);

/* What was held: a letter, or the id of a work row. */
struct hold_due {
    struct letter *letter; /* owned; NULL: work */
    uint64_t work_id;
    int64_t at_ms;
};

/* The earliest that is due leaves the heap; false: none is due. */
bool hold_take(pawl_runtime *rt, struct hold_due *ret);
int64_t hold_next(pawl_runtime *rt); /* INT64_MAX: nothing is held */
void hold_free(pawl_runtime *rt);

#endif
