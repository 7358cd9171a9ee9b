/* SPDX-License-Identifier: MIT */
/*
 * pawl/orchestration.h -- what an orchestration function may call.
 *
 * An orchestration is a plain C function.  It runs on its own small stack, it is
 * suspended at every await, and it may run again from the top at any time: its
 * state is the recorded history, not the C stack.  Four rules follow.
 *
 *   1. Be deterministic.  The same input and the same awaited results must lead to
 *      the same calls in the same order.  Take time, randomness and ids from the context; do
 *      everything else (files, network, clocks) in activities.
 *   2. Own nothing across an await.  A suspended stack may be dropped without
 *      unwinding.  Allocate with pawl_alloc(), whose memory dies with the
 *      execution, or register a clean-up with pawl_defer().
 *   3. Check results.  Calls report failure by value (`!result.ok`), never by a
 *      jump.
 *   4. Stay on this thread and pass `ctx` to no other.  Client calls
 *      (pawl/client.h) are refused here; use activities or children.
 *
 * Tasks are values.  `start` decides at the call, in program order; `await` returns
 * at once when the answer is recorded; a second await gives the same answer.
 * The order of completions is the order of the history.
 */
#ifndef PAWL_ORCHESTRATION_H
#define PAWL_ORCHESTRATION_H

#include "pawl/json.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_ctx pawl_ctx;

typedef pawl_result pawl_orchestration_fn(pawl_ctx *ctx, pawl_str input);

/* The handle of a started piece of work: copy it freely, never free it.  It is valid only
 * in the context that made it.  Id 0 is no task. */
typedef struct pawl_task {
    uint64_t id;
} pawl_task;

/* ---- Returning ---------------------------------------------------------- */

/* `return pawl_done(ctx, "shipped");`: completed with this output (copied). */
PAWL_API pawl_result pawl_done(pawl_ctx *ctx, const char *output) PAWL_MUST_USE;
PAWL_API pawl_result pawl_done_str(pawl_ctx *ctx, pawl_str output) PAWL_MUST_USE;
PAWL_API pawl_result pawl_donef(pawl_ctx *ctx, const char *format, ...)
    PAWL_PRINTF(2, 3) PAWL_MUST_USE;
/* `return pawl_fail(ctx, "no review in time");`: failed with this error (copied). */
PAWL_API pawl_result pawl_fail(pawl_ctx *ctx, const char *error) PAWL_MUST_USE;
PAWL_API pawl_result pawl_failf(pawl_ctx *ctx, const char *format, ...)
    PAWL_PRINTF(2, 3) PAWL_MUST_USE;

/* ---- Activities --------------------------------------------------------- */

typedef enum pawl_backoff {
    PAWL_BACKOFF_EXPONENTIAL = 0, /* initial × factor^(attempt-1) */
    PAWL_BACKOFF_LINEAR = 1,      /* initial × attempt */
    PAWL_BACKOFF_FIXED = 2,       /* initial */
} pawl_backoff;

/*
 * How often a call is tried and how long it may take.  Zero means the default of the
 * field.  Every attempt and delay is durable; none of them adds to the history.
 *
 * Time-outs: `schedule_to_start` bounds the wait for a worker, `start_to_close`
 * one attempt, `schedule_to_close` the whole call with its retries, `heartbeat` the
 * silence of a running attempt.  A start_to_close or heartbeat time-out fails the
 * attempt and is retried like any error, unless no_retry_on_timeout is set; the other
 * two fail the call.
 *
 * When its process dies, or the lease of a remote worker runs out, an attempt is made
 * again.  That does not count against `attempts`; `max_crashes` bounds it.  With
 * at_most_once the call fails with the kind `lost` instead, and a time-out is not
 * retried either; an error that the activity returned is still retried as `attempts`
 * says.
 */
typedef struct pawl_call_opts {
    size_t size;                     /* set by PAWL_CALL_OPTS */
    uint32_t attempts;               /* total tries; default 1 */
    pawl_backoff backoff;            /* default exponential */
    int64_t initial_ms;              /* default 1,000 */
    int64_t cap_ms;                  /* longest delay; default 60,000 */
    double factor;                   /* of exponential; default 2.0 */
    double jitter;                   /* 0..1: delay × (1 ± jitter); default 0 */
    const char *const *final_errors; /* error prefixes that are not retried; NULL-terminated */
    bool no_retry_on_timeout;
    int64_t schedule_to_start_ms; /* default: no limit */
    int64_t start_to_close_ms;    /* default: no limit */
    int64_t schedule_to_close_ms; /* default: no limit */
    int64_t heartbeat_ms;         /* default: no limit */
    const char *tag;              /* only workers that ask for it get the call: polls, --tags;
                                   * default none */
    uint32_t max_crashes;         /* process deaths or lost leases before the call fails as
                                   * poison; default: max_attempts of the runtime, 10 */
    bool at_most_once;            /* an attempt whose end is unknown is not made again: the call
                                   * fails with the kind `lost`.  One more commit per attempt. */
    const char *key;              /* for whom the call is: calls of different keys share workers
                                   * fairly.  1..128 bytes, "acme/ann" has two levels; default none */
    uint32_t priority;            /* 1..999, the lowest first, over the whole store; default 100 */
} pawl_call_opts;

/* As `attempts` or `max_crashes`: no limit. */
#define PAWL_UNLIMITED      UINT32_MAX

#define PAWL_CALL_OPTS(...) PAWL_LEND(pawl_call_opts, __VA_ARGS__)

/* Run an activity and wait for it: pawl_start(), then pawl_await(). */
PAWL_API pawl_result pawl_call(pawl_ctx *ctx, const char *activity, pawl_str input) PAWL_MUST_USE;
PAWL_API pawl_result pawl_call_with(pawl_ctx *ctx, const char *activity, pawl_str input,
                                    const pawl_call_opts *opts) PAWL_MUST_USE;
/*
 * Start an activity; wait for it later.  `activity` names a function registered in this
 * process, on another node or by a remote worker.  While none of them has it, the call
 * waits.  The activity runs at least once; its result is recorded exactly once.  The
 * input is copied.
 */
PAWL_API pawl_task pawl_start(pawl_ctx *ctx, const char *activity, pawl_str input);
PAWL_API pawl_task pawl_start_with(pawl_ctx *ctx, const char *activity, pawl_str input,
                                   const pawl_call_opts *opts);

/* ---- Waiting ------------------------------------------------------------ */

/* Wait for one task. */
PAWL_API pawl_result pawl_await(pawl_ctx *ctx, pawl_task task) PAWL_MUST_USE;
/* Wait until all are done or one fails (try-join).  A failure is returned at once and the
 * others keep running; after success read each with pawl_await(), which no longer waits.
 * n = 0 succeeds. */
PAWL_API pawl_result pawl_await_all(pawl_ctx *ctx, const pawl_task *tasks, size_t n) PAWL_MUST_USE;
/* Wait until every task has ended, with success or failure.  Ok, unless the wait itself
 * was cancelled.  Read each with pawl_await(). */
PAWL_API pawl_result pawl_await_settled(pawl_ctx *ctx, const pawl_task *tasks,
                                        size_t n) PAWL_MUST_USE;
/* Wait for the task that ends first in history order.  Returns its index, or -1 when the
 * wait was cancelled or n = 0.  The others stay pending and may be awaited again. */
PAWL_API int pawl_await_any(pawl_ctx *ctx, const pawl_task *tasks, size_t n) PAWL_MUST_USE;
/* pawl_await_any(), then pawl_cancel() for the rest.  Returns what pawl_await_any() does. */
PAWL_API int pawl_race(pawl_ctx *ctx, const pawl_task *tasks, size_t n) PAWL_MUST_USE;
/* Give up a task: its work is withdrawn, a running activity is told, a child is
 * cancelled.  Awaiting it gives a failed result.  A task that is done stays as it is;
 * only a wait for an event that your code has not seen gives the event back
 * (pawl_wait_event). */
PAWL_API void pawl_cancel(pawl_ctx *ctx, pawl_task task);
/* True when awaiting the task would not wait. */
PAWL_API bool pawl_is_done(pawl_ctx *ctx, pawl_task task);

/*
 * Many pieces of work, a few at a time.  fn(ctx, i, arg) starts piece i and returns its
 * task, for i = 0 … n-1, with at most `window` of them open (0: all at once).  A new piece
 * starts whenever one has ended, so a slow one does not hold up the others.  Ok when all
 * have succeeded: read tasks[i] with pawl_await(), which no longer waits.  The first
 * failure (or the cancellation of the wait) is returned at once: no more pieces are
 * started, the open ones keep running, and tasks[] of those never started have the id 0.
 */
typedef pawl_task pawl_map_fn(pawl_ctx *ctx, size_t i, void *arg);
PAWL_API pawl_result pawl_map(pawl_ctx *ctx, size_t n, size_t window, pawl_map_fn *fn, void *arg,
                              pawl_task *rettasks) PAWL_MUST_USE;

/* ---- Timers and events -------------------------------------------------- */

/* A task that ends after `delay_ms` (0 … 100 years): never early, and it survives
 * restarts. */
PAWL_API pawl_task pawl_timer(pawl_ctx *ctx, int64_t delay_ms);
/* pawl_timer(), then pawl_await(). */
PAWL_API pawl_result pawl_sleep(pawl_ctx *ctx, int64_t delay_ms) PAWL_MUST_USE;

typedef enum pawl_event_flags {
    PAWL_EVENT_DROP_EARLY = 1, /* discard events of this name that came before the wait */
} pawl_event_flags;

/*
 * The next event of that name raised to this instance, from the mailbox or the future, in
 * the order raised.  An event is consumed when an await has returned it (pawl_await_any:
 * as the first to end) or pawl_is_done() has said so.  A wait that is given up before that,
 * by pawl_cancel(), a lost pawl_race(), the end of its scope or continue-as-new, gives its
 * event back, in front of later events of that name.
 */
PAWL_API pawl_task pawl_wait_event(pawl_ctx *ctx, const char *name);
PAWL_API pawl_task pawl_wait_event_with(pawl_ctx *ctx, const char *name, unsigned flags);

/*
 * pawl_wait_event(), and say what you want, for those who may answer: a JSON object of at most 16 KiB
 * with `title` or `text` (texts), and if you like `schema` (an object) and `choices` (1 to 100
 * texts).  Pawl shows it and does not compare answers with it:
 *
 *     pawl_task t = pawl_wait_event_ask(ctx, "Approve", pawl_s(
 *         "{\"title\":\"Refund 900 EUR?\",\"choices\":[\"yes\",\"no\"]}"));
 *
 * pawl_client_asks(), GET /api/v1/asks and `pawl asks` list the open ones of all instances; an
 * ordinary raise of the event answers.  Anything else as `ask` is refused: awaiting the task fails.
 * Replay does not compare it, so that you may reword it.
 */
PAWL_API pawl_task pawl_wait_event_ask(pawl_ctx *ctx, const char *name, pawl_str ask);

typedef enum pawl_raise_flags {
    PAWL_RAISE_AWAIT_START = 1, /* keep it for an instance that does not exist yet */
} pawl_raise_flags;

/*
 * Raise an event to another instance, in this turn's commit: it is raised exactly once, however the
 * turn ends.  It does not wait, and its result says nothing about the other side: when that instance
 * does not exist, has ended, or has a full mailbox, the event is dropped with a warning in the log
 * (counter pawl_raises_dropped_total).  Not ok (PAWL_RESULT_REFUSED) when the call was refused: a
 * bad id, name or flag, or data over the limit.
 */
PAWL_API pawl_result pawl_raise(pawl_ctx *ctx, const char *instance, const char *event,
                                pawl_str data, unsigned flags) PAWL_MUST_USE;

/* ---- Updates -------------------------------------------------------------- */

/*
 * An update is a request of a client that your code answers (pawl_client_update, pawl update,
 * POST …/updates/NAME).  Serve them in a loop, as straight-line code:
 *
 *     pawl_task u = pawl_wait_update(ctx, "add");
 *     pawl_result request = pawl_await(ctx, u);
 *     if (request.ok)
 *         pawl_answer(ctx, u, total);
 *
 * The wait is a task like pawl_wait_event(): its result is the request, in the order of arrival;
 * a request that your code was not told of goes back when the wait is given up.  When nothing is
 * awaited between, the request, all that your code decided and the answer are one commit.
 *
 * Each update is answered once: by pawl_answer(), by pawl_reject() (its client gets the text), or,
 * when the execution ends or continues as new before that, by a rejection.  A second answer, and
 * one for a wait that took no update, is ignored with a warning in the log.
 */
PAWL_API pawl_task pawl_wait_update(pawl_ctx *ctx, const char *name);
PAWL_API void pawl_answer(pawl_ctx *ctx, pawl_task update, pawl_str value);
PAWL_API void pawl_reject(pawl_ctx *ctx, pawl_task update, const char *error);

/*
 * True: take it.  False: the client gets `why` (a text of less than `size` bytes), and the history
 * gets nothing.  It runs on the thread of the engine before the request is recorded, never in a
 * replay: it looks at `arg` and `data` only, is brief, and calls nothing of Pawl but pawl/json.h.
 * `arg` lives as long as the wait: take it from pawl_alloc().
 */
typedef bool pawl_update_check(const void *arg, pawl_str data, char *why, size_t size);
PAWL_API pawl_task pawl_wait_update_checked(pawl_ctx *ctx, const char *name,
                                            pawl_update_check *check, const void *arg);

/* ---- Children and other instances --------------------------------------- */

typedef enum pawl_child_flags {
    PAWL_CHILD_ABANDON = 1, /* ContinueAsNew and return of the parent leave it running */
    PAWL_CHILD_INHERIT = 2, /* it begins with the attributes that its parent has then */
} pawl_child_flags;

typedef struct pawl_child_opts {
    size_t size;          /* set by PAWL_CHILD_OPTS */
    const char *instance; /* default: "{parent}:{execution}:{id}" */
    const char *version;  /* exact; default: resolved at the child's start */
    unsigned flags;
    int64_t deadline_ms; /* it is cancelled this long after this call.  A child is cancelled at the
                          * deadline of its parent at the latest */
} pawl_child_opts;

#define PAWL_CHILD_OPTS(...) PAWL_LEND(pawl_child_opts, __VA_ARGS__)

/* Start another orchestration as a child; its end is this task's result.  If the child id
 * exists already, the result is a failure at once. */
PAWL_API pawl_task pawl_start_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                    const pawl_child_opts *opts);
PAWL_API pawl_result pawl_call_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                     const pawl_child_opts *opts) PAWL_MUST_USE;
/* Start an independent instance in this turn's commit, however the turn ends.  The value is
 * its id.  Not ok (PAWL_RESULT_REFUSED) when the call was refused: it is over a limit, or
 * the id is taken. */
PAWL_API pawl_result pawl_start_detached(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                         const pawl_child_opts *opts) PAWL_MUST_USE;

/* ---- Continue as new ---------------------------------------------------- */

#define PAWL_SAME_VERSION "same" /* as `version`: stay on the version running now */

/*
 * End this execution and open the next one with a fresh history:
 * `return pawl_continue_as_new(ctx, input, NULL);`.  One commit does both.  The next
 * execution keeps the events that no wait has taken, the custom status and the parent.
 * `version`: NULL resolves again (so eternal orchestrations upgrade), PAWL_SAME_VERSION,
 * or an exact one.
 */
PAWL_API pawl_result pawl_continue_as_new(pawl_ctx *ctx, pawl_str input,
                                          const char *version) PAWL_MUST_USE;

/* ---- Time, identity, randomness: from the history, so replay agrees ------ */

/* The time of the message that woke this code, in milliseconds since 1970: constant until
 * the next wait; it never goes back. */
PAWL_API int64_t pawl_now(pawl_ctx *ctx);
PAWL_API uint64_t pawl_random(pawl_ctx *ctx);
PAWL_API pawl_str pawl_uuid(pawl_ctx *ctx); /* version 7 in shape, 36 characters */
PAWL_API pawl_str pawl_instance(pawl_ctx *ctx);
PAWL_API uint64_t pawl_execution(pawl_ctx *ctx);
/* The occurrence of the schedule that started the instance (pawl/schedule.h), whatever the time is
 * now; 0: it was not started by one.  The same after pawl_continue_as_new(). */
PAWL_API int64_t pawl_scheduled_at(pawl_ctx *ctx);
PAWL_API pawl_str pawl_name(pawl_ctx *ctx);
PAWL_API pawl_str pawl_version(pawl_ctx *ctx);
PAWL_API void *pawl_user(pawl_ctx *ctx); /* `user` of the registration */
/* Events in the history of this execution so far: continue as new before the limit.  It
 * follows from the history, so you may branch on it. */
PAWL_API uint64_t pawl_history_length(pawl_ctx *ctx);

typedef enum pawl_log_level {
    PAWL_LOG_ERROR = 0,
    PAWL_LOG_WARN = 1,
    PAWL_LOG_INFO = 2,
    PAWL_LOG_DEBUG = 3,
} pawl_log_level;

/* Log a line; does nothing while replaying. */
PAWL_API void pawl_log(pawl_ctx *ctx, pawl_log_level level, const char *format, ...)
    PAWL_PRINTF(3, 4);
/* True while the code replays recorded history.  Do not branch on it. */
PAWL_API bool pawl_is_replaying(pawl_ctx *ctx);
/* True once cancellation was requested. */
PAWL_API bool pawl_cancelled(pawl_ctx *ctx);
/* Until pawl_unshield(), awaits wait although cancellation was requested: use it for
 * compensation.  Calls nest.  Only terminate ends code inside a shield or withdraws what
 * it scheduled there: it may take any time, also across restarts. */
PAWL_API void pawl_shield(pawl_ctx *ctx);
PAWL_API void pawl_unshield(pawl_ctx *ctx);
/*
 * Guard a change of code: `if (pawl_patched(ctx, "fraud-check-2")) new; else
 * old;`.  True for executions that reach it for the first time from now on,
 * false for those that passed this place before the change.
 */
PAWL_API bool pawl_patched(pawl_ctx *ctx, const char *patch);
/* A short text shown with the instance (at most 256 KiB); "" clears it. */
PAWL_API void pawl_set_status(pawl_ctx *ctx, const char *text);
PAWL_API void pawl_set_statusf(pawl_ctx *ctx, const char *format, ...) PAWL_PRINTF(2, 3);

/* ---- Attributes ------------------------------------------------------------ */

/*
 * Change the attributes of this instance (pawl/attribute.h): `object` is JSON, merged into what is
 * there; null removes a name.  Clients find instances by them (pawl ls --where, GET …?where=), from
 * the commit of this turn on.  Code cannot read them: a client may change them at any time.  They are
 * kept by continue-as-new and rerun.  A change that is no such object, has a name or value that is not
 * allowed, or makes more than 32 of them fails (PAWL_RESULT_REFUSED) and changes nothing.
 */
PAWL_API pawl_result pawl_set_attributes(pawl_ctx *ctx, pawl_str object) PAWL_MUST_USE;

/* ---- State ---------------------------------------------------------------- */

/*
 * Publish values by key: any client may read them (pawl state ID, GET …/state) while the code waits,
 * while no process has the code, and after the end.  A reader sees what the last commit has; no code
 * runs for it.  The state survives continue-as-new and is removed with the instance.
 *
 * A key has 1 to 128 bytes and no '/', a value at most 64 KiB, an instance at most 1,000 keys and
 * 1 MiB.  A call beyond that fails (PAWL_RESULT_REFUSED), and the value before stands.
 */
PAWL_API pawl_result pawl_state_set(pawl_ctx *ctx, const char *key, pawl_str value) PAWL_MUST_USE;
PAWL_API pawl_result pawl_state_clear(pawl_ctx *ctx, const char *key) PAWL_MUST_USE;
/* What this instance set last, in memory of the scope; `ptr` NULL: nothing. */
PAWL_API pawl_str pawl_state_get(pawl_ctx *ctx, const char *key);

/* ---- Memory ------------------------------------------------------------- */

/* Never NULL.  A turn that asks for more than --turn-memory in total is stopped, and its
 * instance is blocked: repair the code or raise the limit, then retry it. */
PAWL_API pawl_mem *pawl_ctx_mem(pawl_ctx *ctx);
PAWL_API void *pawl_alloc(pawl_ctx *ctx, size_t size); /* zeroed; dies with the execution */
PAWL_API pawl_str pawl_printf(pawl_ctx *ctx, const char *format, ...) PAWL_PRINTF(2, 3);
/* Run `fn(arg)` when the execution ends *and* whenever its stack is dropped before that;
 * the function registered last runs first.  `fn` frees memory and handles; it must not
 * call the API. */
PAWL_API void pawl_defer(pawl_ctx *ctx, void (*fn)(void *arg), void *arg);
/* For long loops: the end of a scope frees what the API returned since its beginning and
 * runs the functions deferred inside.  Scopes nest. */
PAWL_API void pawl_scope_begin(pawl_ctx *ctx);
PAWL_API void pawl_scope_end(pawl_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
