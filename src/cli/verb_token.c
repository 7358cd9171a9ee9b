/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_token.c -- pawl token new|ls|revoke: the tokens of a server.
 *
 * Works on DIR/tokens, or on the store on a database server that keeps them, beside a running
 * server, which sees the change.
 * A token is printed when it is made and never again: only its hash is kept.
 */
#include "base/clock.h"
#include "cli/out.h"
#include "cli/session.h"
#include "pawl/server.h"
#include "view/render.h"
#include "view/units.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int token_new(struct cli *cli, const char *file)
{
    char token[PAWL_TOKEN_BYTES];
    pawl_error err = {0};
    if (session_place(cli) != PLACE_SERVER && mkdir(session_data(cli), 0700) != 0 &&
        errno != EEXIST)
        return cli_fail(cli, EXIT_NO_STORE, "cannot make '%s': %s", session_data(cli),
                        strerror(errno));
    if (pawl_token_new(file, cli->args.scope ? cli->args.scope : "operate", cli->args.queues,
                       cli->args.name, clock_wall_ms(), token, &err) != PAWL_OK)
        return cli_fail(cli, err.status == PAWL_INVALID ? EXIT_USAGE : EXIT_NO_STORE, "%s",
                        err.text);
    if (cli->args.output == OUTPUT_JSON || cli->args.output == OUTPUT_JSONL) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        pawl_json_key(w, "token");
        pawl_json_cstr(w, token);
        pawl_json_end(w);
        out_json(cli, w);
    } else {
        printf("%s\n", token);
    }
    return EXIT_OK;
}

/* Repeat what the caller asked for. */
static const char *scope_of(const pawl_token_info *t)
{
    static const char *const words[] = {"read+", "operate+", "admin+"};
    for (size_t i = 0; t->api && i < 3; i++)
        if (strncmp(words[i], t->scope, strlen(t->scope)) == 0)
            return words[i];
    return t->scope;
}

static void write_one(pawl_json *w, const pawl_token_info *t)
{
    pawl_json_object(w);
    pawl_json_key(w, "id");
    pawl_json_cstr(w, t->id);
    pawl_json_key(w, "scope");
    pawl_json_cstr(w, scope_of(t));
    render_number(w, "created_at", t->created_ms);
    render_text(w, "queues", t->queues);
    render_text(w, "name", t->name);
    pawl_json_end(w);
}

static void print_one(struct cli *cli, const pawl_token_info *t)
{
    char created[UNITS_BYTES];
    if (cli->args.output == OUTPUT_IDS) {
        printf("%s\n", t->id);
    } else if (cli->args.output == OUTPUT_TABLE) {
        pawl_str name = out_clean(cli->mem, t->name);
        pawl_str queues = out_clean(cli->mem, t->queues.len ? t->queues : pawl_s("all"));
        printf("%s  %-8s %s  queues: %.*s  %.*s\n", t->id, scope_of(t),
               format_time(created, t->created_ms), PAWL_FMT(queues), PAWL_FMT(name));
    } else {
        pawl_json *w = pawl_json_new(cli->mem);
        write_one(w, t);
        out_json(cli, w);
    }
}

static int token_list(struct cli *cli, const char *file)
{
    const pawl_token_info *list;
    size_t count;
    pawl_error err = {0};
    if (pawl_token_list(file, cli->mem, &list, &count, &err) != PAWL_OK)
        return cli_fail_error(cli, &err);
    if (cli->args.output == OUTPUT_JSON) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        pawl_json_key(w, "tokens");
        pawl_json_array(w);
        for (size_t i = 0; i < count; i++)
            write_one(w, &list[i]);
        pawl_json_end(w);
        pawl_json_end(w);
        out_json(cli, w);
        return EXIT_OK;
    }
    for (size_t i = 0; i < count; i++)
        print_one(cli, &list[i]);
    return EXIT_OK;
}

int verb_token(struct cli *cli)
{
    const char *what = cli->words[0], *file = serve_tokens(cli);
    if (strcmp(what, "new") == 0 && cli->word_count == 1)
        return token_new(cli, file);
    if (strcmp(what, "ls") == 0 && cli->word_count == 1)
        return token_list(cli, file);
    if (strcmp(what, "revoke") != 0 || cli->word_count != 2)
        return cli_fail(cli, EXIT_USAGE, "say what: %s token new, token ls or token revoke ID",
                        cli->prog);
    pawl_error err = {0};
    if (pawl_token_revoke(file, cli->words[1], &err) != PAWL_OK)
        return cli_fail_error(cli, &err);
    cli_note(cli, "token %s is void", cli->words[1]);
    return EXIT_OK;
}
