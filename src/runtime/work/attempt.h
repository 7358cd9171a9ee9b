/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/attempt.h -- what follows an attempt: the next one, or a completion.
 * [engine]
 */
#ifndef PAWL_RUNTIME_ATTEMPT_H
#define PAWL_RUNTIME_ATTEMPT_H

#include "runtime/core/runtime.h"

#define ATTEMPT_LEASE_MS (INT64_C(100) * 366 * 86400000) /* a pending result may take its time */

#define ATTEMPT_AT_ONCE_MS                                                                         \
    20 /* an attempt that waited less began, for people, when it was scheduled */

enum attempt_end { ATTEMPT_ERROR, ATTEMPT_FINAL, ATTEMPT_START_TO_CLOSE, ATTEMPT_HEARTBEAT };

/* What else is known of an attempt that is over. */
struct attempt_how {
    bool unfused;        /* store the completion before the turn */
    struct letter *call; /* brought it, and is answered with the commit; NULL: none */
    int64_t started_ms;  /* wall clock; 0: not known, or it never began */
    pawl_str worker;     /* outside the process, that had it; empty: none, or not known */
};

/* The call is decided: bring it to the turn, with the work row to ack. */
void attempt_completed(pawl_runtime *rt, const pawl_work *w, pawl_str result,
                       const struct attempt_how *how);
/* The letter alone: its caller delivers it. */
struct letter *attempt_completion(pawl_runtime *rt, const pawl_work *w, pawl_str result,
                                  const struct attempt_how *how);
/* The same for a failure of that kind, whatever the policy says. */
void attempt_decided(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind, uint32_t attempts,
                     pawl_str error, const struct attempt_how *how);
/* An attempt failed: try again later (the stage that says so), or decide the call (NULL). */
struct stage *attempt_failed(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p,
                             pawl_str error, enum attempt_end why, const struct attempt_how *how);
/* The call is given up after this many deaths of the process or lost leases. */
uint32_t attempt_crash_limit(const pawl_runtime *rt, const struct call_policy *p);
/* Too many crashes: decide the call without running it again.  Frees the job. */
void attempt_poison(pawl_runtime *rt, struct job *job, const char *text);
/* Deadline of a row leased out of the process under this token, counted from now. */
int64_t attempt_lease_deadline(const struct call_policy *p, const pawl_work *w, pawl_str token,
                               int64_t now_ms);
/* The row as it is, to be looked at again then. */
struct stage *attempt_move_deadline(pawl_runtime *rt, const pawl_work *w, int64_t deadline_ms,
                                    uint64_t lock_epoch);

#endif
