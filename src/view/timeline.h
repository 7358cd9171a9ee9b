/* SPDX-License-Identifier: MIT */
/*
 * view/timeline.h -- a run as bars over time: from a history, and from what is open, to steps.
 *
 * A bar is a task from its schedule to its end, or a moment (a push to a queue, a detached start).
 * Long stretches in which nothing happens are cut out of the axis (timeline_scale.c has the rule).
 * More than TIMELINE_STEPS bars are told as one row per kind and name (timeline_json.c): so an
 * answer about 50,000 events is as small as one about 500.
 *
 * Called by GET /api/v1/instances/{id}/timeline and by `pawl show --timeline`: timeline_begin,
 * timeline_gather (or timeline_add for each event and timeline_waits), timeline_finish,
 * timeline_render.  Nothing of an event is kept but names, times and short texts; 88 bytes a bar.
 */
#ifndef PAWL_VIEW_TIMELINE_H
#define PAWL_VIEW_TIMELINE_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "pawl.h"

#define TIMELINE_STEPS    160    /* more bars than these are told by name */
#define TIMELINE_NAMES    200    /* rows by name; what has another name shares one */
#define TIMELINE_BARS_MAX 100000 /* later steps are counted and not shown */
#define TIMELINE_CUTS     10
#define TIMELINE_TRIES    9   /* attempts of a bar: the last one, and eight that failed */
#define TIMELINE_SKYLINE  80  /* places along the axis at which open steps of a name are counted */
#define TIMELINE_TEXT     200 /* bytes kept of an error */

/* Steps of one kind and name. */
struct timeline_name {
    const char *kind; /* activity, timer, event, child, queue, detached; mixed: all further ones */
    pawl_str name;    /* empty: a timer, or all further ones */
    uint64_t count;
};

/* What is kept of the first TIMELINE_STEPS bars only. */
struct timeline_detail {
    pawl_str child, worker, error;
    pawl_str policy; /* attrs of the schedule */
    pawl_str tries;  /* JSON, as in the attrs of a completion */
};

struct timeline_bar {
    struct timeline_name *of;
    struct timeline_detail *more;                /* NULL: there are many bars */
    const char *outcome;                         /* open, done, failed, cancelled */
    uint64_t ref;                                /* the task; 0: a moment */
    uint64_t seq, end_seq;                       /* of the events */
    int64_t at_ms, started_ms, ended_ms, due_ms; /* 0: not known, or none */
    uint32_t attempts;
    bool running, waits; /* open: a worker has it; it is known that none has */
};

/* One attempt.  Estimated: its place follows from the retry policy. */
struct timeline_try {
    uint32_t n;
    int64_t from_ms, to_ms;
    pawl_str worker, error;
    bool estimated, last;
};

/* A stretch of the axis: these times are drawn between these places (0 to 1). */
struct timeline_part {
    int64_t from_ms, to_ms;
    double at, until;
    bool cut; /* nothing happened: drawn as a mark */
};

struct timeline {
    pawl_mem *mem;
    pawl_info info; /* borrowed texts; empty when there was none */
    uint64_t execution, last_seq;
    int64_t start_ms, now_ms, to_ms; /* to: the end of the run, or now */
    int64_t end_ms;                  /* 0: the run is open */
    uint64_t uncounted;              /* steps beyond TIMELINE_BARS_MAX */
    LIST(struct timeline_bar) bars;
    LIST(struct timeline_name *) names;
    struct map by_ref, by_name;
    struct buf key; /* of by_name, while it is made */
    struct timeline_part parts[2 * TIMELINE_CUTS + 1];
    size_t part_count;
};

void timeline_begin(struct timeline *t, pawl_mem *mem);
void timeline_end(struct timeline *t);

/* The events of one execution, in order, and then what is known of its open tasks. */
void timeline_add(struct timeline *t, const pawl_history_event *event);
void timeline_waits(struct timeline *t, const pawl_info *info);
/* All of it: read the instance and its history, a piece at a time. */
pawl_status timeline_gather(struct timeline *t, pawl_client *client, const char *id,
                            uint64_t execution, pawl_error *reterr);
/* No more events: make the axis. */
void timeline_finish(struct timeline *t, int64_t now_ms);

/* How the attempts of a bar went, oldest first; how many.  Of the only attempt: none. */
size_t timeline_tries(const struct timeline *t, const struct timeline_bar *bar,
                      struct timeline_try out[TIMELINE_TRIES]);
/* Is each step a row of its own? */
static inline bool timeline_is_grouped(const struct timeline *t)
{
    return t->bars.count > TIMELINE_STEPS;
}

/* timeline_scale.c: fill in `parts`; the place (0 to 1) of a time. */
void timeline_scale(struct timeline *t);
double timeline_place(const struct timeline_part *parts, size_t count, int64_t ms);

/* timeline_json.c: one JSON object. */
void timeline_render(const struct timeline *t, pawl_json *w);

#endif
