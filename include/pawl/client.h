/* SPDX-License-Identifier: MIT */
/*
 * pawl/client.h -- start orchestrations, steer them, look at them.
 *
 * Every call is safe from any thread and from activities.  Inside an orchestration every
 * call is refused with PAWL_MISUSE and a text that says what to use instead.
 *
 * A returned PAWL_OK means durable.  Every writing call exists in two forms: one that
 * blocks, by its name or as pawl_client_call() with the request as data, and
 * pawl_client_submit() with a callback that runs after the commit.  Reading
 * calls never wait for the engine.  Inside a callback of the runtime (a reply, a feed, a
 * log line) a blocking call, pawl_client_wait() included, would wait for itself, so it
 * returns PAWL_MISUSE at once: submit instead, or call from another thread.  In a process
 * forked from the one that runs the runtime every call returns PAWL_MISUSE.
 *
 * Memory: names and payloads that you pass are copied.  What reading calls return lives in
 * the pawl_mem you pass.  `reterr` may be NULL.
 */
#ifndef PAWL_CLIENT_H
#define PAWL_CLIENT_H

#include "pawl/attribute.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_client pawl_client;

/* ---- Steering ----------------------------------------------------------- */

/* What a start does when the id exists. */
typedef enum pawl_if_exists {
    PAWL_IF_EXISTS_SAME = 0,  /* nothing, if orchestration and input are the same; else EXISTS */
    PAWL_IF_EXISTS_USE = 1,   /* nothing: the instance that exists is used, whatever it is */
    PAWL_IF_EXISTS_RERUN = 2, /* run it again, if it has ended; CONFLICT while it is open */
    PAWL_IF_EXISTS_TERMINATE = 3, /* end it, if it is open, and run it again, in one commit */
} pawl_if_exists;

/* An event that is raised with a start.  This struct does not grow. */
typedef struct pawl_raise_item {
    const char *event;
    pawl_str data;
    const char *idempotency_key; /* 1..128 bytes; NULL: none */
} pawl_raise_item;

typedef struct pawl_start_opts {
    size_t size;             /* set by PAWL_START_OPTS */
    const char *instance;    /* 1..512 bytes of UTF-8, no control characters; default: a uuid */
    const char *version;     /* exact; default: the latest registered */
    bool allow_unregistered; /* accept a name that is not registered yet; it stays pending */
    int64_t start_at_ms;     /* not before (since 1970); it is pending until then */
    int64_t delay_ms;        /* the same, counted from now; at most 100 years */
    int64_t deadline_ms;     /* it is cancelled this long after its start; at most 100 years */
    pawl_if_exists if_exists;
    pawl_str attributes;           /* a JSON object (pawl/attribute.h) */
    const pawl_raise_item *raises; /* events for it, in the same commit; at most 100 */
    size_t raise_count;
    const char
        *update; /* name of an update for it (pawl_wait_update), in the same commit; NULL: none.
                         * pawl_client_update_result() has the answer, under its key */
    pawl_str update_data;
    const char *update_key; /* 1..128 bytes; default "start"; with if_exists give a new one */
} pawl_start_opts;

#define PAWL_START_OPTS(...) PAWL_LEND(pawl_start_opts, __VA_ARGS__)

/* What a writing call answers. */
typedef struct pawl_reply {
    pawl_status status;
    bool created;        /* start: false when the same start was made before */
    uint64_t execution;  /* start: of the instance */
    uint64_t instances;  /* remove, prune: how many were removed */
    uint64_t executions; /* remove, prune */
    uint64_t events;     /* remove, prune */
    char instance[513];  /* start, trigger: the id, yours or the one Pawl made */
    pawl_error error;    /* filled in when status is not PAWL_OK */
    uint64_t revision;   /* schedule: of its spec */
    /* update; the strings are valid during the callback, and empty in pawl_client_call(): */
    bool answered;   /* by the code; false: its time was over, and it is durable */
    bool rejected;   /* that answer is a rejection */
    bool repeated;   /* the key was used before: pawl_client_update_result() has the answer */
    pawl_str update; /* its id */
    pawl_str value;  /* the answer, or the text of the rejection */
} pawl_reply;

/*
 * Start an orchestration.  The start is durable on return; the code may have run by then.
 *
 * Starts are idempotent by id: a second start with the same orchestration and input
 * changes nothing and returns PAWL_OK with created = false; one with another orchestration
 * or input returns PAWL_EXISTS.  Two inputs are the same when they are the same JSON
 * value: blanks, the order of members and the spelling of numbers and texts (1.0 for 1) do
 * not count.  Inputs that are not JSON must have the same bytes.  A name that is not
 * registered returns PAWL_NOT_FOUND.
 *
 * With start_at_ms or delay_ms the instance exists at once and is pending; its code runs, in the
 * latest version of then, when the time has come.  Until then it keeps events, and it can be
 * cancelled and removed like any other.  A second start does not change the time.
 *
 * When deadline_ms have passed since its start (a delayed one: since the time it was given) and it
 * has not ended, it is cancelled with the reason "deadline of 2h passed": its code may compensate as
 * after pawl_client_cancel().  The moment is fixed here.  It holds for the next executions of a
 * continue-as-new, and no child has a later one.
 *
 * An instance that has ended can be run again under its id (PAWL_OP_RERUN, if_exists): the next
 * execution begins with a fresh history, in one commit; earlier executions stay until they are
 * pruned.  Its parent hears nothing of it.  A rerun starts at once and needs its code here.
 *
 * `raises` are events for the instance, in order: they are recorded by the commit that records the
 * start, both or none, and its first turn finds them.  With PAWL_IF_EXISTS_USE the instance that
 * exists gets them, and CONFLICT says that it has ended or has no room for all of them.  A start
 * that finds its twin raises nothing: the twin did.  A key that the instance has seen raises nothing.
 * PAWL_UNSUPPORTED: the store (jsonl) cannot write both at once.
 */
PAWL_SIZED pawl_status pawl_client_start(pawl_client *c, const char *orchestration, pawl_str input,
                                         const pawl_start_opts *opts,
                                         pawl_reply *ret) PAWL_MUST_USE;

/*
 * A job: one activity, and no orchestration code.  Start PAWL_JOB, which every app has (names that
 * begin with "pawl." are reserved), with a JSON object as input:
 *
 *     {"activity":"SendMail","input":{"to":"a@example.org"},"attempts":5}
 *
 * `activity` is the name, `input` what it gets, byte for byte.  The other members are the fields
 * of pawl_call_opts by their names (`backoff`: "exponential", "linear" or "fixed").  The result of
 * the activity is that of the instance.  A start with any other input returns PAWL_INVALID.
 */
#define PAWL_JOB "pawl.job"

typedef struct pawl_raise_opts {
    size_t size;                 /* set by PAWL_RAISE_OPTS */
    const char *idempotency_key; /* the same key twice raises once; 1..128 bytes */
    bool await_start;            /* keep it for an instance that does not exist yet */
} pawl_raise_opts;

#define PAWL_RAISE_OPTS(...) PAWL_LEND(pawl_raise_opts, __VA_ARGS__)

/* Raise an event.  The instance's mailbox keeps it until a wait takes it.
 * PAWL_NOT_FOUND: no such instance.  PAWL_CONFLICT: it has finished, or its mailbox is
 * full (max_mailbox). */
PAWL_API pawl_status pawl_client_raise(pawl_client *c, const char *instance, const char *event,
                                       pawl_str data, const pawl_raise_opts *opts,
                                       pawl_error *reterr) PAWL_MUST_USE;

typedef struct pawl_update_opts {
    size_t size;                 /* set by PAWL_UPDATE_OPTS */
    const char *idempotency_key; /* the id of the update; default: one is made; 1..128 bytes */
} pawl_update_opts;

#define PAWL_UPDATE_OPTS(...) PAWL_LEND(pawl_update_opts, __VA_ARGS__)

/*
 * Ask the code of an instance for something and wait for its answer (pawl_wait_update).  The update
 * is durable before this waits; without a wait that takes it, it lies in the mailbox.
 *
 * PAWL_OK: `ret` is the answer, in `mem`; with ok = false it is the text of a rejection, by the code
 * or because the execution ended with the update unanswered.  PAWL_TIMEOUT: timeout_ms are over (< 0:
 * never); ret->value is the id for pawl_client_update_result().  PAWL_INVALID: the check of the wait
 * refused it, and nothing is recorded.  PAWL_NOT_FOUND: no such instance.  PAWL_LOST: it has ended,
 * or ended without taking the update.  PAWL_CONFLICT: its mailbox is full, or the key was used with
 * other data.
 *
 * The same key gives the same answer as long as the history that has it is there.
 */
PAWL_API pawl_status pawl_client_update(pawl_client *c, const char *instance, const char *name,
                                        pawl_str data, const pawl_update_opts *opts,
                                        int64_t timeout_ms, pawl_mem *mem, pawl_result *ret,
                                        pawl_error *reterr) PAWL_MUST_USE;
/* The answer of an update that was made before, by its id; statuses as above.  PAWL_NOT_FOUND also:
 * there is none with this id, a check refused it, or its history was pruned.  `data` not NULL: what
 * it asked; PAWL_CONFLICT if that differs. */
PAWL_API pawl_status pawl_client_update_result(pawl_client *c, const char *instance,
                                               const char *update, const pawl_str *data,
                                               int64_t timeout_ms, pawl_mem *mem, pawl_result *ret,
                                               pawl_error *reterr) PAWL_MUST_USE;

/* Ask an instance to end: its waits are interrupted and its code may compensate.  A second
 * cancel changes nothing.  PAWL_NOT_FOUND, or PAWL_CONFLICT when it has finished. */
PAWL_API pawl_status pawl_client_cancel(pawl_client *c, const char *instance, const char *reason,
                                        pawl_error *reterr) PAWL_MUST_USE;
/* End an instance at once; its code does not run again.  Its children are cancelled. */
PAWL_API pawl_status pawl_client_terminate(pawl_client *c, const char *instance, const char *reason,
                                           pawl_error *reterr) PAWL_MUST_USE;
/* Stop its turns until resume; messages and timers collect meanwhile. */
PAWL_API pawl_status pawl_client_suspend(pawl_client *c, const char *instance, const char *reason,
                                         pawl_error *reterr) PAWL_MUST_USE;
PAWL_API pawl_status pawl_client_resume(pawl_client *c, const char *instance, const char *reason,
                                        pawl_error *reterr) PAWL_MUST_USE;
/* Try a blocked instance again, after you repaired the code or raised the limit. */
PAWL_API pawl_status pawl_client_retry(pawl_client *c, const char *instance,
                                       pawl_error *reterr) PAWL_MUST_USE;
/* Change its attributes (pawl/attribute.h): merged, null removes one.  It may have ended; its code
 * learns nothing of it. */
PAWL_API pawl_status pawl_client_set_attributes(pawl_client *c, const char *instance,
                                                pawl_str object, pawl_error *reterr) PAWL_MUST_USE;

/* Remove an instance and its children.  PAWL_CONFLICT while it runs, unless `force`.  Up to
 * 2,000 instances go in one commit.  A larger tree goes in pieces, children first: if the
 * removal is interrupted, what remains is still a tree, and a second call removes it. */
PAWL_SIZED pawl_status pawl_client_remove(pawl_client *c, const char *instance, bool force,
                                          pawl_reply *ret) PAWL_MUST_USE;
/* Remove finished trees that ended before `before_ms`, and executions of running instances
 * that closed before it.  One call removes whole trees until at least `limit` instances
 * (0: 1,000) are gone, so the last tree may go beyond the limit. */
PAWL_SIZED pawl_status pawl_client_prune(pawl_client *c, int64_t before_ms, uint32_t limit,
                                         pawl_reply *ret) PAWL_MUST_USE;

/* Deliver the result of an activity that returned pawl_pending() or that was leased
 * (pawl/worker.h).  PAWL_LOST: the result is no longer wanted.  If the answer to the first
 * call was lost, repeat it: the same result under the same token returns PAWL_OK as long
 * as the history has it. */
PAWL_API pawl_status pawl_client_complete(pawl_client *c, const char *token, pawl_result result,
                                          pawl_error *reterr) PAWL_MUST_USE;
/* As pawl_activity_heartbeat(), by token. */
PAWL_API pawl_status pawl_client_heartbeat(pawl_client *c, const char *token,
                                           pawl_error *reterr) PAWL_MUST_USE;

/* ---- Writing calls as data ---------------------------------------------- */

typedef enum pawl_op {
    PAWL_OP_START,
    PAWL_OP_RAISE,
    PAWL_OP_CANCEL,
    PAWL_OP_TERMINATE,
    PAWL_OP_SUSPEND,
    PAWL_OP_RESUME,
    PAWL_OP_RETRY,
    PAWL_OP_REMOVE,
    PAWL_OP_PRUNE,
    PAWL_OP_COMPLETE,  /* name = token, data = result, failed = it is an error */
    PAWL_OP_HEARTBEAT, /* name = token, data = details (pawl_activity_beat), empty: none */
    /* pawl/schedule.h: name = schedule */
    PAWL_OP_SCHEDULE_PUT,      /* data = the schedule as JSON, if_revision */
    PAWL_OP_SCHEDULE_REMOVE,   /* if_revision */
    PAWL_OP_SCHEDULE_PAUSE,    /* data = reason, a text */
    PAWL_OP_SCHEDULE_RESUME,   /* no more */
    PAWL_OP_SCHEDULE_TRIGGER,  /* idempotency_key */
    PAWL_OP_SCHEDULE_BACKFILL, /* data = JSON: from_ms, to_ms; allow; spec */
    PAWL_OP_RERUN,  /* instance, version, deadline_ms; data = input, NULL: that of its start */
    PAWL_OP_UPDATE, /* instance, name, data, idempotency_key, wait_ms: answered when the code has,
                       or when wait_ms are over */
    PAWL_OP_SET_ATTRIBUTES, /* instance; data = a JSON object, merged, null removes */
    /* name = of a limit (pawl/limit.h), and … */
    PAWL_OP_LIMIT_PUT,    /* data = the limit as JSON, if_revision */
    PAWL_OP_LIMIT_REMOVE, /* if_revision */
} pawl_op;

/* One writing call as data.  Pawl ignores the fields that `op` does not use. */
typedef struct pawl_request {
    size_t size; /* set by PAWL_REQUEST */
    pawl_op op;
    const char *instance;
    const char *name; /* orchestration, event or token */
    const char *version;
    const char *reason;          /* cancel, terminate, suspend, resume */
    const char *idempotency_key; /* raise, update */
    pawl_str data;               /* input, event data or result */
    bool allow_unregistered;     /* start */
    bool await_start;            /* raise */
    bool force;                  /* remove */
    bool failed;                 /* complete */
    bool final;                  /* complete: do not retry */
    int64_t before_ms;           /* prune */
    uint32_t limit;              /* prune */
    int64_t start_at_ms;         /* start */
    int64_t delay_ms;            /* start */
    int64_t deadline_ms;         /* start, rerun */
    uint64_t if_revision;        /* schedule: refuse another one; 0: any; PAWL_IF_NEW: any at all */
    pawl_if_exists if_exists;    /* start */
    int64_t wait_ms;             /* update: for the answer; 0: until it is durable */
    pawl_str attributes;         /* start, rerun: a JSON object (pawl/attribute.h) */
    const pawl_raise_item *raises; /* start */
    size_t raise_count;
    const char *update; /* start: as in pawl_start_opts */
    pawl_str update_data;
    const char *update_key;
} pawl_request;

#define PAWL_IF_NEW       UINT64_MAX
#define PAWL_REQUEST(...) PAWL_LEND(pawl_request, __VA_ARGS__)

/* Make the call and wait for its answer: pawl_client_raise() and the others above are this
 * call with the request filled in.  `ret` may be NULL; otherwise it is filled in, with
 * ret->status = the returned status, and with ret->error when that is not PAWL_OK.
 * PAWL_MISUSE inside a callback of the runtime, inside an orchestration and in a forked
 * child.  PAWL_SHUTDOWN while the runtime closes. */
PAWL_SIZED pawl_status pawl_client_call(pawl_client *c, const pawl_request *request,
                                        pawl_reply *ret) PAWL_MUST_USE;

/* Runs on the engine thread after the commit (or refusal).  Be brief and do not block.
 * `reply` is valid during the call. */
typedef void pawl_reply_fn(void *arg, const pawl_reply *reply);

/* Submit a request; `fn(arg, reply)` is called exactly once, also at shutdown.  Any return
 * other than PAWL_OK means that the request was refused at once and `fn` is never called. */
PAWL_SIZED pawl_status pawl_client_submit(pawl_client *c, const pawl_request *request,
                                          pawl_reply_fn *fn, void *arg,
                                          pawl_error *reterr) PAWL_MUST_USE;

/* ---- Looking ------------------------------------------------------------ */

/* One thing an instance waits for. */
typedef struct pawl_waiting {
    uint64_t id;       /* the task */
    const char *kind;  /* "activity", "timer", "event", "update", "child" */
    pawl_str name;     /* activity, event or child orchestration */
    pawl_str instance; /* of a child */
    int64_t since_ms;
    int64_t due_ms;        /* timer: fires; activity: next attempt; else 0 */
    uint32_t attempt;      /* activity: 1, 2, … */
    pawl_str last_error;   /* activity: of the previous attempt */
    bool running;          /* activity: a worker has it */
    bool leased;           /* activity: that worker is outside this process, under a live lease */
    int64_t leased_ms;     /* the end of that lease; 0: none */
    pawl_str worker;       /* its name, if it gave one to this process */
    bool unknown;          /* activity: not registered here, and no worker polled for it */
    pawl_str meant;        /* unknown: a registered name that resembles it */
    uint32_t crashes;      /* activity: process deaths and lost leases counted against it */
    uint32_t max_crashes;  /* activity: how many it may have; PAWL_UNLIMITED */
    int64_t started_ms;    /* activity that runs: when this attempt began; 0: not known */
    pawl_str tries;        /* activity: failed attempts this process saw, at most the last eight:
                             JSON, [{n, from, to, worker, error}, …]; empty: none */
    pawl_str ask;          /* event: what it asks for (pawl_wait_event_ask), JSON; empty: nothing */
    pawl_str details;      /* activity: of its last heartbeat that had any, as stored */
    pawl_str limit;        /* activity: the limit it waits for (pawl/limit.h); empty: none */
    pawl_str limit_key;    /* its bucket there; empty: that of all, or of calls without a key */
    uint64_t limit_in_use; /* attempts that have a place in that bucket, */
    uint32_t limit_of;     /* and how many places there are; 0: it waits for the rate */
    uint64_t limit_before; /* calls that come before it, as far as is known */
    int64_t limit_ms;      /* rate: when its turn may come; 0: not known */
} pawl_waiting;

typedef struct pawl_info {
    pawl_str instance;
    uint64_t uid;
    pawl_str orchestration;
    pawl_str version;
    pawl_state state;
    uint64_t execution;
    int64_t created_ms;
    int64_t updated_ms;
    pawl_str input;
    pawl_str output; /* when completed */
    pawl_str error;  /* when failed or cancelled */
    pawl_str custom_status;
    pawl_str parent;  /* instance id of the parent; empty for a root */
    pawl_str finding; /* why it is blocked */
    uint64_t history_length;
    const pawl_waiting *waiting; /* filled in by pawl_client_get() for open instances */
    size_t waiting_count;
    size_t mailbox_count;   /* events that no wait has taken */
    int64_t cancel_ms;      /* open: when cancellation was requested; 0: it was not */
    int64_t cancel_left_ms; /* what is left of cancel_grace_ms; -1: no limit */
    uint32_t turn_crashes;  /* open: how often one of its turns ended the process */
    uint32_t max_crashes;   /* it is blocked after that many */
    int64_t start_ms;    /* pending, by pawl_client_get(): when it starts; 0: as soon as it can */
    int64_t deadline_ms; /* open, by pawl_client_get(): it is cancelled then; 0: it has none */
    int64_t began_ms;    /* by pawl_client_get(): when this execution began; 0: it did not */
    size_t update_count; /* open, by pawl_client_get(): updates that no wait has taken */
    pawl_str attributes; /* a JSON object (pawl/attribute.h); empty: it has none */
} pawl_info;

/* The instance as of its newest execution, or of `execution` (0: newest).
 * PAWL_NOT_FOUND. */
PAWL_SIZED pawl_status pawl_client_get(pawl_client *c, const char *instance, uint64_t execution,
                                       pawl_mem *mem, pawl_info *ret,
                                       pawl_error *reterr) PAWL_MUST_USE;

/* Its state alone: reads one row and no history.  PAWL_NOT_FOUND. */
PAWL_API pawl_status pawl_client_state(pawl_client *c, const char *instance, pawl_mem *mem,
                                       pawl_state *ret, pawl_error *reterr) PAWL_MUST_USE;

/*
 * What the code of an instance has published (pawl_state_set): `fn` is called for `key`, or for each
 * key in byte order when it is NULL.  The strings are valid during the call.  `version` grows by one
 * with each change of the key.  It reads what the last commit has and runs no code.
 * PAWL_NOT_FOUND: no such instance, or the key is not set.
 */
typedef void pawl_published_fn(void *arg, pawl_str key, pawl_str value, uint64_t version,
                               int64_t updated_ms);
PAWL_API pawl_status pawl_client_published(pawl_client *c, const char *instance, const char *key,
                                           pawl_published_fn *fn, void *arg,
                                           pawl_error *reterr) PAWL_MUST_USE;

typedef struct pawl_ask_filter {
    size_t size;       /* set by PAWL_ASK_FILTER */
    const char *after; /* cursor: `next` of the previous page */
    uint32_t limit;    /* 1..1000; default 100 */
    const char *orchestration, *event;
} pawl_ask_filter;

#define PAWL_ASK_FILTER(...) PAWL_LEND(pawl_ask_filter, __VA_ARGS__)

/*
 * What open instances ask for (pawl_wait_event_ask), as JSON:
 *
 *     {"asks":[{"instance","orchestration","execution","id","event","since","ask"},…],"next":null}
 *
 * Those of the instance that was started first come first.  Answer one by raising its event.  It
 * reads no history and no instance.  A short page may have a next.  PAWL_UNSUPPORTED: the store has
 * no named objects.
 */
PAWL_API pawl_status pawl_client_asks(pawl_client *c, const pawl_ask_filter *filter, pawl_mem *mem,
                                      pawl_str *ret, pawl_error *reterr) PAWL_MUST_USE;

/*
 * Wait until the instance has ended.  Execution 0 follows ContinueAsNew to the end; any
 * other number waits for that execution (one closed by ContinueAsNew counts as completed
 * with an empty output).  PAWL_TIMEOUT fills in the present state; timeout_ms < 0 waits
 * for ever.
 */
PAWL_SIZED pawl_status pawl_client_wait(pawl_client *c, const char *instance, uint64_t execution,
                                        int64_t timeout_ms, pawl_mem *mem, pawl_info *ret,
                                        pawl_error *reterr) PAWL_MUST_USE;

typedef struct pawl_filter {
    size_t size;       /* set by PAWL_FILTER */
    const char *after; /* cursor: `next` of the previous page */
    uint32_t limit;    /* 1..1000; default 100 */
    int state;         /* a pawl_state + 1; 0: any */
    const char *orchestration;
    const char *prefix; /* of the instance id */
    const char *parent;
    int64_t created_after_ms;
    uint32_t states;  /* 1 << pawl_state of each that is wanted; 0: any */
    bool roots;       /* only those without a parent */
    const char *text; /* in the id, the orchestration, the custom status, the finding or the error;
                         ASCII letters match in either case */
    const pawl_where *where; /* conditions on attributes, all hold; at most PAWL_WHERE_MAX */
    size_t where_count;
    int64_t created_before_ms;
    int64_t ended_after_ms, ended_before_ms; /* it has ended, after, before; 0: any */
    const char *error; /* in why it failed, was cancelled or is blocked; as text */
} pawl_filter;

#define PAWL_FILTER(...) PAWL_LEND(pawl_filter, __VA_ARGS__)

typedef struct pawl_page {
    const pawl_info *items; /* newest first; input and waiting are empty */
    size_t count;
    pawl_str next;     /* empty on the last page; a short page may have a next */
    uint64_t examined; /* instances that were looked at for it */
} pawl_page;

/*
 * How many instances there are of each kind, as JSON: `by` is "status", "orchestration", or the name
 * of an attribute; NULL: their number.  Of `filter`, limit and after do not count; NULL: all.
 *
 *     {"by":"customer","groups":[{"value":"c-42","count":7}, …],"total":7,"examined":7,"more":false}
 *
 * Groups are in the order of their values, at most 1,000; instances without the attribute are in no
 * group.  At most 1,000,000 instances are looked at, or entries of the attribute's index when
 * nothing but its values is asked for.  "more":true: there may be more, and counts may be too small.
 */
PAWL_API pawl_status pawl_client_count(pawl_client *c, const pawl_filter *filter, const char *by,
                                       pawl_mem *mem, pawl_str *ret,
                                       pawl_error *reterr) PAWL_MUST_USE;
PAWL_SIZED pawl_status pawl_client_list(pawl_client *c, const pawl_filter *filter, pawl_mem *mem,
                                        pawl_page *ret, pawl_error *reterr) PAWL_MUST_USE;

/* An activity that failed and is tried again. */
typedef struct pawl_retry {
    uint64_t uid; /* of the instance */
    pawl_str instance;
    pawl_str activity;
    uint32_t attempts; /* that failed */
    int64_t failed_ms; /* the last one */
    pawl_str error;    /* what it said, at most 160 bytes */
} pawl_retry;

typedef void pawl_retry_fn(void *arg, const pawl_retry *retry);

/* The activities that failed and are tried again, the last that failed first: those that this
 * process saw fail, at most 4,096.  From memory; a restart forgets them until they fail again.  `fn`
 * runs under a lock: it must be brief and call nothing of Pawl. */
PAWL_API void pawl_client_retries(pawl_client *c, pawl_retry_fn *fn, void *arg);

typedef struct pawl_history_event {
    uint64_t seq;
    const char *kind; /* "ActivityScheduled", … */
    uint64_t ref;     /* the task it belongs to; 0: none */
    pawl_str name;
    pawl_str data;
    pawl_str attrs; /* JSON object or empty */
    int64_t at_ms;
} pawl_history_event;

typedef struct pawl_history {
    uint64_t execution;
    const pawl_history_event *events;
    size_t count;
    uint64_t next; /* pass it as after_seq; 0: no more events */
} pawl_history;

/* Events of an execution (0: newest) after `after_seq`, at most `limit` (0: 1,000). */
PAWL_SIZED pawl_status pawl_client_history(pawl_client *c, const char *instance, uint64_t execution,
                                           uint64_t after_seq, uint32_t limit, pawl_mem *mem,
                                           pawl_history *ret, pawl_error *reterr) PAWL_MUST_USE;

/* What time it is for the store, in ms since 1970: the clock of the database server, where the
 * store is on one; else that of this machine.  Times you name (start_at_ms) and times you read are
 * by it. */
PAWL_API int64_t pawl_client_now(pawl_client *c);

/* For a thread that submits many requests in a row, as a server does: between hold and
 * release the engine may wait for the rest, so that the requests make one commit and not
 * two.  It may submit to several runtimes.  Be brief: a thread that holds must not wait for an
 * answer, and must not close a runtime. */
PAWL_API void pawl_client_hold(void);
PAWL_API void pawl_client_release(void);

/* Cancel the waiting pop (pawl/queue.h), poll (pawl/worker.h) or update that was submitted with
 * this `arg`, because its caller has gone: its callback runs at once with an empty reply,
 * so no item is locked for a caller that is not there.  No effect on a call that is not
 * waiting.  From any thread. */
PAWL_API void pawl_client_withdraw(pawl_client *c, const void *arg);

/* ---- The commit feed ---------------------------------------------------- */

/* One instance that a commit changed, or one queue (then `instance` is "").  With `events` 0 and
 * the state it had: an attempt of one of its activities failed, or a worker took one. */
typedef struct pawl_change {
    pawl_str instance;
    uint64_t execution;
    pawl_state state;
    uint64_t last_seq;
    uint32_t events; /* appended by this commit */
    bool removed;    /* the instance and its history are gone */
    pawl_str queue;  /* {NULL, 0}: an instance changed */
    /* When this commit ended the instance and its data was in memory: what
     * pawl_client_get() would return; else NULL.  Valid during the call. */
    const pawl_info *ended;
    uint64_t uid; /* of the instance */
    /* When the commit began the instance or changed its state: what it was before (-1: it is new),
     * and the next three are filled in; else the same as `state`. */
    int was;
    pawl_str orchestration;
    int64_t created_ms, updated_ms;
    bool published; /* the commit changed what its code has published */
    bool answered;  /* it answered an update */
} pawl_change;

/* Runs after each commit that changed instances or queues, on the engine thread or on the
 * thread of a server (pawl/server.h), which commits requests on queues itself. */
typedef void pawl_feed_fn(void *arg, const pawl_change *changes, size_t count);

/* Subscribe.  Returns a number for pawl_client_unfeed(), or 0 when out of memory.  After
 * unfeed returns, `fn` is not called any more.  A feed may call both: a subscription made
 * inside a feed starts with the next commit. */
PAWL_SIZED uint64_t pawl_client_feed(pawl_client *c, pawl_feed_fn *fn, void *arg);
PAWL_API void pawl_client_unfeed(pawl_client *c, uint64_t subscription);

#ifdef __cplusplus
}
#endif

#include "pawl/client_sizes.h" /* the calls marked PAWL_SIZED */
#endif
