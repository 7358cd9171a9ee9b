/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/store_clock.h -- what time it is, where the store has a clock of its own.
 *
 * A store on a database server may be written by one machine today and by another tomorrow.  Due
 * times, leases and the times in histories then follow the server's clock (clock() of the store):
 * a machine whose own clock is wrong, or jumps, fires no timer early or late.
 *
 *     store_clock_open ─▶ rt_now() = monotonic clock + lead   (any thread)
 *                           ▲ store_clock_look, while the engine works, every few seconds
 *
 * The server is not asked at each look at the clock.  Between two answers our monotonic clock runs
 * on from the last one.  An answer says that the lead is between two bounds: the server's time was
 * read after we asked and before we were told.  The lead moves only when it is out of them, and
 * then to the nearer one: so a slow reply moves nothing.
 *
 * Invariants: `is` never changes after open; `lead` is within the bounds of the last answer.  An
 * engine that has nothing to do asks nothing.  A store without a clock, and a caller with a clock
 * of its own (pawl_env), get their time as ever.
 *
 * Called by life/open_runtime.c and loop/loop.c.
 */
#ifndef PAWL_RUNTIME_STORE_CLOCK_H
#define PAWL_RUNTIME_STORE_CLOCK_H

#include "runtime/core/runtime.h"

#define STORE_CLOCK_EVERY_MS 5000

/* Ask for the first time, before anything is written.  Anything but OK: there is a clock, and the
 * store does not tell it. */
PAWL_MUST_USE pawl_status store_clock_open(pawl_runtime *rt, pawl_error *reterr);
/* The answer is some seconds old: ask again.  Without an answer time goes on as it did.  A store in
 * trouble is not asked: each question may be an attempt to connect that takes seconds. [engine] */
void store_clock_look(pawl_runtime *rt);
/* A time of the store, by the clock of this machine: to compare it with the times of files. */
int64_t store_clock_here(pawl_runtime *rt, int64_t store_ms);

#endif
