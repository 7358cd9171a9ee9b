/* SPDX-License-Identifier: MIT */
/* tests/sim/memory.h -- steps in which the n-th allocation fails. */
#ifndef PAWL_TESTS_SIM_MEMORY_H
#define PAWL_TESTS_SIM_MEMORY_H

#include "sim.h"

/* Step with the n-th allocation failing; false: the process would have ended.  Then the runtime
 * must not be touched any more. */
bool memory_step(struct node *n, uint64_t nth, int *retdone);
/* Around what is not the runtime: callbacks, the store. */
void memory_pause(void);
void memory_resume(void);

#endif
