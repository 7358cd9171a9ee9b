/* SPDX-License-Identifier: MIT */
/* queue/internal.h -- what the files of this room share. */
#ifndef PAWL_QUEUE_INTERNAL_H
#define PAWL_QUEUE_INTERNAL_H

#include "base/arena.h"
#include "base/attr.h"
#include "queue/queue.h"

/* ---- window.c ---------------------------------------------------------------- */

/* Insert a ready entry if it belongs into the window; may cut the window's end. */
bool window_insert(struct queue *q, struct entry *e);
/* Would an entry with this key be in the window? */
bool window_wants(const struct queue *q, int64_t priority, uint64_t place);
struct entry *window_at(const struct queue *q, size_t i);
void window_remove(struct queue *q, size_t i);
/* The entry of the window with this key, or NULL. */
struct entry *window_find(const struct queue *q, int64_t priority, uint64_t place, size_t *reti);
void window_deinit(struct queue *q);
/* What lies at this key and after it is in the store only: the bound is not behind it. */
void window_cut_from(struct queue *q, int64_t priority, uint64_t place);

/* ---- line.c: order within a group ---------------------------------------------- */

/* Find out its group, as soon as its bytes are here. */
void line_know(struct entry *e);
/* It is forgotten, or leaves its queue. */
void line_forget(struct entry *e);
/* One is out under a lock; one that was has come back or is gone: the next may go.  `l` may be
 * NULL.  line_in() may free it. */
void line_out(struct queue_line *l);
void line_in(struct queue_line *l);
/* It left its state: the next of its group may be its turn. */
void line_left(struct entry *e, bool was_locked);
/* May this pop take entry i of the window?  False: it is not there any more. */
bool line_lets(struct queue *q, size_t i, bool ack);
/* An entry that comes from the store.  True: it does not belong into the window, and is taken
 * care of. */
bool line_keeps(struct entry *e);
/* The entry of this row, when it waits behind another one and may be first now. */
struct entry *line_first(struct queue *q, uint64_t id);
/* Not for the window: it is behind another one, already in memory. */
bool line_has(const struct queue *q, uint64_t id);
/* After the commit: its bytes are not needed any more. */
void line_hollow(struct entry *e);
void lines_deinit(struct queue *q);
#define REST "~" /* begins the id of a rest; no id that a pop gives has it */
/* Locks of pops; the others are rests. */
uint64_t locks_given(const struct queue *q);
bool lock_rests(const struct lock *l);

/* ---- queue_group.c ------------------------------------------------------------------- */

struct past_note {
    struct past_note *next;
    struct queue *q;
    uint64_t number;
    pawl_str id;
};

struct key_note {
    struct key_note *next;
    struct queue *q;
    pawl_str key;
    uint64_t entry;
    int64_t expires_ms;
};

struct drop_note {
    struct drop_note *next;
    uint64_t id;
};

/* An entry behind the window: nothing of it stays in memory. */
struct insert_note {
    struct insert_note *next;
    struct queue *q;
    pawl_queue_entry row;
};

uint64_t group_new_id(struct queue_group *g);
void group_dirty(struct queue_group *g, struct queue *q);
void group_touch(struct queue_group *g, struct entry *e);
void group_touch_lock(struct queue_group *g, struct lock *l);
void group_drop(struct queue_group *g, uint64_t id);
/* Remember that a lock of this id ran out, or what an ack with a key left behind. */
void group_past(struct queue_group *g, struct queue *q, pawl_str id, uint64_t number);
bool group_has_past(const struct queue_group *g, const struct queue *q, pawl_str id);

/* ---- settle.c ------------------------------------------------------------------ */

/* Its entries are ready again, as if released; the lock is gone. */
void lock_give_back(struct queue_group *g, struct lock *l);
/* There was a lock with this id, and it ran out. */
bool lock_is_past(struct queue_group *g, const struct queue *q, pawl_str id);

/* ---- entry.c ------------------------------------------------------------------- */

/* Room for data and attrs behind it. */
struct entry *entry_create(struct queue *q, size_t body);
void entry_free(struct entry *e);
void entry_copy_body(struct entry *e, pawl_str data, pawl_str attrs, pawl_str note);
struct entry *entry_of_row(struct queue *q, const pawl_queue_entry *row);
/* What is kept of an entry while it is locked. */
struct locked_entry entry_locked(struct queue *q, const struct entry *e);
struct entry *entry_of_locked(struct queue *q, const struct locked_entry *h);
/* Out of the counters and the window of its queue; it is in no state then. */
void entry_leave(struct queue_group *g, struct entry *e);
/* Into the counters of `q`: ready at its place, or delayed until visible_ms. */
void entry_join(struct queue_group *g, struct entry *e, struct queue *q, int64_t visible_ms);
/* To the dead letter queue of its queue, with the reason. */
void entry_bury(struct queue_group *g, struct entry *e, pawl_str reason);
/* Past its ttl: buried or dropped. */
void entry_expire(struct queue_group *g, struct entry *e);

#endif
