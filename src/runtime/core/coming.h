/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/coming.h -- ids that are taken by starts on their way. [engine]
 *
 * A start by name (of a child, or detached) is decided in one commit and makes its instance in a
 * later one.  The code that makes a detached start is told at once whether the id is taken.  So the
 * id is reserved when the start is decided: from then on other detached starts of this id are
 * refused, and starts from elsewhere wait until its instance exists.
 */
#ifndef PAWL_RUNTIME_COMING_H
#define PAWL_RUNTIME_COMING_H

#include "runtime/core/runtime.h"

struct coming;

/* The engine asks for a detached start: may it take this id?  A free id is reserved by this call. */
enum engine_taken coming_ask(void *rt, pawl_str instance);
/* A child reserves it, if it is free. */
void coming_speak(void *rt, pawl_str instance);
/* What was decided since the mark is taken back in this pass: the ids it reserved are free again. */
const struct coming *coming_mark(const pawl_runtime *rt);
void coming_take_back(pawl_runtime *rt, const struct coming *mark);
/* A start by name has a row.  Of several with one id, the detached one goes first. */
void coming_add(pawl_runtime *rt, const pawl_message *m);
/* Another start of this id goes before this one. */
bool coming_before(const pawl_runtime *rt, const struct letter *l);
/* What this start decides is committed, or it was thrown away. */
void coming_gone(pawl_runtime *rt, const struct letter *l);
/* A start that need not look whether its id exists: a store far away refuses it if so (C10), and
 * then it looks.  One that says what to do with an instance that exists looks first.  After that a number of others look first, because ids that exist come in crowds:
 * coming_looked() counts them. */
bool coming_is_bold(const pawl_runtime *rt, const struct letter *l);
void coming_looked(pawl_runtime *rt, const struct letter *l);
void coming_refused(pawl_runtime *rt, const pawl_round *start);
/* All that lay in the store has been fetched: a start that was not among it is in the quarantine,
 * and its id is free. */
void coming_fetched(pawl_runtime *rt);
/* A pass begins: ids that were reserved and not committed are free again. */
void coming_pass(pawl_runtime *rt);
void coming_free(pawl_runtime *rt);
void coming_open(pawl_runtime *rt);

#endif
