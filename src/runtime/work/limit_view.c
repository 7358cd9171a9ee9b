/* SPDX-License-Identifier: MIT */
/* runtime/work/limit_view.c -- see the header. */
#include "runtime/work/limit_view.h"

#include "base/arena.h"
#include "base/str.h"
#include "fair/bucket.h"
#include "runtime/work/handout.h"

#include <stdlib.h>

#define KEYS_SHOWN 100

/* ---- One bucket ------------------------------------------------------------------------- */

struct shown {
    const struct fair_bucket *bucket;
    uint64_t waiting;
    int64_t oldest_ms;
};

static const struct tray *hanging(const struct fair_hang *hang, size_t i)
{
    struct fair_tray *fair = CONTAINER_OF(hang->trays.nodes[i], struct fair_tray, node);
    return CONTAINER_OF(fair, struct tray, fair);
}

/* Who waits in it. */
static struct shown look_at(const struct fair_bucket *b)
{
    struct shown s = {.bucket = b};
    for (const struct fair_hang *h = b->hangs; h; h = h->next)
        for (size_t i = 0; i < h->trays.count; i++) {
            const struct tray *tray = hanging(h, i);
            int64_t made_ms = tray->first ? tray->first->work.scheduled_ms : 0;
            s.waiting += tray->fair.waiting;
            if (made_ms && (!s.oldest_ms || made_ms < s.oldest_ms))
                s.oldest_ms = made_ms;
        }
    return s;
}

/* ---- One limit ---------------------------------------------------------------------------- */

static void member(pawl_json *w, const char *name, int64_t value)
{
    pawl_json_key(w, name);
    pawl_json_num(w, value);
}

static int by_use(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    uint64_t p = x->bucket->in_use + x->waiting, q = y->bucket->in_use + y->waiting;
    return p != q ? (p < q) - (p > q) : str_compare(x->bucket->key, y->bucket->key);
}

static void write_key(pawl_json *w, const struct shown *s, int64_t now_ms)
{
    int64_t next_us = bucket_next_us(s->bucket, now_ms * 1000);
    pawl_json_object(w);
    pawl_json_key(w, "key");
    pawl_json_str(w, s->bucket->key);
    member(w, "in_use", (int64_t)s->bucket->in_use);
    member(w, "waiting", (int64_t)s->waiting);
    if (s->oldest_ms)
        member(w, "oldest_ms", s->oldest_ms);
    if (next_us > now_ms * 1000)
        member(w, "next_ms", (next_us + 999) / 1000);
    pawl_json_end(w);
}

static void write_keys(pawl_runtime *rt, const struct fair_limit *limit, pawl_json *w,
                       pawl_mem *mem)
{
    const struct fair_bucket *b;
    size_t n = 0;
    struct shown *list = arena_array(mem, struct shown, limit->buckets.count + 1);
    for (size_t at = 0; (b = map_next(&limit->buckets, &at));) {
        struct shown s = look_at(b);
        if (b->in_use || s.waiting || !bucket_has_room(b, rt_now(rt) * 1000))
            list[n++] = s;
    }
    if (n)
        qsort(list, n, sizeof(*list), by_use);
    pawl_json_key(w, "keys");
    pawl_json_array(w);
    for (size_t i = 0; i < n && i < KEYS_SHOWN; i++)
        write_key(w, &list[i], rt_now(rt));
    pawl_json_end(w);
}

void limit_write_use(pawl_runtime *rt, pawl_str name, bool keys, pawl_json *w, pawl_mem *mem)
{
    struct handout *h = rt->hands.handout;
    if (!h)
        return;
    handout_lock(h);
    const struct fair_limit *limit = fair_limit_find(&h->fair, name);
    if (limit) {
        member(w, "in_use", (int64_t)limit->in_use);
        member(w, "waiting", (int64_t)limit->waiting);
        member(w, "throttled", (int64_t)limit->throttled);
    }
    if (limit && keys)
        write_keys(rt, limit, w, mem);
    handout_unlock(h);
}

/* ---- One call ------------------------------------------------------------------------------ */

/* Calls of its own tray that come before it. */
static uint64_t before_in_tray(const struct tray *tray, uint64_t id)
{
    uint64_t n = 0;
    for (const struct job *job = tray->first; job; job = job->next_queued, n++)
        if (job->work.id == id)
            return n;
    return tray->fair.waiting > n ? tray->fair.waiting - 1 : n;
}

/* Trays of one priority take turns: of each other one at most as many come before it. */
static uint64_t before_it(const struct fair_bucket *b, const struct tray *own, uint64_t id)
{
    uint64_t in_tray = before_in_tray(own, id), n = in_tray;
    for (const struct fair_hang *h = b->hangs; h; h = h->next)
        for (size_t i = 0; i < h->trays.count; i++) {
            const struct tray *tray = hanging(h, i);
            uint64_t waiting = tray->fair.waiting;
            if (tray == own || tray->fair.priority > own->fair.priority)
                continue;
            bool turns = tray->fair.priority == own->fair.priority && waiting > in_tray + 1;
            n += turns ? in_tray + 1 : waiting;
        }
    return n;
}

static void tell(const struct tray *tray, const struct fair_bucket *b, uint64_t id, int64_t now_ms,
                 pawl_mem *mem, pawl_waiting *ret)
{
    const struct fair_rule *rule = &b->limit->rule;
    int64_t next_us = bucket_next_us(b, now_ms * 1000);
    ret->limit = arena_dup(mem, b->limit->name);
    ret->limit_key = arena_dup(mem, b->key);
    ret->limit_in_use = b->in_use;
    ret->limit_before = before_it(b, tray, id);
    if (rule->concurrency && b->in_use >= rule->concurrency)
        ret->limit_of = rule->concurrency;
    else if (b->limit->interval_us)
        ret->limit_ms = (next_us + (int64_t)ret->limit_before * b->limit->interval_us + 999) / 1000;
}

void limit_tell(pawl_runtime *rt, const pawl_work *row, pawl_mem *mem, pawl_waiting *ret)
{
    struct handout *h = rt->hands.handout;
    if (!h)
        return;
    handout_lock(h);
    const struct tray *tray = map_gets(&h->trays, row->name);
    const struct fair_bucket *b = !tray             ? NULL
                                  : tray->fair.hung ? tray->fair.hung->bucket
                                                    : fair_obstacle(&tray->fair, rt_now(rt) * 1000);
    if (b && !bucket_has_room(b, rt_now(rt) * 1000))
        tell(tray, b, row->id, rt_now(rt), mem, ret);
    handout_unlock(h);
}
