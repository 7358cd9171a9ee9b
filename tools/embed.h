/* SPDX-License-Identifier: MIT */
/* tools/embed.h -- what the files of embed-web share: a text that grows, and what its parts ask. */
#ifndef TOOLS_EMBED_H
#define TOOLS_EMBED_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *at; /* with a NUL behind it, once something was put */
    size_t len, size;
};

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void put(struct text *t, char c);
void put_text(struct text *t, const char *s);
char last(const struct text *t); /* 0: it is empty */
bool is_blank(char c);
bool is_word(char c);
/* One of the characters of `set`?  (strchr finds the NUL at its end, too.) */
bool is_of(char c, const char *set);
/* From one quote to the next, with what is between; returns what follows. */
const char *copy_string(struct text *out, const char *s);

/* embed-js.c: without comments and blanks. */
void tighten_js(struct text *out, const char *s);
/* embed-join.c: take a module, and in the end write all of them as one script; `first` is the
 * module that begins. */
void join_take(const char *name, const char *source);
struct text join_all(const char *first);

#endif
