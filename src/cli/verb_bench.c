/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_bench.c -- measure the engine on this disk, and what the disk allows.
 *
 * It makes a fresh directory on a real disk and measures there, one after another: a bare
 * fdatasync, the workload, the same rows written by bare SQLite.  Then it removes the directory,
 * unless --keep is given.  With a database server it is a fresh schema there, and there is no
 * comparison with SQLite.
 */
#include "base/clock.h"
#include "base/near.h"
#include "cli/bench/bench.h"
#include "cli/disk.h"
#include "cli/out.h"
#include "cli/session.h"
#include "pawl/postgres.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYNC_BUDGET_MS  500
#define CEILING_SECONDS 2.0

static const char *const workloads[] = {"hello",  "chain",  "fanout", "queue",
                                        "events", "timers", "replay"};

static int choose_workload(struct bench *b)
{
    struct cli *cli = b->cli;
    const char *word = cli->words[0], *near;
    for (size_t i = 0; i < COUNT_OF(workloads); i++) {
        if (strcmp(word, workloads[i]) != 0)
            continue;
        b->workload = (enum workload)i;
        b->steps = i == WORKLOAD_HELLO                           ? 1
                   : i == WORKLOAD_CHAIN || i == WORKLOAD_REPLAY ? cli->args.steps
                                                                 : cli->args.width;
        b->in_flight = cli->args.concurrency ? cli->args.concurrency : 1;
        b->instances = cli->args.instances;
        if (i == WORKLOAD_EVENTS || i == WORKLOAD_TIMERS)
            b->steps = 1;
        b->over_http = cli->args.url || cli->args.serve;
        if (b->over_http && i != WORKLOAD_HELLO && i != WORKLOAD_QUEUE)
            return cli_fail(cli, EXIT_USAGE,
                            "%s runs in process: leave out --serve and --url (PAWL_URL)", word);
        return 0;
    }
    near = nearest_word(word, workloads, COUNT_OF(workloads));
    return cli_fail(cli, EXIT_USAGE, "there is no workload '%s'; %s'%s'%s", word,
                    near ? "did you mean "
                         : "choose hello, chain, fanout, queue, events, timers or ",
                    near ? near : "replay", near ? "?" : "");
}

/* A schema that no other process has, in the database that the user named. */
static int choose_schema(struct bench *b, const char *store)
{
    if (strstr(store, "pawl_schema="))
        return cli_fail(b->cli, EXIT_USAGE,
                        "bench makes a schema of its own: leave out pawl_schema");
    b->url =
        pawl_mem_printf(b->cli->mem, "%s%cpawl_schema=pawl_bench_%lld_%ld", store,
                        strchr(store, '?') ? '&' : '?', (long long)clock_wall_ms(), (long)getpid())
            .ptr;
    b->kind = "postgres";
    return 0;
}

static int choose_store(struct bench *b)
{
    const char *store = b->cli->args.options.store;
    struct store_place place;
    bool known = store && store_place_read(store, &place);
    b->in_memory = known && place.kind == PLACE_NOTHING;
    b->kind = b->in_memory ? "memory" : "sqlite";
    if (b->in_memory && b->workload == WORKLOAD_REPLAY)
        return cli_fail(b->cli, EXIT_USAGE,
                        "replay opens its store again: leave out --store memory:");
    if (known && place.kind == PLACE_SERVER)
        return choose_schema(b, store);
    if (!store || b->in_memory || strcmp(store, "sqlite:") == 0 || strcmp(store, "sqlite") == 0)
        return 0;
    char shown[256];
    return cli_fail(b->cli, EXIT_USAGE,
                    "bench makes a database of its own: --store takes sqlite: or memory:, or "
                    "postgres://…, not '%s'",
                    store_url_shown(store, shown, sizeof(shown)));
}

static int make_directory(struct bench *b)
{
    struct cli *cli = b->cli;
    const char *parent = cli->args.options.data ? cli->args.options.data : ".";
    if (mkdir(parent, 0700) != 0 && errno != EEXIST)
        return cli_fail(cli, EXIT_NO_STORE, "cannot make '%s': %s", parent, strerror(errno));
    if (disk_is_memory(parent) && !b->in_memory && !b->url)
        return cli_fail(cli, EXIT_USAGE,
                        "'%s' is on %s, which never reaches a disk; name a directory on one with "
                        "--data DIR",
                        parent, disk_kind(parent));
    pawl_str name = pawl_mem_printf(cli->mem, "%s/bench-XXXXXX", parent);
    char *dir = pawl_mem_alloc(cli->mem, name.len + 1);
    memcpy(dir, name.ptr, name.len);
    b->dir = mkdtemp(dir);
    if (!b->dir)
        return cli_fail(cli, EXIT_NO_STORE, "cannot make a directory in '%s': %s", parent,
                        strerror(errno));
    return 0;
}

static int run_workload(struct bench *b, struct bench_result *r)
{
    switch (b->workload) {
    case WORKLOAD_QUEUE:
        return bench_queue(b, r);
    case WORKLOAD_EVENTS:
        return bench_events(b, r);
    case WORKLOAD_TIMERS:
        return bench_timers(b, r);
    case WORKLOAD_REPLAY:
        return bench_replay(b, r);
    case WORKLOAD_HELLO:
        if (b->over_http)
            return bench_hello_http(b, r);
        break;
    case WORKLOAD_CHAIN:
    case WORKLOAD_FANOUT:
        break;
    }
    return bench_load(b, r);
}

static int measure(struct bench *b, struct bench_result *r)
{
    struct cli *cli = b->cli;
    r->fdatasync_us = disk_sync_us(b->dir, SYNC_BUDGET_MS);
    if (r->fdatasync_us < 0)
        return cli_fail(cli, EXIT_NO_STORE, "cannot write in '%s': %s", b->dir, strerror(errno));
    int status = run_workload(b, r);
    if (status || b->in_memory || b->url || b->workload >= WORKLOAD_TIMERS)
        return status;
    double a_sync = (double)(b->workload == WORKLOAD_FANOUT ? r->steps : r->rounds) /
                    (double)(r->syncs ? r->syncs : 1);
    double seconds = r->seconds < CEILING_SECONDS ? r->seconds : CEILING_SECONDS;
    pawl_error err;
    r->ceiling_per_s = bare_sqlite(&(struct bare_load){b->workload, b->dir, b->in_flight, b->steps},
                                   a_sync < 1 ? 1 : (uint64_t)(a_sync + 0.5), seconds, &err);
    return r->ceiling_per_s < 0 ? cli_fail_error(cli, &err) : 0;
}

/* ---- The report ------------------------------------------------------------------------ */

void bench_number(pawl_json *w, const char *key, double value)
{
    pawl_json_key(w, key);
    if (value >= 100 || value == 0)
        pawl_json_num(w, (int64_t)(value + 0.5));
    else
        pawl_json_real(w, (double)(int64_t)(value * 100 + 0.5) / 100);
}

static void json_of_steps(const struct bench *b, const struct bench_result *r, pawl_json *w)
{
    pawl_json_key(w, b->workload == WORKLOAD_FANOUT ? "width" : "steps");
    pawl_json_num(w, b->steps);
    bench_number(w, "seconds", r->seconds);
    bench_number(w, "orchestrations", (double)r->orchestrations);
    bench_number(w, "orchestrations_per_s", (double)r->orchestrations / r->seconds);
    bench_number(w, "steps_per_s", (double)r->steps / r->seconds);
    bench_number(w, "p50_us", (double)r->p50_us);
    bench_number(w, "p99_us", (double)r->p99_us);
    bench_number(w, "step_p50_us", (double)r->step_p50_us);
    bench_number(w, "step_p99_us", (double)r->step_p99_us);
    if (b->workload == WORKLOAD_CHAIN && b->steps >= 100) {
        bench_number(w, "step_early_p50_us", (double)r->step_early_us);
        bench_number(w, "step_late_p50_us", (double)r->step_late_us);
    }
    bench_number(w, "fdatasync_us", r->fdatasync_us);
    bench_number(w, "syncs", b->in_memory ? 0 : (double)r->syncs);
    bench_number(w, "steps_per_sync", (double)r->steps / (double)(r->syncs ? r->syncs : 1));
    pawl_json_key(w, "store_ceiling_per_s");
    if (r->ceiling_per_s > 0)
        pawl_json_num(w, (int64_t)(r->ceiling_per_s + 0.5));
    else
        pawl_json_null(w);
    bench_number(w, "cpu_us_per_step", r->cpu_us / (double)(r->steps ? r->steps : 1));
}

static void json_of_waiting(const struct bench *b, const struct bench_result *r, pawl_json *w)
{
    bench_number(w, "instances", b->instances);
    if (b->workload != WORKLOAD_TIMERS)
        return;
    bench_number(w, "starts_per_s", r->starts_per_s);
    bench_number(w, "restart_ms", r->restart_ms);
    bench_number(w, "idle_cpu_us_per_s", r->idle_cpu_us_per_s);
    bench_number(w, "idle_rss_kb", (double)r->idle_rss_kb);
    bench_number(w, "bytes_each", r->bytes_each);
}

static void json_of_replay(const struct bench *b, const struct bench_result *r, pawl_json *w)
{
    bench_number(w, "steps", b->steps);
    bench_number(w, "seconds", r->seconds);
    bench_number(w, "load_ns_per_event", r->load_ns_per_event);
    bench_number(w, "replay_ns_per_event", r->replay_ns_per_event);
    bench_number(w, "wake_ms", r->wake_ms);
    bench_number(w, "fdatasync_us", r->fdatasync_us);
}

static void print_json(const struct bench *b, const struct bench_result *r)
{
    pawl_json *w = pawl_json_new(b->cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "workload");
    pawl_json_cstr(w, workloads[b->workload]);
    pawl_json_key(w, "store");
    pawl_json_cstr(w, b->kind);
    pawl_json_key(w, "concurrency");
    pawl_json_num(w, b->in_flight);
    if (b->workload == WORKLOAD_QUEUE)
        bench_queue_json(b, r, w);
    else if (b->workload == WORKLOAD_REPLAY)
        json_of_replay(b, r, w);
    else
        json_of_steps(b, r, w);
    if (b->workload == WORKLOAD_EVENTS || b->workload == WORKLOAD_TIMERS)
        json_of_waiting(b, r, w);
    bench_number(w, "rss_kb", (double)r->rss_kb);
    pawl_json_key(w, "filesystem");
    pawl_json_cstr(w, disk_kind(b->dir));
    pawl_json_key(w, "version");
    pawl_json_cstr(w, PAWL_VERSION);
    pawl_json_end(w);
    out_json(b->cli, w);
}

static void line(const char *name, const char *value, const char *remark)
{
    printf("  %-26s %14s  %s\n", name, value, remark);
}

static void line_rate(const char *name, double value, const char *remark)
{
    char text[UNITS_BYTES];
    line(name, format_count(text, (uint64_t)(value + 0.5)), remark);
}

static void print_waiting(const struct bench *b, const struct bench_result *r)
{
    char remark[80];
    bool timers = b->workload == WORKLOAD_TIMERS;
    printf("%s, %u waiting instances, %u in flight, %s on %s, %.1f s\n\n", workloads[b->workload],
           b->instances, b->in_flight, b->kind, disk_kind(b->dir), r->seconds);
    line_rate(timers ? "fired/s" : "events/s", (double)r->steps / r->seconds, "");
    snprintf(remark, sizeof(remark), "µs, p99 %lld", (long long)r->p99_us);
    line_rate(timers ? "late, median" : "raise to recorded, median", (double)r->p50_us, remark);
    line_rate("fdatasync, median", r->fdatasync_us, "µs, bare, same disk");
    if (timers) {
        line_rate("starts/s", r->starts_per_s, "");
        line_rate("restart to first turn", r->restart_ms, "ms");
        line_rate("idle, CPU", r->idle_cpu_us_per_s, "µs a second");
        line_rate("idle, memory", (double)r->idle_rss_kb, "KiB");
        line_rate("memory an instance", r->bytes_each, "bytes");
    }
    line_rate("resident memory", (double)r->rss_kb, "KiB");
}

static void print_replay(const struct bench *b, const struct bench_result *r)
{
    printf("replay of %u steps, %s on %s, %.1f s\n\n", b->steps, b->kind, disk_kind(b->dir),
           r->seconds);
    line_rate("load an event, median", r->load_ns_per_event, "ns, warm");
    line_rate("replay an event, median", r->replay_ns_per_event, "ns");
    line_rate("wake to end", r->wake_ms, "ms: load, replay, commit");
    line_rate("resident memory", (double)r->rss_kb, "KiB");
}

static void print_table(const struct bench *b, const struct bench_result *r)
{
    char text[UNITS_BYTES], remark[80];
    bool hello = b->workload == WORKLOAD_HELLO;
    double steps = (double)r->steps / r->seconds, whole = (double)r->orchestrations / r->seconds;
    printf("%s, %u in flight, %u step%s each, %s on %s, %.1f s\n\n", workloads[b->workload],
           b->in_flight, b->steps, b->steps == 1 ? "" : "s", b->kind, disk_kind(b->dir),
           r->seconds);
    line_rate("orchestrations/s", whole, "");
    line_rate("steps/s", steps, "");
    if (!b->in_memory && !b->url) {
        snprintf(remark, sizeof(remark), "%.0f %% of bare SQLite with the same rows",
                 100 * (hello ? whole : steps) / r->ceiling_per_s);
        line_rate(hello ? "ceiling, orchestrations/s" : "ceiling, steps/s", r->ceiling_per_s,
                  remark);
    }
    snprintf(remark, sizeof(remark), "µs, p99 %lld", (long long)r->p99_us);
    line_rate("orchestration, median", (double)r->p50_us, remark);
    snprintf(remark, sizeof(remark), "µs, p99 %lld, %.1f × fdatasync", (long long)r->step_p99_us,
             (double)r->step_p50_us / r->fdatasync_us);
    line_rate("step, median", (double)r->step_p50_us, remark);
    line_rate("fdatasync, median", r->fdatasync_us, "µs, bare, same disk");
    snprintf(text, sizeof(text), "%.1f", (double)r->steps / (double)(r->syncs ? r->syncs : 1));
    line("steps per sync", text, "");
    snprintf(text, sizeof(text), "%.1f", r->cpu_us / (double)(r->steps ? r->steps : 1));
    line("CPU per step", text, "µs, all threads");
    line_rate("resident memory", (double)r->rss_kb, "KiB");
}

static int clean_up(struct bench *b, int status)
{
    pawl_error err;
    char shown[256];
    if (b->cli->args.keep) {
        cli_note(b->cli, "the data is in %s",
                 b->url ? store_url_shown(b->url, shown, sizeof(shown)) : b->dir);
        return status;
    }
    disk_remove(b->dir);
    if (b->url && pawl_postgres_drop(b->url, &err) != PAWL_OK && !status)
        status = cli_fail_error(b->cli, &err);
    return status;
}

int verb_bench(struct cli *cli)
{
    struct bench bench = {.cli = cli};
    struct bench_result result = {0};
    struct watch watch;
    int status = choose_workload(&bench);
    if (!status)
        status = choose_store(&bench);
    if (!status)
        status = make_directory(&bench);
    if (status)
        return status;
    status = watch_open(&watch, cli);
    if (!status) {
        bench.watch = &watch;
        status = measure(&bench, &result);
        watch_close(&watch);
    }
    if (!status && (cli->args.json || cli->args.output != OUTPUT_TABLE))
        print_json(&bench, &result);
    else if (!status && bench.workload == WORKLOAD_QUEUE)
        bench_queue_table(&bench, &result);
    else if (!status && bench.workload == WORKLOAD_REPLAY)
        print_replay(&bench, &result);
    else if (!status && bench.workload >= WORKLOAD_EVENTS)
        print_waiting(&bench, &result);
    else if (!status)
        print_table(&bench, &result);
    return clean_up(&bench, status);
}
