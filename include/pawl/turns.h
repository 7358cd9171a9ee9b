/* SPDX-License-Identifier: MIT */
/*
 * pawl/turns.h -- orchestrations whose code runs outside this process.
 *
 * A worker process has the code of some orchestrations and is given *turns*: the messages that
 * happened to one instance, and as much of its history as the worker does not know.  It answers
 * with *steps*: what its code decided on each message.  A message and its step are one commit.
 * This process stays the only writer of histories and judges every decision as it judges those
 * of C code.  docs/protocol/turns.md is the contract; this header is the same in C, and the
 * server's POST /api/v1/turns is this call over HTTP.
 *
 * There is one call.  It hands in answers and asks for turns; with answers it never waits.
 * `fn(arg, reply)` runs on the engine thread after the commit, exactly once, also at shutdown;
 * be brief there and do not block.  `reply` and what it points to are valid during the call.  If
 * the call itself returns anything but PAWL_OK, it was refused at once and `fn` is never called.
 *
 * The structs of this header have no versions of their own: a program that was compiled with
 * another release's header is refused (PAWL_MISUSE) and is to be compiled again.
 */
#ifndef PAWL_TURNS_H
#define PAWL_TURNS_H

#include "pawl/client.h"
#include "pawl/event.h"
#include "pawl/orchestration.h"
#include "pawl/worker.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_TURNS_PROTOCOL      1
#define PAWL_TURNS_SESSION_MIN   16
#define PAWL_TURNS_SESSION_MAX   64
#define PAWL_TURNS_CODE_MAX      1000
#define PAWL_TURNS_ANSWERS_MAX   100
#define PAWL_TURNS_MAX           100
#define PAWL_TURNS_FORGET_MAX    1000
#define PAWL_TURNS_WAIT_MAX      PAWL_SECONDS(60)
#define PAWL_TURNS_DECISIONS_MAX 10000 /* of one answer */
#define PAWL_TURNS_EVENTS        1000  /* of one turn or page; the rest is fetched */
#define PAWL_TURNS_TOKEN_BYTES   128
#define PAWL_TURNS_LEASE         PAWL_SECONDS(30) /* of an inline step whose worker did not say */

/* Of one server, because workers come and go.  Over the first four a call is refused with PAWL_BUSY
 * and the text "too_many: …", which says what to do; nothing was done.  Over the next two no turn is
 * given until another was answered.  The last two are kept by forgetting: such a run is given with its
 * whole history. */
#define PAWL_TURNS_SESSIONS_MAX    1000
#define PAWL_TURNS_CODES_MAX       10000               /* names and versions that workers told */
#define PAWL_TURNS_WAITING_MAX     1000                /* calls that wait */
#define PAWL_TURNS_SESSION_OUT_MAX 1000                /* turns that one session has */
#define PAWL_TURNS_OUT_MAX         10000               /* and all of them */
#define PAWL_TURNS_OUT_BYTES       ((size_t)256 << 20) /* of messages in turns that are out */
#define PAWL_TURNS_KNOWN_MAX       4096                /* runs that one session is known to have */
#define PAWL_TURNS_ALL_KNOWN_MAX   100000              /* and all of them */

/* ---- What a worker decides ---------------------------------------------- */

/* X(ENUM, number, word of the protocol) */
/* clang-format off */
#define PAWL_DEEDS(X)            \
    X(CALL,        1, "call")       \
    X(TIMER,       2, "timer")      \
    X(EVENT,       3, "event")      \
    X(UPDATE,      4, "update")     \
    X(CHILD,       5, "child")      \
    X(DETACH,      6, "detach")     \
    X(RAISE,       7, "raise")      \
    X(CANCEL,      8, "cancel")     \
    X(ANSWER,      9, "answer")     \
    X(STATUS,     10, "status")     \
    X(STATE,      11, "state")      \
    X(ATTRIBUTES, 12, "attributes") \
    X(PUSH,       13, "push")       \
    X(PATCH,      14, "patch")      \
    X(FINISH,     15, "end")
/* clang-format on */

typedef enum pawl_deed {
#define PAWL_DEED_ENUM(name, number, text) PAWL_DEED_##name = (number),
    PAWL_DEEDS(PAWL_DEED_ENUM)
#undef PAWL_DEED_ENUM
} pawl_deed;

typedef enum pawl_deed_end {
    PAWL_DEED_COMPLETED = 1, /* data: output */
    PAWL_DEED_FAILED,        /* data: error */
    PAWL_DEED_CONTINUE,      /* data: input, version: wanted */
    PAWL_DEED_CANCELLED,
} pawl_deed_end;

#define PAWL_DEED_LEASE       1U  /* call: an inline step, leased to this worker with the commit */
#define PAWL_DEED_FRESH       2U  /* event: mail that came before is dropped */
#define PAWL_DEED_ABANDON     4U  /* child: it outlives this execution */
#define PAWL_DEED_INHERIT     8U  /* child, detach: it gets the attributes */
#define PAWL_DEED_AWAIT_START 16U /* raise: kept until the instance is started */
#define PAWL_DEED_CLEARED     32U /* state: the key goes */
#define PAWL_DEED_REJECTED    64U /* answer: the update is rejected, data says why */

typedef struct pawl_decision {
    pawl_deed deed;
    uint64_t ref;        /* opens a task: the next task id; cancel, answer: the task it is about */
    pawl_str name;       /* activity, event, update, orchestration, queue, state key, patch */
    pawl_str data;       /* input, item, value, status, attributes, output … */
    bool has_data;       /* refused decisions bring none */
    pawl_str instance;   /* child, detach, raise */
    pawl_str version;    /* child, detach, end: wanted; empty: resolve */
    pawl_str reason;     /* cancel */
    pawl_str refused;    /* the worker found a limit broken: the text; empty: accepted */
    pawl_str ask;        /* event: a JSON object; empty: nothing */
    int64_t delay_ms;    /* timer, push */
    int64_t priority;    /* push */
    int64_t deadline_ms; /* child, detach: from now on; 0: none */
    const pawl_call_opts *opts;
    unsigned flags;
    pawl_deed_end end;
} pawl_decision;

/* What the code did on one message. */
typedef struct pawl_turn_step {
    uint32_t message; /* 1-based index into the turn's messages; 0: a result */
    pawl_str lease;   /* result: of the inline step that is done */
    pawl_str data;
    int64_t at_ms;
    uint64_t seq; /* the number the message gets */
    const pawl_decision *decisions;
    size_t count;
} pawl_turn_step;

typedef enum pawl_turn_wait {
    PAWL_TURN_WAIT_NONE,
    PAWL_TURN_WAIT_ANY,     /* the next of them to end wakes the code */
    PAWL_TURN_WAIT_ALL,     /* all are done, or one failed */
    PAWL_TURN_WAIT_SETTLED, /* all have ended */
} pawl_turn_wait;

typedef enum pawl_turn_form {
    PAWL_TURN_STEPS = 1,
    PAWL_TURN_MISMATCH,   /* code and history disagree */
    PAWL_TURN_BUG,        /* the code is wrong */
    PAWL_TURN_RELEASE,    /* give it back, no worker is blamed */
    PAWL_TURN_UNREADABLE, /* refused, with `text`: for callers that read answers from a wire */
} pawl_turn_form;

typedef struct pawl_turn_answer {
    pawl_str token;
    pawl_turn_form form;
    const pawl_turn_step *steps;
    size_t step_count;
    pawl_turn_wait wait;
    const uint64_t *refs; /* of wait: ascending, open tasks */
    size_t ref_count;
    pawl_str code;                                   /* mismatch: schedule, frontier, await … */
    pawl_str text, recorded, attempted, site, trace; /* mismatch, bug: for people */
    uint64_t seq;                                    /* mismatch: the recorded event; 0: none */
} pawl_turn_answer;

typedef struct pawl_turn_code {
    pawl_str name, version;
} pawl_turn_code;

typedef struct pawl_turns {
    uint32_t protocol;
    pawl_str session; /* one life of one worker process: 16..64 of [A-Za-z0-9_-] */
    pawl_str worker;  /* for people; at most 255 bytes */
    const pawl_turn_code *code;
    size_t code_count;
    bool has_code; /* absent: as last told */
    const pawl_turn_answer *answers;
    size_t answer_count;
    const pawl_str *beats; /* tokens of turns that are still being worked on */
    size_t beat_count;
    const pawl_str *forget; /* runs dropped from the worker's cache */
    size_t forget_count;
    uint32_t max;     /* turns wanted: 0..100 */
    int64_t wait_ms;  /* for the first of them: 0..60 s */
    int64_t lease_ms; /* leases of inline steps, until their first heartbeat: PAWL_LEASE_MIN ..
                       * PAWL_LEASE_MAX; 0: as last told, at first PAWL_TURNS_LEASE */
    bool leaving;     /* it shuts down: no turns are given, others get its runs at once */
    bool (*may)(void *arg, pawl_str orchestration); /* may it have this code?  NULL: any */
    void *may_arg;
} pawl_turns;

/* ---- What it is told ----------------------------------------------------- */

typedef struct pawl_turn_lease {
    uint64_t ref;
    pawl_str lease; /* a token of pawl/worker.h */
    pawl_str key;
    uint32_t attempt;
    int64_t until_ms;
} pawl_turn_lease;

typedef enum pawl_turn_status {
    PAWL_TURN_OK = 1,
    PAWL_TURN_LOST,    /* used up, expired, given to another, of another process */
    PAWL_TURN_REFUSED, /* against the protocol: nothing changed, the token is still good */
    PAWL_TURN_BLOCKED, /* the finding is on the instance */
    PAWL_TURN_RELEASED,
} pawl_turn_status;

typedef struct pawl_turn_answered {
    pawl_str token;
    pawl_turn_status status;
    uint64_t seq;  /* ok: of the last recorded event; refused with `call`: of that decision */
    pawl_str next; /* ok: the idle token; empty after an end */
    const pawl_turn_lease *leases;
    size_t lease_count;
    pawl_str code, message; /* refused, blocked: a word and a sentence */
} pawl_turn_answered;

typedef struct pawl_turn {
    pawl_str token, run, instance;
    uint64_t execution;
    pawl_str orchestration, version;
    uint64_t after; /* events up to this one are known to the worker */
    const pawl_event *events;
    size_t event_count;
    bool more;
    uint64_t seq; /* of the last recorded event */
    const pawl_event *messages;
    size_t message_count;
    const pawl_event *carried; /* with OrchestrationStarted: the StateCarried events behind it */
    size_t carried_count;
    const pawl_turn_lease *leases;
    size_t lease_count;
    int64_t until_ms;
} pawl_turn;

typedef struct pawl_turns_reply {
    pawl_status status;
    char boot[17];
    int64_t now_ms;
    struct {
        uint64_t payload_bytes, item_bytes;
        bool queues;
        int64_t turn_ms;
    } limits;
    const pawl_turn_answered *answered;
    size_t answered_count;
    const pawl_turn *turns;
    size_t turn_count;
    const pawl_turn_code *taken; /* told by this session, and C code has them */
    size_t taken_count;
    const pawl_str *beats_lost; /* beats whose turn is not this session's any more */
    size_t beats_lost_count;
    pawl_error error;
} pawl_turns_reply;

typedef void pawl_turns_fn(void *arg, const pawl_turns_reply *reply);

/* PAWL_CONFLICT with the text "unknown_session: …" when the session must tell its code again. */
PAWL_SIZED pawl_status pawl_turns_exchange(pawl_client *c, const pawl_turns *request,
                                           pawl_turns_fn *fn, void *arg,
                                           pawl_error *reterr) PAWL_MUST_USE;
PAWL_API pawl_status pawl_turns_exchange_sized(pawl_client *c, const pawl_turns *request,
                                               pawl_turns_fn *fn, void *arg, pawl_error *reterr,
                                               const size_t sizes[8]) PAWL_MUST_USE;

/* Events of the run that `token` is of, after `after`, in `mem`: at most PAWL_TURNS_EVENTS.
 * PAWL_LOST: the token is not good any more. */
PAWL_API pawl_status pawl_turns_history(pawl_client *c, pawl_str token, uint64_t after,
                                        pawl_mem *mem, const pawl_event **ret, size_t *retcount,
                                        uint64_t *retseq, pawl_error *reterr) PAWL_MUST_USE;

#define PAWL_TURNS_SIZES                                                                           \
    {                                                                                              \
        sizeof(pawl_turns), sizeof(pawl_turn_answer), sizeof(pawl_turn_step),                      \
            sizeof(pawl_decision), sizeof(pawl_turns_reply), sizeof(pawl_turn),                    \
            sizeof(pawl_turn_answered), sizeof(pawl_turn_lease)                                    \
    }

#ifndef PAWL_PLAIN

static inline pawl_status pawl_turns_exchange(pawl_client *c, const pawl_turns *request,
                                              pawl_turns_fn *fn, void *arg, pawl_error *reterr)
{
    const size_t sizes[8] = PAWL_TURNS_SIZES;
    return pawl_turns_exchange_sized(c, request, fn, arg, reterr, sizes);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
