/* SPDX-License-Identifier: MIT */
/*
 * queue/settle.c -- the end of a lock: acknowledged, extended, released, buried,
 * or run out.
 *
 * A lock id is looked up among the live ones first; one that is not there has run
 * out (remembered), was never given while another is live, or there is no
 * lock at all.  "LOCK.ID" means one entry of a lock.  Afterwards an entry is always in
 * exactly one place: a late acknowledgement changes nothing.
 */
#include "base/limits.h"
#include "queue/internal.h"

#include <stdio.h>
#include <string.h>

enum ending { ENDING_EXPIRED, ENDING_RELEASED };

#define BY_BACKOFF (-1) /* as long as the configuration says */

static int64_t backoff_of(const struct queue *q, uint32_t deliveries)
{
    size_t n = q->config.retry_backoff_count;
    if (!n || !deliveries)
        return 0;
    return q->backoff[deliveries <= n ? deliveries - 1 : n - 1];
}

/* A lock that no caller has; only its time ends it. */
static struct lock *make_rest(struct queue_group *g, struct queue *q, int64_t until_ms,
                              uint64_t place)
{
    struct lock *l = q->env.alloc(sizeof(*l) + sizeof(l->entries[0]));
    l->q = q;
    l->number = group_new_id(g);
    (void)snprintf(l->id, sizeof(l->id), REST "%010llx",
                   (unsigned long long)l->number & UINT64_C(0xffffffffff));
    l->created_ms = g->now_ms;
    l->until_ms = l->due.key = until_ms;
    l->due.tie = place;
    l->fresh = true;
    need_memory(map_puts(&q->locks, pawl_s(l->id), l) && heap_push(&q->due, &l->due));
    q->row.locks++;
    q->rests++;
    group_touch_lock(g, l);
    return l;
}

/* It waits for its next attempt, and what is behind it in its group waits with it. */
static void rest(struct queue_group *g, struct entry *e, const struct locked_entry *h,
                 int64_t delay_ms)
{
    struct queue *q = e->q;
    struct lock *l = make_rest(g, q, g->now_ms + delay_ms, e->place);
    line_out(e->line);
    e->state = PAWL_QUEUE_LOCKED;
    e->visible_ms = 0;
    q->row.locked++;
    q->row.bytes += e->bytes;
    l->entries[l->count++] = entry_locked(q, e);
    l->entries[0].source = h->source;
    l->entries[0].died_ms = h->died_ms;
}

/* An entry returns from a lock, or goes where undeliverable ones go. */
static void give_back(struct queue_group *g, struct queue *q, const struct locked_entry *h,
                      enum ending ending, int64_t delay_ms, pawl_str reason)
{
    struct entry *e = entry_of_locked(q, h);
    entry_leave(g, e);
    if (q->config.max_deliveries && h->deliveries >= q->config.max_deliveries) {
        entry_bury(g, e, reason.len ? reason : pawl_s("delivered too often"));
        return;
    }
    if (e->expires_ms && e->expires_ms <= g->now_ms) {
        entry_expire(g, e);
        return;
    }
    if (delay_ms < 0)
        delay_ms = backoff_of(q, h->deliveries);
    bool rests = e->line && delay_ms > 0;
    if (ending == ENDING_EXPIRED && q->config.expire_to_back) {
        e->place = group_new_id(g);
    } else if (reason.len) {
        e->note = queue_note_write(pawl_s(h->source), reason, h->died_ms, g->mem);
        e->noted = true;
    }
    if (rests)
        rest(g, e, h, delay_ms);
    else
        entry_join(g, e, q, delay_ms > 0 ? g->now_ms + delay_ms : 0);
}

static void end_lock(struct queue_group *g, struct lock *l)
{
    struct queue *q = l->q;
    group_dirty(g, q);
    group_touch_lock(g, l);
    l->gone = true;
    (void)map_removes(&q->locks, pawl_s(l->id));
    heap_remove(&q->due, &l->due);
    q->row.locks--;
    q->rests -= lock_rests(l);
}

void queue_tick(struct queue_group *g, struct queue *q)
{
    struct heap_node *top;
    while ((top = heap_top(&q->due)) && top->key <= g->now_ms) {
        struct lock *l = CONTAINER_OF(top, struct lock, due);
        end_lock(g, l);
        if (lock_rests(l)) {
            for (size_t i = 0; i < l->count; i++)
                give_back(g, q, &l->entries[i], ENDING_RELEASED, 0, (pawl_str){0});
            continue;
        }
        group_past(g, q, pawl_s(l->id), group_new_id(g));
        q->totals.expired += l->count;
        for (size_t i = 0; i < l->count; i++)
            give_back(g, q, &l->entries[i], ENDING_EXPIRED, BY_BACKOFF, (pawl_str){0});
    }
}

/* ---- One lock id -------------------------------------------------------------- */

/* The lock, and which entry of it (count: all of them). */
struct pick {
    struct lock *l;
    size_t from, to;
};

static bool parse_id(pawl_str text, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *ret > UINT64_MAX / 10 - 1)
            return false;
        *ret = *ret * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

bool lock_is_past(struct queue_group *g, const struct queue *q, pawl_str id)
{
    return group_has_past(g, q, id) || (q->row.qid && g->was_lock(g->user, q, id));
}

static pawl_status find_lock(struct queue_group *g, struct queue *q, pawl_str given,
                             struct pick *ret)
{
    pawl_str id = given;
    uint64_t entry = 0;
    const char *dot = given.len ? memchr(given.ptr, '.', given.len) : NULL;
    if (dot) {
        id.len = (size_t)(dot - given.ptr);
        if (!parse_id((pawl_str){dot + 1, given.len - id.len - 1}, &entry))
            entry = UINT64_MAX;
    }
    ret->l = map_gets(&q->locks, id);
    if (ret->l && !lock_rests(ret->l)) {
        ret->from = 0;
        ret->to = ret->l->count;
        if (!dot)
            return PAWL_OK;
        for (size_t i = 0; i < ret->l->count; i++)
            if (ret->l->entries[i].id == entry) {
                ret->from = i;
                ret->to = i + 1;
                return PAWL_OK;
            }
        return PAWL_INVALID;
    }
    g->unread = false;
    if (lock_is_past(g, q, id))
        return g->unread ? PAWL_UNAVAILABLE : PAWL_LOST;
    return locks_given(q) ? PAWL_INVALID : PAWL_NOT_FOUND;
}

/* Entries from..to of the lock are dealt with. */
static void shrink(struct queue_group *g, const struct pick *p)
{
    struct lock *l = p->l;
    if (p->to - p->from == l->count) {
        end_lock(g, l);
        return;
    }
    group_dirty(g, l->q);
    group_touch_lock(g, l);
    memmove(&l->entries[p->from], &l->entries[p->to], (l->count - p->to) * sizeof(l->entries[0]));
    l->count -= p->to - p->from;
}

static void acknowledge(struct queue_group *g, struct queue *q, const struct pick *p)
{
    for (size_t i = p->from; i < p->to; i++) {
        group_drop(g, p->l->entries[i].id);
        q->row.locked--;
        q->row.bytes -= p->l->entries[i].bytes;
        q->totals.acked++;
        line_in(p->l->entries[i].line);
    }
    shrink(g, p);
}

static void release(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                    const struct pick *p)
{
    int64_t delay = req->has_delay || req->delay_ms ? req->delay_ms : BY_BACKOFF;
    for (size_t i = p->from; i < p->to; i++) {
        q->totals.released++;
        give_back(g, q, &p->l->entries[i], ENDING_RELEASED, delay, pawl_s(req->reason));
    }
    shrink(g, p);
}

void lock_give_back(struct queue_group *g, struct lock *l)
{
    release(g, l->q, &(pawl_queue_request){.has_delay = true}, &(struct pick){l, 0, l->count});
}

static void bury(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                 const struct pick *p)
{
    for (size_t i = p->from; i < p->to; i++) {
        struct entry *e = entry_of_locked(q, &p->l->entries[i]);
        entry_leave(g, e);
        entry_bury(g, e, pawl_s(req->reason));
    }
    shrink(g, p);
}

/* From the old end, or from now; never earlier than it was, never past its life. */
static int64_t extend(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                      struct lock *l)
{
    int64_t ttl = req->ttl_ms ? req->ttl_ms : q->config.default_ttl_ms;
    if (ttl < PAWL_QUEUE_TTL_MIN)
        ttl = PAWL_QUEUE_TTL_MIN;
    if (ttl > PAWL_QUEUE_TTL_MAX)
        ttl = PAWL_QUEUE_TTL_MAX;
    int64_t until = req->extend_ms > 0 ? l->until_ms + req->extend_ms : g->now_ms + ttl;
    int64_t last = l->created_ms + q->config.max_lock_ms;
    if (until > last)
        until = last;
    if (until > l->until_ms) {
        group_dirty(g, q);
        group_touch_lock(g, l);
        heap_remove(&q->due, &l->due);
        l->until_ms = l->due.key = until;
        need_memory(heap_push(&q->due, &l->due));
    }
    return l->until_ms;
}

static void refuse(pawl_status status, pawl_queue_reply *ret)
{
    if (ret->status != PAWL_OK)
        return;
    ret->status = status;
    error_set(&ret->error, status, "%s",
              status == PAWL_LOST          ? "Lock has expired"
              : status == PAWL_INVALID     ? "Invalid lock_id"
              : status == PAWL_UNAVAILABLE ? "the store did not answer"
                                           : "No active lock found");
}

static void settle_one(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                       pawl_queue_outcome *out, pawl_queue_reply *ret)
{
    struct pick p;
    pawl_str done = {0};
    if (req->op == PAWL_QUEUE_ACK && req->key) { /* no lock id has a space in it */
        done = pawl_mem_printf(g->mem, "acked %s", req->key);
        g->unread = false;
        bool was_done = lock_is_past(g, q, done);
        if (g->unread)
            refuse(out->status = PAWL_UNAVAILABLE, ret);
        if (was_done) /* asked again: the answer was lost, not the ack */
            return;
    }
    out->status = find_lock(g, q, out->lock_id, &p);
    if (out->status != PAWL_OK) {
        refuse(out->status, ret);
        return;
    }
    out->items = p.to - p.from;
    out->expires_ms = p.l->until_ms;
    if (done.len)
        group_past(g, q, done, group_new_id(g));
    if (req->op == PAWL_QUEUE_ACK)
        acknowledge(g, q, &p);
    else if (req->op == PAWL_QUEUE_RELEASE)
        release(g, q, req, &p);
    else if (req->op == PAWL_QUEUE_DEADLETTER)
        bury(g, q, req, &p);
    else
        out->expires_ms = extend(g, q, req, p.l);
    ret->count += out->items;
}

void queue_settle(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                  pawl_queue_reply *ret)
{
    pawl_queue_outcome *outcomes = arena_array(g->mem, pawl_queue_outcome, req->lock_count);
    queue_tick(g, q);
    for (size_t i = 0; i < req->lock_count; i++) {
        outcomes[i].lock_id = pawl_s(req->lock_ids[i]);
        settle_one(g, q, req, &outcomes[i], ret);
    }
    ret->outcomes = outcomes;
    ret->outcome_count = req->lock_count;
    ret->locked_until_ms = outcomes[0].expires_ms;
    if (req->op == PAWL_QUEUE_DEADLETTER)
        ret->target = queue_dead_letters(q, g->mem);
}
