/* SPDX-License-Identifier: MIT */
/* runtime/api/client.h -- may this thread make a writing call, may it wait? */
#ifndef PAWL_RUNTIME_CLIENT_H
#define PAWL_RUNTIME_CLIENT_H

#include "runtime/core/runtime.h"

/* May this thread make a writing call?  False, with the error. */
bool client_may_write(pawl_client *c, pawl_error *err);
/* May it wait for the engine?  Not inside a callback, which the engine waits for. */
bool client_may_block(pawl_client *c, pawl_error *err);

#endif
