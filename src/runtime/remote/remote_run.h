/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/remote_run.h -- instances whose code is in workers: which worker has which, what waits. [engine]
 *
 * See remotes.h for the states.  A run that asks is given to a call that waits: first to one of the
 * session that knows the run; if that session is alive and has no call waiting, the run waits for
 * it for two seconds; else to the call that waits longest and has the code.
 *
 * Called by elsewhere.c (letters), turns_answer.c (answers), and the other files of this room.
 */
#ifndef PAWL_RUNTIME_REMOTE_RUN_H
#define PAWL_RUNTIME_REMOTE_RUN_H

#include "engine/remote_code.h"
#include "runtime/core/runtime.h"
#include "runtime/remote/turn_token.h"

#define RUN_BATCH_MAX 100 /* messages of one turn */
/* The answer to a start is waited for this long (instance/first_turn.h).  A worker decides a first turn
 * in one to four ms; a start whose worker does not comes later by this, and so does what becomes due
 * meanwhile: less than a person notices. */
#define RUN_FIRST_MS 25

struct exchange;
struct remote_run;

struct remote_run *run_find(const pawl_runtime *rt,
                            uint64_t uid);     /* NULL: nothing is known of it */
bool run_is_out(const struct remote_run *run); /* NULL: no */
/* Letters for it wait as rows, and must not be overtaken. */
bool run_is_ready(const struct remote_run *run);
/* A letter of it became a row. */
void run_has_rows(pawl_runtime *rt, uint64_t uid);
bool run_take_rows(pawl_runtime *rt, uint64_t uid); /* were there any?  They are read now. */

/* The call that may have a turn of this run now; NULL: none waits. */
struct exchange *run_taker(pawl_runtime *rt, uint64_t uid, const struct code_entry *code);
/* It waits for a worker. */
void run_wait(pawl_runtime *rt, uint64_t uid, const struct code_entry *code);
/* Give it to `ex` with this first letter, which it owns from now on. */
struct remote_run *run_give(pawl_runtime *rt, struct exchange *ex, uint64_t uid,
                            const struct code_entry *code, const struct turn_token *place,
                            struct letter *l);
/* Its turns have one message each, until an answer stands. */
void run_set_alone(struct remote_run *run);
/* One more letter for the turn that is still being put together.  False: not in this one. */
bool run_add(pawl_runtime *rt, struct remote_run *run, struct letter *l);
/* A start was handed out before its commit (instance/first_turn.h): the run is OUT and has no letter,
 * until that start is stored, or is played. */
void run_set_begins(struct remote_run *run);
bool run_begins(const struct remote_run *run); /* NULL: no */
/* Here is its letter. */
void run_begin_with(pawl_runtime *rt, struct remote_run *run, struct letter *l);
/* The letter is the caller's again. */
struct letter *run_begin_without(pawl_runtime *rt, struct remote_run *run);
/* Is it worth while to wait for the answer to a start?  After a wait in vain not for a while. */
int64_t run_first_ms(const pawl_runtime *rt);
bool run_first_hopes(const pawl_runtime *rt);
void run_first_ended(pawl_runtime *rt, bool answered);
/* What the session that has it knows of this execution. */
uint64_t run_known(const struct remote_run *run, uint64_t execution);
pawl_str run_start_attrs(const struct remote_run *run); /* empty: its first message is no start */
int64_t run_lease_ms(const struct remote_run *run);     /* OUT: of its session's inline steps */
uint32_t run_losses(const struct remote_run *run);      /* workers lost in its turn; NULL: none */
void run_forgive(pawl_runtime *rt, uint64_t uid);
void run_set_start(struct remote_run *run, pawl_str attrs, int64_t at_ms);
int64_t run_at(const struct remote_run *run);
uint64_t run_serial(const struct remote_run *run);
int64_t run_until(pawl_runtime *rt, const struct remote_run *run); /* wall clock */

/* Is its turn still being put together? */
bool run_is_unsent(const struct remote_run *run);
/* Inline steps wait for a turn that is out, or for a worker. */
bool run_inline_waits(const pawl_runtime *rt);
void run_set_inline_waits(pawl_runtime *rt, bool waits);
/* Is there a worker's session? */
bool run_any_session(const pawl_runtime *rt);

/* The turn left the process. */
void run_sent(pawl_runtime *rt, pawl_str token);
/* The next run whose letters are to be read again; false: no more. */
bool run_brought(pawl_runtime *rt, uint64_t *retuid);

/* ---- The answer ---------------------------------------------------------- */

/* The run whose turn this session has under that token; NULL: none, or not any more. */
struct remote_run *run_answered(pawl_runtime *rt, const struct exchange *ex,
                                const struct turn_token *t);
const struct code_entry *run_code(const struct remote_run *run);
struct letter *run_letters(const struct remote_run *run, uint32_t *retcount);
/* The turn is over: its letters are the caller's, in order; it is idle. */
struct letter *run_take_letters(pawl_runtime *rt, struct remote_run *run);
/* The worker is lost, or gave it back: its letters are delivered again, and those behind them. */
void run_come_back(pawl_runtime *rt, struct remote_run *run);
/* Its lease is over: a worker is blamed, and it comes back. */
void run_lost(pawl_runtime *rt, struct remote_run *run);
/* The caller's letters are its again, as they were. */
void run_put_letters(pawl_runtime *rt, struct remote_run *run, struct letter *list);
/* Start its lease again. */
void run_beat(pawl_runtime *rt, struct remote_run *run);
/* Its session knows it up to here. */
void run_knows(pawl_runtime *rt, struct exchange *ex, uint64_t uid, const struct code_entry *code,
               uint64_t execution, uint64_t seq);
/* No session knows it any more. */
void run_unknown(pawl_runtime *rt, uint64_t uid);
/* The worker dropped this run ("42.1") from its cache. */
void run_forget(pawl_runtime *rt, const struct exchange *ex, pawl_str name);
/* It ended, or is gone. */
void run_end(pawl_runtime *rt, uint64_t uid);

#endif
