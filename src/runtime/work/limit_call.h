/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/limit_call.h -- clients' calls on limits: checked on the caller's thread, carried out
 * by the engine.
 *
 * A call writes the object in a round of its own.  Once that is committed and the rows of its group
 * are handed out, the limit is in force (limits_apply).  Of two calls on one limit the second waits
 * for the commit of the first.
 *
 * Called by api/client.c and request/request.c.
 */
#ifndef PAWL_RUNTIME_LIMIT_CALL_H
#define PAWL_RUNTIME_LIMIT_CALL_H

#include "pawl/limit.h"
#include "runtime/core/verdict.h"

/* What can be refused without the store. */
bool limit_check(pawl_runtime *rt, const pawl_request *q, pawl_error *err);
/* A name that a limit may have. */
bool limit_check_name(const char *name, pawl_error *err);
/* False, and why: the store has no limits. */
bool limit_check_store(pawl_runtime *rt, pawl_error *err);
/* What the struct says, as JSON. */
void limit_write(pawl_json *w, const pawl_limit *limit);
/* [engine] */
enum verdict_kind limit_call(pawl_runtime *rt, struct letter *call);

#endif
