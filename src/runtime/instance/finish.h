/* SPDX-License-Identifier: MIT */
/* runtime/instance/finish.h -- what ends an instance, or opens its next execution. [engine] */
#ifndef PAWL_RUNTIME_FINISH_H
#define PAWL_RUNTIME_FINISH_H

#include "runtime/core/runtime.h"

/* Apply what the engine answered to the stage.  `l` is consumed. */
void turn_outcome(pawl_runtime *rt, struct resident *r, struct letter *l,
                  enum engine_outcome outcome, const struct engine_finding *finding);
/* It has continued as new, but the next execution could not be opened yet. */
bool turn_is_between(const execution *x);
/* A WAKE letter: open the execution that could not be opened, look at the mail again. */
void turn_wake(pawl_runtime *rt, struct resident *r, struct letter *l);
/* End it now without its code. */
void turn_finish(pawl_runtime *rt, struct resident *r, struct letter *l, int kind, pawl_str reason);

#endif
