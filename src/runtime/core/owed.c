/* SPDX-License-Identifier: MIT */
/* runtime/core/owed.c -- see owed.h.  A ring through rt->owed.ring, so that an item can leave
 * without its runtime. */
#include "runtime/core/owed.h"

#include "runtime/core/inbox.h"
#include "runtime/core/items.h"

void owed_open(pawl_runtime *rt)
{
    rt->owed.ring.older = rt->owed.ring.newer = &rt->owed.ring;
}

void owed_take(pawl_runtime *rt, struct item *item)
{
    if (item->newer)
        return;
    if (!item->since_ms)
        item->since_ms = rt_mono(rt);
    item->older = rt->owed.ring.older;
    item->newer = &rt->owed.ring;
    item->older->newer = item->newer->older = item;
}

void owed_done(struct item *item)
{
    if (!item->newer)
        return;
    item->older->newer = item->newer;
    item->newer->older = item->older;
    item->older = item->newer = NULL;
    item->since_ms = 0;
}

void owed_renew(pawl_runtime *rt, struct item *item)
{
    owed_done(item);
    owed_take(rt, item);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

void owed_tell(pawl_runtime *rt)
{
    int64_t taken = rt->owed.ring.newer == &rt->owed.ring ? 0 : rt->owed.ring.newer->since_ms;
    const struct item *first = items_first(rt);
    int64_t left = first ? first->since_ms : 0;
    atomic_store_explicit(&rt->owed.since_ms, earlier(taken, left), memory_order_relaxed);
}

int64_t owed_since(pawl_runtime *rt)
{
    int64_t coming = inbox_since(rt);
    return earlier(atomic_load_explicit(&rt->owed.since_ms, memory_order_relaxed), coming);
}
