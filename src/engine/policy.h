/* SPDX-License-Identifier: MIT */
/*
 * engine/policy.h -- retry policy and time-outs of a call, as data.
 *
 * The engine writes it into the attrs of ActivityScheduled (only what is not
 * default, as a JSON object; nothing at all for a plain call), the runtime reads
 * it back from the work row.  Pure arithmetic: saturates, never overflows.
 */
#ifndef PAWL_ENGINE_POLICY_H
#define PAWL_ENGINE_POLICY_H

#include "pawl/orchestration.h"

struct call_policy {
    uint32_t attempts; /* >= 1 */
    pawl_backoff backoff;
    int64_t initial_ms, cap_ms;
    double factor, jitter;
    const pawl_str *final_errors; /* prefixes */
    size_t final_error_count;
    bool no_retry_on_timeout;
    int64_t schedule_to_start_ms, start_to_close_ms, schedule_to_close_ms,
        heartbeat_ms; /* 0: none */
    pawl_str tag;
    uint32_t max_crashes; /* 0: as the runtime says */
    bool at_most_once;
    pawl_str key;
    uint32_t priority; /* 1..999 */
};

/* The policy of NULL options. */
struct call_policy policy_default(void);
/* Copy and normalise (0 -> default, negative -> 0, jitter into 0..1) into `mem`. */
struct call_policy policy_of(const pawl_call_opts *opts, pawl_mem *mem);
/* Empty for the default policy. */
pawl_str policy_format(const struct call_policy *p, pawl_mem *mem);
/* Anything unreadable keeps its default. */
struct call_policy policy_parse(pawl_str attrs, pawl_mem *mem);
/* Delay before attempt `next` (2, 3, …); `bits` is the jitter's random number. */
int64_t policy_delay_ms(const struct call_policy *p, uint32_t next, uint64_t bits);
/* True when an error text must not be retried. */
bool policy_is_final(const struct call_policy *p, pawl_str error);

#endif
