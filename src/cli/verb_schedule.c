/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_schedule.c -- pawl schedule …: what happens again and again, from a shell.
 */
#include "base/clock.h"
#include "cli/deed.h"
#include "cli/schedule_spec.h"
#include "view/schedule_view.h"

#include <string.h>

#define PREVIEW_DEFAULT 10
#define PREVIEW_MAX     1000 /* as of a server */

/* Of the schedule that the flags describe: nothing is asked of a server. */
static int preview(struct cli *cli)
{
    pawl_schedule s;
    pawl_error err;
    size_t n;
    uint32_t count = cli->args.count ? cli->args.count : PREVIEW_DEFAULT;
    int64_t from = cli->args.from_ms >= 0 ? cli->args.from_ms : clock_wall_ms();
    int64_t *at = pawl_mem_alloc(cli->mem, PREVIEW_MAX * sizeof(*at));
    if (count > PREVIEW_MAX)
        return cli_fail(cli, EXIT_USAGE, "--count is %u, the limit is %d; use --from for more",
                        count, PREVIEW_MAX);
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

int verb_schedule(struct cli *cli)
{
    if (strcmp(cli->words[0], "next") != 0)
        return cli_fail(cli, EXIT_USAGE, "there is no 'schedule %s'; there is: next",
                        cli->words[0]);
    return preview(cli);
}
