/* SPDX-License-Identifier: MIT */
/* server/work.h -- the routes of remote activity workers; see work.c. */
#ifndef PAWL_SERVER_WORK_H
#define PAWL_SERVER_WORK_H

#include "server/server.h"

#define WORK_ROUTES

#endif
