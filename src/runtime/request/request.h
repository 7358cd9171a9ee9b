/* SPDX-License-Identifier: MIT */
/* runtime/request/request.h -- a client's call, on the engine thread. [engine] */
#ifndef PAWL_RUNTIME_REQUEST_H
#define PAWL_RUNTIME_REQUEST_H

#include "runtime/core/verdict.h"

/* Act on a client's request.  DONE or FIRST. */
enum verdict_kind request_handle(pawl_runtime *rt, struct request *req);
/* Does that need no letter: is it done before the letters at hand are delivered? */
bool request_acts_at_once(const struct request *req);

#endif
