/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/peek_mode.c -- see peek_mode.h.  The table of the mode, and the timers of a store
 * without delayed visibility: they follow from the events, so they are kept in memory without rows
 * (core/timers.h).
 *
 * Called by open_runtime.c and close.c; everything else through core/peek.h.
 */
#include "runtime/peek/peek_mode.h"

#include "runtime/core/peek.h"
#include "runtime/core/stage.h"
#include "runtime/core/timers.h"
#include "runtime/peek/redelivery.h"
#include "runtime/peek/repair.h"

static pawl_status recover_all(pawl_runtime *rt, pawl_error *reterr)
{
    return peek_lacks_rounds(rt) ? repair_all_later(rt, reterr) : PAWL_OK;
}

static void failed(pawl_runtime *rt, const struct stage *s)
{
    if (peek_lacks_rounds(rt))
        repair_failed(rt, s);
}

static bool keep_timer(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    if (!peek_lacks_delay(rt))
        return false;
    stage_timer(rt, s, PAWL_MSG_TIMER_FIRED, step->event.ref, step->fire_at_ms)->execution =
        step->event.execution;
    return true;
}

static void put_timers(pawl_runtime *rt, const struct stage *s)
{
    for (size_t i = 0; i < s->timers.count; i++) {
        const struct timer_note *t = &s->timers.items[i];
        timers_put(rt, t->kind, s->row.uid, t->execution, t->ref, t->due_ms);
    }
    for (size_t i = 0; peek_lacks_delay(rt) && i < s->events.count; i++)
        if (s->events.items[i].kind == PAWL_EV_TIMER_CANCELLED)
            timers_cancel(rt, s->row.uid, s->events.items[i].execution, s->events.items[i].ref);
}

static const struct peek_ops weak = {.recover = recover_all,
                                     .repair = repair_look,
                                     .committed = put_timers,
                                     .failed = failed,
                                     .timer = keep_timer,
                                     .adopted = redelivery_adopted,
                                     .find_taken = redelivery_find_taken,
                                     .child_again = redelivery_child};

void peek_open(pawl_runtime *rt)
{
    repair_open(rt);
    peek_use(rt, peek_lacks_rounds(rt) || peek_lacks_delay(rt) ? &weak : NULL);
}

void peek_close(pawl_runtime *rt)
{
    repair_close(rt);
}
