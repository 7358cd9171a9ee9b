/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/queue_query.c -- pawl/queue.h: the reading calls, from any thread; those for
 * messages are in queue_browse.c.
 *
 * Snapshots of the store; they never wait for the engine and change nothing.
 */
#include "runtime/api/queue_query.h"

#include "base/limits.h"
#include "base/misuse.h"
#include "queue/queue.h"
#include "runtime/core/gate.h"
#include "runtime/queue/queue_bridge.h"
#include "store/store_queue.h"

#define LEVELS_MAX  1000
#define LOCKS_SHOWN 1000

bool queue_reading_begin(struct queue_reading *r, pawl_client *c, const char *queue,
                         const pawl_mem *mem, const void *ret, pawl_error *reterr)
{
    *r = (struct queue_reading){0};
    r->err = reterr ? reterr : &r->local;
    if (!gate_pass(c, GATE_QUEUE_READS, r->err) ||
        (queue && !check_queue_name("queue name", pawl_s(queue), r->err)))
        return false;
    r->store = c->rt->store;
    return IS_THERE(mem && ret, "memory and room for the answer", r->err);
}

static pawl_queue_stats describe(const pawl_queue_row *row, pawl_mem *mem)
{
    struct queue_totals t = queue_totals_read(row->totals);
    return (pawl_queue_stats){.name = row->name,
                              .paused = row->paused,
                              .created_ms = row->created_ms,
                              .ready = row->ready,
                              .delayed = row->delayed,
                              .locked = row->locked,
                              .locks = row->locks,
                              .bytes = row->bytes,
                              .pushed = t.pushed,
                              .popped = t.popped,
                              .acked = t.acked,
                              .expired = t.expired,
                              .released = t.released,
                              .dead_lettered = t.dead_lettered,
                              .dropped = t.dropped,
                              .purged = t.purged,
                              .duplicates = t.duplicates,
                              .redriven = t.redriven,
                              .started = t.started,
                              .id_taken = t.id_taken,
                              .config = queue_config_read(row->config, mem)};
}

/* One look-up in the index of ready entries, behind those that are locked. */
static pawl_status add_oldest(struct queue_reading *r, uint64_t qid, pawl_mem *mem,
                              pawl_queue_stats *ret)
{
    pawl_entry_list first;
    pawl_entry_query query = {.qid = qid, .order = PAWL_ENTRIES_READY, .limit = 1, .heads = true};
    pawl_status rc = store_query_entries(r->store, &query, mem, &first, r->err);
    if (rc == PAWL_OK)
        ret->oldest_ms = first.count ? first.items[0].enqueued_ms : 0;
    return rc;
}

static pawl_status add_levels(struct queue_reading *r, uint64_t qid, pawl_mem *mem,
                              pawl_queue_stats *ret)
{
    pawl_level_list list;
    pawl_status rc = store_levels(r->store, qid, LEVELS_MAX, mem, &list, r->err);
    if (rc == PAWL_OK)
        rc = add_oldest(r, qid, mem, ret);
    if (rc != PAWL_OK)
        return rc;
    pawl_queue_level *levels = arena_array(mem, pawl_queue_level, list.count + 1);
    for (size_t i = 0; i < list.count; i++)
        levels[i] = (pawl_queue_level){list.items[i].priority, list.items[i].count};
    ret->levels = levels;
    ret->level_count = list.count;
    return PAWL_OK;
}

pawl_status pawl_queue_get_stats(pawl_client *c, const char *queue, pawl_mem *mem,
                                 pawl_queue_stats *ret, pawl_error *reterr)
{
    struct queue_reading r;
    if (!queue_reading_begin(&r, c, queue ? queue : "", mem, ret, reterr))
        return r.err->status;
    pawl_queue_row row;
    pawl_status rc = store_find_queue(r.store, pawl_s(queue), mem, &row, r.err);
    if (rc != PAWL_OK)
        return rc;
    *ret = describe(&row, mem);
    ret->warning = queue_bound_warning(c->rt, &ret->config, mem);
    return add_levels(&r, row.qid, mem, ret);
}

pawl_status pawl_queue_get_config(pawl_client *c, const char *queue, pawl_mem *mem,
                                  pawl_queue_config *ret, pawl_error *reterr)
{
    struct queue_reading r;
    if (!queue_reading_begin(&r, c, queue ? queue : "", mem, ret, reterr))
        return r.err->status;
    pawl_queue_row row;
    pawl_status rc = store_find_queue(r.store, pawl_s(queue), mem, &row, r.err);
    if (rc != PAWL_OK && rc != PAWL_NOT_FOUND)
        return rc;
    *ret = rc == PAWL_OK ? queue_config_read(row.config, mem) : pawl_queue_config_default();
    return PAWL_OK;
}

uint32_t queue_page_size(uint32_t limit)
{
    return !limit ? 100 : limit > 1000 ? 1000 : limit;
}

pawl_status pawl_queue_list(pawl_client *c, const char *prefix, const char *after, uint32_t limit,
                            pawl_mem *mem, pawl_queue_page *ret, pawl_error *reterr)
{
    struct queue_reading r;
    if (!queue_reading_begin(&r, c, NULL, mem, ret, reterr))
        return r.err->status;
    pawl_queue_row_list list;
    limit = queue_page_size(limit);
    pawl_status rc =
        store_list_queues(r.store, pawl_s(prefix), pawl_s(after), limit + 1, mem, &list, r.err);
    if (rc != PAWL_OK)
        return rc;
    size_t count = list.count > limit ? limit : list.count;
    pawl_queue_stats *items = arena_array(mem, pawl_queue_stats, count + 1);
    for (size_t i = 0; i < count && rc == PAWL_OK; i++) {
        items[i] = describe(&list.items[i], mem);
        rc = add_oldest(&r, list.items[i].qid, mem, &items[i]);
    }
    if (rc != PAWL_OK)
        return rc;
    *ret = (pawl_queue_page){.items = items, .count = count};
    if (list.count > limit)
        ret->next = items[count - 1].name;
    return PAWL_OK;
}

/* ---- Locks ----------------------------------------------------------------------- */

/* Enough to recognise, not enough to use. */
static pawl_str mask(pawl_str id, pawl_mem *mem)
{
    return pawl_mem_printf(mem, "%.*s…", (int)(id.len < 3 ? id.len : 3), id.ptr);
}

pawl_status pawl_queue_get_locks(pawl_client *c, const char *queue, pawl_mem *mem,
                                 pawl_queue_locks *ret, pawl_error *reterr)
{
    struct queue_reading r;
    if (!queue_reading_begin(&r, c, queue ? queue : "", mem, ret, reterr))
        return r.err->status;
    pawl_queue_row row;
    pawl_lock_list list = {0};
    pawl_status rc = store_find_queue(r.store, pawl_s(queue), mem, &row, r.err);
    if (rc == PAWL_OK)
        rc = store_read_locks(r.store, row.qid, LOCKS_SHOWN, mem, &list, r.err);
    if (rc != PAWL_OK)
        return rc;
    pawl_queue_lock_info *items = arena_array(mem, pawl_queue_lock_info, list.count + 1);
    for (size_t i = 0; i < list.count; i++) {
        size_t at = i;
        for (; at > 0 && items[at - 1].expires_ms > list.items[i].until_ms; at--)
            items[at] = items[at - 1];
        items[at] = (pawl_queue_lock_info){.lock_id = mask(list.items[i].id, mem),
                                           .created_ms = list.items[i].created_ms,
                                           .expires_ms = list.items[i].until_ms,
                                           .items = list.items[i].entry_count};
    }
    *ret = (pawl_queue_locks){items, list.count};
    return PAWL_OK;
}
