/* SPDX-License-Identifier: MIT */
/*
 * queue/window.c -- the front of a queue in memory, sorted by (priority, place).
 *
 * An array of pointers: pops take from its head, pushes mostly add at its end, and what
 * returns from a lock goes in between.  At most QUEUE_WINDOW_MAX entries and about
 * QUEUE_WINDOW_BYTES of their bytes; what is cut off the end is still in the store,
 * or will be with this group's commit.
 */
#include "queue/internal.h"

#include <string.h>

static int compare(int64_t priority, uint64_t place, int64_t other_priority, uint64_t other_place)
{
    if (priority != other_priority)
        return priority < other_priority ? -1 : 1;
    return place < other_place ? -1 : place > other_place;
}

struct entry *window_at(const struct queue *q, size_t i)
{
    assert_that(i < q->count);
    return q->window[q->head + i];
}

/* The first place at or behind the key. */
static size_t lower(const struct queue *q, int64_t priority, uint64_t place)
{
    size_t low = 0, high = q->count;
    const struct entry *last = q->count ? window_at(q, q->count - 1) : NULL;
    if (!last || compare(last->priority, last->place, priority, place) < 0)
        return q->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct entry *e = window_at(q, mid);
        if (compare(e->priority, e->place, priority, place) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool window_wants(const struct queue *q, int64_t priority, uint64_t place)
{
    return q->complete || compare(priority, place, q->bound_priority, q->bound_place) < 0;
}

static void make_room(struct queue *q)
{
    if (q->head + q->count < q->cap)
        return;
    if (q->head > q->cap / 2) {
        memmove(q->window, q->window + q->head, q->count * sizeof(struct entry *));
        q->head = 0;
        return;
    }
    size_t cap = q->cap ? q->cap * 2 : 16;
    struct entry **window = q->env.alloc(cap * sizeof(struct entry *));
    if (q->count)
        memcpy(window, q->window + q->head, q->count * sizeof(struct entry *));
    q->env.release(q->window);
    q->window = window;
    q->cap = cap;
    q->head = 0;
}

static size_t weight(const struct entry *e)
{
    return sizeof(*e) + (e->full ? e->bytes + e->note.len : 0);
}

/* The last entry leaves the window; the bound moves to it. */
static struct entry *take_last(struct queue *q)
{
    struct entry *e = window_at(q, q->count - 1);
    q->count--;
    q->window_bytes -= weight(e);
    q->complete = false;
    q->bound_priority = e->priority;
    q->bound_place = e->place;
    e->in_window = false;
    return e;
}

static void cut(struct queue *q)
{
    struct entry *e = take_last(q);
    if (!e->touched)
        entry_free(e);
}

/* The same, but `keep` stays in memory. */
static void cut_but(struct queue *q, const struct entry *keep)
{
    struct entry *e = take_last(q);
    if (!e->touched && e != keep)
        entry_free(e);
}

bool window_insert(struct queue *q, struct entry *e)
{
    if (!window_wants(q, e->priority, e->place))
        return false;
    make_room(q);
    size_t at = lower(q, e->priority, e->place);
    struct entry **to = q->window + q->head + at;
    memmove(to + 1, to, (q->count - at) * sizeof(struct entry *));
    *to = e;
    q->count++;
    q->window_bytes += weight(e);
    e->in_window = true;
    if (q->count > QUEUE_WINDOW_MAX)
        while (q->count > QUEUE_WINDOW_MAX / 2)
            cut_but(q, e);
    while (q->count > 1 && q->window_bytes > QUEUE_WINDOW_BYTES)
        cut_but(q, e);
    return e->in_window;
}

void window_remove(struct queue *q, size_t i)
{
    struct entry *e = window_at(q, i);
    struct entry **from = q->window + q->head + i;
    q->window_bytes -= weight(e);
    e->in_window = false;
    if (i == 0) {
        q->head++;
    } else {
        memmove(from, from + 1, (q->count - i - 1) * sizeof(struct entry *));
    }
    q->count--;
    q->brimful = false;
    if (q->count == 0)
        q->head = 0;
}

struct entry *window_find(const struct queue *q, int64_t priority, uint64_t place, size_t *reti)
{
    size_t i = lower(q, priority, place);
    struct entry *e = i < q->count ? window_at(q, i) : NULL;
    *reti = i;
    return e && e->priority == priority && e->place == place ? e : NULL;
}

void window_cut_from(struct queue *q, int64_t priority, uint64_t place)
{
    while (q->count) {
        const struct entry *last = window_at(q, q->count - 1);
        if (compare(last->priority, last->place, priority, place) < 0)
            break;
        cut(q);
    }
    if (!window_wants(q, priority, place))
        return;
    q->complete = q->brimful = false;
    q->bound_priority = priority;
    q->bound_place = place;
}

void window_deinit(struct queue *q)
{
    for (size_t i = 0; i < q->count; i++)
        entry_free(window_at(q, i));
    q->env.release(q->window);
    q->window = NULL;
    q->count = q->cap = q->head = 0;
}

void queue_refill(struct queue *q, const pawl_queue_entry *rows, size_t count, bool more)
{
    assert_that(!q->dirty && !q->complete);
    q->complete = true; /* so that each is wanted */
    size_t i = 0;
    for (; i < count && q->count < QUEUE_WINDOW_MAX; i++) {
        struct entry *e = line_first(q, rows[i].id);
        if (!e && line_has(q, rows[i].id))
            continue;
        e = e ? e : entry_of_row(q, &rows[i]);
        if (line_keeps(e))
            continue;
        if (!window_insert(q, e)) { /* cut off again: the bound is set */
            entry_free(e);
            break;
        }
    }
    q->brimful = count && !i;
    if (!q->complete)
        return;
    if (i < count) {
        q->complete = false;
        q->bound_priority = rows[i].priority;
        q->bound_place = rows[i].place;
    } else if (more && count) {
        q->complete = false;
        q->bound_priority = rows[count - 1].priority;
        q->bound_place = rows[count - 1].place + 1;
    }
}

bool queue_is_low(const struct queue *q)
{
    return !q->complete && !q->brimful && q->count < QUEUE_WINDOW_LOW &&
           q->window_bytes < QUEUE_WINDOW_BYTES / 2;
}

size_t queue_hollow(const struct queue *q, size_t max, uint64_t *ids, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < max && i < q->count && n < room; i++)
        if (!window_at(q, i)->full)
            ids[n++] = window_at(q, i)->id;
    return n;
}

void queue_fill(struct queue *q, const pawl_queue_entry *row)
{
    for (size_t i = 0; i < q->count; i++) {
        struct entry *e = window_at(q, i);
        if (e->id != row->id || e->full)
            continue;
        q->window_bytes -= weight(e);
        entry_copy_body(e, row->data, row->attrs, e->noted ? e->note : row->note);
        q->window_bytes += weight(e);
        return;
    }
}
