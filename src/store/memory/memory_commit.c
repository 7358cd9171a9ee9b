/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_commit.c -- rounds: check in full, then apply.
 *
 * acceptable() is clause C3 as a list; apply() is what a round means, in the
 * order that matters (C8: inserts come before updates, quarantine and drops).
 * Rounds of one commit see the changes of those before them.
 */
#include "store/memory/memory.h"

#include "base/attr.h"
#include "store/memory/copy.h"
#include "store/round_rules.h"

#include <stdlib.h>
#include <string.h>

/* What acceptable() reads with one function: ids lie first in these structs. */
_Static_assert(offsetof(pawl_message, id) == 0 && offsetof(pawl_work, id) == 0 &&
                   offsetof(pawl_event, rid) == 0,
               "ids first");

static uint64_t id_at(const void *items, size_t size, size_t i)
{
    return *(const uint64_t *)(const void *)((const char *)items + i * size);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Ids usually grow, which needs no sorting. */
bool memory_distinct(const void *items, size_t size, size_t count)
{
    size_t i = 1;
    while (i < count && id_at(items, size, i - 1) < id_at(items, size, i))
        i++;
    if (i >= count)
        return true;
    uint64_t *ids = copy_alloc(count * sizeof(*ids));
    for (i = 0; i < count; i++)
        ids[i] = id_at(items, size, i);
    qsort(ids, count, sizeof(*ids), compare_ids);
    for (i = 1; i < count && ids[i - 1] != ids[i];)
        i++;
    free(ids);
    return i >= count;
}

/* True when the ids are distinct and all present in `table`, or all absent. */
static bool all_are(bool present, const struct order *table, const void *items, size_t size,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((order_find(table, 0, id_at(items, size, i)) != NULL) != present)
            return false;
    }
    return memory_distinct(items, size, count);
}

/* E6: the instance that the round has, or makes, is in a shard of the lane. */
static bool is_here(const struct memory *m, const struct memory_lane *lane, const pawl_round *r)
{
    const struct memory_instance *i = r->uid ? memory_instance(m, r->uid) : NULL;
    if (i)
        return memory_is_of(lane->fence.shards, i->row.shard);
    return r->change != PAWL_ROW_INSERT || memory_is_of(lane->fence.shards, r->row->shard);
}

static bool instance_fits(const struct memory *m, const pawl_round *r)
{
    if (r->uid == 0)
        return true;
    const struct memory_instance *i = memory_instance(m, r->uid);
    if (r->change == PAWL_ROW_INSERT)
        return !i && !map_gets(&m->by_name, r->row->id) && r->base_seq == 0;
    return i && i->row.execution == r->execution && i->row.last_seq == r->base_seq;
}

static bool rows_fit(const struct memory *m, const pawl_round *r)
{
    return round_is_sound(r) &&
           all_are(false, &m->by_rid, r->events, sizeof(*r->events), r->event_count) &&
           all_are(false, &m->messages_by_id, r->messages, sizeof(*r->messages),
                   r->message_count) &&
           all_are(false, &m->work_by_id, r->work, sizeof(*r->work), r->work_count) &&
           memory_queue_acceptable(&m->queues, r->queue) &&
           memory_objects_acceptable(&m->objects, r);
}

/* Sets `why` where it is not (C10). */
static bool acceptable(const struct memory *m, const struct memory_lane *lane, pawl_round *r)
{
    if (!is_here(m, lane, r))
        r->why = PAWL_WHY_ELSEWHERE;
    else if (!instance_fits(m, r))
        r->why = r->change != PAWL_ROW_INSERT ? PAWL_WHY_MOVED
                 : r->base_seq                ? PAWL_WHY_OTHER
                                              : PAWL_WHY_EXISTS;
    else if (!all_are(true, &m->work_by_id, r->need_work, sizeof(*r->need_work),
                      r->need_work_count))
        r->why = PAWL_WHY_WORK_GONE;
    else if (!rows_fit(m, r))
        r->why = PAWL_WHY_OTHER;
    else
        return true;
    return false;
}

static struct memory_execution *open_execution(struct memory_instance *i, uint64_t execution)
{
    struct memory_execution **slot = vec_push(&i->executions);
    need_memory(slot != NULL);
    *slot = copy_alloc(sizeof(**slot));
    (*slot)->closed.execution = execution;
    (*slot)->closed.shard = i->row.shard;
    return *slot;
}

/* Remember how an execution ended that the round leaves behind (R2). */
static void close_execution(struct memory_execution *x, const pawl_row *old, const pawl_row *row)
{
    copy_keep(&shape_row, &x->closed, old);
    pawl_row *closed = &x->closed;
    closed->state = PAWL_CONTINUED_AS_NEW;
    closed->last_seq = x->events.count;
    closed->last_rid = closed->last_seq ? x->events.items[closed->last_seq - 1]->event.rid : 0;
    closed->first_rid = closed->last_seq ? x->events.items[0]->event.rid : 0;
    closed->updated_ms = row->updated_ms;
    copy_set(&closed->attributes, (pawl_str){0});
    if (closed->version.len == 0)
        copy_set(&closed->version, row->version);
}

static void append_events(struct memory *m, struct memory_instance *i, const pawl_round *r)
{
    for (size_t n = 0; n < r->event_count; n++) {
        struct memory_execution *x = memory_execution(i, r->events[n].execution);
        if (!x)
            x = open_execution(i, r->events[n].execution);
        struct memory_event **slot = vec_push(&x->events);
        need_memory(slot != NULL);
        *slot = copy_alloc(sizeof(**slot));
        copy_keep(&shape_event, &(*slot)->event, &r->events[n]);
        order_add(&m->by_rid, &(*slot)->by_rid, 0, r->events[n].rid);
    }
}

static struct memory_instance *insert_instance(struct memory *m, const pawl_round *r)
{
    struct memory_instance *i = copy_alloc(sizeof(*i));
    copy_keep(&shape_row, &i->row, r->row);
    i->row.execution = r->execution;
    map_init(&i->keys);
    open_execution(i, r->execution);
    order_add(&m->by_uid, &i->by_uid, 0, r->uid);
    need_memory(map_puts(&m->by_name, i->row.id, i));
    return i;
}

static void remove_instance(struct memory *m, struct memory_instance *i)
{
    order_remove(&i->by_uid);
    map_removes(&m->by_name, i->row.id);
    struct memory_instance **slot = vec_push(&m->removed);
    need_memory(slot != NULL);
    *slot = i;
    for (size_t n = 0; n < i->executions.count; n++) {
        struct memory_execution **dead = vec_push(&m->dead);
        need_memory(dead != NULL);
        *dead = i->executions.items[n];
    }
    vec_deinit(&i->executions);
}

static void set_row(struct memory_instance *i, const pawl_round *r)
{
    pawl_row *row = &i->row;
    if (r->change == PAWL_ROW_LAST) {
        row->execution = r->row->execution;
        row->last_seq = r->row->last_seq;
        row->last_rid = r->row->last_rid;
        row->updated_ms = r->row->updated_ms;
        return;
    }
    pawl_row old = *row, now = *r->row;
    now.uid = old.uid;
    now.id = old.id;
    now.shard = old.shard;
    copy_keep(&shape_row, row, &now);
    /* `by_name` points at the bytes of the old id. */
    copy_set(&row->id, (pawl_str){0});
    row->id = old.id;
    old.id = (pawl_str){0};
    copy_drop(&shape_row, &old);
}

static void apply_instance(struct memory *m, const pawl_round *r)
{
    if (r->uid == 0 || r->change == PAWL_ROW_NONE)
        return;
    struct memory_instance *i =
        r->change == PAWL_ROW_INSERT ? insert_instance(m, r) : memory_instance(m, r->uid);
    if (r->change == PAWL_ROW_REMOVE) {
        remove_instance(m, i);
        return;
    }
    append_events(m, i, r);
    if (r->row->execution == r->execution + 1) {
        close_execution(memory_execution(i, r->execution), &i->row, r->row);
        if (!memory_execution(i, r->row->execution))
            open_execution(i, r->row->execution);
    }
    set_row(i, r);
}

/* E7 */
static uint32_t label_of(const struct memory *m, const pawl_message *msg)
{
    if (msg->shard != PAWL_SHARD_LOOK)
        return msg->shard;
    const struct memory_instance *i =
        msg->uid ? memory_instance(m, msg->uid) : map_gets(&m->by_name, msg->instance);
    return i ? i->row.shard : pawl_shard_of(msg->instance);
}

/* It has this label; true when its lane is this one. */
static bool label(struct memory_lane *lane, struct memory_message *msg, uint32_t shard)
{
    msg->message.shard = shard;
    lane->fence.mail |= 1ull << shard & ~lane->fence.shards;
    return memory_is_of(lane->fence.shards, shard);
}

static void insert_messages(struct memory *m, struct memory_lane *lane, const pawl_round *r,
                            int64_t now_ms)
{
    uint32_t *shards = round_shards(r);
    for (size_t n = 0; n < r->message_count; n++) {
        struct memory_message *msg = copy_alloc(sizeof(*msg));
        copy_keep(&shape_message, &msg->message, &r->messages[n]);
        bool own = label(lane, msg, label_of(m, &r->messages[n]));
        msg->taken = own && msg->message.visible_ms <= now_ms; /* C7 */
        if (shards)
            shards[n] = msg->message.shard;
        order_add(&m->messages_by_id, &msg->by_id, 0, msg->message.id);
        order_add(&m->messages_by_owner, &msg->by_owner, (int64_t)msg->message.uid,
                  msg->message.id);
        memory_place_message(m, msg);
    }
}

static void apply_messages(struct memory *m, struct memory_lane *lane, const pawl_round *r,
                           int64_t now_ms)
{
    insert_messages(m, lane, r, now_ms);
    for (size_t n = 0; n < r->message_update_count; n++) {
        const pawl_message_update *u = &r->message_updates[n];
        struct memory_message *msg = memory_message(m, u->id);
        if (!msg)
            continue;
        msg->message.visible_ms = u->visible_ms;
        msg->message.attempt = u->attempt;
        msg->message.mailbox = u->mailbox;
        msg->taken = false;
        if (u->relabel)
            (void)label(lane, msg, u->shard);
        memory_place_message(m, msg);
    }
    for (size_t n = 0; n < r->quarantine_count; n++) {
        struct memory_message *msg = memory_message(m, r->quarantine[n].id);
        if (msg)
            memory_quarantine(m, msg, r->quarantine[n].reason);
    }
    for (size_t n = 0; n < r->drop_message_count; n++) {
        struct memory_message *msg = memory_message(m, r->drop_messages[n]);
        if (msg)
            memory_delete_message(msg);
    }
}

static void update_work(struct memory *m, const struct memory_lane *lane, struct memory_work *w,
                        const pawl_work_update *u)
{
    pawl_work *row = &w->work;
    row->attempt = u->attempt;
    row->crashes = u->crashes;
    row->visible_ms = u->visible_ms;
    row->deadline_ms = u->deadline_ms;
    row->lock_epoch = u->lock_epoch;
    row->lock_until_ms = u->lock_until_ms;
    copy_set(&row->last_error, u->last_error);
    copy_set(&row->lock_token, u->lock_token);
    w->taken = u->lock_epoch == lane->fence.epoch;
    memory_place_work(m, w);
}

static void apply_work(struct memory *m, const struct memory_lane *lane, const pawl_round *r)
{
    for (size_t n = 0; n < r->need_work_count; n++)
        memory_delete_work(memory_work(m, r->need_work[n]));
    for (size_t n = 0; n < r->work_count; n++) {
        struct memory_work *w = copy_alloc(sizeof(*w));
        copy_keep(&shape_work, &w->work, &r->work[n]);
        w->taken = w->work.lock_epoch == lane->fence.epoch; /* C7 */
        order_add(&m->work_by_id, &w->by_id, 0, w->work.id);
        order_add(&m->work_by_owner, &w->by_owner, (int64_t)w->work.uid, w->work.id);
        memory_place_work(m, w);
    }
    for (size_t n = 0; n < r->work_update_count; n++) {
        struct memory_work *w = memory_work(m, r->work_updates[n].id);
        if (w)
            update_work(m, lane, w, &r->work_updates[n]);
    }
    for (size_t n = 0; n < r->drop_work_count; n++) {
        struct memory_work *w = memory_work(m, r->drop_work[n]);
        if (w)
            memory_delete_work(w);
    }
}

static void apply_keys(struct memory *m, const pawl_round *r)
{
    struct memory_instance *i = memory_instance(m, r->uid);
    for (size_t n = 0; i && n < r->key_count; n++) {
        if (map_gets(&i->keys, r->keys[n]))
            continue;
        pawl_str *key = copy_alloc(sizeof(*key));
        copy_set(key, r->keys[n]);
        need_memory(map_puts(&i->keys, *key, key));
    }
}

pawl_status memory_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                          int64_t now_ms, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        lane->fence.mail = 0;
        for (size_t i = 0; i < count; i++) {
            pawl_round *r = &rounds[i];
            r->result = acceptable(m, lane, r) ? PAWL_OK : PAWL_CONFLICT;
            if (r->result != PAWL_OK)
                continue;
            apply_instance(m, r);
            apply_messages(m, lane, r, now_ms);
            apply_work(m, lane, r);
            apply_keys(m, r);
            memory_queue_apply(&m->queues, r->queue);
            memory_objects_apply(&m->objects, r, now_ms);
        }
        memory_move_fence(m, lane, fence);
    }
    memory_unlock(m);
    return status;
}
