/* SPDX-License-Identifier: MIT */
/* runtime/core/info.h -- what a row says of its instance. */
#ifndef PAWL_RUNTIME_INFO_H
#define PAWL_RUNTIME_INFO_H

#include "runtime/core/runtime.h"

/* What a row says of its instance; strings are borrowed. */
void info_of_row(pawl_info *info, const pawl_row *row);

#endif
