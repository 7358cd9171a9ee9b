/* SPDX-License-Identifier: MIT */
/* base/reserved.c -- see the header. */
#include "base/reserved.h"

#include "base/limits.h"
#include "pawl/client.h"

bool check_startable(pawl_str name, pawl_error *reterr)
{
    if (!is_reserved(name) || pawl_str_is(name, PAWL_JOB))
        return true;
    error_set(reterr, PAWL_INVALID,
              "orchestration '%.*s': names that begin with " RESERVED " are reserved, and no code "
              "can have this one; start " PAWL_JOB ", or choose another name",
              PAWL_FMT(name));
    return false;
}

bool check_orchestration_name(pawl_str name, pawl_error *reterr)
{
    return check_name("orchestration name", name, reterr) && check_startable(name, reterr);
}
