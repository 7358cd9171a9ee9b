/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_ls.c -- ls: what is there.
 *
 * Works beside a running owner.  Pages are read until the limit is reached or
 * nothing is left: a store may answer with a short page.  --watch looks again
 * every second: a terminal gets the whole list again, a program the rows that changed.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "cli/out.h"
#include "cli/session.h"
#include "cli/watch.h"
#include "view/render.h"
#include "view/units.h"

#include <string.h>
#include <unistd.h>

#define LIST_DEFAULT 100
#define PAGE_MAX     1000
#define WATCH_MS     1000

/* What --watch printed last about an instance. */
struct told {
    int64_t updated_ms;
    uint64_t execution;
    pawl_state state;
};

/* One listing while it is printed. */
struct listing {
    struct cli *cli; /* its memory is the listing's */
    struct table table;
    pawl_json *w; /* -o json: the document */
    uint64_t count, shown;
    int64_t now_ms;
    struct map *told;  /* --watch for a program; NULL: every row is printed */
    pawl_mem *telling; /* where `told` keeps its rows */
};

static const struct table_column list_columns[] = {
    {.head = "INSTANCE",      .flex = true },
    {.head = "ORCHESTRATION", .flex = true },
    {.head = "VERSION",       .spare = true},
    {.head = "STATUS"       },
    {.head = "EXEC",          .right = true,              .spare = true},
    {.head = "CREATED",       .spare = true},
    {.head = "DETAIL",        .flex = true},
};

/* ---- Rows ------------------------------------------------------------------------ */

static void begin_listing(struct listing *l, struct cli *cli)
{
    *l = (struct listing){.cli = cli, .now_ms = clock_wall_ms()};
    table_init(&l->table, cli, list_columns, COUNT_OF(list_columns));
    if (cli->args.output != OUTPUT_JSON)
        return;
    l->w = pawl_json_new(cli->mem);
    pawl_json_object(l->w);
    pawl_json_key(l->w, "instances");
    pawl_json_array(l->w);
}

static void list_row(struct listing *l, const pawl_info *info)
{
    char text[UNITS_BYTES];
    table_put(&l->table, info->instance, TONE_NONE);
    table_put(&l->table, info->orchestration, TONE_NONE);
    table_put(&l->table, info->version, TONE_NONE);
    table_putf(&l->table, tone_of_state(info->state), "%s", pawl_state_name(info->state));
    table_putf(&l->table, TONE_NONE, "%llu", (unsigned long long)info->execution);
    table_putf(&l->table, TONE_DIM, "%.19sZ", format_time(text, info->created_ms));
    table_put(&l->table, render_detail(info), TONE_NONE);
}

/* Did it change since the last listing? */
static bool is_news(struct listing *l, const pawl_info *info)
{
    if (!l->told)
        return true;
    struct told now = {info->updated_ms, info->execution, info->state};
    struct told *before = map_gets(l->told, info->instance);
    if (before && before->updated_ms == now.updated_ms && before->state == now.state &&
        before->execution == now.execution)
        return false;
    if (!before) {
        before = pawl_mem_alloc(l->telling, sizeof(*before));
        (void)map_puts(l->told, pawl_mem_dup(l->telling, info->instance), before);
    }
    *before = now;
    return true;
}

/* `mem`: for what is needed until the row is printed. */
static void list_one(struct listing *l, pawl_mem *mem, const pawl_info *info)
{
    l->count++;
    if (!is_news(l, info))
        return;
    l->shown++;
    switch ((enum cli_output)l->cli->args.output) {
    case OUTPUT_TABLE:
        list_row(l, info);
        return;
    case OUTPUT_IDS:
        out_id(l->cli, info->instance);
        return;
    case OUTPUT_JSON:
    case OUTPUT_JSONL:
        break;
    }
    pawl_json *w = l->w ? l->w : pawl_json_new(mem);
    pawl_json_object(w);
    render_instance_members(w, l->w ? l->cli->mem : mem, info);
    pawl_json_end(w);
    if (!l->w)
        out_json(l->cli, w);
}

static void end_listing(struct listing *l, pawl_str next)
{
    struct cli *cli = l->cli;
    if (l->w) {
        pawl_json_end(l->w);
        render_text(l->w, "next", next);
        pawl_json_end(l->w);
        out_json(cli, l->w);
    } else if (cli->args.output == OUTPUT_TABLE && l->shown) {
        table_print(&l->table);
    }
    const struct args *a = &cli->args;
    if (a->watch)
        return;
    if (next.len && !l->w)
        cli_note(cli, "there is more: --after %.*s, or --all", PAWL_FMT(next));
    else if (l->count == 0 &&
             (a->status || a->orchestration || a->prefix || a->parent || a->since_ms))
        cli_note(cli, "no instance fits; all of them: %s ls", cli->prog);
    else if (!l->count)
        cli_note(cli, "no instances yet; begin with: %s run NAME --load FILE.so", cli->prog);
}

/* ---- Pages ------------------------------------------------------------------------ */

static uint64_t limit_of(const struct args *a)
{
    return a->limit ? a->limit : a->all ? UINT64_MAX : LIST_DEFAULT;
}

/* 0, or an exit status: the error was printed. */
static int read_where(struct cli *cli, pawl_where ret[CLI_LIST_MAX])
{
    pawl_error err;
    for (size_t i = 0; i < cli->args.where.count; i++)
        if (!pawl_where_parse(cli->mem, pawl_s(cli->args.where.items[i]), &ret[i], &err))
            return cli_fail(cli, EXIT_USAGE, "--where %s: %s", cli->args.where.items[i], err.text);
    return 0;
}

static pawl_filter filter_of(const struct args *a, const pawl_where *where, int64_t now_ms)
{
    return (pawl_filter){
        .size = sizeof(pawl_filter),
        .where = where,
        .where_count = a->where.count,
        .after = a->after,
        .state = a->status,
        .orchestration = a->orchestration,
        .prefix = a->prefix,
        .parent = a->parent,
        .created_after_ms = a->since_ms ? now_ms - a->since_ms : 0,
    };
}

/* ---- How many ------------------------------------------------------------------------ */

static void print_counts(struct cli *cli, pawl_str counts)
{
    static const struct table_column columns[] = {
        {.head = "VALUE", .flex = true },
        {.head = "COUNT", .right = true},
    };
    struct json_iter it;
    struct table t;
    table_init(&t, cli, columns, COUNT_OF(columns));
    if (cli->args.output == OUTPUT_JSON)
        out_value(cli, counts);
    for (json_begin(&it, pawl_json_get(counts, "/groups")); json_next(&it);) {
        if (cli->args.output == OUTPUT_JSONL)
            out_value(cli, it.value);
        if (cli->args.output != OUTPUT_TABLE)
            continue;
        pawl_str value = pawl_json_get(it.value, "/value");
        table_put(&t,
                  json_type(value) == JSON_STRING ? pawl_json_text(cli->mem, value, "", "") : value,
                  TONE_NONE);
        table_putf(&t, TONE_NONE, "%lld", (long long)pawl_json_int(it.value, "/count", 0));
    }
    if (cli->args.output == OUTPUT_TABLE)
        table_print(&t);
    if (pawl_json_bool(counts, "/more", false))
        cli_note(cli,
                 "there may be more: the first 1,000 values of 1,000,000 instances are counted");
}

static int count_them(struct cli *cli, struct session *session)
{
    const struct args *a = &cli->args;
    pawl_where where[CLI_LIST_MAX];
    pawl_str counts;
    pawl_error err;
    if (a->watch || a->after || a->limit || a->all || a->output == OUTPUT_IDS)
        return cli_fail(cli, EXIT_USAGE,
                        "--count-by counts all that match; leave out --watch, --after, --limit, "
                        "--all and -o ids");
    int bad = read_where(cli, where);
    if (bad)
        return bad;
    pawl_filter filter = filter_of(a, where, clock_wall_ms());
    pawl_status rc =
        session->remote
            ? remote_count(session->remote, &filter, a->count_by, cli->mem, &counts, &err)
            : pawl_client_count(session->client, &filter, a->count_by, cli->mem, &counts, &err);
    if (rc != PAWL_OK)
        return cli_fail_error(cli, &err);
    print_counts(cli, counts);
    return 0;
}

static int list_pages(struct listing *l, struct session *session)
{
    struct args *a = &l->cli->args;
    uint64_t limit = limit_of(a);
    char cursor[128] = "";
    pawl_where where[CLI_LIST_MAX];
    int bad = read_where(l->cli, where);
    if (bad)
        return bad;
    pawl_filter filter = filter_of(a, where, l->now_ms);
    pawl_mem *mem = pawl_mem_new();
    int status = 0;
    do {
        uint64_t left = limit - l->count;
        pawl_page page;
        pawl_error err;
        filter.limit = left < PAGE_MAX ? (uint32_t)left : PAGE_MAX;
        pawl_mem_reset(mem);
        if (session_list(session, &filter, mem, &page, &err) != PAWL_OK) {
            status = cli_fail_error(l->cli, &err);
            break;
        }
        for (size_t i = 0; i < page.count; i++)
            list_one(l, mem, &page.items[i]);
        (void)snprintf(cursor, sizeof(cursor), "%.*s", PAWL_FMT(page.next));
        filter.after = cursor;
    } while (cursor[0] && l->count < limit);
    pawl_mem_free(mem);
    if (!status)
        end_listing(l, pawl_s(cursor));
    return status;
}

/* ---- Again and again --------------------------------------------------------------- */

static int watch_rounds(struct cli *cli, struct session *session, struct watch *watch,
                        struct map *told)
{
    bool screen = isatty(STDOUT_FILENO) && cli->args.output == OUTPUT_TABLE;
    pawl_mem *telling = pawl_mem_new(), *mem = pawl_mem_new();
    struct cli round = *cli;
    int status = 0, signal_number;
    round.mem = mem;
    do {
        struct listing l;
        pawl_mem_reset(mem);
        begin_listing(&l, &round);
        l.told = screen ? NULL : told;
        l.telling = telling;
        if (screen)
            fputs("\033[H\033[J", stdout);
        status = list_pages(&l, session);
        fflush(stdout);
    } while (!status && !ferror(stdout) &&
             watch_next(watch, WATCH_MS, &signal_number) != WATCH_SIGNAL);
    pawl_mem_free(mem);
    pawl_mem_free(telling);
    return status;
}

static int list_again(struct cli *cli, struct session *session)
{
    struct watch watch;
    struct map told;
    if (cli->args.output == OUTPUT_JSON)
        return cli_fail(cli, EXIT_USAGE,
                        "--watch has no end, and -o json is one document; use -o jsonl");
    int status = watch_open(&watch, cli);
    if (status)
        return status;
    map_init(&told);
    status = watch_rounds(cli, session, &watch, &told);
    map_deinit(&told);
    watch_close(&watch);
    return status;
}

int verb_ls(struct cli *cli)
{
    struct session session;
    struct listing listing;
    if (cli->args.all && cli->args.limit)
        return cli_fail(cli, EXIT_USAGE, "--all and --limit contradict each other; give one");
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (cli->args.count_by) {
        status = count_them(cli, &session);
    } else if (cli->args.watch) {
        status = list_again(cli, &session);
    } else {
        begin_listing(&listing, cli);
        status = list_pages(&listing, &session);
    }
    session_close(&session);
    return status;
}
