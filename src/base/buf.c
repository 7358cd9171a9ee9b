/* SPDX-License-Identifier: MIT */
/*
 * base/buf.c -- the one growable byte buffer.
 *
 * For text whose length is not known beforehand: SQL, HTTP bodies, log lines,
 * JSON.  A buffer that failed stays failed until reset, so a chain of appends
 * needs one check at its end and never yields a text with a hole in it.
 *
 * Invariants: len < cap unless both are 0; ptr[len] is NUL; len <= max.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_FIRST 64

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max < SIZE_MAX / 4 ? max : SIZE_MAX / 4};
}

void buf_deinit(struct buf *b)
{
    free(b->ptr);
    *b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->ptr)
        b->ptr[0] = '\0';
}

/* Room for `n` more bytes and the NUL. */
bool buf_reserve(struct buf *b, size_t n)
{
    if (b->failed || n > b->max - b->len) {
        b->failed = true;
        return false;
    }
    size_t need = b->len + n + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap * 2 : CAP_FIRST;
    if (cap < need)
        cap = need;
    char *ptr = realloc(b->ptr, cap);
    if (!ptr) {
        b->failed = true;
        return false;
    }
    b->ptr = ptr;
    b->cap = cap;
    return true;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
    if (n == 0 || !buf_reserve(b, n))
        return;
    memcpy(b->ptr + b->len, bytes, n);
    b->len += n;
    b->ptr[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_str(struct buf *b, pawl_str s)
{
    buf_put(b, s.ptr, s.len);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
    va_list again;
    size_t room = b->failed || !b->ptr ? 0 : b->cap - b->len;

    va_copy(again, args);
    int n = vsnprintf(room ? b->ptr + b->len : NULL, room, format, again);
    va_end(again);
    if (n < 0)
        b->failed = true;
    if (n > 0 && buf_reserve(b, (size_t)n)) {
        if ((size_t)n >= room) /* it did not fit at first */
            (void)vsnprintf(b->ptr + b->len, (size_t)n + 1, format, args);
        b->len += (size_t)n;
    } else if (room) {
        b->ptr[b->len] = '\0'; /* take back what was half written */
    }
}

pawl_str buf_slice(const struct buf *b)
{
    return (pawl_str){.ptr = b->ptr ? b->ptr : "", .len = b->len};
}
