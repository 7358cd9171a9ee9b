/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_work_names.c -- names that work is filed under (W4, W5).
 *
 * Asked once after a take: every row is looked at.  Called through the table of memory.c.
 */
#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/memory/copy.h"
#include "store/memory/memory.h"

#include <stdlib.h>

static int by_bytes(const void *a, const void *b)
{
    return str_compare(*(const pawl_str *)a, *(const pawl_str *)b);
}

pawl_status memory_list_work_names(pawl_store *s, pawl_str after, uint32_t limit, pawl_mem *mem,
                                   pawl_text_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    LIST(pawl_str) names = {0};
    size_t count = 0;
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n)) {
        const struct memory_work *w = CONTAINER_OF(n, struct memory_work, by_id);
        if (!w->taken && memory_is_of(shards, w->work.shard) &&
            str_compare(w->work.name, after) > 0)
            *list_add(mem, &names) = w->work.name;
    }
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), by_bytes);
    for (size_t i = 0; i < names.count && count < limit; i++)
        if (!count || !pawl_str_eq(names.items[i], names.items[count - 1]))
            names.items[count++] = names.items[i];
    for (size_t i = 0; i < count; i++)
        names.items[i] = arena_dup(mem, names.items[i]);
    *ret = (pawl_text_list){.items = names.items, .count = count};
    memory_unlock(m);
    return PAWL_OK;
}

static int64_t free_ms(const pawl_work *w)
{
    return w->lock_token.len && w->lock_until_ms > w->visible_ms ? w->lock_until_ms : w->visible_ms;
}

static int by_time(const void *a, const void *b)
{
    const pawl_work *x = a, *y = b;
    int64_t p = free_ms(x), q = free_ms(y);
    return p != q ? (p > q) - (p < q) : (x->id > y->id) - (x->id < y->id);
}

pawl_status memory_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms, uint32_t limit,
                                   pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    uint64_t shards = memory_shards(s);
    LIST(pawl_work) items = {0};
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n)) {
        const struct memory_work *w = CONTAINER_OF(n, struct memory_work, by_id);
        if (!w->taken && memory_is_of(shards, w->work.shard) && free_ms(&w->work) > now_ms &&
            pawl_str_eq(w->work.name, name))
            copy_give(&shape_work, list_add(mem, &items), &w->work, mem);
    }
    if (items.count)
        qsort(items.items, items.count, sizeof(*items.items), by_time);
    *ret =
        (pawl_work_list){.items = items.items, .count = items.count < limit ? items.count : limit};
    memory_unlock(m);
    return PAWL_OK;
}
