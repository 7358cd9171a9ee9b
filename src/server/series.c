/* SPDX-License-Identifier: MIT */
/* server/series.c -- see series.h.  Called by instance_wait.c (the feed) and overview.c. */
#include "server/series.h"

#include "base/clock.h"
#include "server/census.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct second {
    int64_t at; /* since 1970 */
    uint64_t added[SERIES_COUNT];
};

struct series {
    pawl_runtime *rt;
    struct census *census;
    atomic_llong now;     /* the second that goes on */
    pthread_mutex_t lock; /* guards the rest */
    uint64_t sums[SERIES_COUNT];
    struct second ring[SERIES_SECONDS]; /* second t at t % SERIES_SECONDS */
};

static void read_sums(struct series *t, uint64_t sums[SERIES_COUNT])
{
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
}

/* What was added since the last look goes into the second that went on then. */
static void flush(struct series *t, int64_t now)
{
    uint64_t sums[SERIES_COUNT];
    read_sums(t, sums);
    pthread_mutex_lock(&t->lock);
    int64_t at = atomic_load(&t->now);
    struct second *s = &t->ring[(size_t)at % SERIES_SECONDS];
    if (s->at != at)
        *s = (struct second){.at = at};
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        if (sums[i] <= t->sums[i]) /* another thread read them later, and was first */
            continue;
        s->added[i] += sums[i] - t->sums[i];
        t->sums[i] = sums[i];
    }
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
        pawl_json_num(w, s->at == at ? (int64_t)s->added[name] : 0);
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
    read_sums(t, t->sums); /* what was before does not count */
    return t;
}

void series_destroy(struct series *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}
