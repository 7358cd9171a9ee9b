/* SPDX-License-Identifier: MIT */
/*
 * base/log.c -- one record, one line, one write().
 *
 * A line is whole even when several processes share stderr: it is at most 4096
 * bytes (PIPE_BUF) and written at once.  Whatever callers pass in, a record
 * stays one line: control characters are escaped, what is too long is cut.
 * Works on the stack of a fiber and allocates nothing.
 *
 * Called by runtime, server and cli; lower rooms return errors instead.
 */
#include "base/log.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES  4096
#define PAIRS_BYTES 2048

/* A line being written; `len` stops short of the end, so the newline always fits. */
struct line {
    size_t len;
    char text[LINE_BYTES];
};

static void put_escaped(struct line *line, const char *text, bool quoted);
static void put_message(struct line *line, const char *message);
static void put_time(struct line *line, int64_t ms);
static void write_line(struct line *line);

static const char *const level_names[] = {"error", "warn", "info", "debug"};

const char *log_level_name(pawl_log_level level)
{
    size_t i = (size_t)level;

    return i < sizeof level_names / sizeof *level_names ? level_names[i] : "none";
}

int log_level_of(const char *word)
{
    for (int i = 0; i < (int)(sizeof level_names / sizeof *level_names); i++)
        if (word && strcmp(level_names[i], word) == 0)
            return i;
    return -1;
}

static void put(struct line *line, const char *text)
{
    while (*text && line->len < LINE_BYTES - 2)
        line->text[line->len++] = *text++;
}

void log_record(const struct logger *l, pawl_log_level level, const char *area, const char *message,
                const char *pairs, ...)
{
    if (level > l->level)
        return;
    char formatted[PAIRS_BYTES];
    struct line line; /* only what is written is looked at */
    va_list args;

    line.len = 0;
    va_start(args, pairs);
    if (vsnprintf(formatted, sizeof formatted, pairs, args) < 0)
        formatted[0] = '\0';
    va_end(args);
    if (l->write) {
        put_escaped(&line, message, false);
    } else {
        put_time(&line, clock_wall_ms());
        put(&line, " level=");
        put(&line, log_level_name(level));
        put(&line, " area=");
        put_escaped(&line, area, false);
        put(&line, " msg=");
        put_message(&line, message);
    }
    if (formatted[0])
        put(&line, " ");
    put_escaped(&line, formatted, false);
    line.text[line.len] = '\0';
    if (l->write)
        l->write(l->user, level, area, line.text);
    else
        write_line(&line);
}

/* Control characters would break the line or move a terminal's cursor. */
static void put_escaped(struct line *line, const char *text, bool quoted)
{
    char hex[8];

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n') {
            put(line, "\\n");
        } else if (c == '\t') {
            put(line, "\\t");
        } else if (c < 0x20 || c == 0x7f) {
            (void)snprintf(hex, sizeof hex, "\\x%02x", c);
            put(line, hex);
        } else if (quoted && (c == '"' || c == '\\')) {
            put(line, c == '"' ? "\\\"" : "\\\\");
        } else {
            put(line, (char[]){(char)c, '\0'});
        }
    }
}

static void put_message(struct line *line, const char *message)
{
    put(line, "\"");
    put_escaped(line, message, true);
    put(line, "\"");
}

static void put_time(struct line *line, int64_t ms)
{
    char text[64];
    time_t seconds = (time_t)(ms / 1000);
    struct tm t;

    if (!gmtime_r(&seconds, &t))
        return;
    size_t n = strftime(text, sizeof text, "ts=%Y-%m-%dT%H:%M:%S", &t);
    (void)snprintf(text + n, sizeof text - n, ".%03dZ", (int)(ms % 1000));
    put(line, text);
}

static void write_line(struct line *line)
{
    line->text[line->len++] = '\n';
    /* A log that cannot be written must not stop the work: give up silently. */
    while (write(STDERR_FILENO, line->text, line->len) < 0 && errno == EINTR)
        continue;
}
