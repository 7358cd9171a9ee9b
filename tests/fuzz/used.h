/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/used.h -- a store that was used, to be damaged; and somebody who uses it.
 *
 * The store has a bit of everything: instances that ended, wait, sleep, were
 * suspended, continued as new, have children and mail; work nobody can run; queues.
 * The same code then opens the damaged copy and works on: on one thread, in steps,
 * with a clock that stands still, so that an input does the same each time.
 */
#ifndef PAWL_TESTS_FUZZ_USED_H
#define PAWL_TESTS_FUZZ_USED_H

#include "pawl.h"

#define USED_NOW_MS INT64_C(1700000000000)

/* Make it; `store` as in pawl_options, `dir` the data directory. */
void used_make(const char *store, const char *dir);
/* Open what is there, look at everything, steer everything, let it run a while. */
void used_use(const char *store, const char *dir);

#endif
