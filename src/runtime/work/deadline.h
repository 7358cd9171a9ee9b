/* SPDX-License-Identifier: MIT */
/* runtime/work/deadline.h -- rows whose time is over. [engine] */
#ifndef PAWL_RUNTIME_DEADLINE_H
#define PAWL_RUNTIME_DEADLINE_H

#include "runtime/core/runtime.h"

/* Rows whose deadline has passed; attempts that ran too long or went silent. */
void deadline_look(pawl_runtime *rt);

#endif
