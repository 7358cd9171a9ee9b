/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/open_work.c -- which untried work is a number in the head of its instance.
 *
 * Most instances have one activity in flight that was never tried and that this process runs.  It
 * has no row of its own: head.open1 is its id, and its event says the rest.  The server has no
 * index on open1 (a step changes it, invariant G4), so the pairs are known here; take() reads them
 * all.  The update of a head compares open1 with what we believe, so a wrong belief refuses a
 * round and never loses work.
 *
 * Nearly always that work is the last event.  Then open1 is -1 and a step does not change it, so
 * that the server logs eight bytes less; statements read it by PG_OPEN1.  Tables of schema 4 have
 * the number there, too, and are right as they are.
 *
 * A second such activity of an instance, and work that another process may run, is a row of
 * work_fresh; work that was tried, delayed or leased is a row of `work`.
 *
 * Round by round inside one transaction, a later round must see what an earlier one made of a
 * head, and everything must be as before if COMMIT does not come: open_work_try, open_work_undo.
 *
 * Invariants (open_work_check): the two maps have the same pairs; nothing is in `undo` unless
 * `trying`.
 *
 * Called by pg_group.c, pg_commit.c, pg_take.c and pg_work.c, on the engine thread.
 */
#include "store/postgres/postgres.h"
#include "store/round_rules.h"

static void *as_pointer(uint64_t n)
{
    return (void *)(uintptr_t)n;
}

static uint64_t as_number(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

void open_work_init(struct open_work *o)
{
    *o = (struct open_work){0};
    map_init(&o->by_uid);
    map_init(&o->by_id);
}

void open_work_deinit(struct open_work *o)
{
    map_deinit(&o->by_uid);
    map_deinit(&o->by_id);
    vec_deinit(&o->undo);
}

void open_work_reset(struct open_work *o)
{
    map_reset(&o->by_uid);
    map_reset(&o->by_id);
    vec_reset(&o->undo);
    o->trying = false;
}

uint64_t open_work_of(const struct open_work *o, uint64_t uid)
{
    return as_number(map_get(&o->by_uid, uid));
}

int64_t open_work_stored(uint64_t id, uint64_t last_rid)
{
    return id && id == last_rid ? -1 : (int64_t)id;
}

uint64_t open_work_uid(const struct open_work *o, uint64_t id)
{
    return as_number(map_get(&o->by_id, id));
}

bool open_work_set(struct open_work *o, uint64_t uid, uint64_t id)
{
    uint64_t was = open_work_of(o, uid);

    assert_that(uid);
    if (was == id)
        return true;
    if (!map_reserve(&o->by_uid, 1) || !map_reserve(&o->by_id, 1))
        return false;
    struct open_change *old = o->trying ? vec_push(&o->undo) : NULL;
    if (o->trying && !old)
        return false;
    if (old)
        *old = (struct open_change){.uid = uid, .id = was};
    if (was) {
        (void)map_remove(&o->by_uid, uid);
        (void)map_remove(&o->by_id, was);
    }
    return !id ||
           (map_put(&o->by_uid, uid, as_pointer(id)) && map_put(&o->by_id, id, as_pointer(uid)));
}

/* ---- Rounds ------------------------------------------------------------------------------ */

/* The most often it is changed by a round, and taken back. */
static size_t changes_of(const pawl_round *r)
{
    return 2 * (1 + r->need_work_count + r->drop_work_count + r->work_update_count);
}

bool open_work_reserve(struct open_work *o, const pawl_round *rounds, size_t count)
{
    size_t more = 0;

    for (size_t i = 0; i < count; i++)
        more += changes_of(&rounds[i]);
    while (o->undo.cap < more)
        if (!vec_grow(&o->undo.items, &o->undo.cap, o->undo.cap, sizeof *o->undo.items))
            return false;
    return map_reserve(&o->by_uid, more) && map_reserve(&o->by_id, more);
}

static bool has_id(const uint64_t *ids, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static bool updates(const pawl_round *r, uint64_t id)
{
    for (size_t i = 0; i < r->work_update_count; i++)
        if (r->work_updates[i].id == id)
            return true;
    return false;
}

const pawl_event *open_work_event(const pawl_round *r, const pawl_work *w, size_t *at)
{
    while (*at < r->event_count && r->events[*at].rid < w->id)
        ++*at;
    return *at < r->event_count && r->events[*at].rid == w->id ? &r->events[*at] : NULL;
}

/* The first new work that can be a number in the head. */
static uint64_t to_open(uint64_t epoch, const pawl_round *r)
{
    for (size_t i = 0, at = 0; i < r->work_count; i++) {
        const pawl_work *w = &r->work[i];
        const pawl_event *e = open_work_event(r, w, &at);
        if (e && w->lock_epoch == epoch && round_is_untried(r, w, e) &&
            !has_id(r->drop_work, r->drop_work_count, w->id) && !updates(r, w->id))
            return w->id;
    }
    return 0;
}

struct open_plan open_work_plan(const struct open_work *o, uint64_t epoch, const pawl_round *r)
{
    uint64_t had = r->uid ? open_work_of(o, r->uid) : 0;
    struct open_plan p = {.was = had, .now = had};

    if (!r->uid || r->change == PAWL_ROW_NONE || r->change == PAWL_ROW_REMOVE)
        return p; /* no update of its head */
    if (had && (has_id(r->need_work, r->need_work_count, had) ||
                has_id(r->drop_work, r->drop_work_count, had)))
        p.now = 0;
    else if (had && updates(r, had))
        p = (struct open_plan){0}; /* a statement before it made a row of it */
    if (!p.now)
        p.now = to_open(epoch, r);
    return p;
}

/* The id is in no head any more. */
static void close_one(struct open_work *o, uint64_t id)
{
    uint64_t uid = o->by_id.count ? open_work_uid(o, id) : 0;

    if (uid)
        assert_that(open_work_set(o, uid, 0));
}

void open_work_apply(struct open_work *o, const pawl_round *r, struct open_plan plan)
{
    for (size_t i = 0; i < r->need_work_count; i++)
        close_one(o, r->need_work[i]);
    for (size_t i = 0; i < r->work_update_count; i++)
        close_one(o, r->work_updates[i].id);
    for (size_t i = 0; i < r->drop_work_count; i++)
        close_one(o, r->drop_work[i]);
    if (r->uid && r->change == PAWL_ROW_REMOVE)
        assert_that(open_work_set(o, r->uid, 0));
    else if (plan.now && plan.now != plan.was)
        assert_that(open_work_set(o, r->uid, plan.now));
}

void open_work_try(struct open_work *o)
{
    assert_that(!o->trying && !o->undo.count);
    o->trying = true;
}

void open_work_undo(struct open_work *o)
{
    o->trying = false;
    while (o->undo.count) {
        const struct open_change *c = &o->undo.items[--o->undo.count];
        assert_that(open_work_set(o, c->uid, c->id));
    }
}

void open_work_check(const struct open_work *o)
{
    size_t cursor = 0;
    const void *id;

    assert_that(o->by_uid.count == o->by_id.count && (o->trying || !o->undo.count));
    while ((id = map_next(&o->by_uid, &cursor)))
        assert_that(open_work_of(o, open_work_uid(o, as_number(id))) == as_number(id));
}
