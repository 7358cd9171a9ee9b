/* SPDX-License-Identifier: MIT */
/* runtime/instance/begin.h -- letters that open an instance. [engine] */
#ifndef PAWL_RUNTIME_BEGIN_H
#define PAWL_RUNTIME_BEGIN_H

#include "runtime/core/runtime.h"

/* A START letter; takes ownership. */
void begin_deliver(pawl_runtime *rt, struct letter *l);
/* Record the start of r's execution and run its first turn.  False: no code here. */
bool begin_execution(pawl_runtime *rt, struct resident *r, struct letter *l);

#endif
