/* SPDX-License-Identifier: MIT */
/* runtime/core/registered.h -- the name that a caller may have meant. */
#ifndef PAWL_RUNTIME_REGISTERED_H
#define PAWL_RUNTIME_REGISTERED_H

#include "runtime/core/runtime.h"

/* The orchestration whose name may have been misspelt; NULL: none is near. */
const char *registry_nearest(pawl_app *app, const char *name);

#endif
