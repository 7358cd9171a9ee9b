/* SPDX-License-Identifier: MIT */
/*
 * trial/trap.h -- clocks and dice of the C library, as seen by an orchestration.
 *
 * Code that asks time() or rand() decides otherwise when it is run again: but two
 * replays within one second hide it.  While traps are set, these calls answer something
 * new each time they are made by orchestration code, so that what depends on them
 * diverges at once, and the last one is remembered for the report.  All other
 * callers get the real thing.
 *
 * Works by the import tables of the objects that hold the author's code.  Where
 * there is none (static linking, another binary format) nothing is trapped, and
 * nothing else changes.  One thread; never undone: for processes that end soon.
 */
#ifndef PAWL_TRIAL_TRAP_H
#define PAWL_TRIAL_TRAP_H

#include "pawl/runtime.h"

/* Set traps in every object that holds an orchestration of `app`. */
void trap_set(pawl_app *app, uint64_t seed);
/* What was asked last by orchestration code: the name of the function, and the place;
 * NULL when nothing was. */
const char *trap_sprung(void **retsite);

#endif
