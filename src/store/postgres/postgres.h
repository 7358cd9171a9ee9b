/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/postgres.h -- the PostgreSQL store's parts, shared by its files.
 *
 * One writer connection belongs to the engine thread; readers have connections of their own, from
 * a pool.  The store is one *lane*: a row in `lane` that each commit locks, and one row that
 * each commit adds to `lane_log`.  What the engine has taken is in memory.  Other lanes may be
 * there, each with its own shards; memory has nothing of theirs.
 *
 *   pg_open.c    pawl_postgres_store, checks of the server, close, the table of operations
 *   pg_url.c     our own parameters in a URL         pg_schema.c  tables, migrations
 *   pg_texts.c   statements with the schema's name
 *   libpq.c      the library     link.c  a connection     params.c  values
 *   pg_pool.c    reader connections        pg_driver.c  what the readers of store/sql need
 *   pg_rows.c    rows of a result as structs
 *   pg_history.c read_history, read_event   pg_list.c  list, depths
 *   pg_take.c    take, attach: the owner of the lane        pg_outcome.c  what became of a commit
 *   pg_lane.c    join, adopt, new_ids                        pg_move.c    claim, give, leave
 *   pg_bury.c    bury, view                                  pg_node.c    nodes and their leases
 *   pg_commit.c  commit: a group as one pipeline, or round by round
 *   pg_remember.c     memory after a commit
 *   pg_group.c   the rows of a group, collected by table    open_work.c  head.open1 in memory
 *   pg_independent.c  may the rounds of a group be mixed?
 *   pg_queue_round.c  the queue part of a round             pg_purge.c   purge, prune
 *   pg_queue_due.c    due times of queues, in memory
 *   pg_fetch.c   messages    pg_due.c  deadlines, next_due, times by shard
 *   pg_work.c    fetching and reading work        pg_named_work.c  names of work
 *   pg_work_names.c   what is known about free work, given back work
 *   pg_load.c    load: many questions, one round trip
 *   pg_upkeep.c  what doctor says of the server; tokens
 *
 * A commit, from the outside in:
 *
 *     rounds ─▶ pg_group (rows by table) ─▶ BEGIN, fence, one statement per table, COMMIT
 *        one pipeline, one round trip ─▶ OK: memory moves      ─▶ refused: ROLLBACK, round by round
 *                                     ─▶ lost: UNKNOWN, and outcome() asks the server
 *
 * Invariants
 *   G1  A commit first locks the lane's row where epoch and life are ours, and inserts
 *       lane_log(lane, group_no): so commits have one order, and none comes twice.
 *   G2  A new writer connection raises `life` before anything else: a commit of the old connection
 *       that arrives late finds another life and is refused.
 *   G3  What is in memory changes only when the server said COMMIT, or outcome() found the number.
 *   G4  Nothing that changes with a step is in an index or in the predicate of one.
 *   G5  Who lives and who has what changes under the lock of the row of `cluster`, which is locked
 *       before the row of any lane; a commit of rounds does not lock it.
 *   G6  Nothing of a shard is in memory before the commit that gave it, and nothing is left after
 *       that which takes it away.
 */
#ifndef PAWL_STORE_POSTGRES_POSTGRES_H
#define PAWL_STORE_POSTGRES_POSTGRES_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/heap.h"
#include "base/idset.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/vec.h"
#include "pawl/provider.h"
#include "store/postgres/link.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PG_LANE        1 /* that took the store; numbers of those that joined are larger */
#define PG_READERS_MAX 4
#define PG_SCRATCH     13 /* columns of the widest statement of pg_queue_round.c */

struct pg_group; /* pg_group.h */
struct pg_names; /* pg_work_names.h */

/* When queues are due (pg_queue_due.c). */
struct queue_times {
    struct map by_qid; /* owns those that have a due time */
    struct heap due;
    bool known; /* all of them were read */
};

/* The untried local work of each instance that is a number in its head (open_work.c). */
struct open_change {
    uint64_t uid, id; /* id 0: none */
};
struct open_work {
    struct map by_uid;            /* uid -> id, as pointers */
    struct map by_id;             /* id -> uid */
    VEC(struct open_change) undo; /* what was there before, oldest first, while `trying` */
    bool trying;
};
/* What a round makes of head.open1 of its own instance. */
struct open_plan {
    uint64_t was; /* the update of the head finds it there */
    uint64_t now;
};

/* What is known of the times in one shard (pg_due.c).  All may be too early, never too late. */
struct pg_times {
    int64_t seen_ms;     /* messages up to (seen_ms, seen_id) are taken or not fetchable, … */
    uint64_t seen_id;    /* … but for free_messages */
    int64_t mail_ms;     /* no other one is visible before this time */
    int64_t deadline_ms; /* no work has a deadline before it */
    int64_t work_ms;     /* none becomes visible behind asked_ms and before it */
    int64_t asked_ms;
};

/* The writing call whose outcome is not known, or that is under way. */
enum pg_writing { PG_ROUNDS, PG_CLAIM, PG_GIVE, PG_LEAVE };

struct pg_ids {
    uint64_t *items;
    size_t count, cap;
};

/* Work that is a number in a head, as read from the server: uid and id in turn. */
struct pg_heads {
    struct pg_ids ids;
    bool memory_gone;
};

/* What memory must forget of shards that leave (pg_move.c). */
struct pg_leaving {
    uint64_t shards;
    struct pg_ids mail, work;
    struct pg_ids uids; /* with open work */
};

/* The label that the server gave a message. */
struct pg_label {
    uint64_t id;
    uint32_t shard;
};

struct pg_store {
    struct sql_store sql;
    char *full_url; /* owned; as it was given, for further handles */
    struct pg_place place;
    char *texts[ST_PG_COUNT]; /* owned: statements with the schema's name in them */
    bool read_only;

    /* Engine thread. */
    struct pg_link writer;
    struct pg_params params; /* scratch */
    pawl_fence fence;        /* as stored */
    int64_t now_ms;          /* of the commit under way */
    uint64_t lane;           /* number of our row */
    uint64_t number;         /* the one it has when we join */
    uint64_t life;           /* of the writer's connection (G2); 0: we are no lane */
    char owner[96];          /* of the lane, when it is ours: HOST:PID */
    bool in_doubt;           /* a commit's reply was lost: outcome() is next */
    enum pg_writing writing;
    struct pg_leaving leaving;
    struct pg_group *group; /* scratch of commit */
    struct open_work open;

    struct idset messages;      /* taken */
    struct idset free_messages; /* those that became free; some may not be */
    struct pg_times times[PAWL_SHARDS];
    bool hinted; /* of some shard messages are read from the front */
    struct pg_names *names;
    struct queue_times queue_times;
    struct pg_array scratch[PG_SCRATCH]; /* columns of a statement that is being made */
    struct idset queue_seen, queue_lone; /* scratch of pg_queue_round.c */

    char trouble[160];         /* the writer cannot connect; under pool_lock */
    pthread_mutex_t pool_lock; /* that, and the three below */
    pthread_cond_t pool_free;
    struct pg_link *pool; /* idle readers */
    int readers;          /* open ones */
};

static inline struct pg_store *pg_of(pawl_store *s)
{
    return (struct pg_store *)(void *)s;
}

/* ---- pg_url.c, pg_texts.c, pg_schema.c, pg_pool.c ------------------------------------------- */

/* Read a URL; INVALID names the parameter that is wrong. */
PAWL_MUST_USE pawl_status pg_place_read(const char *url, struct pg_place *ret, pawl_error *reterr);
void pg_place_deinit(struct pg_place *p);

/* The statements with the schema's name in place of "@."; false: out of memory. */
bool pg_texts_make(char **texts, const char *schema);
void pg_texts_free(char **texts);
struct buf;
void pg_text_put(struct buf *b, const char *text, const char *schema); /* one of them */

/* May this server keep a store?  Of one that is only read (any_server) less is asked. */
PAWL_MUST_USE pawl_status pg_check_server(struct pg_link *l, const struct pg_place *place,
                                          pawl_error *reterr);

pawl_status pg_clock(pawl_store *s, int64_t *ret, pawl_error *reterr);

/* The number of the schema; 0: there is none, or an empty one.  CONFLICT: it is not ours;
 * UNSUPPORTED: it is newer than we are. */
PAWL_MUST_USE pawl_status pg_schema_look(struct pg_link *l, const struct pg_place *place, int *ret,
                                         bool *retempty, pawl_error *reterr);
/* Is this another copy of the database (promoted, restored, loaded)?  Then ids and epochs leap. */
PAWL_MUST_USE pawl_status pg_schema_leap(struct pg_link *l, const struct pg_place *place,
                                         pawl_error *reterr);
/* Make the schema, or bring it up to date, in one transaction; nothing is half done. */
PAWL_MUST_USE pawl_status pg_migrate(struct pg_link *l, const struct pg_place *place,
                                     pawl_error *reterr);
/* The same as text, for a DBA; from which number on is 0 for a new schema. */
pawl_str pg_migration_text(const struct pg_place *place, int from, pawl_mem *mem);
#define PG_SCHEMA_NO 6

/* A connection for the calling thread: the writer when it is the engine's. */
PAWL_MUST_USE pawl_status pg_pool_take(struct pg_store *s, struct pg_link **ret,
                                       pawl_error *reterr);
void pg_pool_give(struct pg_store *s, struct pg_link *l); /* one that broke is closed */
void pg_pool_close(struct pg_store *s);
/* One statement that reads, on a connection for the calling thread; as link_run.  A connection that
 * turns out to be dead is opened again. */
PAWL_MUST_USE PGresult *pg_read(struct pg_store *s, int statement, const struct pg_params *p,
                                const char *what, pawl_status *retstatus, pawl_error *reterr);
void pg_figures(pawl_store *base, pawl_store_figures *ret);

/* ---- pg_upkeep.c ---------------------------------------------------------------------------- */

extern const pawl_upkeep_ops pg_upkeep_ops;

/* ---- pg_driver.c, pg_history.c --------------------------------------------------------------- */

extern const struct sql_driver pg_driver;
/* Decode one row of a result; columns as in the lists of store/sql/columns.h. */
enum sql_sight pg_decode_row(const PGresult *r, int row, pawl_mem *mem, pawl_row *ret);
enum sql_sight pg_decode_message(const PGresult *r, int row, pawl_mem *mem, pawl_message *ret);
enum sql_sight pg_decode_work(const PGresult *r, int row, pawl_mem *mem, pawl_work *ret);

pawl_status pg_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                            uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                            pawl_error *reterr);
pawl_status pg_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem, pawl_row_list *ret,
                    pawl_error *reterr);
pawl_status pg_search(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                      pawl_error *reterr);
pawl_status pg_depths(pawl_store *s, int64_t now_ms, pawl_depths *ret, pawl_error *reterr);
pawl_status pg_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                          pawl_error *reterr);

/* ---- pg_take.c ----------------------------------------------------------------------------------- */

pawl_status pg_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr);
/* The writer is connected, whatever the lane is. */
PAWL_MUST_USE pawl_status pg_connect(struct pg_store *s, pawl_error *reterr);
PAWL_MUST_USE pawl_status pg_check_writable(const struct pg_store *s, pawl_error *reterr);
void pg_name_owner(struct pg_store *s);
/* A new life for this connection (G2), and the number of the last commit before it. */
PAWL_MUST_USE pawl_status pg_raise_life(struct pg_store *s, uint64_t *retnumber,
                                        pawl_error *reterr);
PAWL_MUST_USE pawl_status pg_read_lane(struct pg_store *s, uint64_t *retepoch, uint64_t *retnumber,
                                       pawl_error *reterr);
pawl_status pg_fenced(const char *why, uint64_t epoch, pawl_error *reterr);
pawl_status pg_went_back(const struct pg_store *s, uint64_t found, pawl_error *reterr);
void pg_forget_all(struct pg_store *s); /* the lane is over, or was never */
/* Rows of HEADS_OPEN; and into memory, of shards that came.  False: out of memory, and nothing of it
 * is kept. */
void pg_heads_see(struct pg_heads *h, const PGresult *r);
PAWL_MUST_USE bool pg_heads_keep(struct pg_store *s, const struct pg_heads *h);
void pg_heads_deinit(struct pg_heads *h);
/* The writer is connected and the lane is ours: PAWL_OK.  A lost connection is opened again, and
 * the lane gets a new life (G2).  UNKNOWN while a commit is in doubt; FENCED: another owner. */
PAWL_MUST_USE pawl_status pg_attach(struct pg_store *s, pawl_error *reterr);
/* Begin a transaction in the open pipeline, and move the fence (G1): statements 0 and 1. */
bool pg_send_fence(struct pg_store *s, const pawl_fence *fence);
bool pg_send_fence_only(struct pg_store *s, const pawl_fence *fence); /* the transaction is open */
#define PG_FENCE_AT 1
/* Did the fence's statement refuse (epoch, life), or is this very group there already? */
pawl_status pg_fence_refused(const pawl_fence *fence, const struct link_report *report,
                             pawl_error *reterr);

/* ---- pg_outcome.c, pg_lane.c, pg_move.c, pg_bury.c, pg_node.c ------------------------------------------- */

pawl_status pg_outcome(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                       int64_t now_ms, bool *retcommitted, pawl_error *reterr);
extern const pawl_shared_ops pg_shared_ops;
/* One more handle of the same database; pg_open.c. */
pawl_store *pg_another(pawl_store *s, pawl_error *reterr);
pawl_status pg_claim(pawl_store *s, pawl_fence *fence, uint64_t wanted, pawl_error *reterr);
pawl_status pg_give(pawl_store *s, pawl_fence *fence, uint64_t shards, uint64_t heir,
                    pawl_error *reterr);
pawl_status pg_leave(pawl_store *s, pawl_fence *fence, pawl_error *reterr);
/* It is committed: memory has nothing of the shards that left, and the fence knows. */
void pg_moved(struct pg_store *s, pawl_fence *fence);
void pg_leaving_deinit(struct pg_store *s);
pawl_status pg_bury(pawl_store *s, uint64_t epoch, int64_t now_ms, pawl_error *reterr);
pawl_status pg_view(pawl_store *s, pawl_mem *mem, pawl_lane_view *ret, pawl_error *reterr);
pawl_status pg_node_join(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms, bool again,
                         int64_t now_ms, uint64_t *retid, pawl_error *reterr);
pawl_status pg_node_beat(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                         int64_t now_ms, pawl_beat *ret, pawl_error *reterr);
pawl_status pg_node_leave(pawl_store *s, uint64_t id, int64_t now_ms, pawl_error *reterr);
pawl_status pg_node_ask(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr);
pawl_status pg_bury_over(pawl_store *s, int64_t now_ms, uint32_t *retcount, pawl_error *reterr);
pawl_status pg_nodes(pawl_store *s, pawl_mem *mem, pawl_node_list *ret, pawl_error *reterr);

static inline bool pg_owns(const struct pg_store *s, uint32_t shard)
{
    return s->fence.shards >> shard & 1;
}

/* ---- pg_commit.c, pg_purge.c -------------------------------------------------------------------- */

bool pg_group_init(struct pg_store *s); /* false: out of memory */
void pg_group_deinit(struct pg_store *s);
pawl_status pg_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                      int64_t now_ms, pawl_error *reterr);
/* The pieces of a commit: open a pipeline; a transaction with the fence, in one of its own; COMMIT
 * into the open one, whose results are then read (CONFLICT: a statement refused). */
PAWL_MUST_USE pawl_status pg_commit_pipe(struct pg_store *s, pawl_error *reterr);
PAWL_MUST_USE pawl_status pg_commit_begin(struct pg_store *s, const pawl_fence *fence,
                                          pawl_error *reterr);
PAWL_MUST_USE pawl_status pg_commit_end(struct pg_store *s, const pawl_fence *fence,
                                        void (*on_result)(void *user, size_t index,
                                                          const PGresult *r),
                                        void *user, pawl_error *reterr);
void pg_roll_back(struct pg_store *s); /* the connection is closed if that fails */
void pg_fence_moved(struct pg_store *s, pawl_fence *fence); /* it was committed */
/* The outcome of a pipeline that ends with COMMIT; its statement `fence_at` is the fence.  CONFLICT:
 * a later one refused. */
pawl_status pg_judge_commit(struct pg_store *s, const pawl_fence *fence, size_t fence_at,
                            const struct link_report *report, bool commit_sent, pawl_error *reterr);

/* ---- pg_remember.c ------------------------------------------------------------------------------ */

/* Room for everything that pg_remember() adds, so that nothing can fail after COMMIT. */
PAWL_MUST_USE bool pg_make_room(struct pg_store *s, const pawl_round *rounds, size_t count);
/* What the server says to the statements of a group; `user` is the store. */
void pg_see_result(void *user, size_t index, const PGresult *r);
/* The labels that these rounds asked for are known; after a lost reply they are read. */
PAWL_MUST_USE pawl_status pg_labels_read(struct pg_store *s, const pawl_round *rounds, size_t count,
                                         pawl_error *reterr);
/* Memory after a group that was committed (G3): taken sets, cursors, open work. */
void pg_remember(struct pg_store *s, const pawl_round *rounds, size_t count, int64_t now_ms);
pawl_status pg_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                     pawl_error *reterr);
pawl_status pg_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                uint64_t before_execution, uint64_t *retcount, pawl_error *reterr);

/* ---- open_work.c ----------------------------------------------------------------------------------- */

void open_work_init(struct open_work *o);
void open_work_deinit(struct open_work *o);
void open_work_reset(struct open_work *o);
uint64_t open_work_of(const struct open_work *o, uint64_t uid); /* id; 0: none */
/* The value of head.open1 for work `id` (0: none) of an instance whose last event is last_rid. */
int64_t open_work_stored(uint64_t id, uint64_t last_rid);
uint64_t open_work_uid(const struct open_work *o, uint64_t id); /* 0: not there */
/* id 0: none any more.  False: out of memory. */
PAWL_MUST_USE bool open_work_set(struct open_work *o, uint64_t uid, uint64_t id);
/* Room for what a group may change, so that nothing can fail after COMMIT. */
PAWL_MUST_USE bool open_work_reserve(struct open_work *o, const pawl_round *rounds, size_t count);
struct open_plan open_work_plan(const struct open_work *o, uint64_t epoch, const pawl_round *r);
/* The event of a work row of the round; NULL: it has none there.  Both lists are in the order of
 * their ids; *at goes along with the work. */
const pawl_event *open_work_event(const pawl_round *r, const pawl_work *w, size_t *at);
/* The round was carried out; room was made. */
void open_work_apply(struct open_work *o, const pawl_round *r, struct open_plan plan);
/* open_work_undo undoes the changes from here on. */
void open_work_try(struct open_work *o);
void open_work_undo(struct open_work *o);
void open_work_check(const struct open_work *o);

/* ---- pg_queue_round.c, pg_queue_due.c ------------------------------------------------------------ */

/* Send the statements of the queue parts of these rounds into the open pipeline, counted so that
 * the server refuses what Q3 forbids.  False: not sent. */
bool pg_send_queues(struct pg_store *s, const pawl_round *rounds, size_t count);
/* May the queue parts of these rounds go into common statements?  (No row is named twice, no
 * round changes what an earlier one of the group made.) */
bool pg_queues_are_independent(const pawl_round *rounds, size_t count);

void queue_times_init(struct queue_times *t);
void queue_times_reset(struct queue_times *t);
void queue_times_deinit(struct queue_times *t);
void queue_times_check(const struct queue_times *t);
void pg_queues_remember(struct pg_store *s, const pawl_queue_round *q); /* it is committed */
/* All due times are known from here on. */
PAWL_MUST_USE pawl_status pg_queues_learn(struct pg_store *s, pawl_error *reterr);
int64_t pg_queues_next(const struct pg_store *s, int64_t after_ms); /* INT64_MAX: none */
pawl_status pg_due_queues(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                          pawl_queue_row_list *ret, pawl_error *reterr);

/* ---- pg_fetch.c, pg_due.c, pg_work.c, pg_load.c ------------------------------------------------------------------ */

bool pg_fetch_init(struct pg_store *s); /* false: out of memory; deinit is fine then, too */
void pg_fetch_deinit(struct pg_store *s);
void pg_fetch_reset(struct pg_store *s); /* before take: nothing is known */
pawl_status pg_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_message_list *ret, pawl_error *reterr);
pawl_status pg_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names, size_t name_count,
                          uint32_t limit, pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr);
pawl_status pg_list_work_names(pawl_store *s, pawl_str after, uint32_t limit, pawl_mem *mem,
                               pawl_text_list *ret, pawl_error *reterr);
pawl_status pg_count_values(pawl_store *s, pawl_str name, uint32_t max_values, uint64_t max_entries,
                            pawl_mem *mem, pawl_value_counts *ret, pawl_error *reterr);
pawl_status pg_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms, uint32_t limit,
                               pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr);
pawl_status pg_fetch_deadlines(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                               pawl_work_list *ret, pawl_error *reterr);
void pg_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count);
void pg_abandon_work(pawl_store *s, const uint64_t *ids, size_t count);
pawl_status pg_next_due(pawl_store *s, int64_t after_ms, int64_t *ret, pawl_error *reterr);
pawl_status pg_read_work(pawl_store *s, const uint64_t *ids, size_t count, pawl_mem *mem,
                         pawl_work_list *ret, pawl_error *reterr);
/* The events of one execution: the rows from `row` to `end` of PG_HISTORIES. */
pawl_status pg_history_of(const PGresult *r, int row, int end, const pawl_wanted_history *w,
                          pawl_mem *mem, pawl_event_list *ret, pawl_error *reterr);
pawl_status pg_load_histories(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                              size_t max_bytes, pawl_mem *mem, pawl_error *reterr);
pawl_status pg_find_keys(pawl_store *s, uint64_t qid, const pawl_str *keys, size_t count,
                         pawl_queue_key *ret, pawl_error *reterr);
pawl_status pg_load(pawl_store *s, pawl_wanted *wanted, size_t count, size_t max_bytes,
                    pawl_mem *mem, pawl_error *reterr);
/* Of which shard a row is; or it is one of ours. */
#define PG_SOME_SHARD PAWL_SHARDS
/* A message with this key can be fetched again, or for the first time. */
void pg_messages_lower(struct pg_store *s, uint32_t shard, int64_t visible_ms, uint64_t id);
/* Work of these shards, or of one of them, has these times; 0: none. */
void pg_work_appears(struct pg_store *s, uint64_t shards, int64_t visible_ms, int64_t deadline_ms);
/* Nothing is known of the times of these shards. */
void pg_times_forget(struct pg_store *s, uint64_t shards);
void pg_hint(pawl_store *s, uint64_t shards);
void pg_work_remember(struct pg_store *s, const pawl_round *r); /* it is committed */
/* Work that an earlier owner had is free; where it is, is asked with the next fetch.  False: out
 * of memory. */
PAWL_MUST_USE bool pg_work_inherit(struct pg_store *s, uint64_t id);
PAWL_MUST_USE bool pg_work_init(struct pg_store *s);
void pg_work_reset(struct pg_store *s);
void pg_work_look_again(struct pg_store *s); /* shards came: every name may have work */
/* Ids that memory has of work; and forget these. */
PAWL_MUST_USE pawl_status pg_work_list(const struct pg_store *s, uint64_t **ret, size_t *retcount);
void pg_work_forget(struct pg_store *s, const uint64_t *ids, size_t count);
void pg_work_deinit(struct pg_store *s);

#endif
