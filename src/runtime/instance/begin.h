/* SPDX-License-Identifier: MIT */
/* runtime/instance/begin.h -- letters that open an instance. [engine] */
#ifndef PAWL_RUNTIME_BEGIN_H
#define PAWL_RUNTIME_BEGIN_H

#include "runtime/core/verdict.h"

/* Deliver a START letter. */
struct delivered begin_deliver(pawl_runtime *rt, struct letter *l);

#endif
