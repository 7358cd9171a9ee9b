/* SPDX-License-Identifier: MIT */
/* runtime/instance/paranoid.h -- replay after every turn and compare. [engine] */
#ifndef PAWL_RUNTIME_PARANOID_H
#define PAWL_RUNTIME_PARANOID_H

#include "runtime/core/verdict.h"

/* Replay every stage of the group and park what does not agree.  The verdict on all of them. */
struct delivered paranoid_look(pawl_runtime *rt);

#endif
