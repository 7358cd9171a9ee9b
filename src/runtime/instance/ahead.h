/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/ahead.h -- read what a pass will ask for, with one call. [engine]
 *
 * Before anything is delivered, the loop asks for the instances of all letters and calls at hand
 * that are not in memory, for the keys of raises and for the work rows of tokens.  Finished jobs are
 * not asked for: nearly all of their instances are in memory, and the rest need a history, too.
 * Delivering then finds the answer: an instance that exists is a resident; that it does not exist,
 * the key and the work row are noted on the letter.
 *
 * Invariant: what was read holds until the commit of this pass, because only that commit changes
 * the store.  In the next pass nothing of it is used.  What could not be read, what came too late to
 * be asked for and what is beyond a limit in bytes is read where it is needed.  The answers lie in
 * memory of their own: they do not count for the size of the group, which would never take a letter.
 */
#ifndef PAWL_RUNTIME_AHEAD_H
#define PAWL_RUNTIME_AHEAD_H

#include "runtime/core/runtime.h"

/* A pass is about to deliver. */
void ahead_look(pawl_runtime *rt);

#endif
