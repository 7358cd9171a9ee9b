/* SPDX-License-Identifier: MIT */
/*
 * queue/line.c -- order within a group: one of its items is out at a time.
 *
 * A line has an entry for each item of its group that is in memory.  While one is out under a
 * lock, the others are not in the window: a pop that meets them at the front moves them *behind*
 * it, without their bytes, in a heap by (priority, place).  When the lock has ended the first of
 * them returns into the window.  So a pop passes over each item of a long group once, and not at
 * every pop.
 *
 * What is behind is bounded for the whole queue (QUEUE_BEHIND_BYTES).  Beyond that a line is
 * *cut*: from a key on its entries are in the store only.  When it comes to them, the window is
 * cut there, too, and read again from there on.
 *
 * An item that is given back with a delay rests under a lock that no caller has (settle.c), so
 * that its group waits for it, also after a crash.
 */
#include "queue/internal.h"

#include <string.h>

bool lock_rests(const struct lock *l)
{
    return l->id[0] == REST[0];
}

uint64_t locks_given(const struct queue *q)
{
    return q->row.locks - q->rests;
}

static bool is_before(int64_t priority, uint64_t place, int64_t other_priority,
                      uint64_t other_place)
{
    return priority < other_priority || (priority == other_priority && place < other_place);
}

static struct entry *first_behind(const struct queue_line *l)
{
    struct heap_node *top = heap_top(&l->behind);
    return top ? CONTAINER_OF(top, struct entry, behind) : NULL;
}

/* ---- Which line ------------------------------------------------------------------ */

static struct queue_line *line_of(struct queue *q, pawl_str name)
{
    struct queue_line *l = map_gets(&q->lines, name);
    if (l)
        return l;
    l = q->env.alloc(sizeof(*l) + name.len + 1);
    memcpy(l + 1, name.ptr, name.len);
    l->name = (pawl_str){(const char *)(l + 1), name.len};
    l->q = q;
    heap_init(&l->behind);
    need_memory(map_puts(&q->lines, l->name, l));
    return l;
}

void line_know(struct entry *e)
{
    if (!e->q->lined || e->line || !e->full || !e->attrs.len)
        return;
    pawl_mem mem;
    arena_init(&mem);
    pawl_str name = pawl_json_text(&mem, e->attrs, "/group", "");
    if (name.len) {
        e->line = line_of(e->q, name);
        e->line->refs++;
    }
    arena_deinit(&mem);
}

static void free_if_unused(struct queue_line *l)
{
    if (l->refs || l->out || l->cut)
        return;
    (void)map_removes(&l->q->lines, l->name);
    heap_deinit(&l->behind);
    l->q->env.release(l);
}

void line_forget(struct entry *e)
{
    struct queue_line *l = e->line;
    if (!l)
        return;
    assert_that(!e->behind.place);
    e->line = NULL;
    l->refs--;
    free_if_unused(l);
}

void lines_deinit(struct queue *q)
{
    struct queue_line *l;
    struct entry *e;
    for (size_t cursor = 0; (l = map_next(&q->lines, &cursor));)
        heap_deinit(&l->behind);
    for (size_t cursor = 0; (e = map_next(&q->behind, &cursor));) {
        e->line = NULL;
        entry_free(e);
    }
    for (size_t cursor = 0; (l = map_next(&q->lines, &cursor));)
        q->env.release(l);
    map_deinit(&q->lines);
    map_deinit(&q->behind);
}

/* ---- Behind another one ---------------------------------------------------------- */

static size_t weight(const struct entry *e)
{
    return sizeof(*e) + (e->full ? e->bytes + e->note.len : 0);
}

static void put_behind(struct entry *e)
{
    struct queue_line *l = e->line;
    struct queue *q = e->q;
    if (!l->behind.count || is_before(l->last_priority, l->last_place, e->priority, e->place)) {
        l->last_priority = e->priority;
        l->last_place = e->place;
    }
    e->behind.key = e->priority;
    e->behind.tie = e->place;
    q->behind_bytes += weight(e);
    need_memory(heap_push(&l->behind, &e->behind) && map_put(&q->behind, e->id, e));
}

static void take_from_behind(struct entry *e)
{
    heap_remove(&e->line->behind, &e->behind);
    (void)map_remove(&e->q->behind, e->id);
    e->q->behind_bytes -= weight(e);
}

/* A copy without bytes; `e`, which is nowhere, is gone. */
static struct entry *hollow_copy(struct entry *e)
{
    struct entry *own = entry_create(e->q, 0);
    own->id = e->id;
    own->priority = e->priority;
    own->place = e->place;
    own->expires_ms = e->expires_ms;
    own->enqueued_ms = e->enqueued_ms;
    own->bytes = e->bytes;
    own->deliveries = e->deliveries;
    own->state = e->state;
    own->line = e->line;
    own->line->refs++;
    entry_free(e);
    return own;
}

void line_hollow(struct entry *e)
{
    take_from_behind(e);
    put_behind(hollow_copy(e));
}

/* Out of memory, unless this group changed it and frees it then. */
static void drop(struct entry *e)
{
    if (!e->touched)
        entry_free(e);
}

static bool is_cut_off(const struct queue_line *l, const struct entry *e)
{
    return l->cut && !is_before(e->priority, e->place, l->cut_priority, l->cut_place);
}

/* An entry that is not in the window any more, or not yet. */
static void hang(struct entry *e)
{
    struct queue_line *l = e->line;
    bool last =
        !l->behind.count || is_before(l->last_priority, l->last_place, e->priority, e->place);
    if (last && e->q->behind_bytes >= e->q->behind_max) {
        e->q->cuts += !l->cut;
        l->cut = true;
        l->cut_priority = e->priority;
        l->cut_place = e->place;
        drop(e);
        return;
    }
    put_behind(e->touched ? e : hollow_copy(e));
}

/* ---- Whose turn it is -------------------------------------------------------------- */

/* It is not behind another one any more. */
static void into_window(struct entry *e)
{
    if (!window_insert(e->q, e))
        drop(e);
}

/* Nothing of the group is out: its first one that waits is next. */
static void go_on(struct queue_line *l)
{
    struct entry *e = first_behind(l);
    if (l->out)
        return;
    if (e && window_wants(l->q, e->priority, e->place)) {
        take_from_behind(e);
        into_window(e);
    } else if (!e && l->cut) {
        l->cut = false;
        l->q->cuts--;
        l->refs++; /* entries of the window may be the last ones that know it */
        window_cut_from(l->q, l->cut_priority, l->cut_place);
        l->refs--;
    }
}

void line_out(struct queue_line *l)
{
    if (l)
        l->out++;
}

void line_in(struct queue_line *l)
{
    if (!l)
        return;
    assert_that(l->out);
    l->out--;
    l->refs++;
    go_on(l);
    l->refs--;
    free_if_unused(l);
}

void line_left(struct entry *e, bool was_locked)
{
    if (e->behind.place)
        take_from_behind(e);
    if (was_locked)
        e->line->out--;
    go_on(e->line);
}

bool line_lets(struct queue *q, size_t i, bool ack)
{
    struct entry *e = window_at(q, i);
    struct queue_line *l = e->line;
    const struct entry *first = first_behind(l);
    if (is_cut_off(l, e)) {
        window_remove(q, i);
        drop(e);
        return false;
    }
    if (l->out || (ack && l->pop == q->pops) ||
        (first && is_before(first->priority, first->place, e->priority, e->place))) {
        window_remove(q, i);
        hang(e);
        return false;
    }
    if (ack)
        l->pop = q->pops;
    return true;
}

bool line_has(const struct queue *q, uint64_t id)
{
    return q->lined && map_get(&q->behind, id);
}

struct entry *line_first(struct queue *q, uint64_t id)
{
    struct entry *e = q->lined ? map_get(&q->behind, id) : NULL;
    if (!e || e->line->out || first_behind(e->line) != e)
        return NULL;
    take_from_behind(e);
    return e;
}

bool line_keeps(struct entry *e)
{
    if (!e->line)
        return false;
    if (is_cut_off(e->line, e))
        entry_free(e);
    else if (e->line->out)
        hang(e);
    else
        return false;
    return true;
}
