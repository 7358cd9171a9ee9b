/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/mailbox.h -- how many events may wait for one instance. [engine]
 *
 * An event that no wait takes is kept, and so is one for an instance that cannot run or is not
 * started yet.  A sender that does not stop would fill disk and memory with them: beyond
 * --max-mailbox events, or MAILBOX_PAYLOADS times --max-payload bytes, a raise is refused
 * and changes nothing.  What was accepted stays.  The limit is approximate: one commit
 * may exceed it slightly.
 */
#ifndef PAWL_RUNTIME_MAILBOX_H
#define PAWL_RUNTIME_MAILBOX_H

#include "runtime/core/runtime.h"

#define MAILBOX_PAYLOADS 64

/* A raise of a client for an instance in memory (x), or for what waits as rows under `uid`, or
 * under its name when uid is 0.  True: there is no room, and the letter was refused. */
bool mailbox_refuses(pawl_runtime *rt, const execution *x, uint64_t uid, struct letter *l);
/* The same for a raise of an orchestration, which cannot be refused: counted exactly. */
bool mailbox_is_full(pawl_runtime *rt, const execution *x, uint64_t uid, const struct letter *l);
/* Is there room for all of these, not counting those that a wait would take at once? */
bool mailbox_has_room(pawl_runtime *rt, const execution *x, uint64_t uid, uint64_t events,
                      uint64_t bytes);
void mailbox_free(pawl_runtime *rt);
void mailbox_open(pawl_runtime *rt);

#endif
