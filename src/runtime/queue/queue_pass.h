/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_pass.h -- queues over one pass: what is due, pops that wait, the commit. [engine]
 */
#ifndef PAWL_RUNTIME_QUEUE_PASS_H
#define PAWL_RUNTIME_QUEUE_PASS_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_cache.h"

/* At the beginning of a pass: do what is due or was put off, and end waits whose time is over. */
void queue_look(pawl_runtime *rt);
/* End the wait of the pop that calls back with `arg`. */
void queue_stop_waiting(pawl_runtime *rt, const void *arg);
/* The caller of that pop has gone: lock no item for it. */
void queue_withdraw(pawl_runtime *rt, const void *arg);
/* The same for a client's pop, waiting or put off: it is answered as if the queue were empty. */
void queue_end_wait(pawl_runtime *rt, const void *arg);
/* Before the commit: serve waiting pops, start what bound queues ask for, fill in the round. */
void queue_seal(pawl_runtime *rt);
void queue_committed(pawl_runtime *rt);
/* Requests to act on again, in order.  `refused`: the store refused this round alone. */
struct item *queue_undone(pawl_runtime *rt, bool refused);
bool queue_has_work(const pawl_runtime *rt);
bool queue_is_full(const pawl_runtime *rt);
/* Mono time when the next wait or back-off ends; INT64_MAX: there is none. */
int64_t queue_next_wait(const pawl_runtime *rt);

#endif
