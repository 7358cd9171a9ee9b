/* SPDX-License-Identifier: MIT */
/*
 * cli/error.c -- errors as one line on stderr, their exit statuses, and "did you
 * mean".  Called by everything else.
 */
#include "base/log.h"
#include "cli/cli.h"
#include "cli/out.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const struct cli *cli, pawl_log_level level, bool remark, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));

/* Where a collector reads, remarks of a server are records like all others. */
static bool is_record(const struct cli *cli, bool remark)
{
    if (!cli->verb || !(cli->verb->takes & TAKES_ENGINE))
        return false;
    return cli->args.options.log_json ||
           (remark && (cli->verb->takes & TAKES_SERVE) && !isatty(STDERR_FILENO));
}

static void say(const struct cli *cli, pawl_log_level level, bool remark, const char *format,
                va_list args)
{
    char text[2048];
    enum tone tone = level == PAWL_LOG_ERROR ? TONE_RED : TONE_DIM;
    vsnprintf(text, sizeof(text), format, args);
    if (is_record(cli, remark)) {
        struct logger to = {.level = level, .json = cli->args.options.log_json};
        log_record(&to, level, cli->verb->name, text, "");
        return;
    }
    pawl_str clean = out_clean(cli->mem, pawl_s(text));
    fflush(stdout);
    fprintf(stderr, "%s%s:%s %.*s\n", out_begin(cli, stderr, tone), cli->prog, out_end(cli, stderr),
            PAWL_FMT(clean));
}

int cli_fail(const struct cli *cli, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(cli, PAWL_LOG_ERROR, false, format, args);
    va_end(args);
    return status;
}

void cli_note(const struct cli *cli, const char *format, ...)
{
    int level = cli->args.log_level;
    if (cli->args.quiet || (level >= 0 && level < PAWL_LOG_INFO && is_record(cli, true)))
        return;
    va_list args;
    va_start(args, format);
    say(cli, PAWL_LOG_INFO, true, format, args);
    va_end(args);
}

void cli_trouble(const struct cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(cli, PAWL_LOG_ERROR, true, format, args);
    va_end(args);
}

int cli_exit_of(pawl_status status)
{
    switch (status) {
    case PAWL_OK:
    case PAWL_EMPTY:
        return EXIT_OK;
    case PAWL_NOT_FOUND:
    case PAWL_EXISTS:
    case PAWL_CONFLICT:
    case PAWL_LOST:
        return EXIT_NOT_THERE;
    case PAWL_INVALID:
    case PAWL_LIMIT:
    case PAWL_UNSUPPORTED:
    case PAWL_MISUSE:
        return EXIT_USAGE;
    case PAWL_TIMEOUT:
        return EXIT_TIMEOUT;
    case PAWL_UNKNOWN:
        return EXIT_UNKNOWN;
    case PAWL_BUSY:
    case PAWL_UNAVAILABLE:
    case PAWL_DISK_FULL:
    case PAWL_NO_MEMORY:
    case PAWL_SHUTDOWN:
    case PAWL_FENCED:
    case PAWL_CORRUPT:
        return EXIT_NO_STORE;
    }
    return EXIT_NO_STORE;
}

int cli_fail_error(const struct cli *cli, const pawl_error *err)
{
    if (err->status == PAWL_NOT_FOUND && err->text[0] && (cli->verb->takes & TAKES_STORE))
        return cli_fail(cli, EXIT_NOT_THERE, "%s; see: %s %sls", err->text, cli->prog,
                        cli->verb->takes & TAKES_TOKEN ? "token " : "");
    return cli_fail(cli, cli_exit_of(err->status), "%s",
                    err->text[0] ? err->text : pawl_status_text(err->status));
}

/* ---- Did you mean ------------------------------------------------------------ */

#define WORD_MAX 28

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Edits (insert, delete, replace, swap neighbours) between two short words. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n >= WORD_MAX || m >= WORD_MAX)
        return WORD_MAX;
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            d[i][j] = smallest(d[i - 1][j] + 1, d[i][j - 1] + 1,
                               d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = smallest(d[i][j], d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

const char *cli_nearest(const char *word, const char *const *words, size_t count)
{
    size_t len = strlen(word), best = len <= 4 ? 2 : 3; /* at this distance it is another word */
    const char *near = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t edits = distance(word, words[i]);
        if (len >= 3 && strncmp(word, words[i], len) == 0)
            edits = 1;
        if (edits < best) {
            best = edits;
            near = words[i];
        }
    }
    return near;
}
