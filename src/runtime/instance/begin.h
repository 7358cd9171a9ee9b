/* SPDX-License-Identifier: MIT */
/* runtime/instance/begin.h -- letters that open an instance. [engine] */
#ifndef PAWL_RUNTIME_BEGIN_H
#define PAWL_RUNTIME_BEGIN_H

#include "runtime/core/runtime.h"

/* A START letter; takes ownership. */
void begin_deliver(pawl_runtime *rt, struct letter *l);
/* Mail that was kept for the id of a new instance moves to it, whatever becomes of the start: later
 * events are younger.  False: the store did not answer. */
bool begin_adopt(pawl_runtime *rt, struct resident *r, struct stage *s);
/* Record the start of r's execution and run its first turn.  False: no code here. */
bool begin_execution(pawl_runtime *rt, struct resident *r, struct letter *l);
/* The input the instance was first started with, good until the next load; EMPTY:
 * not known any more; else: the store did not answer. */
pawl_status begin_input(pawl_runtime *rt, const struct resident *r, pawl_str *ret);

#endif
