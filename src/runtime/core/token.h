/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/token.h -- the names of attempts that are completed from outside.
 *
 * A token is w<work id>.<uid>.<32 random digits>.<when the attempt began, ms>.  It is stored on
 * the row, so the row knows its attempt: an extension does not begin a new one.  The
 * completion it brought keeps the first half of the digits (attrs "lease"), so that a
 * caller that hands in a result again, because the answer was lost, learns that it is recorded.
 */
#ifndef PAWL_RUNTIME_TOKEN_H
#define PAWL_RUNTIME_TOKEN_H

#include "runtime/core/runtime.h"

/* A new one; any thread. */
void token_make(pawl_runtime *rt, const pawl_work *w, int64_t began_ms, char out[TOKEN_BYTES]);
/* When its attempt began; `otherwise` when it does not say. */
int64_t token_began(pawl_str token, int64_t otherwise);
/* The work it speaks of; 0: it is none of ours. */
uint64_t token_work(const char *token);
/* The instance it speaks of; 0: it is none of ours. */
uint64_t token_uid(const char *token);
/* What is kept of it in the history; empty: it is none of ours. */
pawl_str token_mark(const char *token);
/* Is this very result of this very attempt recorded?  Reads what the instance has. [engine] */
bool token_is_recorded(pawl_runtime *rt, const char *token, bool ok, pawl_str result);

#endif
