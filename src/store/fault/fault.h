/* SPDX-License-Identifier: MIT */
/*
 * store/fault/fault.h -- a store that fails when told to.
 *
 * Wraps any store behind the same table.  Before each call `decide` is asked;
 * it may let the call through, fail it before anything happened, or let it
 * happen and then still report failure: the lost reply that an engine
 * must survive.  Calls are counted by operation, so a test can say "the third
 * commit".  A commit that fails after it was done leaves the caller's fence as
 * it was: the reply never came.  (FAULT_AFTER makes sense for take, commit,
 * purge and prune_executions; elsewhere it breaks the contract on purpose.)
 *
 * `decide` is called from whatever thread calls the store.
 */
#ifndef PAWL_STORE_FAULT_FAULT_H
#define PAWL_STORE_FAULT_FAULT_H

#include "pawl/provider.h"

/* One per operation that can fail; queue_read stands for all of pawl_queue_ops.  A test that
 * means the end of the process by UNKNOWN answers `outcome` with UNKNOWN too. */
/* clang-format off */
#define FAULT_OPS(X)                                                                    \
    X(take) X(commit) X(fetch_messages) X(fetch_work) X(fetch_deadlines) X(next_due)    \
    X(find) X(find_uid) X(find_execution) X(read_history) X(read_event) X(read_messages)\
    X(read_work) X(has_key) X(list) X(depths) X(read_quarantine)                        \
    X(read_object) X(list_objects) X(purge)                                             \
    X(prune_executions) X(space) X(queue_read) X(outcome) X(load_histories)\
    X(list_work_names) X(read_named_work)                                               \
    X(join) X(claim) X(adopt) X(new_ids) X(give) X(leave) X(bury) X(view)                   \
    X(node_join) X(node_beat) X(node_leave) X(node_ask) X(bury_over) X(nodes)
/* clang-format on */

enum fault_op {
#define FAULT_OP_ENUM(name) FAULT_OP_##name,
    FAULT_OPS(FAULT_OP_ENUM)
#undef FAULT_OP_ENUM
        FAULT_OP_COUNT
};

enum fault_kind {
    FAULT_NONE,
    FAULT_BEFORE, /* nothing is done */
    FAULT_AFTER,  /* it is done, and reported as failed */
};

struct fault {
    enum fault_kind kind;
    pawl_status status; /* what the caller gets */
};

/* `call` counts the calls of `op` so far, from 1. */
typedef struct fault fault_decide_fn(void *user, enum fault_op op, uint64_t call);

/* Wrap `inner`; NULL `decide` never fails.  Owned: closing the wrapper closes
 * `inner` too, unless fault_store_release took it out before. */
pawl_store *fault_store(pawl_store *inner, fault_decide_fn *decide, void *user);
/* Free the wrapper alone and give `inner` back: the process died, the data did not. */
pawl_store *fault_store_release(pawl_store *s);

/* Hand on load_histories, too: the store is as one behind a network.  Without this the wrapper has
 * none, and histories are read one by one, each a call that can fail by itself. */
void fault_store_far(pawl_store *s);

/* Called after every operation that `decide` was asked about, when it is over. */
void fault_store_on_done(pawl_store *s, void (*done)(void *user));

uint64_t fault_store_calls(pawl_store *s, enum fault_op op);
const char *fault_op_name(enum fault_op op);

#endif
