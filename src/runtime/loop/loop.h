/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/loop.h -- the engine's loop: take, deliver, commit, wait.
 */
#ifndef PAWL_RUNTIME_LOOP_H
#define PAWL_RUNTIME_LOOP_H

#include "runtime/core/runtime.h"

/* One pass: deliver what is ready, with one commit.  Returns rounds committed; -1: dead. */
int loop_once(pawl_runtime *rt);
/* A pass of the thread that has borrowed the engine (lend.h): only requests on queues that were
 * taken from the inbox; no turn runs.  *retnext: when the engine is needed again. */
void loop_queues(pawl_runtime *rt, struct idle_until *retnext);
/* Is there work in memory, apart from what arrives or becomes due? */
bool loop_has_work(const pawl_runtime *rt);
/* Mono time until which there is nothing to do; INT64_MAX: until something arrives. */
int64_t loop_idle_until(pawl_runtime *rt);
/* Before closing, on the engine's thread: commit what is only in memory. */
void loop_finish(pawl_runtime *rt);
void *loop_main(void *rt);
/* May a borrower run a pass?  Not in trouble, not where every pass is checked, and not while
 * commits are slow: a borrower has other clients to serve. */
bool loop_is_plain(const pawl_runtime *rt);
/* [engine] May what is in the inbox be left to a borrower (lend.h)? */
bool loop_may_lend(pawl_runtime *rt);

#endif
