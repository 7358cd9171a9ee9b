/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/felling.h -- remove trees that are too large for one commit, one piece per
 * pass. [engine]
 *
 * First the whole tree is walked, a part of it per pass, so that a tree that still runs is refused
 * before anything is removed.  Then it is removed, children before parents: an interruption leaves
 * a tree, and the same request removes the rest.  Other instances have their turns in between; a
 * tree that is removed by force has none (halt.h).
 */
#ifndef PAWL_RUNTIME_FELLING_H
#define PAWL_RUNTIME_FELLING_H

#include "runtime/core/runtime.h"

/* Begin to remove the tree of `root`.  `call` (may be NULL) is answered when the tree is gone, with
 * the counts of `sofar` and of the tree. */
void felling_begin(pawl_runtime *rt, const pawl_row *root, struct letter *call, bool force,
                   const pawl_reply *sofar);
/* The removal that was just begun without a call answers this call.  False: there is none. */
bool felling_answers(pawl_runtime *rt, struct letter *call, const pawl_reply *sofar);
/* Is this tree being removed? */
bool felling_is(const pawl_runtime *rt, uint64_t root_uid);
/* Walk or remove a piece.  Called before the letters of a pass. */
void felling_look(pawl_runtime *rt);
/* Callers that wait are told that no answer will come. */
void felling_stop(pawl_runtime *rt);

static inline bool felling_any(const pawl_runtime *rt)
{
    return rt->removal.fellings != NULL;
}

#endif
