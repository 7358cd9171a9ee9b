/* SPDX-License-Identifier: MIT */
/*
 * server/stream_notes.h -- what changed since the last batch, and the last batches as texts.
 *
 * A commit's changes become notes, one for each instance and queue, with its newest state.  The
 * loop makes a batch of the notes: one text, numbered, in a ring, which every reader of this kind
 * gets.  So a change is written once, however many read.
 *
 *   commit ─▶ notes_count, notes_take ─▶ notes ─▶ notes_batch (loop) ─▶ ring ─▶ readers
 *
 * Bounded three ways (struct notes_bounds): names in one batch (then the batch says "more"), time
 * between two batches, and time per name, so a busy server does not name more than 1,000
 * instances per second.  A *sample* names only some of what changed and counts the rest: once it
 * has its names, a commit costs it a few atomics and no lock.
 *
 * Called by stream.c only, which has the lock.
 */
#ifndef PAWL_SERVER_STREAM_NOTES_H
#define PAWL_SERVER_STREAM_NOTES_H

#include "base/map.h"
#include "pawl.h"

#include <pthread.h>
#include <stdatomic.h>

#define NOTES_RING 64 /* batches that a reader may be behind */

struct note;

struct notes_bounds {
    const char *mark; /* in the ids of its batches */
    int64_t every_ms; /* between two batches, at least … */
    int64_t name_ms;  /* … and this much for each name in the one before */
    size_t names;     /* in one batch; of a sample: as many instances and as many queues */
    bool is_sample;   /* it is enough to name some */
};

struct notes {
    const struct notes_bounds *bounds;
    atomic_bool on;      /* changes are noted */
    atomic_bool some;    /* there is something for a batch */
    atomic_bool full[2]; /* of a sample: it has its names of instances, of queues */
    atomic_ullong count; /* changes since the last batch, named or not */
    /* under the lock of the streams */
    struct map noted[2]; /* by name: instances, queues */
    struct note *first, **end;
    bool more;
    /* [loop] */
    char *ring[NOTES_RING]; /* batch n at n % NOTES_RING; owned */
    uint64_t last;          /* number of the newest batch */
    int64_t batch_at_ms;    /* not earlier than this */
};

void notes_init(struct notes *t, const struct notes_bounds *bounds);
void notes_deinit(struct notes *t);
/* Under the lock: forget what was noted. */
void notes_drop(struct notes *t);
/* Any thread, after notes_take() for those that are named and under the same lock: this many changes.
 * True: the first since the last batch. */
bool notes_count(struct notes *t, size_t changes);
/* Any thread: is it on, and would notes_take() remember this? */
bool notes_want(const struct notes *t, const pawl_change *change);
/* Under the lock. */
void notes_take(struct notes *t, const pawl_change *change);
/* [loop] Make the next batch, with the lock taken for as long as needed; false: nothing changed. */
bool notes_batch(struct notes *t, pthread_mutex_t *lock, int64_t life, int64_t now_ms);

#endif
