/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/doubt.h -- a commit that may have happened or not. [engine]
 *
 * The store answered UNKNOWN.  The group stays as it is, and the store is asked for the outcome
 * until it knows; meanwhile nothing is decided, committed or answered.
 *
 *     commit UNKNOWN ─▶ doubt ─▶ committed: go on as if commit had said so
 *                        │  ▲    not committed: a failed commit
 *                        └──┘    fenced, or never to be known: the process ends
 *                     not yet
 *
 * Invariant: while there is doubt, no writing call but outcome() reaches the store.
 */
#ifndef PAWL_RUNTIME_DOUBT_H
#define PAWL_RUNTIME_DOUBT_H

#include "runtime/core/runtime.h"

/* The call that wrote these rounds, at rt->now_ms, returned UNKNOWN (purge and prune: none).
 * The rounds stay where they are until the doubt is over. */
void doubt_begin(pawl_runtime *rt, pawl_round *rounds, size_t count, const pawl_error *err);
/* Ask the store.  OK: it was committed, and *retrounds have their results.  EMPTY: it is not known
 * yet; the next pass asks again.  UNAVAILABLE: it was not committed.  Else this process cannot learn it. */
PAWL_MUST_USE pawl_status doubt_ask(pawl_runtime *rt, const pawl_round **retrounds,
                                    pawl_error *reterr);

/* Calls under way may have happened: their callers must not hear that they did not. */
static inline bool doubt_is(const pawl_runtime *rt)
{
    return UNLIKELY(rt->staging.doubt.is);
}

#endif
