/* SPDX-License-Identifier: MIT */
/* runtime/work/by_token.h -- results and heartbeats by token. [engine] */
#ifndef PAWL_RUNTIME_BY_TOKEN_H
#define PAWL_RUNTIME_BY_TOKEN_H

#include "runtime/core/verdict.h"

/* PAWL_OP_COMPLETE and PAWL_OP_HEARTBEAT; take ownership. */
enum verdict_kind by_token_complete(pawl_runtime *rt, struct letter *call);
enum verdict_kind by_token_heartbeat(pawl_runtime *rt, struct letter *call);

#endif
