/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/lend.h -- the engine lent to the thread that has the requests.
 *
 * To wake a thread takes as long as several requests on a queue, and the loop of a server
 * that waits for its commit has nothing better to do.  So it borrows the sleeping engine
 * and runs the pass itself (pawl/client.h: pawl_client_lend, pawl_client_work).
 *
 * Invariants, all under rt->inbox.lock (inbox.c does the counting and the waiting):
 *  - the engine thread is awake, or asleep, or asleep while the engine is lent (`lent`);
 *    whatever is [engine] belongs to the borrower alone then;
 *  - it is lent only while it has nothing at hand and nothing to do before a known time, and
 *    only for requests on queues: no turn runs on a borrower's thread, because a fiber never
 *    changes thread;
 *  - light items (`inbox_light`: requests on queues handed in by a thread that holds) are left
 *    lying by an engine that goes to sleep only when the borrower has been called for
 *    them, and a borrower that was called comes;
 *  - giving it back wakes the engine thread whenever that has something to do, or would have
 *    to sleep less long than it does.
 */
#ifndef PAWL_RUNTIME_LEND_H
#define PAWL_RUNTIME_LEND_H

#include "runtime/core/runtime.h"

#endif
