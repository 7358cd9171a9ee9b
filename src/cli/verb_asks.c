/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_asks.c -- pawl asks: what instances ask people for, oldest instance first.
 *
 * A data directory and a server give the same JSON (pawl_client_asks).  All pages are read before
 * one line is printed, so that -o json is one document.
 */
#include "base/clock.h"
#include "base/json.h"
#include "cli/out.h"
#include "cli/session.h"
#include "view/units.h"

static pawl_status one_page(struct cli *cli, struct session *session, const char *event,
                            const char *after, pawl_str *ret, pawl_error *err)
{
    if (!session->remote)
        return pawl_client_asks(session->client,
                                PAWL_ASK_FILTER(.after = after, .event = event, .limit = 1000),
                                cli->mem, ret, err);
    struct http_reply answer;
    pawl_str path = pawl_s("/api/v1/asks?limit=1000");
    if (event)
        path = pawl_mem_printf(cli->mem, "%s&event=%s", path.ptr, http_escape(cli->mem, event).ptr);
    if (after)
        path = pawl_mem_printf(cli->mem, "%s&after=%s", path.ptr, http_escape(cli->mem, after).ptr);
    pawl_status rc =
        remote_call(session->remote, "GET", path.ptr, (pawl_str){0}, NULL, cli->mem, &answer, err);
    *ret = answer.body;
    return rc;
}

static void put_row(struct cli *cli, struct table *t, pawl_str one)
{
    char ago[UNITS_BYTES];
    int64_t since = clock_wall_ms() - pawl_json_int(one, "/since", 0);
    pawl_str title = pawl_json_text(cli->mem, one, "/ask/title", "");
    table_put(t, pawl_json_text(cli->mem, one, "/instance", ""), TONE_BOLD);
    table_put(t, pawl_json_text(cli->mem, one, "/event", ""), TONE_NONE);
    table_put(t, pawl_s(format_duration(ago, since > 0 ? since : 0)), TONE_NONE);
    table_put(t, title.len ? title : pawl_json_text(cli->mem, one, "/ask/text", ""), TONE_NONE);
}

static void print(struct cli *cli, pawl_str all)
{
    static const struct table_column columns[] = {
        {.head = "INSTANCE"},
        {               .head = "EVENT"                 },
        { .head = "ASKED",                  .right = true},
        {                   .head = "WHAT",                  .flex = true},
    };
    struct json_iter it;
    struct table t;
    table_init(&t, cli, columns, COUNT_OF(columns));
    if (cli->args.output == OUTPUT_JSON)
        out_value(cli, all);
    for (json_begin(&it, pawl_json_get(all, "/asks")); json_next(&it);)
        if (cli->args.output == OUTPUT_JSONL)
            out_value(cli, it.value);
        else if (cli->args.output == OUTPUT_IDS)
            out_id(cli, pawl_json_text(cli->mem, it.value, "/instance", ""));
        else if (cli->args.output == OUTPUT_TABLE)
            put_row(cli, &t, it.value);
    if (cli->args.output == OUTPUT_TABLE)
        table_print(&t);
}

/* Every page, as {"asks":[…]}. */
static pawl_status read_all(struct cli *cli, struct session *session, pawl_str *ret,
                            pawl_error *err)
{
    const char *event = cli->word_count ? cli->words[0] : NULL, *after = NULL;
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "asks");
    pawl_json_array(w);
    do {
        pawl_str page;
        struct json_iter it;
        pawl_status rc = one_page(cli, session, event, after, &page, err);
        if (rc != PAWL_OK)
            return rc;
        for (json_begin(&it, pawl_json_get(page, "/asks")); json_next(&it);)
            json_put(w, it.value);
        pawl_str next = pawl_json_text(cli->mem, page, "/next", "");
        after = next.len ? next.ptr : NULL;
    } while (after);
    pawl_json_end(w);
    pawl_json_end(w);
    *ret = pawl_json_done(w);
    return PAWL_OK;
}

int verb_asks(struct cli *cli)
{
    struct session session;
    pawl_str all;
    pawl_error err;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (read_all(cli, &session, &all, &err) == PAWL_OK)
        print(cli, all);
    else
        status = cli_fail_error(cli, &err);
    session_close(&session);
    return status;
}
