/* SPDX-License-Identifier: MIT */
/*
 * fair/fair.h -- whose turn it is: trays of waiting work, their order, and what limits them.  Pure.
 *
 * A tray is waiting work of one class (an activity, or an activity and a tag), one priority and one
 * key.  A limit has buckets; a tray stands in one bucket of every limit that matches it.
 *
 *     idle ─▶ ready ─▶ picked: taken in every bucket, or in none
 *               ▲ │
 *               │ └─▶ hung: at the first bucket that has no room       [fair_pick]
 *               └──── when that bucket has room again                  [fair_give, fair_due]
 *
 * Order: the lowest priority number first.  Among trays of one priority start-time fair queueing:
 * each hand-out adds SCALE / weight to the tray's virtual time, and the smallest goes next.  A tray
 * that was idle begins at the present of its priority, so it neither pays for its silence nor is
 * paid for it.
 *
 * Invariants (fair_check): a tray is in one heap at most; a bucket's `in_use` is the sum of `out`
 * over its trays; a bucket with room has, of every class that hangs there, a tray awake; no
 * hand-out makes `in_use` larger than the limit says.
 *
 * No clock, no thread, no store: the caller says what time it is.  Called by runtime/work/handout.c
 * and the tests.  A tray is part of a larger struct of the caller.
 */
#ifndef PAWL_FAIR_FAIR_H
#define PAWL_FAIR_FAIR_H

#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"

#define FAIR_PRIORITIES       1000 /* 1..999 */
#define FAIR_PRIORITY_DEFAULT 100
#define FAIR_SCALE            1000 /* of virtual time: one hand-out of weight 1 */
#define FAIR_WEIGHT_MAX       1000

enum fair_state { FAIR_IDLE, FAIR_READY, FAIR_HUNG };

struct fair_class {
    pawl_str name;                             /* behind the struct */
    struct heap ready;                         /* of trays, by (priority, virtual time) */
    size_t trays;                              /* that belong to it */
    bool ours;                                 /* as the caller says: fair_set_ours() */
    struct fair_class *next_ready, **at_ready; /* in the list of those with ready trays */
};

struct fair_bucket;

struct fair_tray {
    struct heap_node node; /* in the heap of its class, or of a hang */
    struct fair_class *class;
    pawl_str key;      /* of the caller, as long as the tray */
    uint32_t priority; /* 1..999 */
    uint32_t weight;
    int64_t time; /* virtual */
    enum fair_state state;
    uint64_t waiting; /* rows, as far as is known; see fair_count() */
    uint64_t out;     /* handed out and not given back */
    struct fair_hang *hung, *woken;
    struct fair_bucket **buckets; /* owned */
    size_t bucket_count;
    struct fair_tray *next, **at; /* of all trays */
};

struct fair {
    struct map classes;               /* by name */
    struct fair_class *ours, *others; /* those with ready trays */
    size_t sweep_at;                  /* classes; with fewer a sweep is not worth its walk */
    struct fair_tray *trays;
    size_t tray_count;
    struct map limits;                /* by name -> struct fair_limit */
    struct heap due;                  /* of buckets that have room at a time, microseconds */
    struct fair_bucket *dirty;        /* whose debts the caller is to write down */
    struct fair_bucket *stale;        /* forgotten, and written down */
    int64_t present[FAIR_PRIORITIES]; /* virtual time by priority */
    uint64_t turns;                   /* ties */
};

void fair_init(struct fair *f);
/* All trays must be gone. */
void fair_deinit(struct fair *f);

/* NULL: no tray has this class. */
struct fair_class *fair_class_find(const struct fair *f, pawl_str name);
/* A tray of the class, idle.  `key` must live as long. */
void fair_tray_add(struct fair *f, struct fair_tray *tray, pawl_str class_name, uint32_t priority,
                   pawl_str key);
/* Idle, and nothing of it is out. */
void fair_tray_remove(struct fair *f, struct fair_tray *tray);

/* Do the caller's own workers serve it?  Asking for ours costs nothing for the others. */
void fair_set_ours(struct fair *f, struct fair_class *c, bool ours);
/* Forget classes without trays; no caller has one then.  A walk over all of them, once they have
 * doubled since the last one. */
void fair_sweep(struct fair *f);

/* It has something to hand out. */
void fair_ready(struct fair *f, struct fair_tray *tray);
/* It has nothing. */
void fair_idle(struct fair *f, struct fair_tray *tray);
/* This many rows wait in it. */
void fair_count(struct fair_tray *tray, uint64_t waiting);

/* The tray whose turn it is among these classes (NULL: those marked `ours`), with a priority of at
 * most `ceiling`.  It stays ready; fair_take() or fair_idle() follows.  NULL: none. */
struct fair_tray *fair_pick(struct fair *f, struct fair_class *const *classes, size_t count,
                            uint32_t ceiling, int64_t now_us);
/* One attempt of it begins. */
void fair_take(struct fair *f, struct fair_tray *tray, int64_t now_us);
/* An attempt was out already: found at a start, or before the tray had a limit. */
void fair_was_out(struct fair_tray *tray);
/* That attempt is over, or was not made. */
void fair_give(struct fair *f, struct fair_tray *tray, int64_t now_us);
/* It was not made: its tokens are given back, too. */
void fair_untake(struct fair *f, struct fair_tray *tray, int64_t now_us);

/* Buckets whose time has come have room again. */
void fair_due(struct fair *f, int64_t now_us);
/* When that is next; INT64_MAX: never. */
int64_t fair_next(const struct fair *f);

void fair_check(const struct fair *f);

#endif
