/* SPDX-License-Identifier: MIT */
/* runtime/core/timers.c -- see timers.h. */
#include "runtime/core/timers.h"

#include "runtime/core/letter.h"
#include "store/store.h"

#include <stdlib.h>

struct timer_key {
    uint64_t kind, uid, execution, ref;
};

struct late_row {
    struct heap_node node; /* key: due, wall clock */
    struct letter *letter; /* NULL: work */
    uint64_t work_id;
    struct timer_key timer; /* in rt->peek.timers under these bytes; uid 0: no timer */
};

static pawl_str key_of(const struct timer_key *k)
{
    return (pawl_str){(const char *)k, sizeof(*k)};
}

static struct late_row *push(pawl_runtime *rt, struct letter *l, uint64_t work_id, int64_t due_ms)
{
    struct late_row *h = calloc(1, sizeof(*h));
    assert_that(h);
    h->node.key = due_ms;
    h->node.tie = ++rt->peek.tie;
    h->letter = l;
    h->work_id = work_id;
    need_memory(heap_push(&rt->peek.heap, &h->node));
    return h;
}

/* The earliest one leaves the heap. */
static struct late_row *pop(pawl_runtime *rt)
{
    struct heap_node *top = heap_pop(&rt->peek.heap);
    struct late_row *h = top ? CONTAINER_OF(top, struct late_row, node) : NULL;
    if (h && h->timer.uid)
        map_removes(&rt->peek.timers, key_of(&h->timer));
    return h;
}

void timers_put_letter(pawl_runtime *rt, struct letter *l, int64_t due_ms)
{
    (void)push(rt, l, 0, due_ms);
}

void timers_put(pawl_runtime *rt, int kind, uint64_t uid, uint64_t execution_no, uint64_t ref,
                int64_t due_ms)
{
    struct timer_key key = {(uint64_t)kind, uid, execution_no, ref};
    struct mail mail = {.kind = kind, .execution = execution_no, .ref = ref};
    if (map_gets(&rt->peek.timers, key_of(&key)))
        return;
    struct letter *l = letter_create(&mail, uid, (pawl_str){0}, (pawl_str){0});
    need_memory(l);
    struct late_row *h = push(rt, l, 0, due_ms);
    h->timer = key;
    need_memory(map_puts(&rt->peek.timers, key_of(&h->timer), h));
}

void timers_cancel(pawl_runtime *rt, uint64_t uid, uint64_t execution_no, uint64_t ref)
{
    struct timer_key key = {PAWL_MSG_TIMER_FIRED, uid, execution_no, ref};
    struct late_row *h = map_removes(&rt->peek.timers, key_of(&key));
    if (!h)
        return;
    heap_remove(&rt->peek.heap, &h->node);
    letter_drop(rt, h->letter, PAWL_OK, "");
    free(h);
}

void timers_put_work(pawl_runtime *rt, uint64_t work_id, int64_t due_ms)
{
    (void)push(rt, NULL, work_id, due_ms);
}

bool timers_put_early_letter(pawl_runtime *rt, struct letter *l, int64_t visible_ms)
{
    if (visible_ms <= rt->now_ms)
        return false;
    timers_put_letter(rt, l, visible_ms);
    return true;
}

bool timers_put_early_work(pawl_runtime *rt, const pawl_work *w)
{
    if (w->visible_ms <= rt->now_ms)
        return false;
    timers_put_work(rt, w->id, w->visible_ms);
    return true;
}

bool timers_take(pawl_runtime *rt, struct timer_due *ret)
{
    if (timers_next(rt) > rt->now_ms)
        return false;
    struct late_row *h = pop(rt);
    *ret = (struct timer_due){h->letter, h->work_id, h->node.key};
    free(h);
    return true;
}

int64_t timers_next(pawl_runtime *rt)
{
    struct heap_node *top = heap_top(&rt->peek.heap);
    return top ? top->key : INT64_MAX;
}

void timers_free(pawl_runtime *rt)
{
    struct late_row *h;
    while ((h = pop(rt))) {
        if (h->letter)
            letter_drop(rt, h->letter, PAWL_SHUTDOWN, "the runtime is closing");
        free(h);
    }
    heap_deinit(&rt->peek.heap);
    map_deinit(&rt->peek.timers);
}

void timers_open(pawl_runtime *rt)
{
    heap_init(&rt->peek.heap);
    map_init(&rt->peek.timers);
}
