/* SPDX-License-Identifier: MIT */
/* runtime/life/recover.h -- after opening: blame what the slot file shows. [engine] */
#ifndef PAWL_RUNTIME_RECOVER_H
#define PAWL_RUNTIME_RECOVER_H

#include "runtime/core/runtime.h"

struct slots_past;

/* Blame what the slot file shows, find mail kept for later starts. */
pawl_status recover(pawl_runtime *rt, const struct slots_past *past, pawl_error *reterr);

#endif
