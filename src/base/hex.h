/* SPDX-License-Identifier: MIT */
/*
 * base/hex.h -- bytes and numbers in hexadecimal.
 *
 * Written in lower case; read in either.  What is written here is stored (seeds, hashes of
 * tokens, ids of idempotency keys), so it never changes.
 */
#ifndef PAWL_BASE_HEX_H
#define PAWL_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char hex_digits[17]; /* "0123456789abcdef" */

/* The value of a digit, or -1. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20); /* lower case; nothing else becomes a letter of a..f */
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 2 * n digits and a NUL. */
void hex_write(char *to, const void *bytes, size_t n);
/* 16 digits and a NUL, the highest first. */
void hex_write_u64(char to[17], uint64_t number);
/* Read n bytes from the first 2 * n characters; false: one of them is no digit. */
bool hex_read(void *to, const char *text, size_t n);

#endif
