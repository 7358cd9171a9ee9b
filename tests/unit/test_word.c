/* SPDX-License-Identifier: MIT */
/* tests/unit/test_word.c -- eight bytes at once say what each byte says. */
#include "../harness.h"
#include "base/word.h"

static uint64_t odd(uint64_t word)
{
    return word_odd(word);
}

TEST(one_odd_byte_anywhere_is_found_and_no_other)
{
    char text[32];

    for (size_t len = 0; len <= sizeof text; len++) {
        memset(text, 'x', sizeof text);
        ck_assert(word_none(text, len, odd));
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 256; c++) {
                text[at] = (char)c;
                ck_assert_msg(word_none(text, len, odd) == (c >= ' ' && c < 0x7f),
                              "byte %d at %zu of %zu", c, at, len);
            }
            text[at] = 'x';
        }
    }
}

TEST(what_is_behind_the_end_is_not_looked_at)
{
    char text[32];

    for (size_t len = 0; len < sizeof text; len++) {
        memset(text, 'x', len);
        memset(text + len, 1, sizeof text - len);
        ck_assert(word_none(text, len, odd));
    }
}
