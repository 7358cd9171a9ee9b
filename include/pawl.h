/* SPDX-License-Identifier: MIT */
/*
 * pawl.h -- durable execution in straight-line C.
 *
 * Read in this order: pawl/orchestration.h (what workflows may call),
 * pawl/activity.h (what activities may call), pawl/client.h (start, raise,
 * wait, look), pawl/runtime.h (register and run).  pawl/json.h reads and writes
 * payloads; pawl/provider.h is for people who write a store.
 */
#ifndef PAWL_H
#define PAWL_H

#include "pawl/activity.h"
#include "pawl/client.h"
#include "pawl/json.h"
#include "pawl/orchestration.h"
#include "pawl/queue.h"
#include "pawl/runtime.h"
#include "pawl/types.h"

#endif
