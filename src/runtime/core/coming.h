/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/coming.h -- ids that are taken by starts on their way. [engine]
 *
 * A start by name (of a child, or detached) is decided in one commit and makes its instance in a
 * later one.  A detached start whose id is taken must be refused to the code that asks, so from
 * its decision on the id is spoken for: other detached starts are refused, and starts from
 * elsewhere wait until it is there.
 */
#ifndef PAWL_RUNTIME_COMING_H
#define PAWL_RUNTIME_COMING_H

#include "runtime/core/runtime.h"

/* The engine asks for a detached start: may it take this id?  Free: it has it now. */
enum engine_taken coming_ask(void *rt, pawl_str instance);
/* A child takes it, if it is free. */
void coming_speak(void *rt, pawl_str instance);
/* A start by name has a row.  Of several, the one that goes first is the detached one. */
void coming_add(pawl_runtime *rt, const pawl_message *m);
/* Another start of this id goes before this one. */
bool coming_before(const pawl_runtime *rt, const struct letter *l);
/* What this start decides is committed, or it was thrown away. */
void coming_gone(pawl_runtime *rt, const struct letter *l);
/* A start that need not look whether its id exists: a store far away refuses it if so (C10), and
 * then it looks.  After that a number of others look first, because ids that exist come in crowds:
 * coming_looked() counts them. */
bool coming_is_bold(const pawl_runtime *rt, const struct letter *l);
void coming_looked(pawl_runtime *rt, const struct letter *l);
void coming_refused(pawl_runtime *rt, const pawl_round *start);
/* All that lay in the store has been fetched: a start that was not among it is in the quarantine,
 * and its id is free. */
void coming_fetched(pawl_runtime *rt);
/* A pass begins: what was spoken for and not committed is free again. */
void coming_pass(pawl_runtime *rt);
void coming_free(pawl_runtime *rt);
void coming_open(pawl_runtime *rt);

#endif
