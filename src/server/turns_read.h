/* SPDX-License-Identifier: MIT */
/* server/turns_read.h -- the body of POST /api/v1/turns as a pawl_turns; see turns_read.c. */
#ifndef PAWL_SERVER_TURNS_READ_H
#define PAWL_SERVER_TURNS_READ_H

#include "pawl/turns.h"
#include "server/server.h"

/* False: 400 was answered.  What is wrong inside one answer is that answer's: it is refused. */
bool turns_read(struct call *c, pawl_turns *ret);

#endif
