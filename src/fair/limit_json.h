/* SPDX-License-Identifier: MIT */
/*
 * fair/limit_json.h -- a limit as JSON (pawl/limit.h): read, checked, written.  Pure.
 *
 * Whatever was read here is a rule that bucket.h can follow.  Called by the runtime
 * (work/work_limits.c, work/limit_call.c) and the fuzzer.
 */
#ifndef PAWL_FAIR_LIMIT_JSON_H
#define PAWL_FAIR_LIMIT_JSON_H

#include "fair/bucket.h"
#include "pawl/json.h"
#include "pawl/limit.h"

/* Texts in `mem`.  False: the error says what to do. */
bool limit_read_json(struct fair_rule *ret, pawl_str json, pawl_mem *mem, pawl_error *reterr);
void limit_write_json(pawl_json *w, const pawl_limit *limit);
/* A rule that was read, as it is stored and shown. */
void rule_write_json(pawl_json *w, const struct fair_rule *rule);

#endif
