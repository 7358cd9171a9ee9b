/* SPDX-License-Identifier: MIT */
/* cli/paper.c -- see paper.h. */
#include "cli/paper.h"

#include <stdio.h>
#include <string.h>

void paper_open(struct paper *p, const struct cli *cli, pawl_mem *mem, unsigned width)
{
    *p = (struct paper){.cli = cli, .mem = mem, .width = width};
    p->color = out_has_color(cli, stdout);
    buf_init(&p->ink, PAPER_MAX);
}

void paper_close(struct paper *p)
{
    buf_deinit(&p->ink);
}

static void put_clean(struct paper *p, enum tone tone, pawl_str text)
{
    bool plain = !p->color || (tone == TONE_NONE && !p->inverse);
    if (!text.len)
        return;
    if (!plain && p->inverse)
        buf_puts(&p->ink, "\033[7m");
    if (!plain)
        buf_puts(&p->ink, out_begin(p->cli, stdout, tone));
    buf_str(&p->ink, text);
    if (!plain)
        buf_puts(&p->ink, "\033[0m");
    p->at += out_columns(text);
}

void paper_put(struct paper *p, enum tone tone, pawl_str text)
{
    unsigned left = p->width > p->at ? p->width - p->at : 0;
    if (p->width && !left)
        return;
    if (p->width && text.len > (size_t)p->width * 8) /* do not clean megabytes to show a line */
        text.len = (size_t)p->width * 8;
    pawl_str clean = out_clean(p->mem, text);
    put_clean(p, tone, p->width ? out_cut(p->mem, clean, left) : clean);
}

void paper_putf(struct paper *p, enum tone tone, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    paper_put(p, tone, pawl_s(text));
}

void paper_to(struct paper *p, unsigned column)
{
    static const char blanks[] = "                                                                ";
    while (p->at < column && (!p->width || p->at < p->width)) {
        unsigned n = column - p->at, most = p->width ? p->width - p->at : n;
        n = n < most ? n : most;
        n = n < sizeof(blanks) - 1 ? n : (unsigned)sizeof(blanks) - 1;
        put_clean(p, TONE_NONE, (pawl_str){blanks, n});
    }
}

void paper_cell(struct paper *p, enum tone tone, pawl_str text, unsigned columns)
{
    unsigned end = p->at + columns, width = p->width;
    if (!width || end < width)
        p->width = end;
    if (columns)
        paper_put(p, tone, text);
    p->width = width;
    paper_to(p, end);
}

/* How many bytes of a clean text go into the next line. */
static size_t line_length(pawl_str text, unsigned room)
{
    size_t fit = out_fit(text, room);
    if (fit == text.len)
        return fit;
    for (size_t n = fit; n > fit / 2; n--)
        if (text.ptr[n] == ' ')
            return n;
    return fit ? fit : text.len;
}

void paper_flow(struct paper *p, enum tone tone, pawl_str text, unsigned indent)
{
    pawl_str rest = out_clean(p->mem, text);
    unsigned room = p->width > indent + 8 ? p->width - indent : 8;
    if (!p->width)
        room = UINT32_MAX - 1;
    while (rest.len) {
        size_t n = line_length(rest, room);
        paper_to(p, indent);
        put_clean(p, tone, (pawl_str){rest.ptr, n});
        paper_line(p);
        while (n < rest.len && rest.ptr[n] == ' ')
            n++;
        rest = (pawl_str){rest.ptr + n, rest.len - n};
    }
}

void paper_line(struct paper *p)
{
    if (p->inverse)
        paper_to(p, p->width);
    while (!p->inverse && p->ink.len && p->ink.ptr[p->ink.len - 1] == ' ')
        p->ink.ptr[--p->ink.len] = 0;
    buf_putc(&p->ink, '\n');
    p->at = 0;
    p->lines++;
}

pawl_str paper_row(const struct paper *p, unsigned line)
{
    const char *at = p->ink.ptr, *end = at ? at + p->ink.len : NULL;
    for (; at < end; line--) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (!line)
            return (pawl_str){at, n};
        at += n + 1;
    }
    return (pawl_str){"", 0};
}
