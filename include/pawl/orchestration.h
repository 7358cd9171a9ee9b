/* SPDX-License-Identifier: MIT */
/*
 * pawl/orchestration.h -- what an orchestration function may call.
 *
 * An orchestration is a plain C function.  It runs on its own small stack, is
 * suspended at every await, and may be run again from the top at any time: the
 * recorded history, not the C stack, is its state.  Four rules follow.
 *
 *   1. Be deterministic.  Same input and same awaited results, same calls in
 *      the same order.  Take time, randomness and ids from the context; do
 *      everything else (files, network, clocks) in activities.
 *   2. Own nothing across an await.  A suspended stack may be dropped without
 *      unwinding.  Allocate with pawl_alloc(), which dies with the execution,
 *      or register clean-up with pawl_defer().
 *   3. Look at results.  Calls fail by value (`!result.ok`), never by jumping.
 *   4. Stay on this thread and give `ctx` to nobody else.  Client calls
 *      (pawl/client.h) are refused here; use activities or children.
 *
 * Tasks are values.  `start` decides at the call, in program order; `await`
 * costs nothing when the answer is recorded; awaiting twice gives the same
 * answer.  The order of completions is the order of the history.
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

/* A started, not yet awaited, piece of work: copy it freely, never free it.
 * Meaningful only in the context that made it.  Id 0 is no task. */
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
 * How a call is tried, and how long it may take.  Zero means the default of the
 * field.  Every attempt and delay is durable; none of it grows the history.
 *
 * Time-outs: `schedule_to_start` bounds the wait for a worker, `start_to_close`
 * one attempt, `schedule_to_close` everything together, `heartbeat` the silence
 * of a running attempt.  A start_to_close or heartbeat time-out fails the
 * attempt and is retried like any error, unless no_retry_on_timeout; the other
 * two fail the call.
 *
 * An attempt that was under way when its process died, or when the lease of a remote worker
 * ran out, is made again and costs none of `attempts`; `max_crashes` bounds that.  With
 * at_most_once such an attempt is `lost` instead, and a time-out is never followed by another
 * attempt either; an error the activity returned is retried as `attempts` says.
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
    const char *tag;              /* only who asks for it: polls, --tags; default none */
    uint32_t max_crashes;         /* deaths of the process, or lost leases, before it is given up as
                                   * poison; default: of the runtime (max_attempts), 10 */
    bool at_most_once;            /* an attempt whose end nobody knows is not made again: the call
                                   * fails with the kind `lost`.  Costs a commit an attempt. */
} pawl_call_opts;

/* As `attempts` or `max_crashes`: no limit. */
#define PAWL_UNLIMITED      UINT32_MAX

#define PAWL_CALL_OPTS(...) PAWL_LEND(pawl_call_opts, __VA_ARGS__)

/* Run an activity and wait for it: pawl_start(), then pawl_await(). */
PAWL_API pawl_result pawl_call(pawl_ctx *ctx, const char *activity, pawl_str input) PAWL_MUST_USE;
PAWL_API pawl_result pawl_call_with(pawl_ctx *ctx, const char *activity, pawl_str input,
                                    const pawl_call_opts *opts) PAWL_MUST_USE;
/*
 * Start an activity; wait for it later.  `activity` names a function registered
 * here, on another node or by a remote worker; nobody having it means it waits.
 * Runs at least once; its result is recorded exactly once.  Input is copied.
 */
PAWL_API pawl_task pawl_start(pawl_ctx *ctx, const char *activity, pawl_str input);
PAWL_API pawl_task pawl_start_with(pawl_ctx *ctx, const char *activity, pawl_str input,
                                   const pawl_call_opts *opts);

/* ---- Waiting ------------------------------------------------------------ */

/* Wait for one task. */
PAWL_API pawl_result pawl_await(pawl_ctx *ctx, pawl_task task) PAWL_MUST_USE;
/* Wait until all are done, or one fails (try-join).  On failure returns that
 * failure at once and leaves the others running; on success read each with
 * pawl_await(), which no longer waits.  n = 0 succeeds. */
PAWL_API pawl_result pawl_await_all(pawl_ctx *ctx, const pawl_task *tasks, size_t n) PAWL_MUST_USE;
/* Wait until every one has ended, well or badly: ok, unless the wait itself was
 * cancelled.  Read each with pawl_await(). */
PAWL_API pawl_result pawl_await_settled(pawl_ctx *ctx, const pawl_task *tasks,
                                        size_t n) PAWL_MUST_USE;
/* Wait for the first to end, in history order: its index, or -1 when the wait
 * was cancelled or n = 0.  The others stay pending and may be awaited again. */
PAWL_API int pawl_await_any(pawl_ctx *ctx, const pawl_task *tasks, size_t n) PAWL_MUST_USE;
/* pawl_await_any(), then pawl_cancel() the rest: the index, or -1 as there. */
PAWL_API int pawl_race(pawl_ctx *ctx, const pawl_task *tasks, size_t n) PAWL_MUST_USE;
/* Give up a task: its work is withdrawn, a running activity is told, a child is
 * cancelled.  Awaiting it gives a failed result.  Done tasks stay as they are;
 * only a wait whose event you were not told of gives it back (pawl_wait_event). */
PAWL_API void pawl_cancel(pawl_ctx *ctx, pawl_task task);
/* True when awaiting the task would not wait. */
PAWL_API bool pawl_is_done(pawl_ctx *ctx, pawl_task task);

/*
 * Many pieces of work, a few at a time: fn(ctx, i, arg) starts piece i and returns its task,
 * for i = 0 … n-1, with at most `window` of them open (0: all at once).  A new one starts
 * when one has ended, so a slow one holds up nobody.  Ok when all have ended well: read
 * tasks[i] with pawl_await(), which no longer waits.  At the first failure (or when
 * the wait is cancelled) that is the result at once; no more are started, those open go on,
 * and tasks[] of those never started have the id 0.
 */
typedef pawl_task pawl_map_fn(pawl_ctx *ctx, size_t i, void *arg);
PAWL_API pawl_result pawl_map(pawl_ctx *ctx, size_t n, size_t window, pawl_map_fn *fn, void *arg,
                              pawl_task *rettasks) PAWL_MUST_USE;

/* ---- Timers and events -------------------------------------------------- */

/* Fires after `delay_ms` (0 … 100 years): never early, survives restarts. */
PAWL_API pawl_task pawl_timer(pawl_ctx *ctx, int64_t delay_ms);
/* pawl_timer(), then pawl_await(). */
PAWL_API pawl_result pawl_sleep(pawl_ctx *ctx, int64_t delay_ms) PAWL_MUST_USE;

typedef enum pawl_event_flags {
    PAWL_EVENT_DROP_EARLY = 1, /* discard mail of this name that came before the wait */
} pawl_event_flags;

/*
 * The next event of that name raised to this instance, from the mailbox or the
 * future, in the order raised.  An event is consumed when an await returned it
 * (pawl_await_any: as the first to end) or pawl_is_done() said so, not before:
 * given up until then, by pawl_cancel(), a lost pawl_race(), the end of its scope
 * or continue-as-new, the wait gives it back, before later mail of that name.
 */
PAWL_API pawl_task pawl_wait_event(pawl_ctx *ctx, const char *name);
PAWL_API pawl_task pawl_wait_event_with(pawl_ctx *ctx, const char *name, unsigned flags);

/* ---- Children and other instances --------------------------------------- */

typedef enum pawl_child_flags {
    PAWL_CHILD_ABANDON = 1, /* ContinueAsNew and return of the parent leave it running */
} pawl_child_flags;

typedef struct pawl_child_opts {
    size_t size;          /* set by PAWL_CHILD_OPTS */
    const char *instance; /* default: made from the parent, "{parent}:{execution}:{id}" */
    const char *version;  /* exact; default: resolved at the child's start */
    unsigned flags;
} pawl_child_opts;

#define PAWL_CHILD_OPTS(...) PAWL_LEND(pawl_child_opts, __VA_ARGS__)

/* Start another orchestration as a child; its end is this task's result.  A
 * child id that exists already is a failed result, never a wait. */
PAWL_API pawl_task pawl_start_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                    const pawl_child_opts *opts);
PAWL_API pawl_result pawl_call_child(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                     const pawl_child_opts *opts) PAWL_MUST_USE;
/* Start an independent instance in this turn's commit, however the turn ends.
 * The value is its id; not ok (PAWL_RESULT_REFUSED) when the call was refused: a
 * limit, or an id that is taken. */
PAWL_API pawl_result pawl_start_detached(pawl_ctx *ctx, const char *orchestration, pawl_str input,
                                         const pawl_child_opts *opts) PAWL_MUST_USE;

/* ---- Continue as new ---------------------------------------------------- */

#define PAWL_SAME_VERSION "same" /* as `version`: stay on the version running now */

/*
 * End this execution and open the next one with a fresh history:
 * `return pawl_continue_as_new(ctx, input, NULL);`.  One commit does both; mail
 * that nobody took, custom status and parent go along.  `version`: NULL
 * resolves again (so eternal orchestrations upgrade), PAWL_SAME_VERSION, or an
 * exact one.
 */
PAWL_API pawl_result pawl_continue_as_new(pawl_ctx *ctx, pawl_str input,
                                          const char *version) PAWL_MUST_USE;

/* ---- Time, identity, randomness: from the history, so replay agrees ------ */

/* Milliseconds since 1970 of the message that woke this code: constant until
 * the next wait, never going back. */
PAWL_API int64_t pawl_now(pawl_ctx *ctx);
PAWL_API uint64_t pawl_random(pawl_ctx *ctx);
PAWL_API pawl_str pawl_uuid(pawl_ctx *ctx); /* version 7 in shape, 36 characters */
PAWL_API pawl_str pawl_instance(pawl_ctx *ctx);
PAWL_API uint64_t pawl_execution(pawl_ctx *ctx);
PAWL_API pawl_str pawl_name(pawl_ctx *ctx);
PAWL_API pawl_str pawl_version(pawl_ctx *ctx);
PAWL_API void *pawl_user(pawl_ctx *ctx); /* `user` of the registration */
/* Events in the history of this execution so far: continue as new before the
 * limit.  Follows from the history, so branching on it is safe. */
PAWL_API uint64_t pawl_history_length(pawl_ctx *ctx);

typedef enum pawl_log_level {
    PAWL_LOG_ERROR = 0,
    PAWL_LOG_WARN = 1,
    PAWL_LOG_INFO = 2,
    PAWL_LOG_DEBUG = 3,
} pawl_log_level;

/* Log a line; silent while replaying. */
PAWL_API void pawl_log(pawl_ctx *ctx, pawl_log_level level, const char *format, ...)
    PAWL_PRINTF(3, 4);
/* True while recorded history is being run again.  Do not branch on it. */
PAWL_API bool pawl_is_replaying(pawl_ctx *ctx);
/* True once cancellation was requested. */
PAWL_API bool pawl_cancelled(pawl_ctx *ctx);
/* Until pawl_unshield(), awaits wait although cancellation was requested: for
 * compensation.  Calls nest.  Nothing but terminate ends code inside a shield or
 * withdraws what it scheduled there: it may take its time, over restarts too. */
PAWL_API void pawl_shield(pawl_ctx *ctx);
PAWL_API void pawl_unshield(pawl_ctx *ctx);
/*
 * Guard a change of code: `if (pawl_patched(ctx, "fraud-check-2")) new; else
 * old;`.  True for executions that reach it for the first time from now on,
 * false for those that passed here before the change.
 */
PAWL_API bool pawl_patched(pawl_ctx *ctx, const char *patch);
/* A short text shown with the instance (at most 256 KiB); "" clears it. */
PAWL_API void pawl_set_status(pawl_ctx *ctx, const char *text);
PAWL_API void pawl_set_statusf(pawl_ctx *ctx, const char *format, ...) PAWL_PRINTF(2, 3);

/* ---- Memory ------------------------------------------------------------- */

/* Never NULL: a turn that asks for more than --turn-memory in all does not come back, and its
 * instance is blocked until the code is mended or the limit raised, and it is retried. */
PAWL_API pawl_mem *pawl_ctx_mem(pawl_ctx *ctx);
PAWL_API void *pawl_alloc(pawl_ctx *ctx, size_t size); /* zeroed; dies with the execution */
PAWL_API pawl_str pawl_printf(pawl_ctx *ctx, const char *format, ...) PAWL_PRINTF(2, 3);
/* Run `fn(arg)` when the execution ends *and* whenever its stack is dropped in
 * between; last registered runs first.  `fn` frees memory and handles; it must
 * not call the API. */
PAWL_API void pawl_defer(pawl_ctx *ctx, void (*fn)(void *arg), void *arg);
/* What the API returned since the matching begin is freed at end, deferred
 * functions registered inside run.  For long loops.  Scopes nest. */
PAWL_API void pawl_scope_begin(pawl_ctx *ctx);
PAWL_API void pawl_scope_end(pawl_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
