/* SPDX-License-Identifier: MIT */
/* runtime/core/figures.h -- what a runtime counts, beside the plain counters of runtime.h. */
#ifndef PAWL_RUNTIME_FIGURES_H
#define PAWL_RUNTIME_FIGURES_H

#include "runtime/core/runtime.h"

/* An attempt begins now.  Any thread. */
void job_began(pawl_runtime *rt, const pawl_work *w, bool recovered, int64_t now_ms);

#endif
