/* SPDX-License-Identifier: MIT */
/*
 * cli/out.c -- tables that fit the terminal, and JSON that fits a pipe.
 *
 * A table is collected first and printed once: its widths depend on every row.
 * Width is counted in columns as utf8_columns() has them.
 */
#include "cli/out.h"

#include "base/utf8.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP          2 /* columns between columns */
#define FLEX_MINIMUM 8

static const char *const tones[] = {
    [TONE_NONE] = "",          [TONE_DIM] = "\033[2m",     [TONE_BOLD] = "\033[1m",
    [TONE_GREEN] = "\033[32m", [TONE_YELLOW] = "\033[33m", [TONE_RED] = "\033[31m",
    [TONE_BLUE] = "\033[36m",
};

bool out_has_color(const struct cli *cli, FILE *to)
{
    if (cli->args.color != COLOR_AUTO)
        return cli->args.color == COLOR_ALWAYS;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && isatty(fileno(to)) && term && strcmp(term, "dumb") != 0;
}

const char *out_begin(const struct cli *cli, FILE *to, enum tone tone)
{
    return out_has_color(cli, to) ? tones[tone] : "";
}

const char *out_end(const struct cli *cli, FILE *to)
{
    return out_has_color(cli, to) ? "\033[0m" : "";
}

enum tone tone_of_state(pawl_state state)
{
    switch (state) {
    case PAWL_PENDING:
    case PAWL_CONTINUED_AS_NEW:
        return TONE_DIM;
    case PAWL_RUNNING:
        return TONE_BLUE;
    case PAWL_SUSPENDED:
    case PAWL_CANCELLED:
        return TONE_YELLOW;
    case PAWL_COMPLETED:
        return TONE_GREEN;
    case PAWL_BLOCKED:
    case PAWL_FAILED:
        return TONE_RED;
    }
    return TONE_NONE;
}

bool out_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

unsigned out_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}

/* ---- Widths ------------------------------------------------------------------ */

/* The bytes of the character at `at` (one of what is none), and its columns. */
static size_t next_rune(pawl_str text, size_t at, unsigned *columns)
{
    size_t n = utf8_length(text.ptr + at, text.ptr + text.len);
    *columns = n ? utf8_columns(utf8_decode(text.ptr + at, n)) : 1;
    return n ? n : 1;
}

unsigned out_columns(pawl_str text)
{
    unsigned width = 0, columns;
    for (size_t at = 0; at < text.len; width += columns)
        at += next_rune(text, at, &columns);
    return width;
}

size_t out_fit(pawl_str text, unsigned width)
{
    size_t at = 0;
    for (unsigned seen = 0, columns; at < text.len; seen += columns) {
        size_t n = next_rune(text, at, &columns);
        if (seen + columns > width)
            break;
        at += n;
    }
    return at;
}

pawl_str out_cut(pawl_mem *mem, pawl_str text, unsigned width)
{
    if (out_fit(text, width) == text.len)
        return text;
    if (!width)
        return (pawl_str){"", 0};
    return pawl_mem_printf(mem, "%.*s%s", (int)out_fit(text, width - 1), text.ptr,
                           out_is_utf8() ? "…" : "~");
}

/* ---- Tables ------------------------------------------------------------------ */

void table_init(struct table *t, const struct cli *cli, const struct table_column *columns,
                size_t count)
{
    assert_that(count <= TABLE_COLUMNS_MAX);
    *t = (struct table){.cli = cli, .columns = columns, .column_count = count};
}

void table_put(struct table *t, pawl_str text, enum tone tone)
{
    if (t->count == t->cap)
        list_grow(t->cli->mem, &t->cells, &t->cap, t->count, sizeof(*t->cells));
    /* No terminal is wider: do not clean megabytes to show a line of them. */
    if (out_width() && text.len > 4096)
        text.len = 4096;
    t->cells[t->count++] = (struct table_cell){out_clean(t->cli->mem, text), tone};
}

void table_putf(struct table *t, enum tone tone, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    table_put(t, pawl_s(text), tone);
}

static void measure(const struct table *t, unsigned widths[TABLE_COLUMNS_MAX])
{
    assert_that(t->column_count);
    for (size_t c = 0; c < t->column_count; c++)
        widths[c] = (unsigned)strlen(t->columns[c].head);
    for (size_t i = 0; i < t->count; i++) {
        unsigned width = out_columns(t->cells[i].text);
        if (width > widths[i % t->column_count])
            widths[i % t->column_count] = width;
    }
}

static unsigned total_of(const struct table *t, const unsigned widths[TABLE_COLUMNS_MAX])
{
    unsigned total = 0;
    for (size_t c = 0; c < t->column_count; c++)
        total += widths[c] ? widths[c] + GAP : 0;
    return total - GAP;
}

/* The widest flexible column that can give one up; column_count: none. */
static size_t widest_of(const struct table *t, const unsigned widths[TABLE_COLUMNS_MAX])
{
    size_t widest = t->column_count;
    for (size_t c = 0; c < t->column_count; c++)
        if (t->columns[c].flex && widths[c] > FLEX_MINIMUM &&
            (widest == t->column_count || widths[c] > widths[widest]))
            widest = c;
    return widest;
}

/* Leave out the last spare column (width 0); false when there is none. */
static bool leave_out(const struct table *t, unsigned widths[TABLE_COLUMNS_MAX])
{
    for (size_t c = t->column_count; c-- > 0;)
        if (t->columns[c].spare && widths[c]) {
            widths[c] = 0;
            return true;
        }
    return false;
}

static void fit(const struct table *t, unsigned widths[TABLE_COLUMNS_MAX])
{
    unsigned room = out_width();
    while (room && total_of(t, widths) > room) {
        size_t widest = widest_of(t, widths);
        if (widest < t->column_count)
            widths[widest]--;
        else if (!leave_out(t, widths))
            return;
    }
}

static void print_cell(const struct table *t, size_t column, struct table_cell cell, unsigned width)
{
    bool last = column + 1 == t->column_count;
    if (width == 0 && !last)
        return;
    pawl_str text = out_cut(t->cli->mem, cell.text, width);
    unsigned pad = width - out_columns(text);
    if (t->columns[column].right)
        printf("%*s", (int)pad, "");
    printf("%s%.*s%s", out_begin(t->cli, stdout, cell.tone), PAWL_FMT(text),
           cell.tone ? out_end(t->cli, stdout) : "");
    if (!t->columns[column].right && !last)
        printf("%*s", (int)pad, "");
    fputs(last ? "\n" : "  ", stdout);
}

void table_print(struct table *t)
{
    unsigned widths[TABLE_COLUMNS_MAX];
    assert_that(t->column_count);
    measure(t, widths);
    fit(t, widths);
    for (size_t c = 0; c < t->column_count; c++)
        print_cell(t, c, (struct table_cell){pawl_s(t->columns[c].head), TONE_DIM}, widths[c]);
    for (size_t i = 0; i < t->count; i++)
        print_cell(t, i % t->column_count, t->cells[i], widths[i % t->column_count]);
}

/* ---- Lines ------------------------------------------------------------------- */

void out_line(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        return;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    printf("%.*s\n", len, text);
    free(text);
}
