/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/travel.h -- what travels through a runtime: letters, jobs, stages.
 */
#ifndef PAWL_RUNTIME_TRAVEL_H
#define PAWL_RUNTIME_TRAVEL_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/heap.h"
#include "base/idset.h"
#include "base/log.h"
#include "base/map.h"
#include "base/point.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "pawl/provider.h"
#include "pawl/runtime.h"
#include "runtime/core/registry.h"

#include <pthread.h>
#include <stdatomic.h>

struct lease_call;
struct exchange;

enum item_kind { ITEM_REQUEST, ITEM_JOB, ITEM_LEASE, ITEM_QUEUE, ITEM_WITHDRAWAL, ITEM_TURNS };

/* What the inbox carries; embedded first in its owner. */
struct item {
    struct item *next;
    struct item *older, *newer; /* [engine] a call without an answer (owed.h) */
    int64_t since_ms;           /* mono: handed in, or not much later */
    enum item_kind kind;
};

/* What a client's call asks for, beside its mail, and who is told. */
struct ask {
    pawl_op op;
    bool await_start, force, failed, final; /* as in pawl_request */
    uint32_t limit;
    int64_t before_ms;
    uint64_t if_revision;
    int64_t start_ms; /* of a start: not before; 0: at once */
    int64_t delay_ms; /* the same from now on, until it is admitted */
    int64_t deadline_ms;
    pawl_str attributes; /* of a start or rerun: JSON that was checked */
    pawl_if_exists if_exists;
    bool keeps_input; /* rerun: with the input of its start */
    int64_t wait_ms;  /* update: how long its client waits for the answer */
    pawl_reply_fn *fn;
    void *arg;
};

/* What was read for a letter or a lease before this pass delivered (ahead.h). */
struct known {
    uint64_t pass;         /* it holds in this one; 0: nothing was read */
    bool absent;           /* its instance does not exist */
    pawl_status key;       /* OK: the instance has its key; EMPTY: not; else not known */
    const pawl_work *work; /* the row of its token; NULL: there is none */
};

/* What a start raises (raises.h).  One allocation: the strings follow. */
struct letter_raise {
    pawl_str event, data, key;
    pawl_str attrs; /* of an update; empty: an event */
    bool seen;      /* the instance has its key */
};
struct letter_raises {
    size_t count;
    struct letter_raise items[];
};

/* A message in memory, or a client's call.  One allocation: the strings follow the struct.
 *
 * A client's call is a letter from the caller's thread on.  One that goes to an instance (start,
 * raise, cancel …) is delivered like any other; one that does not (retry, remove, prune, a result
 * by token) has no kind, and the engine acts on it (request.h).  `asked` says that its client waits
 * for an answer; the item is its place in the inbox and among the calls that are owed one. */
struct letter {
    struct item item; /* first; of calls */
    struct letter *next;
    struct mail mail;  /* id, kind, execution, ref, name, data, attrs */
    uint64_t uid;      /* 0: addressed by `instance` */
    pawl_str instance; /* when uid is 0 */
    pawl_str key;      /* idempotency key of a raise */
    bool stored;       /* a message row exists (mail.id) */
    bool duplicate;    /* a start that found its twin in this very group; an update asked before */
    bool reruns;       /* a start that opens the next execution of an instance */
    bool asked;        /* a client waits for the answer */
    uint64_t work_id;  /* fused completion: the work row it acks; 0: none */
    uint32_t attempt;  /* crashes blamed on the stored row */
    uint32_t shard;    /* of the stored row; may be PAWL_SHARD_LOOK */
    uint32_t tries;    /* commits it was part of that were refused; not 0: alone in its stage */
    int64_t created_ms;
    char *attrs;                  /* mail.attrs, when they were made after the letter; owned */
    struct letter_raises *raises; /* of a client's start; owned; NULL: none */
    struct known known;
    struct ask ask;
};

/* ---- Activities ------------------------------------------------------------ */

enum job_verdict {
    JOB_OK,
    JOB_ERR,
    JOB_ERR_FINAL,
    JOB_TIMED_OUT, /* start-to-close */
    JOB_SILENT,    /* heartbeat */
    JOB_PENDING,
    JOB_SKIPPED, /* it did not run: the next process runs it */
    JOB_AWAY,    /* the function has returned; another thread answers */
    JOB_BEGINS,  /* at most once: its row is to say that it begins (once.h) */
    JOB_UNBEGUN, /* the row said so, and it did not */
};

#define TOKEN_BYTES 96 /* of an attempt that is completed from outside (token.h) */

/* What a thread runs, for people; work_id 0: nothing. */
struct running {
    atomic_ullong work_id;
    atomic_llong started_ms;
    pawl_mem spare; /* of the thread: memory for the next attempt, while none runs */
};

/* One attempt of an activity.  Owned by the engine thread (map jobs), lent to a
 * worker between hand-out and completion.  One allocation with its strings. */
struct tray;

struct job {
    struct item item;
    struct job *next_queued;
    struct share *share; /* once queued for a thread */
    bool once_out;       /* [engine] counted in rt->once.out */
    bool marked;         /* its row says that it begins (once.h) */
    pawl_work work;      /* as stored; attempt counts the tries before this one */
    const struct activity_entry *activity;
    pawl_runtime *rt;
    bool unfused;                 /* store the completion before the turn (after a crash) */
    bool given_up;                /* [engine] withdrawn or timed out: ignore the result */
    bool only_waits;              /* [engine] it only waits: not in the backlog */
    struct tray *tray;            /* [engine] it came by its turn (handout.h); NULL: it did not */
    uint32_t priority;            /* of its tray; 0: it has none */
    atomic_bool cancelled;        /* the activity may look */
    atomic_llong began_ms;        /* mono: a worker began; 0: still queued */
    atomic_llong beat_ms;         /* mono: last heartbeat, or the beginning */
    atomic_llong started_ms;      /* wall clock: a worker began; 0: still queued */
    struct running *running;      /* of the thread that runs it */
    atomic_bool has_token;        /* `token` is written, and does not change */
    bool cancel_used;             /* on_cancel was set once; the activity's thread */
    void (*on_cancel)(void *arg); /* guarded by the lock of cancels, as are the next four */
    void *on_cancel_arg;
    enum { CANCEL_NONE, CANCEL_QUEUED, CANCEL_CALLING } cancel_state;
    pthread_t cancel_caller; /* the thread that calls */
    struct job *next_cancelled;
    struct heap_node limit; /* [engine] the earliest of its limits, mono clock */
    int64_t start_by_ms;    /* [engine] mono: schedule-to-start, schedule-to-close */
    int64_t close_by_ms;
    enum job_verdict verdict;
    char *result; /* owned */
    size_t result_len;
    struct call_policy policy;
    _Atomic(struct beat *) beat; /* details of heartbeats (details.h); NULL: none */
    pawl_mem mem;                /* of the policy */
    char token[TOKEN_BYTES];     /* of pawl_pending; "": not asked for */
};

/* What is queued and runs under one activity's name (share.h). */
struct share {
    const struct activity_entry *activity;
    struct share *next; /* in rt->shares.waiting, longest wait first */
    struct job *first, **end;
    uint32_t running;
    struct share *once_next; /* [engine] this and the rest: at most once, see once.h */
    struct job *once_first, **once_end;
    uint32_t once_out;
    uint64_t once_turn; /* when it got its last place */
};

/* ---- Instances in memory ---------------------------------------------------- */

struct stage;

struct resident {
    pawl_row row;     /* as committed; strings in row_mem */
    pawl_mem row_mem; /* reset when the row's strings change */
    execution *x;     /* NULL: cannot run here and now */
    const struct code_entry *code;
    struct stage *stage;              /* in the group being built; NULL: none */
    bool doomed;                      /* evict after the commit */
    bool piled;                       /* letters wait as rows, or may */
    bool taken_known;                 /* peek-lock mode: `taken` is filled in */
    struct map taken;                 /* ids of raises its history holds */
    const pawl_wanted_history *ahead; /* what was read for it before this pass delivered … */
    uint64_t ahead_pass;              /* … and which pass that is (ahead.h) */
    size_t bytes;                     /* counted in rt->residents.bytes */
    pawl_runtime *rt;
    struct resident *older, *newer; /* by last use */
};

/* A timer without a row: held in memory once the round is committed. */
struct timer_note {
    int kind;
    uint64_t execution, ref;
    int64_t due_ms;
};

/* Mail kept for a name, taken over by its instance under a new id. */
struct adoption {
    uint64_t id, was;
};

/* What one instance decided in this group. */
struct stage {
    struct stage *next;
    struct resident *r;
    struct turn turn;
    uint64_t base_execution, base_seq, base_rid;
    pawl_row row; /* as it will be */
    pawl_row_change change;
    int64_t now_ms;
    LIST(pawl_event) events;
    LIST(uint64_t) drop_messages;
    LIST(pawl_message) messages;
    LIST(pawl_message_update) message_updates;
    LIST(pawl_quarantine) quarantine;
    LIST(uint64_t) need_work;
    LIST(uint64_t) drop_work;
    LIST(pawl_work) work;
    LIST(pawl_work_update) work_updates;
    LIST(pawl_str) keys;
    LIST(pawl_object) objects;
    pawl_str *asked_attributes;     /* as its code has changed them so far; NULL: it has not */
    LIST(struct timer_note) timers; /* without delayed visibility */
    LIST(struct adoption) adoptions;
    LIST(uint64_t) quiet; /* inserted messages that are not delivered now: they wait as rows */
    struct letter *letters, **letters_end; /* consumed, in order: go back when refused */
    struct job *job;                       /* its failed or pending attempt; owned */
    struct lease_call *lease;              /* a worker's call, answered with the commit; owned */
    struct exchange *exchange;             /* with a worker's answer, which is in this stage */
    size_t answer;                         /* and which of its answers */
    struct letter *call;                   /* a client's, without a kind: the same; owned */
    pawl_reply *reply;                     /* answer with these counts; NULL: plain */
    bool removed;                          /* REMOVE: evict without trace */
    bool ended;                            /* the instance is terminal with this round */
    bool adopted;                          /* took the mail kept for its id */
    bool mail_gone;                        /* what lay in its mailbox went with this round */
    bool answers;                          /* its code answered an update */
    bool unpile;                           /* look at waiting rows again after the commit */
    const pawl_queue_round *queue;         /* changes of queues; NULL: none */
    size_t round;                          /* index in the commit */
};

/* ---- Waiting clients ---------------------------------------------------------- */

struct feed {
    struct feed *next;
    uint64_t number;
    pawl_feed_fn *fn;
    void *arg;
    size_t change_bytes, info_bytes; /* of its structs */
};

/* A client that waits for an instance to change; on its own stack. */
struct wait_node {
    struct wait_node *next; /* of the same instance */
    pawl_str instance;
    pthread_cond_t changed;
    bool told;
};

#endif
