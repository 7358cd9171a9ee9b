/* SPDX-License-Identifier: MIT */
/* fair/fair.c -- see fair.h: trays, their order, picking.  bucket.c has the limits. */
#include "fair/fair.h"

#include "base/attr.h"
#include "fair/bucket.h"

#include <stdlib.h>
#include <string.h>

#define TIME_BITS 53 /* of virtual time; the priority is above them */

void fair_init(struct fair *f)
{
    *f = (struct fair){0};
    map_init(&f->classes);
    map_init(&f->limits);
    heap_init(&f->due);
}

void fair_deinit(struct fair *f)
{
    assert_that(!f->trays && !f->limits.count);
    f->sweep_at = 0;
    fair_sweep(f);
    map_deinit(&f->classes);
    map_deinit(&f->limits);
    heap_deinit(&f->due);
    for (struct fair_bucket *b; (b = fair_take_stale(f));)
        free(b);
}

/* ---- Classes -------------------------------------------------------------------------- */

struct fair_class *fair_class_find(const struct fair *f, pawl_str name)
{
    return map_gets(&f->classes, name);
}

static struct fair_class *class_of(struct fair *f, pawl_str name)
{
    struct fair_class *c = fair_class_find(f, name);
    if (c)
        return c;
    c = calloc(1, sizeof(*c) + name.len + 1);
    need_memory(c);
    char *text = (char *)(c + 1);
    if (name.len)
        memcpy(text, name.ptr, name.len);
    c->name = (pawl_str){text, name.len};
    heap_init(&c->ready);
    need_memory(map_puts(&f->classes, c->name, c));
    return c;
}

static void class_enter(struct fair *f, struct fair_class *c)
{
    if (c->at_ready)
        return;
    struct fair_class **first = c->ours ? &f->ours : &f->others;
    c->next_ready = *first;
    c->at_ready = first;
    if (*first)
        (*first)->at_ready = &c->next_ready;
    *first = c;
}

static void class_unlink(struct fair_class *c)
{
    *c->at_ready = c->next_ready;
    if (c->next_ready)
        c->next_ready->at_ready = c->at_ready;
    c->at_ready = NULL;
}

static void class_leave(struct fair_class *c)
{
    if (c->at_ready && !heap_top(&c->ready))
        class_unlink(c);
}

void fair_set_ours(struct fair *f, struct fair_class *c, bool ours)
{
    bool ready = c->at_ready != NULL;
    if (c->ours == ours)
        return;
    if (ready)
        class_unlink(c);
    c->ours = ours;
    if (ready)
        class_enter(f, c);
}

/* ---- Trays ------------------------------------------------------------------------------ */

void fair_tray_add(struct fair *f, struct fair_tray *tray, pawl_str class_name, uint32_t priority,
                   pawl_str key)
{
    assert_that(priority >= 1 && priority < FAIR_PRIORITIES);
    tray->class = class_of(f, class_name);
    tray->class->trays++;
    tray->key = key;
    tray->priority = priority;
    tray->weight = 1;
    tray->time = 0;
    tray->state = FAIR_IDLE;
    tray->next = f->trays;
    tray->at = &f->trays;
    if (f->trays)
        f->trays->at = &tray->next;
    f->trays = tray;
    f->tray_count++;
    tray_find_buckets(f, tray);
}

void fair_tray_remove(struct fair *f, struct fair_tray *tray)
{
    assert_that(tray->state == FAIR_IDLE && !tray->out);
    struct fair_class *c = tray->class;
    tray_leave_buckets(f, tray);
    *tray->at = tray->next;
    if (tray->next)
        tray->next->at = tray->at;
    f->tray_count--;
    c->trays--;
}

void fair_sweep(struct fair *f)
{
    struct fair_class *c;
    if (f->classes.count < f->sweep_at)
        return;
    for (size_t at = 0; (c = map_next(&f->classes, &at));) {
        if (c->trays)
            continue;
        assert_that(!heap_top(&c->ready) && !c->at_ready);
        map_removes(&f->classes, c->name);
        heap_deinit(&c->ready);
        free(c);
    }
    f->sweep_at = 2 * f->classes.count;
}

void tray_make_ready(struct fair *f, struct fair_tray *tray)
{
    struct fair_class *c = tray->class;
    if (tray->time < f->present[tray->priority])
        tray->time = f->present[tray->priority];
    tray->state = FAIR_READY;
    tray->node.key = ((int64_t)tray->priority << TIME_BITS) | tray->time;
    tray->node.tie = ++f->turns;
    need_memory(heap_push(&c->ready, &tray->node));
    class_enter(f, c);
}

void fair_ready(struct fair *f, struct fair_tray *tray)
{
    if (tray->state != FAIR_IDLE)
        return;
    tray_make_ready(f, tray);
}

/* Out of the heap of its class. */
static void leave_ready(struct fair_tray *tray)
{
    heap_remove(&tray->class->ready, &tray->node);
    class_leave(tray->class);
    tray->state = FAIR_IDLE;
}

/* It was woken for room that it does not use, or has used: another may. */
static void pass_on(struct fair *f, struct fair_tray *tray, int64_t now_us)
{
    struct fair_hang *hang = tray->woken;
    if (!hang)
        return;
    tray->woken = NULL;
    hang->awake--;
    bucket_settle(f, hang->bucket, now_us);
}

void fair_idle(struct fair *f, struct fair_tray *tray)
{
    struct fair_bucket *b = tray->hung ? tray->hung->bucket : NULL;
    if (tray->state == FAIR_READY)
        leave_ready(tray);
    if (b) {
        tray_unhang(tray);
        bucket_settle(f, b, INT64_MIN);
    }
    pass_on(f, tray, INT64_MIN);
}

void fair_count(struct fair_tray *tray, uint64_t waiting)
{
    if (tray->hung)
        tray->hung->bucket->limit->waiting += waiting - tray->waiting;
    tray->waiting = waiting;
}

/* ---- Whose turn it is ---------------------------------------------------------------------- */

static struct fair_tray *first_of(const struct fair_class *c)
{
    struct heap_node *top = heap_top(&c->ready);
    return top ? CONTAINER_OF(top, struct fair_tray, node) : NULL;
}

static bool is_before(const struct fair_tray *a, const struct fair_tray *b)
{
    return a->node.key < b->node.key || (a->node.key == b->node.key && a->node.tie < b->node.tie);
}

static struct fair_tray *best_of(const struct fair *f, struct fair_class *const *classes,
                                 size_t count)
{
    struct fair_tray *best = NULL, *tray;
    for (size_t i = 0; classes && i < count; i++)
        if ((tray = first_of(classes[i])) && (!best || is_before(tray, best)))
            best = tray;
    for (const struct fair_class *c = classes ? NULL : f->ours; c; c = c->next_ready)
        if ((tray = first_of(c)) && (!best || is_before(tray, best)))
            best = tray;
    return best;
}

struct fair_tray *fair_pick(struct fair *f, struct fair_class *const *classes, size_t count,
                            uint32_t ceiling, int64_t now_us)
{
    struct fair_tray *tray;
    while ((tray = best_of(f, classes, count)) && tray->priority <= ceiling) {
        struct fair_bucket *b = fair_obstacle(tray, now_us);
        if (!b)
            return tray;
        leave_ready(tray);
        tray_hang(f, tray, b, now_us);
        pass_on(f, tray, now_us);
    }
    return NULL;
}

void fair_take(struct fair *f, struct fair_tray *tray, int64_t now_us)
{
    assert_that(tray->state == FAIR_READY);
    leave_ready(tray);
    for (size_t i = 0; i < tray->bucket_count; i++)
        bucket_take(f, tray->buckets[i], now_us);
    tray->out++;
    f->present[tray->priority] = tray->time;
    tray->time += FAIR_SCALE / tray->weight;
    tray_make_ready(f, tray);
    pass_on(f, tray, now_us);
}

void fair_was_out(struct fair_tray *tray)
{
    for (size_t i = 0; i < tray->bucket_count; i++) {
        tray->buckets[i]->in_use++;
        tray->buckets[i]->limit->in_use++;
    }
    tray->out++;
}

void fair_give(struct fair *f, struct fair_tray *tray, int64_t now_us)
{
    assert_that(tray->out);
    tray->out--;
    for (size_t i = 0; i < tray->bucket_count; i++)
        bucket_give(tray->buckets[i]);
    for (size_t i = 0; i < tray->bucket_count; i++)
        bucket_settle(f, tray->buckets[i], now_us);
}

void fair_untake(struct fair *f, struct fair_tray *tray, int64_t now_us)
{
    for (size_t i = 0; i < tray->bucket_count; i++)
        bucket_refund(f, tray->buckets[i]);
    fair_give(f, tray, now_us);
}

/* ---- Check --------------------------------------------------------------------------------- */

static void check_bucket(const struct fair *f, const struct fair_bucket *b)
{
    uint64_t out = 0, stands = 0, hangs = 0;
    for (const struct fair_tray *l = f->trays; l; l = l->next)
        for (size_t i = 0; i < l->bucket_count; i++)
            if (l->buckets[i] == b) {
                out += l->out;
                stands++;
                hangs += l->hung && l->hung->bucket == b;
            }
    assert_that(out == b->in_use && stands == b->trays && hangs == b->hanging);
}

static void check_ready(const struct fair_class *first, bool ours)
{
    for (const struct fair_class *c = first; c; c = c->next_ready)
        assert_that(c->ours == ours && *c->at_ready == c && heap_top(&c->ready));
}

void fair_check(const struct fair *f)
{
    size_t trays = 0;
    check_ready(f->ours, true);
    check_ready(f->others, false);
    const struct fair_limit *limit;
    const struct fair_bucket *b;
    for (const struct fair_tray *l = f->trays; l; l = l->next, trays++) {
        assert_that((l->state == FAIR_IDLE) == !l->node.place);
        assert_that((l->state == FAIR_HUNG) == (l->hung != NULL));
    }
    assert_that(trays == f->tray_count);
    for (size_t at = 0; (limit = map_next(&f->limits, &at));) {
        uint64_t in_use = 0;
        for (size_t k = 0; (b = map_next(&limit->buckets, &k)); in_use += b->in_use)
            check_bucket(f, b);
        assert_that(in_use == limit->in_use);
    }
}
