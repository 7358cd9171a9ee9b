/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_why.c -- what an instance waits for, since when, what can wake it, what
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
        out_id(cli, why->info.instance);
    } else {
        pawl_json *w = pawl_json_new(cli->mem);
        why_render(why, w);
        out_json(cli, w);
    }
}

static int ask_server(struct cli *cli, struct session *session)
{
    struct http_reply answer;
    pawl_error err;
    pawl_str path = pawl_mem_printf(cli->mem, "/api/v1/instances/%s/why",
                                    http_escape(cli->mem, cli->words[0]).ptr);
    if (remote_call(session->remote, "GET", path.ptr, (pawl_str){0}, NULL, cli->mem, &answer,
                    &err) != PAWL_OK)
        return cli_fail_error(cli, &err);
    pawl_str sentence = pawl_json_text(cli->mem, answer.body, "/sentence", "");
    if (cli->args.output == OUTPUT_TABLE) {
        puts(out_clean(cli->mem, sentence).ptr);
    } else if (cli->args.output == OUTPUT_IDS) {
        out_id(cli, pawl_s(cli->words[0]));
    } else {
        out_value(cli, answer.body);
    }
    return EXIT_OK;
}

int verb_why(struct cli *cli)
{
    struct session session;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (session.remote) {
        status = ask_server(cli, &session);
        session_close(&session);
        return status;
    }
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
