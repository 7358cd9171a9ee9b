/* SPDX-License-Identifier: MIT */
/* suite/draft.c -- rounds put together piece by piece, and one-round shortcuts. */
#include "probe.h"

#include <string.h>

/* Room for one more behind `count` items: doubles whenever count is a power of two. */
static void *grow(struct probe *t, void *items, size_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0)
        return items;
    void *bigger = pawl_mem_alloc(t->mem, (count ? 2 * count : 1) * size);
    if (count > 0)
        memcpy(bigger, items, count * size);
    return bigger;
}

#define SLOT(array, count)                                                                         \
    (d->array = grow(d->t, d->array, d->round.count, sizeof(*d->array)),                           \
     &d->array[d->round.count++])

pawl_round draft_round(const struct draft *d)
{
    pawl_round round = d->round;
    round.events = d->events;
    round.messages = d->messages;
    round.work = d->work;
    round.drop_messages = d->drop_messages;
    round.drop_work = d->drop_work;
    round.need_work = d->need_work;
    round.message_updates = d->message_updates;
    round.work_updates = d->work_updates;
    round.quarantine = d->quarantine;
    round.keys = d->keys;
    round.result = PAWL_MISUSE; /* the store must set it */
    return round;
}

struct draft *free_round(struct probe *t)
{
    struct draft *d = pawl_mem_alloc(t->mem, sizeof(*d));
    d->t = t;
    return d;
}

struct draft *insert(struct probe *t, const char *id)
{
    struct draft *d = free_round(t);
    d->row = (pawl_row){.uid = new_id(t),
                        .id = pawl_s(id),
                        .orchestration = pawl_s("Order"),
                        .version = pawl_s("1.0.0"),
                        .state = PAWL_RUNNING,
                        .execution = 1,
                        .created_ms = t->now,
                        .updated_ms = t->now};
    d->round.uid = d->row.uid;
    d->round.execution = 1;
    d->round.change = PAWL_ROW_INSERT;
    d->round.row = &d->row;
    d->row.first_rid = draft_event(d, "start");
    return d;
}

static struct draft *on(struct probe *t, pawl_row *row, pawl_row_change how)
{
    struct draft *d = free_round(t);
    d->row = *row;
    d->row.updated_ms = t->now;
    d->from = row;
    d->round.uid = row->uid;
    d->round.execution = row->execution;
    d->round.base_seq = row->last_seq;
    d->round.base_rid = row->last_rid;
    d->round.change = how;
    d->round.row = &d->row;
    return d;
}

struct draft *change(struct probe *t, pawl_row *row)
{
    return on(t, row, PAWL_ROW_LAST);
}
struct draft *change_all(struct probe *t, pawl_row *row)
{
    return on(t, row, PAWL_ROW_ALL);
}
struct draft *remove_round(struct probe *t, pawl_row *row)
{
    return on(t, row, PAWL_ROW_REMOVE);
}

uint64_t draft_event(struct draft *d, const char *data)
{
    pawl_event *e = SLOT(events, event_count);
    *e = (pawl_event){.rid = new_id(d->t),
                      .execution = d->row.execution,
                      .seq = d->row.last_seq + 1,
                      .kind = d->row.last_seq == 0 ? PAWL_EV_ORCHESTRATION_STARTED
                                                   : PAWL_EV_CUSTOM_STATUS_UPDATED,
                      .data = pawl_mem_dup(d->t->mem, pawl_s(data)),
                      .at_ms = d->t->now};
    d->row.last_seq = e->seq;
    d->row.last_rid = e->rid;
    return e->rid;
}

void draft_continue(struct draft *d, const char *data)
{
    draft_event(d, "continued");
    d->events[d->round.event_count - 1].kind = PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW;
    d->round.change = d->round.change == PAWL_ROW_INSERT ? PAWL_ROW_INSERT : PAWL_ROW_ALL;
    d->row.execution++;
    d->row.last_seq = 0;
    d->row.first_rid = draft_event(d, data);
}

uint64_t draft_message(struct draft *d, pawl_message m)
{
    m.id = m.id ? m.id : new_id(d->t);
    m.uid = m.uid || m.instance.len > 0 ? m.uid : d->round.uid;
    m.shard = m.shard ? m.shard : d->row.shard;
    m.kind = m.kind ? m.kind : PAWL_MSG_EXTERNAL_RAISED;
    m.created_ms = m.created_ms ? m.created_ms : d->t->now;
    *SLOT(messages, message_count) = m;
    return m.id;
}

uint64_t draft_mail(struct draft *d, const char *data)
{
    return draft_message(d, (pawl_message){.data = pawl_mem_dup(d->t->mem, pawl_s(data))});
}

uint64_t draft_work(struct draft *d, pawl_work w)
{
    w.id = w.id ? w.id : new_id(d->t);
    w.uid = w.uid ? w.uid : d->round.uid;
    w.shard = w.shard ? w.shard : d->row.shard;
    w.execution = w.execution ? w.execution : 1;
    w.scheduled_ms = w.scheduled_ms ? w.scheduled_ms : d->t->now;
    *SLOT(work, work_count) = w;
    return w.id;
}

uint64_t draft_job(struct draft *d, const char *name)
{
    return draft_work(d, (pawl_work){.name = pawl_mem_dup(d->t->mem, pawl_s(name))});
}

uint64_t draft_scheduled(struct draft *d, const char *name)
{
    uint64_t rid = draft_event(d, name);
    d->events[d->round.event_count - 1].kind = PAWL_EV_ACTIVITY_SCHEDULED;
    return draft_work(d, (pawl_work){.id = rid, .name = d->events[d->round.event_count - 1].data});
}

uint64_t draft_plain(struct draft *d, const char *name)
{
    uint64_t rid = draft_event(d, "input");
    pawl_event *e = &d->events[d->round.event_count - 1];
    e->kind = PAWL_EV_ACTIVITY_SCHEDULED;
    e->ref = rid;
    e->name = pawl_mem_dup(d->t->mem, pawl_s(name));
    return draft_work(d, (pawl_work){.id = rid,
                                     .execution = e->execution,
                                     .ref = e->ref,
                                     .instance = d->row.id,
                                     .name = e->name,
                                     .input = e->data,
                                     .attrs = e->attrs,
                                     .scheduled_ms = e->at_ms,
                                     .lock_epoch = d->t->fence.epoch});
}

void draft_drop_message(struct draft *d, uint64_t id)
{
    *SLOT(drop_messages, drop_message_count) = id;
}

void draft_drop_work(struct draft *d, uint64_t id)
{
    *SLOT(drop_work, drop_work_count) = id;
}

void draft_need_work(struct draft *d, uint64_t id)
{
    *SLOT(need_work, need_work_count) = id;
}

void draft_update_message(struct draft *d, pawl_message_update u)
{
    *SLOT(message_updates, message_update_count) = u;
}

void draft_update_work(struct draft *d, pawl_work_update u)
{
    *SLOT(work_updates, work_update_count) = u;
}

void draft_quarantine(struct draft *d, uint64_t id, const char *reason)
{
    *SLOT(quarantine, quarantine_count) = (pawl_quarantine){.id = id, .reason = pawl_s(reason)};
}

void draft_key(struct draft *d, const char *key)
{
    *SLOT(keys, key_count) = pawl_s(key);
}

pawl_status commit_all(struct probe *t, struct draft **drafts, size_t count)
{
    pawl_round *rounds = pawl_mem_alloc(t->mem, count * sizeof(*rounds));
    pawl_error err = {0};
    for (size_t i = 0; i < count; i++)
        rounds[i] = draft_round(drafts[i]);
    pawl_fence before = t->fence;
    pawl_status status = t->store->ops->commit(t->store, &t->fence, rounds, count, t->now, &err);
    CHECK_NUMBER(t->fence.next_id, before.next_id);
    CHECK_NUMBER(t->fence.group_no, before.group_no + (status == PAWL_OK));
    for (size_t i = 0; i < count && status == PAWL_OK; i++) {
        drafts[i]->round.result = rounds[i].result;
        drafts[i]->round.why = rounds[i].why;
        CHECK(rounds[i].result == PAWL_OK || rounds[i].result == PAWL_CONFLICT);
        if (rounds[i].result == PAWL_OK && drafts[i]->from)
            *drafts[i]->from = drafts[i]->row;
    }
    return status;
}

pawl_status commit(struct draft *d)
{
    pawl_status status = commit_all(d->t, &d, 1);
    return status == PAWL_OK ? d->round.result : status;
}

static void must(struct draft *d)
{
    struct probe *t = d->t;
    CHECK_STATUS(commit(d), PAWL_OK);
}

pawl_row make(struct probe *t, const char *id)
{
    struct draft *d = insert(t, id);
    must(d);
    return d->row;
}

pawl_row make_in(struct probe *t, const char *id, uint32_t shard)
{
    needs_lanes(t);
    struct draft *d = insert(t, id);
    d->row.shard = shard;
    must(d);
    return d->row;
}

uint64_t deliver_at(struct probe *t, const pawl_row *to, const char *data, int64_t visible_ms)
{
    struct draft *d = free_round(t);
    uint64_t id = draft_message(
        d, (pawl_message){
               .uid = to->uid, .shard = to->shard, .data = pawl_s(data), .visible_ms = visible_ms});
    must(d);
    return id;
}

uint64_t deliver(struct probe *t, const pawl_row *to, const char *data)
{
    uint64_t id = deliver_at(t, to, data, 0);
    t->store->ops->abandon_messages(t->store, &id, 1);
    return id;
}

uint64_t enqueue_work(struct probe *t, const pawl_row *of, pawl_work w)
{
    struct draft *d = free_round(t);
    w.uid = of->uid;
    w.shard = of->shard;
    uint64_t id = draft_work(d, w);
    must(d);
    return id;
}

uint64_t enqueue(struct probe *t, const pawl_row *of, const char *name)
{
    return enqueue_work(t, of, (pawl_work){.name = pawl_s(name)});
}

void append(struct probe *t, pawl_row *row, const char *data)
{
    struct draft *d = change(t, row);
    draft_event(d, data);
    must(d);
}

void continue_as_new(struct probe *t, pawl_row *row, const char *data)
{
    struct draft *d = change_all(t, row);
    draft_continue(d, data);
    must(d);
}

void remove_instance(struct probe *t, pawl_row *row)
{
    must(remove_round(t, row));
}

void purge_all(struct probe *t)
{
    bool left = true;
    pawl_error err = {0};
    for (int i = 0; left; i++) {
        CHECK(i < 10000);
        CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 500, &left, &err), PAWL_OK);
    }
}
