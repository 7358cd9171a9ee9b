/* SPDX-License-Identifier: MIT */
/*
 * schedule/schedule_calls.c -- the calls of pawl/schedule.h that need no store.
 *
 * Called by programs, by the server and by the command line, for previews.
 */
#include "base/arena.h"
#include "base/fit.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "schedule/instant.h"
#include "schedule/plan.h"
#include "schedule/schedule_json.h"

static pawl_status next_of(const pawl_schedule *s, pawl_mem *mem, int64_t after_ms, int64_t *ret,
                           size_t n, size_t *retn, pawl_error *reterr)
{
    const struct zone *zone;
    struct plan plan;
    pawl_status status = zone_load(s->zone, mem, &zone, reterr);
    if (status == PAWL_OK)
        status = plan_make(&plan, s, zone, reterr);
    if (status == PAWL_OK)
        status = plan_check_jitter(&plan, s->jitter_ms, after_ms, reterr);
    for (*retn = 0; status == PAWL_OK && *retn < n && plan_next(&plan, after_ms, &after_ms);)
        ret[(*retn)++] = after_ms;
    return status;
}

pawl_status pawl_schedule_next(const pawl_schedule *schedule, int64_t after_ms, int64_t *ret,
                               size_t n, size_t *retn, pawl_error *reterr)
{
    pawl_schedule room;
    if (!IS_THERE(schedule && (ret || !n) && retn, "a schedule and room for the answer", reterr))
        return PAWL_MISUSE;
    const pawl_schedule *s = OPTIONS_OF(&room, schedule, "pawl_schedule", reterr);
    if (!s)
        return PAWL_MISUSE;
    pawl_mem mem;
    arena_init(&mem);
    pawl_status status = next_of(s, &mem, after_ms, ret, n, retn, reterr);
    arena_deinit(&mem);
    return status;
}

pawl_status pawl_local_time(const char *zone, int64_t at_ms, char ret[PAWL_LOCAL_TIME_BYTES],
                            pawl_error *reterr)
{
    const struct zone *z;
    pawl_mem mem;
    if (!IS_THERE(ret, "room for the answer", reterr))
        return PAWL_MISUSE;
    if (at_ms < 0 || at_ms > PAWL_SCHEDULE_END) {
        error_set(reterr, PAWL_INVALID, "%lld is not a time from 1970 to 9999; correct it",
                  (long long)at_ms);
        return PAWL_INVALID;
    }
    arena_init(&mem);
    pawl_status status = zone_load(zone, &mem, &z, reterr);
    if (status == PAWL_OK && z)
        (void)instant_local_text(ret, at_ms, zone_segment(z, at_ms / 1000).offset);
    else if (status == PAWL_OK)
        (void)instant_text(ret, at_ms);
    arena_deinit(&mem);
    return status;
}

pawl_status pawl_schedule_from_json(pawl_str json, pawl_mem *mem, pawl_schedule *ret,
                                    pawl_error *reterr)
{
    if (!IS_THERE(mem && ret && !is_odd(json), "JSON, memory and room for the answer", reterr))
        return PAWL_MISUSE;
    return schedule_read_json(ret, json, mem, reterr);
}

pawl_status pawl_schedule_from_json_sized(pawl_str json, pawl_mem *mem, pawl_schedule *ret,
                                          pawl_error *reterr, size_t size)
{
    pawl_schedule own;
    if (!IS_THERE(ret, "room for the answer", reterr))
        return PAWL_MISUSE;
    pawl_status status = pawl_schedule_from_json(json, mem, &own, reterr);
    if (status == PAWL_OK) {
        fit_struct(ret, size, &own, sizeof(own));
        ret->size = size < sizeof(own) ? size : sizeof(own);
    }
    return status;
}

pawl_status pawl_schedule_to_json(const pawl_schedule *schedule, pawl_mem *mem, pawl_str *ret,
                                  pawl_error *reterr)
{
    pawl_schedule room;
    if (!IS_THERE(schedule && mem && ret, "a schedule, memory and room for the answer", reterr))
        return PAWL_MISUSE;
    const pawl_schedule *s = OPTIONS_OF(&room, schedule, "pawl_schedule", reterr);
    if (!s)
        return PAWL_MISUSE;
    pawl_json *w = pawl_json_new(mem);
    schedule_write_json(w, s);
    *ret = pawl_json_done(w);
    if (ret->ptr)
        return PAWL_OK;
    error_set(reterr, PAWL_INVALID, "the input is not JSON; give one JSON value");
    return PAWL_INVALID;
}
