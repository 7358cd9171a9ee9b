/* SPDX-License-Identifier: MIT */
/*
 * pawl/activity.h -- what an activity function may call.
 *
 * An activity is ordinary C on a worker thread: it may block, fail, and be run
 * again after a crash.  Give pawl_activity_key() to the outside world as
 * idempotency key.  All calls are for the thread that runs the activity, except
 * where another is named.
 */
#ifndef PAWL_ACTIVITY_H
#define PAWL_ACTIVITY_H

#include "pawl/json.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_activity pawl_activity;
typedef struct pawl_client pawl_client;

typedef pawl_result pawl_activity_fn(pawl_activity *act, pawl_str input);

/* `return pawl_ok(act, "receipt-42");` (copied) */
PAWL_API pawl_result pawl_ok(pawl_activity *act, const char *result) PAWL_MUST_USE;
PAWL_API pawl_result pawl_ok_str(pawl_activity *act, pawl_str result) PAWL_MUST_USE;
PAWL_API pawl_result pawl_okf(pawl_activity *act, const char *format, ...)
    PAWL_PRINTF(2, 3) PAWL_MUST_USE;
/* `return pawl_err(act, "card refused");`: this attempt failed; the call's
 * retry policy decides what follows. */
PAWL_API pawl_result pawl_err(pawl_activity *act, const char *error) PAWL_MUST_USE;
PAWL_API pawl_result pawl_errf(pawl_activity *act, const char *format, ...)
    PAWL_PRINTF(2, 3) PAWL_MUST_USE;
/* As pawl_err(), and no retry whatever the policy says. */
PAWL_API pawl_result pawl_err_final(pawl_activity *act, const char *error) PAWL_MUST_USE;
PAWL_API pawl_result pawl_err_finalf(pawl_activity *act, const char *format, ...)
    PAWL_PRINTF(2, 3) PAWL_MUST_USE;
/*
 * `return pawl_pending(act);`: the result comes later, from any thread or
 * process, through pawl_client_complete() with pawl_activity_token().  The
 * time-outs of the call go on running.
 */
PAWL_API pawl_result pawl_pending(pawl_activity *act) PAWL_MUST_USE;

/* Same for every attempt of one schedule, different for any other. */
PAWL_API const char *pawl_activity_key(pawl_activity *act);
/* Names this attempt to pawl_client_complete(); valid until it is completed. */
PAWL_API const char *pawl_activity_token(pawl_activity *act);
PAWL_API pawl_str pawl_activity_instance(pawl_activity *act);
PAWL_API uint64_t pawl_activity_execution(pawl_activity *act);
PAWL_API uint64_t pawl_activity_id(pawl_activity *act);
PAWL_API pawl_str pawl_activity_name(pawl_activity *act);
PAWL_API uint32_t pawl_activity_attempt(pawl_activity *act); /* 1, 2, 3 … */
PAWL_API void *pawl_activity_user(pawl_activity *act);       /* `user` of the registration */
PAWL_API pawl_client *pawl_activity_client(pawl_activity *act);

/* Say "still alive"; false when the work was cancelled or timed out and the
 * result will be ignored.  Cheap: nothing is written. */
PAWL_API bool pawl_activity_heartbeat(pawl_activity *act);
/* True when nobody waits for the result any more.  Any thread. */
PAWL_API bool pawl_activity_cancelled(pawl_activity *act);
/* Call `fn(arg)` on another thread the moment the work is cancelled (at once, on
 * this thread, if it is already): to wake what the activity blocks in.  One at a
 * time: a second call replaces the first, NULL takes it back, inside `fn` too.  No
 * lock is held meanwhile, so `fn` may call anything but wait for its activity.
 * Not called after the activity has returned; a call under way is waited for.
 * (Without threads, pawl_runtime_step(): on the thread that steps, after the pass.) */
PAWL_API void pawl_activity_on_cancel(pawl_activity *act, void (*fn)(void *arg), void *arg);

PAWL_API pawl_mem *pawl_activity_mem(pawl_activity *act); /* dies when the activity returns */

#ifdef __cplusplus
}
#endif
#endif
