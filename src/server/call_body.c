/* SPDX-License-Identifier: MIT */
/*
 * server/call_body.c -- the body of a request: JSON of the shape of its route, member by member.
 *
 * Functions that read input answer 400 themselves and return false: handlers just return then.
 */
#include "base/json.h"
#include "base/limits.h"
#include "server/server.h"

#include <string.h>

static pawl_str trimmed(pawl_str text)
{
    static const char blanks[] = " \t\r\n";
    while (text.len && memchr(blanks, text.ptr[text.len - 1], sizeof(blanks) - 1))
        text.len--;
    while (text.len && memchr(blanks, text.ptr[0], sizeof(blanks) - 1)) {
        text.ptr++;
        text.len--;
    }
    return text;
}

/* A body that the route does not read is refused, not ignored: a pop with
 * {"require_ack":true} would become a pop that cannot be undone. */
static bool check_no_body(struct call *c)
{
    pawl_str body = trimmed(buf_slice(&c->body));
    const char *query = c->route->query;
    if (!body.len || pawl_str_is(body, "null") || c->srv->opts.lenient)
        return true;
    if (body.len >= 2 && body.ptr[0] == '{' && body.ptr[body.len - 1] == '}' &&
        !trimmed((pawl_str){body.ptr + 1, body.len - 2}).len)
        return true;
    if (query[0])
        answer_error(c, 400, "invalid", "this call takes query parameters, not a body: ?%.*s=…",
                     (int)strcspn(query, " "), query);
    else
        answer_error(c, 400, "invalid", "this call takes no body");
    return false;
}

/* A body that is not an object is refused: read as {}, it would purge every priority instead of
 * one.  The seed's calls have texts of their own for that. */
static bool check_object(struct call *c)
{
    const struct route *r = c->route;
    if (r->body->presence == BODY_VALUE)
        return true;
    if (json_type(c->json) == JSON_OBJECT)
        return shape_check(c, c->json, r->body, NULL, NOWHERE);
    if (r->body->presence == BODY_JSON && r->family == FAMILY_QUEUE)
        return true;
    answer_error(c, 400, "invalid", "the body must be a JSON object");
    return false;
}

static void refuse_json(struct call *c, enum json_fault fault, size_t offset)
{
    bool queue = c->route->family == FAMILY_QUEUE;
    const char *body = queue ? "Request body" : "the body";
    if (fault == JSON_TOO_DEEP)
        answer_error(
            c, 400, "invalid_json",
            "%s is nested deeper than %d levels at byte %zu; keep what is deeper as a text", body,
            LIMIT_JSON_DEPTH, offset);
    else if (fault == JSON_HALF_PAIR)
        answer_error(c, 400, "invalid_json",
                     "%s has half of a surrogate pair at byte %zu: that is no text", body, offset);
    else if (queue)
        answer_error(c, 400, "invalid_json", "Request body is not valid JSON");
    else
        answer_error(c, 400, "invalid_json", "the body is not valid JSON at byte %zu (UTF-8)",
                     offset);
}

bool call_parse_body(struct call *c)
{
    size_t offset = 0;
    if (!c->route->body)
        return check_no_body(c);
    c->json = buf_slice(&c->body);
    if (c->json.len == 0 && !shape_is_needed(c->route->body)) {
        c->json = pawl_s("{}");
        return true;
    }
    enum json_fault fault = json_check(c->json, &offset);
    if (fault == JSON_FINE)
        return check_object(c);
    refuse_json(c, fault, offset);
    return false;
}

pawl_str call_member(pawl_str object, const char *key)
{
    struct json_iter it;
    if (json_type(object) != JSON_OBJECT)
        return (pawl_str){0};
    for (json_begin(&it, object); json_next(&it);)
        if (pawl_str_is(it.key, key))
            return it.value;
    return (pawl_str){0};
}

static void index_fields(struct fields *f, pawl_str object)
{
    struct json_iter it;
    f->of = object;
    f->count = 0;
    f->more = false;
    if (json_type(object) != JSON_OBJECT)
        return;
    json_begin(&it, object);
    while (f->count < COUNT_OF(f->items) && json_next(&it))
        f->items[f->count++] = (struct param){.name = it.key, .value = it.value};
    f->more = f->count == COUNT_OF(f->items);
}

const struct fields *call_fields(struct call *c, pawl_str object)
{
    struct fields *f = &c->fields;
    if (f->of.ptr != object.ptr || f->of.len != object.len)
        index_fields(f, object);
    return f;
}

pawl_str call_field(struct call *c, pawl_str object, const char *key)
{
    const struct fields *f = call_fields(c, object);
    size_t n = strlen(key);
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].name.len == n && memcmp(f->items[i].name.ptr, key, n) == 0)
            return f->items[i].value;
    return f->more ? call_member(object, key) : (pawl_str){0};
}

bool call_text(struct call *c, pawl_str object, const char *key, const char **ret)
{
    pawl_str raw = call_field(c, object, key);
    enum json_type type = raw.ptr ? json_type(raw) : JSON_NULL;
    *ret = NULL;
    if (type == JSON_NULL)
        return true;
    pawl_str text = {0};
    if (type == JSON_STRING) {
        text = pawl_json_text(c->mem, raw, "", "");
        if (!memchr(text.ptr, 0, text.len)) {
            *ret = text.ptr;
            return true;
        }
    }
    answer_error(c, 400, "invalid", "%s must be a text%s", key,
                 type == JSON_STRING ? " without NUL" : "");
    return false;
}

bool call_integer(struct call *c, pawl_str object, const char *key, int64_t min, int64_t max,
                  int64_t otherwise, int64_t *ret)
{
    pawl_str raw = call_field(c, object, key);
    *ret = otherwise;
    if (!raw.ptr || json_type(raw) == JSON_NULL)
        return true;
    if (json_whole(raw, ret) && *ret >= min && *ret <= max)
        return true;
    answer_error(c, 400, "invalid", "%s must be a whole number from %lld to %lld", key,
                 (long long)min, (long long)max);
    return false;
}

bool call_truth(struct call *c, pawl_str object, const char *key, bool *ret)
{
    pawl_str raw = call_field(c, object, key);
    if (!raw.ptr || json_type(raw) == JSON_NULL)
        return true;
    if (json_type(raw) == JSON_BOOL) {
        *ret = raw.ptr[0] == 't';
        return true;
    }
    answer_error(c, 400, "invalid", "%s must be true or false", key);
    return false;
}

/* An empty key comes from a variable that is not set: all such calls would share it. */
bool call_check_key(struct call *c)
{
    size_t n = c->given.idempotency_key ? strlen(c->given.idempotency_key) : 1;
    if (n >= 1 && n <= LIMIT_KEY_BYTES)
        return true;
    bool large = n && c->route->family != FAMILY_QUEUE; /* there a key was ever 400 */
    answer_error(c, large ? 413 : 400, large ? "too_large" : "invalid",
                 "the Idempotency-Key has %zu bytes; give 1 to %d, or leave it out", n,
                 LIMIT_KEY_BYTES);
    return false;
}

bool call_some_text(struct call *c, pawl_str object, const char *key, const char **ret)
{
    if (!call_text(c, object, key, ret))
        return false;
    if (!*ret || (*ret)[0])
        return true;
    answer_error(c, 400, "invalid", "%s is empty; give one, or leave it out", key);
    return false;
}

bool call_reason(struct call *c, const char **ret)
{
    if (!call_text(c, c->json, "reason", ret))
        return false;
    size_t n = *ret ? strlen(*ret) : 0;
    if (n <= LIMIT_REASON_BYTES)
        return true;
    answer_error(c, 413, "too_large", "the reason has %zu bytes, the limit is %d; shorten it", n,
                 LIMIT_REASON_BYTES);
    return false;
}
