/* SPDX-License-Identifier: MIT */
/* runtime/work/limit_call.c -- see the header. */
#include "runtime/work/limit_call.h"

#include "base/arena.h"
#include "base/limits.h"
#include "fair/limit_json.h"
#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/work/work_limits.h"
#include "store/store.h"

#include <string.h>

/* ---- On the caller's thread ------------------------------------------------------------- */

bool limit_check_store(pawl_runtime *rt, pawl_error *err)
{
    if (limits_work(rt))
        return true;
    error_set(err, PAWL_UNSUPPORTED, "the store %s has no limits; use sqlite:FILE or postgres://…",
              store_name(rt->store));
    return false;
}

bool limit_check_name(const char *name, pawl_error *err)
{
    if (!check_queue_name("limit name", pawl_s(name), err))
        return false;
    if (strlen(name) <= PAWL_LIMIT_NAME_MAX)
        return true;
    error_set(err, PAWL_LIMIT, "limit name has %zu bytes, the limit is %d; shorten it",
              strlen(name), PAWL_LIMIT_NAME_MAX);
    return false;
}

bool limit_check(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    struct fair_rule rule = {0};
    pawl_mem mem;
    if (!limit_check_store(rt, err) || !limit_check_name(q->name, err))
        return false;
    if (q->op != PAWL_OP_LIMIT_PUT)
        return true;
    arena_init(&mem);
    bool fits = limit_read_json(&rule, q->data, &mem, err);
    arena_deinit(&mem);
    return fits;
}

void limit_write(pawl_json *w, const pawl_limit *limit)
{
    limit_write_json(w, limit);
}

/* ---- On the engine's ---------------------------------------------------------------------- */

/* Does this group change it already? */
static bool is_busy(const pawl_runtime *rt, pawl_str name)
{
    for (const struct stage *s = stage_first(rt); s; s = s->next)
        for (size_t i = 0; i < s->objects.count; i++)
            if (s->objects.items[i].kind == PAWL_OBJECT_LIMIT &&
                pawl_str_eq(s->objects.items[i].name, name))
                return true;
    return false;
}

static bool check_revision(const struct letter *call, const struct limit *has, pawl_error *err)
{
    uint64_t want = call->ask.if_revision, version = has ? has->version : 0;
    pawl_str name = call->mail.name;
    if (!has && (call->ask.op == PAWL_OP_LIMIT_REMOVE || (want && want != PAWL_IF_NEW)))
        error_set(err, PAWL_NOT_FOUND, "there is no limit '%.*s'", PAWL_FMT(name));
    else if (has && want == PAWL_IF_NEW)
        error_set(err, PAWL_EXISTS, "limit '%.*s' exists already; choose another name",
                  PAWL_FMT(name));
    else if (has && want && want != version)
        error_set(err, PAWL_CONFLICT, "limit '%.*s' has revision %llu, not %llu; read it again",
                  PAWL_FMT(name), (unsigned long long)version, (unsigned long long)want);
    else
        return true;
    return false;
}

/* With those that this group makes. */
static bool check_count(const pawl_runtime *rt, pawl_error *err)
{
    size_t count = rt->hands.limits;
    for (const struct stage *s = stage_first(rt); s; s = s->next)
        for (size_t i = 0; i < s->objects.count; i++)
            count += s->objects.items[i].kind == PAWL_OBJECT_LIMIT && !s->objects.items[i].version;
    if (count < PAWL_LIMITS_MAX)
        return true;
    error_set(err, PAWL_LIMIT, "there are %d limits already; remove one that is not needed",
              PAWL_LIMITS_MAX);
    return false;
}

/* The limit as it is stored. */
static pawl_str stored_form(pawl_runtime *rt, pawl_str json, pawl_error *err)
{
    struct fair_rule rule = {0};
    if (!limit_read_json(&rule, json, &rt->group_mem, err))
        return (pawl_str){0};
    pawl_json *w = pawl_json_new(&rt->group_mem);
    rule_write_json(w, &rule);
    return pawl_json_done(w);
}

enum verdict_kind limit_call(pawl_runtime *rt, struct letter *call)
{
    pawl_error err = {0};
    pawl_str name = arena_dup(&rt->group_mem, call->mail.name), data = {0};
    if (is_busy(rt, name))
        return VERDICT_FIRST;
    const struct limit *has = limits_find(rt, name);
    bool put = call->ask.op == PAWL_OP_LIMIT_PUT;
    bool fits = check_revision(call, has, &err) && (!put || has || check_count(rt, &err));
    if (fits && put)
        fits = (data = stored_form(rt, call->mail.data, &err)).ptr != NULL;
    if (!fits) {
        request_refuse(call, err.status, "%s", err.text);
        return VERDICT_DONE;
    }
    struct stage *s = stage_bare(rt);
    uint64_t version = has ? has->version : 0;
    *list_add(&rt->group_mem, &s->objects) =
        (pawl_object){.kind = PAWL_OBJECT_LIMIT, .name = name, .version = version, .data = data};
    s->reply = arena_new(&rt->group_mem, pawl_reply);
    *s->reply = (pawl_reply){.status = PAWL_OK, .revision = put ? version + 1 : version};
    stage_answer(s, call);
    return VERDICT_DONE;
}
