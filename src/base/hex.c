/* SPDX-License-Identifier: MIT */
/* base/hex.c -- see the header. */
#include "base/hex.h"

const char hex_digits[17] = "0123456789abcdef";

void hex_write(char *to, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;
    for (size_t i = 0; i < n; i++) {
        *to++ = hex_digits[from[i] >> 4];
        *to++ = hex_digits[from[i] & 15];
    }
    *to = '\0';
}

void hex_write_u64(char to[17], uint64_t number)
{
    for (int i = 15; i >= 0; i--, number >>= 4)
        to[i] = hex_digits[number & 15];
    to[16] = '\0';
}

bool hex_read(void *to, const char *text, size_t n)
{
    uint8_t *out = to;
    for (size_t i = 0; i < n; i++) {
        int high = hex_value(text[2 * i]);
        int low = high < 0 ? -1 : hex_value(text[2 * i + 1]); /* the text may end here */
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
