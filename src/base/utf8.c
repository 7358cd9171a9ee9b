/* SPDX-License-Identifier: MIT */
/*
 * base/utf8.c -- well-formed UTF-8 (Unicode table 3-7), and nothing else.
 *
 * Names, ids and JSON must be UTF-8, because they are shown on pages, put into
 * SQL text and compared bytewise: two spellings of one character, or half a
 * character, would make ids that look the same and are not.
 */
#include "base/utf8.h"

#include "base/limits.h"
#include "base/word.h"

#include <string.h>

static size_t length_of_three(const unsigned char *p);
static size_t length_of_four(const unsigned char *p);

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t utf8_length(const char *at, const char *end)
{
    const unsigned char *p = (const unsigned char *)at;
    size_t left = (size_t)(end - at);

    if (left >= 1 && p[0] < 0x80)
        return 1;
    if (left < 2 || p[0] < 0xc2 || !is_tail(p[1]))
        return 0;
    if (p[0] < 0xe0)
        return 2;
    if (left < 3 || !is_tail(p[2]))
        return 0;
    if (p[0] < 0xf0)
        return length_of_three(p);
    if (left < 4 || !is_tail(p[3]))
        return 0;
    return length_of_four(p);
}

static size_t length_of_three(const unsigned char *p)
{
    if (p[0] == 0xe0 && p[1] < 0xa0) /* overlong */
        return 0;
    if (p[0] == 0xed && p[1] > 0x9f) /* surrogate */
        return 0;
    return 3;
}

static size_t length_of_four(const unsigned char *p)
{
    if (p[0] == 0xf0 && p[1] < 0x90) /* overlong */
        return 0;
    if (p[0] > 0xf4 || (p[0] == 0xf4 && p[1] > 0x8f)) /* above U+10FFFF */
        return 0;
    return 4;
}

uint32_t utf8_decode(const char *at, size_t len)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *p = (const unsigned char *)at;
    uint32_t rune = p[0] & first[len];

    for (size_t i = 1; i < len; i++)
        rune = rune << 6 | (p[i] & 0x3f);
    return rune;
}

bool utf8_is_unsafe(uint32_t r)
{
    return r < 0x20 || (r >= 0x7f && r < 0xa0) || r == 0x061c || r == 0x200e || r == 0x200f ||
           (r >= 0x2028 && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069);
}

unsigned utf8_columns(uint32_t r)
{
    static const struct {
        uint32_t from, to;
        unsigned columns;
    } ranges[] = {
        {0x0300,  0x036f,  0}, /* accents */
        {0x1100,  0x115f,  2}, /* Hangul */
        {0x200b,  0x200d,  0}, /* joiners */
        {0x20d0,  0x20ff,  0},
        {0x2e80,  0x303e,  2}, /* CJK */
        {0x3041,  0xa4cf,  2},
        {0xac00,  0xd7a3,  2}, /* Hangul */
        {0xf900,  0xfaff,  2},
        {0xfe00,  0xfe0f,  0}, /* variants */
        {0xfe30,  0xfe6f,  2},
        {0xff00,  0xff60,  2},
        {0xffe0,  0xffe6,  2},
        {0x1f300, 0x1faff, 2}, /* emoji */
        {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; r >= 0x0300 && i < sizeof(ranges) / sizeof(*ranges); i++)
        if (r >= ranges[i].from && r <= ranges[i].to)
            return ranges[i].columns;
    return 1;
}

size_t utf8_encode(char to[4], uint32_t rune)
{
    if (rune < 0x80) {
        to[0] = (char)rune;
        return 1;
    }
    if (rune < 0x800) {
        to[0] = (char)(0xc0 | rune >> 6);
        to[1] = (char)(0x80 | (rune & 0x3f));
        return 2;
    }
    if (rune < 0x10000) {
        to[0] = (char)(0xe0 | rune >> 12);
        to[1] = (char)(0x80 | (rune >> 6 & 0x3f));
        to[2] = (char)(0x80 | (rune & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | rune >> 18);
    to[1] = (char)(0x80 | (rune >> 12 & 0x3f));
    to[2] = (char)(0x80 | (rune >> 6 & 0x3f));
    to[3] = (char)(0x80 | (rune & 0x3f));
    return 4;
}

INLINED uint64_t not_ascii(uint64_t word)
{
    return word & WORD_TOPS;
}

bool utf8_valid(pawl_str text)
{
    if (text.len == 0)
        return true;
    if (!text.ptr)
        return false;
    if (LIKELY(word_none(text.ptr, text.len, not_ascii)))
        return true;
    const char *at = text.ptr, *end = at + text.len;

    while (at < end) {
        while (end - at >= 8 && !not_ascii(word_at(at)))
            at += 8;
        if (at == end)
            break;
        size_t n = utf8_length(at, end);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

void utf8_cut(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && !utf8_valid((pawl_str){text, n}))
        n--;
    text[n] = '\0';
}
