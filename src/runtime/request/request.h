/* SPDX-License-Identifier: MIT */
/* runtime/request/request.h -- a client's call, on the engine thread. [engine] */
#ifndef PAWL_RUNTIME_REQUEST_H
#define PAWL_RUNTIME_REQUEST_H

#include "runtime/core/verdict.h"

/* May this message of a client be delivered?  False: it was refused and freed. */
bool request_admit(pawl_runtime *rt, struct letter *l);
/* Act on a call that is not a message.  Returns DONE or FIRST. */
enum verdict_kind request_act(pawl_runtime *rt, struct letter *call);

#endif
