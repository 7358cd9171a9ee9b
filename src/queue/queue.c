/* SPDX-License-Identifier: MIT */
/*
 * queue/queue.c -- a queue in memory: made from its rows, looked after by the clock.
 *
 * Called by runtime/queue/queue_cache.c, which owns queues and decides when to forget
 * them.
 */
#include "base/limits.h"
#include "base/pack.h"
#include "queue/internal.h"

#include <string.h>

/* The text and the parsed strings live in one block. */
static void adopt(struct queue *q, const pawl_queue_config *c, pawl_str text)
{
    size_t bytes = text.len + c->dead_letter_queue.len + c->orchestration.len + c->version.len + 4;
    char *block = q->env.alloc(bytes), *at = block;
    pawl_queue_config own = *c;
    q->row.config = pack_str(&at, text);
    own.dead_letter_queue = pack_str(&at, c->dead_letter_queue);
    own.orchestration = pack_str(&at, c->orchestration);
    own.version = pack_str(&at, c->version);
    if (c->retry_backoff != q->backoff)
        for (size_t i = 0; i < own.retry_backoff_count; i++)
            q->backoff[i] = c->retry_backoff[i];
    own.retry_backoff = q->backoff;
    q->config = own;
    if (q->config_text)
        q->env.release(q->config_text);
    q->config_text = block;
}

/* Instances of a bound queue run side by side, whatever the order of their messages was. */
static bool keeps_order(const pawl_queue_config *c)
{
    return c->groups && !c->orchestration.len;
}

struct queue *queue_create(const struct queue_env *env, const pawl_queue_row *row)
{
    struct queue *q = env->alloc(sizeof(*q));
    q->env = *env;
    q->row = *row;
    q->name = env->alloc(row->name.len + 1);
    memcpy(q->name, row->name.ptr, row->name.len);
    q->row.name = (pawl_str){q->name, row->name.len};
    q->totals = queue_totals_read(row->totals);
    q->row.totals = (pawl_str){0};
    q->complete = row->ready == 0;
    pawl_mem mem;
    arena_init(&mem);
    pawl_queue_config config = queue_config_read(row->config, &mem);
    adopt(q, &config, row->config);
    arena_deinit(&mem);
    map_init(&q->locks);
    map_init(&q->keys);
    map_init(&q->sources);
    heap_init(&q->due);
    map_init(&q->lines);
    map_init(&q->behind);
    q->lined = keeps_order(&q->config);
    q->behind_max = QUEUE_BEHIND_BYTES;
    return q;
}

void queue_destroy(struct queue *q)
{
    if (!q)
        return;
    heap_deinit(&q->due); /* while what is in it lives */
    window_deinit(q);
    lines_deinit(q);
    struct lock *l;
    for (size_t cursor = 0; (l = map_next(&q->locks, &cursor));)
        q->env.release(l);
    map_deinit(&q->locks);
    map_deinit(&q->keys);
    char *name;
    for (size_t cursor = 0; (name = map_next(&q->sources, &cursor));)
        q->env.release(name);
    map_deinit(&q->sources);
    q->env.release(q->config_text);
    q->env.release(q->name);
    q->env.release(q);
}

static struct locked_entry locked_of_row(struct queue *q, const pawl_queue_entry *row)
{
    struct entry e = {.id = row->id,
                      .priority = row->priority,
                      .place = row->place,
                      .expires_ms = row->expires_ms,
                      .enqueued_ms = row->enqueued_ms,
                      .bytes = row->bytes,
                      .deliveries = row->deliveries,
                      .q = q,
                      .full = true,
                      .attrs = row->attrs,
                      .note = row->note};
    line_know(&e);
    struct locked_entry h = entry_locked(q, &e);
    line_out(h.line);
    line_forget(&e);
    return h;
}

void queue_add_lock(struct queue *q, const pawl_queue_lock *row, const pawl_queue_entry *entries,
                    size_t count)
{
    struct lock *l = q->env.alloc(sizeof(*l) + row->entry_count * sizeof(l->entries[0]));
    l->q = q;
    l->number = row->number;
    l->created_ms = row->created_ms;
    l->until_ms = row->until_ms;
    size_t len = row->id.len < sizeof(l->id) ? row->id.len : sizeof(l->id) - 1;
    memcpy(l->id, row->id.ptr, len);
    for (size_t i = 0; i < row->entry_count; i++)
        for (size_t j = 0; j < count; j++) {
            const pawl_queue_entry *e = &entries[j];
            if (e->id == row->entries[i] && e->state == PAWL_QUEUE_LOCKED)
                l->entries[l->count++] = locked_of_row(q, e);
        }
    l->due.key = l->until_ms;
    l->due.tie = l->count ? l->entries[0].place : l->number;
    q->rests += lock_rests(l);
    need_memory(map_puts(&q->locks, pawl_s(l->id), l) && heap_push(&q->due, &l->due));
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

bool queue_is_bound(const struct queue *q)
{
    bool barred = q->row.paused || (q->config.max_locks == 1 && locks_given(q));
    return q->config.orchestration.len && q->row.ready && !barred;
}

void queue_touch(struct queue_group *g, struct queue *q)
{
    group_dirty(g, q);
}

int64_t queue_due_ms(const struct queue *q)
{
    if (queue_is_bound(q))
        return 1;
    struct heap_node *top = heap_top(&q->due);
    int64_t due = top ? top->key : 0;
    due = earlier(due, q->next_delayed_ms);
    return earlier(due, q->next_expire_ms);
}

pawl_str queue_dead_letters(const struct queue *q, pawl_mem *mem)
{
    if (q->config.dead_letter_queue.len)
        return q->config.dead_letter_queue;
    return pawl_mem_printf(mem, "%s" DEAD_LETTERS, q->name);
}

bool queue_may_bury(const struct queue *q)
{
    return q->config.max_deliveries > 0 || q->config.dead_letter_expired;
}

void queue_pause(struct queue_group *g, struct queue *q, bool paused)
{
    if (q->row.paused == paused && q->row.qid)
        return;
    group_dirty(g, q);
    q->row.paused = paused;
}

void queue_configure(struct queue_group *g, struct queue *q, const pawl_queue_config *config)
{
    group_dirty(g, q);
    adopt(q, config, queue_config_write(config, g->mem));
    q->stale |= keeps_order(&q->config) != q->lined;
}

void queue_remove(struct queue_group *g, struct queue *q)
{
    assert_that(q->row.qid && !q->dirty);
    group_dirty(g, q);
    q->gone = true;
}

/* ---- Entries as they are in the store -------------------------------------------- */

/* The entry of a row: the one in the window, or a new one. */
static struct entry *entry_in_hand(struct queue *q, const pawl_queue_entry *row)
{
    size_t i;
    struct entry *e = NULL;
    if (row->state == PAWL_QUEUE_READY)
        e = window_find(q, row->priority, row->place, &i);
    if (!e && q->lined)
        e = map_get(&q->behind, row->id);
    return e ? e : entry_of_row(q, row);
}

void queue_promote(struct queue_group *g, struct queue *q, const pawl_queue_entry *row)
{
    struct entry *e = entry_in_hand(q, row);
    entry_leave(g, e);
    entry_join(g, e, q, 0);
}

void queue_expire(struct queue_group *g, struct queue *q, const pawl_queue_entry *row)
{
    struct entry *e = entry_in_hand(q, row);
    entry_leave(g, e);
    entry_expire(g, e);
}

void queue_purge(struct queue_group *g, struct queue *q, const pawl_queue_entry *row)
{
    struct entry *e = entry_in_hand(q, row);
    entry_leave(g, e);
    q->totals.purged++;
    e->gone = true;
}

void queue_redrive(struct queue_group *g, struct queue *q, const pawl_queue_entry *row,
                   struct queue *target, int64_t visible_ms)
{
    struct entry *e = entry_in_hand(q, row);
    entry_leave(g, e);
    q->totals.redriven++;
    e->note = (pawl_str){"", 0};
    e->noted = true;
    e->place = group_new_id(g);
    e->deliveries = 0;
    e->expires_ms = target->config.message_ttl_ms ? g->now_ms + target->config.message_ttl_ms : 0;
    entry_join(g, e, target, visible_ms);
}

void queue_check(const struct queue *q)
{
    const struct entry *last = NULL;
    for (size_t i = 0; i < q->count; i++) {
        const struct entry *e = window_at(q, i);
        assert_that(e->in_window && !e->gone && e->q == q && e->state == PAWL_QUEUE_READY);
        assert_that(!last || last->priority < e->priority ||
                    (last->priority == e->priority && last->place < e->place));
        last = e;
    }
    assert_that(!last || window_wants(q, last->priority, last->place));
    size_t known = q->count + q->behind.count;
    assert_that(q->complete && !q->lined ? known == q->row.ready : known <= q->row.ready);
    assert_that(q->locks.count == q->due.count && q->locks.count == q->row.locks);
}
