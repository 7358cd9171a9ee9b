/* SPDX-License-Identifier: MIT */
/*
 * base/json_scalar.c -- strings, numbers and words of JSON, byte by byte.
 *
 * Most bytes of most payloads are inside strings, so those go eight at a time
 * until one needs a look.  Called by json.c; json_hex4 also to
 * unescape, json_exponent to compare and to read numbers.
 */
#include "base/json_scalar.h"

#include "base/attr.h"
#include "base/hex.h"
#include "base/utf8.h"

#include <endian.h>
#include <string.h>

/* The top bits of the bytes that are '"', '\\', below 0x20 or above 0x7f.  A borrow
 * may mark bytes above the first such one, never below it. */
static uint64_t specials(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');

    return ((w - ones * 0x20) | (quote - ones) | (slash - ones) | w) & tops;
}

/* The first byte that needs a look, or one of the last seven. */
static const char *skip_plain(const char *at, const char *end)
{
    for (uint64_t word; end - at >= 8; at += 8) {
        memcpy(&word, at, 8);
        uint64_t marks = specials(le64toh(word));
        if (marks)
            return at + (__builtin_ctzll(marks) >> 3);
    }
    return at;
}

int json_hex4(const char *at, const char *end)
{
    int value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The length of the escape at `at`; 0 when it is none. */
static size_t escape_length(const char *at, const char *end)
{
    if (end - at < 2 || at[1] == '\0')
        return 0;
    if (at[1] == 'u')
        return json_hex4(at + 2, end) < 0 ? 0 : 6;
    return strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
}

bool json_scan_string(const char **at, const char *end)
{
    const char *p = *at + 1;
    size_t n = 1;

    while (n > 0) {
        p = skip_plain(p, end);
        if (p == end)
            break;
        unsigned char c = (unsigned char)*p;
        if (c == '"') {
            *at = p + 1;
            return true;
        }
        if (c == '\\')
            n = escape_length(p, end);
        else
            n = c < 0x20 ? 0 : utf8_length(p, end);
        p += n;
    }
    *at = p;
    return false;
}

static bool scan_digits(const char **at, const char *end)
{
    const char *start = *at;

    while (*at < end && **at >= '0' && **at <= '9')
        ++*at;
    return *at > start;
}

/* Step over the next byte when it is one of the two. */
static bool accept(const char **at, const char *end, char a, char b)
{
    if (*at == end || (**at != a && **at != b))
        return false;
    ++*at;
    return true;
}

bool json_scan_number(const char **at, const char *end)
{
    accept(at, end, '-', '-');
    /* Nothing may follow a leading zero; what does breaks the document later. */
    if (!accept(at, end, '0', '0') && !scan_digits(at, end))
        return false;
    if (accept(at, end, '.', '.') && !scan_digits(at, end))
        return false;
    if (!accept(at, end, 'e', 'E'))
        return true;
    accept(at, end, '+', '-');
    return scan_digits(at, end);
}

bool json_scan_literal(const char **at, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(end - *at) >= n && memcmp(*at, words[i], n) == 0) {
            *at += n;
            return true;
        }
    }
    return false;
}

int64_t json_exponent(const char *at, const char *end, bool *rethuge)
{
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end && value < INT32_MAX / 16; at++)
        value = value * 10 + (*at - '0');
    *rethuge = at < end;
    return negative ? -value : value;
}
