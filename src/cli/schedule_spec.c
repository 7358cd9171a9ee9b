/* SPDX-License-Identifier: MIT */
/*
 * cli/schedule_spec.c -- see schedule_spec.h.
 *
 * The flags become a pawl_schedule, so the library says what is wrong with it, in the same
 * words as the server.
 */
#include "cli/schedule_spec.h"

#include "base/json.h"
#include "cli/out.h"
#include "view/units.h"

bool spec_says_when(const struct cli *cli)
{
    return cli->args.cron.count || cli->args.every_ms || cli->args.once.count;
}

static int take_times(struct cli *cli, pawl_schedule *s)
{
    const struct cli_list *list = &cli->args.once;
    int64_t *times = pawl_mem_alloc(cli->mem, (list->count + 1) * sizeof(*times));
    for (uint32_t i = 0; i < list->count; i++)
        if (!parse_time(list->items[i], &times[i]))
            return cli_fail(cli, EXIT_USAGE,
                            "--once takes a time such as 2026-10-25T00:30:00Z or "
                            "2026-10-25T02:30:00+02:00, not '%s'",
                            list->items[i]);
    s->at_ms = times;
    s->at_count = list->count;
    return 0;
}

int spec_times(struct cli *cli, pawl_schedule *ret)
{
    const struct args *a = &cli->args;
    const char **lines = pawl_mem_alloc(cli->mem, (a->cron.count + 1) * sizeof(*lines));
    for (uint32_t i = 0; i < a->cron.count; i++)
        lines[i] = a->cron.items[i];
    *ret = (pawl_schedule){.size = sizeof(*ret),
                           .cron = lines,
                           .every_ms = a->every_ms,
                           .offset_ms = a->offset_ms,
                           .zone = a->zone,
                           .gap = (pawl_dst_gap)a->gap,
                           .fold = (pawl_dst_fold)a->fold};
    return take_times(cli, ret);
}

static void print_table(struct cli *cli, pawl_str answer)
{
    pawl_str zone = pawl_json_text(cli->mem, answer, "/zone", "UTC");
    bool both = !pawl_str_is(zone, "UTC");
    const struct table_column columns[] = {{.head = "UTC"}, {.head = zone.ptr}};
    pawl_json_iter it = pawl_json_each(answer, "/next");
    struct table t;
    table_init(&t, cli, columns, both ? 2 : 1);
    while (pawl_json_next(&it)) {
        table_put(&t, pawl_json_text(cli->mem, it.value, "/utc", ""), TONE_NONE);
        if (both)
            table_put(&t, pawl_json_text(cli->mem, it.value, "/local", ""), TONE_NONE);
    }
    table_print(&t);
}

void spec_print_next(struct cli *cli, pawl_str answer)
{
    if (cli->args.output == OUTPUT_TABLE) {
        print_table(cli, answer);
        return;
    }
    if (cli->args.output == OUTPUT_JSON) {
        out_value(cli, answer);
        return;
    }
    pawl_json_iter it = pawl_json_each(answer, "/next");
    while (pawl_json_next(&it))
        if (cli->args.output == OUTPUT_JSONL)
            out_value(cli, it.value);
        else
            out_id(cli, pawl_json_text(cli->mem, it.value, "/utc", ""));
}
