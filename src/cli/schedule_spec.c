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
#include "cli/session.h"
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

int spec_all(struct cli *cli, pawl_schedule *ret)
{
    const struct args *a = &cli->args;
    int status = spec_times(cli, ret);
    if (status)
        return status;
    ret->from_ms = a->from_ms >= 0 ? a->from_ms : 0;
    ret->until_ms = a->to_ms >= 0 ? a->to_ms : 0;
    ret->jitter_ms = a->jitter_ms;
    ret->max_runs = a->max_runs;
    ret->overlap = (pawl_overlap)a->overlap;
    ret->queue_max = a->queue_max;
    ret->missed = (pawl_missed)a->missed;
    ret->missed_window_ms = a->missed_window_ms;
    ret->paused = a->paused;
    ret->pause_on_failure = a->pause_on_failure;
    ret->orchestration = a->start;
    ret->version = a->version;
    ret->queue = a->queue;
    ret->priority = a->priority == CLI_NOT_GIVEN ? 0 : (int64_t)a->priority;
    ret->allow_unregistered = a->allow_unregistered;
    return session_payload(cli, "--input", a->input, &ret->input);
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

/* ---- Stored schedules ----------------------------------------------------------------- */

/* "cron 30 2 * * *", "every 5m 0s", "3 times" */
static pawl_str when_of(struct cli *cli, pawl_str spec)
{
    char text[UNITS_BYTES];
    int64_t every = pawl_json_int(spec, "/every_ms", 0), times = pawl_json_count(spec, "/at_ms");
    pawl_str all = {.ptr = ""};
    pawl_json_iter it = pawl_json_each(spec, "/cron");
    if (every)
        return pawl_mem_printf(cli->mem, "every %s", format_duration(text, every));
    if (times >= 0)
        return pawl_mem_printf(cli->mem, "%lld times", (long long)times);
    while (pawl_json_next(&it))
        all = pawl_mem_printf(cli->mem, "%.*s%s%.*s", PAWL_FMT(all), all.len ? "; " : "",
                              PAWL_FMT(pawl_json_text(cli->mem, it.value, "", "")));
    return all.len ? all : pawl_json_text(cli->mem, spec, "/cron", "");
}

static pawl_str what_of(struct cli *cli, pawl_str spec)
{
    pawl_str queue = pawl_json_text(cli->mem, spec, "/queue", "");
    if (queue.len)
        return pawl_mem_printf(cli->mem, "queue %.*s", PAWL_FMT(queue));
    return pawl_json_text(cli->mem, spec, "/orchestration", "");
}

static const char *state_of(pawl_str schedule)
{
    if (pawl_json_get(schedule, "/finding").ptr)
        return "stuck";
    if (pawl_json_bool(schedule, "/paused", false))
        return "paused";
    return pawl_json_int(schedule, "/next_ms", 0) ? "active" : "ended";
}

static enum tone tone_of(const char *state)
{
    return state[0] == 's'   ? TONE_RED
           : state[0] == 'p' ? TONE_YELLOW
           : state[0] == 'a' ? TONE_GREEN
                             : TONE_DIM;
}

static void say_text(struct cli *cli, const char *label, pawl_str text)
{
    if (text.len)
        printf("%-10s %s\n", label, out_clean(cli->mem, text).ptr);
}

static void say_count(const char *label, pawl_str schedule, const char *pointer)
{
    int64_t n = pawl_json_int(schedule, pointer, 0);
    if (n)
        printf("%-10s %lld\n", label, (long long)n);
}

static void print_schedule(struct cli *cli, pawl_str schedule)
{
    pawl_str spec = pawl_json_get(schedule, "/spec");
    const char *state = state_of(schedule);
    printf("%s%s%s  %s%s%s  revision %lld\n", out_begin(cli, stdout, TONE_BOLD),
           out_clean(cli->mem, pawl_json_text(cli->mem, schedule, "/name", "")).ptr,
           out_end(cli, stdout), out_begin(cli, stdout, tone_of(state)), state,
           out_end(cli, stdout), (long long)pawl_json_int(schedule, "/revision", 0));
    say_text(cli, "when", when_of(cli, spec));
    say_text(cli, "what", what_of(cli, spec));
    say_text(cli, "reason", pawl_json_text(cli->mem, schedule, "/reason", ""));
    say_text(cli, "finding", pawl_json_text(cli->mem, schedule, "/finding", ""));
    say_text(cli, "open run", pawl_json_text(cli->mem, schedule, "/open", ""));
    say_text(cli, "last run", pawl_json_text(cli->mem, schedule, "/last_run/instance", ""));
    say_count("runs", schedule, "/runs");
    say_count("missed", schedule, "/missed");
    say_count("skipped", schedule, "/skipped");
    if (pawl_json_count(schedule, "/next") > 0)
        print_table(cli, schedule);
}

/* clang-format off */
static const struct table_column columns[] = {
    {.head = "NAME", .flex = true}, {.head = "STATE"}, {.head = "NEXT"}, {.head = "LOCAL"},
    {.head = "WHEN", .flex = true}, {.head = "WHAT", .spare = true}, {.head = "RUNS", .right = true},
};
/* clang-format on */

static void put_row(struct cli *cli, struct table *t, pawl_str one)
{
    pawl_mem *mem = cli->mem;
    pawl_str spec = pawl_json_get(one, "/spec");
    const char *state = state_of(one);
    table_put(t, pawl_json_text(mem, one, "/name", ""), TONE_BOLD);
    table_put(t, pawl_s(state), tone_of(state));
    table_put(t, pawl_json_text(mem, one, "/next/0/utc", "-"), TONE_NONE);
    table_put(t, pawl_json_text(mem, one, "/next/0/local", "-"), TONE_NONE);
    table_put(t, when_of(cli, spec), TONE_NONE);
    table_put(t, what_of(cli, spec), TONE_NONE);
    table_putf(t, TONE_NONE, "%lld", (long long)pawl_json_int(one, "/runs", 0));
}

const struct object_kind schedules = {
    .path = "/api/v1/schedules",
    .list = "schedules",
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .put_row = put_row,
    .print = print_schedule,
};
