/* SPDX-License-Identifier: MIT */
/* runtime/core/items.h -- what the engine took from the inbox and has not acted on, in order. [engine] */
#ifndef PAWL_RUNTIME_ITEMS_H
#define PAWL_RUNTIME_ITEMS_H

#include "runtime/core/runtime.h"

/* In front of all others. */
void items_put_off(pawl_runtime *rt, struct item *item);
/* Behind all other items. */
void items_add(pawl_runtime *rt, struct item *item);
/* In front of everything, in order: a list and the end of it. */
void items_back(pawl_runtime *rt, struct item *first, struct item **end);
/* All of them, as a list. */
struct item *items_all(pawl_runtime *rt);
void items_open(pawl_runtime *rt);

/* The items in memory, in order. */
static inline struct item *items_first(const pawl_runtime *rt)
{
    return rt->items.first;
}

/* A list and the end of it go behind them. */
static inline void items_append(pawl_runtime *rt, struct item *first, struct item **end)
{
    *rt->items.end = first;
    rt->items.end = end;
}

/* The first of them, taken out; NULL: none. */
static inline struct item *items_next(pawl_runtime *rt)
{
    struct item *item = rt->items.first;
    if (!item)
        return NULL;
    rt->items.first = item->next;
    if (!rt->items.first)
        rt->items.end = &rt->items.first;
    return item;
}

#endif
