/* SPDX-License-Identifier: MIT */
/*
 * tables/job_options.h -- what the input of a job may say about its one call.
 *
 * A job is an instance of the built-in orchestration pawl.job (pawl/client.h).  Its input is an
 * object: `activity`, `input`, and these members, which are the fields of pawl_call_opts
 * (pawl/orchestration.h) and the attrs of ActivityScheduled by the same names.  The runtime checks
 * a start by this list (core/built_in.c), the server has it in the body of POST /api/v1/jobs.
 */
#ifndef PAWL_TABLES_JOB_OPTIONS_H
#define PAWL_TABLES_JOB_OPTIONS_H

#include "base/limits.h"

/* clang-format off */
/* X(member, WHOLE NUMBER TRUTH TEXT TEXTS or GROWTH (a word of JOB_BACKOFFS), least, most, one line about it) */
#define JOB_OPTIONS(X)                                                                              \
    X(attempts,             WHOLE,  1, UINT32_MAX,     "tries in total; left out, 1")               \
    X(backoff,              GROWTH, 1, 16,             "how the delay between tries grows")         \
    X(initial_ms,           WHOLE,  1, LIMIT_DELAY_MS, "the first delay; left out, 1000")           \
    X(cap_ms,               WHOLE,  1, LIMIT_DELAY_MS, "the longest delay; left out, 60000")        \
    X(factor,               NUMBER, 1, 1000,           "of an exponential delay; left out, 2")      \
    X(jitter,               NUMBER, 0, 1,              "the delay is longer or shorter by this part") \
    X(final_errors,         TEXTS,  0, 100,            "errors that begin with one of these are not tried again")  \
    X(no_retry_on_timeout,  TRUTH,  0, 0,              "a time-out is not tried again")             \
    X(schedule_to_start_ms, WHOLE,  1, LIMIT_DELAY_MS, "how long it may wait for a worker")         \
    X(start_to_close_ms,    WHOLE,  1, LIMIT_DELAY_MS, "how long one attempt may take")             \
    X(schedule_to_close_ms, WHOLE,  1, LIMIT_DELAY_MS, "how long all of them may take")             \
    X(heartbeat_ms,         WHOLE,  1, LIMIT_DELAY_MS, "how long a running attempt may be silent")  \
    X(tag,                  TEXT,   1, LIMIT_NAME_BYTES, "only workers that ask for it get it")     \
    X(max_crashes,          WHOLE,  1, UINT32_MAX,     "process deaths and lost leases before it fails") \
    X(at_most_once,         TRUTH,  0, 0,              "an attempt whose end is unknown is not made again") \
    X(key,                  TEXT,   1, LIMIT_TRAY_KEY_BYTES, "for whom it is: keys share workers fairly") \
    X(priority,             WHOLE,  1, LIMIT_PRIORITY, "the lowest first; left out, 100")
/* clang-format on */

#define JOB_BACKOFFS "exponential linear fixed"

#endif
