/* SPDX-License-Identifier: MIT */
/*
 * cli/clean.c -- text from outside on its way to a terminal.
 *
 * Ids, names, payloads and errors come from other people.  A terminal obeys control
 * characters, and shows text in another order after characters that turn its direction:
 * no verb sends either of them raw.  A pipe or file gets the bytes
 * as they are wherever a program reads them (JSON, ids, outputs); decision 0027.
 */
#include "base/utf8.h"
#include "cli/out.h"

#include <string.h>
#include <unistd.h>

/* How an unsafe character is shown; in JSON so that it means the same. */
static size_t spell(char to[8], uint32_t rune, bool json)
{
    const char *named = rune == '\n' ? "\\n" : rune == '\t' ? "\\t" : rune == '\r' ? "\\r" : NULL;
    if (named)
        return (size_t)snprintf(to, 8, "%s", named);
    return (size_t)snprintf(to, 8, json || rune > 0xFF ? "\\u%04x" : "\\x%02x", (unsigned)rune);
}

/* The safe characters of `keep` stay. */
static pawl_str clean(pawl_mem *mem, pawl_str text, const char *keep, bool json)
{
    const char *at = text.ptr, *end = text.ptr ? text.ptr + text.len : NULL;
    char *out = pawl_mem_alloc(mem, text.len * 6 + 8), *to = out;
    for (size_t n; at < end; at += n ? n : 1) {
        n = utf8_length(at, end);
        uint32_t rune = n ? utf8_decode(at, n) : 0;
        if (n == 0)
            *to++ = '?';
        else if (json && rune == '\r') /* between tokens; inside a string it is none */
            *to++ = ' ';
        else if (utf8_is_unsafe(rune) && !(rune && rune < 0x80 && strchr(keep, (int)rune)))
            to += spell(to, rune, json);
        else
            to = mempcpy(to, at, n);
    }
    *to = 0;
    return (pawl_str){out, (size_t)(to - out)};
}

pawl_str out_clean(pawl_mem *mem, pawl_str text)
{
    return clean(mem, text, "", false);
}

static void put(pawl_str text)
{
    if (text.len)
        (void)fwrite(text.ptr, 1, text.len, stdout);
    putchar('\n');
}

void out_text(const struct cli *cli, pawl_str text)
{
    put(isatty(STDOUT_FILENO) ? clean(cli->mem, text, "\n\t", pawl_json_valid(text, NULL)) : text);
}

void out_id(const struct cli *cli, pawl_str id)
{
    put(isatty(STDOUT_FILENO) ? out_clean(cli->mem, id) : id);
}

void out_value(const struct cli *cli, pawl_str json)
{
    pawl_str doc = isatty(STDOUT_FILENO) ? clean(cli->mem, json, "\n\t", true) : json;
    if (cli->args.output != OUTPUT_JSONL) {
        put(doc);
        return;
    }
    /* A payload is kept byte for byte, so it may hold line breaks between its
     * tokens (never inside a string): here they would end the record. */
    for (size_t i = 0; i < doc.len; i++)
        putchar(doc.ptr[i] == '\n' || doc.ptr[i] == '\r' ? ' ' : doc.ptr[i]);
    putchar('\n');
}

void out_json(const struct cli *cli, pawl_json *w)
{
    pawl_str doc = pawl_json_done(w);
    assert_that(doc.ptr);
    out_value(cli, doc);
}
