/* SPDX-License-Identifier: MIT */
/*
 * base/log.c -- one record, one line, one write().
 *
 * A line is whole even when several processes share stderr: it is at most 4096
 * bytes (PIPE_BUF) and written at once.  Whatever callers pass in, a record
 * stays one line that a parser reads back as it was meant: each value is
 * formatted on its own and quoted as a JSON string where it needs to be, so no
 * value can pass for another pair; what is too long is cut and still closed.
 * Works on the stack of a fiber and allocates nothing.
 *
 * Called by runtime, server and cli; lower rooms return errors instead.
 */
#include "base/log.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES   4096
#define CLOSE_BYTES  8  /* kept for quotes, brace and newline */
#define FIELD_BYTES  48 /* a field that has less room than this is left out */
#define NUMBER_BYTES 24

enum style { STYLE_LOGFMT, STYLE_JSON };

/* A line being written. */
struct log_line {
    size_t len;
    enum style style;
    char text[LINE_BYTES];
};

/* One value of a pair. */
struct value {
    pawl_str text; /* ptr is never NULL */
    bool is_number;
    bool quoted; /* in logfmt too */
    char digits[NUMBER_BYTES];
};

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

/* ---- Text ------------------------------------------------------------------- */

/* All of it or nothing; false: the line is full. */
static bool put(struct log_line *line, const char *text, size_t len)
{
    if (line->len + len > LINE_BYTES - CLOSE_BYTES)
        return false;
    memcpy(line->text + line->len, text, len);
    line->len += len;
    return true;
}

/* What ends something: there is room for it always. */
static void put_end(struct log_line *line, const char *text)
{
    while (*text && line->len < LINE_BYTES - 1)
        line->text[line->len++] = *text++;
}

/* One character as inside a JSON string; returns how many bytes it took. */
static size_t escape(char to[8], const char *at, const char *end, size_t *retlen)
{
    size_t len = utf8_length(at, end);

    *retlen = len ? len : 1;
    if (len == 0)
        return (size_t)snprintf(to, 8, "\\ufffd");
    if (*at == '"' || *at == '\\')
        return (size_t)snprintf(to, 8, "\\%c", *at);
    if (*at == '\n' || *at == '\t' || *at == '\r')
        return (size_t)snprintf(to, 8, "\\%c", *at == '\n' ? 'n' : *at == '\t' ? 't' : 'r');
    if (utf8_is_unsafe(utf8_decode(at, len)))
        return (size_t)snprintf(to, 8, "\\u%04x", (unsigned)utf8_decode(at, len));
    memcpy(to, at, len);
    return len;
}

static void put_escaped(struct log_line *line, pawl_str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;

    for (size_t taken; at < end; at += taken) {
        char bytes[8];
        size_t n = escape(bytes, at, end, &taken);
        if (!put(line, bytes, n))
            return;
    }
}

static void put_string(struct log_line *line, pawl_str text)
{
    put_end(line, "\"");
    put_escaped(line, text);
    put_end(line, "\"");
}

/* May it stand in logfmt without quotes? */
static bool is_bare(pawl_str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;

    for (size_t n; at < end; at += n) {
        n = utf8_length(at, end);
        if (!n || utf8_is_unsafe(utf8_decode(at, n)) || (n == 1 && strchr(" \"=\\", *at)))
            return false;
    }
    return text.len > 0;
}

/* ---- Fields ------------------------------------------------------------------- */

static void put_field(struct log_line *line, pawl_str key, const struct value *value)
{
    bool json = line->style == STYLE_JSON;

    if (line->len + key.len + FIELD_BYTES > LINE_BYTES - CLOSE_BYTES)
        return;
    if (json) {
        put_end(line, line->len > 1 ? "," : "");
        put_string(line, key);
        put_end(line, ":");
    } else {
        put_end(line, line->len ? " " : "");
        (void)put(line, key.ptr, key.len);
        put_end(line, "=");
    }
    bool bare = value->is_number || (!json && !value->quoted && is_bare(value->text));
    if (bare && line->len + value->text.len <= LINE_BYTES - CLOSE_BYTES)
        (void)put(line, value->text.ptr, value->text.len);
    else
        put_string(line, value->text);
}

static void put_text(struct log_line *line, const char *key, const char *text)
{
    put_field(line, pawl_s(key), &(struct value){.text = pawl_s(text)});
}

/* One conversion of the pairs; the compiler has checked it against the arguments.
 * Returns what stands behind it. */
static const char *take_value(const char *at, va_list *args, struct value *ret)
{
    size_t n = strcspn(at, " \"");

    assert_that(n > 0);
    *ret = (struct value){
        .text = {at, n}
    };
    char *d = ret->digits;
    if (strncmp(at, "%s", n) == 0) {
        ret->text = pawl_s(va_arg(*args, const char *));
    } else if (strncmp(at, "%.*s", n) == 0) {
        int len = va_arg(*args, int);
        ret->text = (pawl_str){va_arg(*args, const char *), len > 0 ? (size_t)len : 0};
    } else if (*at == '%') {
        int len = strncmp(at, "%llu", n) == 0
                      ? snprintf(d, NUMBER_BYTES, "%llu", va_arg(*args, unsigned long long))
                  : strncmp(at, "%lld", n) == 0
                      ? snprintf(d, NUMBER_BYTES, "%lld", va_arg(*args, long long))
                  : strncmp(at, "%u", n) == 0
                      ? snprintf(d, NUMBER_BYTES, "%u", va_arg(*args, unsigned))
                  : strncmp(at, "%d", n) == 0 ? snprintf(d, NUMBER_BYTES, "%d", va_arg(*args, int))
                                              : -1;
        assert_that(len > 0); /* a conversion this function does not know */
        ret->text = (pawl_str){d, (size_t)len};
        ret->is_number = true;
    }
    if (!ret->text.ptr)
        ret->text = (pawl_str){"", 0};
    return at + n;
}

/* "key=%s key=\"%.*s\" key=word" */
static void put_pairs(struct log_line *line, const char *pairs, va_list *args)
{
    while (*(pairs += strspn(pairs, " "))) {
        struct value value;
        pawl_str key = {pairs, strcspn(pairs, "=")};
        assert_that(pairs[key.len] == '=');
        pairs += key.len + 1;
        bool quoted = *pairs == '"';
        pairs = take_value(pairs + quoted, args, &value);
        pairs += quoted && *pairs == '"';
        put_field(line, key, &value);
    }
}

static void put_time(struct log_line *line, int64_t ms)
{
    char text[64];
    time_t seconds = (time_t)(ms / 1000);
    struct tm t;

    if (!gmtime_r(&seconds, &t))
        return;
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    (void)snprintf(text + n, sizeof text - n, ".%03dZ", (int)(ms % 1000));
    put_text(line, "ts", text);
}

/* ---- Records --------------------------------------------------------------------- */

static void write_line(struct log_line *line)
{
    line->text[line->len++] = '\n';
    /* A log that cannot be written must not stop the work: give up silently. */
    while (write(STDERR_FILENO, line->text, line->len) < 0 && errno == EINTR)
        continue;
}

/* For the caller's function: the message as it is, but in one line, and the pairs. */
static void hand_over(const struct logger *l, pawl_log_level level, const char *area,
                      struct log_line *line, const char *message, const char *pairs, va_list *args)
{
    for (const char *at = message, *end = message + strlen(message); at < end;) {
        char bytes[8];
        size_t taken, n = escape(bytes, at, end, &taken);
        bool plain = *at == '"' || *at == '\\';
        if (!put(line, plain ? at : bytes, plain ? 1 : n))
            break;
        at += taken;
    }
    put_pairs(line, pairs, args);
    line->text[line->len] = '\0';
    l->write(l->user, level, area, line->text);
}

void log_record(const struct logger *l, pawl_log_level level, const char *area, const char *message,
                const char *pairs, ...)
{
    if (level > l->level)
        return;
    struct log_line line; /* only what is written is looked at */
    va_list args;

    line.len = 0;
    line.style = l->json && !l->write ? STYLE_JSON : STYLE_LOGFMT;
    va_start(args, pairs);
    if (l->write) {
        hand_over(l, level, area, &line, message, pairs, &args);
    } else {
        put_end(&line, line.style == STYLE_JSON ? "{" : "");
        put_time(&line, clock_wall_ms());
        put_text(&line, "level", log_level_name(level));
        put_text(&line, "area", area);
        put_field(&line, pawl_s("msg"), &(struct value){.text = pawl_s(message), .quoted = true});
        put_pairs(&line, pairs, &args);
        put_end(&line, line.style == STYLE_JSON ? "}" : "");
        write_line(&line);
    }
    va_end(args);
}
