/* SPDX-License-Identifier: MIT */
/* runtime/loop/watchdog.h -- notice a turn that never ends. */
#ifndef PAWL_RUNTIME_WATCHDOG_H
#define PAWL_RUNTIME_WATCHDOG_H

#include "runtime/core/runtime.h"

bool watchdog_start(pawl_runtime *rt);
void watchdog_stop(pawl_runtime *rt);
void watchdog_wake(pawl_runtime *rt); /* the engine has something to do */

#endif
