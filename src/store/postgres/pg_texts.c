/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_texts.c -- the statements as the server gets them.
 *
 * Written once, when a store is opened:
 *
 *     @         the schema's name, quoted
 *     ?1, ?     $1, the next one; a number unless a cast follows: values are sent in binary form,
 *               so the server must take them for the type they have, whatever they stand beside
 *     #1, #2    the parameters behind those, which stores far away have (cursor_further)
 *     $1::type  our own texts: as they are
 *
 * No text has one of these characters for another reason.  Called by pg_open.c and pg_schema.c.
 */
#include "base/buf.h"
#include "store/postgres/postgres.h"

#include <ctype.h>

#define TEXT_MAX (64 * 1024)

static const char *const sources[ST_PG_COUNT] = {
#define PG_SOURCE(name, sql) [ST_##name] = (sql),
    SQL_COMMON_STATEMENTS(PG_SOURCE)
#undef PG_SOURCE
#define PG_SOURCE(name, sql) [ST_PG_##name] = (sql),
        PG_STATEMENTS(PG_SOURCE)
#undef PG_SOURCE
};

/* The number at `at`, which moves behind it; 0: there is none. */
static int read_number(const char **at)
{
    int n = 0;

    for (; isdigit((unsigned char)**at); (*at)++)
        n = n * 10 + (**at - '0');
    return n;
}

/* The highest number of a parameter that is written with `?`. */
static int parameters_of(const char *text)
{
    int highest = 0;

    for (const char *at = text; *at;) {
        if (*at++ != '?')
            continue;
        int n = read_number(&at);
        highest = n ? (n > highest ? n : highest) : highest + 1;
    }
    return highest;
}

static void put_parameter(struct buf *b, int n, const char *behind)
{
    buf_printf(b, "$%d%s", n, behind[0] == ':' && behind[1] == ':' ? "" : "::bigint");
}

void pg_text_put(struct buf *b, const char *text, const char *schema)
{
    int highest = 0, before = parameters_of(text);

    for (const char *at = text; *at;) {
        char c = *at++;
        if (c == '@')
            buf_printf(b, "\"%s\"", schema);
        else if (c == '?') {
            int n = read_number(&at);
            n = n ? n : highest + 1;
            highest = n > highest ? n : highest;
            put_parameter(b, n, at);
        } else if (c == '#')
            put_parameter(b, before + read_number(&at), at);
        else
            buf_putc(b, c);
    }
}

bool pg_texts_make(char **texts, const char *schema)
{
    for (int i = 0; i < ST_PG_COUNT; i++) {
        struct buf b;
        texts[i] = NULL;
        if (!sources[i]) /* one of SQL_NEAR_STATEMENTS */
            continue;
        buf_init(&b, TEXT_MAX);
        pg_text_put(&b, sources[i], schema);
        if (b.failed) {
            buf_deinit(&b);
            return false;
        }
        texts[i] = b.ptr; /* freed by pg_texts_free */
    }
    return true;
}

void pg_texts_free(char **texts)
{
    for (int i = 0; i < ST_PG_COUNT; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
}
