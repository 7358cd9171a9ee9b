/* SPDX-License-Identifier: MIT */
/* base/base64.c -- see the header. */
#include "base/base64.h"

#define SHARED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char plain[] = SHARED "+/", url_safe[] = SHARED "-_";

/* Returns behind the last digit. */
static char *write_digits(char *to, const uint8_t *from, size_t n, const char *digits)
{
    for (; n >= 3; n -= 3, from += 3) {
        uint32_t bits = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = digits[bits >> 6 & 63];
        *to++ = digits[bits & 63];
    }
    if (!n)
        return to;
    uint32_t bits = (uint32_t)from[0] << 16 | (n > 1 ? (uint32_t)from[1] << 8 : 0);
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    if (n > 1)
        *to++ = digits[bits >> 6 & 63];
    return to;
}

void base64_write(char *to, pawl_str bytes)
{
    char *end = to + BASE64_CHARS(bytes.len);
    to = write_digits(to, (const uint8_t *)bytes.ptr, bytes.len, plain);
    while (to < end)
        *to++ = '=';
}

void base64_write_url(char *to, const void *bytes, size_t n)
{
    (void)write_digits(to, bytes, n, url_safe);
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t base64_read(char *to, pawl_str text, size_t *retread)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t i = 0, n = 0;
    for (; i < text.len; i++) {
        int value = value_of(text.ptr[i]);
        if (value < 0)
            break;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[n++] = (char)(bits >> have & 0xff);
        }
    }
    *retread = i;
    return n;
}
