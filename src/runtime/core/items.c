/* SPDX-License-Identifier: MIT */
/* runtime/core/items.c -- see items.h. */
#include "runtime/core/items.h"

void items_put_off(pawl_runtime *rt, struct item *item)
{
    item->next = rt->items;
    if (!rt->items)
        rt->items_end = &item->next;
    rt->items = item;
    rt->hold = true;
}

struct item *items_next(pawl_runtime *rt)
{
    struct item *item = rt->items;
    if (!item)
        return NULL;
    rt->items = item->next;
    if (!rt->items)
        rt->items_end = &rt->items;
    return item;
}

void items_add(pawl_runtime *rt, struct item *item)
{
    item->next = NULL;
    *rt->items_end = item;
    rt->items_end = &item->next;
}

void items_back(pawl_runtime *rt, struct item *first, struct item **end)
{
    if (!first)
        return;
    *end = rt->items;
    if (!rt->items)
        rt->items_end = end;
    rt->items = first;
}

struct item *items_all(pawl_runtime *rt)
{
    struct item *first = rt->items;
    rt->items = NULL;
    rt->items_end = &rt->items;
    return first;
}
