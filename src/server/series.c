/* SPDX-License-Identifier: MIT */
/* server/series.c -- see series.h.  Called by instance_wait.c (the feed) and overview.c. */
#include "server/series.h"

#include "base/clock.h"
#include "server/census.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    uint64_t of[SERIES_COUNT];
    uint64_t delays[PAWL_DELAY_BUCKETS]; /* attempts of activities, by how long they were ready */
};

struct second {
    int64_t at; /* since 1970 */
    struct sums added;
};

struct series {
    pawl_runtime *rt;
    struct census *census;
    atomic_llong now;     /* the second that goes on */
    pthread_mutex_t lock; /* guards the rest */
    struct sums sums;
    struct second ring[SERIES_SECONDS]; /* second t at t % SERIES_SECONDS */
};

static void read_sums(struct series *t, struct sums *ret)
{
    uint64_t *sums = ret->of;
    pawl_stats stats;
    struct census_flow flow = census_flow(t->census);
    pawl_runtime_counters(t->rt, &stats);
    sums[SERIES_starts] = flow.starts;
    sums[SERIES_ended] = flow.ended;
    sums[SERIES_failed] = flow.failed;
    sums[SERIES_turns] = stats.turns;
    sums[SERIES_activities] = stats.activities_completed + stats.activities_failed;
    sums[SERIES_retried] = stats.activities_retried;
    sums[SERIES_commits] = stats.commits;
    sums[SERIES_commit_us] = stats.commit_us;
    memcpy(ret->delays, stats.schedule_to_start, sizeof(ret->delays));
}

static void add(uint64_t *added, uint64_t *known, const uint64_t *sums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sums[i] <= known[i]) /* another thread read them later, and was first */
            continue;
        added[i] += sums[i] - known[i];
        known[i] = sums[i];
    }
}

/* What was added since the last look goes into the second that went on then. */
static void flush(struct series *t, int64_t now)
{
    struct sums sums;
    read_sums(t, &sums);
    pthread_mutex_lock(&t->lock);
    int64_t at = atomic_load(&t->now);
    struct second *s = &t->ring[(size_t)at % SERIES_SECONDS];
    if (s->at != at)
        *s = (struct second){.at = at};
    add(s->added.of, t->sums.of, sums.of, SERIES_COUNT);
    add(s->added.delays, t->sums.delays, sums.delays, PAWL_DELAY_BUCKETS);
    if (now > at)
        atomic_store(&t->now, now);
    pthread_mutex_unlock(&t->lock);
}

void series_look(struct series *t)
{
    int64_t now = clock_wall_ms() / 1000;
    if (now > atomic_load_explicit(&t->now, memory_order_relaxed))
        flush(t, now);
}

static void write_one(const struct series *t, pawl_json *w, size_t name, int64_t first,
                      int64_t last)
{
    pawl_json_array(w);
    for (int64_t at = first; at <= last; at++) {
        const struct second *s = &t->ring[(size_t)at % SERIES_SECONDS];
        pawl_json_num(w, s->at == at ? (int64_t)s->added.of[name] : 0);
    }
    pawl_json_end(w);
}

/* The time that `percent` of the attempts of a second were ready at most before they began, within
 * its bucket as if they were spread evenly; -1: none began. */
static int64_t delay_percentile(const struct sums *s, unsigned percent)
{
    uint64_t all = 0, below = 0;
    unsigned i = 0;
    for (unsigned k = 0; k < PAWL_DELAY_BUCKETS; k++)
        all += s->delays[k];
    if (!all)
        return -1;
    uint64_t want = (all * percent + 99) / 100;
    while (below + s->delays[i] < want)
        below += s->delays[i++];
    int64_t from = i ? pawl_delay_bound_ms(i - 1) : 0;
    if (i + 1 == PAWL_DELAY_BUCKETS)
        return from;
    double share = (double)(want - below) / (double)s->delays[i];
    return from + (int64_t)((double)(pawl_delay_bound_ms(i) - from) * share + 0.5);
}

static void write_delays(const struct series *t, pawl_json *w, unsigned percent, int64_t first,
                         int64_t last)
{
    pawl_json_array(w);
    for (int64_t at = first; at <= last; at++) {
        const struct second *s = &t->ring[(size_t)at % SERIES_SECONDS];
        int64_t ms = s->at == at ? delay_percentile(&s->added, percent) : -1;
        if (ms < 0)
            pawl_json_null(w);
        else
            pawl_json_num(w, ms);
    }
    pawl_json_end(w);
}

void series_write(struct series *t, pawl_json *w, unsigned seconds)
{
    static const char *const names[] = {
#define SERIES_TEXT(name) #name,
        SERIES(SERIES_TEXT)
#undef SERIES_TEXT
    };
    int64_t now = clock_wall_ms() / 1000;
    flush(t, now);
    pawl_json_key(w, "from");
    pawl_json_num(w, (now - seconds + 1) * 1000);
    pawl_json_key(w, "series");
    pawl_json_object(w);
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        pawl_json_key(w, names[i]);
        write_one(t, w, i, now - seconds + 1, now);
    }
    pawl_json_key(w, "delay_p50_ms");
    write_delays(t, w, 50, now - seconds + 1, now);
    pawl_json_key(w, "delay_p95_ms");
    write_delays(t, w, 95, now - seconds + 1, now);
    pthread_mutex_unlock(&t->lock);
    pawl_json_end(w);
}

struct series *series_create(pawl_runtime *rt, struct census *census)
{
    struct series *t = census ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    t->rt = rt;
    t->census = census;
    pthread_mutex_init(&t->lock, NULL);
    atomic_store(&t->now, clock_wall_ms() / 1000);
    read_sums(t, &t->sums); /* what was before does not count */
    return t;
}

void series_destroy(struct series *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}
