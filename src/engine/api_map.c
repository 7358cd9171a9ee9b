/* SPDX-License-Identifier: MIT */
/*
 * engine/api_map.c -- bounded fan-out: many tasks, a few open at a time.
 *
 * An author could write the same: it starts tasks and waits for the first of the open
 * ones, so its decisions follow from the history.  Invariant:
 * open[0 .. count) are tasks that were started and not seen to end; count <= window.
 *
 * Called by: orchestration code, on its fiber.
 */
#include "engine/engine_private.h"

struct map_window {
    pawl_task *open;
    size_t count, size;
    size_t next; /* the piece to start */
};

static void fill(pawl_ctx *ctx, struct map_window *w, size_t n, pawl_map_fn *fn, void *arg,
                 pawl_task *tasks)
{
    while (w->count < w->size && w->next < n) {
        pawl_task t = fn(ctx, w->next, arg);
        if (tasks)
            tasks[w->next] = t;
        w->open[w->count++] = t;
        w->next++;
    }
}

/* The first to end leaves the window. */
static pawl_result take_one(pawl_ctx *ctx, struct map_window *w)
{
    int first = pawl_await_any(ctx, w->open, w->count);
    if (first < 0)
        return wait_cancelled_result(ctx);
    pawl_task ended = w->open[first];
    w->open[first] = w->open[--w->count];
    return pawl_await(ctx, ended);
}

pawl_result pawl_map(pawl_ctx *ctx, size_t n, size_t window, pawl_map_fn *fn, void *arg,
                     pawl_task *rettasks)
{
    assert_in_code(ctx);
    if (!fn)
        return result_refused(pawl_s("pawl_map() needs a function"));
    pawl_result r = {.ok = true, .value = pawl_s("")};
    struct map_window w = {.size = window && window < n ? window : n};

    for (size_t i = 0; rettasks && i < n; i++)
        rettasks[i] = (pawl_task){0};
    w.open = pawl_alloc(ctx, w.size * sizeof(*w.open));
    fill(ctx, &w, n, fn, arg, rettasks);
    while (r.ok && w.count) {
        r = take_one(ctx, &w);
        if (r.ok)
            fill(ctx, &w, n, fn, arg, rettasks);
    }
    if (r.ok)
        r.value = pawl_s("");
    return r;
}
