/* SPDX-License-Identifier: MIT */
/* runtime/loop/refuse.h -- every caller that waits is told that no answer will come. [engine] */
#ifndef PAWL_RUNTIME_REFUSE_H
#define PAWL_RUNTIME_REFUSE_H

#include "runtime/core/runtime.h"

/* All calls under way, while the runtime goes on: the store is gone. */
void refuse_calls(pawl_runtime *rt);
/* The same when nothing runs any more. */
void refuse_all(pawl_runtime *rt);

#endif
