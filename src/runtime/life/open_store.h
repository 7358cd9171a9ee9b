/* SPDX-License-Identifier: MIT */
/* runtime/life/open_store.h -- the data directory, and the store in it. */
#ifndef PAWL_RUNTIME_OPEN_STORE_H
#define PAWL_RUNTIME_OPEN_STORE_H

#include "runtime/core/runtime.h"

/* Make or find the data directory and open the store that the options name. */
pawl_status runtime_open_store(pawl_runtime *rt, pawl_error *err);

#endif
