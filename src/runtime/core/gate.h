/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/gate.h -- the one gate of public calls, on the thread of their caller.
 *
 * Every call of pawl/client.h, pawl/queue.h and pawl/worker.h passes it before it looks at its
 * arguments, and everything for the engine is posted through it.  It refuses a call without a
 * client, from an orchestration, in a forked child, on a runtime that only looks, on a store
 * without queues, and on a runtime that has stopped.
 *
 * Called by api/client.c, api/query.c, api/queue_call.c, api/queue_query.c, api/lease_client.c
 * and queue/queue_client.c.
 */
#ifndef PAWL_RUNTIME_GATE_H
#define PAWL_RUNTIME_GATE_H

#include "runtime/core/runtime.h"

/* Bit 0: it writes.  Bit 1: it needs queues. */
enum gate { GATE_READS = 0, GATE_WRITES = 1, GATE_QUEUE_READS = 2, GATE_QUEUE_WRITES = 3 };

/* May this thread make such a call?  False, with the error. */
bool gate_pass(pawl_client *c, enum gate gate, pawl_error *err);
/* May it wait for the engine?  Not inside a callback, which the engine waits for.  True in an
 * orchestration: gate_pass() refuses it with the better text. */
bool gate_may_wait(pawl_client *c, pawl_error *err);
/* Hand it to the engine.  Anything but PAWL_OK: it still belongs to the caller. */
pawl_status gate_post(pawl_client *c, struct item *item, pawl_error *err);
/* PAWL_NO_MEMORY, with its text. */
pawl_status gate_no_memory(pawl_error *err);

#endif
