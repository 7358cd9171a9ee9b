/* SPDX-License-Identifier: MIT */
/*
 * view/timeline_json.c -- a timeline as one JSON object: its axis, and its bars, or its rows by
 * name when there are many.  Called through timeline.h.
 *
 * A row by name has how many steps it stands for, how they went, how long they took, and a skyline:
 * how many of them were open at each of TIMELINE_SKYLINE places along the axis.
 */
#include "view/render.h"
#include "view/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bars ------------------------------------------------------------------------------ */

static void put_number(pawl_json *w, const char *key, int64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, n);
}

static void put_truth(pawl_json *w, const char *key, bool value)
{
    pawl_json_key(w, key);
    pawl_json_truth(w, value);
}

static void put_some_text(pawl_json *w, const char *key, pawl_str text)
{
    if (text.len)
        render_text(w, key, text);
}

static void write_tries(const struct timeline *t, const struct timeline_bar *b, pawl_json *w)
{
    struct timeline_try tries[TIMELINE_TRIES];
    size_t n = timeline_tries(t, b, tries);
    if (!n)
        return;
    pawl_json_key(w, "tries");
    pawl_json_array(w);
    for (size_t i = 0; i < n; i++) {
        pawl_json_object(w);
        put_number(w, "n", tries[i].n);
        put_number(w, "from", tries[i].from_ms);
        put_number(w, "to", tries[i].to_ms);
        put_some_text(w, "worker", tries[i].worker);
        put_some_text(w, "error", tries[i].error);
        if (tries[i].last)
            put_truth(w, "last", true);
        if (tries[i].estimated)
            put_truth(w, "estimated", true);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void write_bar(const struct timeline *t, const struct timeline_bar *b, pawl_json *w)
{
    pawl_json_object(w);
    pawl_json_key(w, "kind");
    pawl_json_cstr(w, b->of->kind);
    render_text(w, "name", b->of->name);
    render_number(w, "ref", (int64_t)b->ref);
    put_number(w, "seq", (int64_t)b->seq);
    render_number(w, "end_seq", (int64_t)b->end_seq);
    pawl_json_key(w, "outcome");
    pawl_json_cstr(w, b->outcome);
    put_number(w, "scheduled_at", b->at_ms);
    render_number(w, "started_at", b->started_ms);
    render_number(w, "ended_at", b->ended_ms);
    if (b->due_ms)
        put_number(w, "due_at", b->due_ms);
    if (strcmp(b->of->kind, "activity") == 0) {
        put_number(w, "attempts", b->attempts);
        if (b->running || b->waits)
            put_truth(w, "running", b->running);
    }
    if (b->more) {
        put_some_text(w, "instance", b->more->child);
        put_some_text(w, "worker", b->more->worker);
        put_some_text(w, "error", b->more->error);
    }
    write_tries(t, b, w);
    pawl_json_end(w);
}

/* ---- Rows by name ------------------------------------------------------------------------ */

/* A row while its steps are looked at. */
struct row {
    const struct timeline_name *of;
    uint64_t open, failed, cancelled;
    int64_t from_ms, to_ms;
    int64_t *took; /* of those that ended */
    size_t took_count;
    int64_t change[TIMELINE_SKYLINE + 1]; /* how many more are open from there on */
    bool failed_at[TIMELINE_SKYLINE];
};

static size_t place_of(const struct timeline *t, int64_t ms)
{
    double at = timeline_place(t->parts, t->part_count, ms) * TIMELINE_SKYLINE;
    return at < TIMELINE_SKYLINE ? (size_t)at : TIMELINE_SKYLINE - 1;
}

static void look_at(const struct timeline *t, struct row *r, const struct timeline_bar *b)
{
    int64_t end = b->ended_ms ? b->ended_ms : t->to_ms;
    size_t from = place_of(t, b->at_ms), to = place_of(t, end);
    if (!r->from_ms || b->at_ms < r->from_ms)
        r->from_ms = b->at_ms;
    if (end > r->to_ms)
        r->to_ms = end;
    if (b->ended_ms)
        r->took[r->took_count++] = end - b->at_ms;
    r->change[from]++;
    r->change[(to > from ? to : from) + 1]--;
    if (strcmp(b->outcome, "open") == 0)
        r->open++;
    else if (strcmp(b->outcome, "cancelled") == 0)
        r->cancelled++;
    else if (strcmp(b->outcome, "failed") == 0) {
        r->failed++;
        r->failed_at[to] = true;
    }
}

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void write_skyline(const struct row *r, pawl_json *w)
{
    int64_t open = 0, most = 0;
    pawl_json_key(w, "skyline");
    pawl_json_array(w);
    for (size_t i = 0; i < TIMELINE_SKYLINE; i++) {
        open += r->change[i];
        most = open > most ? open : most;
        pawl_json_num(w, open);
    }
    pawl_json_end(w);
    put_number(w, "most_at_once", most);
    pawl_json_key(w, "failed_in");
    pawl_json_array(w);
    for (size_t i = 0; i < TIMELINE_SKYLINE; i++)
        if (r->failed_at[i])
            pawl_json_num(w, (int64_t)i);
    pawl_json_end(w);
}

static void write_row(struct row *r, pawl_json *w)
{
    size_t n = r->took_count;
    if (n)
        qsort(r->took, n, sizeof(*r->took), by_size);
    pawl_json_object(w);
    pawl_json_key(w, "kind");
    pawl_json_cstr(w, r->of->kind);
    render_text(w, "name", r->of->name);
    put_number(w, "count", (int64_t)r->of->count);
    put_number(w, "open", (int64_t)r->open);
    put_number(w, "failed", (int64_t)r->failed);
    put_number(w, "cancelled", (int64_t)r->cancelled);
    put_number(w, "from", r->from_ms);
    put_number(w, "to", r->to_ms);
    pawl_json_key(w, "median_ms");
    if (n)
        pawl_json_num(w, r->took[n / 2]);
    else
        pawl_json_null(w);
    pawl_json_key(w, "longest_ms");
    if (n)
        pawl_json_num(w, r->took[n - 1]);
    else
        pawl_json_null(w);
    write_skyline(r, w);
    pawl_json_end(w);
}

/* One pass over the bars for each name: names are few. */
static void write_rows(const struct timeline *t, pawl_json *w)
{
    pawl_mem *scratch = pawl_mem_new();
    int64_t *took = pawl_mem_alloc(scratch, (t->bars.count + 1) * sizeof(*took));
    for (size_t i = 0; i < t->names.count; i++) {
        struct row r = {.of = t->names.items[i], .took = took};
        for (size_t k = 0; k < t->bars.count; k++)
            if (t->bars.items[k].of == r.of)
                look_at(t, &r, &t->bars.items[k]);
        write_row(&r, w);
    }
    pawl_mem_free(scratch);
}

/* ---- All of it ---------------------------------------------------------------------------- */

/* Six digits are enough for a place. */
static void put_place(pawl_json *w, const char *key, double place)
{
    pawl_json_key(w, key);
    pawl_json_real(w, round(place * 1e6) / 1e6);
}

static void write_axis(const struct timeline *t, pawl_json *w)
{
    pawl_json_key(w, "axis");
    pawl_json_array(w);
    for (size_t i = 0; i < t->part_count; i++) {
        pawl_json_object(w);
        put_number(w, "from", t->parts[i].from_ms);
        put_number(w, "to", t->parts[i].to_ms);
        put_place(w, "at", t->parts[i].at);
        put_place(w, "until", t->parts[i].until);
        put_truth(w, "cut", t->parts[i].cut);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

void timeline_render(const struct timeline *t, pawl_json *w)
{
    bool grouped = timeline_is_grouped(t);
    pawl_json_object(w);
    render_text(w, "instance", t->info.instance);
    render_text(w, "orchestration", t->info.orchestration);
    render_text(w, "version", t->info.version);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, pawl_state_name(t->info.state));
    put_number(w, "execution", (int64_t)t->execution);
    put_number(w, "events", (int64_t)t->last_seq);
    put_number(w, "steps", (int64_t)(t->bars.count + t->uncounted));
    put_truth(w, "grouped", grouped);
    put_truth(w, "truncated", t->uncounted > 0);
    put_number(w, "from", t->start_ms);
    put_number(w, "to", t->to_ms);
    render_number(w, "ended_at", t->end_ms);
    put_number(w, "now", t->now_ms);
    write_axis(t, w);
    pawl_json_key(w, "bars");
    pawl_json_array(w);
    for (size_t i = 0; i < t->bars.count && !grouped; i++)
        write_bar(t, &t->bars.items[i], w);
    pawl_json_end(w);
    pawl_json_key(w, "names");
    pawl_json_array(w);
    if (grouped)
        write_rows(t, w);
    pawl_json_end(w);
    pawl_json_end(w);
}
