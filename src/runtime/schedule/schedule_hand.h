/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_hand.h -- a schedule in hand: read, looked at, written. [engine]
 *
 *     hand_take ─▶ (changes) ─▶ hand_look ─▶ hand_put     one round: object, starts, next row
 *
 * Nothing of a schedule is kept in memory between two passes.  A schedule that is in a stage of
 * this group is not taken again before its commit.
 *
 * Called by schedule_deliver.c and schedule_call.c.
 */
#ifndef PAWL_RUNTIME_SCHEDULE_HAND_H
#define PAWL_RUNTIME_SCHEDULE_HAND_H

#include "runtime/core/stage.h"
#include "schedule/look.h"

struct schedule_hand {
    pawl_str name;
    uint64_t version; /* of the object; 0: it is new */
    struct schedule_state state;
    pawl_schedule spec;
    struct plan plan;
    struct look look;
    uint64_t was_row; /* as stored: the message that waits for the next occurrence, */
    int64_t was_next; /* and the time of that occurrence */
};

/* Does this group change it already? */
bool hand_is_busy(const pawl_runtime *rt, pawl_str name);
/* Read a schedule.  NOT_FOUND, CORRUPT, or the status of a store that did not answer. */
PAWL_MUST_USE pawl_status hand_take(pawl_runtime *rt, pawl_str name, struct schedule_hand *ret,
                                    pawl_error *reterr);
/* Its spec changed: read it, and its zone.  A zone that is gone is a finding of the schedule.
 * UNAVAILABLE: the file could not be read now. */
PAWL_MUST_USE pawl_status hand_plan(pawl_runtime *rt, struct schedule_hand *h, struct stage *s,
                                    pawl_error *reterr);
/* Decide what to do about due occurrences and the backfill. */
PAWL_MUST_USE pawl_status hand_look(pawl_runtime *rt, struct schedule_hand *h, pawl_error *reterr);
/* Carry out what looks have decided so far, by the spec as it is in hand. */
void hand_do(pawl_runtime *rt, struct stage *s, struct schedule_hand *h);
/* The same, and write it, with the row of its next occurrence. */
void hand_put(pawl_runtime *rt, struct stage *s, struct schedule_hand *h);
/* Start its orchestration under this id, or push its item. */
void hand_begin(pawl_runtime *rt, struct stage *s, const struct schedule_hand *h, pawl_str id,
                int64_t at_ms);

#endif
