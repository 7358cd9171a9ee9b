/* SPDX-License-Identifier: MIT */
/* runtime/core/module.h -- which loaded module has this code? */
#ifndef PAWL_RUNTIME_MODULE_H
#define PAWL_RUNTIME_MODULE_H

#include "runtime/core/runtime.h"

/* The path of the loaded module that has this code; NULL: none has. */
const char *module_of(const pawl_app *app, const void *code);

#endif
