/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_mail.h -- messages to schedules. [engine]
 *
 * A message of kind PAWL_MSG_SCHEDULE makes the engine look at a schedule: when its next occurrence
 * is due (a row with a visible time, whose id the schedule knows), when one of its runs has ended,
 * or at once, to go on.  The code that ends an instance calls schedule_run_ended(): the message is part of
 * the round that ends it.
 *
 * Called by instance/seal.c, instance/begin.c and request/remove.c; the rest of this room sends the
 * others.
 */
#ifndef PAWL_RUNTIME_SCHEDULE_MAIL_H
#define PAWL_RUNTIME_SCHEDULE_MAIL_H

#include "runtime/core/stage.h"

/* Address of these messages: no instance has it.  Not 0, because mail by name is read when a process
 * starts, and there may be a million schedules. */
#define SCHEDULE_UID ((uint64_t)INT64_MAX)

/* Has the store what schedules need? */
static inline bool schedule_works(const pawl_runtime *rt)
{
    return rt->caps.objects && rt->caps.atomic_rounds && rt->caps.delayed_visibility;
}

/* An instance ends with this stage, or its start found its id taken ("exists").  If the id is that
 * of a run, tell its schedule. */
void schedule_run_ended(pawl_runtime *rt, struct stage *s, pawl_str id, const char *how);
/* Look at a schedule at that time; 0: at once. */
pawl_message *schedule_wake_at(pawl_runtime *rt, struct stage *s, pawl_str name, int64_t at_ms);

#endif
