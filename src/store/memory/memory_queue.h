/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_queue.h -- the memory store's queues, in the plainest form.
 *
 * A queue owns its locks, past locks and keys; entries are in one table by id and
 * in the orders of their queue.  memory_queue.c checks and applies the queue part of a
 * round (memory_commit.c calls it under the store's mutex), memory_queue_read.c answers.
 *
 * Invariants (memory_queue_check): an entry is in `by_id` of its queue, in `ready`
 * exactly when its state is ready, in `delayed` exactly when it is delayed, in
 * `expiring` exactly when it can expire and is not locked.
 */
#ifndef PAWL_STORE_MEMORY_MEMORY_QUEUE_H
#define PAWL_STORE_MEMORY_MEMORY_QUEUE_H

#include "base/map.h"
#include "base/vec.h"
#include "pawl/provider.h"
#include "store/memory/order.h"

struct memory;

struct memory_entry {
    pawl_queue_entry row;
    struct memory_queue *queue;
    struct order_node by_id;    /* all entries of the store */
    struct order_node of_queue; /* (0, id) */
    struct order_node ready;    /* (priority, place) */
    struct order_node delayed;  /* (visible_ms, id) */
    struct order_node expiring; /* (expires_ms, id) */
};

struct memory_lock {
    pawl_queue_lock row; /* entries are owned */
    struct order_node by_number;
};

struct memory_past {
    pawl_queue_past row;
    struct order_node by_number;
};

struct memory_key {
    pawl_queue_key row;
    struct order_node by_expiry; /* (expires_ms, entry) */
};

struct memory_queue {
    pawl_queue_row row;
    struct order_node by_qid;
    struct order_node due; /* (due_ms, qid), when there is one */
    struct order of_queue, ready, delayed, expiring;
    struct order locks;  /* by number */
    struct order pasts;  /* by number */
    struct map past_ids; /* lock id -> struct memory_past */
    struct order keys;
    struct map key_texts; /* key -> struct memory_key */
};

/* All queues of a store. */
struct memory_queues {
    struct order by_qid;
    struct order by_id; /* entries */
    struct order due;
    struct map by_name;
    VEC(struct memory_queue *) removed; /* dropped: purge has their rows */
};

/* memory_commit.c: does no id occur twice?  Each item begins with its id. */
bool memory_distinct(const void *items, size_t size, size_t count);

void memory_queues_init(struct memory_queues *q);
void memory_queues_deinit(struct memory_queues *q);
/* Q3: could this part of a round be applied? */
bool memory_queue_acceptable(const struct memory_queues *q, const pawl_queue_round *r);
void memory_queue_apply(struct memory_queues *q, const pawl_queue_round *r);
/* Delete up to `limit` rows of dropped queues of these shards; how many. */
uint32_t memory_queue_purge(struct memory_queues *q, uint64_t shards, uint32_t limit);
bool memory_queue_left(const struct memory_queues *q, uint64_t shards);
/* The smallest due time of these shards after `after_ms`; INT64_MAX: none. */
int64_t memory_queue_due(const struct memory_queues *q, uint64_t shards, int64_t after_ms);
void memory_queue_check(const struct memory_queues *q);

extern const pawl_queue_ops memory_queue_ops;

#endif
