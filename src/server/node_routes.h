/* SPDX-License-Identifier: MIT */
/* server/node_routes.h -- what this process is, for the routes that say so. */
#ifndef PAWL_SERVER_NODE_ROUTES_H
#define PAWL_SERVER_NODE_ROUTES_H

#include "server/server.h"

/* An object with the facts of this process. */
void node_write(struct call *c, pawl_json *w);

#endif
