/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/input.h -- what an instance was first started with. [engine]
 *
 * A second start with the same input gets the answer of the first; with another input it is
 * refused.  The input is in the first event of execution 1, which may be pruned once the instance has continued
 * as new: the round that closes execution 1 remembers a hash of it without its blanks, as a key
 * of the instance.
 */
#ifndef PAWL_RUNTIME_INPUT_H
#define PAWL_RUNTIME_INPUT_H

#include "runtime/core/runtime.h"

/* Execution 1 is closed by this stage.  False: the store did not answer. */
bool input_remember(pawl_runtime *rt, struct resident *r, struct stage *s);
/* It runs again, with this. */
void input_note(pawl_runtime *rt, struct stage *s, pawl_str input);
/* OK: it was started, or run again, with this; EMPTY: with something else; else: the store did not answer. */
pawl_status input_is(pawl_runtime *rt, const struct resident *r, pawl_str data);
/* The input the instance was first started with, good until the next load; EMPTY:
 * not known any more; else: the store did not answer.  *retrow: the message that waits to start it;
 * 0: it was started. */
pawl_status input_of(pawl_runtime *rt, const struct resident *r, pawl_str *ret, uint64_t *retrow);

#endif
