/* SPDX-License-Identifier: MIT */
/* runtime/core/registered.h -- is an orchestration there, and which one a caller may have meant. */
#ifndef PAWL_RUNTIME_REGISTERED_H
#define PAWL_RUNTIME_REGISTERED_H

#include "runtime/core/runtime.h"

/* The orchestration whose name may have been misspelt; NULL: none is near. */
const char *registry_nearest(pawl_app *app, const char *name);
/* Is this version of it registered (NULL: any)?  False, with what to do. */
bool registry_check(pawl_app *app, const char *name, const char *version, pawl_error *err);

#endif
