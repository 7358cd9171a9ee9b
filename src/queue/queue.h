/* SPDX-License-Identifier: MIT */
/*
 * queue/queue.h -- the policy of queues, without a store, a clock or a thread.
 *
 * A struct queue is what this process knows of one queue: its row as it will be,
 * its live locks, and the *window*: the front of the ready entries in order.  The
 * window is bounded, so memory does not grow with the length of the queue; what
 * lies behind it is only counted, and the caller brings the next piece from the
 * store (queue_refill) when a pop asks for it.
 *
 * A struct queue_group collects what the operations of one commit changed, over
 * all queues: entries and locks touched, rows dirty.  queue_group_seal() turns it
 * into the queue part of a round; after the commit queue_group_done() forgets it.  It does so
 * also when the commit failed; every queue that was dirty must then be destroyed and loaded
 * again: there is no undo in place.
 *
 *   entry    ready ──pop──▶ gone              (plain)
 *            ready ──pop──▶ locked ──ack──▶ gone
 *            locked ──expiry, release──▶ ready at its place | delayed | another queue
 *            delayed ──time──▶ ready
 *            any but locked ──ttl──▶ gone | another queue
 *
 * Order: ready entries by (priority, place).  place is the entry's id, so one that
 * returns is where it was.  In a queue with `groups` one entry of a group is out at a time, and
 * the next one is out when it is gone: what waits for that is *behind* it, not in the window.
 *
 * Pure: memory, ids, randomness and other queues come through struct queue_env and
 * struct queue_group.  One thread at a time.
 *
 * Invariants (queue_check): the window is sorted and holds every ready entry
 * below the bound that is not behind another one; all of them when complete; counters are not
 * below what is in memory.
 */
#ifndef PAWL_QUEUE_QUEUE_H
#define PAWL_QUEUE_QUEUE_H

#include "base/heap.h"
#include "base/map.h"
#include "pawl/queue.h"
#include "pawl/queue_store.h"

#define QUEUE_WINDOW_MAX   1024
#define QUEUE_WINDOW_LOW   128
#define QUEUE_WINDOW_BYTES ((size_t)4 << 20)
#define QUEUE_BEHIND_BYTES ((size_t)16 << 20)
#define QUEUE_PAST_MS      PAWL_HOURS(24)
#define QUEUE_PAST_MAX     10000
#define QUEUE_BACKOFF_MAX  16

enum queue_verdict {
    QUEUE_DONE,
    QUEUE_EMPTY,  /* pop: nothing there; the reply says so too */
    QUEUE_LOCKED, /* pop: locked; the reply says so too */
    QUEUE_REFILL, /* the window is too short: queue_refill() and ask again */
    QUEUE_UNREAD, /* was_lock could not tell: nothing happened, ask again later */
    QUEUE_BODIES, /* entries without their bytes: queue_hollow(), queue_fill(), ask again */
};

struct queue_env {
    void *(*alloc)(size_t size); /* zeroed, never NULL */
    void (*release)(void *p);
};

/* Of a queue with `groups`: the items of one group, of which one at a time is out (line.c). */
struct queue_line {
    struct queue *q;
    pawl_str name;      /* the group; behind the struct */
    size_t out;         /* entries under a lock */
    size_t refs;        /* entries in memory that are of this group */
    struct heap behind; /* ready ones that wait for another, in order; not in the window */
    bool cut;           /* those from here on are in the store, and nowhere in memory: */
    int64_t cut_priority, last_priority; /* last: of those behind */
    uint64_t cut_place, last_place;
    uint64_t pop; /* the last pop that wanted one of it under a lock */
};

struct queue_totals {
    uint64_t pushed, popped, acked, expired, released, dead_lettered, dropped, purged, duplicates,
        redriven, started, id_taken;
};

/* An entry in memory: in a window, or touched in this group. */
struct entry {
    struct queue *q;
    struct entry *next; /* touched */
    uint64_t id;
    int64_t priority;
    uint64_t place;
    int64_t visible_ms, expires_ms, enqueued_ms;
    uint64_t bytes;
    uint32_t deliveries;
    int state;    /* pawl_queue_state */
    bool fresh;   /* not in the store yet */
    bool touched; /* in the group's list */
    bool gone;
    bool noted;     /* `note` is new */
    bool in_window; /* in the window of q */
    bool full;      /* data, attrs and note are here */
    pawl_str data, attrs, note;
    char *body;              /* owned; NULL: the bytes lie behind the struct, or in the group */
    struct queue_line *line; /* of its group; NULL: none, not known yet, or groups do not count */
    struct heap_node behind; /* place 0: not behind another one */
};

/* An entry under a lock. */
struct locked_entry {
    uint64_t id;
    int64_t priority;
    uint64_t place;
    int64_t expires_ms, enqueued_ms;
    uint64_t bytes;
    uint32_t deliveries;
    const char *source; /* of a dead letter: where it came from, kept by the queue; NULL: none */
    int64_t died_ms;    /* and when; 0: it did not */
    struct queue_line *line; /* of its group; NULL: none */
};

struct lock {
    struct queue *q;
    struct lock *next; /* touched */
    struct heap_node due;
    uint64_t number;
    char id[PAWL_QUEUE_LOCK_CHARS + 1];
    int64_t created_ms, until_ms;
    bool fresh, touched, gone;
    size_t count;
    struct locked_entry entries[];
};

struct queue {
    struct queue_env env;
    void *owner;        /* the caller's */
    pawl_queue_row row; /* as it will be; qid 0: not in the store */
    bool fresh;         /* to be inserted */
    bool dirty;         /* in the group's list */
    bool gone;          /* removed by this group */
    struct queue *next; /* dirty */
    char *name;         /* owned */
    char *config_text;  /* owned; row.config */
    pawl_queue_config config;
    int64_t backoff[QUEUE_BACKOFF_MAX];
    struct queue_totals totals;
    int64_t next_delayed_ms, next_expire_ms; /* not before; 0: none */

    struct entry **window; /* owned: the window, from window[head] */
    size_t head, count, cap;
    size_t window_bytes;
    bool complete; /* nothing lies behind the window */
    bool brimful;  /* what lies behind it did not fit in, and nothing was taken out since */
    int64_t bound_priority;
    uint64_t bound_place; /* ready entries from here on are not in the window */

    struct map locks;   /* lock id -> struct lock */
    struct heap due;    /* by until_ms */
    struct map keys;    /* dedup ids of this group -> struct key_note */
    struct map sources; /* owned names: where dead letters that were locked came from */
    bool forget;        /* this group adds past locks or keys */

    bool lined;        /* groups keep their order; nothing of what follows otherwise */
    bool stale;        /* read it again after the commit: the configuration says something else */
    struct map lines;  /* group -> struct queue_line */
    struct map behind; /* id -> struct entry that waits behind another one of its group */
    size_t behind_bytes, behind_max;
    size_t cuts;   /* lines that are cut */
    size_t rests;  /* locks that no caller has: items that wait for their next attempt */
    uint64_t pops; /* tried so far */
};

struct past_note;
struct key_note;
struct drop_note;
struct insert_note;

/* What the operations of one commit changed. */
struct queue_group {
    int64_t now_ms;
    uint64_t *next_id;
    pawl_mem *mem; /* answers, until the group is done */
    void *user;
    struct queue *(*open)(void *user, pawl_str name); /* one that is in memory, or NULL */
    bool (*was_lock)(void *user, const struct queue *q, pawl_str id); /* may set `unread` */
    bool unread; /* the store did not answer was_lock, which then says yes */
    void (*random)(void *user, void *to, size_t n);

    struct queue *dirty;
    struct entry *touched, **touched_end;
    struct lock *locks, **locks_end;
    struct past_note *pasts;
    struct key_note *keys;
    struct drop_note *drops;
    struct insert_note *inserts, **inserts_end;
    size_t insert_count, drop_count, past_count, key_count;
    size_t bytes; /* pushed in this group */
};

void queue_group_begin(struct queue_group *g);
void queue_group_seal(struct queue_group *g, pawl_queue_round *ret);
void queue_group_done(struct queue_group *g);

/* ---- A queue in memory -------------------------------------------------------- */

/* From its row (copied); `row` with qid 0 and a name: one that does not exist yet. */
struct queue *queue_create(const struct queue_env *env, const pawl_queue_row *row);
void queue_destroy(struct queue *q); /* NULL is fine */
/* A live lock from its row and the entries it names (others are ignored). */
void queue_add_lock(struct queue *q, const pawl_queue_lock *row, const pawl_queue_entry *entries,
                    size_t count);
/* The next piece of the ready entries, from (bound_priority, bound_place) on.  Not
 * while the queue is dirty.  One that brings nothing leaves the window brimful. */
void queue_refill(struct queue *q, const pawl_queue_entry *rows, size_t count, bool more);
/* Is the window short enough to bring more before a pop has to ask for it? */
bool queue_is_low(const struct queue *q);
/* How many entries of the window a pop takes: `count` of them, or as many as its priority
 * and PAWL_QUEUE_POP_BYTES allow (but one). */
size_t queue_reach(const struct queue *q, const pawl_queue_request *req);
/* Ids of the first `max` entries of the window that lack their bytes. */
size_t queue_hollow(const struct queue *q, size_t max, uint64_t *ids, size_t room);
void queue_fill(struct queue *q, const pawl_queue_entry *row);
/* When to look at it again; 0: never; 1: at once, it is bound and has work. */
int64_t queue_due_ms(const struct queue *q);
/* It is bound to an orchestration and has messages to start one for. */
bool queue_is_bound(const struct queue *q);
/* Write its row with this group. */
void queue_touch(struct queue_group *g, struct queue *q);
/* The queue its dead letters go to, in `mem`. */
pawl_str queue_dead_letters(const struct queue *q, pawl_mem *mem);
/* True when an operation on it may need that queue. */
bool queue_may_bury(const struct queue *q);
void queue_check(const struct queue *q);

/* ---- Operations ---------------------------------------------------------------- */

/* Locks that ran out give their entries back. */
void queue_tick(struct queue_group *g, struct queue *q);
/* What the store knows of a push. */
struct queue_known {
    uint64_t *
        twins; /* for each item: the entry its dedup id stands for, 0: none; NULL: no item has one */
    pawl_str mark;    /* of a push with a key: the dedup id that remembers what was pushed */
    uint64_t print;   /* of what this one pushes, */
    uint64_t printed; /* and of what was pushed with that key; 0: nothing */
};
/* `known` may be NULL. */
void queue_push(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                const struct queue_known *known, pawl_queue_reply *ret);
/* One item, recorded already: no limit refuses it.  `twin`: the stored entry of its dedup id, 0:
 * none. */
void queue_push_always(struct queue_group *g, struct queue *q, const pawl_queue_item *item,
                       uint64_t twin);
/* A message that left the bound queue to start an instance, and could not: a dead letter. */
void queue_bury_start(struct queue_group *g, struct queue *q, const pawl_queue_message *m,
                      pawl_str reason);
enum queue_verdict queue_pop(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                             pawl_queue_reply *ret);
/* ack, extend, release, deadletter */
void queue_settle(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                  pawl_queue_reply *ret);
void queue_pause(struct queue_group *g, struct queue *q, bool paused);
void queue_configure(struct queue_group *g, struct queue *q, const pawl_queue_config *config);
/* Remove the queue with everything in it.  Not while it is dirty, and no operation on it may
 * follow before the commit; then its owner destroys it. */
void queue_remove(struct queue_group *g, struct queue *q);

/* Entries as they are in the store; not while the queue is dirty. */
void queue_promote(struct queue_group *g, struct queue *q, const pawl_queue_entry *row);
void queue_expire(struct queue_group *g, struct queue *q, const pawl_queue_entry *row);
void queue_purge(struct queue_group *g, struct queue *q, const pawl_queue_entry *row);
/* The limit that this many more items and bytes would pass; NULL: none. */
const char *queue_limit(const struct queue *q, uint64_t items, uint64_t bytes);
void queue_redrive(struct queue_group *g, struct queue *q, const pawl_queue_entry *row,
                   struct queue *target, int64_t visible_ms);

/* ---- config.c -------------------------------------------------------------------- */

bool queue_config_check(const pawl_queue_config *c, pawl_str queue, pawl_error *reterr);
/* `all` with the settings that are given. */
pawl_queue_config queue_config_merge(pawl_queue_config all, const pawl_queue_config *given,
                                     uint32_t settings);
pawl_str queue_config_write(const pawl_queue_config *c, pawl_mem *mem);
/* Strings in `mem`; what is missing is default. */
pawl_queue_config queue_config_read(pawl_str text, pawl_mem *mem);
pawl_str queue_totals_write(const struct queue_totals *t, pawl_mem *mem);
struct queue_totals queue_totals_read(pawl_str text);
pawl_str queue_note_write(pawl_str source, pawl_str reason, int64_t died_ms, pawl_mem *mem);

#endif
