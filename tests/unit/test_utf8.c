/* SPDX-License-Identifier: MIT */
/* tests/unit/test_utf8.c -- every character there is, and what is none. */
#include "../harness.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "random.h"

#include <string.h>

/* The definition, as slow and plain as can be. */
static bool model_valid(const unsigned char *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    for (size_t i = 0; i < n;) {
        size_t len = p[i] < 0x80   ? 1
                     : p[i] < 0xc0 ? 0
                     : p[i] < 0xe0 ? 2
                     : p[i] < 0xf0 ? 3
                     : p[i] < 0xf8 ? 4
                                   : 0;
        if (len == 0 || len > n - i)
            return false;
        uint32_t rune = len == 1 ? p[i] : p[i] & (0xffU >> (len + 1));
        for (size_t k = 1; k < len; k++) {
            if ((p[i + k] & 0xc0) != 0x80)
                return false;
            rune = rune << 6 | (p[i + k] & 0x3f);
        }
        if (rune < least[len] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
            return false;
        i += len;
    }
    return true;
}

TEST(every_character_is_written_and_read_back)
{
    for (uint32_t rune = 0; rune <= 0x10ffff; rune++) {
        char bytes[4];
        if (rune >= 0xd800 && rune <= 0xdfff)
            continue;
        size_t n = utf8_encode(bytes, rune);
        if (utf8_length(bytes, bytes + n) != n || !utf8_valid((pawl_str){bytes, n}))
            ck_abort_msg("U+%04X", rune);
        if (n > 1 && utf8_length(bytes, bytes + n - 1) != 0)
            ck_abort_msg("U+%04X cut off", rune);
    }
}

TEST(all_short_byte_strings_are_judged_by_the_definition)
{
    for (uint32_t i = 0; i<0x1000000; i += i> 0xffff ? 13 : 1) {
        unsigned char bytes[3] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8),
                                  (unsigned char)i};
        if (utf8_valid((pawl_str){(char *)bytes, 3}) != model_valid(bytes, 3))
            ck_abort_msg("%06x", i);
    }
}

TEST(random_text_with_one_bad_byte_is_found_out)
{
    uint64_t state = 21;

    for (int round = 0; round < 20000; round++) {
        char text[80];
        size_t n = 0;
        while (n < 70) {
            uint32_t rune = (uint32_t)random_below(&state, random_below(&state, 3) ? 128 : 0x3000);
            n += utf8_encode(text + n, rune);
        }
        ck_assert(utf8_valid((pawl_str){text, n}));
        text[random_below(&state, n)] = (char)next_random(&state);
        bool expect = model_valid((unsigned char *)text, n);
        ck_assert(utf8_valid((pawl_str){text, n}) == expect);
    }
}

TEST(the_empty_text_is_valid)
{
    ck_assert(utf8_valid((pawl_str){0}));
    ck_assert_uint_eq(utf8_length("", ""), 0);
}
