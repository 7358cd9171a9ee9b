/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/timers.h -- what waits in memory until its time. [engine]
 *
 * A letter whose queue cannot be read now waits here, and what a store without delayed
 * visibility cannot delay: it hands out a row whatever its visible time says, and keeps no timer
 * messages.  Nothing here is the truth: timers follow from the open TimerCreated events, rows
 * stay in the store, and a restart fills the heap again (repair.c).
 */
#ifndef PAWL_RUNTIME_TIMERS_H
#define PAWL_RUNTIME_TIMERS_H

#include "runtime/core/runtime.h"

void timers_open(pawl_runtime *rt);
/* Deliver `l` at `due_ms`; takes ownership. */
void timers_put_letter(pawl_runtime *rt, struct letter *l, int64_t due_ms);
/* A timer or cancel deadline of an instance: no row of its own.  One that is held already
 * stays as it is. */
void timers_put(pawl_runtime *rt, int kind, uint64_t uid, uint64_t execution_no, uint64_t ref,
                int64_t due_ms);
/* The timer was withdrawn. */
void timers_cancel(pawl_runtime *rt, uint64_t uid, uint64_t execution_no, uint64_t ref);
/* Take this work row into memory at `due_ms`. */
void timers_put_work(pawl_runtime *rt, uint64_t work_id, int64_t due_ms);

/* A row was handed out before its time: it is held.  False: it is due. */
bool timers_put_early_letter(pawl_runtime *rt, struct letter *l, int64_t visible_ms);
bool timers_put_early_work(pawl_runtime *rt, const pawl_work *w);

/* What was held: a letter, or the id of a work row. */
struct timer_due {
    struct letter *letter; /* owned; NULL: work */
    uint64_t work_id;
    int64_t at_ms;
};

/* The earliest that is due leaves the heap; false: none is due. */
bool timers_take(pawl_runtime *rt, struct timer_due *ret);
int64_t timers_next(pawl_runtime *rt); /* INT64_MAX: nothing is held */
void timers_free(pawl_runtime *rt);

#endif
