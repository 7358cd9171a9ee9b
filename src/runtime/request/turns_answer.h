/* SPDX-License-Identifier: MIT */
/* runtime/request/turns_answer.h -- a worker's call: its answers become rounds. [engine] */
#ifndef PAWL_RUNTIME_TURNS_ANSWER_H
#define PAWL_RUNTIME_TURNS_ANSWER_H

#include "runtime/core/verdict.h"

/* A call arrived, or comes again because an answer's instance was in the group; takes ownership. */
enum verdict_kind turns_handle(pawl_runtime *rt, struct item *item);
/* The stage of an answer was committed, or was not and its letters go back. */
void turns_committed(pawl_runtime *rt, struct stage *s);
void turns_taken_back(pawl_runtime *rt, struct stage *s);

#endif
