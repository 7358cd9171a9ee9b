/* SPDX-License-Identifier: MIT */
/* runtime/work/timers_due.h -- what was held and is due becomes letters and jobs. [engine] */
#ifndef PAWL_RUNTIME_TIMERS_DUE_H
#define PAWL_RUNTIME_TIMERS_DUE_H

#include "runtime/core/runtime.h"

/* What is due becomes letters and jobs. */
void timers_due_look(pawl_runtime *rt);

#endif
