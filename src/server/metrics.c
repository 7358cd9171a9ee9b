/* SPDX-License-Identifier: MIT */
/*
 * server/metrics.c -- GET /metrics: figures in the Prometheus text format.
 *
 * Every family is written once, with HELP and TYPE in front of all of its series.
 * Label values come from outside and are escaped.  Queues have series of their own
 * up to QUEUES_MAX (the first by name); all of them are in the sums.  Runs on a reader thread,
 * except metrics_answered().
 */
#include "base/clock.h"
#include "base/map.h"
#include "pawl/limit.h"
#include "server/handlers.h"
#include "server/queues.h"
#include "tables/counters.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define QUEUES_MAX 200 /* with series of their own */
#define LIMITS_MAX 200 /* the same */
#define PAGES_MAX  20  /* of a thousand queues: the sums go no further */
#define TEXT_MAX   (8 << 20)

static void family(struct buf *m, const char *name, const char *type, const char *help)
{
    buf_printf(m, "# HELP pawl_%s %s\n# TYPE pawl_%s %s\n", name, help, name, type);
}

static void metric(struct buf *m, const char *name, const char *type, const char *help,
                   double value)
{
    family(m, name, type, help);
    buf_printf(m, "pawl_%s %.17g\n", name, value);
}

/* ---- The runtime ------------------------------------------------------------------ */

#define COUNTER(field, name, help)                                                                 \
    {                                                                                              \
        name, "counter", help, offsetof(pawl_stats, field)                                         \
    }
#define GAUGE(field, name, help)                                                                   \
    {                                                                                              \
        name, "gauge", help, offsetof(pawl_stats, field)                                           \
    }

#define COUNTED(...) COUNTER(__VA_ARGS__),

/* clang-format off */
static const struct {
    const char *name, *type, *help;
    size_t at;
} numbers[] = {
    COUNTERS(COUNTED)
    COUNTER(store_damaged, "store_damaged_total", "rows met that are not what was written"),
    GAUGE(store_log_bytes, "store_log_bytes", "of the write-ahead log; a long reader lets it grow"),
    GAUGE(resident, "resident_fibers", "instances in memory"),
    GAUGE(inbox, "inbox_depth", "requests and results not yet looked at"),
    GAUGE(orchestrator_queue, "orchestrator_queue_depth", "messages stored"),
    GAUGE(worker_queue, "worker_queue_depth", "activity work stored"),
    GAUGE(timer_queue, "timer_queue_depth", "always 0: timers ride the orchestrator queue"),
    GAUGE(timers_near, "timers_near", "timers and delayed messages stored"),
    GAUGE(running_activities, "running_activities", "activities on worker threads now"),
};
/* clang-format on */

static void write_numbers(struct buf *m, const pawl_stats *stats)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const uint64_t *value = (const void *)((const char *)stats + numbers[i].at);
        metric(m, numbers[i].name, numbers[i].type, numbers[i].help, (double)*value);
    }
    metric(m, "commit_seconds_total", "counter", "time spent in commits, syncs included",
           (double)stats->commit_us / 1e6);
    metric(m, "healthy", "gauge", "1 while the engine makes progress", stats->healthy ? 1 : 0);
}

/* Instances an operator may have to look at, by state; "other": pending, running, completed. */
static void write_states(struct buf *m, const pawl_stats *s)
{
    const struct {
        const char *state;
        uint64_t count;
    } rows[] = {
        {"suspended", s->instances_suspended},
        {"blocked",   s->instances_blocked  },
        {"failed",    s->instances_failed   },
        {"cancelled", s->instances_cancelled}
    };
    uint64_t other = s->instances;
    family(m, "instances", "gauge", "instances stored; other: pending, running or completed");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf_printf(m, "pawl_instances{state=\"%s\"} %llu\n", rows[i].state,
                   (unsigned long long)rows[i].count);
        other -= rows[i].count < other ? rows[i].count : other;
    }
    buf_printf(m, "pawl_instances{state=\"other\"} %llu\n", (unsigned long long)other);
}

/* A histogram counts upwards; +Inf and the count must agree, so the buckets are the count. */
static void write_delays(struct buf *m, const pawl_stats *stats)
{
    static const char name[] = "activity_schedule_to_start_seconds";
    uint64_t sum = 0;
    family(m, name, "histogram", "how long attempts of activities were ready before they began");
    for (unsigned i = 0; i + 1 < PAWL_DELAY_BUCKETS; i++) {
        sum += stats->schedule_to_start[i];
        buf_printf(m, "pawl_%s_bucket{le=\"%.10g\"} %llu\n", name,
                   (double)pawl_delay_bound_ms(i) / 1000, (unsigned long long)sum);
    }
    sum += stats->schedule_to_start[PAWL_DELAY_BUCKETS - 1];
    buf_printf(m, "pawl_%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)sum);
    buf_printf(m, "pawl_%s_sum %.17g\npawl_%s_count %llu\n", name,
               (double)stats->schedule_to_start_ms / 1000, name, (unsigned long long)sum);
}

/* ---- By name -------------------------------------------------------------------------- */

static void put_label(struct buf *m, pawl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            buf_putc(m, '\\');
        if (text.ptr[i] == '\n')
            buf_puts(m, "\\n");
        else
            buf_putc(m, text.ptr[i]);
    }
}

static const struct {
    const char *word;
    pawl_tally_what what;
    bool of_orchestrations, of_activities;
} outcomes[] = {
    {"started",   PAWL_TALLY_STARTED,   true,  false},
    {"completed", PAWL_TALLY_COMPLETED, true,  true },
    {"failed",    PAWL_TALLY_FAILED,    true,  true },
    {"cancelled", PAWL_TALLY_CANCELLED, true,  false},
    {"retried",   PAWL_TALLY_RETRIED,   false, true },
};

static void write_tally(struct buf *m, const pawl_tally *t)
{
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        if (!(t->is_activity ? outcomes[i].of_activities : outcomes[i].of_orchestrations))
            continue;
        buf_puts(m, t->is_activity ? "pawl_activity_outcomes_total{activity=\""
                                   : "pawl_instances_total{orchestration=\"");
        put_label(m, t->name);
        buf_printf(m, "\",%s=\"%s\"} %llu\n", t->is_activity ? "outcome" : "event",
                   outcomes[i].word, (unsigned long long)t->counts[outcomes[i].what]);
    }
}

/* Names come from outside, so there are at most 200 of a kind; "" is all the others. */
static void write_tallies(struct buf *m, struct call *c, bool of_activities)
{
    const pawl_tally *list;
    size_t count = pawl_runtime_tallies(c->srv->rt, c->mem, &list);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (list[i].is_activity != of_activities)
            continue;
        if (!any && of_activities)
            family(m, "activity_outcomes_total", "counter",
                   "calls of activities, here and by remote workers; no name: all beyond 200");
        else if (!any)
            family(m, "instances_total", "counter",
                   "instances started and ended here, by orchestration; no name: all beyond 200");
        any = true;
        write_tally(m, &list[i]);
    }
}

/* ---- Limits --------------------------------------------------------------------------- */

static const struct {
    const char *name, *type, *help, *member;
} limit_numbers[] = {
    {"limit_in_use",          "gauge",   "attempts that have a place in a limit",        "/in_use"   },
    {"limit_waiting",         "gauge",   "calls that wait for a limit, as far as known", "/waiting"  },
    {"limit_throttled_total", "counter", "how often work began to wait for a rate",      "/throttled"},
};

/* The first LIMITS_MAX by name; none where the store has no limits. */
static void write_limits(struct buf *m, struct call *c)
{
    pawl_str list;
    if (pawl_limit_list(c->srv->client, NULL, NULL, LIMITS_MAX, c->mem, &list, NULL) != PAWL_OK ||
        pawl_json_count(list, "") < 1)
        return;
    for (size_t i = 0; i < COUNT_OF(limit_numbers); i++) {
        pawl_json_iter it = pawl_json_each(list, "");
        family(m, limit_numbers[i].name, limit_numbers[i].type, limit_numbers[i].help);
        while (pawl_json_next(&it)) {
            buf_printf(m, "pawl_%s{limit=\"", limit_numbers[i].name);
            put_label(m, pawl_json_text(c->mem, it.value, "/name", ""));
            buf_printf(m, "\"} %lld\n",
                       (long long)pawl_json_int(it.value, limit_numbers[i].member, 0));
        }
    }
}

/* ---- Queues ------------------------------------------------------------------------- */

#define QUEUE_COUNTER(field, name, help)                                                           \
    {                                                                                              \
        name, "counter", help, offsetof(pawl_queue_stats, field)                                   \
    }
#define QUEUE_GAUGE(field, name, help)                                                             \
    {                                                                                              \
        name, "gauge", help, offsetof(pawl_queue_stats, field)                                     \
    }

static const struct {
    const char *name, *type, *help;
    size_t at;
} queue_numbers[] = {
    QUEUE_GAUGE(ready, "ready", "items that can be popped"),
    QUEUE_GAUGE(delayed, "delayed", "items that wait for their time"),
    QUEUE_GAUGE(locked, "locked", "items under a lock"),
    QUEUE_GAUGE(locks, "locks", "live locks"),
    QUEUE_GAUGE(bytes, "bytes", "of all items"),
    QUEUE_COUNTER(pushed, "pushed_total", "items pushed"),
    QUEUE_COUNTER(popped, "popped_total", "items popped"),
    QUEUE_COUNTER(acked, "acked_total", "items acknowledged"),
    QUEUE_COUNTER(expired, "expired_total", "items whose lock ran out"),
    QUEUE_COUNTER(dead_lettered, "dead_lettered_total", "items given up to the dead letter queue"),
};

/* Queues the caller may see; those without series of their own only count. */
struct queues {
    const pawl_queue_stats *items[QUEUES_MAX];
    size_t count;
    uint64_t all, ready, delayed, locked;
};

static void collect(struct call *c, struct queues *q)
{
    pawl_queue_page page = {0};
    pawl_error err;
    const char *after = NULL;
    for (int i = 0; i < PAGES_MAX; i++) {
        if (pawl_queue_list(c->srv->client, NULL, after, 1000, c->mem, &page, &err) != PAWL_OK)
            return; /* a store without queues, or in trouble: health reports that */
        for (size_t k = 0; k < page.count; k++) {
            const pawl_queue_stats *s = &page.items[k];
            if (!guard_sees(c, s->name))
                continue;
            q->all++;
            q->ready += s->ready;
            q->delayed += s->delayed;
            q->locked += s->locked;
            if (q->count < QUEUES_MAX)
                q->items[q->count++] = s;
        }
        if (!page.next.len)
            return;
        after = page.next.ptr;
    }
}

static void put_series(struct buf *m, const char *name, pawl_str queue, double value)
{
    buf_printf(m, "pawl_queue_%s{queue=\"", name);
    put_label(m, queue);
    buf_printf(m, "\"} %.17g\n", value);
}

static void write_oldest(struct buf *m, const struct queues *q, int64_t now)
{
    family(m, "queue_ready_age_seconds", "gauge", "age of the item first in line; 0: none");
    for (size_t i = 0; i < q->count; i++) {
        int64_t since = q->items[i]->oldest_ms;
        put_series(m, "ready_age_seconds", q->items[i]->name,
                   since && now > since ? (double)(now - since) / 1000 : 0);
    }
}

static void write_queues(struct buf *m, struct call *c)
{
    struct queues q = {0};
    collect(c, &q);
    metric(m, "queues", "gauge", "queues", (double)q.all);
    metric(m, "queues_without_series", "gauge", "queues beyond the first 200 by name: in sums only",
           (double)(q.all - q.count));
    metric(m, "queues_ready", "gauge", "items that can be popped, all queues", (double)q.ready);
    metric(m, "queues_delayed", "gauge", "items that wait, all queues", (double)q.delayed);
    metric(m, "queues_locked", "gauge", "items under a lock, all queues", (double)q.locked);
    for (size_t i = 0; q.count && i < COUNT_OF(queue_numbers); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "queue_%s", queue_numbers[i].name);
        family(m, name, queue_numbers[i].type, queue_numbers[i].help);
        for (size_t k = 0; k < q.count; k++) {
            const char *row = (const char *)q.items[k];
            const uint64_t *value = (const void *)(row + queue_numbers[i].at);
            put_series(m, queue_numbers[i].name, q.items[k]->name, (double)*value);
        }
    }
    if (q.count)
        write_oldest(m, &q, pawl_client_now(c->srv->client));
}

/* ---- The server ---------------------------------------------------------------------- */

static const unsigned took_bounds_us[METRICS_BUCKETS - 1] = {
    250,   500,    1000,   2500,   5000,    10000,   25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

/* From the head of the request to its answer.  Long polls and streams are not counted: their
 * time says nothing about the server. */
void metrics_answered(struct call *c)
{
    if (c->place.waited || c->stream)
        return;
    pawl_server *s = c->srv;
    int64_t us = clock_mono_us() - c->began_us;
    unsigned bucket = 0;
    while (bucket < COUNT_OF(took_bounds_us) && us > took_bounds_us[bucket])
        bucket++;
    atomic_fetch_add_explicit(&s->n_took[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->took_us, (uint64_t)us, memory_order_relaxed);
}

static void write_took(struct buf *m, pawl_server *s)
{
    static const char name[] = "http_request_seconds";
    unsigned long long sum = 0;
    family(m, name, "histogram",
           "from a request's head to its answer, without those that wait by their own wish");
    for (unsigned i = 0; i < METRICS_BUCKETS; i++) {
        sum += atomic_load_explicit(&s->n_took[i], memory_order_relaxed);
        if (i < COUNT_OF(took_bounds_us))
            buf_printf(m, "pawl_%s_bucket{le=\"%.10g\"} %llu\n", name, took_bounds_us[i] / 1e6,
                       sum);
        else
            buf_printf(m, "pawl_%s_bucket{le=\"+Inf\"} %llu\n", name, sum);
    }
    buf_printf(m, "pawl_%s_sum %.17g\npawl_%s_count %llu\n", name,
               (double)atomic_load_explicit(&s->took_us, memory_order_relaxed) / 1e6, name, sum);
}

static void write_http(struct buf *m, pawl_server *s)
{
    buf_puts(m, "# HELP pawl_http_responses_total answers by class\n"
                "# TYPE pawl_http_responses_total counter\n");
    for (unsigned i = 2; i < 6; i++)
        buf_printf(m, "pawl_http_responses_total{class=\"%uxx\"} %llu\n", i,
                   (unsigned long long)atomic_load(&s->n_status[i]));
    metric(m, "http_requests_total", "counter", "requests", (double)atomic_load(&s->n_requests));
    metric(m, "http_dropped_total", "counter", "requests whose client was gone before any work",
           (double)atomic_load(&s->n_dropped));
    metric(m, "uptime_seconds", "gauge", "since the server started",
           (double)(clock_wall_ms() - s->started_ms) / 1000);
}

/* By their usual names, without a prefix. */
static void write_process(struct buf *m)
{
    struct rusage used;
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    getrusage(RUSAGE_SELF, &used);
    buf_printf(m,
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
    struct buf m;
    pawl_stats stats;
    pawl_runtime_stats(c->srv->rt, &stats);
    buf_init(&m, TEXT_MAX);
    family(&m, "info", "gauge", "version");
    buf_puts(&m, "pawl_info{version=\"" PAWL_VERSION "\"} 1\n");
    write_numbers(&m, &stats);
    write_states(&m, &stats);
    write_delays(&m, &stats);
    write_tallies(&m, c, false);
    write_tallies(&m, c, true);
    write_limits(&m, c);
    write_queues(&m, c);
    write_http(&m, c->srv);
    write_took(&m, c->srv);
    write_process(&m);
    answer_text(c, 200, "text/plain; version=0.0.4; charset=utf-8",
                pawl_mem_dup(c->mem, buf_slice(&m)));
    buf_deinit(&m);
}
