/* SPDX-License-Identifier: MIT */
/*
 * base/word.h -- look at eight bytes of a text at once.
 *
 * The tests have the high bit of a byte set that is one of those asked for.  A borrow or carry
 * may set one above it, never clear one: that none is set is certain, which one it is, is not.
 */
#ifndef PAWL_BASE_WORD_H
#define PAWL_BASE_WORD_H

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD_ONES UINT64_C(0x0101010101010101)
#define WORD_TOPS UINT64_C(0x8080808080808080)

INLINED uint64_t word_at(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

INLINED uint64_t word_half(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* A word of all of 1 to 7 bytes and nothing else, some of them twice. */
INLINED uint64_t word_few(const char *at, size_t len)
{
    if (len >= 4)
        return word_half(at) << 32 | word_half(at + len - 4);
    uint64_t some = (uint64_t)(unsigned char)at[0] << 16 |
                    (uint64_t)(unsigned char)at[len / 2] << 8 | (unsigned char)at[len - 1];
    return some | some << 24 | some << 48;
}

/* Does the test find nothing in the whole text?  The last word may overlap the one before. */
INLINED bool word_none(const char *at, size_t len, uint64_t (*test)(uint64_t word))
{
    if (len < 8)
        return !len || !test(word_few(at, len));
    const char *last = at + len - 8;
    for (; at < last; at += 8)
        if (test(word_at(at)))
            return false;
    return !test(word_at(last));
}

/* Bytes below a space, DEL, and all that is not ASCII. */
INLINED uint64_t word_odd(uint64_t word)
{
    return ((word - WORD_ONES * ' ') | (word + WORD_ONES) | word) & WORD_TOPS;
}

#endif
