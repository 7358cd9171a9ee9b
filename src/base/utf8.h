/* SPDX-License-Identifier: MIT */
/* base/utf8.h -- one step of UTF-8, for everything that looks at text. */
#ifndef PAWL_BASE_UTF8_H
#define PAWL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes (1..4) the character at `at` has; 0 when it is not well formed
 * before `end` (overlong, surrogate, above U+10FFFF, cut off). */
size_t utf8_length(const char *at, const char *end);
/* The character of that many bytes. */
uint32_t utf8_decode(const char *at, size_t len);
/* Would a terminal obey it instead of showing it?  C0, DEL, C1, what turns the direction of
 * text (marks, embeddings, overrides, isolates), line separators. */
bool utf8_is_unsafe(uint32_t rune);
/* How many columns of a terminal it takes: 0 (it joins the one before), 1, or 2 (East Asian, emoji).
 * About right is enough: where it matters, the cursor is placed by number. */
unsigned utf8_columns(uint32_t rune);
/* Write a character; returns how many bytes (1..4).  `rune` must be one. */
size_t utf8_encode(char to[4], uint32_t rune);

/* Cut a text behind its last whole character: a buffer may have ended in the middle of one. */
void utf8_cut(char *text);

#define UTF8_REPLACEMENT UINT32_C(0xfffd) /* stands for what could not be read */

#endif
