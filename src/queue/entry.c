/* SPDX-License-Identifier: MIT */
/*
 * queue/entry.c -- one entry: where it is counted, where it goes.
 *
 * An entry leaves the state it is in (entry_leave) before it joins another
 * (entry_join), so counters and window change in these two functions only.
 */
#include "base/pack.h"
#include "queue/internal.h"

#include <string.h>

struct entry *entry_create(struct queue *q, size_t body)
{
    struct entry *e = q->env.alloc(sizeof(*e) + body);
    e->q = q;
    return e;
}

void entry_free(struct entry *e)
{
    struct queue_env env = e->q->env;
    line_forget(e);
    if (e->body)
        env.release(e->body);
    env.release(e);
}

void entry_copy_body(struct entry *e, pawl_str data, pawl_str attrs, pawl_str note)
{
    char *old = e->body; /* `note` may lie in it */
    e->body = e->q->env.alloc(data.len + attrs.len + note.len + 3);
    char *at = e->body;
    e->data = pack_str(&at, data);
    e->attrs = pack_str(&at, attrs);
    e->note = pack_str(&at, note);
    e->full = true;
    if (old)
        e->q->env.release(old);
    line_know(e);
}

struct entry *entry_of_row(struct queue *q, const pawl_queue_entry *row)
{
    struct entry *e = entry_create(q, 0);
    e->id = row->id;
    e->priority = row->priority;
    e->place = row->place;
    e->visible_ms = row->visible_ms;
    e->expires_ms = row->expires_ms;
    e->enqueued_ms = row->enqueued_ms;
    e->bytes = row->bytes;
    e->deliveries = row->deliveries;
    e->state = row->state;
    if (row->data.len + row->attrs.len == row->bytes)
        entry_copy_body(e, row->data, row->attrs, row->note);
    return e;
}

/* The queue's own copy of a name. */
static const char *keep_name(struct queue *q, pawl_str name)
{
    char *own = map_gets(&q->sources, name);
    if (own)
        return own;
    own = q->env.alloc(name.len + 1);
    memcpy(own, name.ptr, name.len);
    need_memory(map_puts(&q->sources, (pawl_str){own, name.len}, own));
    return own;
}

struct locked_entry entry_locked(struct queue *q, const struct entry *e)
{
    struct locked_entry h = {.id = e->id,
                             .priority = e->priority,
                             .place = e->place,
                             .expires_ms = e->expires_ms,
                             .enqueued_ms = e->enqueued_ms,
                             .bytes = e->bytes,
                             .deliveries = e->deliveries,
                             .line = e->line};
    if (!e->note.len)
        return h;
    pawl_mem mem;
    arena_init(&mem);
    pawl_str source = pawl_json_text(&mem, e->note, "/source", "");
    h.source = source.len ? keep_name(q, source) : NULL;
    h.died_ms = pawl_json_int(e->note, "/died_ms", 0);
    arena_deinit(&mem);
    return h;
}

struct entry *entry_of_locked(struct queue *q, const struct locked_entry *h)
{
    struct entry *e = entry_create(q, 0);
    e->id = h->id;
    e->priority = h->priority;
    e->place = h->place;
    e->expires_ms = h->expires_ms;
    e->enqueued_ms = h->enqueued_ms;
    e->bytes = h->bytes;
    e->deliveries = h->deliveries;
    e->state = PAWL_QUEUE_LOCKED;
    e->line = h->line;
    if (e->line)
        e->line->refs++;
    return e;
}

void entry_leave(struct queue_group *g, struct entry *e)
{
    struct queue *q = e->q;
    group_dirty(g, q);
    group_touch(g, e);
    q->row.bytes -= e->bytes;
    if (e->state == PAWL_QUEUE_READY)
        q->row.ready--;
    else if (e->state == PAWL_QUEUE_DELAYED)
        q->row.delayed--;
    else
        q->row.locked--;
    if (e->in_window) {
        size_t i;
        assert_that(window_find(q, e->priority, e->place, &i) == e);
        window_remove(q, i);
    }
    if (e->line)
        line_left(e, e->state == PAWL_QUEUE_LOCKED);
    else if (q->cuts && !e->full) /* perhaps the one that those of a cut line wait for */
        q->stale = true;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

void entry_join(struct queue_group *g, struct entry *e, struct queue *q, int64_t visible_ms)
{
    group_dirty(g, q);
    group_touch(g, e);
    if (e->q != q) {
        line_forget(e);
        e->q = q;
        line_know(e);
    }
    q->row.bytes += e->bytes;
    bool delayed = visible_ms > g->now_ms;
    e->state = delayed ? PAWL_QUEUE_DELAYED : PAWL_QUEUE_READY;
    e->visible_ms = delayed ? visible_ms : 0;
    q->next_expire_ms = earlier(q->next_expire_ms, e->expires_ms);
    if (delayed) {
        q->row.delayed++;
        q->next_delayed_ms = earlier(q->next_delayed_ms, visible_ms);
    } else {
        q->row.ready++;
        (void)window_insert(q, e);
    }
}

void entry_bury(struct queue_group *g, struct entry *e, pawl_str reason)
{
    struct queue *from = e->q;
    struct queue *to = g->open(g->user, queue_dead_letters(from, g->mem));
    assert_that(to != NULL); /* queue_may_bury: the caller has it in memory */
    from->totals.dead_lettered++;
    e->note = queue_note_write(from->row.name, reason, g->now_ms, g->mem);
    e->noted = true;
    e->place = group_new_id(g);
    e->expires_ms = 0;
    entry_join(g, e, to, 0);
}

void entry_expire(struct queue_group *g, struct entry *e)
{
    struct queue *q = e->q;
    if (q->config.dead_letter_expired) {
        entry_bury(g, e, pawl_s("expired"));
        return;
    }
    q->totals.dropped++;
    e->gone = true;
}
