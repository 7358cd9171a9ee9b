/* SPDX-License-Identifier: MIT */
/* tests/replay/script.c -- words, lines, programs. */
#include "script.h"

#include <check.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_line(struct script *s, char *text, int number);
static char *read_word(struct script *s, struct line *l, char *at);
static char *read_quoted(struct script *s, struct line *l, char *at);
static void find_programs(struct script *s);

struct script *script_read(const char *path)
{
    struct script *s = calloc(1, sizeof(*s));
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;

    if (!s || !f)
        ck_abort_msg("cannot read %s", path);
    s->path = path;
    s->mem = pawl_mem_new();
    for (int number = 1; getline(&text, &cap, f) >= 0; number++)
        read_line(s, text, number);
    free(text);
    (void)fclose(f);
    find_programs(s);
    return s;
}

void script_free(struct script *s)
{
    pawl_mem_free(s->mem);
    free(s);
}

const struct program *script_program(const struct script *s, pawl_str name)
{
    for (int i = 0; i < s->program_count; i++)
        if (pawl_str_is(name, s->programs[i].name))
            return &s->programs[i];
    ck_abort_msg("%s: no program '%.*s'", s->path, PAWL_FMT(name));
}

pawl_str line_option(const struct line *l, int from, const char *prefix)
{
    size_t n = strlen(prefix);

    for (int i = from; i < l->count; i++)
        if (l->words[i].len >= n && memcmp(l->words[i].ptr, prefix, n) == 0)
            return (pawl_str){l->words[i].ptr + n, l->words[i].len - n};
    return (pawl_str){NULL, 0};
}

bool line_has(const struct line *l, int from, const char *word)
{
    for (int i = from; i < l->count; i++)
        if (pawl_str_is(l->words[i], word))
            return true;
    return false;
}

int64_t word_number(pawl_str word)
{
    return strtoll(word.ptr + (word.len && word.ptr[0] == '#'), NULL, 10);
}

void script_fail(const struct script *s, const struct line *l, const char *format, ...)
{
    char text[1500];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ck_abort_msg("%s:%d: %s", s->path, l ? l->number : 0, text);
}

static void read_line(struct script *s, char *text, int number)
{
    struct line l = {.number = number, .indented = isspace((unsigned char)*text) != 0};
    char *at = text;

    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (!*at || (*at == '#' && (!at[1] || isspace((unsigned char)at[1]))))
            break;
        if (l.count == WORDS_MAX)
            script_fail(s, &l, "too many words");
        at = *at == '"' ? read_quoted(s, &l, at + 1) : read_word(s, &l, at);
    }
    if (l.count == 0)
        return;
    if (s->count == LINES_MAX)
        script_fail(s, &l, "too many lines");
    s->lines[s->count++] = l;
}

/* One word up to white space; key="value" and ~"part" are one word too; c*N repeats. */
static char *read_word(struct script *s, struct line *l, char *at)
{
    char *word = pawl_mem_alloc(s->mem, strlen(at) + 1);
    size_t n = 0;

    while (*at && !isspace((unsigned char)*at) && *at != '"')
        word[n++] = *at++;
    if (*at == '"' && n > 0 && (at[-1] == '=' || at[-1] == '~')) {
        at = read_quoted(s, l, at + 1);
        pawl_str value = l->words[--l->count];
        char *joined = pawl_mem_alloc(s->mem, n + value.len + 1);
        memcpy(joined, word, n);
        memcpy(joined + n, value.ptr, value.len + 1);
        word = joined;
        n += value.len;
    } else if (n > 2 && word[1] == '*' && isdigit((unsigned char)word[2])) {
        size_t times = (size_t)strtoul(word + 2, NULL, 10);
        char c = word[0];
        word = pawl_mem_alloc(s->mem, times + 1);
        memset(word, c, times);
        n = times;
    }
    word[n] = '\0';
    l->words[l->count++] = (pawl_str){word, n};
    return at;
}

static char *read_quoted(struct script *s, struct line *l, char *at)
{
    char *word = pawl_mem_alloc(s->mem, strlen(at) + 1);
    size_t n = 0;

    for (; *at != '"'; at++) {
        if (!*at || *at == '\n')
            script_fail(s, l, "a quoted word does not end");
        if (*at != '\\') {
            word[n++] = *at;
            continue;
        }
        at++;
        if (*at == 'x') {
            char hex[3] = {at[1], at[2], 0};
            word[n++] = (char)strtoul(hex, NULL, 16);
            at += 2;
        } else {
            word[n++] = *at == 'n' ? '\n' : *at;
        }
    }
    word[n] = '\0';
    l->words[l->count++] = (pawl_str){word, n};
    return at + 1;
}

static void find_programs(struct script *s)
{
    for (int i = 0; i < s->count; i++) {
        const struct line *l = &s->lines[i];
        if (l->indented || !pawl_str_is(l->words[0], "program"))
            continue;
        int end = i + 1;
        while (end < s->count && s->lines[end].indented)
            end++;
        s->programs[s->program_count++] = (struct program){
            .name = l->count > 1 ? l->words[1].ptr : "main", .lines = l + 1, .count = end - i - 1};
    }
}
