/* SPDX-License-Identifier: MIT */
/* runtime/instance/defer.h -- letters that cannot be delivered because the store cannot be read. [engine] */
#ifndef PAWL_RUNTIME_DEFER_H
#define PAWL_RUNTIME_DEFER_H

#include "runtime/core/runtime.h"

/* The store did not answer: stop this group, try again soon. */
void defer_unread(pawl_runtime *rt, struct letter *l);
/* Its instance cannot be read: rows stay as they are until the next start. */
void defer_damaged(pawl_runtime *rt, struct letter *l);

#endif
