/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_worker.c -- pawl worker ls: the workers that poll a server, and the work they have.
 *
 * Only the server knows (GET /api/v1/workers).
 */
#include "base/clock.h"
#include "base/json.h"
#include "cli/deed.h"
#include "cli/out.h"
#include "view/units.h"

#include <string.h>

/* The texts of an array, with blanks between them. */
static pawl_str joined(struct cli *cli, pawl_str array)
{
    pawl_str all = {.ptr = ""};
    struct json_iter it;
    if (array.ptr)
        for (json_begin(&it, array); json_next(&it);)
            all = pawl_mem_printf(cli->mem, "%.*s%s%.*s", PAWL_FMT(all), all.len ? " " : "",
                                  PAWL_FMT(pawl_json_text(cli->mem, it.value, "", "")));
    return all;
}

static size_t length(pawl_str array)
{
    size_t n = 0;
    struct json_iter it;
    if (array.ptr)
        for (json_begin(&it, array); json_next(&it);)
            n++;
    return n;
}

static void put_row(struct cli *cli, struct table *t, pawl_str one)
{
    char ago[UNITS_BYTES];
    table_put(t, pawl_json_text(cli->mem, one, "/worker", ""), TONE_BOLD);
    table_put(t, pawl_s(format_duration(ago, clock_wall_ms() - pawl_json_int(one, "/seen_at", 0))),
              TONE_NONE);
    table_putf(t, TONE_NONE, "%zu", length(pawl_json_get(one, "/leases")));
    table_put(t, joined(cli, pawl_json_get(one, "/activities")), TONE_NONE);
    table_put(t, joined(cli, pawl_json_get(one, "/tags")), TONE_DIM);
}

static int print(struct cli *cli, pawl_str answer)
{
    static const struct table_column columns[] = {
        {.head = "WORKER"},
        { .head = "SEEN",   .right = true},
        { .head = "HAS",   .right = true},
        { .head = "ACTIVITIES",    .flex = true},
        { .head = "TAGS",   .spare = true},
    };
    pawl_str items = pawl_json_get(answer, "/items");
    struct json_iter it;
    struct table t;
    table_init(&t, cli, columns, COUNT_OF(columns));
    if (cli->args.output == OUTPUT_JSON) {
        out_value(cli, answer);
        return EXIT_OK;
    }
    for (json_begin(&it, items); json_next(&it);)
        if (cli->args.output == OUTPUT_JSONL)
            out_value(cli, it.value);
        else if (cli->args.output == OUTPUT_IDS)
            out_id(cli, pawl_json_text(cli->mem, it.value, "/worker", ""));
        else
            put_row(cli, &t, it.value);
    if (cli->args.output == OUTPUT_TABLE)
        table_print(&t);
    return EXIT_OK;
}

int verb_worker(struct cli *cli)
{
    struct session session;
    pawl_str answer = {0};
    if (strcmp(cli->words[0], "ls") != 0)
        return cli_fail(cli, EXIT_USAGE, "there is no 'worker %s'; there is: ls", cli->words[0]);
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    status =
        deed_call(cli, &session, "GET", pawl_s("/api/v1/workers"), (pawl_str){0}, NULL, &answer);
    if (!status)
        status = print(cli, answer);
    session_close(&session);
    return status;
}
