/* SPDX-License-Identifier: MIT */
/*
 * base/json_write.c -- a document written piece by piece.
 *
 * The writer knows where it is (which brackets are open, whether a key waits for
 * its value), so it puts the commas and notices every mistake.  A mistake makes
 * the whole document come out as {NULL, 0}: half a document is never mistaken
 * for one.  The text grows inside the caller's arena; there is nothing to free,
 * and a fiber may be dropped in the middle of it.
 *
 * Invariants: bit d of `objects` and `filled` tell of the bracket at depth d + 1;
 * `depth` <= 64; what done() returns is valid JSON.
 */
#include "base/arena.h"
#include "base/attr.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/word.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_FIRST 256

struct pawl_json {
    pawl_mem *mem; /* borrowed */
    char *text;
    size_t len;
    size_t cap;
    uint64_t objects; /* which open brackets are objects */
    uint64_t filled;  /* which have a member already */
    unsigned depth;
    bool has_key;  /* the next value is a member */
    bool complete; /* the one value at the top is there */
    bool broken;   /* a mistake was made */
};

static void grow(pawl_json *w, size_t n);
static bool begin_value(pawl_json *w);
static void end_value(pawl_json *w);
static void put_value(pawl_json *w, const char *text, size_t n);

pawl_json *pawl_json_new(pawl_mem *mem)
{
    MUST_HAVE("memory", mem);
    pawl_json *w = arena_new(mem, pawl_json);

    w->mem = mem;
    return w;
}

static uint64_t bit(const pawl_json *w)
{
    return UINT64_C(1) << (w->depth - 1);
}

/* Room for `n` bytes and a NUL behind them. */
INLINED char *make_room(pawl_json *w, size_t n)
{
    if (UNLIKELY(w->cap - w->len <= n))
        grow(w, n);
    return w->text + w->len;
}

INLINED void put_char(pawl_json *w, char c)
{
    *make_room(w, 1) = c;
    w->len++;
}

static void put(pawl_json *w, const char *text, size_t n)
{
    memcpy(make_room(w, n), text, n);
    w->len += n;
}

static void open_bracket(pawl_json *w, bool object)
{
    if (!begin_value(w))
        return;
    if (w->depth == LIMIT_JSON_DEPTH) {
        w->broken = true;
        return;
    }
    put_char(w, object ? '{' : '[');
    w->depth++;
    w->objects = object ? w->objects | bit(w) : w->objects & ~bit(w);
    w->filled &= ~bit(w);
}

void pawl_json_object(pawl_json *w)
{
    MUST_HAVE("a writer", w);
    open_bracket(w, true);
}

void pawl_json_array(pawl_json *w)
{
    MUST_HAVE("a writer", w);
    open_bracket(w, false);
}

void pawl_json_end(pawl_json *w)
{
    MUST_HAVE("a writer", w);
    if (w->broken || w->depth == 0 || w->has_key) {
        w->broken = true;
        return;
    }
    put_char(w, w->objects & bit(w) ? '}' : ']');
    w->depth--;
    end_value(w);
}

/* What needs more than to be copied: odd bytes, a quote, a backslash. */
INLINED uint64_t needs_care(uint64_t word)
{
    uint64_t quote = word ^ WORD_ONES * '"', slash = word ^ WORD_ONES * '\\';
    return word_odd(word) | (((quote - WORD_ONES) | (slash - WORD_ONES)) & WORD_TOPS);
}

/* Nearly every text is plain, keys above all: copied in one go. */
static bool put_plain(pawl_json *w, pawl_str text)
{
    if (!word_none(text.ptr, text.len, needs_care))
        return false;
    char *to = make_room(w, text.len + 2);
    if (text.len)
        memcpy(to + 1, text.ptr, text.len);
    to[0] = to[text.len + 1] = '"';
    w->len += text.len + 2;
    return true;
}

static void put_quoted(pawl_json *w, pawl_str text)
{
    if (put_plain(w, text))
        return;
    size_t n = json_quote_into(NULL, text);

    json_quote_into(make_room(w, n), text);
    w->len += n;
}

void pawl_json_key(pawl_json *w, const char *key)
{
    MUST_HAVE("a writer", w);
    if (w->broken || !key || w->depth == 0 || !(w->objects & bit(w)) || w->has_key) {
        w->broken = true;
        return;
    }
    if (w->filled & bit(w))
        put_char(w, ',');
    w->filled |= bit(w);
    put_quoted(w, pawl_s(key));
    put_char(w, ':');
    w->has_key = true;
}

void pawl_json_str(pawl_json *w, pawl_str text)
{
    MUST_HAVE("a writer", w);
    w->broken = w->broken || is_odd(text);
    if (!begin_value(w))
        return;
    put_quoted(w, text);
    end_value(w);
}

void pawl_json_cstr(pawl_json *w, const char *text)
{
    MUST_HAVE("a writer", w);
    if (text)
        pawl_json_str(w, pawl_s(text));
    else
        pawl_json_null(w);
}

void pawl_json_num(pawl_json *w, int64_t number)
{
    MUST_HAVE("a writer", w);
    char text[24];
    char *at = digits_before(text + sizeof text, number < 0 ? -(uint64_t)number : (uint64_t)number);

    if (number < 0)
        *--at = '-';
    put_value(w, at, (size_t)(text + sizeof text - at));
}

/* The fewest digits that read back as the same number. */
static int format_real(char to[40], double number)
{
    int n = 0;

    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(to, 40, "%.*g", digits, number);
        if (strtod(to, NULL) == number)
            break;
    }
    return n;
}

void pawl_json_real(pawl_json *w, double number)
{
    MUST_HAVE("a writer", w);
    char text[40];

    if (!isfinite(number)) {
        pawl_json_null(w);
        return;
    }
    /* The program's locale may write a comma; only this thread, only for a moment. */
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    int n = format_real(text, number);
    uselocale(before);
    put_value(w, text, (size_t)n);
}

void pawl_json_truth(pawl_json *w, bool value)
{
    MUST_HAVE("a writer", w);
    put_value(w, value ? "true" : "false", value ? 4 : 5);
}

void pawl_json_null(pawl_json *w)
{
    MUST_HAVE("a writer", w);
    put_value(w, "null", 4);
}

void pawl_json_raw(pawl_json *w, pawl_str json)
{
    MUST_HAVE("a writer", w);
    if (is_odd(json) || !json_fits(json, LIMIT_JSON_DEPTH - w->depth))
        w->broken = true;
    else
        put_value(w, json.ptr, json.len);
}

void json_put(pawl_json *w, pawl_str json)
{
    put_value(w, json.ptr, json.len);
}

pawl_str pawl_json_done(pawl_json *w)
{
    MUST_HAVE("a writer", w);
    if (w->broken || !w->complete)
        return (pawl_str){0};
    w->text[w->len] = '\0';
    return (pawl_str){.ptr = w->text, .len = w->len};
}

static void grow(pawl_json *w, size_t n)
{
    size_t cap = w->cap ? w->cap * 2 : CAP_FIRST;
    if (cap - w->len <= n)
        cap = w->len + n + 1;
    char *text = arena_alloc(w->mem, cap);
    if (w->len)
        memcpy(text, w->text, w->len);
    w->text = text;
    w->cap = cap;
}

/* Is a value allowed here?  Puts the comma between elements. */
static bool begin_value(pawl_json *w)
{
    if (w->depth == 0)
        w->broken |= w->complete; /* one document, one value */
    else if (w->objects & bit(w))
        w->broken |= !w->has_key;
    if (w->broken)
        return false;
    if (w->depth > 0 && !w->has_key) {
        if (w->filled & bit(w))
            put_char(w, ',');
        w->filled |= bit(w);
    }
    w->has_key = false;
    return true;
}

static void end_value(pawl_json *w)
{
    w->complete = w->depth == 0;
}

static void put_value(pawl_json *w, const char *text, size_t n)
{
    if (!begin_value(w))
        return;
    put(w, text, n);
    end_value(w);
}
