/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/runtime.h -- the parts of a runtime and who owns them.
 *
 * The way of one step (docs/internals/runtime.md):
 *
 *   client threads ── request ─┐
 *   worker threads ── job ─────┤ inbox ─▶ ENGINE THREAD
 *                                         take everything
 *                                         letter ─▶ resident ─▶ turn ─▶ stage
 *                                         all stages ─▶ ONE commit
 *                                         answers, hand-outs, cancels
 *
 * One thread owns the truth: everything below marked [engine] belongs to it and
 * has no lock.  Other threads reach it through the inbox only.  Nothing decided
 * in a turn is visible to anyone before the commit that records it.
 *
 * Words: a *letter* is a message in memory; a *stage* is what one instance
 * decided in this group, becoming a round; a *group* is all stages of one
 * commit; a *resident* is an instance in memory; a *job* is an activity attempt
 * in memory.
 */
#ifndef PAWL_RUNTIME_RUNTIME_H
#define PAWL_RUNTIME_RUNTIME_H

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

struct fiber_pool;
struct lease_call;
struct slots;
struct felling;
struct crew;
struct queue_desk;
struct coming;

/* ---- What travels -------------------------------------------------------- */

enum item_kind { ITEM_REQUEST, ITEM_JOB, ITEM_LEASE, ITEM_QUEUE, ITEM_WITHDRAWAL };

/* What the inbox carries; embedded first in its owner. */
struct item {
    struct item *next;
    struct item *older, *newer; /* [engine] a call without an answer (owed.h) */
    int64_t since_ms;           /* mono: handed in, or not much later */
    enum item_kind kind;
};

/* A client's writing call on its way; freed after its answer. */
struct request {
    struct item item;
    pawl_request args; /* strings point into `text` */
    pawl_reply_fn *fn;
    void *arg;
    uint32_t tries; /* commits it was part of that were refused */
    char text[];
};

/* A message in memory.  One allocation: the strings follow the struct. */
struct letter {
    struct letter *next;
    struct mail mail;  /* id, kind, execution, ref, name, data, attrs */
    uint64_t uid;      /* 0: addressed by `instance` */
    pawl_str instance; /* when uid is 0 */
    bool stored;       /* a message row exists (mail.id) */
    uint64_t work_id;  /* fused completion: the work row it acks; 0: none */
    uint32_t attempt;  /* crashes blamed on the stored row */
    uint32_t tries;    /* commits it was part of that were refused; not 0: alone in its stage */
    int64_t created_ms;
    struct request *request; /* to be answered when the letter is committed; owned */
    pawl_str key;            /* idempotency key of a raise */
    bool duplicate;          /* a start that found its twin in this very group */
};

/* ---- Activities ------------------------------------------------------------ */

enum job_state {
    JOB_QUEUED,  /* waits for a worker */
    JOB_RUNNING, /* a worker has it */
    JOB_DONE,    /* in the inbox, or being recorded */
};

enum job_verdict {
    JOB_OK,
    JOB_ERR,
    JOB_ERR_FINAL,
    JOB_TIMED_OUT, /* start-to-close */
    JOB_SILENT,    /* heartbeat */
    JOB_PENDING,
    JOB_SKIPPED, /* it did not run: the next process runs it */
    JOB_AWAY,    /* the function has returned, somebody else answers */
    JOB_BEGINS,  /* at most once: its row is to say that it begins (once.h) */
    JOB_UNBEGUN, /* the row said so, and it did not */
};

#define TOKEN_BYTES 96 /* of an attempt that somebody outside completes (token.h) */

/* One attempt of an activity.  Owned by the engine thread (map jobs), lent to a
 * worker between hand-out and completion.  One allocation with its strings. */
struct job {
    struct item item;
    struct job *next_queued;
    struct share *share; /* once queued for a thread */
    bool once_out;       /* [engine] counted in rt->once_out */
    bool marked;         /* its row says that it begins (once.h) */
    pawl_work work;      /* as stored; attempt counts the tries before this one */
    const struct activity_entry *activity;
    pawl_runtime *rt;
    enum job_state state;         /* [engine] */
    bool unfused;                 /* store the completion before the turn (after a crash) */
    bool given_up;                /* [engine] withdrawn or timed out: ignore the result */
    bool aside;                   /* [engine] it only waits: not in the backlog */
    atomic_bool cancelled;        /* the activity may look */
    atomic_llong began_ms;        /* mono: a worker began; 0: still queued */
    atomic_llong beat_ms;         /* mono: last heartbeat, or the beginning */
    pthread_mutex_t token_lock;   /* guards token */
    void (*on_cancel)(void *arg); /* guarded by the lock of cancels, as are the next four */
    void *on_cancel_arg;
    enum { CANCEL_NONE, CANCEL_QUEUED, CANCEL_CALLING } cancel_state;
    pthread_t cancel_caller; /* who calls */
    struct job *next_cancelled;
    struct heap_node limit; /* [engine] start-to-close or heartbeat, mono clock */
    enum job_verdict verdict;
    char *result; /* owned */
    size_t result_len;
    struct call_policy policy;
    pawl_mem mem;            /* of the policy */
    char token[TOKEN_BYTES]; /* of pawl_pending; "": not asked for */
};

/* What is queued and runs under one activity's name (share.h). */
struct share {
    struct share *next; /* in rt->shares_waiting, who waited longest first */
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
    struct stage *stage; /* in the group being built; NULL: none */
    bool doomed;         /* evict after the commit */
    bool piled;          /* letters wait as rows since it was loaded */
    bool taken_known;    /* peek-lock mode: `taken` is filled in */
    struct map taken;    /* ids of raises its history holds */
    size_t bytes;        /* counted in rt->resident_bytes */
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
    LIST(struct timer_note) timers; /* without delayed visibility */
    LIST(struct adoption) adoptions;
    LIST(uint64_t) quiet; /* inserted messages that are not delivered now: they wait as rows */
    struct letter *letters, **letters_end; /* consumed, in order: go back when refused */
    struct job *job;                       /* its failed or pending attempt; owned */
    struct lease_call *lease;              /* a worker's call, answered with the commit; owned */
    pawl_reply *reply;                     /* answer with these counts; NULL: plain */
    bool removed;                          /* REMOVE: evict without trace */
    bool ended;                            /* the instance is terminal with this round */
    bool adopted;                          /* took the mail kept for its id */
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
};

/* A client that waits for an instance to change; on its own stack. */
struct wait_node {
    struct wait_node *next; /* of the same instance */
    pawl_str instance;
    pthread_cond_t changed;
    bool told;
};

struct pawl_client {
    pawl_runtime *rt;
};

/* ---- The runtime --------------------------------------------------------------- */

/* Until when the engine has nothing to do. */
struct idle_until {
    int64_t mono_ms;
    int64_t due_ms; /* by the wall clock; INT64_MAX: nothing is due */
};

struct pawl_runtime {
    pawl_app *app;
    pawl_runtime *next_of_app; /* guarded by the lock of app */
    pid_t pid;                 /* the process it was opened in, or runs in */
    pawl_options opts;         /* defaults filled in; strings owned below */
    char *data_dir;
    char *tag_text; /* opts.tags */
    pawl_str *tags; /* in it: calls with these run on threads of this process, too */
    size_t tag_count;
    bool no_lanes; /* trials: every worker there is, is this process */
    pawl_env env;
    struct logger log;
    pawl_store *store;
    pawl_store_caps caps;
    bool owns_store;
    struct pawl_client client;
    struct slots *slots;

    /* inbox: any thread */
    pthread_mutex_t lock; /* guards inbox_*, stop flags, waiters */
    pthread_cond_t wake;  /* the engine waits here */
    struct item *inbox, **inbox_end;
    int step_fd;                 /* pawl_runtime_fd(), see embed.h; 0: nobody asked */
    bool step_told;              /* and it is readable */
    bool engine_waits;           /* asleep, and not told to wake */
    bool woken;                  /* told to: the next wait returns at once */
    bool lent;                   /* a borrower has the engine, see lend.h */
    bool engine_wants;           /* and the time to wake has come meanwhile */
    atomic_size_t inbox_light;   /* of inbox_count: what a borrower may take */
    atomic_llong inbox_since_ms; /* mono: the first of the inbox came; 0: it is empty */
    void (*come)(void *);        /* calls the borrower; NULL: there is none */
    void *come_arg;
    size_t lend_seen;       /* light items, when they were last looked at */
    int64_t lend_quiet_us;  /* mono: no more have come since */
    bool stopping;          /* no new requests */
    atomic_bool stop;       /* engine thread ends */
    unsigned forks;         /* forks_behind() when it was opened */
    atomic_bool no_workers; /* work is queued, and no thread could be started for it */
    atomic_bool full;       /* new work is refused: the disk is full */
    atomic_bool gone;       /* so is everything: the store is not in its place any more … */
    char gone_why[PAWL_TROUBLE_BYTES]; /* … and what to do; written before */
    atomic_bool busy;                  /* the engine is not waiting: the watchdog looks */
    struct map waiters;                /* instance id -> struct wait_node */
    atomic_uint waiter_count;
    pthread_mutex_t feed_lock; /* guards the three below */
    bool feeding;              /* [engine] feeds are being called, under feed_lock */
    struct feed *feeds;
    uint64_t feed_number;
    atomic_uint feed_count;
    atomic_size_t inbox_count;

    /* [engine] */
    struct idle_until sleeps; /* the engine thread does, until then */
    pawl_fence fence;
    struct fiber_pool *fibers;
    struct map by_uid; /* struct resident */
    struct map by_id;  /* the same, by instance id */
    struct resident *newest, *oldest;
    size_t resident_count, resident_bytes, resident_max;
    struct letter *todo, **todo_end;   /* letters to deliver, in order */
    struct letter *later, **later_end; /* put off to the next group, in order */
    size_t todo_count;
    struct item *items, **items_end;  /* taken from the inbox, not yet looked at */
    struct item owed;                 /* calls without an answer, a ring (owed.h) */
    atomic_llong owed_since_ms;       /* mono: the oldest of them and of `items`; 0: none */
    bool left_over;                   /* the last pass did not get to all of them: they go first */
    uint32_t passes_unfetched;        /* with rows to fetch, because so many letters are at hand */
    struct map inflight;              /* message row id -> letter in memory */
    uint64_t seed_key[2], seed_count; /* of the seeds of executions; new with each process */
    pawl_mem group_mem;
    struct stage *stages, **stages_end;
    size_t stage_count;
    LIST(pawl_change) changes; /* of this commit, for the feeds */
    pawl_mem load_mem;         /* one load or fetch */
    int64_t now_ms;            /* store clock of this group */
    int64_t next_due_ms;
    int64_t looked_ms; /* what was due then has been fetched, or will be (flags below) */
    bool ask_due;      /* next_due_ms is only what this process knows: ask the store */
    bool fetch_messages, look_deadlines, purge_left;
    bool mail_lies;            /* of this process' own messages: newer ones lie behind them */
    int64_t purge_at_ms;       /* mono: not before */
    struct idset codeless;     /* uids that wait for code */
    struct idset piled;        /* uids whose waiting rows could not be read yet */
    struct map mailboxes;      /* address -> what waits for it (mailbox.c) */
    struct map coming;         /* id -> a start by name that is on its way (coming.c) */
    struct coming *spoken_for; /* ids decided in this pass */
    struct map kept_names;     /* name -> owned copy: mail kept for an instance not yet started */
    unsigned long generation;  /* of the registry, as last seen */
    int64_t retry_at_ms;       /* mono: do nothing before (store trouble) */
    bool hold;                 /* stop delivering in this group: order would break */
    uint32_t store_trouble;    /* failed commits in a row */
    bool unread;               /* that is all: reads failed, no commit did */
    int64_t store_look_ms;     /* mono: how it is, not before */
    uint64_t store_damaged;    /* rows, as last told */
    uint64_t store_log_told;   /* bytes of its log that were told; 0: it is short */
    bool refuse;               /* the store is gone: calls under way are to be refused */
    bool disk_full;
    bool unfused_requests;  /* a start or raise took the process down last time: store it first */
    uint64_t turn_item;     /* row of the letter being delivered, for the blame; 0: not stored */
    pawl_status dead;       /* FENCED or UNKNOWN: nothing runs any more */
    struct idset mend;      /* peek-lock mode: uids to put right first */
    struct heap held;       /* without delayed visibility: what is not due yet */
    struct map held_timers; /* the timers among them, each once */
    struct idset suspects;  /* work or message ids: run unfused */

    struct {
        int64_t at_ms;       /* mono: not before; INT64_MAX: nothing is due before something ends */
        int64_t last_end_ms; /* no instance ended later */
        int64_t cutoff_ms;   /* of the sweep: what ended before goes */
        uint64_t cursor;     /* uids below are left of the sweep; 0: none is under way */
        bool found;          /* the sweep met a finished root */
    } retain;

    struct felling *fellings; /* large trees that are being removed */
    struct crew *crew;        /* workers outside; NULL: read only */
    struct queue_desk *desk;  /* queues; NULL: the store has none */

    /* jobs */
    struct map jobs;        /* [engine] work id -> struct job */
    struct heap limits;     /* [engine] job limits, mono clock */
    size_t backlog;         /* [engine] jobs in memory not yet done */
    size_t aside;           /* [engine] jobs in memory that only wait */
    size_t admitted;        /* [engine] more of them, if this group commits */
    uint32_t gather_misses; /* [engine] waits for what was out that brought only some of it */
    bool store_backlog;     /* [engine] free work waits in the store: new rows queue behind it */
    uint64_t job_tie;
    void (*job_withdrawn)(pawl_runtime *rt, const void *job); /* queue_withdraw() */
    struct lease_call *polls, **polls_end; /* [engine] workers that wait for work */
    bool lease_look;                       /* [engine] there may be work for them */
    pthread_mutex_t work_lock;             /* guards the queue below */
    pthread_cond_t work_ready;
    struct job *handing, **handing_end; /* the engine's: not in the queue yet */
    uint32_t handing_count;
    struct share *once_shares; /* [engine] names called at most once, see once.h */
    size_t once_waiting;       /* [engine] their jobs that have no place yet */
    uint32_t once_out;         /* [engine] marked, or to be, and not done */
    uint64_t once_turns;       /* [engine] places given so far */
    struct map shares;         /* activity -> struct share, see share.h */
    struct share share_of_rest;
    struct share *shares_waiting, **shares_end; /* those with queued jobs */
    size_t queue_count;
    uint32_t worker_count, worker_idle, running;
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct job *first; /* whose callbacks are to be called */
        uint32_t threads;
    } cancels; /* see cancel.h */
    bool workers_stop;
    bool rousing; /* a thread is being woken or started */
    pthread_t *workers;

    /* threads */
    bool threaded;
    pthread_t engine_thread;
    atomic_bool stepping; /* by step_thread, which never changes */
    pthread_t step_thread;
    pthread_t watchdog_thread;
    pthread_mutex_t watch_lock;
    pthread_cond_t watch_wake;
    bool watch_stop;
    atomic_bool watch_asleep;
    atomic_llong turn_began_ms;   /* mono; 0: no turn runs */
    atomic_llong commit_began_ms; /* mono; 0: none is under way */
    unsigned slow_commits;        /* [engine] not lent for so many more: one was slow */
    _Atomic(const struct code_entry *) turn_code;

    /* figures; written by the engine, read by anyone */
    struct {
        atomic_ullong turns, rounds, commits, events, activities_started, activities_completed,
            activities_failed, activities_retried, timers_fired, replays, replayed_events,
            evictions, mismatches, quarantined, commit_us, store_errors, resident, todo, retired,
            schedule_to_start_count, schedule_to_start_ms, schedule_to_start[PAWL_DELAY_BUCKETS];
    } n;
    int64_t recovered_ms; /* wall, when what the last process left was looked at */
    struct tallies {
        struct map by_name; /* [engine] */
        struct tally *last; /* counted */
    } tallies[2];           /* of orchestrations, of activities */
    _Atomic(struct tally *) tally_list;
    pthread_mutex_t trouble_lock;
    char trouble[PAWL_TROUBLE_BYTES];
};

#define COUNT(rt, what)       atomic_fetch_add_explicit(&(rt)->n.what, 1, memory_order_relaxed)
#define COUNT_BY(rt, what, k) atomic_fetch_add_explicit(&(rt)->n.what, (k), memory_order_relaxed)

#define RT_POINT(rt, name)                                                                         \
    do {                                                                                           \
        if (UNLIKELY((rt)->env.point))                                                             \
            (rt)->env.point((rt)->env.user, (name));                                               \
        POINT(name);                                                                               \
    } while (0)

static inline int64_t rt_now(pawl_runtime *rt)
{
    return rt->env.now_ms(rt->env.user);
}
static inline int64_t rt_mono(pawl_runtime *rt)
{
    return rt->env.mono_ms(rt->env.user);
}
static inline uint64_t rt_new_id(pawl_runtime *rt)
{
    return rt->fence.next_id++;
}

#endif
