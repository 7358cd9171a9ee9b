/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_state.c -- pawl state: what the code of an instance has published.
 *
 * A data directory and a server give the same JSON (view/state_json.h).
 */
#include "base/clock.h"
#include "base/json.h"
#include "cli/out.h"
#include "cli/session.h"
#include "view/state_json.h"
#include "view/units.h"

static pawl_status ask_server(struct cli *cli, struct session *session, const char *key,
                              pawl_str *ret, pawl_error *err)
{
    struct http_reply answer;
    pawl_str path = pawl_mem_printf(cli->mem, "/api/v1/instances/%s/state%s%s",
                                    http_escape(cli->mem, cli->words[0]).ptr, key ? "/" : "",
                                    key ? http_escape(cli->mem, key).ptr : "");
    pawl_status rc =
        remote_call(session->remote, "GET", path.ptr, (pawl_str){0}, NULL, cli->mem, &answer, err);
    *ret = answer.body;
    return rc;
}

static pawl_status ask(struct cli *cli, struct session *session, const char *key, pawl_str *ret,
                       pawl_error *err)
{
    if (session->remote)
        return ask_server(cli, session, key, ret, err);
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_status rc = state_render(session->client, cli->words[0], key, cli->mem, w, err);
    if (rc == PAWL_OK)
        *ret = pawl_json_done(w);
    return rc;
}

static void put_row(struct cli *cli, struct table *t, pawl_str one)
{
    char ago[UNITS_BYTES];
    int64_t since = clock_wall_ms() - pawl_json_int(one, "/updated_at", 0);
    table_put(t, pawl_json_text(cli->mem, one, "/key", ""), TONE_BOLD);
    table_putf(t, TONE_DIM, "%lld", (long long)pawl_json_int(one, "/version", 0));
    table_put(t, pawl_s(format_duration(ago, since > 0 ? since : 0)), TONE_NONE);
    table_put(t, pawl_json_get(one, "/value"), TONE_NONE);
}

static void print_all(struct cli *cli, pawl_str answer)
{
    static const struct table_column columns[] = {
        {.head = "KEY" },
        {              .head = "VERSION", .right = true, .spare = true},
        { .head = "SET",  .right = true, .spare = true},
        {.head = "VALUE",              .flex = true},
    };
    struct json_iter it;
    struct table t;
    table_init(&t, cli, columns, COUNT_OF(columns));
    for (json_begin(&it, pawl_json_get(answer, "/items")); json_next(&it);)
        if (cli->args.output == OUTPUT_JSONL)
            out_value(cli, it.value);
        else if (cli->args.output == OUTPUT_IDS)
            out_id(cli, pawl_json_text(cli->mem, it.value, "/key", ""));
        else
            put_row(cli, &t, it.value);
    if (cli->args.output == OUTPUT_TABLE)
        table_print(&t);
}

static void print(struct cli *cli, const char *key, pawl_str answer)
{
    if (cli->args.output == OUTPUT_JSON || (key && cli->args.output == OUTPUT_JSONL))
        out_value(cli, answer);
    else if (!key)
        print_all(cli, answer);
    else if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(key));
    else
        puts(out_clean(cli->mem, pawl_json_get(answer, "/value")).ptr);
}

int verb_state(struct cli *cli)
{
    struct session session;
    const char *key = cli->word_count > 1 ? cli->words[1] : NULL;
    pawl_str answer = {0};
    pawl_error err;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (ask(cli, &session, key, &answer, &err) == PAWL_OK)
        print(cli, key, answer);
    else
        status = cli_fail_error(cli, &err);
    session_close(&session);
    return status;
}
