/* SPDX-License-Identifier: MIT */
/* runtime/api/object_client.c -- see object_client.h. */
#include "runtime/api/object_client.h"

#include "base/limits.h"
#include "runtime/api/plain_call.h"
#include "runtime/core/gate.h"
#include "store/store_object.h"

#define LIST_DEFAULT 100

pawl_status object_put(pawl_client *c, pawl_op op, const char *name, object_json *to_json,
                       const void *spec, uint64_t if_revision, pawl_error *reterr)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_str json;
    if (!mem)
        return gate_no_memory(reterr);
    pawl_status rc = to_json(spec, mem, &json, reterr);
    if (rc == PAWL_OK)
        rc = plain_call(
            c, PAWL_REQUEST(.op = op, .name = name, .data = json, .if_revision = if_revision),
            reterr);
    pawl_mem_free(mem);
    return rc;
}

pawl_status object_read(pawl_client *c, int kind, const char *word, const char *name, pawl_mem *mem,
                        pawl_object *ret, pawl_error *err)
{
    pawl_status rc = store_read_object(c->rt->store, kind, pawl_s(name), mem, ret, err);
    if (rc == PAWL_NOT_FOUND)
        error_set(err, rc, "there is no %s '%s'", word, name);
    return rc;
}

pawl_status object_list(pawl_client *c, int kind, const char *prefix, const char *after,
                        uint32_t limit, pawl_mem *mem, pawl_object_list *ret, pawl_error *err)
{
    if (limit > STORE_OBJECTS_PAGE) {
        error_set(err, PAWL_INVALID, "limit is %u; give 1 to %d", limit, STORE_OBJECTS_PAGE);
        return PAWL_INVALID;
    }
    return store_list_objects(c->rt->store, kind, pawl_s(prefix), pawl_s(after),
                              limit ? limit : LIST_DEFAULT, mem, ret, err);
}
