/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_cache.c -- queues come into memory and leave it. [engine]
 *
 * Loading reads the queue's row, its live locks and the heads of the entries they hold; the
 * window is filled when a pop asks for it.  The queue used longest ago is evicted first; a dirty
 * queue and one with waiting pops never are.
 */
#include "runtime/queue/queue_cache.h"

#include "runtime/core/health.h"
#include "runtime/core/stage.h"
#include "runtime/queue/queue_activities.h"
#include "runtime/queue/queue_answer.h"
#include "store/store_queue.h"

#include <stdlib.h>
#include <string.h>

#define SEATS_MAX     1024
#define REFILL_ROWS   512
#define REFILL_BYTES  ((size_t)1 << 20)
#define LOCKS_AT_ONCE 256
#define LINED_AT_ONCE 4 /* with the bytes of their entries, which say of what group they are */
#define REST_MIN_MS   1000
#define REST_MAX_MS   60000
#define SAY_EVERY_MS  60000

static void *alloc(size_t size)
{
    void *p = calloc(1, size);
    need_memory(p != NULL);
    return p;
}

static const struct queue_env env = {alloc, free};

struct cached_queue *cached_find(const struct queue_cache *d, pawl_str name)
{
    struct cached_queue *s = d->newest; /* most requests go to the queue of the one before */
    return s && pawl_str_eq(s->name, name) ? s : map_gets(&d->cached, name);
}

static struct queue *group_open(void *user, pawl_str name)
{
    pawl_runtime *rt = user;
    struct cached_queue *s = cached_find(rt->queue_cache, name);
    return s ? s->q : NULL;
}

/* When the store does not answer, say expired: "there was no such lock" could be wrong. */
static bool group_was_lock(void *user, const struct queue *q, pawl_str id)
{
    pawl_runtime *rt = user;
    pawl_error err = {0};
    pawl_status rc = store_has_past(rt->store, q->row.qid, id, &err);
    if (rc != PAWL_OK && rc != PAWL_EMPTY) {
        rt->queue_cache->group.unread = true;
        rt->queue_cache->unlocked = err;
    }
    return rc != PAWL_EMPTY;
}

static void group_random(void *user, void *to, size_t n)
{
    pawl_runtime *rt = user;
    rt->env.random(rt->env.user, to, n);
}

bool queue_cache_open(pawl_runtime *rt)
{
    struct queue_cache *d = calloc(1, sizeof(*d));
    if (!d)
        return false;
    map_init(&d->cached);
    heap_init(&d->waits);
    d->done_end = &d->done;
    d->later_end = &d->later;
    d->removals_end = &d->removals;
    d->look_due = true;
    d->back_off_ms = INT64_MAX;
    d->group = (struct queue_group){.next_id = &rt->fence.next_id,
                                    .mem = &rt->group_mem,
                                    .user = rt,
                                    .open = group_open,
                                    .was_lock = group_was_lock,
                                    .random = group_random};
    queue_group_begin(&d->group);
    rt->queue_cache = d;
    return queue_register_activities(rt->app);
}

/* ---- Cached queues ----------------------------------------------------------- */

static void cached_unlink(struct queue_cache *d, struct cached_queue *s)
{
    *(s->older ? &s->older->newer : &d->oldest) = s->newer;
    *(s->newer ? &s->newer->older : &d->newest) = s->older;
    s->older = s->newer = NULL;
}

static void link_newest(struct queue_cache *d, struct cached_queue *s)
{
    s->older = d->newest;
    *(d->newest ? &d->newest->newer : &d->oldest) = s;
    d->newest = s;
}

static void cached_free(struct queue_cache *d, struct cached_queue *s)
{
    (void)map_removes(&d->cached, s->name);
    cached_unlink(d, s);
    d->cached_count--;
    queue_destroy(s->q);
    free((void *)(uintptr_t)s->name.ptr);
    free(s);
}

/* Keep it while its back-off runs, or it would be read and logged again at once. */
static bool was_damaged_recently(pawl_runtime *rt, const struct cached_queue *s)
{
    return rt_mono(rt) < s->next_log_ms || backs_off(rt, &s->starts) || backs_off(rt, &s->due);
}

void cached_evict(pawl_runtime *rt, struct cached_queue *s)
{
    queue_destroy(s->q);
    s->q = NULL;
    if (!s->waiters && !was_damaged_recently(rt, s))
        cached_free(rt->queue_cache, s);
}

void queue_cache_trim(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    for (struct cached_queue *s = d->oldest, *newer; s && d->cached_count > SEATS_MAX; s = newer) {
        newer = s->newer;
        if (!s->waiters && !(s->q && s->q->dirty) && !was_damaged_recently(rt, s))
            cached_free(d, s);
    }
}

static struct cached_queue *cached_add(struct queue_cache *d, pawl_str name)
{
    struct cached_queue *s = alloc(sizeof(*s));
    char *copy = alloc(name.len + 1);
    memcpy(copy, name.ptr, name.len);
    s->name = (pawl_str){copy, name.len};
    s->waiters_end = &s->waiters;
    need_memory(map_puts(&d->cached, s->name, s));
    link_newest(d, s);
    d->cached_count++;
    return s;
}

pawl_status queue_read_failed(pawl_runtime *rt, struct cached_queue *s, const pawl_error *err)
{
    if (err->status != PAWL_CORRUPT) {
        health_unread(rt, err);
        return err->status != PAWL_OK ? err->status : PAWL_UNAVAILABLE;
    }
    int64_t mono = rt_mono(rt), *say = s ? &s->next_log_ms : &rt->queue_cache->next_log_ms;
    if (mono >= *say) {
        *say = mono + SAY_EVERY_MS;
        log_error(&rt->log, "queue", "stored rows are damaged; run pawl doctor",
                  "queue=%.*s why=\"%s\"", PAWL_FMT(s ? s->name : pawl_s("")), err->text);
    }
    return PAWL_CORRUPT;
}

/* ---- Back-off ---------------------------------------------------------------- */

bool backs_off(pawl_runtime *rt, const struct back_off *r)
{
    return rt_mono(rt) < r->until_ms;
}

void back_off_start(pawl_runtime *rt, struct back_off *r)
{
    struct queue_cache *d = rt->queue_cache;
    int64_t mono = rt_mono(rt);
    if (mono >= r->until_ms) {
        bool was_well = !r->wait_ms || mono - r->until_ms > r->wait_ms;
        r->wait_ms = was_well ? REST_MIN_MS : 2 * r->wait_ms;
        if (r->wait_ms > REST_MAX_MS)
            r->wait_ms = REST_MAX_MS;
        r->until_ms = mono + r->wait_ms;
    }
    if (r->until_ms < d->back_off_ms)
        d->back_off_ms = r->until_ms;
}

static void note_back_off(struct queue_cache *d, const struct back_off *r, int64_t mono)
{
    if (r->until_ms > mono && r->until_ms < d->back_off_ms)
        d->back_off_ms = r->until_ms;
}

void back_off_look(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    int64_t mono = rt_mono(rt);
    if (mono < d->back_off_ms)
        return;
    d->look_due = d->again = true;
    d->back_off_ms = INT64_MAX;
    note_back_off(d, &d->due, mono);
    for (const struct cached_queue *s = d->oldest; s; s = s->newer) {
        note_back_off(d, &s->starts, mono);
        note_back_off(d, &s->due, mono);
    }
}

struct stage *queue_stage(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    if (!d->stage) {
        d->stage = stage_bare(rt);
        d->round = (pawl_queue_round){0};
        d->stage->queue = &d->round;
    }
    return d->stage;
}

/* ---- Loading ----------------------------------------------------------------- */

/* Heads of the entries of some locks, and the locks themselves. */
static pawl_status load_some_locks(pawl_runtime *rt, struct queue *q, const pawl_queue_lock *locks,
                                   size_t count, pawl_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += locks[i].entry_count;
    uint64_t *ids = arena_array(&rt->load_mem, uint64_t, n + 1);
    n = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < locks[i].entry_count; j++)
            ids[n++] = locks[i].entries[j];
    pawl_entry_list list;
    pawl_status rc = store_read_entries(rt->store, ids, n, !q->lined, &rt->load_mem, &list, err);
    const pawl_queue_entry *e = list.items;
    size_t left = rc == PAWL_OK ? list.count : 0;
    for (size_t i = 0; i < count && rc == PAWL_OK; i++) {
        size_t some = 0; /* in the order asked; missing entries are left out */
        for (size_t j = 0; j < locks[i].entry_count && some < left; j++)
            some += e[some].id == locks[i].entries[j];
        queue_add_lock(q, &locks[i], e, some);
        e += some;
        left -= some;
    }
    return rc;
}

static pawl_status load_locks(pawl_runtime *rt, struct queue *q, pawl_error *err)
{
    pawl_lock_list list = {0};
    pawl_status rc = store_read_locks(rt->store, q->row.qid, 0, &rt->load_mem, &list, err);
    size_t most = q->lined ? LINED_AT_ONCE : LOCKS_AT_ONCE;
    for (size_t at = 0; at < list.count && rc == PAWL_OK; at += most) {
        size_t some = list.count - at < most ? list.count - at : most;
        rc = load_some_locks(rt, q, list.items + at, some, err);
    }
    if (rc == PAWL_OK)
        q->row.locks = q->locks.count; /* counted, because the row may be damaged */
    return rc;
}

/* The first time in one of the two orders by time; 0: none. */
static pawl_status load_time(pawl_runtime *rt, const struct queue *q, pawl_entry_order order,
                             int64_t *ret, pawl_error *err)
{
    pawl_entry_list list;
    pawl_entry_query query = {.qid = q->row.qid, .order = order, .limit = 1, .heads = true};
    pawl_status rc = store_query_entries(rt->store, &query, &rt->load_mem, &list, err);
    if (rc == PAWL_OK)
        *ret = !list.count                     ? 0
               : order == PAWL_ENTRIES_DELAYED ? list.items[0].visible_ms
                                               : list.items[0].expires_ms;
    return rc;
}

static pawl_status load_queue(pawl_runtime *rt, pawl_str name, struct queue **ret, pawl_error *err)
{
    pawl_queue_row row = {0};
    arena_reset(&rt->load_mem);
    pawl_status rc = store_find_queue(rt->store, name, &rt->load_mem, &row, err);
    if (rc == PAWL_NOT_FOUND) {
        row = (pawl_queue_row){.name = name, .shard = rt_shard_of_queue(rt, name)};
        *ret = queue_create(&env, &row);
        return PAWL_OK;
    }
    if (rc != PAWL_OK)
        return rc;
    struct queue *q = queue_create(&env, &row);
    rc = load_locks(rt, q, err);
    if (rc == PAWL_OK)
        rc = load_time(rt, q, PAWL_ENTRIES_DELAYED, &q->next_delayed_ms, err);
    if (rc == PAWL_OK)
        rc = load_time(rt, q, PAWL_ENTRIES_EXPIRING, &q->next_expire_ms, err);
    if (rc == PAWL_OK)
        *ret = q;
    else
        queue_destroy(q);
    return rc;
}

pawl_status cached_open(pawl_runtime *rt, pawl_str name, struct cached_queue **ret)
{
    struct queue_cache *d = rt->queue_cache;
    struct cached_queue *s = *ret = cached_find(d, name);
    if (s && s->q) {
        if (d->newest != s) {
            cached_unlink(d, s);
            link_newest(d, s);
        }
        return PAWL_OK;
    }
    pawl_error err = {0};
    struct queue *q = NULL;
    pawl_status rc = load_queue(rt, name, &q, &err);
    if (!s && (rc == PAWL_OK || rc == PAWL_CORRUPT)) /* also damaged, for its back-off */
        s = cached_add(d, name);
    if (rc != PAWL_OK) {
        *ret = NULL;
        return queue_read_failed(rt, s, &err);
    }
    s->q = q;
    q->owner = s;
    *ret = s;
    return PAWL_OK;
}

pawl_status cached_refill(pawl_runtime *rt, struct cached_queue *s)
{
    struct queue *q = s->q;
    pawl_entry_list list;
    pawl_error err = {0};
    pawl_entry_query query = {.qid = q->row.qid,
                              .order = PAWL_ENTRIES_READY,
                              .priority = q->bound_priority,
                              .place = q->bound_place,
                              .limit = REFILL_ROWS,
                              .bytes_max = REFILL_BYTES};
    arena_reset(&rt->load_mem);
    if (store_query_entries(rt->store, &query, &rt->load_mem, &list, &err) != PAWL_OK)
        return queue_read_failed(rt, s, &err);
    queue_refill(q, list.items, list.count, list.more);
    return PAWL_OK;
}

/* ---- The end ------------------------------------------------------------------- */

static void refuse_list(const pawl_runtime *rt, struct queue_req **list, struct queue_req ***end)
{
    const char *text;
    pawl_status status = health_ending(rt, &text);
    struct queue_req *req = *list;
    *list = NULL;
    *end = list;
    for (struct queue_req *next; req; req = next) {
        next = req->next;
        queue_refuse(req, status, text);
    }
}

void queue_refuse_all(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    if (!d)
        return;
    heap_deinit(&d->waits); /* while those in it live */
    refuse_list(rt, &d->later, &d->later_end);
    refuse_list(rt, &d->done, &d->done_end);
    refuse_list(rt, &d->removals, &d->removals_end);
    for (struct cached_queue *s = d->oldest; s; s = s->newer)
        refuse_list(rt, &s->waiters, &s->waiters_end);
}

void queue_cache_close(pawl_runtime *rt)
{
    struct queue_cache *d = rt->queue_cache;
    if (!d)
        return;
    queue_refuse_all(rt);
    queue_group_done(&d->group);
    while (d->oldest)
        cached_free(d, d->oldest);
    map_deinit(&d->cached);
    free(d);
    rt->queue_cache = NULL;
}

void queue_unpark(struct queue_cache *d, struct queue_req *req)
{
    struct cached_queue *s = req->cached;
    struct queue_req **at = &s->waiters;
    while (*at != req)
        at = &(*at)->next;
    *at = req->next;
    if (!*at)
        s->waiters_end = at;
    heap_remove(&d->waits, &req->until);
    req->cached = NULL;
    req->next = NULL;
}
