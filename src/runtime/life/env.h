/* SPDX-License-Identifier: MIT */
/* runtime/life/env.h -- clocks and randomness: the real ones, or those of the caller. */
#ifndef PAWL_RUNTIME_ENV_H
#define PAWL_RUNTIME_ENV_H

#include "runtime/core/runtime.h"

void env_open(pawl_runtime *rt);
/* Can times of the store be compared with those of files?  Not with a clock of the caller. */
bool env_has_real_clock(const pawl_runtime *rt);
/* Does time pass by itself, or does only the caller move it? */
bool env_has_real_mono(const pawl_runtime *rt);

#endif
