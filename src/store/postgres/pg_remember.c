/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_remember.c -- what memory knows after a commit: taken rows, labels, due times.
 *
 *     pg_make_room ─▶ (the group is sent) ─▶ pg_see_result … ─▶ COMMIT ─▶ pg_remember
 *
 * Nothing of it changes before the server said COMMIT (G3), and nothing can fail then: room was made.
 *
 * Messages may be for another lane.  Those with the label of one of our shards are taken by the
 * commit (C7); those of other shards are left to their lanes, and the fence says which (E8).  Labels
 * that the server looked up come with its answer; after a lost reply they are read again, and those
 * of rows that their lane has deleted since are not known any more: it has seen them.
 *
 * Called by pg_commit.c and pg_outcome.c.
 */
#include "base/attr.h"
#include "store/postgres/pg_group.h"
#include "store/round_rules.h"

/* ---- Labels ----------------------------------------------------------------------------------- */

/* PAWL_SHARD_LOOK: the server did not say; the row is gone, or was not there.  Labels are asked for
 * in the order in which they came, or nearly so. */
static uint32_t label_of(const struct pg_store *s, uint64_t id)
{
    struct pg_group *g = s->group;

    for (size_t i = 0; i < g->labels.count; i++) {
        g->label_at = (g->label_at + 1) % g->labels.count;
        if (g->labels.items[g->label_at].id == id)
            return g->labels.items[g->label_at].shard;
    }
    return PAWL_SHARD_LOOK;
}

static void see_labels(struct pg_group *g, const PGresult *r)
{
    for (int i = 0; i < pq.ntuples(r) && g->labels.count < g->labels.cap; i++)
        g->labels.items[g->labels.count++] =
            (struct pg_label){value_id(r, i, 0), (uint32_t)value_i64(r, i, 1)};
}

void pg_see_result(void *user, size_t index, const PGresult *r)
{
    struct pg_store *s = user;
    int statement = link_sent(&s->writer, index);

    if (statement == ST_PG_MESSAGE_LOOK || statement == ST_PG_MESSAGE_MOVE)
        see_labels(s->group, r);
    if (statement == ST_PG_WORK_UPDATE || statement == ST_PG_OPEN_MOVE)
        s->group->work_shards |= value_id(r, 0, 0); /* NULL: no row */
}

/* The ids of which a commit would have told the label. */
static void list_unlabelled(const pawl_round *r, const struct pg_store *s, struct pg_array *ids)
{
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].shard == PAWL_SHARD_LOOK &&
            label_of(s, r->messages[i].id) == PAWL_SHARD_LOOK)
            array_id(ids, r->messages[i].id);
    for (size_t i = 0; i < r->message_update_count; i++)
        if (r->message_updates[i].relabel &&
            label_of(s, r->message_updates[i].id) == PAWL_SHARD_LOOK)
            array_id(ids, r->message_updates[i].id);
}

pawl_status pg_labels_read(struct pg_store *s, const pawl_round *rounds, size_t count,
                           pawl_error *reterr)
{
    struct pg_array *ids = &s->scratch[0];
    pawl_status status = PAWL_OK;

    s->group->work_shards = PAWL_SHARDS_ALL; /* it may have been any */
    array_reset(ids);
    ids->type = PG_INT8;
    for (size_t i = 0; i < count; i++)
        if (rounds[i].result == PAWL_OK)
            list_unlabelled(&rounds[i], s, ids);
    if (!ids->rows)
        return PAWL_OK;
    params_reset(&s->params);
    params_array(&s->params, ids);
    PGresult *r =
        link_run(&s->writer, ST_PG_MAIL_LABELS, &s->params, "read labels", &status, reterr);
    if (r)
        see_labels(s->group, r);
    pq.clear(r);
    return status;
}

/* ---- Memory ----------------------------------------------------------------------------------- */

bool pg_make_room(struct pg_store *s, const pawl_round *rounds, size_t count)
{
    size_t more = 0, labels = 0;
    struct pg_group *g = s->group;

    for (size_t i = 0; i < count; i++) {
        more += rounds[i].message_count;
        labels += rounds[i].message_count + rounds[i].message_update_count;
    }
    vec_reset(&g->plans);
    vec_reset(&g->labels);
    while (g->labels.cap < labels)
        if (!vec_grow(&g->labels.items, &g->labels.cap, g->labels.cap, sizeof *g->labels.items))
            return false;
    for (size_t i = 0; i < count; i++)
        if (!vec_push(&g->plans))
            return false;
    return (more == 0 || idset_reserve(&s->messages, more)) &&
           open_work_reserve(&s->open, rounds, count);
}

/* A message has this label: is it one of ours?  Of another lane it is mail (E8). */
static bool is_ours(struct pg_store *s, uint32_t shard)
{
    if (pg_owns(s, shard))
        return true;
    s->fence.mail |= UINT64_C(1) << shard;
    return false;
}

static void remember_inserted(struct pg_store *s, const pawl_round *r, int64_t now_ms)
{
    uint32_t *shards = round_shards(r);

    for (size_t i = 0; i < r->message_count; i++) {
        const pawl_message *m = &r->messages[i];
        uint32_t shard = m->shard == PAWL_SHARD_LOOK ? label_of(s, m->id) : m->shard;
        if (shards)
            shards[i] = shard;
        if (shard == PAWL_SHARD_LOOK || !is_ours(s, shard))
            continue;
        if (m->visible_ms <= now_ms)
            assert_that(idset_add(&s->messages, m->id)); /* C7; room was made */
        else
            pg_messages_lower(s, shard, m->visible_ms, m->id);
    }
}

static void remember_updated(struct pg_store *s, const pawl_message_update *u)
{
    uint32_t shard = u->relabel ? label_of(s, u->id) : PG_SOME_SHARD;

    idset_remove(&s->messages, u->id);
    if (u->relabel && (shard == PAWL_SHARD_LOOK || !is_ours(s, shard))) {
        idset_remove(&s->free_messages, u->id);
        return; /* it was not there, or is not here any more */
    }
    if (!u->mailbox)
        pg_messages_lower(s, shard, u->visible_ms, u->id);
}

static void remember_messages(struct pg_store *s, const pawl_round *r, int64_t now_ms)
{
    remember_inserted(s, r, now_ms);
    for (size_t i = 0; i < r->message_update_count; i++)
        remember_updated(s, &r->message_updates[i]);
    for (size_t i = 0; i < r->quarantine_count; i++)
        idset_remove(&s->messages, r->quarantine[i].id);
    for (size_t i = 0; i < r->drop_message_count; i++)
        idset_remove(&s->messages, r->drop_messages[i]);
}

static void remember_work(struct pg_store *s, const pawl_round *r)
{
    pg_work_remember(s, r);
    for (size_t i = 0; i < r->work_count; i++)
        pg_work_appears(s, UINT64_C(1) << r->work[i].shard, r->work[i].visible_ms,
                        r->work[i].deadline_ms);
    for (size_t i = 0; i < r->work_update_count; i++)
        pg_work_appears(s, s->group->work_shards, r->work_updates[i].visible_ms,
                        r->work_updates[i].deadline_ms);
}

void pg_remember(struct pg_store *s, const pawl_round *rounds, size_t count, int64_t now_ms)
{
    const struct pg_group *g = s->group;

    assert_that(count == 0 || g->plans.count == count);
    for (size_t i = 0; i < count; i++) {
        if (rounds[i].result != PAWL_OK)
            continue;
        remember_messages(s, &rounds[i], now_ms);
        remember_work(s, &rounds[i]);
        open_work_apply(&s->open, &rounds[i], g->plans.items[i]);
        if (rounds[i].queue)
            pg_queues_remember(s, rounds[i].queue);
    }
}
