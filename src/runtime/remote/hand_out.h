/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/hand_out.h -- put a turn together for a call that waits. [engine]
 *
 * A turn shows committed state only: its caller hands out nothing of an instance that this group
 * changes.  The worker gets the events that its session does not know, at most
 * PAWL_TURNS_EVENTS of them; it fetches the rest.
 *
 * Called by elsewhere.c; hand_out_events() by turns_client.c, on any thread.
 */
#ifndef PAWL_RUNTIME_HAND_OUT_H
#define PAWL_RUNTIME_HAND_OUT_H

#include "engine/remote_code.h"
#include "runtime/core/runtime.h"

struct exchange;
struct remote_run;

/* The place of a turn, and what is told with it. */
struct hand_out {
    uint64_t uid, execution, seq;
    pawl_str instance;
    const struct code_entry *code;
    const execution *x;   /* whose state the new execution carries; NULL: none */
    int64_t at_ms;        /* of its messages */
    pawl_str start_attrs; /* of OrchestrationStarted; empty: it is another message */
};

/* Give this message to `ex`, and its letter to the run.  False: the store did not answer, or the
 * call has no room; nothing was done. */
bool hand_out_turn(pawl_runtime *rt, struct exchange *ex, const struct hand_out *h,
                   const pawl_event *message, struct letter *l);
/* One more completion for a turn that is being put together.  False: it must wait. */
bool hand_out_more(pawl_runtime *rt, struct remote_run *run, const pawl_event *message,
                   struct letter *l);
/* An inline step that is to be done again, leased in this pass: with a turn of its own, or with the
 * one that is being put together.  False: it must wait. */
bool hand_out_lease(pawl_runtime *rt, struct exchange *ex, const struct hand_out *h,
                    const pawl_turn_lease *lease);
/* Events after `after`, at most PAWL_TURNS_EVENTS and about a megabyte; not many more are read. */
pawl_status hand_out_events(pawl_store *store, uint64_t uid, uint64_t run, uint64_t after,
                            pawl_mem *mem, const pawl_event **ret, size_t *retcount,
                            pawl_error *err);

#endif
