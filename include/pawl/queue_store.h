/* SPDX-License-Identifier: MIT */
/*
 * pawl/queue_store.h -- what a store keeps for queues; part of pawl/provider.h.
 *
 * A store that can keep queues has a table pawl_queue_ops and accepts the queue part of a
 * round.  It knows nothing of policy: the code above it decides which entry is next, when
 * a lock ends and what happens then.  It keeps five kinds of rows:
 *
 *   queue    one per queue: counters, configuration, the next time to look at it
 *   entry    one per item: ready (in order), delayed (by time) or locked
 *   lock     one per pop with acknowledgement, with the ids of its entries
 *   past     ids of locks that ran out, to tell "too late" from "never existed"
 *   key      dedup ids, with the entry they made and when they may be forgotten
 *
 * No row grows with the length of a queue.  The rules for threads, clock, memory,
 * failure and errors are those of provider.h.   Ids of queues, entries, places and
 * locks come from the store's one counter of ids.
 */
#ifndef PAWL_QUEUE_STORE_H
#define PAWL_QUEUE_STORE_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_store;

/* ---- What is stored --------------------------------------------------------- */

typedef struct pawl_queue_row {
    uint64_t qid;
    pawl_str name;
    bool paused;
    uint32_t shard; /* never changes; its entries, locks and keys are in the same (E5) */
    int64_t created_ms;
    int64_t due_ms; /* the next time at which something happens by itself; 0: never */
    uint64_t ready, delayed, locked, locks, bytes;
    pawl_str config; /* opaque */
    pawl_str totals; /* opaque */
} pawl_queue_row;

typedef struct pawl_queue_entry {
    uint64_t id;
    uint64_t qid;
    int state; /* pawl_queue_state: 0 ready, 1 delayed, 2 locked */
    int64_t priority;
    uint64_t place;     /* order within the priority */
    int64_t visible_ms; /* delayed: until then */
    int64_t expires_ms; /* 0: never */
    int64_t enqueued_ms;
    uint32_t deliveries;
    uint64_t bytes; /* of data and attrs */
    pawl_str data;
    pawl_str attrs; /* opaque; does not change */
    pawl_str note;  /* opaque; may change */
} pawl_queue_entry;

/* The new state of an entry that stays. */
typedef struct pawl_entry_update {
    uint64_t id;
    uint64_t qid; /* a different queue than before moves the entry there */
    int state;
    uint64_t place;
    int64_t visible_ms;
    int64_t expires_ms;
    uint32_t deliveries;
    bool has_note;
    pawl_str note;
} pawl_entry_update;

typedef struct pawl_queue_lock {
    uint64_t number; /* as an id; of a lock on one entry it may be the entry's id (below) */
    uint64_t qid;
    pawl_str id; /* for people: the lock_id */
    int64_t created_ms;
    int64_t until_ms;
    const uint64_t *entries;
    size_t entry_count;
} pawl_queue_lock;

/*
 * The caller promises: when the number of a new lock is the id of its only entry, the same round
 * updates that entry from ready to locked with one delivery more, and with no other change; and
 * the next round that updates or drops the entry drops the lock.  Such a lock says everything
 * about its entry.  A store may use that, or write the update like any other.
 */

typedef struct pawl_queue_past {
    uint64_t number;
    uint64_t qid;
    pawl_str id;
    int64_t at_ms;
} pawl_queue_past;

typedef struct pawl_queue_key {
    uint64_t qid;
    pawl_str key;
    uint64_t entry;
    int64_t expires_ms;
} pawl_queue_key;

/* Forget the past locks of a queue that are older than `before_ms`, of the rest all but the
 * newest `keep`, and the keys with expires_ms <= now_ms. */
typedef struct pawl_queue_forget {
    uint64_t qid;
    int64_t before_ms;
    uint32_t keep;
    int64_t now_ms;
} pawl_queue_forget;

/*
 * The queue part of a round, applied in this order.
 *   Q2  All or nothing, with the rest of the round (C1, C2).
 *   Q3  CONFLICT when an inserted queue's qid or name, an entry's id or a lock's number exists,
 *       when a changed queue, an updated or dropped entry, or a changed or dropped
 *       lock is missing.  Earlier rounds of the commit count.
 *   Q12  A dropped queue must exist.  From then on nothing finds it, its name is free, and it
 *       is never due.  purge deletes its entries, locks, past locks and keys, however many, a
 *       limited number per commit; the caller does not ask for them by its qid any more.
 */
typedef struct pawl_queue_round {
    const pawl_queue_row *new_queues;
    size_t new_queue_count;
    const pawl_queue_row *queues; /* as they are now; qid, name and created_ms stay */
    size_t queue_count;
    const pawl_queue_entry *entries; /* inserted */
    size_t entry_count;
    const pawl_entry_update *updates;
    size_t update_count;
    const uint64_t *drop_entries;
    size_t drop_entry_count;
    const pawl_queue_lock *new_locks;
    size_t new_lock_count;
    const pawl_queue_lock *locks; /* changed: until_ms and entries */
    size_t lock_count;
    const pawl_queue_lock *drop_locks; /* by qid and number */
    size_t drop_lock_count;
    const pawl_queue_past *pasts; /* inserted, or replaced by (qid, id) */
    size_t past_count;
    const pawl_queue_key *keys; /* inserted, or replaced by (qid, key) */
    size_t key_count;
    const pawl_queue_forget *forgets;
    size_t forget_count;
    const uint64_t *drop_queues; /* qids; purge deletes what they still have */
    size_t drop_queue_count;
} pawl_queue_round;

/* ---- Answers ---------------------------------------------------------------- */

typedef struct pawl_queue_row_list {
    const pawl_queue_row *items;
    size_t count;
} pawl_queue_row_list;

typedef struct pawl_entry_list {
    const pawl_queue_entry *items;
    size_t count;
    bool more;        /* cut short by limit, bytes_max or the number of rows examined */
    uint64_t last_id; /* of the last entry examined; BY_ID, DELAYED, LOCKED: id; READY: place */
    int64_t last_key; /* of the same entry; DELAYED, LOCKED: key; READY: priority */
} pawl_entry_list;

typedef struct pawl_lock_list {
    const pawl_queue_lock *items;
    size_t count;
} pawl_lock_list;

typedef struct pawl_level {
    int64_t priority;
    uint64_t count;
} pawl_level;

typedef struct pawl_level_list {
    const pawl_level *items;
    size_t count;
} pawl_level_list;

typedef enum pawl_entry_order {
    PAWL_ENTRIES_READY,    /* ready, by (priority, place), from (priority, place) on */
    PAWL_ENTRIES_DELAYED,  /* delayed, by (visible_ms, id), after (after_key, after) */
    PAWL_ENTRIES_EXPIRING, /* not locked and expires_ms > 0, by (expires_ms, id) */
    PAWL_ENTRIES_BY_ID,    /* all, by id, after `after`; `state` and `priority` may restrict it */
    PAWL_ENTRIES_LOCKED,   /* locked, by (number of the lock, id), after (after_key, after) */
} pawl_entry_order;

typedef struct pawl_entry_query {
    uint64_t qid;
    pawl_entry_order order;
    int64_t priority;  /* READY: from here on; with has_priority: only this one */
    uint64_t place;    /* READY: from here on within that priority */
    bool has_priority; /* not for EXPIRING */
    uint64_t after;    /* BY_ID, DELAYED, LOCKED: an id */
    int state;         /* BY_ID: a state + 1; 0: any */
    uint32_t limit;    /* at least 1 */
    size_t bytes_max;  /* stop after this many bytes of data (at least one row); 0: no limit */
    bool heads;        /* without data and attrs */
    int64_t after_key; /* DELAYED: visible_ms, LOCKED: the number of a lock */
} pawl_entry_query;

/* ---- The operations ---------------------------------------------------------- */

typedef struct pawl_queue_ops {
    size_t size;

    /* find_queue [reader]: by name.   Q4  NOT_FOUND when there is none. */
    pawl_status (*find_queue)(struct pawl_store *s, pawl_str name, pawl_mem *mem,
                              pawl_queue_row *ret, pawl_error *reterr);
    /* list_queues [reader]: names with the prefix, after `after`, in byte order.
     *   Q5  Each once, all of them over the pages. */
    pawl_status (*list_queues)(struct pawl_store *s, pawl_str prefix, pawl_str after,
                               uint32_t limit, pawl_mem *mem, pawl_queue_row_list *ret,
                               pawl_error *reterr);
    /* due_queues [engine]: 0 < due_ms <= now_ms, by (due_ms, qid).
     *   Q6  Those and no others; next_due of the store counts due_ms too (N1). */
    pawl_status (*due_queues)(struct pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_queue_row_list *ret, pawl_error *reterr);
    /* query_entries [reader].
     *   Q7  In the order asked, every field as committed; `more` is false only
     *       when there are none left.
     *   Q8  The cost grows with what is returned and what is locked in front of it, not with
     *       the queue; where rows are skipped, at most 10,000 are examined.
     *   Q11  Pages: the page that starts from last_key and last_id of the previous one has what
     *       is left, each entry once, whatever else was added, removed or changed meanwhile. */
    pawl_status (*query_entries)(struct pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                                 pawl_entry_list *ret, pawl_error *reterr);
    /* read_entries [reader]: those that exist among these ids, in the order asked;
     * `heads`: without data and attrs. */
    pawl_status (*read_entries)(struct pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                                pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr);
    /* read_locks [reader]: of a queue, by number; limit 0: all. */
    pawl_status (*read_locks)(struct pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                              pawl_lock_list *ret, pawl_error *reterr);
    /* has_past [reader]: PAWL_OK when the queue remembers this lock id, else EMPTY.
     *   Q9  Until a forget takes it. */
    pawl_status (*has_past)(struct pawl_store *s, uint64_t qid, pawl_str id, pawl_error *reterr);
    /* find_key [reader]: PAWL_OK and the row, or EMPTY.   Q10  As Q9. */
    pawl_status (*find_key)(struct pawl_store *s, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                            pawl_error *reterr);
    /* levels [reader]: ready entries counted by priority, lowest first. */
    pawl_status (*levels)(struct pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                          pawl_level_list *ret, pawl_error *reterr);
    /* find_keys [engine]: many keys of one queue; ret[i] is the row of keys[i], with entry 0 when
     * there is none.   Q13  Each is answered as find_key would.  NULL: they are asked one by one. */
    pawl_status (*find_keys)(struct pawl_store *s, uint64_t qid, const pawl_str *keys, size_t count,
                             pawl_queue_key *ret, pawl_error *reterr);
} pawl_queue_ops;

#ifdef __cplusplus
}
#endif
#endif
