/* SPDX-License-Identifier: MIT */
/* server/queues.h -- the routes of the queues (QUEUE_API.md); see queues.c. */
#ifndef PAWL_SERVER_QUEUES_H
#define PAWL_SERVER_QUEUES_H

#include "server/server.h"

#define QUEUE_ROUTES

#endif
