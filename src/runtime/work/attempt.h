/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/attempt.h -- what follows an attempt: the next one, or a completion.
 * [engine]
 */
#ifndef PAWL_RUNTIME_ATTEMPT_H
#define PAWL_RUNTIME_ATTEMPT_H

#include "runtime/core/runtime.h"

#define ATTEMPT_LEASE_MS (INT64_C(100) * 366 * 86400000) /* a pending result may take its time */

enum attempt_end { ATTEMPT_ERROR, ATTEMPT_FINAL, ATTEMPT_START_TO_CLOSE, ATTEMPT_HEARTBEAT };

/* The call is decided: bring it to the turn, with the work row to ack.  Unfused:
 * store it first.  `call` (may be NULL) is answered with the commit. */
void attempt_completed(pawl_runtime *rt, const pawl_work *w, pawl_str result, bool unfused,
                       struct letter *call);
/* The same for a failure of that kind, whatever the policy says. */
void attempt_decided(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind, uint32_t attempts,
                     pawl_str error, bool unfused, struct letter *call);
/* An attempt failed: try again later (the stage that says so), or decide the call (NULL). */
struct stage *attempt_failed(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p,
                             pawl_str error, enum attempt_end why, bool unfused,
                             struct letter *call);
/* The call is given up after this many deaths of the process or lost leases. */
uint32_t attempt_crash_limit(const pawl_runtime *rt, const struct call_policy *p);
/* Too many crashes: decide the call without running it again.  Frees the job. */
void attempt_poison(pawl_runtime *rt, struct job *job, const char *text);
/* Deadline of a row leased out of the process under this token, heard of now. */
int64_t attempt_lease_deadline(const struct call_policy *p, const pawl_work *w, pawl_str token,
                               int64_t now_ms);
/* The row as it is, to be looked at again then. */
struct stage *attempt_move_deadline(pawl_runtime *rt, const pawl_work *w, int64_t deadline_ms,
                                    uint64_t lock_epoch);

#endif
