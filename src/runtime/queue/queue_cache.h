/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_cache.h -- queues on the engine thread. [engine]
 *
 * The cache has one *cached queue* for each queue in use: the queue in memory (evicting it
 * loses nothing) and the pops that wait for it.  Requests come through the inbox, change
 * queues in memory (src/queue), and are answered after the commit of their group.  All
 * queues share one stage, so what moves between queues is one round.
 *
 *   request ─▶ queue_handle ─▶ src/queue ─▶ queue_group
 *   clock   ─▶ queue_look   ─▶              │ queue_seal: one stage, one round
 *                                           ▼
 *                             commit ─▶ queue_committed: answers
 *                                   ─▶ queue_undone: dirty queues evicted, requests back
 *
 * A request that must read what this group writes (a refill of the window, a purge) is put off to
 * the next group, together with the later requests on the same queue.  A pop that waits holds no
 * thread: it is on the list of its queue.
 */
#ifndef PAWL_RUNTIME_QUEUE_CACHE_H
#define PAWL_RUNTIME_QUEUE_CACHE_H

#include "queue/queue.h"
#include "runtime/core/runtime.h"

/* A client's call on a queue; one allocation with its strings. */
/* How far a purge or a redrive is: it is done in pieces, one in a group. */
struct queue_piece {
    uint64_t moved, planned; /* entries done, entries to do */
    uint64_t stayed;         /* redrive: entries the target had no room for */
    int64_t priority;        /* the last entry looked at, in order */
    uint64_t place;
    int64_t visible_ms; /* redrive with a rate: when the next item is visible */
};

struct queue_req {
    struct item item;
    struct queue_req *next; /* put off, waiting or done */
    pawl_queue_request args;
    uint64_t print;           /* push with a key: hash of its items, never 0 */
    pawl_queue_config config; /* args.config */
    pawl_queue_reply_fn *fn;
    void *arg;
    const pawl_queue_sizes *sizes; /* of the caller's structs; NULL: the same as ours */
    struct job *job;               /* the pop or ack of an orchestration; NULL: a client's */
    uint32_t tries;
    struct queue_piece at, was;  /* purge, redrive: where it is, and was before this group */
    bool begun;                  /* `was` is of the group that would follow was_group */
    uint64_t was_group;          /* */
    struct cached_queue *cached; /* the queue it waits for */
    struct heap_node until;      /* mono: when the wait ends */
    pawl_queue_reply *reply;     /* done: in the group's memory */
};

/* Back off exponentially after damaged rows were read. */
struct back_off {
    int64_t until_ms, wait_ms; /* mono */
};

struct cached_queue {
    pawl_str name; /* owned */
    struct queue *q;
    struct queue_req *waiters, **waiters_end;
    bool put_off; /* a request on it was put off in this pass: later ones follow it */
    struct back_off starts,
        due;             /* reads without a caller: starts of a bound queue, work by the clock */
    int64_t next_log_ms; /* mono: damage is not logged again before */
    struct cached_queue *older, *newer;
};

struct queue_cache {
    struct map cached;
    struct cached_queue *newest, *oldest;
    size_t cached_count;
    struct queue_group group;
    struct stage *stage; /* of this group; NULL: none yet */
    pawl_queue_round round;
    struct queue_req *done, **done_end;         /* answered after the commit */
    struct queue_req *later, **later_end;       /* put off, in order */
    struct queue_req *removals, **removals_end; /* to be done when the group is sealed */
    struct heap waits;
    uint64_t wait_tie;   /* waits that end at one time end in the order they began */
    size_t ops;          /* requests in this group */
    bool look_due;       /* the store may have queues that are due */
    bool again;          /* bound queues have more to start, or waiting pops were put off */
    struct back_off due; /* the list of due queues is damaged */
    int64_t next_log_ms; /* mono: that damage is not logged again before */
    int64_t back_off_ms; /* mono: when the first back-off ends; INT64_MAX: none */
    pawl_error unlocked; /* why a past lock could not be looked up; only with group.unread */
};

bool queue_cache_open(pawl_runtime *rt); /* false: out of memory */
void queue_cache_close(pawl_runtime *rt);
/* Nothing runs any more: every caller that waits is told that no answer will come. */
void queue_refuse_all(pawl_runtime *rt);

/* The cached queue of that name; NULL: there is none. */
struct cached_queue *cached_find(const struct queue_cache *d, pawl_str name);
/* Find or load a queue.  On failure *ret is NULL, and the status says why the read failed. */
pawl_status cached_open(pawl_runtime *rt, pawl_str name, struct cached_queue **ret);
/* A read for this queue (NULL: for all) failed; returns its status.  Damage affects this queue
 * alone: it is logged, and the caller refuses or backs off.  After any other failure the engine
 * waits for the store. */
pawl_status queue_read_failed(pawl_runtime *rt, struct cached_queue *s, const pawl_error *err);
/* Double the back-off; the loop wakes up when it ends. */
void back_off_start(pawl_runtime *rt, struct back_off *r);
bool backs_off(pawl_runtime *rt, const struct back_off *r);
/* When a back-off is over, look again at everything that was put off. */
void back_off_look(pawl_runtime *rt);
/* Read the next piece of the window; the status of a failed read.  Not while the queue is dirty. */
pawl_status cached_refill(pawl_runtime *rt, struct cached_queue *s);
/* Forget the queue; the cached queue itself stays while pops wait for it. */
void cached_evict(pawl_runtime *rt, struct cached_queue *s);
void queue_cache_trim(pawl_runtime *rt);
/* The stage that carries the queue changes of this group. */
struct stage *queue_stage(pawl_runtime *rt);
/* Take a waiting pop off the list of its queue. */
void queue_unpark(struct queue_cache *d, struct queue_req *req);

#endif
