/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/stage.h -- from decisions to a round. [engine]
 *
 * A stage collects what one instance decided in this group.  Sealing turns its
 * steps into numbered events and derives the rows they mean: a scheduled
 * activity is a work row, a timer a delayed message, a child a start message,
 * a cancel the absence of the row it withdraws (only what is not completed
 * is dispatched).  Nothing here touches the store.
 */
#ifndef PAWL_RUNTIME_STAGE_H
#define PAWL_RUNTIME_STAGE_H

#include "runtime/core/runtime.h"

/* The stage of `r` in this group, made when missing. */
struct stage *stage_of(pawl_runtime *rt, struct resident *r);
/* A stage that touches no instance (retries, hand-outs). */
struct stage *stage_bare(pawl_runtime *rt);
/* One that goes before all others of the group, in the order in which such ones are made. */
struct stage *stage_early(pawl_runtime *rt);
/* Unlink a stage from the group, giving back its letters. */
struct letter *stage_abort(pawl_runtime *rt, struct stage *s);
/* More than its place in the history changed: the whole row is written. */
void stage_row_changed(struct stage *s);
/* Remember a consumed letter. */
void stage_take(struct stage *s, struct letter *l);
/* Answer a call when this stage commits; one call a stage. */
void stage_answer(struct stage *s, struct letter *call);
/* The row of message `id` goes with this round (or was never inserted). */
void stage_drop_message(pawl_runtime *rt, struct stage *s, uint64_t id);
/* Keep a letter as a row: in the mailbox, or waiting until it can be delivered. */
void stage_keep(pawl_runtime *rt, struct stage *s, const struct letter *l, bool mailbox);
/* An event or an update that was taken goes back to the mailbox, under its old id. */
void stage_return(pawl_runtime *rt, struct stage *s, const struct mail *mail);
/* The row of a message was to go with this round (true): it stays. */
bool stage_forget_drop(struct stage *s, uint64_t id);
/* A timer that has no row: held in memory after the commit. */
struct timer_note *stage_timer(pawl_runtime *rt, struct stage *s, int kind, uint64_t ref,
                               int64_t due_ms);
pawl_message *stage_send(pawl_runtime *rt, struct stage *s, int kind, uint64_t uid,
                         pawl_str instance);

/* Code begins and ends to run, replay included: for the watchdog and the slot file,
 * where the letter of turn_clock_blame() is to blame. */
void turn_clock_start(pawl_runtime *rt, const struct code_entry *code, const pawl_row *row);
void turn_clock_stop(pawl_runtime *rt);
/* Does this group change the work row, or consume its result?  Two calls on one row wait for each
 * other's commit. */
bool stage_has_work(const pawl_runtime *rt, uint64_t work_id);
/* Mail kept for a name is moved to the instance: the copy names the row it was. */
pawl_str stage_was_attrs(pawl_runtime *rt, uint64_t message_id);
/* Mailbox rows that the turn consumed or threw away. */
void stage_drop_consumed(pawl_runtime *rt, struct resident *r, struct stage *s);

/* The group is over: all its stages, in order. */
struct stage *stage_all(pawl_runtime *rt);
void stage_open(pawl_runtime *rt);

/* The stages of the group being built, in order. */
static inline struct stage *stage_first(const pawl_runtime *rt)
{
    return rt->staging.first;
}

static inline size_t stage_count(const pawl_runtime *rt)
{
    return rt->staging.count;
}

/* May some instance have published state? */
static inline bool stage_published(const pawl_runtime *rt)
{
    return rt->staging.published;
}

static inline void stage_set_published(pawl_runtime *rt, bool published)
{
    rt->staging.published = published;
}

/* May some instance ask for something? */
static inline bool stage_asks(const pawl_runtime *rt)
{
    return rt->staging.asks;
}

static inline void stage_set_asks(pawl_runtime *rt, bool asks)
{
    rt->staging.asks = asks;
}

/* The row of the letter that is delivered now is to blame for what its turn does; 0: no row. */
static inline void turn_clock_blame(pawl_runtime *rt, uint64_t item)
{
    rt->staging.turn_item = item;
}

/* The code that runs, and since when by the monotonic clock (0: none runs).  Any thread. */
static inline const struct code_entry *turn_clock_code(pawl_runtime *rt)
{
    return atomic_load(&rt->staging.turn_code);
}

static inline int64_t turn_clock_began(pawl_runtime *rt)
{
    return atomic_load(&rt->staging.turn_began_ms);
}

#endif
