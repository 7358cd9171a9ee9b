/* SPDX-License-Identifier: MIT */
/* tests/unit/test_hex.c -- hexadecimal, against printf. */
#include "../harness.h"
#include "base/hex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(every_byte_is_written_as_printf_writes_it_and_read_back)
{
    for (unsigned b = 0; b < 256; b++) {
        uint8_t byte = (uint8_t)b, back = 0;
        char want[8], got[8], upper[8];
        (void)snprintf(want, sizeof(want), "%02x", b);
        (void)snprintf(upper, sizeof(upper), "%02X", b);
        hex_write(got, &byte, 1);
        ck_assert_str_eq(got, want);
        ck_assert(hex_read(&back, got, 1) && back == byte);
        back = 0;
        ck_assert(hex_read(&back, upper, 1) && back == byte);
    }
}

TEST(a_digit_is_what_isxdigit_says)
{
    for (int c = 0; c < 256; c++) {
        char text[2] = {(char)c, 0};
        int want = isxdigit(c) ? (int)strtol(text, NULL, 16) : -1;
        ck_assert_int_eq(hex_value((char)c), want);
    }
}

TEST(a_number_has_16_digits)
{
    static const uint64_t numbers[] = {0, 1, 15, 16, 0x0123456789abcdef, UINT64_MAX};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        char want[20], got[17];
        (void)snprintf(want, sizeof(want), "%016llx", (unsigned long long)numbers[i]);
        hex_write_u64(got, numbers[i]);
        ck_assert_str_eq(got, want);
    }
}

TEST(what_has_another_character_or_is_too_short_is_not_read)
{
    uint8_t bytes[2];
    ck_assert(hex_read(bytes, "00ff", 2));
    ck_assert(!hex_read(bytes, "00fg", 2));
    ck_assert(!hex_read(bytes, "00 f", 2));
    ck_assert(!hex_read(bytes, "0x0f", 2));
    ck_assert(!hex_read(bytes, "00f", 2));
    ck_assert(!hex_read(bytes, "00", 2));
    ck_assert(!hex_read(bytes, "", 2));
    ck_assert(hex_read(bytes, "", 0));
}
