/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_read.c -- the operations marked [reader].
 *
 * Each holds the lock for the whole call, so it sees one state; answers are
 * copied into the caller's memory before it is given up.
 */
#include "store/memory/memory.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"
#include "store/memory/copy.h"
#include "store/search.h"

#include <stdlib.h>
#include <string.h>

#define LIST_EXAMINE_MAX 10000

static pawl_status not_found(pawl_error *reterr, const char *what, uint64_t number)
{
    error_set(reterr, PAWL_NOT_FOUND, "there is no %s %llu", what, (unsigned long long)number);
    return PAWL_NOT_FOUND;
}

pawl_status memory_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret,
                        pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_instance *i = map_gets(&m->by_name, id);
    if (i)
        copy_give(&shape_row, ret, &i->row, mem);
    else
        error_set(reterr, PAWL_NOT_FOUND, "there is no instance '%.*s'", PAWL_FMT(id));
    memory_unlock(m);
    return i ? PAWL_OK : PAWL_NOT_FOUND;
}

pawl_status memory_find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                            pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_instance *i = memory_instance(m, uid);
    if (i)
        copy_give(&shape_row, ret, &i->row, mem);
    memory_unlock(m);
    return i ? PAWL_OK : not_found(reterr, "instance with uid", uid);
}

pawl_status memory_find_execution(pawl_store *s, uint64_t uid, uint64_t execution, pawl_mem *mem,
                                  pawl_row *ret, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_instance *i = memory_instance(m, uid);
    struct memory_execution *x = i ? memory_execution(i, execution) : NULL;
    if (x)
        copy_give(&shape_row, ret, i->row.execution == execution ? &i->row : &x->closed, mem);
    memory_unlock(m);
    return x ? PAWL_OK : not_found(reterr, "execution", execution);
}

pawl_status memory_read_history(pawl_store *s, uint64_t uid, uint64_t execution, uint64_t after_seq,
                                uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                                pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_instance *i = memory_instance(m, uid);
    struct memory_execution *x = i ? memory_execution(i, execution) : NULL;
    uint64_t total = x ? x->events.count : 0, count = after_seq < total ? total - after_seq : 0;
    if (limit > 0 && count > limit)
        count = limit;
    pawl_event *items = pawl_mem_alloc(mem, count * sizeof(*items));
    pawl_status status = PAWL_OK;
    for (uint64_t n = 0; n < count; n++) {
        const pawl_event *e = &x->events.items[after_seq + n]->event;
        if (e->seq != after_seq + n + 1 || e->execution != execution) {
            error_set(reterr, PAWL_CORRUPT, "history row %llu does not fit its neighbours",
                      (unsigned long long)e->rid);
            status = PAWL_CORRUPT;
            break;
        }
        copy_give(&shape_event, &items[n], e, mem);
    }
    if (status == PAWL_OK)
        *ret = (pawl_event_list){.items = items, .count = count};
    memory_unlock(m);
    return status;
}

pawl_status memory_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem, pawl_event *ret,
                              pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_event *e = memory_event(m, rid);
    if (e)
        copy_give(&shape_event, ret, &e->event, mem);
    memory_unlock(m);
    return e ? PAWL_OK : not_found(reterr, "event with rid", rid);
}

static int compare_messages(const void *a, const void *b)
{
    const pawl_message *x = a, *y = b;
    if (x->visible_ms != y->visible_ms)
        return x->visible_ms < y->visible_ms ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

pawl_status memory_read_messages(pawl_store *s, uint64_t uid, pawl_str instance, pawl_mem *mem,
                                 pawl_message_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    struct order_node *first = order_from(&m->messages_by_owner, (int64_t)uid, 0), *n;
    size_t count = 0;
    for (n = first; n && n->key == (int64_t)uid; n = order_next(n))
        count++;
    pawl_message *items = pawl_mem_alloc(mem, count * sizeof(*items));
    count = 0;
    for (n = first; n && n->key == (int64_t)uid; n = order_next(n)) {
        struct memory_message *msg = CONTAINER_OF(n, struct memory_message, by_owner);
        if (uid != 0 || !instance.len || pawl_str_eq(msg->message.instance, instance))
            copy_give(&shape_message, &items[count++], &msg->message, mem);
    }
    qsort(items, count, sizeof(*items), compare_messages);
    *ret = (pawl_message_list){.items = items, .count = count};
    memory_unlock(m);
    return PAWL_OK;
}

pawl_status memory_read_work(pawl_store *s, const uint64_t *ids, size_t count, pawl_mem *mem,
                             pawl_work_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    pawl_work *items = pawl_mem_alloc(mem, count * sizeof(*items));
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct memory_work *w = memory_work(m, ids[i]);
        if (w)
            copy_give(&shape_work, &items[found++], &w->work, mem);
    }
    *ret = (pawl_work_list){.items = items, .count = found};
    memory_unlock(m);
    return PAWL_OK;
}

pawl_status memory_has_key(pawl_store *s, uint64_t uid, pawl_str key, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    struct memory_instance *i = memory_instance(m, uid);
    bool has = i && map_gets(&i->keys, key);
    memory_unlock(m);
    return has ? PAWL_OK : PAWL_EMPTY;
}

pawl_status memory_load(pawl_store *s, pawl_wanted *wanted, size_t count, size_t max_bytes,
                        pawl_mem *mem, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    size_t most = arena_bytes(mem) + max_bytes;
    for (size_t n = 0; n < count && arena_bytes(mem) <= most; n++) {
        pawl_wanted *want = &wanted[n];
        struct memory_work *w = want->work ? memory_work(m, want->work) : NULL;
        struct memory_instance *i = want->work  ? NULL
                                    : want->uid ? memory_instance(m, want->uid)
                                                : map_gets(&m->by_name, want->id);
        want->status = w || i ? PAWL_OK : PAWL_NOT_FOUND;
        if (w) {
            pawl_work *item = pawl_mem_alloc(mem, sizeof(*item));
            copy_give(&shape_work, item, &w->work, mem);
            want->item = item;
        }
        if (!i)
            continue;
        if (want->key.len)
            want->key_status = map_gets(&i->keys, want->key) ? PAWL_OK : PAWL_EMPTY;
        if (want->key_only)
            continue;
        pawl_row *row = pawl_mem_alloc(mem, sizeof(*row));
        copy_give(&shape_row, row, &i->row, mem);
        want->row = row;
    }
    memory_unlock(m);
    return PAWL_OK;
}

pawl_status memory_load_histories(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                                  size_t max_bytes, pawl_mem *mem, pawl_error *reterr)
{
    size_t most = arena_bytes(mem) + max_bytes;
    for (size_t n = 0; n < count && arena_bytes(mem) <= most; n++) {
        pawl_wanted_history *w = &wanted[n];
        w->status = memory_read_history(s, w->uid, w->execution, 0, 0, mem, &w->events, reterr);
        if (w->status == PAWL_OK)
            w->status = memory_read_messages(s, w->uid, (pawl_str){0}, mem, &w->messages, reterr);
    }
    return PAWL_OK;
}

pawl_status memory_search(pawl_store *s, const pawl_search *search, pawl_mem *mem, pawl_found *ret,
                          pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    const pawl_row_query *query = &search->query;
    size_t max = query->limit < m->by_uid.count ? query->limit : m->by_uid.count;
    pawl_row *items = pawl_mem_alloc(mem, max * sizeof(*items));
    struct order_node *n =
        query->before_uid != 0 ? order_from(&m->by_uid, 0, query->before_uid) : NULL;
    n = n ? order_prev(n) : order_last(&m->by_uid);
    pawl_found found = {.rows = {.items = items}};
    while (n && found.rows.count < max && found.examined < LIST_EXAMINE_MAX) {
        struct memory_instance *i = CONTAINER_OF(n, struct memory_instance, by_uid);
        if (search_matches(search, &i->row))
            copy_give(&shape_row, &items[found.rows.count++], &i->row, mem);
        n = order_prev(n);
        found.rows.next_uid = n ? i->row.uid : 0;
        found.examined++;
    }
    memory_unlock(m);
    pawl_fill(ret, &found, sizeof(found));
    return PAWL_OK;
}

pawl_status memory_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem,
                        pawl_row_list *ret, pawl_error *reterr)
{
    pawl_found found = {.size = sizeof(found)};
    pawl_search search = {.size = sizeof(search), .query = *query};
    pawl_status status = memory_search(s, &search, mem, &found, reterr);
    *ret = found.rows;
    return status;
}

pawl_status memory_depths(pawl_store *s, int64_t now_ms, pawl_depths *ret,
                          pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    pawl_depths d = {.messages = m->messages_by_id.count,
                     .work = m->work_by_id.count,
                     .quarantine = m->quarantine.count,
                     .instances = m->by_uid.count};
    for (struct order_node *n = order_first(&m->messages_by_id); n; n = order_next(n)) {
        const pawl_message *msg = &CONTAINER_OF(n, struct memory_message, by_id)->message;
        d.timers += msg->visible_ms > now_ms && !msg->mailbox;
    }
    for (struct order_node *n = order_first(&m->by_uid); n; n = order_next(n)) {
        pawl_state state = CONTAINER_OF(n, struct memory_instance, by_uid)->row.state;
        d.suspended += state == PAWL_SUSPENDED;
        d.blocked += state == PAWL_BLOCKED;
        d.failed += state == PAWL_FAILED;
        d.cancelled += state == PAWL_CANCELLED;
    }
    memory_unlock(m);
    pawl_fill(ret, &d, sizeof(d));
    return PAWL_OK;
}

pawl_status memory_read_quarantine(pawl_store *s, uint32_t limit, pawl_mem *mem,
                                   pawl_message_list *ret, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    size_t total = m->quarantine.count, count = limit < total ? limit : total;
    pawl_message *items = pawl_mem_alloc(mem, count * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        copy_give(&shape_message, &items[i], &m->quarantine.items[total - 1 - i]->message, mem);
    *ret = (pawl_message_list){.items = items, .count = count};
    memory_unlock(m);
    return PAWL_OK;
}
