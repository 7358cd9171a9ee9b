/* SPDX-License-Identifier: MIT */
/*
 * cli/error.c -- errors as one line on stderr, and their exit statuses.  Called by
 * everything else.
 */
#include "base/log.h"
#include "cli/cli.h"
#include "cli/out.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const struct cli *cli, pawl_log_level level, bool remark, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));

/* Where a collector reads, remarks of a server or worker are records like all others. */
static bool is_record(const struct cli *cli, bool remark)
{
    if (!cli->verb || !(cli->verb->takes & TAKES_ENGINE))
        return false;
    return cli->args.options.log_json ||
           (remark && (cli->verb->takes & (TAKES_SERVE | TAKES_WORK)) && !isatty(STDERR_FILENO));
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
    bool record = is_record(cli, true);
    if (cli->args.quiet || (record ? level >= 0 && level < PAWL_LOG_INFO : !isatty(STDERR_FILENO)))
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
    if (err->status == PAWL_NOT_FOUND && err->text[0] && (cli->verb->takes & TAKES_STORE) &&
        !(cli->verb->takes & TAKES_START)) /* for those, it is the code that was not found */
        return cli_fail(cli, EXIT_NOT_THERE, "%s; see: %s %sls", err->text, cli->prog,
                        cli->verb->takes & TAKES_TOKEN ? "token " : "");
    return cli_fail(cli, cli_exit_of(err->status), "%s",
                    err->text[0] ? err->text : pawl_status_text(err->status));
}
