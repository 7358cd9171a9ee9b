/* SPDX-License-Identifier: MIT */
/*
 * base/reserved.h -- names of orchestrations that no code can have.
 *
 * A name that begins with RESERVED belongs to Pawl.  No code of a user ever has it, so a start of
 * it would wait for ever: each way to start something refuses it.
 */
#ifndef PAWL_BASE_RESERVED_H
#define PAWL_BASE_RESERVED_H

#include "pawl/types.h"

#include <string.h>

#define RESERVED "pawl."

/* Does the name begin with RESERVED? */
static inline bool is_reserved(pawl_str name)
{
    return name.len >= sizeof(RESERVED) - 1 &&
           memcmp(name.ptr, RESERVED, sizeof(RESERVED) - 1) == 0;
}
/* A name that may be started: not a reserved one, but for pawl.job, which every app has. */
bool check_startable(pawl_str name, pawl_error *reterr);
/* The name of an orchestration to start: a name, and startable. */
bool check_orchestration_name(pawl_str name, pawl_error *reterr);

#endif
