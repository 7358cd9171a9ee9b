/* SPDX-License-Identifier: MIT */
/*
 * server/overview.c -- GET /api/v1/overview and /api/v1/series: the first page of a dashboard.
 *
 * Counts come from memory (census.h).  Problems are grouped by cause: kind, orchestration, and text
 * with its numbers left out, so that a thousand instances that failed alike are one line.  Blocked
 * and suspended instances are read from the store by the index of their state, LISTED_MAX of each.
 */
#include "base/clock.h"
#include "server/census.h"
#include "server/handlers.h"
#include "server/node_routes.h"
#include "server/series.h"

#include <string.h>

#define LISTED_MAX  200 /* blocked instances that are looked at; suspended ones too */
#define GROUPS_MAX  32
#define NAMED_MAX   5 /* instances named in a group */
#define LATELY_MS   3600000
#define CAUSE_BYTES 200

struct problem {
    const char *kind;
    pawl_str orchestration, detail, cause; /* cause: detail with its digits as '#' */
    uint64_t count;
    int64_t since_ms;
    pawl_str named[NAMED_MAX];
    size_t named_count;
};

struct problems {
    struct call *c;
    struct problem items[GROUPS_MAX];
    size_t count;
    bool more; /* than fit, or than were looked at */
};

/* ---- Problems -------------------------------------------------------------------------------- */

/* Runs of digits as one '#'. */
static pawl_str cause_of(pawl_mem *mem, pawl_str text)
{
    char *out = pawl_mem_alloc(mem, CAUSE_BYTES + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < CAUSE_BYTES; i++) {
        bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        if (!digit || n == 0 || out[n - 1] != '#')
            out[n++] = digit ? '#' : text.ptr[i];
    }
    out[n] = 0;
    return (pawl_str){out, n};
}

static struct problem *group_of(struct problems *all, const char *kind, pawl_str orchestration,
                                pawl_str detail)
{
    pawl_str cause = cause_of(all->c->mem, detail);
    for (size_t i = 0; i < all->count; i++) {
        struct problem *p = &all->items[i];
        if (strcmp(p->kind, kind) == 0 && pawl_str_eq(p->orchestration, orchestration) &&
            pawl_str_eq(p->cause, cause))
            return p;
    }
    if (all->count == GROUPS_MAX) {
        all->more = true;
        return NULL;
    }
    struct problem *p = &all->items[all->count++];
    *p = (struct problem){
        .kind = kind, .orchestration = orchestration, .detail = detail, .cause = cause};
    return p;
}

static void add_problem(struct problems *all, const char *kind, pawl_str orchestration,
                        pawl_str detail, pawl_str instance, int64_t at_ms)
{
    struct problem *p = group_of(all, kind, orchestration, detail);
    if (!p)
        return;
    p->count++;
    if (!p->since_ms || at_ms < p->since_ms)
        p->since_ms = at_ms;
    if (instance.len && p->named_count < NAMED_MAX)
        p->named[p->named_count++] = instance;
}

/* Those that stand still; false: answered. */
static bool add_listed(struct problems *all, const char *kind, pawl_state state)
{
    pawl_page page;
    pawl_error err;
    struct call *c = all->c;
    if (pawl_client_list(c->srv->client, PAWL_FILTER(.limit = LISTED_MAX, .state = (int)state + 1),
                         c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return false;
    }
    all->more = all->more || page.next.len;
    for (size_t i = 0; i < page.count; i++)
        add_problem(all, kind, page.items[i].orchestration, page.items[i].finding,
                    page.items[i].instance, page.items[i].updated_ms);
    return true;
}

static bool find_problems(struct problems *all, const struct census_view *view, int64_t now_ms)
{
    char trouble[PAWL_TROUBLE_BYTES] = "";
    if (!pawl_runtime_healthy(all->c->srv->rt, trouble))
        add_problem(all, "health", (pawl_str){0}, pawl_mem_dup(all->c->mem, pawl_s(trouble)),
                    (pawl_str){0}, now_ms);
    if (!add_listed(all, "blocked", PAWL_BLOCKED))
        return false;
    for (size_t i = 0; i < view->failure_count; i++)
        if (view->failures[i].at_ms > now_ms - LATELY_MS)
            add_problem(all, "failed", view->failures[i].kind->name, view->failures[i].error,
                        view->failures[i].instance, view->failures[i].at_ms);
    return add_listed(all, "suspended", PAWL_SUSPENDED);
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

static void write_problem(pawl_json *w, const struct problem *p)
{
    pawl_json_object(w);
    put_text(w, "kind", pawl_s(p->kind));
    put_number(w, "count", (int64_t)p->count);
    put_number(w, "since", p->since_ms);
    put_text(w, "detail", p->detail);
    put_text(w, "orchestration", p->orchestration);
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    for (size_t i = 0; i < p->named_count; i++)
        pawl_json_str(w, p->named[i]);
    pawl_json_end(w);
    pawl_json_end(w);
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

void handle_overview(struct call *c)
{
    struct problems *all = pawl_mem_alloc(c->mem, sizeof(*all));
    struct census_view view;
    pawl_error err = {0};
    int64_t now = pawl_client_now(c->srv->client);
    *all = (struct problems){.c = c};
    if (!census_walk(c->srv->census, c->srv->client, &err)) {
        answer_failure(c, &err);
        return;
    }
    census_look(c->srv->census, c->mem, &view);
    if (!find_problems(all, &view, now))
        return;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    put_number(w, "now", now);
    write_census(w, &view);
    pawl_json_key(w, "problems");
    pawl_json_array(w);
    for (size_t i = 0; i < all->count; i++)
        write_problem(w, &all->items[i]);
    pawl_json_end(w);
    pawl_json_key(w, "more_problems");
    pawl_json_truth(w, all->more);
    pawl_json_key(w, "node");
    node_write(c, w);
    pawl_json_end(w);
    answer_json(c, 200, w);
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
