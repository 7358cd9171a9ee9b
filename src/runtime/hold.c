/* SPDX-License-Identifier: MIT */
/* runtime/hold.c -- see hold.h. */
#include "runtime/hold.h"

#include "runtime/job.h"
#include "runtime/letter.h"

#include <stdlib.h>

struct held {
    struct heap_node node; /* key: due, wall clock */
    struct letter *letter; /* NULL: work */
    uint64_t work_id;
};

static void push(pawl_runtime *rt, struct letter *l, uint64_t work_id, int64_t due_ms)
{
    struct held *h = calloc(1, sizeof(*h));
    assert_that(h);
    h->node.key = due_ms;
    h->node.tie = ++rt->job_tie;
    h->letter = l;
    h->work_id = work_id;
    assert_that(heap_push(&rt->held, &h->node));
}

void hold_letter(pawl_runtime *rt, struct letter *l, int64_t due_ms)
{
    push(rt, l, 0, due_ms);
}

void hold_timer(pawl_runtime *rt, int kind, uint64_t uid, uint64_t execution_no, uint64_t ref,
                int64_t due_ms)
{
    struct mail mail = {.kind = kind, .execution = execution_no, .ref = ref};
    struct letter *l = letter_create(&mail, uid, (pawl_str){0}, (pawl_str){0});
    assert_that(l);
    push(rt, l, 0, due_ms);
}

void hold_work(pawl_runtime *rt, uint64_t work_id, int64_t due_ms)
{
    push(rt, NULL, work_id, due_ms);
}

/* The row as it is now: it may have been withdrawn, or be in memory already. */
static void take_work(pawl_runtime *rt, uint64_t id)
{
    pawl_work_list list;
    pawl_error err;
    if (map_get(&rt->jobs, id))
        return;
    if (rt->store->ops->read_work(rt->store, &id, 1, &rt->group_mem, &list, &err) != PAWL_OK)
        hold_work(rt, id, rt->now_ms + 100);
    else if (list.count)
        job_take(rt, &list.items[0]);
}

void hold_look(pawl_runtime *rt)
{
    struct heap_node *top;
    while ((top = heap_top(&rt->held)) && top->key <= rt->now_ms) {
        struct held *h = CONTAINER_OF(heap_pop(&rt->held), struct held, node);
        if (h->letter)
            letter_todo(rt, h->letter);
        else
            take_work(rt, h->work_id);
        free(h);
    }
}

int64_t hold_next(pawl_runtime *rt)
{
    struct heap_node *top = heap_top(&rt->held);
    return top ? top->key : INT64_MAX;
}

void hold_free(pawl_runtime *rt)
{
    struct heap_node *top;
    while ((top = heap_pop(&rt->held))) {
        struct held *h = CONTAINER_OF(top, struct held, node);
        if (h->letter)
            letter_drop(rt, h->letter, PAWL_SHUTDOWN, "the runtime is closing");
        free(h);
    }
    heap_deinit(&rt->held);
}
