/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_desk.h -- queues on the engine thread. [engine]
 *
 * The desk has a *seat* for each queue somebody uses: the queue in memory (a
 * cache: evicting it loses nothing) and the pops that wait for it.  Requests come
 * through the inbox, change queues in memory (src/queue), and are answered after
 * the commit of their group.  All queues share one stage, so what moves between
 * queues is one round.
 *
 *   request ─▶ queue_handle ─▶ src/queue ─▶ queue_group
 *   clock   ─▶ queue_look   ─▶              │ queue_seal: one stage, one round
 *                                           ▼
 *                             commit ─▶ queue_committed: answers
 *                                   ─▶ queue_undone: dirty queues evicted, requests back
 *
 * A request that needs the store as it will be after this group (a refill of the
 * window, a purge) is put off to the next one, and those behind it for the
 * same queue with it.  A pop that waits holds no thread: it sits on its seat.
 */
#ifndef PAWL_RUNTIME_QUEUE_DESK_H
#define PAWL_RUNTIME_QUEUE_DESK_H

#include "queue/queue.h"
#include "runtime/core/runtime.h"

/* A client's call on a queue; one allocation with its strings. */
struct queue_req {
    struct item item;
    struct queue_req *next; /* put off, waiting or done */
    pawl_queue_request args;
    uint64_t print;           /* push with a key: of its items, never 0 */
    pawl_queue_config config; /* args.config */
    pawl_queue_reply_fn *fn;
    void *arg;
    struct job *job; /* the pop or ack of an orchestration; NULL: a client's */
    uint32_t tries;
    uint64_t moved, planned; /* purge, redrive: done so far, of so many */
    uint64_t stayed;         /* redrive: there was no room for them */
    int64_t at_priority;     /* redrive, purge: looked at so far, in order */
    uint64_t at_place;
    int64_t visible_ms;      /* redrive with a rate: of the next item */
    struct seat *seat;       /* waits here */
    struct heap_node until;  /* mono: the wait ends */
    pawl_queue_reply *reply; /* done: in the group's memory */
};

/* Damage does not mend itself: what met it is tried again later, and ever more seldom. */
struct rest {
    int64_t until_ms, wait_ms; /* mono */
};

struct seat {
    pawl_str name; /* owned */
    struct queue *q;
    struct queue_req *waiters, **waiters_end;
    bool held;               /* a request of it was put off in this pass */
    struct rest starts, due; /* of what nobody asks for: of a bound queue, by the clock */
    int64_t say_ms;          /* mono: damage is not logged again before */
    struct seat *older, *newer;
};

struct queue_desk {
    struct map seats;
    struct seat *newest, *oldest;
    size_t seat_count;
    struct queue_group group;
    struct stage *stage; /* of this group; NULL: none yet */
    pawl_queue_round round;
    struct queue_req *done, **done_end;         /* answered after the commit */
    struct queue_req *later, **later_end;       /* put off, in order */
    struct queue_req *removals, **removals_end; /* to be done when the group is sealed */
    struct heap waits;
    uint64_t wait_tie;   /* those that end together end in the order they came */
    size_t ops;          /* requests in this group */
    bool look_due;       /* the store may have queues that are due */
    bool again;          /* bound queues have more to start, or waiting pops were put off */
    struct rest due;     /* the list of them is damaged */
    int64_t say_ms;      /* that was logged: not again before */
    int64_t rest_ms;     /* mono: the first rest ends; INT64_MAX: none */
    pawl_error unlocked; /* why a past lock could not be looked up; with group.unread only */
};

bool queue_desk_open(pawl_runtime *rt); /* false: out of memory */
void queue_desk_close(pawl_runtime *rt);
/* Nothing runs any more: whoever waits for an answer hears that none will come. */
void queue_refuse_all(pawl_runtime *rt);

/* The seat of that name; NULL: there is none. */
struct seat *seat_find(const struct queue_desk *d, pawl_str name);
/* The seat with its queue in memory; else why the store did not answer, and *ret is NULL. */
pawl_status seat_open(pawl_runtime *rt, pawl_str name, struct seat **ret);
/* A read for this seat (NULL: for all) failed; its status.  Damage is the matter of this queue
 * alone: it is logged, and the caller refuses or rests.  With anything else the engine waits. */
pawl_status desk_unread(pawl_runtime *rt, struct seat *s, const pawl_error *err);
/* Not before a while; the loop wakes up then. */
void desk_rest(pawl_runtime *rt, struct rest *r);
bool desk_rests(pawl_runtime *rt, const struct rest *r);
/* Rests are over: look at all that was put off. */
void desk_look_rests(pawl_runtime *rt);
/* Bring the next piece of the window; else the trouble.  Not while dirty. */
pawl_status seat_refill(pawl_runtime *rt, struct seat *s);
void seat_evict(pawl_runtime *rt, struct seat *s); /* the queue; the seat too when nobody waits */
void seats_trim(pawl_runtime *rt);
/* The stage of this group's queue changes. */
struct stage *desk_stage(pawl_runtime *rt);
/* A waiting pop leaves its seat. */
void queue_unpark(struct queue_desk *d, struct queue_req *req);

#endif
