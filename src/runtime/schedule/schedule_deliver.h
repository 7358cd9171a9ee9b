/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_deliver.h -- a message meets its schedule. [engine]
 *
 * Called by instance/turn.c for messages of kind PAWL_MSG_SCHEDULE.
 */
#ifndef PAWL_RUNTIME_SCHEDULE_DELIVER_H
#define PAWL_RUNTIME_SCHEDULE_DELIVER_H

#include "runtime/core/verdict.h"

struct delivered schedule_deliver(pawl_runtime *rt, struct letter *l);

#endif
