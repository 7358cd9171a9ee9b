/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/handout.h -- work that is handed out in turn: lanes with a key or a priority. [engine]
 *
 * The policy is pure (fair/fair.h).  This feeds it: which lanes have rows, which attempts are out.
 *
 *   committed ─▶ kept in memory as a job, or left in the store (lane->more)    [handout_added]
 *             ─▶ picked, by a thread (deal.c) or a poll (lease.c)              [handout_pick, _next]
 *             ─▶ out: a thread has it, or a lease                              [handout_out]
 *             ─▶ gone, or back in its lane, perhaps later                      [handout_gone, _back]
 *
 * Rows of a lane are begun in the order of their ids; a retry comes when it is visible.  What is
 * kept in memory is a cache: the row is the truth, and the next process finds its lanes again
 * (list_lanes, read_lane).  A lane without rows is forgotten.
 *
 * Invariants: `out` has every row of a lane that a thread or a lease has, once; a lane that may
 * have rows, in memory or in the store, is not idle; a job with a lane holds one place in it until
 * it is freed, a lease until its row is decided, free again, or gone.
 */
#ifndef PAWL_RUNTIME_HANDOUT_H
#define PAWL_RUNTIME_HANDOUT_H

#include "fair/fair.h"
#include "runtime/core/runtime.h"

struct lane {
    struct fair_lane fair;
    pawl_str name;            /* behind the struct */
    struct job *first, **end; /* in memory, by id */
    size_t kept;              /* of these */
    size_t rows;              /* of it in `out` */
    bool more;                /* there may be rows in the store that are free now */
    bool delayed;             /* or some that will be */
    struct heap_node wake;    /* when to look for those; wall clock */
};

struct handout {
    struct fair fair;
    struct map lanes; /* by name */
    struct map out;   /* work id -> struct lane_row */
    struct heap wakes;
    size_t kept;              /* jobs in memory, of all lanes */
    bool loaded;              /* lanes of earlier processes were found */
    bool look;                /* something may be handed out */
    bool unread;              /* a lane could not be read: nothing may overtake it */
    bool plain_next;          /* polls: lanes of the default priority and all others take turns */
    unsigned long generation; /* of the registry, when `ours` was set */
};

bool handout_open(pawl_runtime *rt);
void handout_close(pawl_runtime *rt);

/* Is this the name of a lane that is handed out in turn? */
bool handout_knows(const pawl_runtime *rt, pawl_str lane);
/* Does this row come by its turn?  Most have no options at all. */
static inline bool handout_has(const pawl_runtime *rt, const pawl_work *w)
{
    return UNLIKELY(w->attrs.len != 0) && handout_knows(rt, w->name);
}
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
/* A job that waits for its turn is not wanted any more; freed. */
void handout_drop(pawl_runtime *rt, struct job *job);
/* A job that was handed out was not begun: its row is free. */
void handout_skipped(pawl_runtime *rt, const struct job *job);
/* A row that was picked is not handed out now: it is in the store, or its call is decided. */
void handout_later(pawl_runtime *rt, struct lane *lane);

/* Find what earlier processes left, and look at the time.  False: the store did not answer. */
bool handout_ready(pawl_runtime *rt);
/* Whose turn it is, among those that may have rows; NULL: none. */
struct lane *handout_pick(pawl_runtime *rt, struct fair_class *const *classes, size_t count,
                          uint32_t ceiling);
/* Its first row; NULL: it has none now. */
struct job *handout_next(pawl_runtime *rt, struct lane *lane);
/* The row is handed out: to a lease, or to a thread that has the job. */
void handout_out(pawl_runtime *rt, struct lane *lane, const pawl_work *w, bool leased);
/* Classes among these names. */
size_t handout_classes(pawl_runtime *rt, const pawl_str *names, size_t count,
                       struct fair_class ***ret);

/* When there may be something to hand out again; wall clock, INT64_MAX: never. */
int64_t handout_next_ms(const pawl_runtime *rt);
static inline bool handout_looks(const pawl_runtime *rt)
{
    return UNLIKELY(rt->hands.handout != NULL) && rt->hands.handout->look;
}
void handout_check(const pawl_runtime *rt);

#endif
