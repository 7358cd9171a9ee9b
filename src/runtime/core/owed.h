/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/owed.h -- clients' calls that have no answer yet, oldest first.
 *
 * Health is bad when the oldest is too old, whatever the cause: a pass that does not end, a
 * call that is put off for ever, an engine that is not woken.  Calls on their way
 * are looked at in the inbox; the engine has a list of those it took, and tells their oldest
 * before and after each pass.  A pop that waits for an item by its own wish is not owed anything.
 */
#ifndef PAWL_RUNTIME_OWED_H
#define PAWL_RUNTIME_OWED_H

#include "runtime/core/runtime.h"

void owed_open(pawl_runtime *rt);
/* It is acted on, perhaps again. [engine] */
void owed_take(pawl_runtime *rt, struct item *item);
/* Answered, or it waits by its own wish. [engine] */
void owed_done(struct item *item);
/* A long call made progress: its age counts from now. [engine] */
void owed_renew(pawl_runtime *rt, struct item *item);
void owed_tell(pawl_runtime *rt); /* [engine] */
/* Since when the oldest waits, by the monotonic clock; 0: none does.  Any thread. */
int64_t owed_since(pawl_runtime *rt);

#endif
