/* SPDX-License-Identifier: MIT */
/*
 * view/timeline_scale.c -- the axis of a timeline: quiet time is cut out of it.
 *
 * Busy is the time in which an activity runs (of one that is tried again: its attempts, not the
 * waits between them), and the moment at which anything begins or ends.  A gap between busy times
 * is cut when it has at least QUIET_MS and QUIET_SHARE of what is shown; at most TIMELINE_CUTS, the
 * longest.  When more gaps than that are alike (within a factor of ALIKE), none of those is cut:
 * ten arbitrary cuts among forty equal gaps would mislead.  Something stays to look at: in a run
 * that has only waited, the shortest gap is time like any other.
 */
#include "view/timeline.h"

#include <stdlib.h>
#include <string.h>

#define QUIET_MS    1500
#define QUIET_SHARE 0.35
#define ALIKE       3
#define CUT_WIDTH   0.045 /* of the axis, for the mark of a cut */
#define MARKS_MOST  0.6   /* of the axis, for all of them */
#define PAD         0.012 /* of the axis, before the first and after the last moment */

struct span {
    int64_t from, to;
};

struct spans {
    pawl_mem *mem;
    LIST(struct span) list;
};

static void add_span(struct spans *s, int64_t from, int64_t to)
{
    struct span *span = list_add(s->mem, &s->list);
    *span = (struct span){from, to > from ? to : from};
}

/* ---- What is busy -------------------------------------------------------------------- */

static void add_activity(const struct timeline *t, const struct timeline_bar *b, struct spans *busy)
{
    struct timeline_try tries[TIMELINE_TRIES];
    size_t n = timeline_is_grouped(t) ? 0 : timeline_tries(t, b, tries);
    for (size_t i = 0; i < n; i++)
        add_span(busy, tries[i].from_ms, tries[i].to_ms < t->to_ms ? tries[i].to_ms : t->to_ms);
    if (!n) /* queued, and no worker took it: only its begin */
        add_span(busy, b->at_ms, b->ended_ms ? b->ended_ms : b->waits ? b->at_ms : t->to_ms);
}

static void find_busy(const struct timeline *t, struct spans *busy)
{
    add_span(busy, t->start_ms, t->start_ms);
    for (size_t i = 0; i < t->bars.count; i++) {
        const struct timeline_bar *b = &t->bars.items[i];
        if (strcmp(b->of->kind, "activity") == 0) {
            add_activity(t, b, busy);
            continue;
        }
        add_span(busy, b->at_ms, b->at_ms);
        if (b->ended_ms)
            add_span(busy, b->ended_ms, b->ended_ms);
    }
    if (t->end_ms)
        add_span(busy, t->to_ms, t->to_ms);
}

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int by_length(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    int64_t m = x->to - x->from, n = y->to - y->from;
    return m < n ? -1 : m > n ? 1 : by_begin(a, b);
}

static double length(struct span s)
{
    return (double)(s.to - s.from);
}

/* The gaps between busy times; how long it was busy. */
static double find_gaps(const struct timeline *t, struct spans *busy, struct spans *gaps)
{
    int64_t end = t->start_ms;
    double kept = 1;
    qsort(busy->list.items, busy->list.count, sizeof(struct span), by_begin);
    for (size_t i = 0; i < busy->list.count; i++) {
        struct span s = busy->list.items[i];
        if (s.from > end)
            add_span(gaps, end, s.from);
        if (s.to <= end)
            continue;
        kept += (double)(s.to - (s.from > end ? s.from : end));
        end = s.to;
    }
    if (t->to_ms > end)
        add_span(gaps, end, t->to_ms);
    return kept;
}

/* ---- What is cut ------------------------------------------------------------------------ */

/* The gaps that are cut are the last *retcount of the list, which is ordered by length. */
static double choose_cuts(struct spans *gaps, double kept, size_t *retcount)
{
    size_t n = gaps->list.count, first = 0;
    struct span *g = gaps->list.items;
    if (n)
        qsort(g, n, sizeof(*g), by_length);
    for (; first < n; first++) {
        if (kept > 1 && length(g[first]) >= QUIET_MS && length(g[first]) >= QUIET_SHARE * kept)
            break;
        kept += length(g[first]);
    }
    if (n - first > TIMELINE_CUTS) {
        double longest_left = length(g[n - TIMELINE_CUTS - 1]);
        size_t from = n - TIMELINE_CUTS;
        while (from < n && length(g[from]) < ALIKE * longest_left)
            from++;
        for (; first < from; first++)
            kept += length(g[first]);
    }
    *retcount = n - first;
    return kept;
}

/* ---- The axis ---------------------------------------------------------------------------- */

/* An axis while it is made: up to this time, at this place. */
struct axis {
    struct timeline *t;
    int64_t from;
    double at;
};

/* `width` of a cut; any other time is as wide as it is long. */
static void add_part(struct axis *x, int64_t to, bool cut, double width)
{
    if (to <= x->from)
        return;
    if (!cut)
        width = (double)(to - x->from);
    x->t->parts[x->t->part_count++] = (struct timeline_part){
        .from_ms = x->from, .to_ms = to, .at = x->at, .until = x->at + width, .cut = cut};
    x->from = to;
    x->at += width;
}

static void make_parts(struct timeline *t, struct span *cuts, size_t count, double kept)
{
    double room = 1 - CUT_WIDTH * (double)count;
    double total = kept / (room > 1 - MARKS_MOST ? room : 1 - MARKS_MOST);
    int64_t pad = total * PAD > 1 ? (int64_t)(total * PAD) : 1;
    struct axis x = {.t = t, .from = t->start_ms - pad};
    if (count)
        qsort(cuts, count, sizeof(*cuts), by_begin);
    for (size_t i = 0; i < count; i++) {
        int64_t quarter = (cuts[i].to - cuts[i].from) / 4, margin = pad < quarter ? pad : quarter;
        add_part(&x, cuts[i].from + margin, false, 0);
        add_part(&x, cuts[i].to - margin, true, total * CUT_WIDTH);
    }
    add_part(&x, t->to_ms + pad, false, 0);
    for (size_t i = 0; i < t->part_count; i++) {
        t->parts[i].at /= x.at;
        t->parts[i].until /= x.at;
    }
}

void timeline_scale(struct timeline *t)
{
    pawl_mem *scratch = pawl_mem_new();
    struct spans busy = {.mem = scratch}, gaps = {.mem = scratch};
    size_t count;
    find_busy(t, &busy);
    double kept = find_gaps(t, &busy, &gaps);
    kept = choose_cuts(&gaps, kept, &count);
    make_parts(t, count ? &gaps.list.items[gaps.list.count - count] : NULL, count, kept);
    pawl_mem_free(scratch);
}

double timeline_place(const struct timeline_part *parts, size_t count, int64_t ms)
{
    size_t i = 0;
    if (!count)
        return 0;
    while (i + 1 < count && ms > parts[i].to_ms)
        i++;
    const struct timeline_part *p = &parts[i];
    double share = p->to_ms > p->from_ms
                       ? ((double)ms - (double)p->from_ms) / ((double)p->to_ms - (double)p->from_ms)
                       : 0;
    return p->at + (p->until - p->at) * (share < 0 ? 0 : share > 1 ? 1 : share);
}
