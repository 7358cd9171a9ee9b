/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_pass.h -- queues over one pass: what is due, pops that wait, the commit. [engine]
 */
#ifndef PAWL_RUNTIME_QUEUE_PASS_H
#define PAWL_RUNTIME_QUEUE_PASS_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

/* At the beginning of a pass: what is due, put off, or waited long enough. */
void queue_look(pawl_runtime *rt);
/* The pop that calls back with `arg`: its waiting is over. */
void queue_stop_waiting(pawl_runtime *rt, const void *arg);
/* Its caller has gone: no item is locked for it. */
void queue_withdraw(pawl_runtime *rt, const void *arg);
/* The same, of a client: answered as if there were nothing, also one that was put off. */
void queue_end_wait(pawl_runtime *rt, const void *arg);
/* Before the commit: serve waiting pops, start what bound queues ask for, fill in the round. */
void queue_seal(pawl_runtime *rt);
void queue_committed(pawl_runtime *rt);
/* Requests to act on again, in order; refused: the store said no to this round alone. */
struct item *queue_undone(pawl_runtime *rt, bool refused);
bool queue_has_work(const pawl_runtime *rt);
bool queue_is_full(const pawl_runtime *rt);
int64_t
queue_next_wait(const pawl_runtime *rt); /* mono; INT64_MAX: no pop waits, no back-off runs */

#endif
