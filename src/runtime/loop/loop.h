/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/loop.h -- the engine's loop: take, deliver, commit, wait.
 */
#ifndef PAWL_RUNTIME_LOOP_H
#define PAWL_RUNTIME_LOOP_H

#include "runtime/core/runtime.h"

#define LOOP_PATIENCE_US 30 /* for what is about to come: as long as it takes to wake a thread */
#define LOOP_TRY_AGAIN   8  /* commits without it after a wait that was for nothing */

/* One pass: everything that is ready, one commit.  Rounds committed; -1: dead. */
int loop_once(pawl_runtime *rt);
/* A pass of who has borrowed the engine (lend.h), for requests on queues that were taken from the
 * inbox: nothing else is looked at, no turn runs.  *retnext: when the engine is needed again. */
void loop_queues(pawl_runtime *rt, struct idle_until *retnext);
/* Is there something at hand, apart from what arrives and falls due? */
bool loop_has_work(const pawl_runtime *rt);
/* Mono time until which there is nothing to do; INT64_MAX: until something arrives. */
int64_t loop_idle_until(pawl_runtime *rt);
/* Look at it first in the next group; this one is full. */
void loop_put_off(pawl_runtime *rt, struct item *item);
/* The store could not be read: say so once, wait a little before the next pass. */
void loop_unread(pawl_runtime *rt, const pawl_error *err);
/* Before closing, on the engine's thread: commit what is only in memory. */
void loop_finish(pawl_runtime *rt);
void *loop_main(void *rt);
/* This thread runs the engine from here until loop_leave() with what this gave: callbacks of
 * clients are called in between, and whoever waits for the engine then waits for itself. */
const pawl_runtime *loop_enter(const pawl_runtime *rt);
void loop_leave(const pawl_runtime *before);
bool loop_is_here(const pawl_runtime *rt);
/* True when nobody steps for this thread: its blocking calls step by themselves. */
bool runtime_steps_here(pawl_runtime *rt);
/* Can times of the store be compared with those of files?  Not under a clock of the caller's. */
bool runtime_has_real_clock(const pawl_runtime *rt);
/* Threads do not go along with fork(): a child of the process that runs them is told so. */
bool runtime_is_elsewhere(const pawl_runtime *rt, pawl_error *err);
/* One step of a blocking call: -1 dead, 1 go on.  On a clock that only the caller moves, and
 * cannot while it waits: 0 when nothing will happen, and a store in trouble is tried at once. */
int runtime_step_blocked(pawl_runtime *rt);

/* ---- open_store.c ------------------------------------------------------------------ */

/* Make or find the data directory and open the store that the options name. */
pawl_status runtime_open_store(pawl_runtime *rt, pawl_error *err);

/* ---- close.c ----------------------------------------------------------------------- */

/* Nothing runs any more: whoever waits for an answer hears that none will come. */
void runtime_refuse(pawl_runtime *rt);
/* The same while it goes on: the store is gone. */
void runtime_refuse_calls(pawl_runtime *rt);
/* What those who still wait are told: SHUTDOWN, or UNKNOWN when the last commit may have
 * happened. */
pawl_status runtime_ending(const pawl_runtime *rt, const char **rettext);

/* ---- client.c -------------------------------------------------------------------- */

/* May this thread make a writing call?  False, with the error. */
bool client_may_write(pawl_client *c, pawl_error *err);
/* May it wait for the engine?  Not inside a callback, which the engine waits for. */
bool client_may_block(pawl_client *c, pawl_error *err);

/* ---- request.c ------------------------------------------------------------------ */

/* Act on a client's request; takes ownership. */
void request_handle(pawl_runtime *rt, struct request *req);
/* Does that need no letter: is it done before the letters at hand are delivered? */
bool request_acts_at_once(const struct request *req);
/* While the disk is full only what frees or finishes is taken on, and health says so. */
bool request_no_room(pawl_runtime *rt);
/* Its instance is staged: put it in front of the items, for the next group. */
void request_put_off(pawl_runtime *rt, struct request *req);

/* ---- remove.c --------------------------------------------------------------------- */

void remove_handle(pawl_runtime *rt, struct request *req);
void prune_handle(pawl_runtime *rt, struct request *req);
/* Stage the removal of finished trees on one page of instances, those below *cursor (0: from
 * the newest), of up to `limit` instances or one tree more.  *cursor is where to go on, 0 at the
 * end; *retfound is set when there was a finished root at all. */
pawl_status prune_page(pawl_runtime *rt, int64_t before_ms, uint32_t limit, uint64_t *cursor,
                       pawl_reply *reply, bool *retfound, pawl_error *err);
/* Delete a few rows of removed instances; called when there is nothing else to do. */
void remove_purge(pawl_runtime *rt);

/* ---- retain.c ----------------------------------------------------------------------- */

void retain_open(pawl_runtime *rt);
/* After the other work of a pass: stage the removal of what is due. */
void retain_look(pawl_runtime *rt);
/* An instance ended with this commit. */
void retain_ended(pawl_runtime *rt);

/* ---- recover.c ---------------------------------------------------------------------- */

struct slots_past;
/* Blame what the slot file shows, find mail kept for later starts. */
pawl_status recover(pawl_runtime *rt, const struct slots_past *past, pawl_error *reterr);

/* ---- watchdog.c ------------------------------------------------------------------- */

bool watchdog_start(pawl_runtime *rt);
void watchdog_stop(pawl_runtime *rt);
void watchdog_wake(pawl_runtime *rt); /* the engine has something to do */

/* ---- withdraw.c --------------------------------------------------------------- */

/* A caller has gone: what waits for it is answered, and gets nothing.  Frees the item. */
void withdraw_handle(pawl_runtime *rt, struct item *item);

#endif
