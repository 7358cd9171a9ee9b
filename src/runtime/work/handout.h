/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/handout.h -- work that is handed out in turn: trays with a key or a priority, and all
 * trays of activities that a limit names (work_limits.h). [engine]
 *
 * The policy is pure (fair/fair.h).  This feeds it: which trays have rows, which attempts are out.
 *
 *   committed ─▶ kept in memory as a job, or left in the store (tray->more)    [handout_added]
 *             ─▶ picked, by a thread (deal.c) or a poll (lease.c)              [handout_pick, _next]
 *             ─▶ out: a thread has it, or a lease                              [handout_out]
 *             ─▶ gone, or back in its tray, perhaps later                      [handout_gone, _back]
 *
 * Rows of a tray are begun in the order of their ids; a retry comes when it is visible.  What is
 * kept in memory is a cache: the row is the truth, and the next process finds its trays again
 * (handout_load.c).  A tray without rows is forgotten.
 *
 * Everything here is written by the engine under `lock`, so that others may look (limit_view.c).
 *
 * Invariants: `out` has every row of a tray that a thread or a lease has, once; a tray that may
 * have rows, in memory or in the store, is not idle; a job with a tray holds one place in it until
 * it is freed, a lease until its row is decided, free again, or gone.
 */
#ifndef PAWL_RUNTIME_HANDOUT_H
#define PAWL_RUNTIME_HANDOUT_H

#include "fair/fair.h"
#include "runtime/core/runtime.h"

#include <pthread.h>

struct tray {
    struct fair_tray fair;
    pawl_str name;            /* behind the struct */
    struct job *first, **end; /* in memory, by id */
    size_t kept;              /* of these */
    size_t rows;              /* of it in `out` */
    bool more;                /* there may be rows in the store that are free now */
    bool delayed;             /* or some that will be */
    struct heap_node wake;    /* when to look for those; wall clock */
};

struct handout {
    pthread_mutex_t lock; /* may be locked again by its owner */
    struct fair fair;
    struct map trays; /* by name */
    struct map out;   /* work id -> struct tray_row */
    struct heap wakes;
    size_t kept;              /* jobs in memory, of all trays */
    bool loaded;              /* trays of earlier processes were found, */
    bool adopted;             /* and those that a new limit names */
    bool look;                /* something may be handed out */
    bool unread;              /* a tray could not be read: nothing may overtake it */
    bool plain_next;          /* polls: trays of the default priority and all others take turns */
    unsigned long generation; /* of the registry, when `ours` was set */
    struct limits *limits;    /* work_limits.h */
};

pawl_status handout_open(pawl_runtime *rt, pawl_error *reterr);
void handout_close(pawl_runtime *rt);

static inline void handout_lock(struct handout *h)
{
    pthread_mutex_lock(&h->lock);
}

static inline void handout_unlock(struct handout *h)
{
    pthread_mutex_unlock(&h->lock);
}

/* Is this the name of a tray that is handed out in turn? */
bool handout_knows(const pawl_runtime *rt, pawl_str tray);
/* Does this row come by its turn?  Most have no options at all, and no limit. */
static inline bool handout_has(const pawl_runtime *rt, const pawl_work *w)
{
    return UNLIKELY((w->attrs.len | rt->hands.limits) != 0) && handout_knows(rt, w->name);
}
/* Those of these names that are not handed out in turn, in `mem`; returns how many. */
size_t handout_plain(pawl_runtime *rt, pawl_mem *mem, const pawl_str **names, size_t count);
/* May the row about to be inserted be kept in memory? */
bool handout_admit(pawl_runtime *rt, const pawl_work *w);
/* It was inserted. */
void handout_added(pawl_runtime *rt, const pawl_work *w);
/* A row has this state now. */
void handout_changed(pawl_runtime *rt, const pawl_work_update *u);
/* That was not committed: what was leased by it is free. */
void handout_undone(pawl_runtime *rt, uint64_t work_id);
/* The row is gone. */
void handout_lost(pawl_runtime *rt, uint64_t work_id);
static inline void handout_gone(pawl_runtime *rt, uint64_t work_id)
{
    if (UNLIKELY(rt->hands.handout && rt->hands.handout->out.count))
        handout_lost(rt, work_id);
}
/* All rows of the instance are. */
void handout_removed(pawl_runtime *rt, uint64_t uid);
/* A row of this name that was taken otherwise is free. */
void handout_freed(pawl_runtime *rt, pawl_str name);
/* A job that waits for its turn is not wanted any more; freed. */
void handout_drop(pawl_runtime *rt, struct job *job);
/* A job that was handed out was not begun: its row is free. */
void handout_skipped(pawl_runtime *rt, const struct job *job);
/* A row that was picked is not handed out now: it is in the store, or its call is decided. */
void handout_later(pawl_runtime *rt, struct tray *tray);

/* Whose turn it is, among those that may have rows; NULL: none. */
struct tray *handout_pick(pawl_runtime *rt, struct fair_class *const *classes, size_t count,
                          uint32_t ceiling);
/* Its first row; NULL: it has none now. */
struct job *handout_next(pawl_runtime *rt, struct tray *tray);
/* The row is handed out: to a lease, or to a thread that has the job. */
void handout_out(pawl_runtime *rt, struct tray *tray, const pawl_work *w, bool leased);
/* Classes among these names. */
size_t handout_classes(pawl_runtime *rt, const pawl_str *names, size_t count,
                       struct fair_class ***ret);

/* ---- For handout_load.c and work_limits.c: with the lock ---------------------------------------- */

struct tray *tray_of_name(pawl_runtime *rt, pawl_str name);
/* It may have something now. */
void tray_stir(pawl_runtime *rt, struct tray *tray);
/* A row of it is free at that time. */
void tray_wake_at(pawl_runtime *rt, struct tray *tray, int64_t at_ms);
/* The row is out already: leased by an earlier process, or begun before there was a limit. */
void tray_found_out(pawl_runtime *rt, struct tray *tray, const pawl_work *w, bool leased);
/* A job that no thread has begun waits for its turn from now on. */
void tray_take_in(pawl_runtime *rt, struct tray *tray, struct job *job);
/* The activities registered here, or their tags, changed. */
void handout_set_ours(pawl_runtime *rt);

/* When there may be something to hand out again; wall clock, INT64_MAX: never. */
int64_t handout_next_ms(const pawl_runtime *rt);
static inline bool handout_looks(const pawl_runtime *rt)
{
    const struct handout *h = rt->hands.handout;
    return UNLIKELY(h != NULL) && (h->look || h->fair.dirty);
}
void handout_check(const pawl_runtime *rt);

#endif
