/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory.h -- the memory store's tables, shared by its files.
 *
 * The oracle: what the contract in pawl/provider.h says, in the plainest form
 * that still takes a million rows.  Rows are heap structs that carry the nodes
 * of the indexes they are in.  A handle (what the caller calls a store) points at tables that
 * several handles may share.  One mutex around every operation.  A round is
 * checked in full (memory_commit.c) before anything is changed, and changing cannot
 * fail, so there is no undo.
 *
 *   memory.c         open, close, rows in and out of the tables
 *   memory_lanes.c   who owns what: take and join, shards, the fence, blocks of ids
 *   memory_nodes.c   nodes and their leases
 *   memory_commit.c  check a round, apply a round
 *   memory_fetch.c   peek-lock fetches, abandon, next_due
 *   memory_read.c    everything marked [reader]
 *   memory_remove.c  purge and prune_executions
 *   memory_queue.c, memory_queue_read.c   queues
 *   memory_object.c  named objects
 *
 * Invariants (memory_check): a message is in `ready` exactly when it is neither
 * taken nor in a mailbox; work is in `ready` or `later` exactly when it is not
 * taken; a row is taken only by the lane of its shard; a shard has at most one lane;
 * events[i] of an execution has seq i + 1; instances in `by_uid` and
 * `by_name` are the same.
 */
#ifndef PAWL_STORE_MEMORY_MEMORY_H
#define PAWL_STORE_MEMORY_MEMORY_H

#include "base/map.h"
#include "base/vec.h"
#include "pawl/provider.h"
#include "store/memory/memory_object.h"
#include "store/memory/memory_queue.h"
#include "store/memory/order.h"

#include <pthread.h>

struct memory_event {
    pawl_event event;
    struct order_node by_rid;
};

struct memory_execution {
    pawl_row closed; /* as it ended; state RUNNING while it is the current one */
    VEC(struct memory_event *) events;
};

struct memory_instance {
    pawl_row row;
    struct order_node by_uid;
    VEC(struct memory_execution *) executions; /* by number; the last is the current one */
    struct map keys;                           /* key text -> heap pawl_str holding it */
};

struct memory_message {
    pawl_message message;
    struct order_node by_id;
    struct order_node by_owner; /* (uid, id) */
    struct order_node ready;    /* (visible_ms, id) */
    bool taken;
    bool damaged; /* a test made it undecodable */
};

struct memory_work {
    pawl_work work;
    struct order_node by_id;
    struct order_node by_owner;    /* (uid, id) */
    struct order_node by_visible;  /* (visible_ms, id) */
    struct order_node by_deadline; /* (deadline_ms, id), when there is one */
    struct order_node free;        /* in ready by id, or in later by the time it gets ready */
    bool taken;
};

/* A lane that lives. */
struct memory_lane {
    pawl_fence fence; /* after its last commit; `shards`: what it adopted */
    uint64_t node;
    uint64_t owned; /* its shards, adopted or not yet */
};

/* A node that lives: a shape_node of its own in memory_nodes.c. */
struct memory_node {
    pawl_node node;
};

/* What a caller calls a store. */
struct memory_handle {
    pawl_store base;
    struct memory *tables;
    uint64_t epoch; /* of the lane that it became; 0: none yet */
};

struct memory {
    pthread_mutex_t lock; /* everything below */
    size_t handles;
    VEC(struct memory_lane *) lanes; /* by epoch */
    VEC(struct memory_node *) nodes; /* by id */
    uint64_t last_epoch, last_group; /* the greatest of any lane, ever */
    uint64_t last_node;
    uint64_t ids_end; /* no id from here on was given to a lane */
    uint64_t moves;

    struct order by_uid; /* living instances */
    struct map by_name;
    VEC(struct memory_instance *) removed;   /* purge has their messages, work and keys */
    VEC(struct memory_execution *) dead;     /* purge has their events */
    struct order by_rid;                     /* every event, dead or not */
    VEC(struct memory_message *) quarantine; /* in the order put aside */

    struct order messages_by_id, messages_by_owner, messages_ready;
    struct order work_by_id, work_by_owner, work_by_visible, work_by_deadline;
    struct order work_ready, work_later;

    struct memory_queues queues;
    struct memory_objects objects;
};

/* memory.c */
struct memory *memory_lock(pawl_store *s);
void memory_unlock(struct memory *m);

/* memory_lanes.c */
/* The shards of the handle's lane, under the lock; 0: it is no lane, or is over. */
uint64_t memory_shards(pawl_store *s);
/* The lane of the handle, when it lives and the fence is its; else FENCED. */
pawl_status memory_check_fence(pawl_store *s, const pawl_fence *fence, struct memory_lane **retlane,
                               pawl_error *reterr);
/* A commit of the lane (C5). */
void memory_move_fence(struct memory *m, struct memory_lane *lane, pawl_fence *fence);
/* The only lane of the store's only handle is this one: for a store that mirrors its own. */
void memory_set_fence(pawl_store *s, const pawl_fence *fence);
pawl_fence memory_fence(pawl_store *s);
void memory_lanes_deinit(struct memory *m);
void memory_lanes_check(const struct memory *m);
extern const pawl_shared_ops memory_shared_ops;

/* memory_lanes.c, for memory_nodes.c */
/* End all lanes of these nodes (0: no node's), and give their shards to those that live (E17). */
void memory_end_lanes(struct memory *m, bool (*is_of)(const struct memory_lane *lane, void *user),
                      void *user);

/* memory_nodes.c */
bool memory_node_lives(const struct memory *m, uint64_t id);
/* Runs the lease of any node? */
bool memory_node_leased(const struct memory *m, int64_t now_ms);
void memory_nodes_deinit(struct memory *m);
pawl_status memory_node_join(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms,
                             bool again, int64_t now_ms, uint64_t *retid, pawl_error *reterr);
pawl_status memory_node_beat(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                             int64_t now_ms, pawl_beat *ret, pawl_error *reterr);
pawl_status memory_node_leave(pawl_store *s, uint64_t id, int64_t now_ms, pawl_error *reterr);
pawl_status memory_node_ask(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr);
pawl_status memory_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount, pawl_error *reterr);
pawl_status memory_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret, pawl_error *reterr);
pawl_status memory_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr);

static inline bool memory_is_of(uint64_t shards, uint32_t shard)
{
    return shards >> shard & 1;
}

struct memory_instance *memory_instance(const struct memory *m, uint64_t uid); /* or NULL */
struct memory_message *memory_message(const struct memory *m, uint64_t id);    /* or NULL */
struct memory_work *memory_work(const struct memory *m, uint64_t id);          /* or NULL */
struct memory_event *memory_event(const struct memory *m, uint64_t rid);       /* or NULL */
/* The execution, or NULL; the newest is looked at first. */
struct memory_execution *memory_execution(const struct memory_instance *i, uint64_t execution);

/* Put a message or work row where its state says (after any change of it). */
void memory_place_message(struct memory *m, struct memory_message *msg);
void memory_place_work(struct memory *m, struct memory_work *w);
void memory_delete_message(struct memory_message *msg); /* out of the tables and freed */
void memory_delete_work(struct memory_work *w);
void memory_delete_event(struct memory_event *e);
void memory_delete_execution(struct memory_execution *x); /* with the events it has left */
void memory_delete_instance(struct memory_instance *i);   /* with its keys; not its rows */
void memory_quarantine(struct memory *m, struct memory_message *msg, pawl_str reason);
void memory_check(pawl_store *s);
/* One more handle of the same tables. */
pawl_store *memory_another(pawl_store *s, pawl_error *reterr);

/* Damage for tests of clauses M5 and H3; false when there is no such row. */
bool memory_damage_message(pawl_store *s, uint64_t id);
bool memory_damage_event(pawl_store *s, uint64_t rid);

/* The operations, by file. */
pawl_status memory_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                          int64_t now_ms, pawl_error *reterr);

pawl_status memory_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                  pawl_message_list *ret, pawl_error *reterr);
pawl_status memory_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                              size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                              pawl_error *reterr);
pawl_status memory_list_work_names(pawl_store *s, pawl_str after, uint32_t limit, pawl_mem *mem,
                                   pawl_text_list *ret, pawl_error *reterr);
pawl_status memory_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms, uint32_t limit,
                                   pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr);
pawl_status memory_fetch_deadlines(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                   pawl_work_list *ret, pawl_error *reterr);
void memory_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count);
void memory_abandon_work(pawl_store *s, const uint64_t *ids, size_t count);
pawl_status memory_next_due(pawl_store *s, int64_t after_ms, int64_t *ret, pawl_error *reterr);

pawl_status memory_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret,
                        pawl_error *reterr);
pawl_status memory_find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                            pawl_error *reterr);
pawl_status memory_find_execution(pawl_store *s, uint64_t uid, uint64_t execution, pawl_mem *mem,
                                  pawl_row *ret, pawl_error *reterr);
pawl_status memory_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                                uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                                pawl_error *reterr);
pawl_status memory_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                              pawl_error *reterr);
pawl_status memory_read_messages(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                 pawl_message_list *ret, pawl_error *reterr);
pawl_status memory_read_work(pawl_store *s, const uint64_t *ids, size_t count, pawl_mem *mem,
                             pawl_work_list *ret, pawl_error *reterr);
pawl_status memory_has_key(pawl_store *s, uint64_t uid, pawl_str key, pawl_error *reterr);
pawl_status memory_load_histories(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                                  size_t max_bytes, pawl_mem *mem, pawl_error *reterr);
pawl_status memory_load(pawl_store *s, pawl_wanted *wanted, size_t count, size_t max_bytes,
                        pawl_mem *mem, pawl_error *reterr);
pawl_status memory_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem,
                        pawl_row_list *ret, pawl_error *reterr);
pawl_status memory_search(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                          pawl_error *reterr);
pawl_status memory_depths(pawl_store *s, int64_t now_ms, pawl_depths *ret, pawl_error *reterr);
pawl_status memory_read_quarantine(pawl_store *s, uint32_t limit, pawl_mem *mem,
                                   pawl_message_list *ret, pawl_error *reterr);

pawl_status memory_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                         pawl_error *reterr);
pawl_status memory_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                    uint64_t before_execution, uint64_t *retcount,
                                    pawl_error *reterr);

#endif
