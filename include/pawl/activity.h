/* SPDX-License-Identifier: MIT */
/*
 * pawl/activity.h -- what an activity function may call.
 *
 * An activity is ordinary C on a worker thread: it may block, it may fail, and after a
 * crash it runs again.  Give pawl_activity_key() to the outside world as an idempotency
 * key.  Make every call on the thread that runs the activity, unless the call says
 * otherwise.
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
/* As pawl_err(), but the call is not retried, whatever its policy says. */
PAWL_API pawl_result pawl_err_final(pawl_activity *act, const char *error) PAWL_MUST_USE;
PAWL_API pawl_result pawl_err_finalf(pawl_activity *act, const char *format, ...)
    PAWL_PRINTF(2, 3) PAWL_MUST_USE;
/*
 * `return pawl_pending(act);`: the result comes later, from any thread or
 * process, through pawl_client_complete() with pawl_activity_token().  The
 * time-outs of the call keep running.
 */
PAWL_API pawl_result pawl_pending(pawl_activity *act) PAWL_MUST_USE;

/* The same for every attempt of one scheduled call, different for every other call. */
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

/* Say "still alive".  False when the work was cancelled or timed out: its result will be
 * ignored.  Cheap: it writes nothing. */
PAWL_API bool pawl_activity_heartbeat(pawl_activity *act);
/* The same, with details, at most 16 KiB: where the next attempt is to go on from.  They are stored
 * within a second, with a failure of this attempt at the latest; a crash may lose the last
 * second's.  Longer ones are not kept: those before stand, and the log says so. */
PAWL_API bool pawl_activity_beat(pawl_activity *act, pawl_str details);
/* The details of the last attempt that gave any; false: there are none.  Valid until the activity
 * returns. */
PAWL_API bool pawl_activity_resume(pawl_activity *act, pawl_str *ret);
/* True when the result is no longer wanted.  From any thread. */
PAWL_API bool pawl_activity_cancelled(pawl_activity *act);
/* Call `fn(arg)` on another thread when the work is cancelled (at once and on this thread
 * if it is cancelled already), to wake whatever the activity blocks in.  There is one
 * callback at a time: a second call replaces the first and NULL removes it, also inside
 * `fn`.  Pawl holds no lock while `fn` runs, so `fn` may call anything; it must not wait
 * for its own activity.  `fn` is never called after the activity has returned: the return
 * waits for a call that is under way.  (Without threads, with pawl_runtime_step(), `fn`
 * runs on the stepping thread after the pass.) */
PAWL_API void pawl_activity_on_cancel(pawl_activity *act, void (*fn)(void *arg), void *arg);

PAWL_API pawl_mem *pawl_activity_mem(pawl_activity *act); /* dies when the activity returns */

#ifdef __cplusplus
}
#endif
#endif
