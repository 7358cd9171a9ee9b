/* SPDX-License-Identifier: MIT */
/*
 * cli/paper.h -- lines of coloured text that fit a terminal, made in memory.
 *
 * For what is drawn and not only printed: timelines and the screen of `top`.  Every text is cleaned
 * here (clean.c), so nothing that a terminal obeys gets onto paper but the colours.
 */
#ifndef PAWL_CLI_PAPER_H
#define PAWL_CLI_PAPER_H

#include "base/buf.h"
#include "cli/out.h"

#define PAPER_MAX ((size_t)16 << 20)

struct paper {
    const struct cli *cli;
    pawl_mem *mem;  /* for work; the caller's */
    struct buf ink; /* lines, each with its end */
    unsigned width; /* columns of a line; 0: any */
    unsigned at;    /* columns written of this one */
    unsigned lines; /* that have ended */
    bool color, inverse;
};

void paper_open(struct paper *p, const struct cli *cli, pawl_mem *mem, unsigned width);
void paper_close(struct paper *p);
/* What fits of a text; one that is cut ends with …. */
void paper_put(struct paper *p, enum tone tone, pawl_str text);
void paper_putf(struct paper *p, enum tone tone, const char *format, ...) PAWL_PRINTF(3, 4);
/* The same in at most `columns`, which are then filled with blanks. */
void paper_cell(struct paper *p, enum tone tone, pawl_str text, unsigned columns);
/* Blanks up to this column. */
void paper_to(struct paper *p, unsigned column);
/* A text in as many lines as it needs, broken at blanks, each after `indent` blanks. */
void paper_flow(struct paper *p, enum tone tone, pawl_str text, unsigned indent);
void paper_line(struct paper *p);
/* A line number, without its end; empty behind the last. */
pawl_str paper_row(const struct paper *p, unsigned line);

#endif
