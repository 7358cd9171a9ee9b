/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/schedule_client.c -- the calls of pawl/schedule.h on stored schedules, from any thread.
 *
 * Those that write are requests (client.c); those that read are snapshots of the store.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "pawl/client.h"
#include "pawl/schedule.h"
#include "runtime/api/object_client.h"
#include "runtime/api/plain_call.h"
#include "runtime/core/gate.h"
#include "runtime/schedule/schedule_mail.h"
#include "schedule/schedule_json.h"
#include "schedule/schedule_state.h"
#include "store/store.h"

#define DAMAGED "what is stored cannot be read; remove it and make it again"

/* ---- Writing ------------------------------------------------------------------------------ */

static pawl_status to_json(const void *schedule, pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    return pawl_schedule_to_json(schedule, mem, ret, reterr);
}

pawl_status pawl_schedule_put(pawl_client *c, const pawl_schedule *schedule, uint64_t if_revision,
                              pawl_error *reterr)
{
    return object_put(c, PAWL_OP_SCHEDULE_PUT, schedule ? schedule->name : NULL, to_json, schedule,
                      if_revision, reterr);
}

pawl_status pawl_schedule_remove(pawl_client *c, const char *name, pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_REMOVE, .name = name), reterr);
}

pawl_status pawl_schedule_pause(pawl_client *c, const char *name, const char *reason,
                                pawl_error *reterr)
{
    return plain_call(
        c, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PAUSE, .name = name, .data = pawl_s(reason)),
        reterr);
}

pawl_status pawl_schedule_resume(pawl_client *c, const char *name, pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_RESUME, .name = name), reterr);
}

pawl_status pawl_schedule_trigger(pawl_client *c, const char *name, const char *key,
                                  pawl_error *reterr)
{
    return plain_call(
        c, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_TRIGGER, .name = name, .idempotency_key = key),
        reterr);
}

pawl_status pawl_schedule_backfill(pawl_client *c, const char *name, int64_t from_ms, int64_t to_ms,
                                   bool allow, const pawl_schedule *when, pawl_error *reterr)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_str spec = {0};
    if (!mem)
        return gate_no_memory(reterr);
    pawl_status rc = when ? pawl_schedule_to_json(when, mem, &spec, reterr) : PAWL_OK;
    if (rc == PAWL_OK) {
        pawl_str args =
            pawl_mem_printf(mem, "{\"from_ms\":%lld,\"to_ms\":%lld,\"allow\":%s%s%.*s}",
                            (long long)from_ms, (long long)to_ms, allow ? "true" : "false",
                            spec.len ? ",\"spec\":" : "", PAWL_FMT(spec));
        rc = plain_call(
            c, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_BACKFILL, .name = name, .data = args), reterr);
    }
    pawl_mem_free(mem);
    return rc;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool may_read(pawl_client *c, pawl_error *reterr)
{
    if (!gate_pass(c, GATE_READS, reterr))
        return false;
    if (schedule_works(c->rt))
        return true;
    error_set(reterr, PAWL_UNSUPPORTED,
              "the store %s has no schedules; use sqlite:FILE or postgres://…",
              store_name(c->rt->store));
    return false;
}

static pawl_status show(const pawl_object *o, pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    struct schedule_state s;
    if (state_read(&s, o->data, mem)) {
        *ret = state_show(&s, o->name, o->version, o->updated_ms, mem);
        return PAWL_OK;
    }
    error_about(reterr, PAWL_CORRUPT, "the stored schedule '", o->name,
                "' cannot be read; remove it and make it again");
    return PAWL_CORRUPT;
}

pawl_status pawl_schedule_get(pawl_client *c, const char *name, pawl_mem *mem, pawl_str *ret,
                              pawl_error *reterr)
{
    pawl_error local = {0}, *err = reterr ? reterr : &local;
    pawl_object o;
    if (!may_read(c, err) || !IS_THERE(mem && ret, "memory and room for the answer", err) ||
        !check_queue_name("schedule name", pawl_s(name), err))
        return err->status;
    pawl_status rc = object_read(c, PAWL_OBJECT_SCHEDULE, "schedule", name, mem, &o, err);
    return rc == PAWL_OK ? show(&o, mem, ret, err) : rc;
}

pawl_status pawl_schedule_list(pawl_client *c, const char *prefix, const char *after,
                               uint32_t limit, pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    pawl_error local = {0}, *err = reterr ? reterr : &local;
    pawl_object_list list;
    if (!may_read(c, err) || !IS_THERE(mem && ret, "memory and room for the answer", err))
        return err->status;
    pawl_status rc = object_list(c, PAWL_OBJECT_SCHEDULE, prefix, after, limit, mem, &list, err);
    pawl_json *w = pawl_json_new(mem);
    pawl_json_array(w);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++) {
        struct schedule_state s;
        if (!state_read(&s, list.items[i].data, mem)) /* one that is damaged hides no other */
            s = (struct schedule_state){.finding = pawl_s(DAMAGED)};
        pawl_json_raw(w, state_show(&s, list.items[i].name, list.items[i].version,
                                    list.items[i].updated_ms, mem));
    }
    pawl_json_end(w);
    *ret = pawl_json_done(w);
    return rc;
}
