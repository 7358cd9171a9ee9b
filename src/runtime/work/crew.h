/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/crew.h -- the workers that poll, and the leases they have: for people.
 *
 * Kept in memory only, by name; names come from outside, so there are CREW_MAX of them at most,
 * and a worker that was silent for CREW_FORGET_MS is forgotten.  Written by the engine, read by
 * any thread.
 */
#ifndef PAWL_RUNTIME_CREW_H
#define PAWL_RUNTIME_CREW_H

#include "pawl/worker.h"
#include "runtime/core/runtime.h"

#define CREW_MAX       1000  /* workers */
#define CREW_NAMES     10000 /* activities that were polled for; leases */
#define CREW_FORGET_MS 600000

struct lease_call;

bool crew_open(pawl_runtime *rt);
void crew_close(pawl_runtime *rt);

/* A poll came. */
void crew_polled(pawl_runtime *rt, const struct lease_call *q);
/* A worker outside has this work until then; the same again: a new end. */
void crew_leased(pawl_runtime *rt, pawl_str worker, const pawl_work *w, int64_t until_ms);
/* The lease is over. */
void crew_freed(pawl_runtime *rt, uint64_t work_id);

/* The name of the worker that has it; empty: not known. */
pawl_str crew_holder(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem);
/* Does neither this process nor a worker that polled have this activity?  *retmeant: one of
 * theirs that may be meant, or empty. */
bool crew_lacks(pawl_runtime *rt, pawl_str activity, pawl_mem *mem, pawl_str *retmeant);
/* A call of this activity was made that no thread here may run: said once if no worker has it. */
void crew_look_at(pawl_runtime *rt, pawl_str activity);

#endif
