/* SPDX-License-Identifier: MIT */
/*
 * server/call.c -- one HTTP request: its query, its body, its answer.
 *
 * Everything a call needs lives in its pawl_mem; calls are used again, so a
 * busy connection allocates nothing.  Helpers that read input answer 400
 * themselves and return false: handlers just return then.
 */
#include "base/clock.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/limits.h"
#include "server/server.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE_MAX  256
#define SPARE_BODY 16384 /* larger bodies are given back */

struct call *call_create(pawl_server *s)
{
    struct call *c = s->spare;
    pawl_mem *mem = NULL;
    struct buf body;
    if (c) {
        s->spare = c->next;
        s->spare_count--;
        mem = c->mem;
        body = c->body;
    } else {
        c = malloc(sizeof(*c));
        mem = c ? pawl_mem_new() : NULL;
        if (!mem) {
            free(c);
            return NULL;
        }
        buf_init(&body, s->opts.max_body + 1);
    }
    memset(c, 0, offsetof(struct call, fields));
    c->fields.of = (pawl_str){0};
    c->fields.count = 0;
    c->fields.more = false;
    c->srv = s;
    c->mem = mem;
    c->body = body;
    return c;
}

void call_destroy(struct call *c)
{
    pawl_server *s = c->srv;
    assert_that(!c->is_away);
    if (s->spare_count >= SPARE_MAX || c->body.cap > SPARE_BODY) {
        pawl_mem_free(c->mem);
        buf_deinit(&c->body);
        free(c);
        return;
    }
    pawl_mem_reset(c->mem);
    buf_reset(&c->body);
    c->body.failed = false;
    c->next = s->spare;
    s->spare = c;
    s->spare_count++;
}

/* ---- The query ------------------------------------------------------------------- */

bool percent_decode(pawl_mem *mem, pawl_str raw, bool plus, pawl_str *ret)
{
    char *out = pawl_mem_alloc(mem, raw.len + 1), *to = out;
    for (size_t i = 0; i < raw.len; i++) {
        char ch = raw.ptr[i];
        if (ch == '%') {
            int high = i + 2 < raw.len ? hex_value(raw.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex_value(raw.ptr[i + 2]) : -1;
            if (low < 0)
                return false;
            ch = (char)(high * 16 + low);
            i += 2;
        } else if (ch == '+' && plus) {
            ch = ' ';
        }
        if (!ch)
            return false;
        *to++ = ch;
    }
    *ret = (pawl_str){out, (size_t)(to - out)};
    return utf8_valid(*ret);
}

static bool add_param(struct call *c, pawl_str raw)
{
    const char *equals = memchr(raw.ptr, '=', raw.len);
    size_t n = equals ? (size_t)(equals - raw.ptr) : raw.len;
    struct param *p = &c->params[c->param_count];
    if (c->param_count == CALL_PARAMS_MAX) {
        answer_error(c, 400, "invalid", "more than %d query parameters", CALL_PARAMS_MAX);
        return false;
    }
    if (!percent_decode(c->mem, (pawl_str){raw.ptr, n}, true, &p->name) ||
        !percent_decode(c->mem, equals ? (pawl_str){equals + 1, raw.len - n - 1} : (pawl_str){0},
                        true, &p->value)) {
        answer_error(c, 400, "invalid", "the query has a malformed escape, or is not UTF-8");
        return false;
    }
    bool lenient = c->route->family == FAMILY_QUEUE && c->srv->opts.lenient;
    if (!lenient && !route_takes(c->route, p->name)) {
        answer_error(c, 400, "unknown_parameter", "unknown query parameter '%.*s'%s%s",
                     PAWL_FMT(p->name), c->route->query[0] ? "; known here: " : "",
                     c->route->query);
        return false;
    }
    if (call_param(c, p->name.ptr)) {
        answer_error(c, 400, "invalid", "query parameter '%.*s' is given twice", PAWL_FMT(p->name));
        return false;
    }
    p->bare = !equals;
    c->param_count++;
    return true;
}

bool call_parse_query(struct call *c)
{
    const char *at = strchr(c->head->target.ptr, '?');
    while (at && at[1]) {
        const char *from = at + 1, *to = strchr(from, '&');
        pawl_str raw = {from, to ? (size_t)(to - from) : strlen(from)};
        if (raw.len && !add_param(c, raw))
            return false;
        at = to;
    }
    return true;
}

static const struct param *find_param(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->param_count; i++)
        if (pawl_str_is(c->params[i].name, name))
            return &c->params[i];
    return NULL;
}

const char *call_param(const struct call *c, const char *name)
{
    const struct param *p = find_param(c, name);
    return p ? p->value.ptr : NULL;
}

static bool parse_whole(const char *text, int64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && isdigit((unsigned char)text[1])))
        return false;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    return !*end && errno == 0;
}

bool call_number(struct call *c, const char *name, int64_t min, int64_t max, int64_t otherwise,
                 int64_t *ret)
{
    const char *text = call_param(c, name);
    *ret = otherwise;
    if (!text || (parse_whole(text, ret) && *ret >= min && *ret <= max))
        return true;
    answer_error(c, 400, "invalid", "%s must be a whole number from %lld to %lld", name,
                 (long long)min, (long long)max);
    return false;
}

/* "?force" is yes; "?force=" comes from a variable that is not set, and is refused. */
bool call_flag(struct call *c, const char *name, bool *ret)
{
    static const char *const yes[] = {"true", "1", "yes", "on"};
    static const char *const no[] = {"false", "0", "no", "off"};
    const struct param *p = find_param(c, name);
    if (!p)
        return true;
    if (p->bare)
        return *ret = true;
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        if (strcasecmp(p->value.ptr, yes[i]) == 0)
            return *ret = true;
    for (size_t i = 0; i < COUNT_OF(no); i++)
        if (strcasecmp(p->value.ptr, no[i]) == 0) {
            *ret = false;
            return true;
        }
    answer_error(c, 400, "invalid", "%s must be a boolean", name);
    return false;
}

/* ---- The body ---------------------------------------------------------------------- */

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
    if (c->json.len == 0 && c->route->body->presence != BODY_JSON) {
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
    size_t n = c->idempotency_key ? strlen(c->idempotency_key) : 1;
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

/* ---- The answer ----------------------------------------------------------------------- */

void answer_text(struct call *c, unsigned status, const char *type, pawl_str body)
{
    c->answer.status = status;
    c->answer.type = type;
    c->answer.body = body;
}

void answer_json(struct call *c, unsigned status, pawl_json *w)
{
    pawl_str body = pawl_json_done(w);
    assert_that(body.ptr);
    answer_text(c, status, NULL, body);
}

void answer_error(struct call *c, unsigned status, const char *code, const char *format, ...)
{
    char text[600];
    va_list args;
    c->answer.allow = NULL; /* of a refusal that this one takes the place of */
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    if (c->route && c->route->family == FAMILY_QUEUE) {
        pawl_json_key(w, "success");
        pawl_json_truth(w, false);
        pawl_json_key(w, "message");
        pawl_json_cstr(w, text);
    } else {
        pawl_json_key(w, "error");
        pawl_json_object(w);
        pawl_json_key(w, "code");
        pawl_json_cstr(w, code);
        pawl_json_key(w, "message");
        pawl_json_cstr(w, text);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    answer_json(c, status, w);
}

unsigned http_status_of(pawl_status status)
{
    switch (status) {
    case PAWL_OK:
    case PAWL_EMPTY:
        return 200;
    case PAWL_NOT_FOUND:
        return 404;
    case PAWL_EXISTS:
    case PAWL_CONFLICT:
        return 409;
    case PAWL_INVALID:
        return 400;
    case PAWL_LIMIT:
        return 413;
    case PAWL_LOST:
        return 410;
    case PAWL_UNSUPPORTED:
        return 501;
    case PAWL_DISK_FULL:
        return 507;
    case PAWL_TIMEOUT:
    case PAWL_BUSY:
    case PAWL_UNAVAILABLE:
    case PAWL_NO_MEMORY:
    case PAWL_SHUTDOWN:
        return 503;
    case PAWL_FENCED:
    case PAWL_UNKNOWN:
    case PAWL_CORRUPT:
    case PAWL_MISUSE:
        return 500;
    }
    return 500;
}

void answer_failure(struct call *c, const pawl_error *err)
{
    unsigned status = http_status_of(err->status);
    const char *code = err->status == PAWL_LIMIT ? "too_large" : pawl_status_code(err->status);
    if (c->route && c->route->family == FAMILY_QUEUE && status == 500)
        answer_error(c, status, code, "Internal error: %s", err->text);
    else
        answer_error(c, status, code, "%s", err->text);
    if (status == 503 || status == 507)
        c->answer.retry_after = 1;
}
