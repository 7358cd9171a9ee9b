/* SPDX-License-Identifier: MIT */
/* runtime/schedule/schedule_check.c -- see the header. */
#include "runtime/schedule/schedule_check.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/reserved.h"
#include "runtime/core/registered.h"
#include "runtime/schedule/schedule_mail.h"
#include "schedule/plan.h"
#include "schedule/schedule_json.h"
#include "store/store.h"

#include <string.h>

#define BACKFILL_BYTES (64 * 1024) /* it is stored with the schedule */

static bool check_times(const pawl_schedule *s, pawl_mem *mem, int64_t now_ms, pawl_error *err)
{
    const struct zone *zone;
    struct plan plan;
    int64_t at;
    if (zone_load(s->zone, mem, &zone, err) != PAWL_OK ||
        plan_make(&plan, s, zone, err) != PAWL_OK ||
        plan_check_jitter(&plan, s->jitter_ms, now_ms, err) != PAWL_OK)
        return false;
    if (plan_next(&plan, now_ms, &at))
        return true;
    error_set(err, PAWL_LIMIT,
              "the schedule never fires: it has no occurrence from now on; correct its times");
    return false;
}

static bool check_put(pawl_runtime *rt, const pawl_request *q, pawl_mem *mem, pawl_error *err)
{
    pawl_schedule s;
    if (schedule_read_json(&s, q->data, mem, err) != PAWL_OK)
        return false;
    s.name = q->name;
    if (schedule_check_target(&s, err) != PAWL_OK || !check_times(&s, mem, rt_now(rt), err))
        return false;
    if (!s.queue)
        return (s.allow_unregistered && !is_reserved(pawl_s(s.orchestration))) ||
               registry_check(rt->app, s.orchestration, s.version, err);
    if (rt->caps.queues)
        return true;
    error_set(err, PAWL_UNSUPPORTED, "the store %s has no queues; start an orchestration instead",
              store_name(rt->store));
    return false;
}

static bool check_backfill(pawl_runtime *rt, const pawl_request *q, pawl_mem *mem, pawl_error *err)
{
    pawl_schedule s;
    pawl_str spec = {0};
    struct json_iter it;
    int64_t from = -1, to = -1;
    if (q->data.len > BACKFILL_BYTES) {
        error_set(err, PAWL_LIMIT,
                  "the backfill has %zu bytes, the limit is %d; leave out its input", q->data.len,
                  BACKFILL_BYTES);
        return false;
    }
    if (!pawl_json_valid(q->data, NULL) || json_type(q->data) != JSON_OBJECT) {
        error_set(err, PAWL_INVALID, "a backfill is a JSON object with from_ms and to_ms");
        return false;
    }
    for (json_begin(&it, q->data); json_next(&it);) {
        bool fits = pawl_str_is(it.key, "from_ms") ? json_whole(it.value, &from)
                    : pawl_str_is(it.key, "to_ms") ? json_whole(it.value, &to)
                    : pawl_str_is(it.key, "allow") ? json_type(it.value) == JSON_BOOL
                    : pawl_str_is(it.key, "spec")  ? json_type(spec = it.value) == JSON_OBJECT
                                                   : false;
        if (!fits) {
            error_set(err, PAWL_INVALID,
                      "'%.*s' of a backfill is unknown or has the wrong type; give from_ms, to_ms, "
                      "allow, spec",
                      PAWL_FMT(it.key));
            return false;
        }
    }
    if (from < 0 || to < from || from > rt_now(rt)) {
        error_set(err, PAWL_INVALID,
                  "from_ms and to_ms are not a time of the past: give milliseconds since 1970, the "
                  "earlier one first");
        return false;
    }
    if (!spec.len)
        return true;
    return schedule_read_json(&s, spec, mem, err) == PAWL_OK && check_times(&s, mem, 0, err);
}

/* NAME@manual-KEY is to be an instance id. */
static bool check_trigger(const pawl_request *q, pawl_error *err)
{
    pawl_str key = pawl_s(q->idempotency_key);
    return !key.len || check_instance_id(key, LIMIT_KEY_BYTES, err);
}

/* It is also the name of an object, whose limit is shorter than that of a queue name. */
static bool check_name_fits(const char *name, pawl_error *err)
{
    size_t n = strlen(name);
    if (n <= PAWL_OBJECT_NAME_MAX)
        return true;
    error_set(err, PAWL_LIMIT, "schedule name has %zu bytes, the limit is %d; shorten it", n,
              PAWL_OBJECT_NAME_MAX);
    return false;
}

static bool check_reason(pawl_str reason, pawl_error *err)
{
    if (reason.len > LIMIT_REASON_BYTES) {
        error_set(err, PAWL_LIMIT, "reason has %zu bytes, the limit is %d; shorten it", reason.len,
                  LIMIT_REASON_BYTES);
        return false;
    }
    if (utf8_valid(reason))
        return true;
    error_set(err, PAWL_INVALID, "reason is not UTF-8; write it in UTF-8");
    return false;
}

bool schedule_check(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    if (!schedule_works(rt)) {
        error_set(err, PAWL_UNSUPPORTED,
                  "the store %s has no schedules; use sqlite:FILE or postgres://…",
                  store_name(rt->store));
        return false;
    }
    if (!check_queue_name("schedule name", pawl_s(q->name), err) || !check_name_fits(q->name, err))
        return false;
    if (q->op == PAWL_OP_SCHEDULE_PAUSE)
        return check_reason(q->data, err);
    if (q->op == PAWL_OP_SCHEDULE_TRIGGER)
        return check_trigger(q, err);
    if (q->op != PAWL_OP_SCHEDULE_PUT && q->op != PAWL_OP_SCHEDULE_BACKFILL)
        return true;
    pawl_mem mem;
    arena_init(&mem);
    bool fits = q->op == PAWL_OP_SCHEDULE_PUT ? check_put(rt, q, &mem, err)
                                              : check_backfill(rt, q, &mem, err);
    arena_deinit(&mem);
    return fits;
}
