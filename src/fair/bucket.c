/* SPDX-License-Identifier: MIT */
/* fair/bucket.c -- see bucket.h. */
#include "fair/bucket.h"

#include "base/attr.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- What a limit says ------------------------------------------------------------------ */

bool rule_matches(const struct fair_rule *rule, pawl_str activity)
{
    if (str_begins(activity, pawl_s("pawl.")))
        return false;
    for (size_t i = 0; i < rule->name_count; i++) {
        pawl_str want = rule->names[i];
        bool open = want.len && want.ptr[want.len - 1] == '*';
        if (open ? str_begins(activity, (pawl_str){want.ptr, want.len - 1})
                 : pawl_str_eq(activity, want))
            return true;
    }
    return false;
}

static pawl_str first_level(pawl_str key)
{
    const char *mark = key.len ? memchr(key.ptr, '/', key.len) : NULL;
    return mark ? (pawl_str){key.ptr, (size_t)(mark - key.ptr)} : key;
}

pawl_str rule_key(const struct fair_rule *rule, pawl_str key)
{
    if (rule->by == FAIR_BY_ALL)
        return (pawl_str){0};
    return rule->by == FAIR_BY_FIRST ? first_level(key) : key;
}

static uint32_t rule_weight(const struct fair_rule *rule, pawl_str key)
{
    uint32_t weight = 0;
    for (size_t i = 0; i < rule->weight_count; i++) {
        if (pawl_str_eq(rule->weights[i].key, key))
            return rule->weights[i].weight;
        if (pawl_str_eq(rule->weights[i].key, first_level(key)))
            weight = rule->weights[i].weight;
    }
    return weight;
}

/* Rounded up: never faster than it says. */
static int64_t interval_of(const struct fair_rule *rule)
{
    int64_t n = rule->rate_count;
    return n ? (rule->rate_per_ms * 1000 + n - 1) / n : 0;
}

/* ---- Buckets ------------------------------------------------------------------------------ */

static int64_t most_debt(const struct fair_limit *limit)
{
    int64_t burst = limit->rule.rate_burst ? limit->rule.rate_burst : 1;
    return limit->interval_us > INT64_MAX / 4 / burst ? INT64_MAX / 4 : limit->interval_us * burst;
}

/* What it owes now; a clock that was set back does not make it more than it can be. */
static int64_t debt(const struct fair_bucket *b, int64_t now_us)
{
    int64_t most = most_debt(b->limit), owed = b->free_us > now_us ? b->free_us - now_us : 0;
    return owed < most ? owed : most;
}

static bool has_place(const struct fair_bucket *b)
{
    return !b->limit->rule.concurrency || b->in_use < b->limit->rule.concurrency;
}

static bool has_token(const struct fair_bucket *b, int64_t now_us)
{
    return !b->limit->interval_us || debt(b, now_us) + b->limit->interval_us <= most_debt(b->limit);
}

bool bucket_has_room(const struct fair_bucket *b, int64_t now_us)
{
    return has_place(b) && has_token(b, now_us);
}

int64_t bucket_next_us(const struct fair_bucket *b, int64_t now_us)
{
    if (has_token(b, now_us))
        return now_us;
    return now_us + debt(b, now_us) + b->limit->interval_us - most_debt(b->limit);
}

static struct fair_bucket *bucket_of(struct fair_limit *limit, pawl_str key)
{
    struct fair_bucket *b = map_gets(&limit->buckets, key);
    if (b)
        return b;
    b = calloc(1, sizeof(*b) + key.len + 1);
    need_memory(b);
    char *text = (char *)(b + 1);
    if (key.len)
        memcpy(text, key.ptr, key.len);
    b->key = (pawl_str){text, key.len};
    b->limit = limit;
    need_memory(map_puts(&limit->buckets, b->key, b));
    return b;
}

/* Out of its limit.  What is written down of it is to be wiped by the caller. */
static void let_go(struct fair *f, struct fair_bucket *b)
{
    if (!b->stored) {
        free(b);
        return;
    }
    b->next_dirty = f->stale;
    f->stale = b;
}

void bucket_forget_if_unused(struct fair *f, struct fair_bucket *b, int64_t now_us)
{
    if (b->trays || b->in_use || b->dirty)
        return;
    heap_remove(&f->due, &b->due);
    if (b->limit->interval_us && b->free_us > now_us) { /* it owes: known until it does not */
        b->due.key = b->free_us;
        need_memory(heap_push(&f->due, &b->due));
        return;
    }
    assert_that(!b->hangs);
    map_removes(&b->limit->buckets, b->key);
    let_go(f, b);
}

static void note_debt(struct fair *f, struct fair_bucket *b, int64_t free_us)
{
    b->free_us = free_us;
    if (b->dirty)
        return;
    b->dirty = true;
    b->next_dirty = f->dirty;
    f->dirty = b;
}

void bucket_refund(struct fair *f, struct fair_bucket *b)
{
    if (b->limit->interval_us && b->free_us > b->limit->interval_us)
        note_debt(f, b, b->free_us - b->limit->interval_us);
}

void fair_written(struct fair *f)
{
    struct fair_bucket *b = f->dirty, *next;
    f->dirty = NULL;
    for (; b; b = next) {
        next = b->next_dirty;
        b->dirty = false;
        b->stored = true;
        bucket_forget_if_unused(f, b, INT64_MIN);
    }
}

struct fair_bucket *fair_take_stale(struct fair *f)
{
    struct fair_bucket *b = f->stale;
    if (b)
        f->stale = b->next_dirty;
    return b;
}

void bucket_take(struct fair *f, struct fair_bucket *b, int64_t now_us)
{
    assert_that(bucket_has_room(b, now_us));
    b->in_use++;
    b->limit->in_use++;
    if (b->limit->interval_us)
        note_debt(f, b, now_us + debt(b, now_us) + b->limit->interval_us);
}

void bucket_give(struct fair_bucket *b)
{
    assert_that(b->in_use && b->limit->in_use);
    b->in_use--;
    b->limit->in_use--;
}

/* ---- Hanging and waking -------------------------------------------------------------------- */

static struct fair_hang *hang_of(struct fair_bucket *b, struct fair_class *c)
{
    struct fair_hang *h = b->hangs;
    while (h && h->class != c)
        h = h->next;
    if (h)
        return h;
    h = calloc(1, sizeof(*h));
    need_memory(h);
    heap_init(&h->trays);
    h->bucket = b;
    h->class = c;
    h->next = b->hangs;
    b->hangs = h;
    return h;
}

static void drop_empty_hangs(struct fair_bucket *b)
{
    for (struct fair_hang **at = &b->hangs, *h; (h = *at);) {
        if (h->awake || heap_top(&h->trays)) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        heap_deinit(&h->trays);
        free(h);
    }
}

void tray_unhang(struct fair_tray *tray)
{
    struct fair_hang *h = tray->hung;
    heap_remove(&h->trays, &tray->node);
    h->bucket->hanging--;
    h->bucket->limit->waiting -= tray->waiting;
    tray->hung = NULL;
    tray->state = FAIR_IDLE;
}

void tray_hang(struct fair *f, struct fair_tray *tray, struct fair_bucket *b, int64_t now_us)
{
    struct fair_hang *h = hang_of(b, tray->class);
    need_memory(heap_push(&h->trays, &tray->node)); /* in the order of its class */
    tray->hung = h;
    tray->state = FAIR_HUNG;
    b->hanging++;
    b->limit->waiting += tray->waiting;
    b->limit->throttled += !has_token(b, now_us);
    bucket_settle(f, b, now_us);
}

/* The best of each class: one may have no worker, and must not stop the others. */
static void wake(struct fair *f, const struct fair_bucket *b)
{
    for (struct fair_hang *h = b->hangs; h; h = h->next) {
        struct heap_node *top = h->awake ? NULL : heap_top(&h->trays);
        if (!top)
            continue;
        struct fair_tray *tray = CONTAINER_OF(top, struct fair_tray, node);
        tray_unhang(tray);
        tray->woken = h;
        h->awake++;
        tray_make_ready(f, tray);
    }
}

/* The clock was set back: it owes a full bucket from now on, and not until the old time is back. */
static void cut_debt(struct fair *f, struct fair_bucket *b, int64_t now_us)
{
    if (now_us != INT64_MIN && b->limit->interval_us && b->free_us > now_us + most_debt(b->limit))
        note_debt(f, b, now_us + most_debt(b->limit));
}

void bucket_settle(struct fair *f, struct fair_bucket *b, int64_t now_us)
{
    heap_remove(&f->due, &b->due);
    cut_debt(f, b, now_us);
    if (now_us == INT64_MIN) /* when is not known: looked at with the next time that is */
        b->due.key = INT64_MIN;
    else if (bucket_has_room(b, now_us))
        wake(f, b);
    else
        b->due.key = bucket_next_us(b, now_us);
    bool waits = b->hanging && has_place(b) && (now_us == INT64_MIN || !has_token(b, now_us));
    if (waits)
        need_memory(heap_push(&f->due, &b->due));
    drop_empty_hangs(b);
}

void fair_due(struct fair *f, int64_t now_us)
{
    struct heap_node *top;
    while ((top = heap_top(&f->due)) && top->key <= now_us) {
        struct fair_bucket *b = CONTAINER_OF(top, struct fair_bucket, due);
        heap_remove(&f->due, top);
        bucket_settle(f, b, now_us);
        bucket_forget_if_unused(f, b, now_us);
    }
}

int64_t fair_next(const struct fair *f)
{
    struct heap_node *top = heap_top(&f->due);
    return top ? top->key : INT64_MAX;
}

struct fair_bucket *fair_obstacle(const struct fair_tray *tray, int64_t now_us)
{
    for (size_t i = 0; i < tray->bucket_count; i++)
        if (!bucket_has_room(tray->buckets[i], now_us))
            return tray->buckets[i];
    return NULL;
}

/* ---- Trays and limits ------------------------------------------------------------------------ */

static pawl_str activity_of(const struct fair_tray *tray)
{
    return first_level(tray->class->name);
}

static int by_name(const void *a, const void *b)
{
    const struct fair_bucket *const *x = a, *const *y = b;
    return str_compare((*x)->limit->name, (*y)->limit->name);
}

void tray_find_buckets(struct fair *f, struct fair_tray *tray)
{
    struct fair_limit *limit;
    tray->buckets = NULL;
    tray->bucket_count = 0;
    tray->weight = 1;
    for (size_t at = 0; (limit = map_next(&f->limits, &at));) {
        if (!rule_matches(&limit->rule, activity_of(tray)))
            continue;
        tray->buckets =
            realloc(tray->buckets, (tray->bucket_count + 1) * sizeof(struct fair_bucket *));
        need_memory(tray->buckets);
        struct fair_bucket *b = bucket_of(limit, rule_key(&limit->rule, tray->key));
        tray->buckets[tray->bucket_count++] = b;
        b->trays++;
        b->in_use += tray->out;
        limit->in_use += tray->out;
        uint32_t weight = rule_weight(&limit->rule, tray->key);
        if (weight)
            tray->weight = weight;
    }
    if (tray->bucket_count)
        qsort(tray->buckets, tray->bucket_count, sizeof(*tray->buckets), by_name);
}

void tray_leave_buckets(struct fair *f, struct fair_tray *tray)
{
    for (size_t i = 0; i < tray->bucket_count; i++) {
        struct fair_bucket *b = tray->buckets[i];
        b->trays--;
        b->in_use -= tray->out;
        b->limit->in_use -= tray->out;
        bucket_forget_if_unused(f, b, INT64_MIN);
    }
    free(tray->buckets);
    tray->buckets = NULL;
    tray->bucket_count = 0;
}

/* ---- Setting and removing ---------------------------------------------------------------------- */

/* All trays out of their buckets, those that hang or are woken back to their class. */
static void leave_all(struct fair *f)
{
    for (struct fair_tray *l = f->trays; l; l = l->next) {
        if (l->woken) {
            l->woken->awake--;
            l->woken = NULL;
        }
        if (l->state == FAIR_HUNG) {
            tray_unhang(l);
            tray_make_ready(f, l);
        }
    }
    for (struct fair_tray *l = f->trays; l; l = l->next) {
        for (size_t i = 0; i < l->bucket_count; i++)
            drop_empty_hangs(l->buckets[i]);
        tray_leave_buckets(f, l);
    }
}

static void enter_all(struct fair *f)
{
    for (struct fair_tray *l = f->trays; l; l = l->next)
        tray_find_buckets(f, l);
}

static void forget_dirty(struct fair *f, const struct fair_limit *limit)
{
    for (struct fair_bucket **at = &f->dirty; *at;)
        if ((*at)->limit == limit)
            *at = (*at)->next_dirty;
        else
            at = &(*at)->next_dirty;
}

static void forget_buckets(struct fair *f, struct fair_limit *limit)
{
    struct fair_bucket *b;
    forget_dirty(f, limit);
    for (size_t at = 0; (b = map_next(&limit->buckets, &at));) {
        heap_remove(&f->due, &b->due);
        assert_that(!b->hangs && !b->trays);
        let_go(f, b);
    }
    map_deinit(&limit->buckets);
}

/* What the old one owes, the new one owes; not when its buckets are cut in another way. */
static void inherit(struct fair *f, struct fair_limit *limit, const struct fair_limit *old)
{
    struct fair_bucket *b;
    limit->throttled = old->throttled;
    if (old->rule.by != limit->rule.by || !limit->interval_us)
        return;
    for (size_t at = 0; (b = map_next(&old->buckets, &at));) {
        struct fair_bucket *heir = bucket_of(limit, b->key);
        heir->stored = b->stored;
        b->stored = false;
        if (b->dirty)
            note_debt(f, heir, b->free_us);
        heir->free_us = b->free_us;
        bucket_forget_if_unused(f, heir, INT64_MIN);
    }
}

struct fair_limit *fair_limit_remove(struct fair *f, pawl_str name)
{
    struct fair_limit *limit = fair_limit_find(f, name);
    if (!limit)
        return NULL;
    leave_all(f);
    map_removes(&f->limits, name);
    forget_buckets(f, limit);
    enter_all(f);
    return limit;
}

struct fair_limit *fair_limit_set(struct fair *f, struct fair_limit *limit)
{
    struct fair_limit *old = fair_limit_find(f, limit->name);
    limit->interval_us = interval_of(&limit->rule);
    limit->in_use = limit->waiting = limit->throttled = 0;
    map_init(&limit->buckets);
    leave_all(f);
    if (old) {
        map_removes(&f->limits, old->name);
        inherit(f, limit, old);
        forget_buckets(f, old);
    }
    need_memory(map_puts(&f->limits, limit->name, limit));
    enter_all(f);
    return old;
}

bool fair_is_limited(const struct fair *f, pawl_str activity)
{
    const struct fair_limit *limit;
    for (size_t at = 0; (limit = map_next(&f->limits, &at));)
        if (rule_matches(&limit->rule, activity))
            return true;
    return false;
}

void fair_debt(struct fair *f, struct fair_limit *limit, pawl_str key, int64_t free_us)
{
    struct fair_bucket *b = bucket_of(limit, key);
    if (free_us > b->free_us)
        b->free_us = free_us;
    b->stored = true;
    bucket_forget_if_unused(f, b, INT64_MIN);
}
