/* SPDX-License-Identifier: MIT */
/* runtime/instance/begin.h -- letters that open an instance. [engine] */
#ifndef PAWL_RUNTIME_BEGIN_H
#define PAWL_RUNTIME_BEGIN_H

#include "runtime/core/verdict.h"

/* Deliver a START letter. */
struct delivered begin_deliver(pawl_runtime *rt, struct letter *l);
/* The same for a start that this group had made with this uid, and has taken back (first_turn.h):
 * nothing is looked up again. */
struct delivered begin_as(pawl_runtime *rt, struct letter *l, uint64_t uid);

#endif
