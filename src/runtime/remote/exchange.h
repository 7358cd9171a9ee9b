/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/exchange.h -- one call of a worker: answers in, turns out. [engine]
 *
 * The walk of a call: its caller's thread copies it (api/turns_client.c) -> the inbox -> its answers
 * are applied, each in the stage of its instance (request/turns_answer.c) -> when the last of them is
 * committed it waits for turns, at most as long as it said and not at all if it had answers -> at
 * the end of a pass that gave it turns, or when its time is over, it is answered and freed.
 *
 * Invariant: an exchange is in one place: in the inbox or among the items of a pass, on stages
 * (`pending` of them), or in the list of those that wait.
 *
 * Called by turns_answer.c, elsewhere.c and hand_out.c, and by the loop at the end of a pass.
 */
#ifndef PAWL_RUNTIME_EXCHANGE_H
#define PAWL_RUNTIME_EXCHANGE_H

#include "base/heap.h"
#include "base/vec.h"
#include "pawl/turns.h"
#include "runtime/core/runtime.h"

struct worker_session;

struct exchange {
    struct item item;
    struct exchange *next, *prev; /* of those that wait */
    struct exchange *next_filled; /* of those that have turns */
    struct heap_node ends;        /* mono: its time is over */
    pawl_turns_fn *fn;
    void *arg;
    pawl_mem mem; /* of the request and of the reply */
    pawl_turns request;
    struct worker_session *session;
    bool begun;   /* the session was looked up, its code told */
    bool handled; /* all answers were looked at */
    bool had_answers;
    bool after_commit; /* a turn of it has a lease that this pass commits */
    size_t at;         /* the next answer */
    uint32_t pending;  /* stages of it that are not committed */
    pawl_turn_answered *answered;
    pawl_turn *turns; /* room for request.max */
    size_t turn_count;
    size_t turn_bytes; /* of their events and messages */
    LIST(pawl_str) beats_lost;
    LIST(pawl_turn_code) taken; /* code that it told and C code has */
};

static inline struct exchange *exchange_of_item(struct item *item)
{
    return (struct exchange *)(void *)item;
}

/* False: it only asks, and there are too many: the worker is to slow down; `err` says how. */
bool exchange_may_begin(const pawl_runtime *rt, const struct exchange *ex, pawl_error *err);
/* Its answers are done: it waits for turns, or is answered at the end of the pass. */
void exchange_wait(pawl_runtime *rt, struct exchange *ex);
/* An answer's stage was committed, or taken back. */
void exchange_settled(pawl_runtime *rt, struct exchange *ex);
/* Those that wait were offered what is ready: with nothing, they are answered when their time is over. */
void exchange_offered(pawl_runtime *rt);
/* Answer those that have turns or whose time is over: at the end of a pass, and again after its
 * commit (`committed`) those whose turns have leases. */
void exchange_serve(pawl_runtime *rt, bool committed);
/* Mono time at which one's time is over; INT64_MAX: none waits. */
int64_t exchange_next(const pawl_runtime *rt);
/* Is there something to serve now? */
bool exchange_may_serve(const pawl_runtime *rt);
/* Is one to be answered, that came in this pass? */
bool exchange_is_owed(pawl_runtime *rt);
/* Its client is gone: the call that waits with this `arg` is answered now. */
void exchange_end_wait(pawl_runtime *rt, const void *arg);
/* How long its session's inline steps are leased at first. */
int64_t exchange_lease_ms(const struct exchange *ex);
/* End it with an error. */
void exchange_refuse(struct exchange *ex, pawl_status status, const char *format, ...)
    PAWL_PRINTF(3, 4);
/* Closing: all that wait. */
void exchange_stop(pawl_runtime *rt);
/* Has its answer as many bytes as one may have? */
bool exchange_is_full(const struct exchange *ex);
/* Room for one more turn of one that waits; NULL: it wants none. */
pawl_turn *exchange_add_turn(pawl_runtime *rt, struct exchange *ex);

#endif
