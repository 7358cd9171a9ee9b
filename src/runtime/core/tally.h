/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/tally.h -- for /metrics: per orchestration, how many instances were started
 * and ended; per activity, how many calls.
 *
 * Each start, end and decided call costs one lookup and one count.  Names come from outside: the first TALLY_NAMES of a kind have counts of their own,
 * all others share one.
 */
#ifndef PAWL_RUNTIME_TALLY_H
#define PAWL_RUNTIME_TALLY_H

#include "runtime/core/runtime.h"

#define TALLY_NAMES 200

struct stage;

/* [engine] Something happened to an activity; by the name its work row is filed under. */
void tally_activity(pawl_runtime *rt, pawl_str tray, pawl_tally_what what);
/* [engine] A round was committed: did an instance begin or end in it? */
void tally_stage(pawl_runtime *rt, const struct stage *s);
void tally_free(pawl_runtime *rt);
void tally_open(pawl_runtime *rt);

#endif
