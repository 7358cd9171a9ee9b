/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_why.c -- what an instance waits for, since when, who can wake it, what
 * failed last, what happens next and when.  The words are made in view/why.c.
 */
#include "base/clock.h"
#include "cli/out.h"
#include "cli/session.h"
#include "view/why.h"

static void print_why(struct cli *cli, struct why *why)
{
    pawl_str sentence = why_compose(why);
    if (cli->args.output == OUTPUT_TABLE) {
        puts(out_clean(cli->mem, sentence).ptr);
    } else if (cli->args.output == OUTPUT_IDS) {
        printf("%.*s\n", PAWL_FMT(why->info.instance));
    } else {
        pawl_json *w = pawl_json_new(cli->mem);
        why_render(why, w);
        out_json(cli, w);
    }
}

int verb_why(struct cli *cli)
{
    struct session session;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    struct why why = {
        .mem = cli->mem, .prog = cli->prog, .now_ms = clock_wall_ms(), .owner = session_owner(cli)};
    pawl_error err;
    buf_init(&why.sentence, WHY_SENTENCE_MAX);
    if (why_gather(&why, session.client, cli->words[0], &err) == PAWL_OK)
        print_why(cli, &why);
    else
        status = cli_fail_error(cli, &err);
    buf_deinit(&why.sentence);
    session_close(&session);
    return status;
}
