/* SPDX-License-Identifier: MIT */
/* runtime/remote/room_check.h -- do the invariants of this room hold?  See room_check.c. */
#ifndef PAWL_RUNTIME_ROOM_CHECK_H
#define PAWL_RUNTIME_ROOM_CHECK_H

#include "runtime/core/runtime.h"

void remote_check(const pawl_runtime *rt);

#endif
