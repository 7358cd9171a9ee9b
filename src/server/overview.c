/* SPDX-License-Identifier: MIT */
/*
 * server/overview.c -- GET /api/v1/overview and /api/v1/series: the first page of a dashboard.
 *
 * Counts come from memory (census.h), problems are grouped by cause (problems.h).  Blocked and
 * suspended instances are read from the store by the index of their state, LISTED_MAX of each.
 *
 * `with=all` is for pages: it has what instances wait for, queues and rates, and all callers share one
 * text (shared_text.h), so that the number of viewers costs next to nothing.  A caller whose token
 * shows only some queues gets a text of its own.
 */
#include "base/clock.h"
#include "server/census.h"
#include "server/handlers.h"
#include "server/node_routes.h"
#include "server/problems.h"
#include "server/queues.h"
#include "server/series.h"
#include "server/shared_text.h"
#include "server/waits.h"

#include <string.h>

#define LISTED_MAX     200 /* blocked instances that are looked at; suspended ones too */
#define LATELY_MS      3600000
#define SHARED_MS      1000 /* an answer for all who look is made at most once in this time … */
#define COUNTING_MS    250  /* … or in this, while each one counts some more instances */
#define WAITS_TIMES    200  /* who is waited for lasts that many times as long as it cost … */
#define WAITS_LAST_MAX 30000
#define SHARED_SECONDS 300
#define SHARED_QUEUES  1000

/* ---- Problems -------------------------------------------------------------------------------- */

/* Those that stand still; false: answered. */
static bool add_listed(struct call *c, struct problems *all, const char *kind, pawl_state state)
{
    pawl_page page;
    pawl_error err;
    if (pawl_client_list(c->srv->client, PAWL_FILTER(.limit = LISTED_MAX, .state = (int)state + 1),
                         c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return false;
    }
    all->more = all->more || page.next.len;
    for (size_t i = 0; i < page.count; i++)
        problems_add(all,
                     &(struct problem){.kind = kind,
                                       .orchestration = page.items[i].orchestration,
                                       .detail = page.items[i].finding,
                                       .since_ms = page.items[i].updated_ms},
                     page.items[i].instance);
    return true;
}

static void add_failures(struct problems *all, const struct census_view *view, int64_t now_ms)
{
    for (size_t i = 0; i < view->failure_count; i++) {
        const struct census_failure *f = &view->failures[i];
        if (f->at_ms > now_ms - LATELY_MS)
            problems_add(all,
                         &(struct problem){.kind = "failed",
                                           .orchestration = f->kind->name,
                                           .detail = f->error,
                                           .since_ms = f->at_ms},
                         f->instance);
    }
}

/* False: answered. */
static bool find_problems(struct call *c, struct problems *all, const struct census_view *view,
                          int64_t now_ms)
{
    char trouble[PAWL_TROUBLE_BYTES] = "";
    if (!pawl_runtime_healthy(c->srv->rt, trouble))
        problems_add(all,
                     &(struct problem){.kind = "health",
                                       .detail = pawl_mem_dup(c->mem, pawl_s(trouble)),
                                       .since_ms = now_ms},
                     (pawl_str){0});
    if (!add_listed(c, all, "blocked", PAWL_BLOCKED))
        return false;
    add_failures(all, view, now_ms);
    return add_listed(c, all, "suspended", PAWL_SUSPENDED);
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static void put_number(pawl_json *w, const char *key, int64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, n);
}

static void put_text(pawl_json *w, const char *key, pawl_str text)
{
    pawl_json_key(w, key);
    if (text.len)
        pawl_json_str(w, text);
    else
        pawl_json_null(w);
}

/* A number for each state that an instance can have. */
static void write_counts(pawl_json *w, const uint64_t counts[CENSUS_STATES])
{
    pawl_json_key(w, "counts");
    pawl_json_object(w);
    for (int i = PAWL_PENDING; i < PAWL_CONTINUED_AS_NEW; i++)
        put_number(w, pawl_state_name((pawl_state)i), (int64_t)counts[i]);
    pawl_json_end(w);
}

static void write_percentile(pawl_json *w, const char *key, const struct census_kind *k, unsigned p)
{
    int64_t ms = census_percentile(k, p);
    pawl_json_key(w, key);
    if (ms < 0)
        pawl_json_null(w);
    else
        pawl_json_num(w, ms);
}

static void write_kind(pawl_json *w, const struct census_kind *k)
{
    pawl_json_object(w);
    put_text(w, "name", k->name);
    write_counts(w, k->counts);
    write_percentile(w, "p50_ms", k, 50);
    write_percentile(w, "p95_ms", k, 95);
    pawl_json_end(w);
}

static void write_census(pawl_json *w, const struct census_view *view)
{
    uint64_t all[CENSUS_STATES] = {0};
    for (size_t i = 0; i < view->kind_count; i++)
        for (size_t state = 0; state < CENSUS_STATES; state++)
            all[state] += view->kinds[i].counts[state];
    write_counts(w, all);
    pawl_json_key(w, "exact");
    pawl_json_truth(w, view->exact);
    pawl_json_key(w, "orchestrations");
    pawl_json_array(w);
    for (size_t i = 0; i < view->kind_count; i++)
        write_kind(w, &view->kinds[i]);
    pawl_json_end(w);
}

/* Members that all callers see; false: answered. */
static bool write_figures(struct call *c, pawl_json *w, bool *retexact)
{
    struct problems *all = pawl_mem_alloc(c->mem, sizeof(*all));
    struct census_view view;
    pawl_error err = {0};
    *all = (struct problems){.mem = c->mem};
    if (!census_walk(c->srv->census, c->srv->client, &err)) {
        answer_failure(c, &err);
        return false;
    }
    census_look(c->srv->census, c->mem, &view);
    if (!find_problems(c, all, &view, pawl_client_now(c->srv->client)))
        return false;
    write_census(w, &view);
    pawl_json_key(w, "problems");
    problems_write(all, w);
    pawl_json_key(w, "more_problems");
    pawl_json_truth(w, all->more);
    pawl_json_key(w, "node");
    node_write(c, w);
    *retexact = view.exact;
    return true;
}

static void answer_figures(struct call *c)
{
    bool exact;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    put_number(w, "now", pawl_client_now(c->srv->client));
    if (!write_figures(c, w, &exact))
        return;
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- One answer for all who look -------------------------------------------------------------- */

static int64_t between(int64_t least, int64_t n, int64_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Who is waited for: made seldom, in proportion to what it costs; false: answered. */
static bool find_waits(struct call *c, uint64_t changes, struct shared_view *ret)
{
    pawl_error err;
    int64_t cost_us;
    if (shared_look(c->srv->waits, clock_mono_ms(), changes, c->mem, ret))
        return true;
    pawl_json *w = pawl_json_new(c->mem);
    if (!waits_write(c->srv->client, c->mem, w, &cost_us, &err)) {
        shared_give_up(c->srv->waits);
        answer_failure(c, &err);
        return false;
    }
    shared_put(c->srv->waits, pawl_json_done(w), changes,
               between(SHARED_MS, cost_us * WAITS_TIMES / 1000, WAITS_LAST_MAX), ret);
    return true;
}

/* Everything a first page shows, as one object, and as of how many changes; NULL: answered. */
static pawl_str write_everything(struct call *c, uint64_t *changes, bool *retexact)
{
    struct shared_view waits;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    if (!find_waits(c, *changes, &waits) || !write_figures(c, w, retexact))
        return (pawl_str){0};
    pawl_json_key(w, "waits");
    pawl_json_raw(w, waits.text);
    pawl_json_key(w, "queues");
    pawl_json_array(w);
    if (!queues_write(c, w, SHARED_QUEUES))
        return (pawl_str){0};
    pawl_json_end(w);
    series_write(c->srv->series, w, SHARED_SECONDS);
    pawl_json_end(w);
    *changes = waits.as_of;
    return pawl_json_done(w);
}

/* The text that all see, made now if it must be; false: answered. */
static bool find_everything(struct call *c, struct shared_view *ret)
{
    bool exact = false;
    uint64_t changes = atomic_load(&c->srv->changes);
    bool alone = !guard_sees_all(c); /* it sees other queues than others */
    if (!alone && shared_look(c->srv->overview, clock_mono_ms(), changes, c->mem, ret))
        return true;
    uint64_t as_of = changes;
    pawl_str text = write_everything(c, &as_of, &exact);
    if (alone)
        *ret = (struct shared_view){text, as_of, as_of == changes, 0};
    else if (text.ptr)
        shared_put(c->srv->overview, text, as_of, exact ? SHARED_MS : COUNTING_MS, ret);
    else
        shared_give_up(c->srv->overview);
    return text.ptr;
}

/* What is true of the moment comes first, then what all share. */
static void answer_everything(struct call *c)
{
    struct shared_view view;
    if (!find_everything(c, &view))
        return;
    pawl_str body =
        pawl_mem_printf(c->mem, "{\"now\":%lld,\"current\":%s,\"made\":%llu,%.*s",
                        (long long)pawl_client_now(c->srv->client), view.current ? "true" : "false",
                        (unsigned long long)view.made, (int)(view.text.len - 1), view.text.ptr + 1);
    answer_text(c, 200, NULL, body);
}

void handle_overview(struct call *c)
{
    const char *with = call_param(c, "with");
    if (!with)
        answer_figures(c);
    else if (strcmp(with, "all") == 0)
        answer_everything(c);
    else
        answer_error(c, 400, "invalid", "with must be all");
}

void handle_series(struct call *c)
{
    int64_t seconds;
    if (!call_number(c, "seconds", 1, SERIES_SECONDS, 300, &seconds))
        return;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    put_number(w, "now", clock_wall_ms());
    put_number(w, "step_ms", 1000);
    series_write(c->srv->series, w, (unsigned)seconds);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
