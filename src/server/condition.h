/* SPDX-License-Identifier: MIT */
/*
 * server/condition.h -- If-Match and If-None-Match of calls that write an object with a revision.
 *
 * If-Match: "3" is the revision it must have; If-None-Match: * says that there must be none.
 * Called by schedule_steer.c and work_limits.c; server_loop.c keeps the values of the head.
 */
#ifndef PAWL_SERVER_CONDITION_H
#define PAWL_SERVER_CONDITION_H

#include "server/server.h"

/* [loop] */
void condition_keep(struct call *c, const struct head *head);
/* The revision; 0: any.  False: 400 was answered. */
bool condition_read(struct call *c, uint64_t *ret);
/* The reply says that it was not met: 412 was answered. */
bool condition_failed(struct call *c);

#endif
