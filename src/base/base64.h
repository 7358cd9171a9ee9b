/* SPDX-License-Identifier: MIT */
/*
 * base/base64.h -- bytes as base64 (RFC 4648), for payloads that are no text and for lock ids.
 *
 * Callers bring the memory: some of it is an arena's, some a buffer's, some a row's.
 */
#ifndef PAWL_BASE_BASE64_H
#define PAWL_BASE_BASE64_H

#include "pawl/types.h"

/* Characters of `n` bytes, padded, without a NUL. */
#define BASE64_CHARS(n) (((n) + 2) / 3 * 4)

/* Write BASE64_CHARS(bytes.len) characters, padded with `=`; no NUL. */
void base64_write(char *to, pawl_str bytes);

/* URL-safe (`-` and `_`), without padding: (4 * n + 2) / 3 characters; no NUL. */
void base64_write_url(char *to, const void *bytes, size_t n);

/* Read up to the first character that is no digit (the padding, say); returns how many bytes
 * it wrote, at most text.len / 4 * 3 + 2, and in *retread how many characters it read. */
size_t base64_read(char *to, pawl_str text, size_t *retread);

#endif
