/* SPDX-License-Identifier: MIT */
/*
 * server/call_query.c -- the query of a request: split, decoded, and asked for by name.
 *
 * Functions that read input answer 400 themselves and return false: handlers just return then.
 */
#include "base/hex.h"
#include "base/limits.h"
#include "base/near.h"
#include "server/server.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* The names in a route's query are words with blanks between them. */
static const char *near_param(struct call *c, const char *name)
{
    const char *words[CALL_PARAMS_MAX];
    size_t count = 0, len = strlen(c->route->query) + 1;
    char *rest, *all = memcpy(pawl_mem_alloc(c->mem, len), c->route->query, len);
    for (char *w = strtok_r(all, " ", &rest); w && count < CALL_PARAMS_MAX;
         w = strtok_r(NULL, " ", &rest))
        words[count++] = w;
    return nearest_word(name, words, count);
}

static bool refuse_param(struct call *c, pawl_str name)
{
    const char *near = near_param(c, name.ptr), *query = c->route->query;
    answer_error(c, 400, "unknown_parameter", "unknown query parameter '%.*s'%s%s%s; %s%s",
                 PAWL_FMT(name), near ? " (did you mean '" : "", near ? near : "",
                 near ? "'?)" : "", query[0] ? "known here: " : "this call has none", query);
    return false;
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
    if (!lenient && !route_takes(c->route, p->name))
        return refuse_param(c, p->name);
    if (call_param(c, p->name.ptr) && !pawl_str_is(p->name, "where")) { /* these are joined */
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
