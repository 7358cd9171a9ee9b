/* SPDX-License-Identifier: MIT */
/* runtime/instance/still.h -- suspend and resume what cannot run now. [engine] */
#ifndef PAWL_RUNTIME_STILL_H
#define PAWL_RUNTIME_STILL_H

#include "runtime/core/verdict.h"

/* SUSPEND or RESUME for an instance that cannot run now. */
struct delivered turn_still(pawl_runtime *rt, struct resident *r, struct letter *l);

#endif
