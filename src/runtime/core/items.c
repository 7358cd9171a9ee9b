/* SPDX-License-Identifier: MIT */
/* runtime/core/items.c -- see items.h. */
#include "runtime/core/items.h"

void items_put_off(pawl_runtime *rt, struct item *item)
{
    item->next = rt->items.first;
    if (!rt->items.first)
        rt->items.end = &item->next;
    rt->items.first = item;
}

void items_add(pawl_runtime *rt, struct item *item)
{
    item->next = NULL;
    *rt->items.end = item;
    rt->items.end = &item->next;
}

void items_back(pawl_runtime *rt, struct item *first, struct item **end)
{
    if (!first)
        return;
    *end = rt->items.first;
    if (!rt->items.first)
        rt->items.end = end;
    rt->items.first = first;
}

struct item *items_all(pawl_runtime *rt)
{
    struct item *first = rt->items.first;
    rt->items.first = NULL;
    rt->items.end = &rt->items.first;
    return first;
}

void items_open(pawl_runtime *rt)
{
    rt->items.end = &rt->items.first;
}
