/* SPDX-License-Identifier: MIT */
/*
 * queue/pop.c -- items go out: for good, or under a lock.
 *
 * A pop decides on the window alone.  When the window is too short for what was
 * asked, or lacks the bytes of an entry, it says so before it changes anything, and is
 * asked again.  A window that holds no more is long enough: the answer has fewer items.
 */
#include "base/base64.h"
#include "base/limits.h"
#include "base/rand.h"
#include "queue/internal.h"

#include <string.h>

#define KEYS_LOOKED_AT 8 /* pops with one key, each of whose answers was lost */

/* URL-safe base64 of 8 bytes. */
static void write_lock_id(const uint8_t bytes[8], char to[PAWL_QUEUE_LOCK_CHARS + 1])
{
    _Static_assert(PAWL_QUEUE_LOCK_CHARS == (4 * 8 + 2) / 3, "8 bytes");
    base64_write_url(to, bytes, 8);
    to[PAWL_QUEUE_LOCK_CHARS] = 0;
    if (to[0] == '-') /* else it would be a flag on a command line */
        to[0] = '_';
}

static void random_lock_id(struct queue_group *g, const struct queue *q,
                           char to[PAWL_QUEUE_LOCK_CHARS + 1])
{
    uint8_t bytes[8];
    do {
        g->random(g->user, bytes, 8);
        write_lock_id(bytes, to);
    } while (map_gets(&q->locks, pawl_s(to)));
}

static struct lock *keyed_lock(const struct queue *q, const char *key, uint64_t n,
                               char to[PAWL_QUEUE_LOCK_CHARS + 1])
{
    const uint64_t of[2] = {UINT64_C(0x706f702d6c6f636b), n};
    uint64_t hash = siphash24(of, key, strlen(key));
    uint8_t bytes[8];
    memcpy(bytes, &hash, 8);
    write_lock_id(bytes, to);
    return map_gets(&q->locks, pawl_s(to));
}

/* Later ones, when what was remembered of those before was forgotten meanwhile. */
static void give_back_keyed(struct queue_group *g, struct queue *q, const char *key, uint64_t from)
{
    char id[PAWL_QUEUE_LOCK_CHARS + 1];
    for (uint64_t n = from; n < from + KEYS_LOOKED_AT && q->row.locks; n++) {
        struct lock *own = keyed_lock(q, key, n, id);
        if (own)
            lock_give_back(g, own);
    }
}

/* The lock id of the n-th pop with this key.  A caller that pops again has lost the answer to
 * the previous pop: its lock is released first, and its entries can be popped again.  False:
 * the store did not answer. */
static bool keyed_lock_id(struct queue_group *g, struct queue *q, const char *key,
                          char to[PAWL_QUEUE_LOCK_CHARS + 1])
{
    for (uint64_t n = 0;; n++) {
        struct lock *own = keyed_lock(q, key, n, to);
        if (own) {
            group_past(g, q, pawl_s(to), group_new_id(g)); /* or the next one would begin here */
            lock_give_back(g, own);
        } else if (!lock_is_past(g, q, pawl_s(to))) {
            give_back_keyed(g, q, key, n + 1);
            return true;
        } else if (g->unread) {
            return false;
        }
    }
}

/* When the first lock ends; there is one. */
static int64_t first_end(const struct queue *q)
{
    if (!q->rests)
        return heap_top(&q->due)->key;
    int64_t first = INT64_MAX;
    const struct lock *l;
    for (size_t cursor = 0; (l = map_next(&q->locks, &cursor));)
        if (!lock_rests(l) && l->until_ms < first)
            first = l->until_ms;
    return first;
}

static enum queue_verdict locked(const struct queue *q, pawl_queue_reply *ret)
{
    ret->status = PAWL_CONFLICT;
    ret->locked_until_ms = first_end(q);
    error_set(&ret->error, PAWL_CONFLICT, "Queue is locked pending acknowledgement");
    return QUEUE_LOCKED;
}

/* May this pop take anything at all? */
static bool is_barred(const struct queue *q, const pawl_queue_request *req,
                      enum queue_verdict *retverdict, pawl_queue_reply *ret)
{
    uint32_t max = q->config.max_locks;
    *retverdict = QUEUE_EMPTY;
    if (max == 1 && locks_given(q)) {
        *retverdict = locked(q, ret);
        return true;
    }
    if (q->row.paused)
        return true;
    if (max > 1 && req->require_ack && locks_given(q) >= max) {
        if (q->row.ready)
            *retverdict = locked(q, ret);
        return true;
    }
    return false;
}

static bool is_over(const struct queue_group *g, const struct entry *e)
{
    return e->expires_ms && e->expires_ms <= g->now_ms;
}

/* Before the pop takes any: entries past their ttl leave the front, and those that wait behind
 * another one of their group. */
static void clear_front(struct queue_group *g, struct queue *q, size_t count, bool ack)
{
    q->pops++;
    for (size_t i = 0; i < count && i < q->count;) {
        struct entry *e = window_at(q, i);
        if (!is_over(g, e)) {
            i += !e->line || line_lets(q, i, ack);
            continue;
        }
        entry_leave(g, e);
        entry_expire(g, e);
    }
}

static size_t count_of(const pawl_queue_request *req)
{
    return req->count ? req->count : 1;
}

size_t queue_reach(const struct queue *q, const pawl_queue_request *req)
{
    uint64_t bytes = 0;
    size_t n = 0;
    for (; n < count_of(req) && n < q->count; n++) {
        const struct entry *e = window_at(q, n);
        bytes += e->bytes;
        if ((req->has_priority && e->priority > req->priority) ||
            (n && bytes > PAWL_QUEUE_POP_BYTES))
            break;
    }
    return n;
}

/* The window ends before the pop does, and there is more that fits into it. */
static bool is_short(const struct queue *q, const pawl_queue_request *req, size_t reach)
{
    return reach == q->count && reach < count_of(req) && !q->complete && !q->brimful;
}

static void describe(const struct entry *e, pawl_mem *mem, pawl_queue_message *ret)
{
    *ret = (pawl_queue_message){.id = e->id,
                                .data = e->data,
                                .priority = e->priority,
                                .delivery_count = e->deliveries,
                                .state = (pawl_queue_state)e->state,
                                .enqueued_ms = e->enqueued_ms,
                                .expires_ms = e->expires_ms};
    if (e->attrs.len) {
        ret->group = pawl_json_text(mem, e->attrs, "/group", "");
        ret->headers = arena_dup(mem, pawl_json_get(e->attrs, "/headers"));
    }
    if (e->note.len) {
        ret->source = pawl_json_text(mem, e->note, "/source", "");
        ret->reason = pawl_json_text(mem, e->note, "/reason", "");
        ret->died_ms = pawl_json_int(e->note, "/died_ms", 0);
    }
}

static int64_t clamp_ttl(const struct queue *q, int64_t ttl_ms)
{
    if (ttl_ms == 0)
        ttl_ms = q->config.default_ttl_ms;
    if (ttl_ms < PAWL_QUEUE_TTL_MIN)
        return PAWL_QUEUE_TTL_MIN;
    return ttl_ms > PAWL_QUEUE_TTL_MAX ? PAWL_QUEUE_TTL_MAX : ttl_ms;
}

static struct lock *make_lock(struct queue_group *g, struct queue *q, size_t count, int64_t ttl_ms,
                              uint64_t number, const char *id)
{
    struct lock *l = q->env.alloc(sizeof(*l) + count * sizeof(l->entries[0]));
    int64_t life = clamp_ttl(q, ttl_ms);
    if (life > q->config.max_lock_ms)
        life = q->config.max_lock_ms;
    memcpy(l->id, id, sizeof(l->id));
    l->q = q;
    l->number = number;
    l->created_ms = g->now_ms;
    l->until_ms = g->now_ms + life;
    l->fresh = true;
    l->due.key = l->until_ms;
    l->due.tie = window_at(q, 0)->place; /* those of one moment return in their order */
    need_memory(map_puts(&q->locks, pawl_s(l->id), l) && heap_push(&q->due, &l->due));
    q->row.locks++;
    group_touch_lock(g, l);
    return l;
}

/* LOCK.ENTRY; no printf: it is most of what a pop costs here. */
static pawl_str name_locked(struct queue_group *g, const struct lock *l, uint64_t entry)
{
    size_t lock = strlen(l->id), digits = 1;
    for (uint64_t n = entry; n >= 10; n /= 10)
        digits++;
    char *text = arena_alloc(g->mem, lock + 1 + digits + 1), *at = text + lock + 1 + digits;
    memcpy(text, l->id, lock);
    text[lock] = '.';
    *at = 0;
    do
        *--at = (char)('0' + entry % 10);
    while (entry /= 10);
    return (pawl_str){text, lock + 1 + digits};
}

static void hold(struct queue_group *g, struct lock *l, struct entry *e, pawl_queue_message *ret)
{
    struct queue *q = l->q;
    line_out(e->line);
    entry_leave(g, e);
    e->state = PAWL_QUEUE_LOCKED;
    e->visible_ms = 0;
    e->deliveries++;
    q->row.locked++;
    q->row.bytes += e->bytes;
    l->entries[l->count++] = entry_locked(q, e);
    describe(e, g->mem, ret);
    ret->lock_id = name_locked(g, l, e->id);
}

static void take_locked(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                        const char *id, size_t count, pawl_queue_message *messages,
                        pawl_queue_reply *ret)
{
    struct entry *first = window_at(q, 0);
    bool alone = count == 1 && !first->touched; /* as stored until now: the lock says it all */
    struct lock *l = make_lock(g, q, count, req->ttl_ms, alone ? first->id : group_new_id(g), id);
    for (size_t i = 0; i < count; i++)
        hold(g, l, window_at(q, 0), &messages[i]);
    ret->locked = true;
    ret->lock_id = arena_dup(g->mem, pawl_s(l->id));
    ret->locked_until_ms = l->until_ms;
}

static void take_plain(struct queue_group *g, struct queue *q, size_t count,
                       pawl_queue_message *messages)
{
    struct queue_line **lines = arena_array(g->mem, struct queue_line *, count);
    for (size_t i = 0; i < count; i++) {
        struct entry *e = window_at(q, 0);
        line_out(lines[i] = e->line); /* no other one comes in between */
        entry_leave(g, e);
        e->deliveries++;
        e->gone = true;
        describe(e, g->mem, &messages[i]);
    }
    for (size_t i = 0; i < count; i++)
        line_in(lines[i]);
}

enum queue_verdict queue_pop(struct queue_group *g, struct queue *q, const pawl_queue_request *req,
                             pawl_queue_reply *ret)
{
    enum queue_verdict verdict;
    char id[PAWL_QUEUE_LOCK_CHARS + 1];
    queue_tick(g, q);
    g->unread = false;
    if (req->require_ack && req->key && !keyed_lock_id(g, q, req->key, id))
        return QUEUE_UNREAD;
    if (is_barred(q, req, &verdict, ret))
        return verdict;
    clear_front(g, q, count_of(req), req->require_ack);
    size_t count = queue_reach(q, req);
    if (is_short(q, req, count))
        return QUEUE_REFILL;
    if (!count)
        return QUEUE_EMPTY;
    for (size_t i = 0; i < count; i++)
        if (!window_at(q, i)->full)
            return QUEUE_BODIES;
    pawl_queue_message *messages = arena_array(g->mem, pawl_queue_message, count);
    if (req->require_ack && !req->key)
        random_lock_id(g, q, id);
    if (req->require_ack)
        take_locked(g, q, req, id, count, messages, ret);
    else
        take_plain(g, q, count, messages);
    q->totals.popped += count;
    ret->count = ret->message_count = count;
    ret->messages = messages;
    return QUEUE_DONE;
}
