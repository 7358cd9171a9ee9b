/* SPDX-License-Identifier: MIT */
/* cli/verb_top.c -- top: what a server does now, on the whole terminal.  The room is src/cli/top. */
#include "cli/top/top.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int verb_top(struct cli *cli)
{
    struct session session;
    const char *term = getenv("TERM");
    if (cli->args.output != OUTPUT_TABLE)
        return cli_fail(cli, EXIT_USAGE, "top draws for people; for programs: %s ls -o json",
                        cli->prog);
    if (!cli->args.one_screen &&
        (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0))
        return cli_fail(cli, EXIT_USAGE,
                        "top needs a terminal that can move its cursor; one screen as text: "
                        "%s top --once",
                        cli->prog);
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    status = top_run(cli, &session);
    session_close(&session);
    return status;
}
