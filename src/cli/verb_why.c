/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_why.c -- what an instance waits for, since when, what can wake it, what
 * failed last, what happens next and when.  The words are made in view/why.c.
 */
#include "cli/out.h"
#include "cli/views.h"

static void print_why(struct cli *cli, pawl_mem *mem, pawl_str why)
{
    if (cli->args.output == OUTPUT_TABLE)
        puts(out_clean(mem, pawl_json_text(mem, why, "/sentence", "")).ptr);
    else if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(cli->words[0]));
    else
        out_value(cli, why);
}

int verb_why(struct cli *cli)
{
    struct session session;
    pawl_error err;
    pawl_str why;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (views_why(&session, cli->words[0], cli->mem, &why, &err) == PAWL_OK)
        print_why(cli, cli->mem, why);
    else
        status = cli_fail_error(cli, &err);
    session_close(&session);
    return status;
}
