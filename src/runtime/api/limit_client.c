/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/limit_client.c -- pawl/limit.h, from any thread.
 *
 * The calls that write are requests (client.c).  Those that read take the rule from a snapshot of
 * the store, and how much is in use from the engine's memory (work/limit_view.h).
 */
#include "base/misuse.h"
#include "pawl/client.h"
#include "pawl/limit.h"
#include "runtime/api/object_client.h"
#include "runtime/api/plain_call.h"
#include "runtime/core/gate.h"
#include "runtime/work/limit_call.h"
#include "runtime/work/limit_view.h"

/* ---- Writing ------------------------------------------------------------------------------ */

pawl_status pawl_limit_to_json(const pawl_limit *limit, pawl_mem *mem, pawl_str *ret,
                               pawl_error *reterr)
{
    pawl_limit room;
    if (!IS_THERE(limit && mem && ret, "a limit, memory and room for the answer", reterr))
        return PAWL_MISUSE;
    const pawl_limit *l = OPTIONS_OF(&room, limit, "pawl_limit", reterr);
    if (!l || !IS_THERE(l->match || !l->match_count, "the matches it counts", reterr) ||
        !IS_THERE(l->weights || !l->weight_count, "the weights it counts", reterr))
        return PAWL_MISUSE;
    pawl_json *w = pawl_json_new(mem);
    limit_write(w, l);
    *ret = pawl_json_done(w);
    return PAWL_OK;
}

static pawl_status to_json(const void *limit, pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    return pawl_limit_to_json(limit, mem, ret, reterr);
}

pawl_status pawl_limit_put(pawl_client *c, const pawl_limit *limit, uint64_t if_revision,
                           pawl_error *reterr)
{
    return object_put(c, PAWL_OP_LIMIT_PUT, limit ? limit->name : NULL, to_json, limit, if_revision,
                      reterr);
}

pawl_status pawl_limit_remove(pawl_client *c, const char *name, pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_LIMIT_REMOVE, .name = name), reterr);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool may_read(pawl_client *c, pawl_error *reterr)
{
    return gate_pass(c, GATE_READS, reterr) && limit_check_store(c->rt, reterr);
}

static void show(pawl_client *c, const pawl_object *o, bool keys, pawl_json *w, pawl_mem *mem)
{
    pawl_json_object(w);
    pawl_json_key(w, "name");
    pawl_json_str(w, o->name);
    pawl_json_key(w, "revision");
    pawl_json_num(w, (int64_t)o->version);
    pawl_json_key(w, "updated_ms");
    pawl_json_num(w, o->updated_ms);
    pawl_json_key(w, "spec");
    pawl_json_raw(w, o->data);
    limit_write_use(c->rt, o->name, keys, w, mem);
    pawl_json_end(w);
}

pawl_status pawl_limit_get(pawl_client *c, const char *name, pawl_mem *mem, pawl_str *ret,
                           pawl_error *reterr)
{
    pawl_error local = {0}, *err = reterr ? reterr : &local;
    pawl_object o;
    if (!may_read(c, err) || !IS_THERE(mem && ret, "memory and room for the answer", err) ||
        !limit_check_name(name, err))
        return err->status;
    pawl_status rc = object_read(c, PAWL_OBJECT_LIMIT, "limit", name, mem, &o, err);
    if (rc != PAWL_OK)
        return rc;
    pawl_json *w = pawl_json_new(mem);
    show(c, &o, true, w, mem);
    *ret = pawl_json_done(w);
    return PAWL_OK;
}

pawl_status pawl_limit_list(pawl_client *c, const char *prefix, const char *after, uint32_t limit,
                            pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    pawl_error local = {0}, *err = reterr ? reterr : &local;
    pawl_object_list list;
    if (!may_read(c, err) || !IS_THERE(mem && ret, "memory and room for the answer", err))
        return err->status;
    pawl_status rc = object_list(c, PAWL_OBJECT_LIMIT, prefix, after, limit, mem, &list, err);
    if (rc != PAWL_OK)
        return rc;
    pawl_json *w = pawl_json_new(mem);
    pawl_json_array(w);
    for (size_t i = 0; i < list.count; i++)
        show(c, &list.items[i], false, w, mem);
    pawl_json_end(w);
    *ret = pawl_json_done(w);
    return PAWL_OK;
}
