/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/lend.h -- the engine lent to the thread that has the requests.
 *
 * To wake a thread takes as long as several requests on a queue, and the loop of a server would
 * only wait for the commit.  So it borrows the sleeping engine and runs the pass itself
 * (docs/decisions/0016, 0031).
 *
 * src/server is another library than src/runtime, so these two names are exported.  No public
 * header has them, and only src/server may call them (tools/layers.txt).
 *
 * Invariants, all under rt->inbox.lock (inbox.c does the counting and the waiting):
 *  - the engine thread is awake, or asleep, or asleep while the engine is lent (`lent`);
 *    whatever is [engine] belongs to the borrower alone then;
 *  - it is lent only while it has no work in memory and nothing to do before a known time, and
 *    only for requests on queues: no turn runs on a borrower's thread, because a fiber never
 *    changes thread;
 *  - the engine may sleep with borrowable items in the inbox (requests on queues submitted under
 *    a hold) only after it has woken the borrower for them; a borrower that was woken always
 *    comes;
 *  - returning the engine wakes its thread if there is work for it, or if it would now sleep for
 *    a shorter time.
 *
 * All state is the runtime's: a process may have several, each with its own borrower.
 */
#ifndef PAWL_RUNTIME_LEND_H
#define PAWL_RUNTIME_LEND_H

#include "pawl/client.h"

/* Register the borrower, or NULL for none: before the runtime is closed, and not during
 * pawl_lend_work().  `wake` tells it that requests wait for it; it must then call pawl_lend_work()
 * soon.  Any thread calls `wake` under rt->inbox.lock: it calls nothing of the runtime.  False:
 * there is a borrower, or the runtime is driven by pawl_runtime_step(). */
PAWL_API bool pawl_lend_to(pawl_client *c, void (*wake)(void *arg), void *arg);
/* In place of pawl_client_release().  If the engine sleeps and the only work is requests on queues
 * submitted under a hold, commit them and run their callbacks here.  True: more requests are
 * expected; collect them and call it again at once. */
PAWL_API bool pawl_lend_work(pawl_client *c);

#endif
