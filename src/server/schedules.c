/* SPDX-License-Identifier: MIT */
/*
 * server/schedules.c -- schedules over HTTP: what there is, and when it is due.
 *
 * A stored schedule is told as the library has it (pawl_schedule_get), with its next occurrences in
 * both zones.  Called by routes.c; schedule_steer.c has the calls that write.
 */
#include "server/schedules.h"

#include "base/json.h"
#include "server/paging.h"
#include "view/schedule_view.h"

#define SHOWN_NEXT 3

void schedule_refuse(struct call *c, const pawl_error *err)
{
    if (err->status == PAWL_NOT_FOUND)
        answer_error(c, 400, "unknown_zone", "%s", err->text);
    else if (err->status == PAWL_LIMIT)
        answer_error(c, 400, "never_fires", "%s", err->text);
    else
        answer_failure(c, err);
}

/* ---- When it is due ---------------------------------------------------------------------- */

static void answer_next(struct call *c, const pawl_schedule *s)
{
    int64_t count, from;
    size_t n;
    pawl_error err;
    if (!call_number(c, "count", 1, PREVIEW_MAX, 10, &count) ||
        !call_number(c, "from", 0, PAWL_SCHEDULE_END, pawl_client_now(c->srv->client), &from))
        return;
    int64_t *at = pawl_mem_alloc(c->mem, (size_t)count * sizeof(*at));
    if (pawl_schedule_next(s, from - 1, at, (size_t)count, &n, &err) != PAWL_OK) {
        schedule_refuse(c, &err);
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
        schedule_refuse(c, &err);
    else
        answer_next(c, &s);
}

/* The spec of a stored schedule.  Its jitter was checked when it was stored. */
static bool spec_of(struct call *c, pawl_str stored, pawl_schedule *ret, pawl_error *err)
{
    if (pawl_schedule_from_json(pawl_json_get(stored, "/spec"), c->mem, ret, err) != PAWL_OK)
        return false;
    ret->jitter_ms = 0;
    return true;
}

void handle_schedule_next(struct call *c)
{
    pawl_schedule s;
    pawl_str stored;
    pawl_error err;
    if (pawl_schedule_get(c->srv->client, c->args[0], c->mem, &stored, &err) != PAWL_OK)
        answer_failure(c, &err);
    else if (!spec_of(c, stored, &s, &err))
        schedule_refuse(c, &err);
    else
        answer_next(c, &s);
}

/* ---- What there is ------------------------------------------------------------------------- */

/* The schedule as it is stored, with its zone and the next occurrences. */
static void write_schedule(struct call *c, pawl_json *w, pawl_str stored)
{
    int64_t from = pawl_json_int(stored, "/next_ms", 0), at[SHOWN_NEXT];
    size_t n = 0;
    pawl_schedule s = {0};
    pawl_error err;
    struct json_iter it;
    if (!spec_of(c, stored, &s, &err) || !from ||
        pawl_schedule_next(&s, from - 1, at, SHOWN_NEXT, &n, &err) != PAWL_OK)
        n = 0; /* paused, at its end, or its zone is gone: `finding` says so */
    pawl_json_object(w);
    for (json_begin(&it, stored); json_next(&it);) {
        pawl_json_key(w, pawl_mem_dup(c->mem, it.key).ptr);
        json_put(w, it.value);
    }
    render_preview_members(w, s.zone, at, n);
    pawl_json_end(w);
}

void handle_schedule(struct call *c)
{
    pawl_str stored;
    pawl_error err;
    if (pawl_schedule_get(c->srv->client, c->args[0], c->mem, &stored, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    write_schedule(c, w, stored);
    answer_json(c, 200, w);
}

/* A piece behind *after, which becomes the last name, or NULL behind the end; false: it was answered. */
static bool write_piece(struct call *c, pawl_json *w, struct paging *p, const char **after)
{
    uint32_t want = paging_piece(p), n = 0;
    pawl_str list;
    pawl_error err;
    if (pawl_schedule_list(c->srv->client, call_param(c, "prefix"), *after, want, c->mem, &list,
                           &err) != PAWL_OK) {
        answer_failure(c, &err);
        return false;
    }
    for (pawl_json_iter it = pawl_json_each(list, ""); pawl_json_next(&it); n++) {
        write_schedule(c, w, it.value);
        (void)paging_count(p, it.value.len);
        *after = pawl_json_text(c->mem, it.value, "/name", "").ptr;
    }
    if (n < want)
        *after = NULL;
    return true;
}

void handle_schedules(struct call *c)
{
    int64_t limit;
    const char *after = call_param(c, "after");
    if (!call_number(c, "limit", 1, 1000, 100, &limit))
        return;
    struct paging p = {.left = (uint32_t)limit};
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "schedules");
    pawl_json_array(w);
    do {
        if (!write_piece(c, w, &p, &after))
            return;
    } while (after && p.left && p.bytes < PAGE_BYTES);
    pawl_json_end(w);
    pawl_json_key(w, "next");
    if (after)
        pawl_json_str(w, pawl_s(after));
    else
        pawl_json_null(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
