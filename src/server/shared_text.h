/* SPDX-License-Identifier: MIT */
/*
 * server/shared_text.h -- one text for all who look, made at most once in a while.
 *
 * Many pages show the same figures.  The first that asks makes the text; the others get a copy of
 * it until its time is over: `lasts_ms` after it was made, or SHARED_STILL_MS while nothing
 * changes.  While a new one is made, the others get the old one; only the very first text is
 * waited for.  So the number of viewers costs copies, and nothing is made without a question.
 *
 * The caller says what time it is and how many changes there were (both only grow), so that tests
 * need no clock.
 *
 * Any thread.  Called by overview.c.
 */
#ifndef PAWL_SERVER_SHARED_TEXT_H
#define PAWL_SERVER_SHARED_TEXT_H

#include "pawl.h"

#define SHARED_STILL_MS 10000 /* figures grow old without a change: ages, memory, rates */

struct shared_text;

struct shared_view {
    pawl_str text;
    uint64_t as_of; /* it has this many changes … */
    bool current;   /* … and there are no others */
    uint64_t made;  /* how many there were, with this one */
};

struct shared_text *shared_create(void); /* NULL: out of memory */
void shared_destroy(struct shared_text *t);
/* True: *ret is the text, in `mem`.  False: the caller makes it, and then calls one of the two below. */
bool shared_look(struct shared_text *t, int64_t now_ms, uint64_t changes, pawl_mem *mem,
                 struct shared_view *ret);
/* `as_of`: the changes given to shared_look(), or fewer when a part of the text is older. */
void shared_put(struct shared_text *t, pawl_str text, uint64_t as_of, int64_t lasts_ms,
                struct shared_view *ret);
void shared_give_up(struct shared_text *t); /* the next one may try */

#endif
