/* SPDX-License-Identifier: MIT */
/*
 * pawl/provider.h -- the contract between the engine and a store.
 *
 * A store keeps instances, their histories, two queues (messages for instances, work for
 * activities) and a fence.  It knows nothing of orchestrations: kinds are numbers, bodies
 * are opaque, ids and times come from the caller.  It promises atomicity, order and
 * durability.  tests/conformance checks every numbered clause below, by its number, on
 * every store.
 *
 * Rules for every operation
 *
 *   Threads   Operations marked [engine] come from one thread at a time.  Those
 *             marked [reader] come from any thread, also while an engine
 *             operation runs.  They see a consistent snapshot of committed data
 *             and never wait long for the engine.
 *   Clock     A store never reads a clock.  `now_ms` is an argument.  Only clock() tells
 *             what a clock that others share with us says.
 *   Memory    The store borrows its inputs for the call.  It takes outputs from
 *             the `mem` given and keeps no pointer into it.  `reterr` may be
 *             NULL.
 *   Failure   A failed call changed nothing, unless it returns PAWL_UNKNOWN.
 *   Errors    BUSY, DISK_FULL, UNAVAILABLE, NO_MEMORY: nothing happened, try
 *             again.  FENCED: another process owns the store.  CORRUPT: concerns
 *             these rows only.  UNKNOWN: it may have happened; ask outcome().
 *
 * Editions: a store says for which edition of this contract it was built (`abi`, PAWL_STORE_ABI).
 * The library refuses a store of another edition.  Within one edition only structs that begin
 * with `size` grow, at their end:
 *
 *   the operations     the store sets `size`; a slot that lies beyond it counts as NULL
 *   caps, depths,      the caller sets `size`; the store fills what both know (pawl_fill).
 *   figures, found     What a shorter, older struct of the store does not have is zero
 *   searches           the caller sets `size`; a store that knows less is asked for less
 *   the extra part     the caller sets `size`; it has parts only where the store's capabilities
 *   of a round         say that the store knows them
 *
 * Rows, rounds, fences, queries and lists change with a new edition only.
 *
 * Identity: one counter of ids per store, persisted with every commit.  Events, messages,
 * work and instances all take their ids from it, so ids never repeat and grow in commit
 * order (with several lanes: in that of each lane, E4).  There is one exception: an event that is
 * given back to its mailbox becomes a message again under the id it was dropped with (C8).  The
 * work row of an ActivityScheduled event and the messages of TimerCreated, EventSent and
 * QueuePushed events have the event's rid as their id.
 *
 * Lanes and shards (capability `shared`; clauses E).  An engine, its handle of a store (a
 * pawl_store) and its fence are a *lane*.  A store may have several lanes at once, of one process
 * or of many; each has a handle of its own.  A *shard* is a label, 0 to PAWL_SHARDS - 1, on
 * instances, messages, work and queues.  A shard has at most one lane, and only that lane writes
 * what has this label.  An instance keeps the label that it was inserted with, and its children
 * have the same: a tree lies in one shard.  Named objects have no label.  A store without the
 * capability has one lane; its labels are 0.
 *
 * The contract is one file, although it is long: the author of a store reads it once from top to
 * bottom, and every clause stands beside the struct or the call that it is about.  Queues, which a
 * store may leave out, are in pawl/queue_store.h.
 */
#ifndef PAWL_PROVIDER_H
#define PAWL_PROVIDER_H

#include "pawl/attribute.h"
#include "pawl/event.h"
#include "pawl/queue_store.h"
#include "pawl/types.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_store pawl_store;

/* ---- Shards ------------------------------------------------------------- */

#define PAWL_SHARDS     64         /* a set of shards is a uint64_t: bit n is shard n */
#define PAWL_SHARDS_ALL UINT64_MAX /* all of them */
#define PAWL_SHARD_LOOK UINT32_MAX /* of a message in a round: the store finds its shard (E7) */

/* The shard preferred for an instance of this id; the same in every process, for ever. */
PAWL_API uint32_t pawl_shard_of(pawl_str id);
/* The shard of a queue of this name; a queue and its "-deadletter" have the same. */
PAWL_API uint32_t pawl_shard_of_queue(pawl_str name);

#define PAWL_STORE_ABI 4 /* the edition of this header */

/* Fill a struct that begins with its `size`, as far as both sides know it; a size of 0 means that
 * both have the same.  `ret->size` stays. */
static inline void pawl_fill(void *ret, const void *from, size_t from_size)
{
    size_t size = *(const size_t *)ret;
    size_t end = size && size < from_size ? size : from_size;
    if (end > sizeof(size_t))
        memcpy((char *)ret + sizeof(size_t), (const char *)from + sizeof(size_t),
               end - sizeof(size_t));
}

/* ---- What is stored ----------------------------------------------------- */

/* An instance. */
typedef struct pawl_row {
    uint64_t uid;
    pawl_str id;
    pawl_str orchestration;
    pawl_str version; /* empty until resolved */
    pawl_state state;
    uint32_t shard; /* never changes */
    uint64_t execution;
    uint64_t last_seq;  /* of the execution; 0: no event yet */
    uint64_t last_rid;  /* row of that event */
    uint64_t first_rid; /* row of the execution's OrchestrationStarted */
    int64_t created_ms;
    int64_t updated_ms;
    uint64_t parent_uid; /* 0: a root */
    uint64_t parent_execution;
    uint64_t parent_ref;
    pawl_str parent_id;
    pawl_str output; /* result or error text, by state */
    pawl_str custom_status;
    pawl_str finding;    /* why blocked */
    pawl_str attributes; /* a canonical set (G1); empty: none */
} pawl_row;

/* A message for an instance: `uid`, or `instance` by name when uid is 0. */
typedef struct pawl_message {
    uint64_t id;
    uint64_t uid;
    pawl_str instance;
    int kind;       /* pawl_message_kind */
    uint32_t shard; /* in a round also PAWL_SHARD_LOOK (E7) */
    uint64_t execution;
    uint64_t ref;
    pawl_str name;
    pawl_str data;
    pawl_str attrs;
    int64_t visible_ms; /* 0: at once */
    int64_t created_ms;
    uint32_t attempt; /* crashes it was blamed for */
    bool mailbox;     /* kept for a later wait: fetch_messages skips it */
} pawl_message;

/* Work for an activity. */
typedef struct pawl_work {
    uint64_t id; /* rid of its ActivityScheduled event */
    uint64_t uid;
    uint64_t execution;
    uint64_t ref;
    pawl_str instance; /* id, for display */
    pawl_str name;
    pawl_str input;
    pawl_str attrs;       /* call options, as in the event */
    uint32_t attempt;     /* tries made so far */
    uint32_t crashes;     /* tries that ended the process */
    uint32_t shard;       /* of the instance */
    int64_t visible_ms;   /* 0: at once */
    int64_t scheduled_ms; /* when first enqueued */
    int64_t deadline_ms;  /* next time-out to look at; 0: none */
    pawl_str last_error;
    uint64_t lock_epoch;   /* taken by the engine of this epoch; 0: free */
    pawl_str lock_token;   /* leased to another process under this token; empty: not leased */
    int64_t lock_until_ms; /* end of that lease */
} pawl_work;

/* Who owns the store; of a shared store: a lane, and what it owns. */
typedef struct pawl_fence {
    uint64_t epoch;    /* of this life of the lane: grows with every take and join */
    uint64_t group_no; /* grows with every commit of the lane */
    uint64_t next_id;  /* all ids below it are used; or are another lane's */
    uint64_t whole_id; /* without atomic rounds (K5); else 0 */
    bool mending;      /* set by the engine: it still repairs rounds below next_id (K5) */
    /* Of a shared store; else 0: */
    uint64_t end_id; /* ids from here on are not this lane's: ask for new_ids() (E4) */
    uint64_t shards; /* the lane's own */
    uint64_t mail;   /* out, of a commit: shards of others that got messages by it (E8) */
} pawl_fence;

/* ---- One atomic change -------------------------------------------------- */

typedef enum pawl_row_change {
    PAWL_ROW_NONE = 0,
    PAWL_ROW_INSERT = 1, /* `row` is new */
    PAWL_ROW_LAST = 2,   /* execution, last_seq, last_rid, updated_ms changed */
    PAWL_ROW_ALL = 3,    /* and anything else but uid, id and the parent */
    PAWL_ROW_REMOVE = 4, /* removed: the id is free at once; purge deletes its rows */
} pawl_row_change;

/* A new state of a message or work row that stays. */
typedef struct pawl_message_update {
    uint64_t id;
    int64_t visible_ms;
    uint32_t attempt;
    bool mailbox;
    bool relabel;   /* it moves to `shard`, where its instance is (E10) */
    uint32_t shard; /* with relabel */
} pawl_message_update;

typedef struct pawl_work_update {
    uint64_t id;
    uint32_t attempt;
    uint32_t crashes;
    int64_t visible_ms;
    int64_t deadline_ms;
    pawl_str last_error;
    uint64_t lock_epoch;
    pawl_str lock_token;
    int64_t lock_until_ms;
} pawl_work_update;

/* A message taken out of circulation, with its bytes. */
typedef struct pawl_quarantine {
    uint64_t id; /* message row */
    pawl_str reason;
} pawl_quarantine;

/*
 * A named object: a small document that is not an instance (a schedule, a limit …).  A store knows
 * nothing of its data.
 *   V1  CONFLICT when the version given is not the one stored: 0 when there is no such object.
 *       PAWL_VERSION_ANY always fits.  Earlier rounds of the commit count.
 *   V2  A put stores the version before + 1 (1: it is new), and now_ms as updated_ms.  A removed
 *       object leaves nothing behind; removing one that is not there, with PAWL_VERSION_ANY, is no
 *       error.
 *   V3  All or nothing, with the rest of the round (C1, C2).
 * The caller promises: a round names an object once, and removes with a version above 0.
 */
typedef enum pawl_object_kind {
    PAWL_OBJECT_SCHEDULE = 1,
    PAWL_OBJECT_LIMIT = 2,
    PAWL_OBJECT_HOOK = 3,
    PAWL_OBJECT_TOOL = 4,
    PAWL_OBJECT_CODE = 5,
    PAWL_OBJECT_LINK = 6,
    PAWL_OBJECT_STATE = 7,    /* of an instance: its uid in 16 hex digits, '/', the key */
    PAWL_OBJECT_ZONE = 8,     /* the state of a time zone's file, for schedules */
    PAWL_OBJECT_ASK = 9,      /* open: uid of the instance in 16 hex digits, '.', the task in 16 */
    PAWL_OBJECT_DETAILS = 10, /* of a heartbeat: the id of the work row in 16 hex digits */
    PAWL_OBJECT_RATE = 11,    /* what was used of a limit: its name, '/', the key */
} pawl_object_kind;

#define PAWL_VERSION_ANY      UINT64_MAX
#define PAWL_OBJECT_NAME_MAX  255          /* bytes, UTF-8; at least 1 */
#define PAWL_OBJECT_BYTES_MAX (256 * 1024) /* of data */

typedef struct pawl_object {
    int kind; /* pawl_object_kind; for a store any number above 0 */
    pawl_str name;
    uint64_t version;   /* round: the one expected; 0: it must not exist.  Readers: as stored */
    int64_t updated_ms; /* readers: when it was put */
    pawl_str data;      /* any bytes; round: without a pointer it is removed */
} pawl_object;

/*
 * Attributes.  `attributes` of a row is all that is stored of them for people and for conditions: a
 * JSON object of texts and integers, without blanks, names in byte order; empty when there are
 * none.  A store that finds instances by them keeps an index, too, of which a round says what
 * changes.
 *   G1  The set comes back as it was given, with the row.  A closed execution has none.
 *   G2  Entries of the round's instance are put and dropped, all or nothing with the rest (C1, C2).
 *       Putting one that is there and dropping one that is not are no errors.
 * The caller promises: entries and sets agree, also for REMOVE, which drops all of them; a round
 * drops before it puts; names have at most PAWL_ATTRIBUTE_NAME_MAX bytes.  A key is a value as UTF-8
 * without control characters, in the order of values: 'n' and the integer with its highest bit
 * turned over in 16 hex digits, or 't' and the text.
 */
typedef struct pawl_attribute_entry {
    pawl_str name;
    pawl_str key; /* the value, as bytes in the order of values */
    bool drop;
} pawl_attribute_entry;

/* What few rounds have. */
typedef struct pawl_round_extra {
    size_t size;                /* set by the caller */
    const pawl_object *objects; /* put and removed; capability `objects` */
    size_t object_count;
    const pawl_attribute_entry *entries; /* of the index of attributes; a store may ignore them */
    size_t entry_count;
    uint32_t *shards; /* out: the label of each of `messages` (E8); capability `shared`; NULL: not
                       * wanted */
} pawl_round_extra;

/* What stood in the way of a refused round (C3). */
typedef enum pawl_why {
    PAWL_WHY_UNKNOWN,   /* the store does not say */
    PAWL_WHY_EXISTS,    /* an inserted instance: its uid or id exists */
    PAWL_WHY_MOVED,     /* the instance is missing, or not at (execution, base_seq) */
    PAWL_WHY_WORK_GONE, /* a need_work row is missing */
    PAWL_WHY_OTHER,     /* anything else */
    PAWL_WHY_ELSEWHERE  /* the instance is in the shard of another lane (E6) */
} pawl_why;

/*
 * A round: everything one turn decided, or one other atomic change.
 *
 * `events` are appended in order; those of `execution` continue from base_seq,
 * those of execution + 1 (ContinueAsNew) start at 1.  `base_rid` is the row of
 * the event base_seq (0 when base_seq is 0).  Events need a row (INSERT, LAST
 * or ALL) whose execution, last_seq and last_rid are the last event's; the first
 * event of an execution needs INSERT or ALL, because first_rid changes.
 */
typedef struct pawl_round {
    uint64_t uid; /* 0: no instance is touched; then no row and no events */
    uint64_t execution;
    uint64_t base_seq;
    uint64_t base_rid;
    pawl_row_change change;
    const pawl_row *row; /* as it is after the round */
    const pawl_event *events;
    size_t event_count;

    const uint64_t *drop_messages; /* acked: deleted; missing ones are no error */
    size_t drop_message_count;
    const pawl_message *messages; /* inserted */
    size_t message_count;
    const pawl_message_update *message_updates;
    size_t message_update_count;
    const pawl_quarantine *quarantine;
    size_t quarantine_count;

    const uint64_t *need_work; /* work rows that must exist, deleted: a completion's ack */
    size_t need_work_count;
    const uint64_t *drop_work; /* deleted; missing ones are no error */
    size_t drop_work_count;
    const pawl_work *work; /* inserted, before drop_work is applied */
    size_t work_count;
    const pawl_work_update *work_updates; /* missing rows are no error */
    size_t work_update_count;

    const pawl_str *keys; /* idempotency keys of raises, remembered with the instance */
    size_t key_count;

    pawl_status result; /* out: PAWL_OK, or why this round alone was refused */

    const pawl_queue_round *queue; /* changes of queues; NULL: none */
    const pawl_round_extra *extra; /* what few rounds have; NULL: nothing */
    pawl_why why;                  /* out: of a refused round (C10) */
} pawl_round;

/* ---- Answers ------------------------------------------------------------ */

typedef struct pawl_message_list {
    const pawl_message *items;
    size_t count;
} pawl_message_list;

typedef struct pawl_work_list {
    const pawl_work *items;
    size_t count;
} pawl_work_list;

typedef struct pawl_event_list {
    const pawl_event *items;
    size_t count;
} pawl_event_list;

typedef struct pawl_row_query {
    uint64_t before_uid; /* newest first: uids below; 0: from the newest */
    uint32_t limit;
    int state; /* a pawl_state + 1; 0: any */
    pawl_str orchestration;
    pawl_str prefix;
    uint64_t parent_uid;
    int64_t created_after_ms;
    int64_t ended_before_ms; /* terminal, updated before; 0: any */
} pawl_row_query;

typedef struct pawl_row_list {
    const pawl_row *items;
    size_t count;
    uint64_t next_uid; /* pass it as before_uid; 0: no more rows */
} pawl_row_list;

typedef struct pawl_object_list {
    const pawl_object *items;
    size_t count;
} pawl_object_list;

/* A list with more conditions; all that are given hold. */
typedef struct pawl_search {
    size_t size; /* set by the caller */
    pawl_row_query query;
    uint32_t states;         /* 1 << pawl_state of each that is wanted; 0: any */
    bool roots;              /* only those without a parent */
    pawl_str text;           /* L6; empty: any */
    const pawl_where *where; /* L7; at most PAWL_WHERE_MAX, all hold */
    size_t where_count;
    int64_t created_before_ms; /* 0: any */
    int64_t ended_after_ms;    /* terminal, updated after; 0: any */
    pawl_str error;            /* L6, in why it failed, was cancelled or is blocked; empty: any */
} pawl_search;

typedef struct pawl_found {
    size_t size; /* set by the caller */
    pawl_row_list rows;
    uint64_t examined; /* rows that were looked at */
} pawl_found;

/* How many instances have each value of an attribute (count_values). */
typedef struct pawl_value_count {
    pawl_str key; /* the value, as in pawl_attribute_entry */
    uint64_t count;
} pawl_value_count;

typedef struct pawl_value_counts {
    size_t size; /* set by the caller */
    const pawl_value_count *items;
    size_t count;
    uint64_t examined; /* entries that were counted */
    bool more;         /* there may be more values, or more entries, than were counted */
} pawl_value_counts;

typedef struct pawl_depths {
    size_t size;       /* set by the caller */
    uint64_t messages; /* all: ready, delayed, mailbox */
    uint64_t timers;   /* of these, delayed: not visible at now_ms, not in a mailbox */
    uint64_t work;     /* all */
    uint64_t quarantine;
    uint64_t instances;
    uint64_t suspended, blocked, failed,
        cancelled; /* of the instances: those that may need an operator */
} pawl_depths;

/*
 * What a store can do.  Without a capability the runtime falls back, and other
 * clauses hold.
 *
 * Without atomic_rounds (peek-lock mode) commit applies a round in this order:
 * events (with the keys), row, inserts and updates (objects last), drops (REMOVE is one of them;
 * objects are removed behind messages and work).
 *   K1  A crash, or a failed commit, may leave any prefix of that order; of the
 *       events of one execution all or none.  C1, C2 and C6 are weakened to that.  Rows that
 *       were taken before a commit that failed stay taken, if they are there.
 *   K2  A row that exists already is skipped, not refused: a message with the key
 *       (kind, uid, execution, ref), or (kind, instance, attrs, execution, ref) when it
 *       is addressed by name; a work row with (uid, execution, ref); with ref 0 the
 *       key is the id.  So applying the rest of a round again completes it.
 *   K3  The row found is never behind the events: last_seq, last_rid, first_rid
 *       and execution follow from them.
 *   K5  whole_id of the fence: every round that used ids below it was applied to
 *       the end.  A commit that is OK moves it to next_id, as its last step, unless the
 *       engine is `mending`: then it stays, with purge and prune too, because it marks
 *       the rounds that may be half done.  take() returns it as it is.
 *       0: nothing is known.
 *
 * Without delayed_visibility
 *   K4  fetch_* ignore visible_ms (M3, W3, N1 do not hold); the
 *       runtime inserts no timer messages and holds back what is not due.
 */
typedef struct pawl_store_caps {
    size_t size; /* set by the caller */
    bool atomic_rounds;
    bool delayed_visibility;
    bool durable;     /* survives the process */
    bool queues;      /* `queues` of the operations is there, and rounds may have a queue part */
    bool slow_counts; /* depths are far away: figures for metrics may be some seconds old, and a
                       * count above 10,000 may be an estimate (L3) */
    bool objects;     /* read_object and list_objects are there, and rounds may have objects */
    bool far;    /* a read costs as much as a commit: a start is inserted without a look for its id,
               * and the store says at once whose id exists (C10) when it refuses; and health asks
               * it whether it is there */
    bool shared; /* several lanes at once: `shared` of the operations is there */
} pawl_store_caps;

/* What a store reports about itself. */
typedef struct pawl_store_figures {
    size_t size;        /* set by the caller */
    uint64_t log_bytes; /* in the write-ahead log: a long reader keeps it from shrinking */
    uint64_t damaged;   /* rows read so far that are not what was written */
    char damage[120];   /* the last of them */
    char trouble[160];  /* why it cannot be written to now; empty: it can, as far as it knows.  Only
                         * a `far` store is asked for it: any other shows it by a failed commit */
} pawl_store_figures;

/* ---- Upkeep ---------------------------------------------------------------- */

/* One thing that `pawl doctor` says about a store. */
typedef enum pawl_verdict { PAWL_VERDICT_OK, PAWL_VERDICT_WARN, PAWL_VERDICT_BAD } pawl_verdict;
typedef void pawl_finding_fn(void *user, const char *name, pawl_verdict verdict, const char *text);

typedef struct pawl_text_list {
    const pawl_str *items;
    size_t count;
} pawl_text_list;

/*
 * What a store that is not files beside the process does for people; all [reader], also on a
 * store that is read-only but for put_token and drop_token.
 */
typedef struct pawl_upkeep_ops {
    size_t size;

    /* Is the place fit for this store, and is it well? */
    pawl_status (*examine)(pawl_store *s, int64_t now_ms, pawl_finding_fn *say, void *user,
                           pawl_error *reterr);

    /* The tokens of the HTTP server: lines as in a file of tokens, by the hash of the token, oldest
     * first.  A hash that is there gets the new line. */
    pawl_status (*read_tokens)(pawl_store *s, pawl_mem *mem, pawl_text_list *ret,
                               pawl_error *reterr);
    pawl_status (*put_token)(pawl_store *s, pawl_str hash, pawl_str line, int64_t now_ms,
                             pawl_error *reterr);
    pawl_status (*drop_token)(pawl_store *s, pawl_str hash, pawl_error *reterr);
} pawl_upkeep_ops;

/* ---- Several lanes ------------------------------------------------------- */

/* A lane that lives: it joined or took the store, and is neither over nor gone. */
typedef struct pawl_lane {
    uint64_t epoch;  /* its name; of a later life it is another one */
    uint64_t node;   /* as given to join; 0: of no node */
    uint64_t shards; /* what it owns, adopted or not yet */
} pawl_lane;

typedef struct pawl_lane_view {
    size_t size;            /* set by the caller */
    const pawl_lane *lanes; /* by epoch */
    size_t lane_count;
    uint64_t free;  /* shards that have no lane */
    uint64_t moves; /* grows whenever a lane comes or goes, or a shard changes its lane */
} pawl_lane_view;

/* A node: a process with lanes, or about to have some. */
typedef struct pawl_node {
    uint64_t id;            /* of this life of the process; never given again */
    pawl_str name;          /* its own, for people; one that lives has a name */
    pawl_str about;         /* what it says of itself; opaque */
    int64_t joined_ms;      /* by the clock of the store, as the next */
    int64_t lease_until_ms; /* others may bury it from then on, unless it beats before */
    uint32_t asked;         /* what others asked it to do; a number of the caller's, 0: nothing */
} pawl_node;

typedef struct pawl_node_list {
    const pawl_node *items; /* by id */
    size_t count;
} pawl_node_list;

/* The answer to a beat. */
typedef struct pawl_beat {
    size_t size;            /* set by the caller */
    int64_t now_ms;         /* by the clock of the store, when it answered */
    int64_t lease_until_ms; /* the new end */
    uint64_t moves;         /* as of pawl_lane_view: grew when there is something to adopt */
    uint32_t asked;
} pawl_beat;

#define PAWL_NODE_NAME_MAX  255         /* bytes, at least 1 */
#define PAWL_NODE_ABOUT_MAX (64 * 1024) /* bytes */

/*
 * Lanes side by side.  A shard is given to a lane by claim, give and bury; the lane begins to use
 * it with adopt, which puts it into `shards` of its fence.  Operations marked [keeper] come from
 * any thread, on any handle of the store, also one that is no lane.
 *
 * claim, give and leave are commits of the lane: the fence moves (C5), FENCED and trouble are as
 * of a commit (C6), and outcome() answers after UNKNOWN (no rounds; O1: the fence is as if the
 * call had returned OK).  After UNKNOWN all others may be repeated; a node_join with `again`.
 *
 * The caller promises: the label of a round's row is that of the instance; work has the label of
 * its instance; messages, work, entries, locks and queues that a round changes, needs or drops
 * have labels of the lane's shards, and so have the queues that it makes; before give and leave
 * nothing of these shards is in its memory but what it can forget.
 */
typedef struct pawl_shared_ops {
    size_t size;

    /* another [keeper]: one more handle of the same store, for another lane; closed by itself, in
     * any order.  It is no lane before it takes or joins.  NULL: not now, see reterr.  close()
     * does not end the lane of a handle: that is as if its process had died. */
    pawl_store *(*another)(pawl_store *s, pawl_error *reterr);

    /*
     * join [engine]: become a lane beside those that live.
     *   E1  The new epoch is greater than every epoch before, of any lane; durable on return.  The
     *       lane has no shards and a block of ids (E4); group_no is 0.  The others go on.  What
     *       this handle was before is over (E12, E13), and its shards have no lane.  A fence
     *       is used with the handle that gave it; with another it is FENCED.
     */
    pawl_status (*join)(pawl_store *s, uint64_t node, int64_t now_ms, pawl_fence *ret,
                        pawl_error *reterr);

    /*
     * claim [engine]: those of `wanted` that have no lane become this lane's; which is seen by
     * adopt.
     *   E2  A shard has at most one lane at any time.  A shard of another lane is not touched.
     */
    pawl_status (*claim)(pawl_store *s, pawl_fence *fence, uint64_t wanted, pawl_error *reterr);

    /*
     * adopt [engine]: begin to use all shards that are this lane's: fence->shards is all of them.
     * FENCED: the lane is over.  No commit: group_no stays.
     *   E3  Of the shards that were not in fence->shards before: what an earlier lane had taken
     *       (messages, work) is free; leases by token stay.  All that was committed for them
     *       before is seen from now on.  Nothing is adopted on failure.
     *   E4  An id is given to one lane only, ids of a lane grow, and after an adopt that brought
     *       shards next_id is above every id that a row of these shards has.
     */
    pawl_status (*adopt)(pawl_store *s, pawl_fence *fence, pawl_error *reterr);

    /* new_ids [engine]: there are at least half of PAWL_ID_BLOCK ids from now on; next_id and end_id
     * change as E4 has it.  No commit.  The caller asks in time: a commit that uses an id from
     * end_id on is misuse.  Of a lane that has been alone since it took, next_id stays: its ids go on without a gap. */
    pawl_status (*new_ids)(pawl_store *s, pawl_fence *fence, pawl_error *reterr);

    /*
     * What lanes see of each other.
     *   E5  Operations marked [engine] find rows of the lane's shards and no others: fetch_*,
     *       next_due, due_queues, list_work_names, read_named_work, purge and prune_executions
     *       (NOT_FOUND: it is elsewhere).  load and load_histories read rows of any shard.
     *   E6  CONFLICT (why: ELSEWHERE, or what C3 says) when the instance of a round, or that
     *       which it inserts, has a label that is not in fence->shards.
     *   E7  A message with PAWL_SHARD_LOOK gets the label of the instance it is for, by uid or by
     *       name, that was committed before the call or is made by an earlier round of it; when
     *       there is none: pawl_shard_of(instance).
     *   E8  Messages may have any label.  The label of each is in `shards` of the round's extra
     *       part; fence->mail has those that are not the lane's, of all rounds that were accepted.
     *       A message with the label of another lane is not taken.
     *   E9  The lane of its shard finds it: after a hint() that came after the commit, or before.
     *   E10  An update with `relabel` changes the label.  With that of another lane the message is
     *       free, found by that lane (E9), and fence->mail has it.
     *   E11  Two lanes that insert one id, of an instance, a message or an object (V1), at the same
     *       time: one is accepted, the other refused as by C3; neither waits for ever.
     */

    /* hint [engine]: others may have inserted messages for these shards, or made them free.  Never
     * trusted, only followed by a look: with any set, at any time, it changes no answer but E9. */
    void (*hint)(pawl_store *s, uint64_t shards);

    /*
     * give [engine]: `shards`, all in fence->shards, leave this lane; `heir`, the epoch of a lane
     * that lives, gets them; 0: they have no lane.
     *   E14  In one commit.  They are not in fence->shards any more; the heir has them with its next
     *       adopt.
     *   E15  CONFLICT when the heir does not live: nothing changed, the fence did not move.
     */
    pawl_status (*give)(pawl_store *s, pawl_fence *fence, uint64_t shards, uint64_t heir,
                        pawl_error *reterr);

    /* leave [engine]: give all shards to no lane, and end this lane.
     *   E16  In one commit, the last one of the lane: the epoch is over. */
    pawl_status (*leave)(pawl_store *s, pawl_fence *fence, pawl_error *reterr);

    /*
     * bury [keeper]: end the lane of this epoch, which is dead; its shards go to those that live.
     * NOT_FOUND: no such lane lives (any more); nothing changed.
     *   E12  Once it returned OK no commit of that lane happens: they are FENCED.
     *   E13  Every commit of it that happened is seen by the lane that adopts its shards.  A commit that was
     *       under way happened as a whole or never will (outcome() there: FENCED).
     *   E17  Each of its shards, the lowest first, goes to the lane that has the fewest then (of
     *       several: the lowest epoch); none lives: they have no lane.
     */
    pawl_status (*bury)(pawl_store *s, uint64_t epoch, int64_t now_ms, pawl_error *reterr);

    /* view [keeper]: which lanes live, and what each has.
     *   E18  As of one moment.  Every shard is in one of the lanes or in `free`. */
    pawl_status (*view)(pawl_store *s, pawl_mem *mem, pawl_lane_view *ret, pawl_error *reterr);

    /*
     * Nodes [keeper].  A node lives from node_join until it leaves or is buried.  Times are by
     * clock() of the store; where it has none, now_ms is the time.  NULL, all of them: lanes are
     * of no node.
     *
     * node_join: it begins to live, for lease_ms.
     *   E19  The id is greater than that of every node before; durable on return.  A name that
     *        lives is taken: EXISTS, and nothing changed; with `again` (the caller knows that its
     *        former self is dead), or when its lease is over, that one is buried in the same
     *        moment (E22).
     * node_beat: lease_ms more from now; `about` is replaced when it has a pointer.
     *   E20  FENCED when it does not live any more.  One whose lease is over and that is
     *        not buried yet lives on.
     * node_leave: it ends, with the lanes that it still has (E22).   NOT_FOUND: it was not there.
     * node_ask: the number is in the answers to its beats.   NOT_FOUND: it does not live.
     * bury_over: all nodes whose lease is over end; how many in *retcount.
     *   E21  A node whose beat returned OK is not buried before the end that the beat told.
     *   E22  The lanes of a node that ends are over (E12, E13), and the shards of all of them go
     *        to those that live (E17).  join() as a lane of a node that does not live is FENCED.
     * nodes: those that live.   E23  As of one moment, each as it was joined, beat and asked last.
     *   E24  take() is UNAVAILABLE, and changes nothing, while the lease of a node runs.
     */
    pawl_status (*node_join)(pawl_store *s, pawl_str name, pawl_str about, int64_t lease_ms,
                             bool again, int64_t now_ms, uint64_t *retid, pawl_error *reterr);
    pawl_status (*node_beat)(pawl_store *s, uint64_t id, pawl_str about, int64_t lease_ms,
                             int64_t now_ms, pawl_beat *ret, pawl_error *reterr);
    pawl_status (*node_leave)(pawl_store *s, uint64_t id, int64_t now_ms, pawl_error *reterr);
    pawl_status (*node_ask)(pawl_store *s, uint64_t id, uint32_t asked, pawl_error *reterr);
    pawl_status (*bury_over)(pawl_store *s, int64_t now_ms, uint32_t *retcount, pawl_error *reterr);
    pawl_status (*nodes)(pawl_store *s, pawl_mem *mem, pawl_node_list *ret, pawl_error *reterr);
} pawl_shared_ops;

#define PAWL_ID_BLOCK (1u << 20) /* ids that take, join, adopt and new_ids hand out at once */

/* ---- The operations ----------------------------------------------------- */

/* One question of the engine, and its answer (load). */
typedef struct pawl_wanted {
    uint64_t work; /* this work row; 0: an instance */
    uint64_t uid;  /* the instance; 0: by `id` */
    pawl_str id;
    pawl_str key;           /* has it remembered this key?  Empty: not asked */
    bool key_only;          /* with uid and key: the row itself is not wanted */
    pawl_status status;     /* out: OK, NOT_FOUND, or trouble; UNAVAILABLE before the call */
    pawl_status key_status; /* out, when there is a key and status is OK: as has_key; likewise */
    const pawl_row *row;    /* out, unless key_only: the instance, in `mem` */
    const pawl_work *item;  /* out: the work row, in `mem` */
} pawl_wanted;

/* An instance that comes into memory, and what is read for it (load_histories). */
typedef struct pawl_wanted_history {
    uint64_t uid;
    uint64_t execution;         /* the one that its row names */
    pawl_status status;         /* out: OK or trouble; UNAVAILABLE before the call */
    pawl_event_list events;     /* out: all of the execution, in `mem` */
    pawl_message_list messages; /* out: all of the instance, in `mem` */
} pawl_wanted_history;

typedef struct pawl_store_ops {
    size_t size;      /* sizeof(pawl_store_ops) the store was built with */
    uint32_t abi;     /* PAWL_STORE_ABI */
    const char *name; /* "sqlite", "memory", … */

    void (*caps)(pawl_store *s, pawl_store_caps *ret);

    /*
     * take [engine]: become the owner.
     *   T1  The new epoch is greater than every epoch before; durable on return.
     *   T2  next_id is above every id ever committed.
     *   T3  What an earlier epoch had taken (messages, work) is free again;
     *       leases by token (lock_token) stay until lock_until_ms.
     *   T4  Commits with an older epoch are FENCED from now on.
     *   T5  group_no is that of the last commit: take() does not move it.
     *   T6  A shared store has this lane alone now, and it owns every shard: all other lanes are
     *       over, and what they had taken is free (T3).  group_no is not below that of any lane
     *       before; next_id and end_id are as after an adopt (E4), and next_id goes on where the
     *       lane before ended if it was alone.  UNAVAILABLE, and nothing changed, while the store
     *       sees the process of another lane alive.
     */
    pawl_status (*take)(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr);

    /*
     * commit [engine]: apply rounds in order, durable together.
     *   C1  A round is all or nothing.
     *   C2  A refused round (result CONFLICT) does not affect the others: they
     *       are committed.
     *   C3  CONFLICT when the instance is missing, (execution, last_seq) differs
     *       from (execution, base_seq), an inserted uid or id exists, an inserted
     *       message, work or event id exists, a need_work row is missing, or an
     *       event does not continue the sequence.  Earlier rounds of the commit
     *       count, and so does the same id twice in one round.
     *   C4  On PAWL_OK everything not refused survives power loss.
     *   C5  The fence moves with the commit: group_no + 1, next_id as given; the
     *       caller's fence struct is updated; also with no rounds, or when all
     *       were refused.  Only the newest epoch may commit: others get FENCED
     *       and nothing changes.
     *   C6  BUSY, DISK_FULL, UNAVAILABLE, NO_MEMORY: nothing of it happened.
     *       UNKNOWN: all of it or nothing; outcome() tells which, or group_no of the next
     *       take().
     *       NOT_FOUND: the store is no longer where it was opened (deleted, moved,
     *       replaced); the caller must not report success to anyone.  The store then
     *       stays unusable, for reads too (UNAVAILABLE), until it is opened again.
     *   C7  Inserted messages and work with lock_epoch = epoch count as taken;
     *       inserted messages always count as taken (the committer has them in
     *       memory), unless visible_ms lies in the future, or the shard is another lane's (E8).
     *   C8  work is inserted before drop_work is applied, messages before
     *       drop_messages: both in one round leave no row.  An update, drop
     *       or quarantine of a missing row is no error.  A message that was dropped
     *       in an earlier commit may be inserted again with its id.
     *   C9  REMOVE frees the id at once: a new instance of that id has nothing
     *       of the old one, even while the old rows are not yet purged.  find*, list and
     *       read_history see nothing of a removed instance; its messages and
     *       work may still be fetched until purged.  Messages by name (uid 0)
     *       belong to no instance and stay.
     *   C10  `why` of a refused round is a cause that is there, or UNKNOWN.
     */
    pawl_status (*commit)(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                          int64_t now_ms, pawl_error *reterr);

    /*
     * outcome [engine]: what became of the commit, purge or prune_executions that returned
     * UNKNOWN.  It is the next writing call after it, with the same fence, rounds, count and
     * now_ms, untouched (purge, prune_executions: no rounds).  The caller repeats it until it
     * is answered, and commits nothing before that.
     *   O1  PAWL_OK with *retcommitted true: it happened.  Fence, results and what counts as
     *       taken are as if commit had returned OK (C2, C4, C5, C7).
     *   O2  PAWL_OK with *retcommitted false: it did not happen and never will.  The fence is
     *       as it was.
     *   O3  BUSY, DISK_FULL, UNAVAILABLE, NO_MEMORY: not known yet; nothing changed.
     *   O4  FENCED: another process owns the store.  UNKNOWN: this process cannot find it
     *       out.  The caller stops without an answer to anyone; group_no of the next take()
     *       tells.
     * A guess is never an answer: a store that trusts a read which a failed sync may have
     * made false loses what it acknowledged.  NULL: always UNKNOWN.
     */
    pawl_status (*outcome)(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                           int64_t now_ms, bool *retcommitted, pawl_error *reterr);

    /*
     * Of a shared store every operation marked [engine] is about the rows of the lane's shards
     * alone (E5); those marked [reader] see all.
     *
     * fetch_messages [engine]: take visible messages, oldest first.
     *   M1  Returned: visible_ms <= now_ms, not mailbox, not taken; by
     *       (visible_ms, id).  They are taken until dropped, updated, abandoned,
     *       or the next take().
     *   M2  An empty list means there is no such message.
     *   M3  Never a message before its visible_ms.
     *   M4  A message of an unknown instance is returned like any other.
     *   M5  An undecodable row is moved to the quarantine, not returned, not lost.
     */
    pawl_status (*fetch_messages)(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                  pawl_message_list *ret, pawl_error *reterr);

    /*
     * fetch_work [engine]: take visible work for the activities named (none: any).
     *   W1  Returned: visible_ms <= now_ms, not taken, no live lease; oldest id
     *       first.  Taken until deleted, updated, abandoned, or the next take().
     *       Fetching changes no row: lock_epoch comes back as stored.
     *   W2  An empty list means there is no such work.
     *   W3  Never work before its visible_ms.
     */
    pawl_status (*fetch_work)(pawl_store *s, int64_t now_ms, const pawl_str *names,
                              size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                              pawl_error *reterr);

    /* fetch_deadlines [engine]: work with 0 < deadline_ms <= now_ms, taken or
     * not, oldest deadline first.  Takes nothing.
     *   D1  Taken and leased rows are returned too.   */
    pawl_status (*fetch_deadlines)(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                   pawl_work_list *ret, pawl_error *reterr);

    /* abandon [engine]: give taken rows back, visible at once.
     *   A1  The next fetch returns them.   A2  Unknown ids are no error. */
    void (*abandon_messages)(pawl_store *s, const uint64_t *ids, size_t count);
    void (*abandon_work)(pawl_store *s, const uint64_t *ids, size_t count);

    /* next_due [engine]: the smallest future time at which something becomes
     * visible (message or work) or due (deadline); INT64_MAX when nothing does.
     *   N1  Only times > after_ms count.   N2  Mailbox and dropped rows do not
     *       count; taken rows may.  The end of a lease does not: set deadline_ms. */
    pawl_status (*next_due)(pawl_store *s, int64_t after_ms, int64_t *ret, pawl_error *reterr);

    /* find [reader]: an instance by id.   find_uid: by uid.
     *   R1  NOT_FOUND when there is none, or it was removed. */
    pawl_status (*find)(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret,
                        pawl_error *reterr);
    pawl_status (*find_uid)(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                            pawl_error *reterr);
    /* find_execution [reader]: the row as it was when that execution closed, or as it is.
     *   R2  A closed execution has state CONTINUED_AS_NEW and its own last_seq,
     *       first_rid, version (the row's before the round that closed it; if that
     *       was empty, the one after). */
    pawl_status (*find_execution)(pawl_store *s, uint64_t uid, uint64_t execution, pawl_mem *mem,
                                  pawl_row *ret, pawl_error *reterr);

    /* read_history [reader]: events with seq > after_seq, at most limit (0: all).
     *   H1  In order, without gaps, exactly what was appended.
     *   H2  An execution that was never written has no events.
     *   H3  CORRUPT, naming the row, when a stored row does not fit its neighbours. */
    pawl_status (*read_history)(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                                uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                                pawl_error *reterr);
    /* read_event [reader]: one event by rid.
     *   H4  NOT_FOUND when there is none. */
    pawl_status (*read_event)(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                              pawl_error *reterr);

    /* read_messages [reader]: every message row of an instance, by (visible_ms, id):
     * mailbox, ready, delayed, taken.  With uid 0: those addressed to
     * `instance` by name; with uid 0 and an empty instance: all of those.
     *   R3  All of them, with every field as it was committed. */
    pawl_status (*read_messages)(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                 pawl_message_list *ret, pawl_error *reterr);
    /* read_work [reader]: the rows that exist among these ids.
     *   R4  In the order asked, with every field as it was committed. */
    pawl_status (*read_work)(pawl_store *s, const uint64_t *ids, size_t count, pawl_mem *mem,
                             pawl_work_list *ret, pawl_error *reterr);
    /* has_key [reader]: PAWL_OK when the key was remembered for the instance, else EMPTY.
     *   R5  Per instance, until it is removed; remembering twice is no error. */
    pawl_status (*has_key)(pawl_store *s, uint64_t uid, pawl_str key, pawl_error *reterr);

    /* list [reader]: instances, newest uid first.
     *   L1  Examines at most 10,000 rows; a short page then has next_uid.
     *   L2  Every condition given holds for every row returned; following next_uid
     *       gives each matching row once. */
    pawl_status (*list)(pawl_store *s, const pawl_row_query *query, pawl_mem *mem,
                        pawl_row_list *ret, pawl_error *reterr);
    /* depths [reader].
     *   L3  Counts of the rows that exist; with slow_counts a count above 10,000 may be an
     *       estimate. */
    pawl_status (*depths)(pawl_store *s, int64_t now_ms, pawl_depths *ret, pawl_error *reterr);
    /* read_quarantine [reader]: quarantined messages, newest first, each with its `name`
     * and `data`; `attrs` holds {"reason":…}.
     *   Q1  A quarantined message is here, with its bytes, and nowhere else. */
    pawl_status (*read_quarantine)(pawl_store *s, uint32_t limit, pawl_mem *mem,
                                   pawl_message_list *ret, pawl_error *reterr);

    /* purge [engine]: delete up to `limit` rows of removed instances, one commit.
     * An event counts as one with the work or the timer that has its rid.
     *   P1  *retleft says whether more is left.   P2  Nothing of a living
     *       instance is touched.   P3  The fence moves as with a commit (C5). */
    pawl_status (*purge)(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                         pawl_error *reterr);
    /* prune_executions [engine]: mark the history of closed executions below
     * `before_execution` for purge; how many in *retcount.
     *   X1  Readers see nothing of them from now on; their rows go with purge.
     *   X2  The current execution is never touched.   X3  As P3. */
    pawl_status (*prune_executions)(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                    uint64_t before_execution, uint64_t *retcount,
                                    pawl_error *reterr);

    /* space [engine]: PAWL_OK, or DISK_FULL while the reserve is spent: then the caller
     * refuses new work and commits only acks and completions. */
    pawl_status (*space)(pawl_store *s);

    void (*close)(pawl_store *s);

    const pawl_queue_ops *queues; /* NULL: this store has none */

    /* Figures for metrics and the log, from any thread; cheap.  NULL: there are none. */
    void (*figures)(pawl_store *s, pawl_store_figures *ret);

    /*
     * load [engine]: the answers to all these questions, in one call.  A store behind a
     * network needs one round trip for them.
     *   B1  Each is answered as find, find_uid, has_key and read_work would answer it alone.
     *   B2  A row that is damaged (CORRUPT) is its own affair: the others are answered.
     *   B3  A store that does not answer may stop there; so may one whose answers take more
     *       than max_bytes.  What it leaves out stays UNAVAILABLE, and is asked for alone.
     * Any result but PAWL_OK: none is answered.  NULL: they are asked one by one.
     */
    pawl_status (*load)(pawl_store *s, pawl_wanted *wanted, size_t count, size_t max_bytes,
                        pawl_mem *mem, pawl_error *reterr);

    const pawl_upkeep_ops *upkeep; /* NULL: this store has none */

    /* read_object [reader]: one by its name.   V4  As it was put; NOT_FOUND when there is none. */
    pawl_status (*read_object)(pawl_store *s, int kind, pawl_str name, pawl_mem *mem,
                               pawl_object *ret, pawl_error *reterr);
    /* list_objects [reader]: names with the prefix, after `after`, in byte order; at most `limit`,
     * which is at most 1,000.
     *   V5  Each once, all of them over the pages; a page shorter than the limit is the last. */
    pawl_status (*list_objects)(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                                uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                                pawl_error *reterr);

    /* search [reader]: as list, with more conditions.  NULL: rows are compared by the caller.
     *   L4  L1 and L2 hold.
     *   L5  `examined` counts the rows that were compared; a prefix alone finds its rows by
     *       their ids, as long as at most 10,000 begin with it.
     *   L6  `text` occurs in the id, the orchestration, the custom status or the finding, or in
     *       the output of one that failed or was cancelled; `error` in the output of one that
     *       failed or was cancelled, or in the finding of one that is blocked.  ASCII letters
     *       match in either case, all other bytes as they are.
     *   L7  Every condition of `where` holds for the attributes of every row (pawl/attribute.h).
     *       A store with an index goes along the first EQ, else along the first range that has
     *       at most 10,000 entries; `examined` counts entries, then. */
    pawl_status (*search)(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                          pawl_error *reterr);

    /*
     * load_histories [engine]: the histories and the messages of all these instances, in one
     * call.  A store behind a network needs one round trip for them.
     *   B4  Each is answered as read_history, from the first event, and read_messages would
     *       answer it alone.
     *   B5  One that cannot be read, or is damaged, is its own affair; and a store may leave out
     *       those whose answers take more than max_bytes.  Their status is not OK, and each is
     *       read alone when it is needed.
     * Any result but PAWL_OK: none is answered.  NULL: each is read when it is needed, which is
     * as good where a read costs no round trip.
     */
    pawl_status (*load_histories)(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                                  size_t max_bytes, pawl_mem *mem, pawl_error *reterr);

    /*
     * clock [reader]: the time, in ms since 1970, by the one clock of a store that processes on
     * several machines own in turn.  The engine then gives this time as now_ms, and lets its own
     * monotonic clock run on between two calls.
     *   J1  *ret is what that clock showed at some moment between call and return.
     *   J2  It is the same clock for every process, and goes on while none has the store open.
     *   J3  A call changes nothing.  UNAVAILABLE and the like: it is not known now.
     * NULL: the store has none, and the caller's clock counts.
     */
    pawl_status (*clock)(pawl_store *s, int64_t *ret, pawl_error *reterr);

    /*
     * Names that work is filed under, for an engine that has just taken the store.  NULL: the store
     * has neither, and work is handed out in the order of its ids (S41).
     *
     * list_work_names [engine]: names of work rows after `after`, in byte order, at most `limit`.
     *   W4  Each name with a row that the engine has not taken, once; a page shorter than the limit
     *       is the last.
     * read_named_work [engine]: rows of one name that are not free at now_ms: not visible yet, or leased;
     * those that get free first come first, at most `limit`.  Takes nothing.
     *   W5  All of them, with every field as it was committed.
     */
    pawl_status (*list_work_names)(pawl_store *s, pawl_str after, uint32_t limit, pawl_mem *mem,
                                   pawl_text_list *ret, pawl_error *reterr);
    pawl_status (*read_named_work)(pawl_store *s, pawl_str name, int64_t now_ms, uint32_t limit,
                                   pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr);

    /*
     * count_values [reader]: the values of the attribute `name`, each with the number of instances
     * that have it, along the index (G2): no row of an instance is read.  NULL: rows are counted by
     * the caller.
     *   L8  Values in the order of their keys, each once; at most max_values, the first ones.  As of
     *       one snapshot.  After max_entries entries it stops; counts are too small then.
     */
    pawl_status (*count_values)(pawl_store *s, pawl_str name, uint32_t max_values,
                                uint64_t max_entries, pawl_mem *mem, pawl_value_counts *ret,
                                pawl_error *reterr);

    const pawl_shared_ops *shared; /* capability `shared`; else NULL */
} pawl_store_ops;

/* Base object: a store embeds it as its first member. */
struct pawl_store {
    const pawl_store_ops *ops;
};

typedef struct pawl_store_open_opts {
    size_t size; /* set by PAWL_STORE_OPTS */
    bool read_only;
    int64_t now_ms; /* for the schema's own rows */
    /* Of a store on a database server, where no lock of a directory says it: */
    bool must_exist; /* a schema that is not there is NOT_FOUND; else it is made */
    bool alone;      /* UNAVAILABLE while another process has it open with `alone` */
} pawl_store_open_opts;

#define PAWL_STORE_OPTS(...) PAWL_LEND(pawl_store_open_opts, __VA_ARGS__)

/* In memory.  It lives until close, so you can close a runtime and open another on it. */
PAWL_API pawl_store *pawl_memory_store(void);
/* A database file in an existing directory; locks `DIR/lock`, keeps `DIR/reserve`. */
PAWL_API pawl_store *pawl_sqlite_store(const char *file, const pawl_store_open_opts *opts,
                                       pawl_error *reterr);
/* A directory of plain text files (docs/internals/jsonl.md); made when missing.  For small
 * stores: it also keeps everything in memory. */
PAWL_API pawl_store *pawl_jsonl_store(const char *root, const pawl_store_open_opts *opts,
                                      pawl_error *reterr);
/* A schema in a PostgreSQL database (docs/guide/postgres.md): postgres://USER@HOST/DATABASE as libpq
 * reads it, and pawl_schema=NAME, pawl_allow_lossy=1, pawl_prepare=off, pawl_pooler=transaction. */
PAWL_API pawl_store *pawl_postgres_store(const char *url, const pawl_store_open_opts *opts,
                                         pawl_error *reterr);
/* Any of them by its URL: sqlite:FILE, jsonl:DIR, memory: or postgres://… */
PAWL_API pawl_store *pawl_store_open(const char *url, const pawl_store_open_opts *opts,
                                     pawl_error *reterr);

#ifdef __cplusplus
}
#endif
#endif
