/* SPDX-License-Identifier: MIT */
/* runtime/instance/finish.h -- what ends an instance, or opens its next execution. [engine] */
#ifndef PAWL_RUNTIME_FINISH_H
#define PAWL_RUNTIME_FINISH_H

#include "runtime/core/verdict.h"

/* Apply what the engine answered to the stage.  l: NULL when the stage has it. */
struct delivered turn_outcome(pawl_runtime *rt, struct resident *r, struct letter *l,
                              enum engine_outcome outcome, const struct engine_finding *finding);
/* It has continued as new, but the next execution could not be opened yet. */
bool turn_is_between(const execution *x);
/* A WAKE letter: open the execution that could not be opened, look at the mail again. */
struct delivered turn_wake(pawl_runtime *rt, struct resident *r, struct letter *l);
/* End it now without its code. */
struct delivered turn_finish(pawl_runtime *rt, struct resident *r, struct letter *l, int kind,
                             pawl_str reason);
/* An instance that has ended, or is to be ended by it, begins its next execution with this start. */
struct delivered turn_rerun(pawl_runtime *rt, struct resident *r, struct letter *l,
                            const struct code_entry *code);

#endif
