/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_limit.c -- pawl limit …: how much may run, from a shell.
 *
 * Each deed (a verb's second word) is a row: its words, the flags that it takes, and its call of the
 * HTTP API.
 */
#include "base/json.h"
#include "cli/deed_object.h"
#include "pawl/limit.h"
#include "view/units.h"

#include <string.h>

static const struct object_kind limits;

/* ---- Write ----------------------------------------------------------------------------- */

static int read_matches(struct cli *cli, pawl_limit_match *to)
{
    static const char word[] = "activity=";
    for (size_t i = 0; i < cli->args.match.count; i++) {
        const char *text = cli->args.match.items[i];
        if (strncmp(text, word, sizeof(word) - 1) != 0)
            return cli_fail(cli, EXIT_USAGE, "--match is '%s'; write activity=NAME", text);
        to[i].activity = text + sizeof(word) - 1;
    }
    return 0;
}

/* KEY=N; the key may hold a '='. */
static int read_weights(struct cli *cli, pawl_weight *to)
{
    for (size_t i = 0; i < cli->args.weight.count; i++) {
        const char *text = cli->args.weight.items[i], *mark = strrchr(text, '=');
        uint64_t n;
        if (!mark || mark == text || !parse_count(mark + 1, PAWL_LIMIT_WEIGHT_MAX, &n) || !n)
            return cli_fail(cli, EXIT_USAGE, "--weight is '%s'; write KEY=N, with N from 1 to %d",
                            text, PAWL_LIMIT_WEIGHT_MAX);
        to[i].key = pawl_mem_dup(cli->mem, (pawl_str){text, (size_t)(mark - text)}).ptr;
        to[i].weight = (uint32_t)n;
    }
    return 0;
}

static int check_put(struct cli *cli)
{
    const struct args *a = &cli->args;
    if (!a->match.count)
        return cli_fail(cli, EXIT_USAGE, "say what is limited: --match activity=NAME");
    if (!a->concurrency && !a->rate && !a->weight.count)
        return cli_fail(cli, EXIT_USAGE, "say how much: --concurrency N, or --rate N --per TIME");
    if ((a->rate != 0) != (a->per_ms != 0) || (a->burst && !a->rate))
        return cli_fail(cli, EXIT_USAGE,
                        "--rate, --per and --burst belong together: a number of "
                        "attempts in a time");
    return 0;
}

static int spec_of(struct cli *cli, pawl_str *ret)
{
    const struct args *a = &cli->args;
    pawl_limit_match *match =
        pawl_mem_alloc(cli->mem, (a->match.count + 1) * sizeof(pawl_limit_match));
    pawl_weight *weights = pawl_mem_alloc(cli->mem, (a->weight.count + 1) * sizeof(pawl_weight));
    pawl_error err;
    int status = read_matches(cli, match);
    if (!status)
        status = read_weights(cli, weights);
    if (status)
        return status;
    const pawl_limit *limit =
        PAWL_LIMIT_SPEC(.name = cli->words[1], .match = match, .match_count = a->match.count,
                        .by = (pawl_limit_by)a->by, .concurrency = a->concurrency,
                        .rate_count = a->rate, .rate_per_ms = a->per_ms, .rate_burst = a->burst,
                        .weights = weights, .weight_count = a->weight.count);
    if (pawl_limit_to_json(limit, cli->mem, ret, &err) != PAWL_OK)
        return cli_fail(cli, EXIT_USAGE, "%s", err.text);
    return 0;
}

static int run_write(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_str body = {0}, answer;
    int status = strcmp(deed->word, "put") == 0 ? spec_of(cli, &body) : 0;
    if (!status)
        status = deed_call(cli, s, deed->method, object_path(cli, &limits, ""), body,
                           object_condition(cli), &answer);
    if (!status)
        object_report(cli, answer, deed->list);
    return status;
}

/* ---- Look ------------------------------------------------------------------------------ */

/* "Charge, Refund*" */
static pawl_str matches_of(struct cli *cli, pawl_str limit)
{
    pawl_str all = {.ptr = ""};
    pawl_json_iter it = pawl_json_each(limit, "/spec/match");
    while (pawl_json_next(&it))
        all = pawl_mem_printf(cli->mem, "%.*s%s%.*s", PAWL_FMT(all), all.len ? ", " : "",
                              PAWL_FMT(pawl_json_text(cli->mem, it.value, "/activity", "")));
    return all;
}

/* "5 at a time, 100 in 1m 0s for each key" */
static pawl_str rule_of(struct cli *cli, pawl_str limit)
{
    int64_t places = pawl_json_int(limit, "/spec/concurrency", 0);
    int64_t count = pawl_json_int(limit, "/spec/rate/count", 0);
    pawl_str by = pawl_json_text(cli->mem, limit, "/spec/by", ""), text = {.ptr = ""};
    char per[UNITS_BYTES];
    if (places)
        text = pawl_mem_printf(cli->mem, "%lld at a time", (long long)places);
    if (count)
        text = pawl_mem_printf(cli->mem, "%.*s%s%lld in %s", PAWL_FMT(text), text.len ? ", " : "",
                               (long long)count,
                               format_duration(per, pawl_json_int(limit, "/spec/rate/per_ms", 0)));
    if (!text.len)
        text = pawl_s("shares");
    return pawl_mem_printf(cli->mem, "%.*s%s", PAWL_FMT(text),
                           pawl_str_is(by, "key")     ? " for each key"
                           : pawl_str_is(by, "first") ? " for each first level"
                                                      : "");
}

static void print_keys(struct cli *cli, pawl_str limit)
{
    static const struct table_column columns[] = {
        {.head = "KEY",     .flex = true },
        {.head = "IN USE",  .right = true},
        {.head = "WAITING", .right = true},
    };
    struct table t;
    pawl_json_iter it = pawl_json_each(limit, "/keys");
    table_init(&t, cli, columns, COUNT_OF(columns));
    while (pawl_json_next(&it)) {
        table_put(&t, pawl_json_text(cli->mem, it.value, "/key", ""), TONE_NONE);
        table_putf(&t, TONE_NONE, "%lld", (long long)pawl_json_int(it.value, "/in_use", 0));
        table_putf(&t, TONE_NONE, "%lld", (long long)pawl_json_int(it.value, "/waiting", 0));
    }
    if (pawl_json_count(limit, "/keys") > 0)
        table_print(&t);
}

static void print_limit(struct cli *cli, pawl_str limit)
{
    printf("%-10s %s\n", "limit", out_clean(cli->mem, pawl_s(cli->words[1])).ptr);
    printf("%-10s %s\n", "of", out_clean(cli->mem, matches_of(cli, limit)).ptr);
    printf("%-10s %s\n", "says", rule_of(cli, limit).ptr);
    printf("%-10s %lld\n", "revision", (long long)pawl_json_int(limit, "/revision", 0));
    printf("%-10s %lld in use, %lld waiting, throttled %lld times\n", "now",
           (long long)pawl_json_int(limit, "/in_use", 0),
           (long long)pawl_json_int(limit, "/waiting", 0),
           (long long)pawl_json_int(limit, "/throttled", 0));
    print_keys(cli, limit);
}

static void put_row(struct cli *cli, struct table *t, pawl_str limit)
{
    table_put(t, pawl_json_text(cli->mem, limit, "/name", ""), TONE_BOLD);
    table_put(t, rule_of(cli, limit), TONE_NONE);
    table_putf(t, TONE_NONE, "%lld", (long long)pawl_json_int(limit, "/in_use", 0));
    table_putf(t, TONE_NONE, "%lld", (long long)pawl_json_int(limit, "/waiting", 0));
    table_put(t, matches_of(cli, limit), TONE_DIM);
}

static const struct table_column columns[] = {
    {.head = "LIMIT"},
    { .head = "SAYS",   .flex = true},
    { .head = "IN USE",  .right = true},
    { .head = "WAITING",  .right = true},
    { .head = "OF",  .spare = true},
};

static const struct object_kind limits = {
    .path = "/api/v1/limits",
    .list = "limits",
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .put_row = put_row,
    .print = print_limit,
};

static int run_show(struct cli *cli, struct session *s, const struct deed *deed)
{
    (void)deed;
    return object_show(cli, s, &limits);
}

static int run_ls(struct cli *cli, struct session *s, const struct deed *deed)
{
    (void)deed;
    return object_ls(cli, s, &limits);
}

/* ---- The table ------------------------------------------------------------------------- */

/* clang-format off */
static const struct deed deeds[] = {
    {"put",  "NAME", 2, 2, "match by concurrency rate per burst weight if-revision", run_write, "PUT", "", NULL, "stored", NULL},
    {"ls",   "",     1, 1, "prefix limit after all", run_ls, "GET", "", NULL, NULL, NULL},
    {"show", "NAME", 2, 2, "", run_show, "GET", "", NULL, NULL, NULL},
    {"rm",   "NAME", 2, 2, "if-revision", run_write, "DELETE", "", NULL, "removed", NULL},
};
/* clang-format on */

int verb_limit(struct cli *cli)
{
    const struct deed *deed;
    int status = deed_find(cli, deeds, COUNT_OF(deeds), TAKES_LIMIT, &deed);
    if (!status && strcmp(deed->word, "put") == 0)
        status = check_put(cli);
    return status ? status : deed_run(cli, deed);
}
