/* SPDX-License-Identifier: MIT */
/* runtime/queue/queue_tie.h -- where orchestrations and queues meet. */
#ifndef PAWL_RUNTIME_QUEUE_TIE_H
#define PAWL_RUNTIME_QUEUE_TIE_H

#include "runtime/core/runtime.h"
#include "runtime/queue/queue_desk.h"

/* A push recorded by an orchestration (PAWL_MSG_QUEUE_PUSH). */
void queue_deliver(pawl_runtime *rt, struct letter *l);
/* The activities behind pawl_queue_pop() and pawl_queue_ack(). */
void queue_register_activities(pawl_app *app);
/* Of these: was the call withdrawn while it was on its way here? */
bool queue_is_unwanted(const struct queue_req *req);
/* An orchestration's pop: while others hold the queue's lock there is nothing for it yet. */
bool queue_waits_for_lock(const struct queue_req *req);
/* The request waits on its seat. */
void queue_parked(pawl_runtime *rt, const struct queue_req *req);
/* What whoever binds a queue so should know; empty: nothing.  Any thread. */
pawl_str queue_bound_warning(pawl_runtime *rt, const pawl_queue_config *c, pawl_mem *mem);
/* A start that a bound queue sent. */
bool queue_sent(pawl_runtime *rt, const struct letter *l);
/* Its id exists already: it was delivered twice, or the message is a dead letter. */
void queue_start_taken(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Each message of a bound queue becomes a start, in the commit that takes it out. */
void queue_start_bound(pawl_runtime *rt, struct seat *s);

#endif
