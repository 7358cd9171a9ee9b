/* SPDX-License-Identifier: MIT */
/*
 * engine/engine.h -- history and mail in, decisions out.  Pure.
 *
 * An execution is one run of an orchestration function against its history:
 * the table of its tasks, the fiber its code runs on, and the arena its results
 * live in.  The engine reads no clock, opens no file, starts no thread and
 * keeps no state outside the execution: the same calls give the same answers.
 *
 * Life:
 *     execution_create -> execution_replay (recorded events, maybe none)
 *                      -> execution_apply  (one live message at a time) …
 *                      -> execution_destroy
 *
 * A *step* is one event of the history.  Live code appends steps to the turn it
 * is given; replaying code walks recorded ones and every call it makes must be
 * the very next recorded decision.  So a history needs no turn boundaries:
 * message, the decisions it led to, next message (SEMANTICS 6).
 *
 * Invariants (execution_check): task ids are 1..n without gaps in schedule
 * order; a task has at most one completion; an END event is the last; the fiber
 * is suspended in exactly one wait whenever the engine is outside resume; an
 * execution that reported MISMATCH, LIMIT or NO_MEMORY is never run again.
 *
 * Called by: runtime/instance/turn.c (live), runtime/api/query.c (tables only, code.fn NULL),
 * tests/replay.
 */
#ifndef PAWL_ENGINE_ENGINE_H
#define PAWL_ENGINE_ENGINE_H

#include "engine/policy.h"
#include "pawl/event.h"
#include "pawl/orchestration.h"

/* The activities behind pawl_queue_pop() and pawl_queue_ack(). */
#define ENGINE_QUEUE_POP "pawl.queue.pop"
#define ENGINE_QUEUE_ACK "pawl.queue.ack"

/* What steps that a worker runs between its turns are filed under: no poll may ask for it. */
#define ENGINE_INLINE "pawl.inline"

struct fiber_pool;
struct attribute_list;
typedef struct pawl_ctx execution; /* the author's pawl_ctx is the execution itself */

/* The code of one version of one orchestration. */
struct engine_code {
    pawl_orchestration_fn *fn; /* NULL: tables only, no code is run */
    bool remote;               /* fn is NULL: workers run it, and answer (remote_code.h) */
    void *user;
    size_t stack_bytes;
    const char *name;    /* borrowed: outlives the execution */
    const char *version; /* borrowed */
};

struct engine_rules {
    size_t payload_max;
    uint32_t history_max;
    size_t memory_max;  /* of one arena of an execution; 0: none */
    size_t turn_memory; /* what the code may ask for between two messages; 0: no limit */
    bool drop_early_events;
    bool strict_await;
    bool no_queues;  /* pushes are refused: the store has none */
    bool no_objects; /* so is published state */
};

/* Is an instance id taken?  The runtime answers. */
enum engine_taken {
    TAKEN_NO,
    TAKEN_YES,
    TAKEN_UNKNOWN, /* the store did not answer: the turn is tried again */
};

/* What a replay met; see execution_spec. */
enum engine_trace {
    TRACE_EVENT,    /* a recorded event */
    TRACE_WAIT,     /* the code waits, on its stack; the event recorded next, or NULL */
    TRACE_MISMATCH, /* the code is about to be stopped; on its stack when a call of it did not fit */
};

struct execution_spec {
    struct fiber_pool *pool;
    struct engine_code code;
    struct engine_rules rules;
    pawl_str instance; /* copied */
    uint64_t uid;
    uint64_t execution;
    void (*log)(void *user, pawl_log_level level, pawl_str text); /* NULL: silent */
    void *log_user;
    /* Called for each step of a replay; `site` is the author's call, or NULL.  NULL: no calls. */
    void (*trace)(void *user, enum engine_trace what, const pawl_event *e, void *site);
    void *trace_user;
    /* May a detached start take this id?  Asked live only, off the author's stack.  NULL: yes. */
    enum engine_taken (*taken)(void *user, pawl_str instance);
    /* A child takes this id, given by its author, if it is free.  NULL: no call. */
    void (*speaks)(void *user, pawl_str instance);
    void *taken_user;
    /* May its attributes be changed so?  Asked live only, with log_user.  NULL: yes. */
    bool (*attributes)(void *user, const struct attribute_list *change, pawl_error *reterr);
};

enum engine_outcome {
    ENGINE_WAITING,   /* the code waits for a message */
    ENGINE_ENDED,     /* an END event was appended or replayed; see execution_end() */
    ENGINE_MISMATCH,  /* code and history disagree; see the finding */
    ENGINE_LIMIT,     /* history_max or turn_memory reached; see the finding */
    ENGINE_NO_MEMORY, /* no stack or no memory, or TAKEN_UNKNOWN: evict others and try again */
    ENGINE_CORRUPT,   /* the recorded events are no history; see the finding */
    ENGINE_REFUSED,   /* a worker's step breaks the rules; see the finding (remote_code.h) */
};

/* A message as the engine sees it (kinds as in pawl/event.h). */
struct mail {
    uint64_t id; /* row; 0: not stored */
    int kind;    /* pawl_message_kind */
    uint64_t execution, ref;
    pawl_str name, data, attrs;
};

/* What became of one message. */
enum engine_fate {
    FATE_APPLIED, /* recorded; drop the message */
    FATE_IGNORED, /* duplicate, late or for another execution: drop it, nothing recorded */
    FATE_KEPT,    /* an event without a wait: keep it in the mailbox */
    FATE_REFUSED, /* an update that the check of its wait refuses: drop it; see turn->refused */
    FATE_DROPPED, /* the same with drop_early_events: drop it, warn */
    FATE_ODD,     /* completion for no schedule, or of another kind: see the finding */
};

/* Why an execution cannot go on, for people. */
struct engine_finding {
    uint64_t seq;        /* of the recorded event; 0: none */
    void *site;          /* return address of the call in the author's code; NULL: unknown */
    char text[400];      /* begins with the seeds' wording: "nondeterministic: …" */
    char recorded[160];  /* "ActivityScheduled #3 'Charge'"; "" : none */
    char attempted[160]; /* "pawl_call activity 'Refund'"; "" : none */
};

/* One event decided or recorded in this turn. */
struct step {
    pawl_event event;                 /* rid 0: the runtime numbers it; strings live in turn->mem */
    const struct call_policy *policy; /* ActivityScheduled with options; NULL: defaults */
    uint64_t target_rid; /* *Cancel*: rid of the schedule event it withdraws; 0: same turn */
    uint64_t message;    /* ExternalEvent, UpdateAccepted: id of the mail it took */
    pawl_str child;      /* SubOrchestration*, OrchestrationChained, EventSent: instance id */
    pawl_str version;    /* child or ContinueAsNew: wanted version; empty: resolve */
    int64_t fire_at_ms;  /* TimerCreated */
    bool refused;        /* recorded as scheduled and failed: starts, withdraws, shows nothing */
    bool lease;          /* ActivityScheduled: to the worker that decided it, with the commit */
    bool abandon;        /* SubOrchestrationScheduled: PAWL_CHILD_ABANDON */
    bool inherit;        /* the same: PAWL_CHILD_INHERIT */
    bool await_start;    /* EventSent: PAWL_RAISE_AWAIT_START */
    bool asks;           /* ExternalEvent, ExternalCancelled: it closes a wait that asks */
    int64_t deadline_ms; /* SubOrchestrationScheduled, OrchestrationChained: its moment; 0: none */
    int64_t limit_ms;    /* and how long that is from the call on; 0: it is its parent's */
};

/* An update that a check refused: its client is told, nothing is recorded. */
struct refused_update {
    pawl_str update; /* its id; strings live in turn->mem */
    pawl_str why;
};

/* What live code appends to.  One turn may serve several messages, and the two
 * executions of a ContinueAsNew. */
struct turn {
    pawl_mem *mem; /* lives until the round is committed */
    struct step *steps;
    size_t count, cap;   /* in mem */
    uint64_t *discarded; /* message ids of mail thrown away by PAWL_EVENT_DROP_EARLY */
    size_t discarded_count, discarded_cap;
    struct refused_update *refused;
    size_t refused_count, refused_cap;
};

/* Which occurrence of which schedule started it; at_ms 0: none did. */
struct scheduled {
    int64_t at_ms;
    pawl_str schedule;
};

/* NULL when out of memory. */
execution *execution_create(const struct execution_spec *spec);
/* Run deferred functions, drop the stack, free everything.  NULL is fine. */
void execution_destroy(execution *x);

/* Walk recorded events: all of this execution so far, in order, in one call
 * before any apply (tables only: also in pieces).  The strings must outlive the
 * call only.  `ret` (may be NULL) is filled in for MISMATCH, LIMIT, CORRUPT. */
enum engine_outcome execution_replay(execution *x, const pawl_event *events, size_t count,
                                     struct engine_finding *ret);

/*
 * Apply one live message: record it, run the code until it waits again, then
 * match the mailbox against open waits, oldest first, until nothing matches.
 * A PAWL_MSG_START opens the history (attrs as OrchestrationStarted).  KEPT
 * events join the mailbox of the execution (copied, with msg->id).
 * The step that records the message points to the strings of `msg`: they live as long as the turn.
 */
enum engine_outcome execution_apply(execution *x, const struct mail *msg, int64_t now_ms,
                                    struct turn *turn, enum engine_fate *retfate,
                                    struct engine_finding *ret);

/* Put a stored mailbox message into the mailbox (on load, before apply; copied).  False: out of
 * memory, and the execution is of no use any more. */
bool execution_mailbox_add(execution *x, uint64_t message_id, pawl_str name, pawl_str data);
/* The same for a raised event or an update, as its kind says. */
bool execution_mailbox_keep(execution *x, const struct mail *m);
/* The mailbox goes to the next execution, which has none (ContinueAsNew), at the cost of its names,
 * not its kept events.  False: out of memory, and neither can be used. */
bool execution_mailbox_move(execution *to, execution *from);
/* The published state goes to the next execution, which has none (ContinueAsNew).  False: out of
 * memory, and `to` cannot be used. */
bool execution_state_copy(execution *to, const execution *from);
/* What is published, in byte order of the keys: start with cursor 0; false at the end. */
bool execution_next_state(const execution *x, size_t *cursor, pawl_str *retkey, pawl_str *retvalue);
/* Every kept event and update, in order: id, kind, name, data, attrs. */
typedef void mail_fn(void *arg, const struct mail *m);
void execution_mailbox_each(execution *x, mail_fn *take, void *arg);
size_t execution_mailbox_count(const execution *x);
/* Events its waits took that were given up unseen and that its history did not give back: some in
 * histories written before they were, none since. */
size_t execution_dropped(const execution *x);
size_t execution_mailbox_bytes(const execution *x);
/* Is a wait open for what this message brings, an event or an update? */
bool execution_waits_for(const execution *x, int message_kind, pawl_str name);
/* Message ids of mailbox entries consumed by ExternalEvent steps since the last
 * call: the round drops them.  Points into the execution; valid until the next apply. */
size_t execution_consumed(execution *x, const uint64_t **retids);
/* Kept events given back to the mailbox since the last call, and still there: the round inserts
 * their rows again, under their old ids.  To be asked after execution_consumed(). */
void execution_returned(execution *x, mail_fn *take, void *arg);

/* End it without running code: cancel what is open, append the END event `kind`
 * (ORCHESTRATION_CANCELLED, _TERMINATED or _FAILED) with `reason` as data. */
enum engine_outcome execution_finish(execution *x, int kind, pawl_str reason, int64_t now_ms,
                                     struct turn *turn);

/* After commit: tell the execution the rid of a schedule event (task id = ref),
 * so that a later cancel can name its row. */
void execution_committed(execution *x, uint64_t ref, uint64_t rid);

/* How it ended; kind 0 while it has not.  Strings live in the execution. */
struct execution_ending {
    int kind;         /* an END event kind */
    pawl_str value;   /* output, error, reason, or input of the next execution */
    pawl_str version; /* ContinueAsNew: wanted version; empty: resolve again */
};
struct execution_ending execution_end(const execution *x);

/* Open tasks, in id order: start with cursor 0; false at the end. */
struct open_task {
    uint64_t id;
    int kind;           /* the schedule event's kind */
    uint64_t rid;       /* of the schedule event */
    pawl_str name;      /* activity, event or child orchestration; kept in tables-only
                          executions and for waits; lives in the execution */
    pawl_str child;     /* instance id of a child; what a wait asks for, as JSON */
    int64_t at_ms;      /* scheduled */
    int64_t fire_at_ms; /* timer */
    bool abandon;
};
bool execution_next_open(const execution *x, uint64_t *cursor, struct open_task *ret);

/* As its OrchestrationStarted says; of the next execution (ContinueAsNew) before it has one. */
struct scheduled execution_scheduled(const execution *x);
void execution_inherit(execution *next, const execution *from);

pawl_str execution_input(const execution *x);    /* as given; lives with it */
uint64_t execution_last_seq(const execution *x); /* 0: not started, or broken */
int64_t execution_deadline(const execution *x);  /* as OrchestrationStarted has it; 0: none */
bool execution_cancel_requested(const execution *x);
bool execution_suspended(const execution *x);
size_t execution_bytes(const execution *x); /* stack and arena, for the memory budget */
void execution_check(const execution *x);

/* True while orchestration code is running on this thread: client calls refuse. */
bool engine_on_fiber(void);

#endif
