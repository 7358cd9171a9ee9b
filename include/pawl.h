/* SPDX-License-Identifier: MIT */
/*
 * pawl.h -- durable execution in straight-line C.
 *
 * Read in this order: pawl/types.h (strings, results, statuses),
 * pawl/orchestration.h (what orchestrations may call), pawl/activity.h (what
 * activities may call), pawl/client.h (start, raise, wait, look), pawl/runtime.h
 * (register and run).  pawl/json.h reads and writes payloads, pawl/queue.h has the
 * durable queues, pawl/schedule.h says when things happen again and again,
 * pawl/limit.h how much may run.
 *
 * Include these one by one when you need them: pawl/test.h and pawl/sim.h test your own
 * code, pawl/replay.h runs code against recorded histories, pawl/event.h names the events
 * of a history, pawl/worker.h runs activities in another process, pawl/server.h is the
 * HTTP server, pawl/backup.h copies a SQLite store, pawl/sqlite.h describes the SQLite
 * library, pawl/postgres.h makes the tables of a PostgreSQL store, pawl/provider.h and
 * pawl/conformance.h are for people who write a store.
 */
#ifndef PAWL_H
#define PAWL_H

#include "pawl/activity.h"
#include "pawl/client.h"
#include "pawl/json.h"
#include "pawl/limit.h"
#include "pawl/orchestration.h"
#include "pawl/queue.h"
#include "pawl/runtime.h"
#include "pawl/schedule.h"
#include "pawl/types.h"

#endif
