/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_independent.c -- may the rounds of a group be mixed?
 *
 * A group's rows go to the server table by table (pg_group.h).  The result is the same as round by
 * round when no round depends on another one of the group: no two change one instance, no two name
 * one row, and none names a row that another one makes.  All ids come from one counter, so for most
 * groups one comparison is enough: every id that is named is below every id that is made.
 *
 * Called by pg_commit.c.  A false "no" costs time only.
 */
#include "store/postgres/pg_group.h"
#include "store/round_rules.h"

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

struct sight {
    struct pg_group *g;
    uint64_t highest_named, lowest_made;
    bool twice; /* two rounds name or change one row, or memory ran out */
};

/* X(list, count, id) of every row that a round changes or deletes. */
#define NAMED(X)                                                                                   \
    X(need_work, need_work_count, r->need_work[i])                                                 \
    X(drop_work, drop_work_count, r->drop_work[i])                                                 \
    X(work_updates, work_update_count, r->work_updates[i].id)                                      \
    X(drop_messages, drop_message_count, r->drop_messages[i])                                      \
    X(message_updates, message_update_count, r->message_updates[i].id)                             \
    X(quarantine, quarantine_count, r->quarantine[i].id)

static void name(struct sight *k, uint64_t id)
{
    if (idset_has(&k->g->named, id) || !idset_add(&k->g->named, id))
        k->twice = true;
    if (id > k->highest_named)
        k->highest_named = id;
}

static void make(struct sight *k, uint64_t id)
{
    if (id < k->lowest_made)
        k->lowest_made = id;
}

static void see_instance(struct sight *k, const pawl_round *r)
{
    if (!r->uid || r->change == PAWL_ROW_NONE)
        return;
    if (idset_has(&k->g->changed, r->uid) || !idset_add(&k->g->changed, r->uid))
        k->twice = true;
    if (r->change == PAWL_ROW_INSERT)
        make(k, r->uid);
    else if (r->uid > k->highest_named)
        k->highest_named = r->uid;
}

static void see_round(struct sight *k, const pawl_round *r)
{
    see_instance(k, r);
#define SEE_NAMED(list, count, id)                                                                 \
    for (size_t i = 0; i < r->count; i++)                                                          \
        name(k, id);
    NAMED(SEE_NAMED)
#undef SEE_NAMED
    for (size_t i = 0; i < r->event_count; i++)
        make(k, r->events[i].rid);
    for (size_t i = 0; i < r->message_count; i++)
        make(k, r->messages[i].id);
    for (size_t i = 0, at = 0; i < r->work_count; i++) {
        if (open_work_event(r, &r->work[i], &at))
            make(k, r->work[i].id);
        else
            name(k, r->work[i].id); /* no other table may have it */
    }
}

static bool names(const pawl_round *r, uint64_t it)
{
#define IS_NAMED(list, count, id)                                                                  \
    for (size_t i = 0; i < r->count; i++)                                                          \
        if ((id) == it)                                                                            \
            return true;
    NAMED(IS_NAMED)
#undef IS_NAMED
    return false;
}

/* Does another round name a row that this round makes?  (The round itself may: inserts come before
 * updates, and updates before drops.  But a work row that it needs must exist before.) */
static bool is_named_elsewhere(const struct sight *k, const pawl_round *r, uint64_t id)
{
    if (!idset_has(&k->g->named, id))
        return false;
    for (size_t i = 0; i < r->need_work_count; i++)
        if (r->need_work[i] == id)
            return true;
    return !names(r, id);
}

static bool makes_what_is_named(const struct sight *k, const pawl_round *r)
{
    for (size_t i = 0; i < r->message_count; i++)
        if (is_named_elsewhere(k, r, r->messages[i].id))
            return true;
    for (size_t i = 0, at = 0; i < r->work_count; i++)
        if (open_work_event(r, &r->work[i], &at) && is_named_elsewhere(k, r, r->work[i].id))
            return true;
    return false;
}

/* Its objects, by a hash: two names with one hash cost time only. */
static void see_objects(struct sight *k, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);

    for (size_t i = 0; i < count; i++) {
        uint64_t h = HASH_SEED ^ (uint64_t)objects[i].kind;
        for (size_t n = 0; n < objects[i].name.len; n++)
            h = (h ^ (unsigned char)objects[i].name.ptr[n]) * UINT64_C(0x100000001b3);
        h |= 1; /* 0 is in no set */
        if (idset_has(&k->g->objects, h) || !idset_add(&k->g->objects, h))
            k->twice = true;
    }
}

/* Instance ids: does a removal of this group free the id of a start, before or after it? */
static bool order_of_ids_holds(struct pg_group *g, const pawl_round *rounds, size_t count)
{
    size_t first_start = count, last_start = 0, first_removal = count, last_removal = 0;

    for (size_t i = 0; i < count; i++) {
        if (rounds[i].uid && rounds[i].change == PAWL_ROW_INSERT) {
            first_start = first_start == count ? i : first_start;
            last_start = i;
        }
        if (rounds[i].uid && rounds[i].change == PAWL_ROW_REMOVE) {
            first_removal = first_removal == count ? i : first_removal;
            last_removal = i;
        }
    }
    g->removes_late = first_start < count && first_removal > last_start;
    return first_start == count || first_removal == count || g->removes_late ||
           last_removal < first_start;
}

/* An id as an odd number, a uid as an even one.  Two with one number cost time only. */
static uint64_t mark_of(uint64_t uid, pawl_str id)
{
    uint64_t h = HASH_SEED;

    for (size_t n = 0; n < id.len; n++)
        h = (h ^ (unsigned char)id.ptr[n]) * UINT64_C(0x100000001b3);
    return uid ? uid << 1 : h | 1;
}

/* Does a message look for the label of an instance that this group makes or removes (E7)?  By name
 * it may be any that is removed. */
static bool looks_for_what_changes(struct pg_group *g, const pawl_round *rounds, size_t count)
{
    bool removes = false, found = false;

    idset_reset(&g->ids);
    for (size_t i = 0; i < count; i++) {
        const pawl_round *r = &rounds[i];
        bool makes = r->uid && r->change == PAWL_ROW_INSERT;
        bool drops = r->uid && r->change == PAWL_ROW_REMOVE;
        removes |= drops;
        if (makes || drops)
            found |= !idset_add(&g->ids, mark_of(r->uid, (pawl_str){0}));
        if (makes)
            found |= !idset_add(&g->ids, mark_of(0, r->row->id));
    }
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < rounds[i].message_count && !found; n++) {
            const pawl_message *m = &rounds[i].messages[n];
            if (m->shard == PAWL_SHARD_LOOK)
                found = (removes && !m->uid) || idset_has(&g->ids, mark_of(m->uid, m->instance));
        }
    return found;
}

static bool looks(const pawl_round *r)
{
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].shard == PAWL_SHARD_LOOK)
            return true;
    return false;
}

static bool asks_for_what_changes(const struct sight *k, const pawl_round *r)
{
    return r->uid && r->change == PAWL_ROW_NONE && idset_has(&k->g->changed, r->uid);
}

/* No event of these rounds has the rid of another one.  Nearly always they are in order. */
static bool rids_differ(struct pg_group *g, const pawl_round *rounds, size_t count)
{
    uint64_t last = 0;
    bool in_order = true;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < rounds[i].event_count; k++) {
            in_order = in_order && rounds[i].events[k].rid > last;
            last = rounds[i].events[k].rid;
        }
    idset_reset(&g->rids);
    for (size_t i = 0; i < count && !in_order; i++)
        for (size_t k = 0; k < rounds[i].event_count; k++) {
            uint64_t rid = rounds[i].events[k].rid;
            if (idset_has(&g->rids, rid) || !idset_add(&g->rids, rid))
                return false;
        }
    return true;
}

bool round_is_elsewhere(const struct pg_store *s, const pawl_round *r)
{
    return r->uid && r->row && r->change != PAWL_ROW_NONE && r->change != PAWL_ROW_REMOVE &&
           !pg_owns(s, r->row->shard);
}

bool round_is_hopeless(const struct pg_store *s, const pawl_round *r)
{
    if (round_is_elsewhere(s, r) || !round_is_sound(r) || !rids_differ(s->group, r, 1) ||
        (r->uid && r->change == PAWL_ROW_INSERT && r->base_seq))
        return true;
    for (size_t i = 0, at = 0; i < r->work_count; i++)
        if (!open_work_event(r, &r->work[i], &at) && open_work_uid(&s->open, r->work[i].id))
            return true;
    return false;
}

bool rounds_are_independent(struct pg_group *g, const struct pg_store *s, const pawl_round *rounds,
                            size_t count)
{
    struct sight k = {.g = g, .lowest_made = UINT64_MAX};
    bool look = false;

    idset_reset(&g->named);
    idset_reset(&g->changed);
    idset_reset(&g->objects);
    g->new_from = s->fence.next_id; /* all ids below it may be used, and none from it on */
    if (!order_of_ids_holds(g, rounds, count) || !rids_differ(g, rounds, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (round_is_hopeless(s, &rounds[i]))
            return false;
        see_round(&k, &rounds[i]);
        look = look || looks(&rounds[i]);
        if (rounds[i].extra)
            see_objects(&k, &rounds[i]);
    }
    if (k.twice || (look && count > 1 && looks_for_what_changes(g, rounds, count)))
        return false;
    bool apart = k.highest_named < k.lowest_made;
    for (size_t i = 0; i < count; i++)
        if (asks_for_what_changes(&k, &rounds[i]) ||
            (!apart && makes_what_is_named(&k, &rounds[i])))
            return false;
    return pg_queues_are_independent(rounds, count);
}
