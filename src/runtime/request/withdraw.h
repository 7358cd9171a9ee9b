/* SPDX-License-Identifier: MIT */
/* runtime/request/withdraw.h -- a caller that waited has gone. [engine] */
#ifndef PAWL_RUNTIME_WITHDRAW_H
#define PAWL_RUNTIME_WITHDRAW_H

#include "runtime/core/runtime.h"

/* A caller has gone: answer its waiting calls without giving them anything.  Frees the item. */
void withdraw_handle(pawl_runtime *rt, struct item *item);

#endif
