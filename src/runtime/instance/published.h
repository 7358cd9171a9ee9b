/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/published.h -- published state as objects of the store, for readers.
 *
 * The truth is the history (engine/state.c).  Beside it each key of the newest execution is a named
 * object, written by the round that has the event: so a reader needs no history and no code.  The
 * name is the uid in 16 hex digits, '/', and the key.
 *
 * Invariant, after each commit: an instance has one object for each key that its newest execution
 * has, with that value, and no other; a removed instance has none.  tests/sim checks it.
 *
 * Called by: instance/seal.c, peek/repair_events.c, request/remove.c, life/recover.c; reading also
 * by api/query.c, from any thread.
 */
#ifndef PAWL_RUNTIME_PUBLISHED_H
#define PAWL_RUNTIME_PUBLISHED_H

#include "runtime/core/runtime.h"

/* [engine] A StateChanged event: its object goes with the stage. */
void published_derive(pawl_runtime *rt, struct stage *s, const pawl_event *e);
/* [engine] Changes of one key in one stage become one object, the last. */
void published_settle(pawl_runtime *rt, struct stage *s);
/* [engine] What `uid` has published, to be removed with it; false: the store did not answer. */
bool published_look(pawl_runtime *rt, uint64_t uid, pawl_object_list *ret);
/* [engine] It goes with the stage. */
void published_remove(pawl_runtime *rt, struct stage *s, const pawl_object_list *list);
/* [engine] On opening: has any instance published something? */
pawl_status published_open(pawl_runtime *rt, pawl_error *reterr);
/* Call `fn` for the key, or for all of them when it is NULL, in byte order.  NOT_FOUND: the key is
 * not set. */
pawl_status published_read(pawl_runtime *rt, uint64_t uid, const char *key, pawl_mem *mem,
                           pawl_published_fn *fn, void *arg, pawl_error *reterr);

#endif
