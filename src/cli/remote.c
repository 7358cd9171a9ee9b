/* SPDX-License-Identifier: MIT */
/*
 * cli/remote.c -- see remote.h.  JSON of the HTTP API back into the structs of
 * pawl/client.h; the inverse of view/render.c.
 */
#include "cli/remote.h"

#include "base/attr.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "tables/instance_texts.h"
#include "tables/operations.h"

#include <stdio.h>
#include <string.h>

#define CALL_MS 70000

/* ---- Calls ------------------------------------------------------------------------ */

static pawl_status status_of(unsigned http, pawl_str body)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_str code = pawl_json_text(mem, body, "/error/code", "");
    pawl_status found = PAWL_UNAVAILABLE;
    bool known = false;
#define MATCH(name, value, klass, text)                                                            \
    if (!known && pawl_str_is(code, pawl_status_code(PAWL_##name))) {                              \
        found = PAWL_##name;                                                                       \
        known = true;                                                                              \
    }
    PAWL_STATUS_MAP(MATCH)
#undef MATCH
    pawl_mem_free(mem);
    if (known)
        return found;
    return http == 404 || http == 410   ? PAWL_NOT_FOUND
           : http == 409 || http == 423 ? PAWL_CONFLICT
           : http == 413                ? PAWL_LIMIT
           : http == 507                ? PAWL_DISK_FULL
           : http < 500                 ? PAWL_INVALID
                                        : PAWL_UNAVAILABLE;
}

pawl_status remote_call(struct http *h, const char *method, const char *path, pawl_str body,
                        const char *headers, pawl_mem *mem, struct http_reply *ret,
                        pawl_error *reterr)
{
    *ret = (struct http_reply){0};
    pawl_status rc = http_call(h, method, path, body, headers, CALL_MS, mem, ret, reterr);
    if (rc != PAWL_OK || (ret->status >= 200 && ret->status < 300))
        return rc;
    pawl_str text = pawl_json_text(mem, ret->body, "/error/message", "");
    if (!text.len)
        text = pawl_json_text(mem, ret->body, "/message", "");
    rc = status_of(ret->status, ret->body);
    if (text.len && ret->status == 401)
        error_set(reterr, rc, "%.*s; set PAWL_TOKEN or give --token", PAWL_FMT(text));
    else if (text.len)
        error_set(reterr, rc, "%.*s", PAWL_FMT(text));
    else
        error_set(reterr, rc, "%s answered %u; is that a Pawl server?", http_url(h), ret->status);
    return rc;
}

/* ---- Writing -------------------------------------------------------------------------- */

static void member(pawl_json *w, const char *key, const char *text)
{
    if (!text)
        return;
    pawl_json_key(w, key);
    pawl_json_cstr(w, text);
}

static void number(pawl_json *w, const char *key, int64_t value)
{
    if (!value)
        return;
    pawl_json_key(w, key);
    pawl_json_num(w, value);
}

static void attributes(pawl_json *w, const pawl_request *q)
{
    if (!q->attributes.len)
        return;
    pawl_json_key(w, "attributes");
    pawl_json_raw(w, q->attributes);
}

static void put_raises(pawl_json *w, const pawl_request *q)
{
    if (!q->raise_count)
        return;
    pawl_json_key(w, "raise");
    pawl_json_array(w);
    for (size_t i = 0; i < q->raise_count; i++) {
        pawl_json_object(w);
        member(w, "event", q->raises[i].event);
        if (q->raises[i].data.len) {
            pawl_json_key(w, "data");
            pawl_json_raw(w, q->raises[i].data);
        }
        member(w, "key", q->raises[i].idempotency_key);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static pawl_str start_body(const pawl_request *q, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    member(w, "orchestration", q->name);
    member(w, "instance", q->instance);
    member(w, "version", q->version);
    if (q->data.len) {
        pawl_json_key(w, "input");
        pawl_json_raw(w, q->data);
    }
    if (q->allow_unregistered) {
        pawl_json_key(w, "allow_unregistered");
        pawl_json_truth(w, true);
    }
    number(w, "start_at", q->start_at_ms);
    number(w, "delay_ms", q->delay_ms);
    number(w, "deadline_ms", q->deadline_ms);
    static const char *const words[] = {NULL, "use", "rerun", "terminate"};
    member(w, "if_exists", words[q->if_exists]);
    attributes(w, q);
    put_raises(w, q);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static pawl_str rerun_body(const pawl_request *q, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    if (q->data.ptr) {
        pawl_json_key(w, "input");
        pawl_json_raw(w, q->data);
    }
    member(w, "version", q->version);
    number(w, "deadline_ms", q->deadline_ms);
    attributes(w, q);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static pawl_str reason_body(const pawl_request *q, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    member(w, "reason", q->reason);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static const char *instance_path(pawl_mem *mem, const char *instance, const char *rest)
{
    return pawl_mem_printf(mem, "/api/v1/instances/%s%s", http_escape(mem, instance).ptr, rest).ptr;
}

static pawl_str body_of(const pawl_request *q, pawl_mem *mem)
{
    if (q->op == PAWL_OP_START)
        return start_body(q, mem);
    if (q->op == PAWL_OP_RERUN)
        return rerun_body(q, mem);
    if (q->op == PAWL_OP_RAISE || q->op == PAWL_OP_SET_ATTRIBUTES)
        return q->data;
    if (q->op == PAWL_OP_PRUNE)
        return pawl_mem_printf(mem, "{\"before\":%lld}", (long long)q->before_ms);
    if (q->op == PAWL_OP_REMOVE)
        return (pawl_str){0};
    return reason_body(q, mem);
}

/* The path with its variable parts filled in, and the query. */
static const char *path_of(const struct operation *o, const pawl_request *q, pawl_mem *mem)
{
    const char *path = o->path, *id = strstr(path, "{id}"), *name = strstr(path, "{name}");
    if (id)
        path = pawl_mem_printf(mem, "%.*s%s%.*s%s", (int)(id - path), path,
                               http_escape(mem, q->instance).ptr,
                               name ? (int)(name - id - 4) : (int)strlen(id + 4), id + 4,
                               name ? http_escape(mem, q->name).ptr : "")
                   .ptr;
    const char *query = (o->fields & OP_AWAIT) && q->await_start ? "?await_start=1"
                        : (o->fields & OP_FORCE) && q->force     ? "?force=1"
                                                                 : "";
    return pawl_mem_printf(mem, "%s%s", path, query).ptr;
}

static pawl_status send(struct http *h, const pawl_request *q, pawl_mem *mem,
                        struct http_reply *answer, pawl_error *err)
{
    const struct operation *o = operation_of(q->op);
    const char *key = o && (o->fields & OP_KEY) ? q->idempotency_key : NULL, *header = NULL;
    if (!o || !o->path) {
        error_set(err, PAWL_UNSUPPORTED, "this works on a data directory only: --data DIR");
        return PAWL_UNSUPPORTED;
    }
    if (key && strpbrk(key, "\r\n")) {
        error_set(err, PAWL_INVALID, "the key has a line end");
        return PAWL_INVALID;
    }
    if (key)
        header = pawl_mem_printf(mem, "Idempotency-Key: %s\r\n", key).ptr;
    return remote_call(h, o->method, path_of(o, q, mem), body_of(q, mem), header, mem, answer, err);
}

pawl_status remote_write(struct http *h, const pawl_request *q, pawl_mem *mem, pawl_reply *ret)
{
    struct http_reply a;
    *ret = (pawl_reply){0};
    ret->status = send(h, q, mem, &a, &ret->error);
    if (ret->status != PAWL_OK)
        return ret->status;
    ret->created = pawl_json_bool(a.body, "/created", false);
    ret->execution = (uint64_t)pawl_json_int(a.body, "/execution", 0);
    ret->instances = (uint64_t)pawl_json_int(a.body, "/instances", 0);
    ret->executions = (uint64_t)pawl_json_int(a.body, "/executions", 0);
    ret->events = (uint64_t)pawl_json_int(a.body, "/events", 0);
    (void)snprintf(ret->instance, sizeof(ret->instance), "%s",
                   pawl_json_text(mem, a.body, "/instance", "").ptr);
    return PAWL_OK;
}

/* ---- Reading ---------------------------------------------------------------------------- */

/* A damaged history is shown up to the damage. */
static pawl_str from_base64(pawl_mem *mem, pawl_str text)
{
    char *out = pawl_mem_alloc(mem, text.len + 1);
    size_t read;
    return (pawl_str){out, base64_read(out, text, &read)};
}

static pawl_str read_text(pawl_mem *mem, pawl_str object, const char *pointer)
{
    return pawl_json_text(mem, object, pointer, "");
}

static pawl_str read_payload(pawl_mem *mem, pawl_str object, const char *pointer,
                             const char *encoding)
{
    pawl_str raw = pawl_json_get(object, pointer), how = read_text(mem, object, encoding);
    if (!raw.ptr || (json_type(raw) == JSON_NULL && !how.len))
        return (pawl_str){0};
    if (pawl_str_is(how, "text"))
        return read_text(mem, object, pointer);
    if (pawl_str_is(how, "base64"))
        return from_base64(mem, read_text(mem, object, pointer));
    return pawl_mem_dup(mem, raw);
}

static pawl_state read_state(pawl_mem *mem, pawl_str object)
{
    pawl_str word = read_text(mem, object, "/status");
    for (int i = PAWL_PENDING; i <= PAWL_CONTINUED_AS_NEW; i++)
        if (pawl_str_is(word, pawl_state_name((pawl_state)i)))
            return (pawl_state)i;
    return PAWL_PENDING;
}

static void read_waiting(pawl_mem *mem, pawl_str object, pawl_info *info)
{
    pawl_str list = pawl_json_get(object, "/waiting_for");
    int64_t count = list.ptr ? pawl_json_count(list, "") : 0;
    if (count <= 0)
        return;
    pawl_waiting *items = pawl_mem_alloc(mem, (size_t)count * sizeof(*items));
    struct json_iter it;
    size_t n = 0;
    for (json_begin(&it, list); json_next(&it); n++)
        items[n] = (pawl_waiting){.id = (uint64_t)pawl_json_int(it.value, "/id", 0),
                                  .kind = read_text(mem, it.value, "/kind").ptr,
                                  .name = read_text(mem, it.value, "/name"),
                                  .instance = read_text(mem, it.value, "/instance"),
                                  .since_ms = pawl_json_int(it.value, "/since", 0),
                                  .due_ms = pawl_json_int(it.value, "/due_at", 0),
                                  .attempt = (uint32_t)pawl_json_int(it.value, "/attempt", 0),
                                  .last_error = read_text(mem, it.value, "/last_error"),
                                  .running = pawl_json_bool(it.value, "/running", false)};
    info->waiting = items;
    info->waiting_count = n;
}

void remote_read_info(pawl_mem *mem, pawl_str object, pawl_info *ret)
{
    *ret = (pawl_info){.instance = read_text(mem, object, "/instance"),
                       .orchestration = read_text(mem, object, "/orchestration"),
                       .version = read_text(mem, object, "/version"),
                       .state = read_state(mem, object),
                       .execution = (uint64_t)pawl_json_int(object, "/execution", 0),
                       .created_ms = pawl_json_int(object, "/created_at", 0),
                       .updated_ms = pawl_json_int(object, "/updated_at", 0),
                       .input = read_payload(mem, object, "/input", "/input_encoding"),
                       .output = read_payload(mem, object, "/output", "/encoding"),
                       .error = read_text(mem, object, "/error"),
                       .parent = read_text(mem, object, "/parent"),
                       .start_ms = pawl_json_int(object, "/start_at", 0),
                       .deadline_ms = pawl_json_int(object, "/deadline_at", 0)};
#define READ(field, as, presence, ...)                                                             \
    ret->field = (presence) == JSON_IF_SET ? pawl_json_get(object, "/" #field)                     \
                                           : read_text(mem, object, "/" #field);
    INSTANCE_TEXTS(READ)
#undef READ
    read_waiting(mem, object, ret);
}

pawl_status remote_get(struct http *h, const char *instance, uint64_t execution, pawl_mem *mem,
                       pawl_info *ret, pawl_error *reterr)
{
    char rest[48] = "";
    struct http_reply a;
    if (execution)
        (void)snprintf(rest, sizeof(rest), "?execution=%llu", (unsigned long long)execution);
    pawl_status rc = remote_call(h, "GET", instance_path(mem, instance, rest), (pawl_str){0}, NULL,
                                 mem, &a, reterr);
    if (rc == PAWL_OK)
        remote_read_info(mem, a.body, ret);
    return rc;
}

pawl_status remote_wait(struct http *h, const char *instance, int64_t timeout_ms, pawl_mem *mem,
                        pawl_info *ret, pawl_error *reterr)
{
    char rest[48];
    struct http_reply a;
    (void)snprintf(rest, sizeof(rest), "/wait?timeout_ms=%lld", (long long)timeout_ms);
    pawl_status rc = remote_call(h, "GET", instance_path(mem, instance, rest), (pawl_str){0}, NULL,
                                 mem, &a, reterr);
    if (rc != PAWL_OK)
        return rc;
    remote_read_info(mem, a.body, ret);
    return a.status == 202 ? PAWL_TIMEOUT : PAWL_OK;
}

static pawl_str query(pawl_mem *mem, pawl_str so_far, const char *key, const char *value)
{
    if (!value || !value[0])
        return so_far;
    return pawl_mem_printf(mem, "%.*s%c%s=%s", PAWL_FMT(so_far), so_far.len ? '&' : '?', key,
                           http_escape(mem, value).ptr);
}

/* As pawl_where_parse() reads it. */
static const char *condition(pawl_mem *mem, const pawl_where *w)
{
    static const char *const operators[] = {"=", "!=", "<", "<=", ">", ">=", "^="};
    if (w->is_number)
        return pawl_mem_printf(mem, "%.*s%s%lld", PAWL_FMT(w->name), operators[w->op],
                               (long long)w->number)
            .ptr;
    pawl_json *text = pawl_json_new(mem);
    pawl_json_str(text, w->text);
    return pawl_mem_printf(mem, "%.*s%s%s", PAWL_FMT(w->name), operators[w->op],
                           pawl_json_done(text).ptr)
        .ptr;
}

/* What a list and a count have in common. */
static pawl_str query_of(pawl_mem *mem, const pawl_filter *f)
{
    pawl_str q = {"", 0};
    if (f->state)
        q = query(mem, q, "status", pawl_state_name((pawl_state)(f->state - 1)));
    q = query(mem, q, "orchestration", f->orchestration);
    q = query(mem, q, "prefix", f->prefix);
    q = query(mem, q, "parent", f->parent);
    for (size_t i = 0; i < f->where_count; i++)
        q = query(mem, q, "where", condition(mem, &f->where[i]));
    if (f->created_after_ms)
        q = query(mem, q, "created_after",
                  pawl_mem_printf(mem, "%lld", (long long)f->created_after_ms).ptr);
    return q;
}

pawl_status remote_count(struct http *h, const pawl_filter *f, const char *by, pawl_mem *mem,
                         pawl_str *ret, pawl_error *reterr)
{
    struct http_reply a;
    pawl_str q = query(mem, query_of(mem, f), "by", by);
    pawl_status rc =
        remote_call(h, "GET", pawl_mem_printf(mem, "/api/v1/instances:count%.*s", PAWL_FMT(q)).ptr,
                    (pawl_str){0}, NULL, mem, &a, reterr);
    if (rc == PAWL_OK)
        *ret = a.body;
    return rc;
}

pawl_status remote_list(struct http *h, const pawl_filter *f, pawl_mem *mem, pawl_page *ret,
                        pawl_error *reterr)
{
    struct http_reply a;
    pawl_str q = query_of(mem, f);
    if (f->limit)
        q = query(mem, q, "limit", pawl_mem_printf(mem, "%u", f->limit).ptr);
    q = query(mem, q, "after", f->after);
    pawl_status rc =
        remote_call(h, "GET", pawl_mem_printf(mem, "/api/v1/instances%.*s", PAWL_FMT(q)).ptr,
                    (pawl_str){0}, NULL, mem, &a, reterr);
    if (rc != PAWL_OK)
        return rc;
    pawl_str list = pawl_json_get(a.body, "/instances");
    int64_t count = list.ptr ? pawl_json_count(list, "") : 0;
    pawl_info *items = pawl_mem_alloc(mem, (size_t)(count + 1) * sizeof(*items));
    struct json_iter it;
    size_t n = 0;
    if (count > 0)
        for (json_begin(&it, list); json_next(&it); n++)
            remote_read_info(mem, it.value, &items[n]);
    *ret = (pawl_page){.items = items, .count = n, .next = read_text(mem, a.body, "/next")};
    return PAWL_OK;
}

void remote_read_history(pawl_mem *mem, pawl_str object, pawl_history *ret)
{
    pawl_str list = pawl_json_get(object, "/events");
    int64_t count = list.ptr ? pawl_json_count(list, "") : 0;
    pawl_history_event *events =
        pawl_mem_alloc(mem, (size_t)(count > 0 ? count + 1 : 1) * sizeof(*events));
    struct json_iter it;
    size_t n = 0;
    if (count > 0)
        for (json_begin(&it, list); json_next(&it); n++)
            events[n] =
                (pawl_history_event){.seq = (uint64_t)pawl_json_int(it.value, "/seq", 0),
                                     .kind = read_text(mem, it.value, "/kind").ptr,
                                     .ref = (uint64_t)pawl_json_int(it.value, "/ref", 0),
                                     .name = read_text(mem, it.value, "/name"),
                                     .data = read_payload(mem, it.value, "/data", "/encoding"),
                                     .attrs = pawl_mem_dup(mem, pawl_json_get(it.value, "/attrs")),
                                     .at_ms = pawl_json_int(it.value, "/at", 0)};
    *ret = (pawl_history){.execution = (uint64_t)pawl_json_int(object, "/execution", 0),
                          .events = events,
                          .count = n,
                          .next = (uint64_t)pawl_json_int(object, "/next", 0)};
}

pawl_status remote_history(struct http *h, const char *instance, uint64_t execution,
                           uint64_t after_seq, uint32_t limit, pawl_mem *mem, pawl_history *ret,
                           pawl_error *reterr)
{
    struct http_reply a;
    const char *rest = pawl_mem_printf(mem, "/history?execution=%llu&after=%llu&limit=%u",
                                       (unsigned long long)execution, (unsigned long long)after_seq,
                                       limit && limit < 1000 ? limit : 1000)
                           .ptr;
    pawl_status rc = remote_call(h, "GET", instance_path(mem, instance, rest), (pawl_str){0}, NULL,
                                 mem, &a, reterr);
    if (rc != PAWL_OK)
        return rc;
    remote_read_history(mem, a.body, ret);
    return PAWL_OK;
}
