/* SPDX-License-Identifier: MIT */
/*
 * server/schedules.c -- schedules over HTTP.
 *
 * The body is the schedule as pawl/schedule.h reads it; its texts say what is wrong.
 * Called by routes.c.
 */
#include "server/schedules.h"

#include "base/clock.h"
#include "view/schedule_view.h"

/* A wrong schedule is 400, whatever is wrong with it. */
static void refuse(struct call *c, const pawl_error *err)
{
    if (err->status == PAWL_NOT_FOUND)
        answer_error(c, 400, "unknown_zone", "%s", err->text);
    else if (err->status == PAWL_LIMIT)
        answer_error(c, 400, "never_fires", "%s", err->text);
    else
        answer_failure(c, err);
}

static void answer_next(struct call *c, const pawl_schedule *s)
{
    int64_t count, from;
    size_t n;
    pawl_error err;
    if (!call_number(c, "count", 1, PREVIEW_MAX, 10, &count) ||
        !call_number(c, "from", 0, PAWL_SCHEDULE_END, clock_wall_ms(), &from))
        return;
    int64_t *at = pawl_mem_alloc(c->mem, (size_t)count * sizeof(*at));
    if (pawl_schedule_next(s, from - 1, at, (size_t)count, &n, &err) != PAWL_OK) {
        refuse(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    render_preview(w, s->zone, at, n);
    answer_json(c, 200, w);
}

void handle_preview(struct call *c)
{
    pawl_schedule s;
    pawl_error err;
    if (pawl_schedule_from_json(c->json, c->mem, &s, &err) != PAWL_OK)
        refuse(c, &err);
    else
        answer_next(c, &s);
}
