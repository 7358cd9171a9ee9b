/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/parts.h -- the parts of a runtime and their fields.
 *
 * Everything marked [engine] belongs to the thread that has the engine and has no lock.  The
 * header named with a part has its functions.  tools/parts.txt names the files that may touch its
 * fields, and tools/check-parts holds all others to the functions.
 */
#ifndef PAWL_RUNTIME_PARTS_H
#define PAWL_RUNTIME_PARTS_H

#include "runtime/core/travel.h"
#include "tables/counters.h"

struct fiber_pool;
struct slots;
struct felling;
struct crew;
struct tried_call;
struct queue_cache;
struct remotes;
struct handout;
struct coming;
struct tally;

/* Until when the engine has nothing to do. */
struct idle_until {
    int64_t mono_ms;
    int64_t due_ms; /* by the wall clock; INT64_MAX: nothing is due */
};

/* The data directory, and whose the store is. */
struct data_dir {
    char *path;      /* NULL: none */
    int lock;        /* of the directory, when the store is elsewhere; -1: none */
    bool owns_store; /* opened by the runtime, and closed with it */
};

/* The clock of the store (store_clock.h). */
struct store_clock {
    bool of_caller;              /* the caller has a clock of its own */
    bool is;                     /* the store has one, and it counts; fixed at open */
    atomic_int_fast64_t lead_ms; /* its time minus the monotonic clock */
    int64_t asked_ms;            /* mono [engine] */
};

/* Who has work, and who is next. */
struct hands {
    struct crew *crew;       /* workers outside; NULL: read only */
    struct handout *handout; /* [engine] work in turn; NULL: the store cannot */
    struct remotes *remotes; /* [engine] workers that run orchestrations (runtime/remote) */
    size_t limits;           /* [engine] stored limits (work/work_limits.h) */
    bool limits_changed;     /* [engine] with this group; not in force yet */
};

/* Which calls with a tag run on threads of this process (tray.h). */
struct trays {
    char *text;     /* opts.tags */
    pawl_str *tags; /* in it */
    size_t count;
    bool none;                         /* trials: every worker there is, is this process */
    const struct activity_entry *last; /* [engine] found by tray_entry(); NULL: none */
};

/* What arrives, from any thread (inbox.h); all under `lock`. */
struct inbox {
    pthread_mutex_t lock; /* of audience.waiters, too */
    pthread_cond_t wake;  /* the engine waits here */
    struct item *first, **end;
    int step_fd;                   /* pawl_runtime_fd(), see embed.h; 0: none was asked for */
    bool step_told;                /* and it is readable */
    bool engine_waits;             /* asleep, and not told to wake */
    bool woken;                    /* told to: the next wait returns at once */
    bool lent;                     /* a borrower has the engine, see lend.h */
    bool wake_is_due;              /* and the time to wake has come meanwhile */
    bool stopping;                 /* no new requests */
    atomic_bool stop;              /* engine thread ends */
    atomic_size_t count;           /* of the list */
    atomic_size_t borrowable;      /* of these: what a borrower may take */
    atomic_llong since_ms;         /* mono: the first of them came; 0: it is empty */
    void (*wake_borrower)(void *); /* calls the borrower; NULL: there is none */
    void *borrower;
};

/* Waiting for what is about to come (gather.h). [engine] */
struct patience {
    size_t seen;      /* at the last look; 0: there was none */
    unsigned looks;   /* since then, that found as many */
    uint32_t misses;  /* waits that ended before all that was out had come */
    int64_t quiet_us; /* mono: no more have come since */
};

/* The engine lent to another thread (lend.h). */
struct lending {
    struct patience patience;
    struct idle_until sleeps; /* [engine] the engine thread does, until then */
    unsigned slow_commits;    /* [engine] commits left before lending is allowed again */
};

/* Which threads there are (here.h, run.c). */
struct threads {
    pid_t pid;      /* the process it was opened in, or runs in */
    unsigned forks; /* forks_behind() when it was started */
    bool on;        /* it has threads of its own */
    pthread_t engine;
    atomic_bool stepping; /* by `stepper`, which never changes */
    pthread_t stepper;
};

/* How the store is (health.h). */
struct health {
    pthread_mutex_t lock; /* guards trouble */
    char trouble[PAWL_TROUBLE_BYTES];
    atomic_bool full;                  /* new work is refused: the disk is full */
    atomic_bool gone;                  /* so is everything: the store is not in its place … */
    char gone_why[PAWL_TROUBLE_BYTES]; /* … and what to do; written before */
    atomic_llong commit_began_ms;      /* mono; 0: none is under way */
    atomic_bool no_threads;            /* work is queued, and no thread could be started for it */
    atomic_llong asked_ms; /* mono: when a caller last asked how a store far away is … */
    atomic_bool asked;     /* … and the engine has not asked the store yet */
    pawl_status dead;      /* FENCED or UNKNOWN: nothing runs any more */
    int64_t retry_at_ms;   /* [engine] mono: do nothing before */
    uint32_t failures;     /* [engine] failed reads and commits in a row */
    bool unread;           /* [engine] only reads failed, no commit did */
    bool refuse;           /* [engine] gone: calls under way are to be refused */
    int64_t look_ms;       /* [engine] mono: the next look at its figures */
    uint64_t damaged;      /* [engine] rows, as last told */
    uint64_t log_told;     /* [engine] bytes of its log that were told; 0: short */
};

/* The listeners of a commit (audience.h). */
struct audience {
    struct map waiters; /* instance id -> struct wait_node; under inbox.lock */
    atomic_uint waiter_count;
    pthread_mutex_t lock; /* guards the list of feeds and its number */
    struct feed *feeds;
    uint64_t feed_number;
    atomic_uint feed_count;
    bool feeding;              /* [engine] feeds are being called, under lock */
    LIST(pawl_change) changes; /* [engine] of this commit, for the feeds */
};

/* Instances in memory (resident.h). [engine] */
struct residents {
    struct map by_uid; /* struct resident */
    struct map by_id;  /* the same, by instance id */
    struct resident *newest, *oldest;
    size_t count, bytes, max;
    struct fiber_pool *fibers;
};

/* Letters in memory (letter.h). [engine] */
struct letters {
    struct letter *todo, **todo_end;   /* to deliver, in order */
    struct letter *later, **later_end; /* put off to the next group, in order */
    size_t todo_count;
    uint64_t pass;       /* its number: what was read ahead holds in it */
    pawl_mem known_mem;  /* what was read ahead (ahead.h) */
    struct map inflight; /* message row id -> letter in memory */
};

/* Items taken from the inbox and not yet looked at (items.h). [engine] */
struct items {
    struct item *first, **end;
    bool left_over; /* the last pass did not get to all of them: they go first */
};

/* Calls without an answer (owed.h). [engine] */
struct owed {
    struct item ring;
    atomic_llong since_ms; /* mono: the oldest of them and of the items; 0: none */
};

/* A commit whose outcome is not known (doubt.h). [engine] */
struct doubt {
    bool is;
    pawl_round *rounds; /* of the group; NULL: a purge, or executions pruned */
    size_t count;
    int64_t now_ms; /* as the commit was told, and the fence */
    pawl_fence fence;
    pawl_error why; /* what the commit said */
};

/* The group being built (stage.h). [engine] */
struct staging {
    struct stage *first, **end;
    struct stage **early_end; /* behind those that go before all others (stage_early) */
    size_t count;
    struct doubt doubt;               /* about its commit, or an earlier one */
    uint64_t seed_key[2], seed_count; /* of the seeds of executions; new with each process */
    uint64_t turn_item; /* row of the letter being delivered, for the blame; 0: not stored */
    atomic_llong turn_began_ms; /* mono; 0: no turn runs */
    _Atomic(const struct code_entry *) turn_code;
    bool published; /* some instance may have published state */
    bool asks;      /* some instance may ask for something (asked.h) */
};

/* Zone files that schedules were computed from (schedule_zones.h). [engine] */
struct zones {
    struct map known; /* name -> struct known_zone */
    bool walking;     /* a file changed: all schedules are gone through … */
    bool walked;      /* … and the last page was looked at */
    char cursor[PAWL_OBJECT_NAME_MAX + 1];
};

/* What is due in the store, and what is to be fetched (due.h). [engine] */
struct due {
    int64_t next_ms;
    int64_t looked_ms; /* what was due then has been fetched, or will be (flags below) */
    bool ask;          /* next_ms is only what this process knows: ask the store */
    bool fetch_messages, look_deadlines;
    bool mail_lies;            /* of this process' own messages: newer ones lie behind them */
    uint32_t passes_unfetched; /* with rows to fetch, because many letters are in memory */
    bool purge_left;           /* rows of removed instances and queues are left */
    int64_t purge_at_ms;       /* mono: not before */
    struct zones zones;        /* schedules to be computed again */
};

/* What is to go (remove.h, retain.h, felling.h). [engine] */
struct removal {
    struct felling *fellings; /* large trees that are being removed */
    struct {
        int64_t at_ms;       /* mono: not before; INT64_MAX: nothing is due before something ends */
        int64_t last_end_ms; /* no instance ended later */
        int64_t cutoff_ms;   /* of the sweep: what ended before goes */
        uint64_t cursor;     /* uids below are left of the sweep; 0: none is under way */
        bool found;          /* the sweep met a finished root */
    } retain;
};

/* Mail that waits. [engine] */
struct mail_waiting {
    struct idset codeless;     /* uids that wait for code */
    struct idset piled;        /* uids whose waiting rows could not be read yet */
    unsigned long generation;  /* of the registry, as last seen */
    struct map boxes;          /* address -> what waits for it (mailbox.c) */
    struct map kept_names;     /* name -> owned copy: mail kept for an instance not yet started */
    struct map coming;         /* id -> a start by name that is on its way (coming.c) */
    struct coming *spoken_for; /* ids decided in this pass */
    uint32_t careful;          /* starts that look for their id first: some id existed lately */
    struct {
        struct idset roots;  /* uids of the instances above all others of such a tree */
        struct idset mail;   /* uids of instances in them whose letters wait as rows */
        struct idset starts; /* message ids of their children's starts, taken out of the store */
    } halt;                  /* trees that stand still (halt.c) */
    struct {
        struct map by_uid;  /* struct update_box */
        struct heap limits; /* when their time is over */
    } updates;              /* clients that wait for the answer to one (updates.h) */
};

/* What the last process left behind (recover.h). [engine] */
struct blame {
    struct idset suspects; /* work or message ids: run unfused */
    bool unfused_requests; /* a start or raise took the process down last time: store it first */
    int64_t recovered_ms;  /* wall, when what the last process left was looked at */
};

/* Stores without atomic rounds or delayed visibility (repair.h, timers.h). [engine] */
struct peek {
    const struct peek_ops *ops; /* peek.h; NULL: the store has both */
    struct idset repair;        /* peek-lock mode: uids to put right first */
    struct heap heap;           /* what is not due yet */
    uint64_t tie;               /* those that are due together come in the order they were held */
    struct map timers;          /* the timers among them, each once */
};

/* How the attempts of open calls went (tries.h).  Any thread, under the lock. */
struct tries {
    pthread_mutex_t lock;
    struct map calls;                   /* by work id */
    struct tried_call *oldest, *newest; /* by their last attempt */
};

/* Details of heartbeats (details.h). [engine], but for what has a mark. */
struct details {
    struct idset kept;    /* work rows that may have some in the store */
    struct idset flying;  /* work rows whose details the group of the last look has … */
    uint64_t group_no;    /* … if the fence is past this one */
    struct idset orphans; /* of rows that are gone */
    pthread_mutex_t lock; /* guards the next two, and the beats of jobs; any thread */
    struct beat *first;   /* with details that are not written */
    int64_t written_ms;   /* mono: the last look */
    atomic_llong due_ms;  /* mono: the next one; INT64_MAX: none; any thread */
    atomic_bool shown;    /* some were written; any thread */
};

/* Attempts in memory (jobs.h). [engine] */
struct jobs {
    struct map by_id;         /* work id -> struct job */
    struct heap limits;       /* mono clock */
    size_t backlog;           /* not yet done */
    size_t waiting;           /* that only wait */
    size_t admitted_in_group; /* more of them, if this group commits */
    bool store_backlog;       /* free work waits in the store: new rows queue behind it */
    uint64_t tie;
    void (*withdrawn)(pawl_runtime *rt, const void *job); /* queue_withdraw() */
    void (*over)(pawl_runtime *rt, struct job *job);      /* handout_over() */
    struct tries tries;
    struct details details;
};

/* Workers outside that wait for work (lease.h). [engine] */
struct leases {
    struct lease_call *polls, **polls_end;
    bool look;        /* there may be work for them */
    bool look_inline; /* and inline steps to be done again (remote/) */
};

/* Threads that run activities (worker.h). */
struct worker_pool {
    pthread_mutex_t lock; /* guards what has no mark, and the shares */
    pthread_cond_t ready;
    struct job *handoff, **handoff_end; /* [engine] not in the queue yet */
    uint32_t handoff_count;             /* [engine] */
    uint32_t count, idle, running;
    bool stop;
    bool waking_worker; /* a thread is being woken or started */
    pthread_t *threads;
    struct running *runs; /* by thread; atomics */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct job *first; /* whose callbacks are to be called */
        uint32_t threads;
    } cancels; /* see cancel.h */
};

/* Which queued activity runs next (share.h); under workers.lock. */
struct shares {
    struct map by_name; /* activity -> struct share */
    struct share rest;
    struct share *last;           /* [engine] found by share_of(); NULL: none */
    struct share *waiting, **end; /* those with queued jobs */
    size_t queued;
    struct job *ahead; /* by priority: jobs whose turn it is */
    uint32_t ahead_count;
    bool plain_next; /* of those with the default priority and the shares: these are next */
};

/* Calls at most once (once.h). [engine] */
struct once {
    struct share *shares; /* names called so */
    size_t waiting;       /* their jobs that have no place yet */
    uint32_t out;         /* marked, or to be, and not done */
    uint64_t turns;       /* places given so far */
};

/* The watchdog's thread (watchdog.h). */
struct watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    atomic_bool asleep;
    atomic_bool busy; /* the engine is not waiting: the watchdog looks */
};

/* Written by the engine, read by anyone (figures.h, tally.h). */
struct figures {
    struct {
#define KEPT(field, ...) atomic_ullong field;
        COUNTERS(KEPT)
#undef KEPT
        atomic_ullong commit_us, resident, todo;
        atomic_ullong schedule_to_start_count, schedule_to_start_ms,
            schedule_to_start[PAWL_DELAY_BUCKETS];
    } n;
    struct tallies {
        struct map by_name; /* [engine] */
        struct tally *last; /* counted */
    } tallies[2];           /* of orchestrations, of activities */
    _Atomic(struct tally *) tally_list;
    pthread_mutex_t count_lock; /* the next two */
    pawl_depths depths;         /* as last counted */
    int64_t count_ms;           /* mono: not counted again before; 0: always */
};

#endif
