/* SPDX-License-Identifier: MIT */
/* runtime/loop/refuse.h -- every caller that waits is told that no answer will come. [engine] */
#ifndef PAWL_RUNTIME_REFUSE_H
#define PAWL_RUNTIME_REFUSE_H

#include "runtime/core/runtime.h"

/* The store is gone: refuse all calls under way; the runtime goes on. */
void refuse_calls(pawl_runtime *rt);
/* The same when the runtime has stopped. */
void refuse_all(pawl_runtime *rt);

#endif
