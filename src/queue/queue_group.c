/* SPDX-License-Identifier: MIT */
/*
 * queue/queue_group.c -- what one commit changes, over all queues.
 *
 * Entries and locks are listed when first touched and looked at once, when the
 * group is sealed: their flags then say whether they are inserted, updated,
 * dropped or nothing at all (pushed and popped in one group).
 */
#include "queue/internal.h"

#include <string.h>

void queue_group_begin(struct queue_group *g)
{
    g->dirty = NULL;
    g->touched = NULL;
    g->touched_end = &g->touched;
    g->locks = NULL;
    g->locks_end = &g->locks;
    g->pasts = NULL;
    g->keys = NULL;
    g->drops = NULL;
    g->inserts = NULL;
    g->inserts_end = &g->inserts;
    g->insert_count = g->drop_count = g->past_count = g->key_count = g->bytes = 0;
}

uint64_t group_new_id(struct queue_group *g)
{
    return (*g->next_id)++;
}

void group_dirty(struct queue_group *g, struct queue *q)
{
    if (q->dirty)
        return;
    q->dirty = true;
    q->next = g->dirty;
    g->dirty = q;
    if (q->row.qid == 0) {
        q->row.qid = group_new_id(g);
        q->row.created_ms = g->now_ms;
        q->fresh = true;
    }
}

void group_touch(struct queue_group *g, struct entry *e)
{
    if (e->touched)
        return;
    e->touched = true;
    e->next = NULL;
    *g->touched_end = e;
    g->touched_end = &e->next;
}

void group_touch_lock(struct queue_group *g, struct lock *l)
{
    if (l->touched)
        return;
    l->touched = true;
    l->next = NULL;
    *g->locks_end = l;
    g->locks_end = &l->next;
}

void group_drop(struct queue_group *g, uint64_t id)
{
    struct drop_note *n = arena_new(g->mem, struct drop_note);
    n->id = id;
    n->next = g->drops;
    g->drops = n;
    g->drop_count++;
}

void group_past(struct queue_group *g, struct queue *q, pawl_str id, uint64_t number)
{
    struct past_note *n = arena_new(g->mem, struct past_note);
    n->q = q;
    n->number = number;
    n->id = arena_dup(g->mem, id);
    n->next = g->pasts;
    g->pasts = n;
    g->past_count++;
    q->forget = true;
}

bool group_has_past(const struct queue_group *g, const struct queue *q, pawl_str id)
{
    for (const struct past_note *n = g->pasts; n; n = n->next)
        if (n->q == q && pawl_str_eq(n->id, id))
            return true;
    return false;
}

/* ---- Sealing ------------------------------------------------------------------- */

static void seal_entry(const struct entry *e, pawl_queue_entry *inserts, pawl_entry_update *updates,
                       uint64_t *drops, pawl_queue_round *r)
{
    if (e->fresh && e->gone)
        return;
    if (e->gone) {
        drops[r->drop_entry_count++] = e->id;
        return;
    }
    if (e->fresh) {
        inserts[r->entry_count++] = (pawl_queue_entry){.id = e->id,
                                                       .qid = e->q->row.qid,
                                                       .state = e->state,
                                                       .priority = e->priority,
                                                       .place = e->place,
                                                       .visible_ms = e->visible_ms,
                                                       .expires_ms = e->expires_ms,
                                                       .enqueued_ms = e->enqueued_ms,
                                                       .deliveries = e->deliveries,
                                                       .bytes = e->bytes,
                                                       .data = e->data,
                                                       .attrs = e->attrs,
                                                       .note = e->note};
        return;
    }
    updates[r->update_count++] = (pawl_entry_update){.id = e->id,
                                                     .qid = e->q->row.qid,
                                                     .state = e->state,
                                                     .place = e->place,
                                                     .visible_ms = e->visible_ms,
                                                     .expires_ms = e->expires_ms,
                                                     .deliveries = e->deliveries,
                                                     .has_note = e->noted,
                                                     .note = e->noted ? e->note : (pawl_str){0}};
}

static void seal_entries(struct queue_group *g, pawl_queue_round *r)
{
    size_t n = 0;
    for (const struct entry *e = g->touched; e; e = e->next)
        n++;
    pawl_queue_entry *inserts = arena_array(g->mem, pawl_queue_entry, n + g->insert_count + 1);
    pawl_entry_update *updates = arena_array(g->mem, pawl_entry_update, n + 1);
    uint64_t *drops = arena_array(g->mem, uint64_t, n + g->drop_count + 1);
    for (const struct entry *e = g->touched; e; e = e->next)
        seal_entry(e, inserts, updates, drops, r);
    for (const struct insert_note *i = g->inserts; i; i = i->next) {
        inserts[r->entry_count] = i->row;
        inserts[r->entry_count++].qid = i->q->row.qid;
    }
    for (const struct drop_note *d = g->drops; d; d = d->next)
        drops[r->drop_entry_count++] = d->id;
    r->entries = inserts;
    r->updates = updates;
    r->drop_entries = drops;
}

static void seal_locks(struct queue_group *g, pawl_queue_round *r)
{
    size_t n = 0;
    for (const struct lock *l = g->locks; l; l = l->next)
        n++;
    pawl_queue_lock *inserts = arena_array(g->mem, pawl_queue_lock, n + 1);
    pawl_queue_lock *changes = arena_array(g->mem, pawl_queue_lock, n + 1);
    pawl_queue_lock *drops = arena_array(g->mem, pawl_queue_lock, n + 1);
    for (const struct lock *l = g->locks; l; l = l->next) {
        if (l->fresh && l->gone)
            continue;
        uint64_t *ids = arena_array(g->mem, uint64_t, l->count + 1);
        for (size_t i = 0; i < l->count; i++)
            ids[i] = l->entries[i].id;
        pawl_queue_lock row = {
            .number = l->number,
            .qid = l->q->row.qid,
            .id = {l->id, strlen(l->id)},
            .created_ms = l->created_ms,
            .until_ms = l->until_ms,
            .entries = ids,
            .entry_count = l->count
        };
        if (l->gone)
            drops[r->drop_lock_count++] = row;
        else if (l->fresh)
            inserts[r->new_lock_count++] = row;
        else
            changes[r->lock_count++] = row;
    }
    r->new_locks = inserts;
    r->locks = changes;
    r->drop_locks = drops;
}

static void seal_queues(struct queue_group *g, pawl_queue_round *r)
{
    size_t n = 0;
    for (const struct queue *q = g->dirty; q; q = q->next)
        n++;
    pawl_queue_row *inserts = arena_array(g->mem, pawl_queue_row, n + 1);
    pawl_queue_row *changes = arena_array(g->mem, pawl_queue_row, n + 1);
    pawl_queue_forget *forgets = arena_array(g->mem, pawl_queue_forget, n + 1);
    uint64_t *drops = arena_array(g->mem, uint64_t, n + 1);
    for (struct queue *q = g->dirty; q; q = q->next) {
        if (q->gone) {
            drops[r->drop_queue_count++] = q->row.qid;
            continue;
        }
        q->row.due_ms = queue_due_ms(q);
        q->row.totals = queue_totals_write(&q->totals, g->mem);
        if (q->fresh)
            inserts[r->new_queue_count++] = q->row;
        else
            changes[r->queue_count++] = q->row;
        if (q->forget)
            forgets[r->forget_count++] = (pawl_queue_forget){.qid = q->row.qid,
                                                             .before_ms = g->now_ms - QUEUE_PAST_MS,
                                                             .keep = QUEUE_PAST_MAX,
                                                             .now_ms = g->now_ms};
    }
    r->new_queues = inserts;
    r->queues = changes;
    r->forgets = forgets;
    r->drop_queues = drops;
}

static void seal_notes(struct queue_group *g, pawl_queue_round *r)
{
    pawl_queue_past *pasts = arena_array(g->mem, pawl_queue_past, g->past_count + 1);
    for (const struct past_note *n = g->pasts; n; n = n->next)
        pasts[r->past_count++] = (pawl_queue_past){n->number, n->q->row.qid, n->id, g->now_ms};
    pawl_queue_key *keys = arena_array(g->mem, pawl_queue_key, g->key_count + 1);
    for (const struct key_note *n = g->keys; n; n = n->next)
        keys[r->key_count++] = (pawl_queue_key){n->q->row.qid, n->key, n->entry, n->expires_ms};
    r->pasts = pasts;
    r->keys = keys;
}

void queue_group_seal(struct queue_group *g, pawl_queue_round *ret)
{
    *ret = (pawl_queue_round){0};
    seal_queues(g, ret);
    seal_entries(g, ret);
    seal_locks(g, ret);
    seal_notes(g, ret);
}

/* ---- After the commit ------------------------------------------------------------ */

/* Its note lies in the group's memory: read it again when it is wanted. */
static void make_hollow(struct entry *e)
{
    if (e->full)
        e->q->window_bytes -= e->bytes + e->note.len;
    if (e->body)
        e->q->env.release(e->body);
    e->body = NULL;
    e->full = false;
    e->data = e->attrs = e->note = (pawl_str){0};
}

static void release_touched(struct queue_group *g)
{
    for (struct entry *e = g->touched, *next; e; e = next) {
        next = e->next;
        e->touched = e->fresh = false;
        if (e->behind.place) {
            line_hollow(e);
            continue;
        }
        if (!e->in_window) {
            entry_free(e);
            continue;
        }
        if (e->noted)
            make_hollow(e);
        e->noted = false;
    }
    for (struct lock *l = g->locks, *next; l; l = next) {
        next = l->next;
        l->touched = l->fresh = false;
        if (l->gone)
            l->q->env.release(l);
    }
}

static void release_queues(struct queue_group *g)
{
    for (struct queue *q = g->dirty, *next; q; q = next) {
        next = q->next;
        q->dirty = q->fresh = q->forget = false;
        q->next = NULL;
        q->row.totals = (pawl_str){0};
        map_reset(&q->keys);
    }
}

void queue_group_done(struct queue_group *g)
{
    release_touched(g);
    release_queues(g);
    queue_group_begin(g);
}
