/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/verdict.h -- what is to become of something that was delivered. [engine]
 *
 * A letter is delivered to its instance or queue; a client's call, a worker's call and a finished
 * job are acted on.  Each of these returns a verdict, and the loop alone carries it out: it queues
 * again, closes the group, waits.  No file below the loop sets anything that the loop must look at
 * afterwards.
 *
 * Invariant: what was delivered is in one place.  DONE: a stage has it, or it is a row, or it was
 * answered and freed.  Any other verdict: it is the loop's again, unchanged.
 */
#ifndef PAWL_RUNTIME_VERDICT_H
#define PAWL_RUNTIME_VERDICT_H

#include "runtime/core/runtime.h"

enum verdict_kind {
    VERDICT_DONE,    /* the loop may forget it */
    VERDICT_LATER,   /* it comes again in the next group; other letters may overtake it */
    VERDICT_FIRST,   /* it comes again before all others: nothing more enters this group */
    VERDICT_UNREAD,  /* the store did not answer: as FIRST, after a pause */
    VERDICT_ALONE,   /* memory or the store failed half-way: its instance has nothing in this group
                        any more, and its letters come again, each in a stage of its own; as FIRST,
                        after a shorter pause */
    VERDICT_DAMAGED, /* rows of its instance cannot be read, now or later: it is refused, and its
                        own row stays as it is until the next start */
};

/* The verdict on a letter. */
struct delivered {
    enum verdict_kind kind;
    struct letter *letters; /* owned; the letter, with ALONE all of its instance, in order */
};

static inline struct delivered verdict_done(void)
{
    return (struct delivered){VERDICT_DONE, NULL};
}

/* The letter as it came. */
static inline struct delivered verdict_on(struct letter *l, enum verdict_kind kind)
{
    l->next = NULL;
    return (struct delivered){kind, l};
}

#endif
