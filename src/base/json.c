/* SPDX-License-Identifier: MIT */
/*
 * base/json.c -- the strict reader: check, find, walk.
 *
 * One scanner does all of it.  It goes over the bytes once, keeps the open
 * brackets as bits of a word (so depth costs no stack), and may carry a JSON
 * pointer that it matches on the way: what pawl_json_get() returns is a slice of
 * a document that was checked to its last byte in the same pass.
 *
 * Strict means RFC 8259: no comments, no trailing commas, no leading zeros, no
 * byte order mark, UTF-8 only, nothing after the value.  Everything the grammar
 * allows is accepted, also "\u0000" and half of a surrogate pair.
 *
 * Strings, numbers and words are read by json_scalar.c.
 *
 * Members of one name: the first wins.  Called from everywhere; allocates nothing.
 */
#include "base/json.h"

#include "base/attr.h"
#include "base/misuse.h"

#include "base/json_scalar.h"
#include "base/limits.h"

#include <string.h>

_Static_assert(LIMIT_JSON_DEPTH <= 64, "open brackets are bits of a uint64_t");

/* Where a JSON pointer has been matched to. */
struct finder {
    const char *token; /* the next token, at its '/'; at the NUL all are matched */
    unsigned level;    /* tokens matched; the next one is tried at depth level + 1 */
    size_t index;      /* of the element now read, in an array at that depth */
    bool lost;         /* an earlier token matched and led nowhere */
    unsigned hit_depth;
    const char *hit; /* start of the value, once found */
    const char *hit_end;
};

struct scan {
    const char *at;
    const char *end;
    uint64_t objects; /* bit d: the bracket at depth d + 1 is an object */
    unsigned depth;
    unsigned depth_max;
    bool too_deep;         /* that is where it broke */
    struct finder *finder; /* NULL: only check */
};

enum expect { EXPECT_VALUE, EXPECT_KEY, EXPECT_FIRST, EXPECT_NEXT, EXPECT_NOTHING };

static bool scan_value(struct scan *s);
static bool finder_begin(struct finder *f, const char *pointer);
static void finder_at_key(struct scan *s, pawl_str key);
static void finder_at_value(struct scan *s);
static void finder_after_value(struct scan *s);

static struct scan scan_of(pawl_str text)
{
    const char *at = text.ptr ? text.ptr : "";

    return (struct scan){
        .at = at, .end = at + (text.ptr ? text.len : 0), .depth_max = LIMIT_JSON_DEPTH};
}

INLINED void skip_space(struct scan *s)
{
    const char *at = s->at;
    while (at < s->end && (unsigned char)*at <= ' ' &&
           (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    s->at = at;
}

/* One value with white space around it, and nothing else. */
static bool scan_document(struct scan *s)
{
    if (!scan_value(s))
        return false;
    skip_space(s);
    return s->at == s->end;
}

bool pawl_json_valid(pawl_str payload, size_t *retoffset)
{
    struct scan s = scan_of(payload);
    const char *start = s.at;

    if (scan_document(&s))
        return true;
    if (retoffset)
        *retoffset = (size_t)(s.at - start);
    return false;
}

enum json_fault json_check(pawl_str payload, size_t *retoffset)
{
    struct scan s = scan_of(payload);
    const char *start = s.at;

    bool ok = scan_document(&s);
    *retoffset = ok ? json_half_pair(payload) : (size_t)(s.at - start);
    if (ok)
        return *retoffset < payload.len ? JSON_HALF_PAIR : JSON_FINE;
    return s.too_deep ? JSON_TOO_DEEP : JSON_BROKEN;
}

bool json_fits(pawl_str payload, unsigned depth_max)
{
    struct scan s = scan_of(payload);

    s.depth_max = depth_max;
    return scan_document(&s);
}

pawl_str pawl_json_get(pawl_str payload, const char *pointer)
{
    struct finder finder;
    struct scan s = scan_of(payload);

    if (!payload.len || !pointer || !finder_begin(&finder, pointer))
        return (pawl_str){0};
    s.finder = &finder;
    if (!scan_document(&s) || !finder.hit)
        return (pawl_str){0};
    return (pawl_str){.ptr = finder.hit, .len = (size_t)(finder.hit_end - finder.hit)};
}

enum json_type json_type(pawl_str raw)
{
    if (raw.len == 0)
        return JSON_NONE;
    switch (raw.ptr[0]) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        return raw.ptr[0] == '-' || (raw.ptr[0] >= '0' && raw.ptr[0] <= '9') ? JSON_NUMBER
                                                                             : JSON_NONE;
    }
}

/* ---- Walking ------------------------------------------------------------ */

void json_begin(struct json_iter *it, pawl_str raw)
{
    *it = (struct json_iter){.raw = raw};
}

/* Step over what must stand before the next member; false at the end. */
static bool next_separator(struct scan *s, bool first)
{
    skip_space(s);
    if (first)
        return s->at < s->end && *s->at != '}' && *s->at != ']';
    if (s->at == s->end || *s->at != ',')
        return false;
    s->at++;
    skip_space(s);
    return true;
}

static bool scan_key(struct scan *s, pawl_str *ret)
{
    const char *start = s->at + 1;

    if (s->at == s->end || *s->at != '"' || !json_scan_string(&s->at, s->end))
        return false;
    *ret = (pawl_str){.ptr = start, .len = (size_t)(s->at - start) - 1};
    skip_space(s);
    if (s->at == s->end || *s->at != ':')
        return false;
    s->at++;
    skip_space(s);
    return true;
}

bool json_next(struct json_iter *it)
{
    enum json_type type = json_type(it->raw);

    if (type != JSON_ARRAY && type != JSON_OBJECT)
        return false;
    struct scan s = scan_of(it->raw);
    bool first = it->at == 0;
    s.at += first ? 1 : it->at;
    if (!next_separator(&s, first))
        return false;
    it->key = (pawl_str){0};
    if (type == JSON_OBJECT && !scan_key(&s, &it->key))
        return false;
    const char *value = s.at;
    if (!scan_value(&s))
        return false;
    it->value = (pawl_str){.ptr = value, .len = (size_t)(s.at - value)};
    it->at = (size_t)(s.at - it->raw.ptr);
    return true;
}

pawl_json_iter pawl_json_each(pawl_str payload, const char *pointer)
{
    return (pawl_json_iter){.whole = pawl_json_get(payload, pointer)};
}

bool pawl_json_next(pawl_json_iter *it)
{
    MUST_HAVE("an iterator", it);
    struct json_iter inner = {.raw = it->whole, .at = it->at};

    if (!json_next(&inner))
        return false;
    it->key = inner.key;
    it->value = inner.value;
    it->at = inner.at;
    it->index = it->count++;
    return true;
}

/* ---- The scanner -------------------------------------------------------- */

static bool in_object(const struct scan *s)
{
    return s->depth > 0 && (s->objects >> (s->depth - 1) & 1);
}

/* An opening bracket. */
static bool open_bracket(struct scan *s, enum expect *retnext)
{
    if (s->depth == s->depth_max) {
        s->too_deep = true;
        return false;
    }
    uint64_t bit = UINT64_C(1) << s->depth++;
    s->objects = *s->at == '{' ? s->objects | bit : s->objects & ~bit;
    s->at++;
    *retnext = EXPECT_FIRST;
    return true;
}

static void value_is_over(struct scan *s, enum expect *retnext)
{
    if (s->finder)
        finder_after_value(s);
    *retnext = s->depth ? EXPECT_NEXT : EXPECT_NOTHING;
}

static bool read_value(struct scan *s, enum expect *retnext)
{
    if (s->at == s->end)
        return false;
    if (s->finder)
        finder_at_value(s);
    bool ok;
    switch (*s->at) {
    case '{':
    case '[':
        return open_bracket(s, retnext);
    case '"':
        ok = json_scan_string(&s->at, s->end);
        break;
    case 't':
    case 'f':
    case 'n':
        ok = json_scan_literal(&s->at, s->end);
        break;
    default:
        ok = json_scan_number(&s->at, s->end);
    }
    if (ok)
        value_is_over(s, retnext);
    return ok;
}

static bool read_key(struct scan *s, enum expect *retnext)
{
    pawl_str key;

    if (!scan_key(s, &key))
        return false;
    if (s->finder)
        finder_at_key(s, key);
    *retnext = EXPECT_VALUE;
    return true;
}

/* After a value, or right after an opening bracket: a comma or the closing one. */
static bool read_next(struct scan *s, bool first, enum expect *retnext)
{
    bool object = in_object(s);

    if (s->at == s->end)
        return false;
    if (*s->at == (object ? '}' : ']')) {
        s->at++;
        s->depth--;
        value_is_over(s, retnext);
        return true;
    }
    if (!first) {
        if (*s->at != ',')
            return false;
        s->at++;
    }
    *retnext = object ? EXPECT_KEY : EXPECT_VALUE;
    return true;
}

/* Read one value from `at`, leaving `at` behind it; where it breaks when false. */
static bool scan_value(struct scan *s)
{
    enum expect expect = EXPECT_VALUE;
    bool ok = true;

    while (ok && expect != EXPECT_NOTHING) {
        skip_space(s);
        switch (expect) {
        case EXPECT_VALUE:
            ok = read_value(s, &expect);
            break;
        case EXPECT_KEY:
            ok = read_key(s, &expect);
            break;
        case EXPECT_FIRST:
        case EXPECT_NEXT:
            ok = read_next(s, expect == EXPECT_FIRST, &expect);
            break;
        case EXPECT_NOTHING:
            break;
        }
    }
    return ok;
}

/* ---- Following a pointer ------------------------------------------------ */

/* False when the pointer is none: it starts with '/', '~' only as "~0" or "~1". */
static bool finder_begin(struct finder *f, const char *pointer)
{
    if (*pointer && *pointer != '/')
        return false;
    for (const char *p = pointer; (p = strchr(p, '~')); p++)
        if (p[1] != '0' && p[1] != '1')
            return false;
    *f = (struct finder){.token = pointer};
    return true;
}

static const char *token_end(const char *token)
{
    const char *slash = strchr(token + 1, '/');

    return slash ? slash : token + strlen(token);
}

/* The next character of a token, "~1" and "~0" undone. */
static char token_char(const char **at)
{
    char c = *(*at)++;

    if (c == '~')
        c = *(*at)++ == '1' ? '/' : '~';
    return c;
}

/* Keys without escapes are compared as they stand, others character by character. */
static bool token_is_key(const char *token, pawl_str key)
{
    const char *at = token + 1, *end = token_end(token);
    size_t len = (size_t)(end - at);
    struct json_text text = json_text_of(key);
    char piece[4];

    if (!memchr(at, '~', len) && (!key.len || !memchr(key.ptr, '\\', key.len)))
        return pawl_str_eq((pawl_str){at, len}, key);

    for (size_t n; (n = json_text_next(&text, piece)) > 0;)
        for (size_t i = 0; i < n; i++)
            if (at >= end || token_char(&at) != piece[i])
                return false;
    return at == end;
}

static bool token_is_index(const char *token, size_t index)
{
    const char *at = token + 1, *end = token_end(token);
    size_t value = 0;

    if (at == end || (*at == '0' && end - at > 1))
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || value > SIZE_MAX / 10 - 1)
            return false;
        value = value * 10 + (size_t)(*at - '0');
    }
    return value == index;
}

static bool finder_is_looking(const struct scan *s)
{
    const struct finder *f = s->finder;

    return !f->hit && !f->lost && *f->token && s->depth == f->level + 1;
}

static void finder_matched(struct finder *f)
{
    f->token = token_end(f->token);
    f->level++;
    f->index = 0;
}

static void finder_at_key(struct scan *s, pawl_str key)
{
    if (finder_is_looking(s) && token_is_key(s->finder->token, key))
        finder_matched(s->finder);
}

/* A value starts.  It is the one when every token has been matched for it. */
static void finder_at_value(struct scan *s)
{
    struct finder *f = s->finder;

    if (finder_is_looking(s) && !in_object(s) && token_is_index(f->token, f->index++))
        finder_matched(f);
    if (f->hit || f->lost || f->level != s->depth)
        return;
    if (!*f->token) {
        f->hit = s->at;
        f->hit_depth = s->depth;
    }
}

/* A value ended.  When it was matched, and is not the one, nothing else can be. */
static void finder_after_value(struct scan *s)
{
    struct finder *f = s->finder;

    if (f->hit && !f->hit_end && s->depth == f->hit_depth)
        f->hit_end = s->at;
    if (!f->hit && s->depth == f->level)
        f->lost = true;
}
