/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/ahead.h -- read what a pass will need, with at most two calls. [engine]
 *
 * Before anything is delivered, the loop asks for the instances of all letters and calls in memory
 * that are not in memory, for the keys of raises and for the work rows of tokens.  Delivering then
 * finds the answer: an instance that exists is a resident; that it does not exist, the key and the
 * work row are noted on the letter.
 *
 * A store where a read costs a round trip has load_histories.  With it, the loop also asks for the
 * instances of finished jobs and the rows of leases, and then, by a second call, for the histories
 * and messages of all residents that will run and are not in memory.  The first call must be
 * answered before: the row says which execution it is, whether it may run, and whose code it needs.
 * Other stores read these where they are needed, as cheaply and with less memory.
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
