/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/tries.h -- how the attempts of open calls went, for people.
 *
 * A work row keeps the number of attempts and the last error (SEMANTICS 8).  When each attempt
 * began, how it ended and which worker had it is kept here, in memory only: the last TRIES_KEPT of
 * each call, of at most TRIES_CALLS calls; the call that was tried longest ago is forgotten first.
 * The completion's attrs then have them, so the history has them for good.  After a restart the
 * attempts before it are known by their number alone.  Code never sees any of this.
 *
 * Written by the engine, at failed attempts alone; read by any thread.
 */
#ifndef PAWL_RUNTIME_TRIES_H
#define PAWL_RUNTIME_TRIES_H

#include "runtime/core/runtime.h"

#define TRIES_KEPT  8
#define TRIES_CALLS 4096
#define TRIES_TEXT  160 /* bytes kept of an error; eight of them are under 2 KB of JSON */

void tries_open(struct tries *t);
void tries_close(struct tries *t);

/* This attempt of the row failed now, and another follows.  It began then (wall clock; 0: not known);
 * a worker outside had it, or the name is empty. */
void tries_note(pawl_runtime *rt, const pawl_work *w, int64_t started_ms, pawl_str worker,
                pawl_str error);
/* The failed attempts of a call as a JSON array, oldest first; empty: none are known. */
pawl_str tries_text(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem);
/* Every call that failed and is tried again, under the lock; the last that failed first. */
void tries_each(pawl_runtime *rt, pawl_retry_fn *fn, void *arg);
/* The call is decided. */
void tries_forget(pawl_runtime *rt, uint64_t work_id);

#endif
