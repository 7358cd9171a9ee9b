/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_activities.h -- the pop and the ack of orchestrations.
 *
 * Both are activities: their answers are recorded.  They hold no thread while they wait, and a
 * crash during the wait does not count against them.
 */
#ifndef PAWL_RUNTIME_QUEUE_ACTIVITIES_H
#define PAWL_RUNTIME_QUEUE_ACTIVITIES_H

#include "runtime/queue/queue_cache.h"

/* The activities behind pawl_queue_pop() and pawl_queue_ack(); false: no memory. */
bool queue_register_activities(pawl_app *app);

#endif
