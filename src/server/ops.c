/* SPDX-License-Identifier: MIT */
/*
 * server/ops.c -- health, readiness, version, metrics, and the front page.
 *
 * Health means progress: the runtime says so itself (the engine thread is alive,
 * no turn hangs, the store takes commits), not that a port is open.
 */
#include "server/handlers.h"

#include "base/clock.h"
#include "base/map.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void handle_root(struct call *c)
{
    static const char page[] =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pawl</title>"
        "<h1>Pawl</h1><p>Durable execution and durable queues. The API is described at "
        "<a href=\"/openapi.json\">/openapi.json</a>; workflows are under "
        "<a href=\"/api/v1/instances\">/api/v1/instances</a>, queues under "
        "<a href=\"/queue\">/queue</a>; see also <a href=\"/health\">/health</a> and "
        "<a href=\"/metrics\">/metrics</a>.</p></html>\n";
    answer_text(c, 200, "text/html; charset=utf-8", (pawl_str){page, sizeof(page) - 1});
}

static void write_who(struct call *c, pawl_json *w)
{
    pawl_json_key(w, "service");
    pawl_json_cstr(w, "pawl");
    if (!c->trusted)
        return;
    pawl_json_key(w, "version");
    pawl_json_cstr(w, PAWL_VERSION);
}

void handle_health(struct call *c)
{
    char trouble[200];
    bool healthy = pawl_runtime_healthy(c->srv->rt, trouble); /* on the loop: no counting */
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, healthy ? "healthy" : "unhealthy");
    write_who(c, w);
    if (!healthy) {
        pawl_json_key(w, "reason");
        pawl_json_cstr(w, c->trusted ? trouble : "no progress");
        c->answer.retry_after = 1;
    }
    pawl_json_end(w);
    answer_json(c, healthy ? 200 : 503, w);
}

void handle_ready(struct call *c)
{
    bool ready = !atomic_load(&c->srv->draining); /* recovery is done before we listen */
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, ready ? "ready" : "stopping");
    pawl_json_end(w);
    answer_json(c, ready ? 200 : 503, w);
}

void handle_version(struct call *c)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    write_who(c, w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- Metrics ---------------------------------------------------------------------- */

struct metrics {
    struct buf text;
};

static void metric(struct metrics *m, const char *name, const char *type, const char *help,
                   double value)
{
    buf_printf(&m->text, "# HELP pawl_%s %s\n# TYPE pawl_%s %s\npawl_%s %.17g\n", name, help, name,
               type, name, value);
}

#define COUNTER(field, name, help)                                                                 \
    {                                                                                              \
        name, "counter", help, offsetof(pawl_stats, field)                                         \
    }
#define GAUGE(field, name, help)                                                                   \
    {                                                                                              \
        name, "gauge", help, offsetof(pawl_stats, field)                                           \
    }

static const struct {
    const char *name, *type, *help;
    size_t at;
} numbers[] = {
    COUNTER(turns, "turns_total", "turns of orchestrations"),
    COUNTER(rounds, "rounds_total", "rounds committed; by commits: rounds per commit"),
    COUNTER(commits, "commits_total", "group commits, one sync each"),
    COUNTER(events, "events_total", "history events appended"),
    COUNTER(activities_started, "activity_attempts_total", "activity attempts begun here"),
    COUNTER(activities_completed, "activities_completed_total", "activities completed"),
    COUNTER(activities_failed, "activities_failed_total", "activities failed for good"),
    COUNTER(activities_retried, "activities_retried_total", "attempts followed by another"),
    COUNTER(timers_fired, "timers_fired_total", "timers fired"),
    COUNTER(replays, "replays_total", "histories replayed"),
    COUNTER(replayed_events, "replayed_events_total", "events replayed"),
    COUNTER(evictions, "evictions_total", "fibers dropped from memory"),
    COUNTER(mismatches, "parked_total", "turns parked: code does not fit its history"),
    COUNTER(quarantined, "quarantined_total", "messages and work given up"),
    COUNTER(store_errors, "store_errors_total", "commits that failed"),
    GAUGE(resident, "resident_fibers", "instances in memory"),
    GAUGE(inbox, "inbox_depth", "requests and results not yet looked at"),
    GAUGE(orchestrator_queue, "orchestrator_queue_depth", "messages stored"),
    GAUGE(worker_queue, "worker_queue_depth", "activity work stored"),
    GAUGE(timer_queue, "timer_queue_depth", "always 0: timers ride the orchestrator queue"),
    GAUGE(timers_near, "timers_near", "timers that are due soon"),
    GAUGE(running_activities, "running_activities", "activities on worker threads now"),
};

static void write_http(struct metrics *m, pawl_server *s)
{
    buf_puts(&m->text, "# HELP pawl_http_responses_total answers by class\n"
                       "# TYPE pawl_http_responses_total counter\n");
    for (unsigned i = 2; i < 6; i++)
        buf_printf(&m->text, "pawl_http_responses_total{class=\"%uxx\"} %llu\n", i,
                   (unsigned long long)atomic_load(&s->n_status[i]));
    metric(m, "http_requests_total", "counter", "requests", (double)atomic_load(&s->n_requests));
    metric(m, "uptime_seconds", "gauge", "since the server started",
           (double)(clock_wall_ms() - s->started_ms) / 1000);
}

/* By their usual names, without a prefix. */
static void write_process(struct metrics *m)
{
    struct rusage used;
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    getrusage(RUSAGE_SELF, &used);
    buf_printf(&m->text,
               "# HELP process_cpu_seconds_total user and system time\n"
               "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.6f\n"
               "# HELP process_resident_memory_bytes memory in use\n"
               "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %lu\n",
               (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
               resident * (unsigned long)sysconf(_SC_PAGESIZE));
}

void handle_metrics(struct call *c)
{
    struct metrics m;
    pawl_stats stats;
    pawl_runtime_stats(c->srv->rt, &stats);
    buf_init(&m.text, 4 << 20);
    buf_puts(&m.text,
             "# HELP pawl_info version\n# TYPE pawl_info gauge\npawl_info{version=\"" PAWL_VERSION
             "\"} 1\n");
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const uint64_t *value = (const void *)((const char *)&stats + numbers[i].at);
        metric(&m, numbers[i].name, numbers[i].type, numbers[i].help, (double)*value);
    }
    metric(&m, "commit_seconds_total", "counter", "time spent in commits, syncs included",
           (double)stats.commit_us / 1e6);
    metric(&m, "healthy", "gauge", "1 while the engine makes progress", stats.healthy ? 1 : 0);
    write_http(&m, c->srv);
    write_process(&m);
    answer_text(c, 200, "text/plain; version=0.0.4; charset=utf-8",
                pawl_mem_dup(c->mem, buf_slice(&m.text)));
    buf_deinit(&m.text);
}
