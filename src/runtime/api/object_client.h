/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/object_client.h -- what the calls on stored objects share: pawl_schedule_*() and
 * pawl_limit_*() (schedule_client.c, limit_client.c).
 *
 * An object is written by a request (client.c) and read from a snapshot of the store, on the
 * caller's thread.  What is in an object and how it is shown is for the two callers.
 */
#ifndef PAWL_RUNTIME_API_OBJECT_CLIENT_H
#define PAWL_RUNTIME_API_OBJECT_CLIENT_H

#include "pawl/client.h"
#include "pawl/provider.h"

/* Check what the caller described and write it as JSON in `mem`. */
typedef pawl_status object_json(const void *spec, pawl_mem *mem, pawl_str *ret, pawl_error *reterr);

/* Submit the JSON of `spec` under the name, and wait for the answer. */
pawl_status object_put(pawl_client *c, pawl_op op, const char *name, object_json *to_json,
                       const void *spec, uint64_t if_revision, pawl_error *reterr);

/* One object.  `word` ("limit") is for the error when there is none of that name. */
pawl_status object_read(pawl_client *c, int kind, const char *word, const char *name, pawl_mem *mem,
                        pawl_object *ret, pawl_error *err);

/* A page of objects in the order of their names.  limit 0: 100 of them. */
pawl_status object_list(pawl_client *c, int kind, const char *prefix, const char *after,
                        uint32_t limit, pawl_mem *mem, pawl_object_list *ret, pawl_error *err);

#endif
