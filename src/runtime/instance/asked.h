/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/asked.h -- the open asks of all instances, by named objects. [engine, readers]
 *
 * The truth is the history: an ExternalSubscribed event with `ask` that nothing has closed.  For
 * readers each open one is also a named object (PAWL_OBJECT_ASK), written by the round that has the
 * event and removed by the one that takes the event, gives the wait up, ends or removes the instance
 * (decision 0052).  No store knows of it; a store without objects has no list, and asks still work.
 *
 * Invariant: at every commit the objects of an instance are its open asks (I27 of the simulation).
 * An instance that asks nothing costs nothing: a removal looks only when some instance has asked.
 */
#ifndef PAWL_RUNTIME_ASKED_H
#define PAWL_RUNTIME_ASKED_H

#include "runtime/core/runtime.h"

/* A wait that asks is opened by this event, or closed by it. */
void asks_open_one(pawl_runtime *rt, struct stage *s, const pawl_event *e);
void asks_close_one(pawl_runtime *rt, struct stage *s, const pawl_event *e);
/* The same while a half-done round is repaired: does some instance ask, so that this may close one? */
void asks_repair(pawl_runtime *rt, struct stage *s, const pawl_event *e);
/* All that an instance has, read before anything is staged; false: the store did not answer. */
bool asks_look(pawl_runtime *rt, uint64_t uid, pawl_object_list *ret);
void asks_remove(pawl_runtime *rt, struct stage *s, const pawl_object_list *list);
pawl_status asks_open(pawl_runtime *rt, pawl_error *reterr); /* the runtime opens */
/* A page as JSON (pawl_client_asks). */
pawl_status asks_list(pawl_runtime *rt, const pawl_ask_filter *filter, pawl_mem *mem, pawl_str *ret,
                      pawl_error *reterr);

#endif
