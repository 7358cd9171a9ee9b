/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/felling.h -- remove trees that are too large for one commit, one piece per
 * pass. [engine]
 *
 * First the whole tree is walked, some of it in each pass, so that one that still runs is refused
 * before anything is gone; then it goes, children before parents, so that whatever happens on
 * the way leaves a tree, and asking again removes the rest.  Others have their turns in between;
 * a tree that is removed by force has none (halt.h).
 */
#ifndef PAWL_RUNTIME_FELLING_H
#define PAWL_RUNTIME_FELLING_H

#include "runtime/core/runtime.h"

/* Begin with the tree of `root`; `call` (may be NULL: no caller) is answered when it is gone,
 * with `sofar` and what went. */
void felling_begin(pawl_runtime *rt, const pawl_row *root, struct letter *call, bool force,
                   const pawl_reply *sofar);
/* The one that was just begun without a request answers this one; false: there is none. */
bool felling_answers(pawl_runtime *rt, struct letter *call, const pawl_reply *sofar);
/* Is it begun already? */
bool felling_is(const pawl_runtime *rt, uint64_t root_uid);
/* A piece; before the letters of a pass. */
void felling_look(pawl_runtime *rt);
/* Callers that wait are told that no answer will come. */
void felling_stop(pawl_runtime *rt);

static inline bool felling_any(const pawl_runtime *rt)
{
    return rt->removal.fellings != NULL;
}

#endif
