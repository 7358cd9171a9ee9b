/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_migrate.c -- pawl migrate: the tables of a PostgreSQL store, made or printed.
 *
 * Called by main.c.  What it promises is in pawl/postgres.h.
 */
#include "pawl/postgres.h"

#include "cli/out.h"
#include "cli/session.h"

#include <string.h>

static int print_ddl(struct cli *cli, const char *url)
{
    pawl_error err = {0};
    pawl_str text;
    if (pawl_postgres_ddl(url, cli->mem, &text, &err) != PAWL_OK)
        return cli_fail_error(cli, &err);
    (void)fwrite(text.ptr, 1, text.len, stdout);
    return EXIT_OK;
}

int verb_migrate(struct cli *cli)
{
    const char *url = cli->args.options.store;
    pawl_error err = {0};
    if (session_place(cli) != PLACE_SERVER)
        return cli_fail(cli, EXIT_USAGE,
                        "migrate is for PostgreSQL (other stores update themselves when they are "
                        "opened); give --store postgres://USER@HOST/DATABASE");
    if (cli->args.print)
        return print_ddl(cli, url);
    if (pawl_postgres_migrate(url, &err) != PAWL_OK)
        return cli_fail(cli, err.status == PAWL_INVALID ? EXIT_USAGE : EXIT_NO_STORE, "%s",
                        err.text);
    cli_note(cli, "the tables in %s are up to date", session_shown(cli));
    return EXIT_OK;
}
