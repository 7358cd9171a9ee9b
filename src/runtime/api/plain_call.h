/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/plain_call.h -- a blocking call whose answer is a status and an error.
 *
 * Most calls named after an operation are this: pawl/client.h (client.c), pawl/schedule.h and
 * pawl/limit.h (object_client.c).
 */
#ifndef PAWL_RUNTIME_API_PLAIN_CALL_H
#define PAWL_RUNTIME_API_PLAIN_CALL_H

#include "pawl/client.h"

static inline pawl_status plain_call(pawl_client *c, const pawl_request *request,
                                     pawl_error *reterr)
{
    pawl_reply reply;
    pawl_status rc = pawl_client_call(c, request, &reply);
    if (rc != PAWL_OK && reterr)
        *reterr = reply.error;
    return rc;
}

#endif
