/* SPDX-License-Identifier: MIT */
/*
 * base/json_text.c -- between JSON values and C values.
 *
 * Strings are unescaped and quoted here, numbers become integers and doubles,
 * and the typed getters of pawl/json.h put both together with the finder.
 * Everything but pawl_json_text() works without memory of its own; a string is
 * measured first and then written, so nothing grows on the way.
 *
 * The process may run in any locale: numbers are read in the C locale always.
 */
#include "base/arena.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/json_scalar.h"
#include "base/misuse.h"
#include "base/utf8.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 512 /* of a number that must be copied to be read */

static uint32_t read_rune(struct json_text *text);
static bool read_double(pawl_str raw, const char *payload_end, double *ret);

/* ---- Strings ------------------------------------------------------------ */

struct json_text json_text_of(pawl_str inner)
{
    const char *at = inner.ptr ? inner.ptr : "";

    return (struct json_text){.at = at, .end = at + inner.len};
}

size_t json_text_next(struct json_text *text, char to[4])
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";

    if (text->at >= text->end)
        return 0;
    if (*text->at != '\\' || text->end - text->at < 2) {
        to[0] = *text->at++;
        return 1;
    }
    char c = text->at[1];
    text->at += 2;
    if (c == 'u')
        return utf8_encode(to, read_rune(text));
    const char *name = strchr(names, c);
    to[0] = name && c ? meant[name - names] : c;
    return 1;
}

/* After "\u": four digits, and the other half of a pair when it follows. */
static uint32_t read_rune(struct json_text *text)
{
    int high = json_hex4(text->at, text->end);

    if (high < 0) {
        text->at = text->end;
        return UTF8_REPLACEMENT;
    }
    text->at += 4;
    if (high < 0xd800 || high > 0xdfff)
        return (uint32_t)high;
    if (high > 0xdbff || text->end - text->at < 6 || text->at[0] != '\\' || text->at[1] != 'u')
        return UTF8_REPLACEMENT;
    int low = json_hex4(text->at + 2, text->end);
    if (low < 0xdc00 || low > 0xdfff)
        return UTF8_REPLACEMENT; /* `low` is read again, as a character of its own */
    text->at += 6;
    return 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

size_t json_half_pair(pawl_str payload)
{
    const char *at = payload.ptr, *end = at + payload.len;

    while (at < end && (at = memchr(at, '\\', (size_t)(end - at)))) {
        struct json_text text = {at + 2, end};
        if (at[1] != 'u') {
            at += 2;
            continue;
        }
        int rune = json_hex4(text.at, end);
        if (rune >= 0xd800 && rune <= 0xdfff && read_rune(&text) == UTF8_REPLACEMENT)
            return (size_t)(at - payload.ptr);
        at = rune >= 0xd800 && rune <= 0xdfff ? text.at : at + 6;
    }
    return payload.len;
}

/* The inside of a raw string; false when it is no string. */
static bool strip_quotes(pawl_str raw, pawl_str *ret)
{
    if (raw.len < 2 || raw.ptr[0] != '"' || raw.ptr[raw.len - 1] != '"')
        return false;
    *ret = (pawl_str){.ptr = raw.ptr + 1, .len = raw.len - 2};
    return true;
}

/* Write what `inner` means to `to`, or only count when it is NULL. */
static size_t unescape_into(char *to, pawl_str inner)
{
    struct json_text text = json_text_of(inner);
    char piece[4];
    size_t len = 0;

    for (;;) {
        const char *slash =
            text.at == text.end ? NULL : memchr(text.at, '\\', (size_t)(text.end - text.at));
        size_t plain = (size_t)((slash ? slash : text.end) - text.at);
        if (to && plain)
            memcpy(to + len, text.at, plain);
        text.at += plain;
        len += plain;
        if (!slash)
            return len;
        size_t n = json_text_next(&text, piece);
        if (to)
            memcpy(to + len, piece, n);
        len += n;
    }
}

bool json_unescape(pawl_str raw, struct buf *out)
{
    pawl_str inner;

    if (!strip_quotes(raw, &inner))
        return false;
    size_t len = unescape_into(NULL, inner);
    if (!buf_reserve(out, len))
        return true; /* it is a string; `out` says that it failed */
    len = unescape_into(out->ptr + out->len, inner);
    out->len += len;
    out->ptr[out->len] = '\0';
    return true;
}

/* How the ASCII character `c` is written inside quotes; returns how many bytes. */
static size_t quote_ascii(char to[6], unsigned char c)
{
    static const char names[] = "\"\\bfnrt", meant[] = "\"\\\b\f\n\r\t";
    const char *found = c ? strchr(meant, c) : NULL;

    if (found) {
        to[0] = '\\';
        to[1] = names[found - meant];
        return 2;
    }
    if (c >= 0x20) {
        to[0] = (char)c;
        return 1;
    }
    memcpy(to, "\\u00", 4);
    to[4] = hex_digits[c >> 4];
    to[5] = hex_digits[c & 15];
    return 6;
}

/* How many bytes from `at` on stand for themselves inside quotes. */
static size_t plain_run(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    const char *from = at;
    for (; end - at >= 8; at += 8) { /* eight at once: none below ' ', none of " \\ or above 127 */
        uint64_t w, quote, slash;
        memcpy(&w, at, 8);
        quote = w ^ (ones * '"');
        slash = w ^ (ones * '\\');
        if (((w - ones * ' ') | w | (quote - ones) | (slash - ones)) & highs)
            break;
    }
    while (at < end && (unsigned char)*at >= ' ' && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return (size_t)(at - from);
}

size_t json_quote_into(char *to, pawl_str text)
{
    const char *at = text.ptr ? text.ptr : "", *end = at + text.len;
    size_t len = 0;
    char piece[6];

    if (to)
        to[len] = '"';
    len++;
    while (at < end) {
        size_t plain = plain_run(at, end);
        if (to && plain)
            memcpy(to + len, at, plain);
        len += plain;
        at += plain;
        if (at == end)
            break;
        size_t step = utf8_length(at, end), n = step;
        if (step == 1)
            n = quote_ascii(piece, (unsigned char)*at);
        else if (step == 0)
            n = utf8_encode(piece, UTF8_REPLACEMENT);
        else
            memcpy(piece, at, step);
        if (to)
            memcpy(to + len, piece, n);
        len += n;
        at += step ? step : 1;
    }
    if (to)
        to[len] = '"';
    return len + 1;
}

void json_quote(struct buf *out, pawl_str text)
{
    size_t len = json_quote_into(NULL, text);

    if (!buf_reserve(out, len))
        return;
    json_quote_into(out->ptr + out->len, text);
    out->len += len;
    out->ptr[out->len] = '\0';
}

pawl_str pawl_json_text(pawl_mem *mem, pawl_str payload, const char *pointer, const char *otherwise)
{
    MUST_HAVE("memory", mem);
    pawl_str inner;

    if (!strip_quotes(pawl_json_get(payload, pointer), &inner))
        return arena_dup(mem, pawl_s(otherwise));
    size_t len = unescape_into(NULL, inner);
    char *text = arena_alloc(mem, len + 1);
    unescape_into(text, inner);
    text[len] = '\0';
    return (pawl_str){.ptr = text, .len = len};
}

/* ---- Numbers and the rest ----------------------------------------------- */

bool json_integer(pawl_str raw, int64_t *ret)
{
    size_t i = raw.len > 0 && raw.ptr[0] == '-';
    bool negative = i == 1;
    uint64_t limit = (uint64_t)INT64_MAX + negative, value = 0;

    if (i == raw.len || (raw.ptr[i] == '0' && raw.len > i + 1))
        return false;
    for (; i < raw.len; i++) {
        unsigned digit = (unsigned)(raw.ptr[i] - '0');
        if (digit > 9 || value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* *value * 10 + digit, when that is at most `limit`. */
static bool add_digit(uint64_t *value, unsigned digit, uint64_t limit)
{
    if (*value > (limit - digit) / 10)
        return false;
    *value = *value * 10 + digit;
    return true;
}

/* Zeros are counted and only then multiplied in when something follows: 5.000 has none. */
bool json_whole(pawl_str raw, int64_t *ret)
{
    if (json_integer(raw, ret))
        return true;
    if (json_type(raw) != JSON_NUMBER)
        return false;
    const char *at = raw.ptr, *end = at + raw.len;
    bool negative = *at == '-', fraction = false;
    uint64_t limit = (uint64_t)INT64_MAX + negative, value = 0;
    int64_t zeros = 0, scale = 0;

    for (at += negative; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        scale -= fraction;
        if (*at == '0') {
            zeros += value > 0;
            continue;
        }
        for (; zeros > 0; zeros--)
            if (!add_digit(&value, 0, limit))
                return false;
        if (!add_digit(&value, (unsigned)(*at - '0'), limit))
            return false;
    }
    bool huge;
    scale += zeros + (at < end ? json_exponent(at + 1, end, &huge) : 0);
    if (scale < 0 && value)
        return false;
    for (; scale > 0 && value; scale--)
        if (!add_digit(&value, 0, limit))
            return false;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

int64_t pawl_json_int(pawl_str payload, const char *pointer, int64_t otherwise)
{
    int64_t value;

    if (!payload.len) /* most attrs */
        return otherwise;
    return json_integer(pawl_json_get(payload, pointer), &value) ? value : otherwise;
}

double pawl_json_number(pawl_str payload, const char *pointer, double otherwise)
{
    pawl_str raw = pawl_json_get(payload, pointer);
    double value;

    if (json_type(raw) != JSON_NUMBER || !read_double(raw, payload.ptr + payload.len, &value))
        return otherwise;
    return value;
}

static bool to_double(const char *text, double *ret)
{
    /* glibc hands out its one C locale here: nothing is allocated, nothing to free. */
    *ret = strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    return isfinite(*ret);
}

/* strtod stops at the byte behind the number, which must exist: only a payload
 * that ends with its number has to be copied. */
static bool read_double(pawl_str raw, const char *payload_end, double *ret)
{
    char copy[NUMBER_BYTES];

    if (raw.ptr + raw.len < payload_end)
        return to_double(raw.ptr, ret);
    if (raw.len < sizeof copy) {
        memcpy(copy, raw.ptr, raw.len);
        copy[raw.len] = '\0';
        return to_double(copy, ret);
    }
    char *long_copy = strndup(raw.ptr, raw.len);
    bool ok = long_copy && to_double(long_copy, ret);
    free(long_copy);
    return ok;
}

bool pawl_json_bool(pawl_str payload, const char *pointer, bool otherwise)
{
    pawl_str raw = pawl_json_get(payload, pointer);

    return json_type(raw) == JSON_BOOL ? raw.ptr[0] == 't' : otherwise;
}

int64_t pawl_json_count(pawl_str payload, const char *pointer)
{
    pawl_str raw = pawl_json_get(payload, pointer);
    enum json_type type = json_type(raw);
    struct json_iter it;
    int64_t count = 0;

    if (type != JSON_ARRAY && type != JSON_OBJECT)
        return -1;
    for (json_begin(&it, raw); json_next(&it);)
        count++;
    return count;
}
