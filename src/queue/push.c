/* SPDX-License-Identifier: MIT */
/*
 * queue/push.c -- items come in.
 *
 * All of a push or none of it: limits are looked at before anything changes.  An
 * item that belongs into the window is copied; one that lies behind it goes
 * straight to the store, from the caller's memory.
 */
#include "base/limits.h"
#include "queue/internal.h"

#include <string.h>

static pawl_str write_attrs(const pawl_queue_item *item, pawl_mem *mem)
{
    if (!item->group.len && !item->headers.len)
        return (pawl_str){"", 0};
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    if (item->group.len) {
        pawl_json_key(w, "group");
        pawl_json_str(w, item->group);
    }
    if (item->headers.len) {
        pawl_json_key(w, "headers");
        pawl_json_raw(w, item->headers);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* The entry that has this dedup id already; 0: none. */
static uint64_t twin_of(const struct queue *q, const pawl_queue_item *item, uint64_t stored)
{
    const struct key_note *n = map_gets(&q->keys, item->dedup_id);
    return n ? n->entry : stored;
}

static uint64_t stored_twin(const struct queue_known *known, size_t i)
{
    return known && known->twins ? known->twins[i] : 0;
}

/* Its key was given to a push of something else. */
static bool is_other(const struct queue *q, const pawl_queue_request *req,
                     const struct queue_known *known, pawl_queue_reply *ret)
{
    if (!known || !known->mark.len)
        return false;
    const struct key_note *n = map_gets(&q->keys, known->mark);
    uint64_t printed = n ? n->entry : known->printed;
    if (!printed || printed == known->print)
        return false;
    ret->status = PAWL_CONFLICT;
    error_set(&ret->error, PAWL_CONFLICT,
              "key '%.128s' was given to a push of other items; choose another key", req->key);
    return true;
}

/* Does its dedup id come earlier in the same push? */
static bool is_repeated(const struct queue *q, const pawl_queue_request *req, size_t at)
{
    for (size_t i = 0; i < at && q->config.dedup_window_ms; i++)
        if (pawl_str_eq(req->items[i].dedup_id, req->items[at].dedup_id))
            return true;
    return false;
}

const char *queue_limit(const struct queue *q, uint64_t items, uint64_t bytes)
{
    const pawl_queue_config *c = &q->config;
    if (items && c->max_length &&
        q->row.ready + q->row.delayed + q->row.locked + items > c->max_length)
        return "max_length";
    return items && c->max_bytes && q->row.bytes + bytes > c->max_bytes ? "max_bytes" : NULL;
}

/* Duplicates need no room: a caller that pushes again because the answer was lost gets it. */
static bool is_full(const struct queue *q, const pawl_queue_request *req,
                    const struct queue_known *known, pawl_queue_reply *ret)
{
    uint64_t items = req->item_count, bytes = 0;
    for (size_t i = 0; i < req->item_count; i++)
        bytes += req->items[i].data.len + req->items[i].headers.len;
    if (!queue_limit(q, items, bytes))
        return false;
    for (size_t i = 0; i < req->item_count; i++) {
        const pawl_queue_item *item = &req->items[i];
        if (!item->dedup_id.len ||
            (!twin_of(q, item, stored_twin(known, i)) && !is_repeated(q, req, i)))
            continue;
        items--;
        bytes -= item->data.len + item->headers.len;
    }
    const char *limit = queue_limit(q, items, bytes);
    if (!limit)
        return false;
    ret->status = PAWL_BUSY;
    error_set(&ret->error, PAWL_BUSY, "queue '%s' is full (%s); try again when it is shorter",
              q->name, limit);
    return true;
}

static void remember_key(struct queue_group *g, struct queue *q, pawl_str key, uint64_t entry)
{
    struct key_note *n = arena_new(g->mem, struct key_note);
    *n = (struct key_note){.next = g->keys,
                           .q = q,
                           .key = key,
                           .entry = entry,
                           .expires_ms = g->now_ms + q->config.dedup_window_ms};
    g->keys = n;
    g->key_count++;
    q->forget = true;
    need_memory(map_puts(&q->keys, n->key, n));
}

static int64_t visible_at(const struct queue_group *g, const pawl_queue_item *item)
{
    if (item->deliver_at_ms > 0)
        return item->deliver_at_ms;
    return item->delay_ms > 0 ? g->now_ms + item->delay_ms : 0;
}

static int64_t expires_at(const struct queue_group *g, const struct queue *q,
                          const pawl_queue_item *item)
{
    int64_t ttl = item->expires_in_ms > 0 ? item->expires_in_ms : q->config.message_ttl_ms;
    return ttl > 0 ? g->now_ms + ttl : 0;
}

/* Behind the window: the store has it, memory does not. */
static void add_behind(struct queue_group *g, struct queue *q, const pawl_queue_entry *row)
{
    struct insert_note *n = arena_new(g->mem, struct insert_note);
    n->q = q;
    n->row = *row;
    *g->inserts_end = n;
    g->inserts_end = &n->next;
    g->insert_count++;
    q->row.bytes += row->bytes;
    q->row.ready++;
    if (row->expires_ms && (!q->next_expire_ms || row->expires_ms < q->next_expire_ms))
        q->next_expire_ms = row->expires_ms;
}

static void add_entry(struct queue_group *g, struct queue *q, const pawl_queue_entry *row)
{
    struct entry *e = entry_create(q, row->data.len + row->attrs.len + 2);
    char *at = (char *)(e + 1);
    e->id = row->id;
    e->priority = row->priority;
    e->place = row->place;
    e->enqueued_ms = row->enqueued_ms;
    e->expires_ms = row->expires_ms;
    e->bytes = row->bytes;
    e->fresh = e->full = true;
    memcpy(at, row->data.ptr, row->data.len);
    e->data = (pawl_str){at, row->data.len};
    at += row->data.len + 1;
    if (row->attrs.len)
        memcpy(at, row->attrs.ptr, row->attrs.len);
    e->attrs = (pawl_str){at, row->attrs.len};
    line_know(e);
    entry_join(g, e, q, row->visible_ms);
}

void queue_bury_start(struct queue_group *g, struct queue *q, const pawl_queue_message *m,
                      pawl_str reason)
{
    pawl_queue_item item = {.group = m->group, .headers = m->headers};
    pawl_str attrs = write_attrs(&item, g->mem);
    struct entry *e = entry_create(q, 0);
    e->id = group_new_id(g);
    e->priority = m->priority;
    e->enqueued_ms = m->enqueued_ms;
    e->deliveries = m->delivery_count;
    e->bytes = m->data.len + attrs.len;
    e->fresh = true;
    entry_copy_body(e, m->data, attrs, (pawl_str){0});
    group_dirty(g, q);
    q->totals.started--;
    q->totals.id_taken++;
    entry_bury(g, e, reason);
}

static uint64_t push_one(struct queue_group *g, struct queue *q, const pawl_queue_item *item,
                         int64_t priority)
{
    pawl_queue_entry row = {
        .id = group_new_id(g),
        .priority = priority,
        .visible_ms = visible_at(g, item),
        .expires_ms = expires_at(g, q, item),
        .enqueued_ms = g->now_ms,
        .data = {item->data.len ? item->data.ptr : "", item->data.len},
        .attrs = write_attrs(item, g->mem)
    };
    row.place = row.id;
    row.bytes = row.data.len + row.attrs.len;
    g->bytes += row.bytes;
    if (row.visible_ms <= g->now_ms && !window_wants(q, row.priority, row.place)) {
        row.visible_ms = 0;
        add_behind(g, q, &row);
    } else {
        add_entry(g, q, &row);
    }
    return row.id;
}

void queue_push(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                const struct queue_known *known, pawl_queue_reply *ret)
{
    if (is_other(q, req, known, ret) || is_full(q, req, known, ret))
        return;
    pawl_queue_pushed *pushed = arena_array(g->mem, pawl_queue_pushed, req->item_count);
    group_dirty(g, q);
    for (size_t i = 0; i < req->item_count; i++) {
        const pawl_queue_item *item = &req->items[i];
        pushed[i].priority =
            item->use_default_priority ? q->config.default_priority : item->priority;
        uint64_t twin = item->dedup_id.len ? twin_of(q, item, stored_twin(known, i)) : 0;
        if (twin) {
            pushed[i].id = twin;
            pushed[i].duplicate = true;
            q->totals.duplicates++;
            continue;
        }
        pushed[i].id = push_one(g, q, item, pushed[i].priority);
        q->totals.pushed++;
        ret->count++;
        if (item->dedup_id.len && q->config.dedup_window_ms)
            remember_key(g, q, item->dedup_id, pushed[i].id);
    }
    if (ret->count && known && known->mark.len && q->config.dedup_window_ms)
        remember_key(g, q, known->mark, known->print);
    ret->pushed = pushed;
    ret->pushed_count = req->item_count;
}

void queue_push_always(struct queue_group *g, struct queue *q, const pawl_queue_item *item,
                       uint64_t twin)
{
    group_dirty(g, q);
    if (item->dedup_id.len && twin_of(q, item, twin)) {
        q->totals.duplicates++;
        return;
    }
    uint64_t id = push_one(g, q, item, item->priority);
    if (item->dedup_id.len && q->config.dedup_window_ms)
        remember_key(g, q, item->dedup_id, id);
    q->totals.pushed++;
}
