/* SPDX-License-Identifier: MIT */
/*
 * cli/out.h -- standard output: tables for people, JSON for programs.
 *
 * Colours and truncation only where a terminal reads; NO_COLOR is obeyed.  Text
 * that came from outside is cleaned before a terminal sees it: an instance id or
 * an error message cannot move the cursor.
 */
#ifndef PAWL_CLI_OUT_H
#define PAWL_CLI_OUT_H

#include "cli/cli.h"

enum tone { TONE_NONE, TONE_DIM, TONE_BOLD, TONE_GREEN, TONE_YELLOW, TONE_RED, TONE_BLUE };

/* True when colours may go to this stream. */
bool out_has_color(const struct cli *cli, FILE *to);
/* The escape sequence that begins a tone ("" without colours); out_end() ends it. */
const char *out_begin(const struct cli *cli, FILE *to, enum tone tone);
const char *out_end(const struct cli *cli, FILE *to);
enum tone tone_of_state(pawl_state state);

/* True when the environment speaks UTF-8: ✓ instead of +. */
bool out_is_utf8(void);

/* Columns of the terminal on stdout; 0 when it is none: nothing is cut then. */
unsigned out_width(void);
/* For people, wherever it goes: control characters and those that turn the direction of
 * text as \n, \t, \xNN or \uNNNN, broken UTF-8 as '?'. */
pawl_str out_clean(pawl_mem *mem, pawl_str text);
/* A line of standard output, which a terminal gets clean and a program byte for byte: an
 * output (its line breaks and tabs stay), and an id. */
void out_text(const struct cli *cli, pawl_str text);
void out_id(const struct cli *cli, pawl_str id);
/* Columns of a clean text. */
unsigned out_columns(pawl_str text);
/* How many of its bytes fit into `width` columns: whole characters. */
size_t out_fit(pawl_str text, unsigned width);
/* As many characters as fit into `width` columns, with … when cut. */
pawl_str out_cut(pawl_mem *mem, pawl_str text, unsigned width);

#define TABLE_COLUMNS_MAX 8

struct table_column {
    const char *head;
    bool right; /* aligned */
    bool flex;  /* may be cut to fit the terminal */
    bool spare; /* left out when cutting is not enough, the last one first */
};

struct table_cell {
    pawl_str text;
    enum tone tone;
};

struct table {
    const struct cli *cli;
    const struct table_column *columns; /* borrowed */
    size_t column_count;
    struct table_cell *cells; /* row by row, in cli->mem */
    size_t count, cap;
};

void table_init(struct table *t, const struct cli *cli, const struct table_column *columns,
                size_t count);
/* The next cell of the row; text is cleaned and kept. */
void table_put(struct table *t, pawl_str text, enum tone tone);
void table_putf(struct table *t, enum tone tone, const char *format, ...) PAWL_PRINTF(3, 4);
void table_print(struct table *t);

/* A line without the spaces at its end. */
void out_line(const char *format, ...) PAWL_PRINTF(1, 2);

/* A finished document and a newline; on one line with -o jsonl.  What is unsafe for a
 * terminal is escaped there as JSON does it. */
void out_json(const struct cli *cli, pawl_json *w);
void out_value(const struct cli *cli, pawl_str json);

#endif
