/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/sent.h -- raises that orchestrations make (EventSent). [engine]
 *
 * Such a raise is a message by name, inserted by the round of its sender, so it is there exactly
 * when the event is.  Its id is the event's rid: a store without atomic rounds may get the message
 * again from a repair, and then the letter in memory and the row are one (redelivery.h).  Its
 * receiver takes it over: one round drops that row and records the event, or puts it into the
 * mailbox under the receiver's uid.  No caller waits for an answer: what cannot be delivered is
 * dropped with a warning and counted.
 *
 * Called by turn.c and seal.c.
 */
#ifndef PAWL_RUNTIME_SENT_H
#define PAWL_RUNTIME_SENT_H

#include "runtime/core/runtime.h"
#include "runtime/core/verdict.h"

/* The message that an EventSent means. */
void sent_derive(pawl_runtime *rt, struct stage *s, const struct step *step);

static inline bool is_sent(const struct letter *l)
{
    return l->mail.kind == PAWL_MSG_EXTERNAL_RAISED && l->stored && !l->uid;
}

/* May it wait for an instance that does not exist yet? */
bool sent_awaits_start(const struct letter *l);
/* The receiver has it: a row of its mailbox, in place of the one by name.  The id. */
uint64_t sent_take_over(pawl_runtime *rt, struct stage *s, const struct letter *l);
/* Kept by name, until the instance starts. */
void sent_keep(pawl_runtime *rt, struct stage *s, const struct letter *l);
/* No instance can take it. */
struct delivered sent_drop(pawl_runtime *rt, struct letter *l, const char *why);

#endif
