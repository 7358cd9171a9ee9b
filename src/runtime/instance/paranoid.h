/* SPDX-License-Identifier: MIT */
/* runtime/instance/paranoid.h -- replay after every turn and compare. [engine] */
#ifndef PAWL_RUNTIME_PARANOID_H
#define PAWL_RUNTIME_PARANOID_H

#include "runtime/core/runtime.h"

/* Replay every stage of the group and park what does not agree. */
void paranoid_look(pawl_runtime *rt);

#endif
