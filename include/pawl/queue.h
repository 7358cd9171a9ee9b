/* SPDX-License-Identifier: MIT */
/*
 * pawl/queue.h -- durable priority queues.
 *
 * The first push creates a queue.  Items come out lowest priority number first, oldest
 * first within a priority.  A plain pop removes them for good (at most once).  A pop with
 * require_ack locks them: acknowledged in time they are gone, otherwise they return to
 * their old place (at least once).  By default a queue has one lock at a time, and every
 * pop meanwhile returns PAWL_CONFLICT; config max_locks allows competing consumers.
 *
 * Safe from any thread and from activities; inside an orchestration use
 * pawl_queue_push() and pawl_queue_pop().  A returned PAWL_OK means durable.  Writing
 * calls share commits with orchestrations; reading calls never wait for
 * the engine.  Stores without queues (jsonl) return PAWL_UNSUPPORTED.
 *
 * Memory: what you pass is copied.  What is returned lives in the pawl_mem you pass, or
 * during the callback.  Payload bytes are returned exactly as given.
 */
#ifndef PAWL_QUEUE_H
#define PAWL_QUEUE_H

#include "pawl/client.h"
#include "pawl/orchestration.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_QUEUE_PUSH_MAX    1000                  /* items of one push */
#define PAWL_QUEUE_POP_MAX     100                   /* items of one pop */
#define PAWL_QUEUE_POP_BYTES   ((size_t)4 << 20)     /* of one pop, roughly; at least one item */
#define PAWL_QUEUE_LOCKS_MAX   100                   /* lock ids of one call */
#define PAWL_QUEUE_ITEM_BYTES  ((size_t)1024 * 1024) /* one item, with its headers */
#define PAWL_QUEUE_DEDUP_BYTES 128                   /* a dedup id */
#define PAWL_QUEUE_GROUP_BYTES 128                   /* a group */
#define PAWL_QUEUE_DELAY_MAX   PAWL_SECONDS(604800)  /* 7 days */
#define PAWL_QUEUE_TTL_MIN     PAWL_SECONDS(1)       /* of a lock; shorter times become this */
#define PAWL_QUEUE_TTL_MAX     PAWL_SECONDS(300)     /* of a lock; longer times become this */
#define PAWL_QUEUE_WAIT_MAX    PAWL_SECONDS(30)      /* of a pop; longer times become this */
#define PAWL_QUEUE_LOCK_CHARS  11                    /* of a lock id: [A-Za-z0-9_-] */

/* ---- Configuration -------------------------------------------------------- */

/* Begin with pawl_queue_config_default(); the comments give its values. */
typedef struct pawl_queue_config {
    size_t size;                /* set by pawl_queue_config_default() */
    uint32_t max_locks;         /* 1; 0: no limit */
    uint32_t max_deliveries;    /* 0: no limit; then the item goes to the dead letter queue */
    int64_t default_ttl_ms;     /* 30,000 */
    int64_t max_lock_ms;        /* 43,200,000: life of a lock with all its extensions */
    bool expire_to_back;        /* false: expired items return to their place */
    pawl_str dead_letter_queue; /* empty: NAME-deadletter */
    const int64_t
        *retry_backoff; /* ms that an item waits after its 1st, 2nd, … lost or released lock */
    size_t retry_backoff_count; /* 0..16; the last one repeats */
    int64_t dedup_window_ms;    /* 300,000 */
    int64_t message_ttl_ms;     /* 0: for ever */
    bool dead_letter_expired;   /* items past their ttl: dead letter instead of dropped */
    uint64_t max_length;        /* 0: no limit; over it a push is PAWL_BUSY */
    uint64_t max_bytes;         /* 0: no limit; likewise */
    int64_t default_priority;   /* 0 */
    pawl_str orchestration;     /* bound: started for each message (PAWL_QUEUE_BIND) */
    pawl_str version;           /* of it; empty: the latest */
    bool groups;                /* items of one group keep their order: one of them is out at a
                                 * time.  Not for a bound queue, whose instances run side by side */
} pawl_queue_config;

PAWL_SIZED pawl_queue_config pawl_queue_config_default(void);

/* Settings, for a request that changes only some (pawl_queue_request.settings). */
typedef enum pawl_queue_setting {
    PAWL_QUEUE_SET_MAX_LOCKS = 1 << 0,
    PAWL_QUEUE_SET_MAX_DELIVERIES = 1 << 1,
    PAWL_QUEUE_SET_DEFAULT_TTL = 1 << 2,
    PAWL_QUEUE_SET_MAX_LOCK = 1 << 3,
    PAWL_QUEUE_SET_EXPIRE_TO_BACK = 1 << 4,
    PAWL_QUEUE_SET_DEAD_LETTER_QUEUE = 1 << 5,
    PAWL_QUEUE_SET_RETRY_BACKOFF = 1 << 6,
    PAWL_QUEUE_SET_DEDUP_WINDOW = 1 << 7,
    PAWL_QUEUE_SET_MESSAGE_TTL = 1 << 8,
    PAWL_QUEUE_SET_DEAD_LETTER_EXPIRED = 1 << 9,
    PAWL_QUEUE_SET_MAX_LENGTH = 1 << 10,
    PAWL_QUEUE_SET_MAX_BYTES = 1 << 11,
    PAWL_QUEUE_SET_DEFAULT_PRIORITY = 1 << 12,
    PAWL_QUEUE_SET_ORCHESTRATION = 1 << 13,
    PAWL_QUEUE_SET_VERSION = 1 << 14,
    PAWL_QUEUE_SET_GROUPS = 1 << 15,
} pawl_queue_setting;

/* ---- Requests --------------------------------------------------------------- */

typedef enum pawl_queue_op {
    PAWL_QUEUE_PUSH,       /* items: all of them or none */
    PAWL_QUEUE_POP,        /* require_ack, ttl_ms, count, wait_ms, max_priority */
    PAWL_QUEUE_ACK,        /* lock_ids: all items of these locks are done */
    PAWL_QUEUE_EXTEND,     /* lock_ids, and extend_ms (from the old end) or ttl_ms (from now) */
    PAWL_QUEUE_RELEASE,    /* lock_ids, delay_ms, reason: give the items back early */
    PAWL_QUEUE_DEADLETTER, /* lock_ids, reason */
    PAWL_QUEUE_REDRIVE,    /* move dead letters back: max, target; `queue` holds them */
    PAWL_QUEUE_PURGE,      /* ready and delayed items, of one priority if has_priority */
    PAWL_QUEUE_PAUSE,      /* pops find nothing; pushes still work */
    PAWL_QUEUE_RESUME,     /* */
    PAWL_QUEUE_CONFIGURE,  /* config: replaces all of it, or only `settings` */
    PAWL_QUEUE_DELETE,     /* message: revoke one; PAWL_CONFLICT while it is locked */
    PAWL_QUEUE_BIND,       /* orchestration, version: start one for each message; the instance
                            * id is queue~NAME~MESSAGE (reserved for this); NULL: unbind */
    PAWL_QUEUE_REMOVE,     /* force: remove the queue itself, its configuration and counters.  A
                            * queue with messages, also locked ones, is PAWL_CONFLICT without
                            * force; with it all of them go at once.  Waiting pops get an empty
                            * reply; the dead letter queue stays; a later push makes a new
                            * queue, which does not know earlier dedup ids and lock ids */
} pawl_queue_op;

/* What is pushed. */
typedef struct pawl_queue_item {
    pawl_str data;
    int64_t priority;          /* >= 0 */
    bool use_default_priority; /* take default_priority of the configuration instead */
    pawl_str dedup_id;         /* 1..128 bytes; the same id within the window adds no item */
    int64_t delay_ms;          /* deliver it only after this; 0..7 days */
    int64_t deliver_at_ms; /* the same as a time since 1970; 0: not used; at most 7 days ahead */
    int64_t expires_in_ms; /* 0: by the configuration */
    pawl_str group;   /* stored and returned with the item; at most 128 bytes.  Order: `groups` */
    pawl_str headers; /* stored and returned: a JSON object, or empty */
} pawl_queue_item;

/* One writing call as data.  Pawl ignores the fields that `op` does not use. */
typedef struct pawl_queue_request {
    size_t size; /* set by PAWL_QUEUE_REQUEST */
    pawl_queue_op op;
    const char *queue;            /* 1..255 bytes of UTF-8, no '/' or control characters */
    const pawl_queue_item *items; /* push: 1..1000 */
    size_t item_count;
    const char *const *lock_ids; /* ack, extend, release, deadletter: 1..100 */
    size_t lock_count;
    bool require_ack;         /* pop */
    int64_t ttl_ms;           /* pop, extend: 0: default; else clamped to 1..300 s */
    uint32_t count;           /* pop: the most items, 1..100; 0: 1.  The reply may have fewer
                               * although there are more: see PAWL_QUEUE_POP_BYTES */
    int64_t wait_ms;          /* pop: how long to wait for an item; clamped to 0..30 s */
    bool has_priority;        /* pop, purge: `priority` is given */
    int64_t priority;         /* pop: no item above it; purge: only this one */
    int64_t extend_ms;        /* extend: 1..300 s from the old end; 0: use ttl_ms */
    int64_t delay_ms;         /* release: 0..7 days; 0 without has_delay: by retry_backoff */
    const char *reason;       /* release, deadletter: kept with the item; at most 4,096 bytes */
    uint64_t max;             /* redrive: the most items; 0: all there are now */
    uint32_t rate_per_second; /* redrive: the items become due at this rate; 0: at once */
    const char *target;       /* redrive: a queue; NULL: where each came from */
    uint64_t message;         /* delete: its id */
    const pawl_queue_config *config;
    const char *orchestration; /* bind */
    const char *version;       /* bind */
    const char *key;           /* makes it safe to repeat a call whose answer was lost; NULL:
                                * none.  A repeated pop with require_ack releases what the first
                                * one locked and pops again; a repeated ack succeeds; a push with
                                * the key of an earlier one in the window but with other items is
                                * PAWL_CONFLICT (dedup ids make the same items one). */
    bool has_delay;            /* release: use delay_ms, also when it is 0 */
    bool some;                 /* configure: only `settings` are changed */
    uint32_t settings;         /* configure: of pawl_queue_setting */
    bool force;                /* remove: also when it has messages */
} pawl_queue_request;

#define PAWL_QUEUE_REQUEST(...) PAWL_LEND(pawl_queue_request, __VA_ARGS__)

/* ---- Replies ---------------------------------------------------------------- */

typedef enum pawl_queue_state {
    PAWL_QUEUE_READY = 0,
    PAWL_QUEUE_DELAYED = 1,
    PAWL_QUEUE_LOCKED = 2,
} pawl_queue_state;

typedef struct pawl_queue_message {
    uint64_t id;
    pawl_str data;
    int64_t priority;
    uint32_t delivery_count; /* this pop included */
    pawl_queue_state state;
    int64_t enqueued_ms;
    int64_t visible_ms; /* delayed: until then; else 0 */
    int64_t expires_ms; /* 0: never */
    pawl_str group;
    pawl_str headers;
    pawl_str source;  /* in a dead letter queue: the queue it came from */
    pawl_str reason;  /* why it was dead-lettered or last released */
    int64_t died_ms;  /* when it was dead-lettered; 0: it was not */
    pawl_str lock_id; /* pop with require_ack: of this item alone, LOCK.ID, for a partial
                       * ack, release or deadletter; browse: empty */
} pawl_queue_message;

typedef struct pawl_queue_pushed {
    uint64_t id;      /* for a duplicate: the id of the first one */
    int64_t priority; /* as stored */
    bool duplicate;
} pawl_queue_pushed;

/* What became of one lock id of the request. */
typedef struct pawl_queue_outcome {
    pawl_str lock_id;   /* as given */
    pawl_status status; /* PAWL_OK, LOST, INVALID or NOT_FOUND: see below */
    uint64_t items;     /* how many it concerned */
    int64_t expires_ms; /* extend: the new end */
} pawl_queue_outcome;

/*
 * The answer.  `status` is PAWL_OK (also for an empty pop: count 0), or
 *   PAWL_CONFLICT     pop: locked until locked_until_ms (HTTP 423); delete: it is locked;
 *                     remove: it has messages
 *   PAWL_LOST         the lock has run out; its items are back in the queue (410)
 *   PAWL_INVALID      a lock is active, but this is not its id (400); bad arguments
 *   PAWL_NOT_FOUND    no lock is active at all (404); no such message; remove: no such queue
 *   PAWL_BUSY         push: the queue is full: max_length or max_bytes (429)
 *   PAWL_LIMIT        over a fixed limit; a retry does not help (413)
 *   PAWL_UNSUPPORTED  the store has no queues (501)
 *   and DISK_FULL (507), SHUTDOWN (503), NO_MEMORY … as everywhere.
 * Each of several lock ids is done or refused by itself: `outcomes` has them, and
 * `status` is that of the first one refused.
 */
typedef struct pawl_queue_reply {
    pawl_status status;
    uint64_t count; /* items pushed, popped, acked, released, moved, purged, removed */
    const pawl_queue_pushed *pushed;    /* push: one for each item, in order */
    size_t pushed_count;                /* */
    const pawl_queue_message *messages; /* pop: in order; delete: the one removed */
    size_t message_count;               /* */
    const pawl_queue_outcome *outcomes; /* one for each lock id, in order */
    size_t outcome_count;
    bool locked;             /* pop: a lock was made */
    pawl_str lock_id;        /* pop: its id */
    int64_t locked_until_ms; /* pop: its end; with CONFLICT: the earliest end of a lock;
                              * extend: the new end (of the first lock id) */
    pawl_str target;         /* deadletter: the queue it went to */
    pawl_str warning;        /* configure, bind: done, but that orchestration is not registered;
                              * redrive: what stays, because its source queue is full */
    const pawl_queue_config *config; /* configure, bind: as it is now */
    pawl_error error;                /* filled in when status is not PAWL_OK */
    bool more;                       /* another reply to the same `fn` follows at once: you may
                                      * delay waking your thread until the last */
} pawl_queue_reply;

/* Runs after the commit or refusal, on the engine thread or on the thread of a server
 * (pawl/server.h), which commits requests on queues itself.  Be brief and do not block.  `reply` and what it points
 * to are valid during the call. */
typedef void pawl_queue_reply_fn(void *arg, const pawl_queue_reply *reply);

/* Submit a request; `fn(arg, reply)` is called exactly once, also at shutdown.  Any return
 * other than PAWL_OK means that the request was refused at once and `fn` is never called.
 * A pop with wait_ms occupies no thread. */
PAWL_SIZED pawl_status pawl_queue_submit(pawl_client *c, const pawl_queue_request *request,
                                         pawl_queue_reply_fn *fn, void *arg,
                                         pawl_error *reterr) PAWL_MUST_USE;
/* The same, but waits for the answer; returns ret->status. */
PAWL_SIZED pawl_status pawl_queue_call(pawl_client *c, const pawl_queue_request *request,
                                       pawl_mem *mem, pawl_queue_reply *ret) PAWL_MUST_USE;

/* The everyday calls.  `opts` and `retid` may be NULL. */
PAWL_SIZED pawl_status pawl_client_push(pawl_client *c, const char *queue, pawl_str data,
                                        const pawl_queue_item *opts, uint64_t *retid,
                                        pawl_error *reterr) PAWL_MUST_USE;
/* Remove one item for good; PAWL_EMPTY when there is none after wait_ms. */
PAWL_SIZED pawl_status pawl_client_pop(pawl_client *c, const char *queue, int64_t wait_ms,
                                       pawl_mem *mem, pawl_queue_message *ret,
                                       pawl_error *reterr) PAWL_MUST_USE;
/* One item under a lock of ttl_ms (0: default); ret->lock_id acknowledges it. */
PAWL_SIZED pawl_status pawl_client_pop_locked(pawl_client *c, const char *queue, int64_t ttl_ms,
                                              int64_t wait_ms, pawl_mem *mem,
                                              pawl_queue_message *ret,
                                              pawl_error *reterr) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_ack(pawl_client *c, const char *queue, const char *lock_id,
                                     pawl_error *reterr) PAWL_MUST_USE;

/* ---- Looking ---------------------------------------------------------------- */

typedef struct pawl_queue_level {
    int64_t priority;
    uint64_t ready;
} pawl_queue_level;

typedef struct pawl_queue_stats {
    pawl_str name;
    bool paused;
    int64_t created_ms;
    uint64_t ready, delayed, locked; /* items */
    uint64_t locks;                  /* live */
    uint64_t bytes;                  /* of all its items */
    int64_t oldest_ms;               /* when the first ready item was enqueued; 0: none */
    uint64_t pushed, popped, acked, expired, released; /* items, ever */
    uint64_t dead_lettered, dropped, purged, duplicates, redriven, started;
    uint64_t id_taken; /* bound: dead letters because their instance id was taken */
    pawl_str warning;  /* bound to an orchestration not registered here; not filled in by list */
    const pawl_queue_level *levels; /* lowest first, at most 1,000; not filled in by list */
    size_t level_count;
    pawl_queue_config config;
} pawl_queue_stats;

/* Counts and configuration.  PAWL_NOT_FOUND: it was never pushed to or configured. */
PAWL_SIZED pawl_status pawl_queue_get_stats(pawl_client *c, const char *queue, pawl_mem *mem,
                                            pawl_queue_stats *ret,
                                            pawl_error *reterr) PAWL_MUST_USE;
/* A queue that does not exist has the default configuration. */
PAWL_SIZED pawl_status pawl_queue_get_config(pawl_client *c, const char *queue, pawl_mem *mem,
                                             pawl_queue_config *ret,
                                             pawl_error *reterr) PAWL_MUST_USE;

typedef struct pawl_queue_page {
    const pawl_queue_stats *items; /* by name */
    size_t count;
    pawl_str next; /* pass it as `after`; empty on the last page */
} pawl_queue_page;

/* `prefix` and `after` may be NULL; limit 1..1000, 0: 100. */
PAWL_SIZED pawl_status pawl_queue_list(pawl_client *c, const char *prefix, const char *after,
                                       uint32_t limit, pawl_mem *mem, pawl_queue_page *ret,
                                       pawl_error *reterr) PAWL_MUST_USE;

typedef struct pawl_queue_browse {
    size_t size;       /* set by PAWL_QUEUE_BROWSE */
    uint64_t after;    /* always 0: an id does not name a place in the order of delivery */
    uint32_t limit;    /* 1..1000; 0: 100 */
    int state;         /* a pawl_queue_state + 1; 0: any */
    bool has_priority; /* only this priority */
    int64_t priority;
    const char *cursor; /* `cursor` of the previous page; NULL: the first page */
} pawl_queue_browse;

#define PAWL_QUEUE_BROWSE(...) PAWL_LEND(pawl_queue_browse, __VA_ARGS__)

typedef struct pawl_queue_messages {
    const pawl_queue_message *items; /* in the order of delivery */
    size_t count;
    uint64_t next;   /* 0: the last page; a short or even empty page may not be the last */
    pawl_str cursor; /* when there is more: pass it as `cursor` */
} pawl_queue_messages;

/*
 * Read messages without changing them, in the order of delivery: first the ready ones, as
 * pops would return them; then the delayed ones, by the time they become ready; last the
 * locked ones, lock by lock.
 *
 * A cursor is a place in that order, not a message.  A message whose state does not change
 * while you read the pages is seen exactly once, however other messages change; one
 * that becomes ready, is locked or returns meanwhile may be seen twice or not at all.  The
 * form of a cursor is private.  PAWL_INVALID: it is not a cursor, or `after` is not 0.
 */
PAWL_SIZED pawl_status pawl_queue_browse_messages(pawl_client *c, const char *queue,
                                                  const pawl_queue_browse *query, pawl_mem *mem,
                                                  pawl_queue_messages *ret,
                                                  pawl_error *reterr) PAWL_MUST_USE;
/* PAWL_NOT_FOUND. */
PAWL_SIZED pawl_status pawl_queue_get_message(pawl_client *c, const char *queue, uint64_t id,
                                              pawl_mem *mem, pawl_queue_message *ret,
                                              pawl_error *reterr) PAWL_MUST_USE;

typedef struct pawl_queue_lock_info {
    pawl_str lock_id; /* masked: anyone who knows it can acknowledge */
    int64_t created_ms;
    int64_t expires_ms;
    uint64_t items;
} pawl_queue_lock_info;

typedef struct pawl_queue_locks {
    const pawl_queue_lock_info *items; /* by end, at most 1,000 */
    size_t count;
} pawl_queue_locks;

PAWL_SIZED pawl_status pawl_queue_get_locks(pawl_client *c, const char *queue, pawl_mem *mem,
                                            pawl_queue_locks *ret,
                                            pawl_error *reterr) PAWL_MUST_USE;

/* ---- Inside an orchestration -------------------------------------------------- */

typedef struct pawl_push_opts {
    size_t size; /* set by PAWL_PUSH_OPTS */
    int64_t priority;
    int64_t delay_ms;
} pawl_push_opts;

#define PAWL_PUSH_OPTS(...) PAWL_LEND(pawl_push_opts, __VA_ARGS__)

/* Push as part of this turn: it is recorded with the turn, exactly once, and does not wait.
 * Not ok, with the reason, for a bad name, an item over a limit or a store without queues. */
PAWL_API pawl_result pawl_queue_push(pawl_ctx *ctx, const char *queue, pawl_str data,
                                     const pawl_push_opts *opts) PAWL_MUST_USE;

/*
 * Pop one item under a lock, as a task.  The value of its result is recorded:
 * {"item":…,"lock_id":"…","id":…,"priority":…}, or null when none came within wait_ms.
 * After a crash before it was recorded the item is given back and popped again.  While
 * another consumer holds the queue's lock no item comes: that is null too, not a failure.
 */
PAWL_API pawl_task pawl_queue_pop(pawl_ctx *ctx, const char *queue, int64_t ttl_ms,
                                  int64_t wait_ms);
/* Acknowledge by the lock id of such a result, as a task; not ok: the lock was lost. */
PAWL_API pawl_task pawl_queue_ack(pawl_ctx *ctx, const char *queue, pawl_str lock_id);

#ifdef __cplusplus
}
#endif

#include "pawl/queue_sizes.h" /* the calls marked PAWL_SIZED */
#endif
