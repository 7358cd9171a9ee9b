/* SPDX-License-Identifier: MIT */
/*
 * base/buf.h -- one growable byte buffer, always NUL-terminated.
 *
 * Growth failure sets `failed` and drops what is appended after; callers check
 * once at the end.  init demands a maximum.
 */
#ifndef PAWL_BASE_BUF_H
#define PAWL_BASE_BUF_H

#include "pawl/types.h"

#include <stdarg.h>

struct buf {
    char *ptr; /* owned; NULL while empty */
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

void buf_init(struct buf *b, size_t max);
void buf_deinit(struct buf *b);
void buf_reset(struct buf *b); /* len 0, keep memory */
void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_str(struct buf *b, pawl_str s);
void buf_printf(struct buf *b, const char *format, ...) PAWL_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *format, va_list args) PAWL_PRINTF(2, 0);
/* Room for `n` more bytes at ptr + len (and a NUL); false, and failed, when there is none. */
bool buf_reserve(struct buf *b, size_t n);
pawl_str buf_slice(const struct buf *b); /* borrowed; never NULL ptr */

#endif
