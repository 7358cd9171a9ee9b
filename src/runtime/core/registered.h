/* SPDX-License-Identifier: MIT */
/* runtime/core/registered.h -- the name that somebody may have meant. */
#ifndef PAWL_RUNTIME_REGISTERED_H
#define PAWL_RUNTIME_REGISTERED_H

#include "runtime/core/runtime.h"

/* The orchestration whose name somebody may have misspelt; NULL: none is near. */
const char *registry_nearest(pawl_app *app, const char *name);

#endif
