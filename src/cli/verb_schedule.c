/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_schedule.c -- pawl schedule …: what happens again and again, from a shell.
 *
 * Each deed (a verb's second word) is a row: its words, the flags that it takes, and its call of the
 * HTTP API.
 * `next` without a name asks no server: the library knows.
 */
#include "base/clock.h"
#include "base/json.h"
#include "cli/deed_object.h"
#include "cli/schedule_spec.h"
#include "view/schedule_view.h"

#include <string.h>

#define PREVIEW_DEFAULT 10
#define PREVIEW_MAX     1000 /* a server has the same limit */

/* ---- When ------------------------------------------------------------------------------ */

/* Preview the schedule that the flags describe.  No server is asked. */
static int preview(struct cli *cli, uint32_t count)
{
    pawl_schedule s;
    pawl_error err;
    size_t n;
    int64_t from = cli->args.from_ms >= 0 ? cli->args.from_ms : clock_wall_ms();
    int64_t *at = pawl_mem_alloc(cli->mem, PREVIEW_MAX * sizeof(*at));
    int status = spec_times(cli, &s);
    if (status)
        return status;
    s.until_ms = cli->args.to_ms >= 0 ? cli->args.to_ms : 0;
    if (pawl_schedule_next(&s, from - 1, at, count, &n, &err) != PAWL_OK)
        return cli_fail(cli, EXIT_USAGE, "%s", err.text);
    pawl_json *w = pawl_json_new(cli->mem);
    render_preview(w, s.zone, at, n);
    spec_print_next(cli, pawl_json_done(w));
    return EXIT_OK;
}

static int run_next(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_str answer, path = deed_with_number(cli, object_path(cli, &schedules, deed->path), "count",
                                             cli->args.count ? cli->args.count : PREVIEW_DEFAULT);
    if (cli->args.from_ms >= 0)
        path = deed_with_number(cli, path, "from", (uint64_t)cli->args.from_ms);
    int status = deed_call(cli, s, "GET", path, (pawl_str){0}, NULL, &answer);
    if (!status)
        spec_print_next(cli, answer);
    return status;
}

static int check_next(struct cli *cli)
{
    if (cli->args.count > PREVIEW_MAX)
        return cli_fail(cli, EXIT_USAGE, "--count is %u, the limit is %d; use --from for more",
                        cli->args.count, PREVIEW_MAX);
    if (cli->word_count == 2 && (spec_says_when(cli) || cli->args.zone || cli->args.to_ms >= 0))
        return cli_fail(cli, EXIT_USAGE,
                        "'schedule next %s' asks the stored schedule; leave out its name, or the "
                        "flags that say when",
                        cli->words[1]);
    return 0;
}

/* ---- Write ----------------------------------------------------------------------------- */

static int run_put(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_schedule spec;
    pawl_str body, answer;
    pawl_error err;
    int status = spec_all(cli, &spec);
    if (status)
        return status;
    if (pawl_schedule_to_json(&spec, cli->mem, &body, &err) != PAWL_OK)
        return cli_fail(cli, EXIT_USAGE, "%s", err.text);
    status = deed_call(cli, s, deed->method, object_path(cli, &schedules, ""), body,
                       object_condition(cli), &answer);
    if (status)
        return status;
    if (cli->args.output == OUTPUT_JSON)
        out_value(cli, answer);
    else if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(cli->words[1]));
    else
        spec_print_next(cli, answer);
    return EXIT_OK;
}

static int body_of_pause(struct cli *cli, pawl_json *w)
{
    deed_text(w, "reason", cli->args.reason);
    return 0;
}

static int body_of_backfill(struct cli *cli, pawl_json *w)
{
    pawl_schedule spec;
    pawl_str json;
    pawl_error err;
    if (cli->args.from_ms < 0 || cli->args.to_ms < 0)
        return cli_fail(cli, EXIT_USAGE, "say which time: --from and --to");
    if (cli->args.overlap != PAWL_OVERLAP_SKIP && cli->args.overlap != PAWL_OVERLAP_ALLOW)
        return cli_fail(cli, EXIT_USAGE,
                        "'schedule backfill' takes --overlap allow; without it one run follows the "
                        "other");
    pawl_json_key(w, "from_ms");
    pawl_json_num(w, cli->args.from_ms);
    pawl_json_key(w, "to_ms");
    pawl_json_num(w, cli->args.to_ms);
    pawl_json_key(w, "allow");
    pawl_json_truth(w, cli->args.overlap == PAWL_OVERLAP_ALLOW);
    if (!spec_says_when(cli))
        return 0;
    int status = spec_times(cli, &spec);
    if (!status && pawl_schedule_to_json(&spec, cli->mem, &json, &err) != PAWL_OK)
        status = cli_fail(cli, EXIT_USAGE, "%s", err.text);
    if (!status) {
        pawl_json_key(w, "spec");
        pawl_json_raw(w, json);
    }
    return status;
}

/* If a run was started, print its id; else what was done. */
static void report(struct cli *cli, pawl_str answer, const char *done)
{
    pawl_str instance = pawl_json_text(cli->mem, answer, "/instance", "");
    if (instance.len && (cli->args.output == OUTPUT_IDS || cli->args.output == OUTPUT_TABLE))
        out_id(cli, instance);
    else
        object_report(cli, answer, done);
}

static int run_steer(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_str body = {0}, answer = {0};
    const char *match = object_condition(cli), *key;
    int status = deed_key_header(cli, 0, &key);
    if (!status && deed->body) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        status = deed->body(cli, w);
        pawl_json_end(w);
        body = pawl_json_done(w);
    }
    if (!status)
        status = deed_call(cli, s, deed->method, object_path(cli, &schedules, deed->path), body,
                           match ? match : key, &answer);
    if (!status)
        report(cli, answer, deed->list);
    return status;
}

/* ---- Look ------------------------------------------------------------------------------ */

static int run_show(struct cli *cli, struct session *s, const struct deed *deed)
{
    (void)deed;
    return object_show(cli, s, &schedules);
}

static int run_ls(struct cli *cli, struct session *s, const struct deed *deed)
{
    (void)deed;
    return object_ls(cli, s, &schedules);
}

/* ---- The table ------------------------------------------------------------------------- */

#define WHEN "cron every offset once zone gap fold from to"

/* clang-format off */
static const struct deed deeds[] = {
    {"put",      "NAME",   2, 2, WHEN " start version queue priority input jitter max-runs overlap queue-max missed missed-window "
                                 "paused pause-on-failure allow-unregistered if-revision", run_put, "PUT", "", NULL, NULL, NULL},
    {"ls",       "",       1, 1, "prefix limit after all", run_ls, "GET", "", NULL, NULL, NULL},
    {"show",     "NAME",   2, 2, "", run_show, "GET", "", NULL, NULL, NULL},
    {"next",     "[NAME]", 1, 2, "count " WHEN, run_next, "GET", "/next", NULL, NULL, NULL},
    {"pause",    "NAME",   2, 2, "reason", run_steer, "POST", "/pause", body_of_pause, "paused", NULL},
    {"resume",   "NAME",   2, 2, "", run_steer, "POST", "/resume", NULL, "resumed", NULL},
    {"run",      "NAME",   2, 2, "key", run_steer, "POST", "/trigger", NULL, "started", NULL},
    {"backfill", "NAME",   2, 2, WHEN " overlap", run_steer, "POST", "/backfill", body_of_backfill, "backfill begun", NULL},
    {"rm",       "NAME",   2, 2, "if-revision", run_steer, "DELETE", "", NULL, "removed", NULL},
};
/* clang-format on */

int verb_schedule(struct cli *cli)
{
    const struct deed *deed;
    int status = deed_find(cli, deeds, COUNT_OF(deeds), TAKES_SCHEDULE, &deed);
    if (!status && deed->run == run_next)
        status = check_next(cli);
    if (!status && deed->run == run_next && cli->word_count == 1)
        return preview(cli, cli->args.count ? cli->args.count : PREVIEW_DEFAULT);
    return status ? status : deed_run(cli, deed);
}
