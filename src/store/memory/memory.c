/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory.c -- open, close, and rows in their tables.
 *
 * See memory.h for the idea.  The object is the data: closing a runtime on it
 * and opening another finds everything again, taken rows included until take().
 */
#include "store/memory/memory.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/memory/copy.h"

#include <stdlib.h>
#include <string.h>

#define REASON_BYTES_MAX (64 * 1024)

static void memory_caps(pawl_store *s UNUSED, pawl_store_caps *ret)
{
    static const pawl_store_caps caps = {.atomic_rounds = true,
                                         .delayed_visibility = true,
                                         .queues = true,
                                         .objects = true,
                                         .shared = true};
    pawl_fill(ret, &caps, sizeof(caps));
}

/* Its own commits are never in doubt, but a decorator may lose their replies. */
static pawl_status memory_outcome(pawl_store *s, pawl_fence *fence, pawl_round *rounds UNUSED,
                                  size_t count UNUSED, int64_t now_ms UNUSED, bool *retcommitted,
                                  pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    struct memory_lane *lane;
    pawl_status status = memory_check_fence(s, fence, &lane, reterr);
    if (status == PAWL_OK) {
        *retcommitted = lane->fence.group_no > fence->group_no;
        if (*retcommitted)
            *fence = lane->fence;
    }
    memory_unlock(m);
    return status;
}

static pawl_status memory_space(pawl_store *s UNUSED)
{
    return PAWL_OK;
}

static void free_message(struct memory_message *msg)
{
    copy_drop(&shape_message, &msg->message);
    free(msg);
}

static void free_work(struct memory_work *w)
{
    copy_drop(&shape_work, &w->work);
    free(w);
}

/* Rows leave the one index that is walked; the others are never looked at again. */
static void delete_tables(struct memory *m)
{
    struct order_node *n;
    while ((n = order_first(&m->messages_by_id))) {
        order_remove(n);
        free_message(CONTAINER_OF(n, struct memory_message, by_id));
    }
    while ((n = order_first(&m->work_by_id))) {
        order_remove(n);
        free_work(CONTAINER_OF(n, struct memory_work, by_id));
    }
    while ((n = order_first(&m->by_uid))) {
        order_remove(n);
        memory_delete_instance(CONTAINER_OF(n, struct memory_instance, by_uid));
    }
    for (size_t i = 0; i < m->removed.count; i++)
        memory_delete_instance(m->removed.items[i]);
    for (size_t i = 0; i < m->dead.count; i++)
        memory_delete_execution(m->dead.items[i]);
    for (size_t i = 0; i < m->quarantine.count; i++)
        free_message(m->quarantine.items[i]);
    vec_deinit(&m->removed);
    vec_deinit(&m->dead);
    vec_deinit(&m->quarantine);
    map_deinit(&m->by_name);
    memory_queues_deinit(&m->queues);
    memory_objects_deinit(&m->objects);
    memory_lanes_deinit(m);
    memory_nodes_deinit(m);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void memory_close(pawl_store *s)
{
    struct memory *m = memory_lock(s);
    bool last = --m->handles == 0;
    memory_unlock(m);
    free(s);
    if (last)
        delete_tables(m);
}

static const pawl_store_ops memory_ops = {
    .size = sizeof(pawl_store_ops),
    .abi = PAWL_STORE_ABI,
    .name = "memory",
    .caps = memory_caps,
    .take = memory_take,
    .commit = memory_commit,
    .outcome = memory_outcome,
    .fetch_messages = memory_fetch_messages,
    .fetch_work = memory_fetch_work,
    .list_work_names = memory_list_work_names,
    .read_named_work = memory_read_named_work,
    .fetch_deadlines = memory_fetch_deadlines,
    .abandon_messages = memory_abandon_messages,
    .abandon_work = memory_abandon_work,
    .next_due = memory_next_due,
    .find = memory_find,
    .find_uid = memory_find_uid,
    .find_execution = memory_find_execution,
    .read_history = memory_read_history,
    .read_event = memory_read_event,
    .read_messages = memory_read_messages,
    .read_work = memory_read_work,
    .has_key = memory_has_key,
    .list = memory_list,
    .depths = memory_depths,
    .read_quarantine = memory_read_quarantine,
    .purge = memory_purge,
    .prune_executions = memory_prune_executions,
    .space = memory_space,
    .close = memory_close,
    .queues = &memory_queue_ops,
    .load = memory_load,
    .load_histories = memory_load_histories,
    .read_object = memory_read_object,
    .list_objects = memory_list_objects,
    .search = memory_search,
    .shared = &memory_shared_ops,
};

static pawl_store *new_handle(struct memory *m)
{
    struct memory_handle *h = copy_alloc(sizeof(*h));
    h->base.ops = &memory_ops;
    h->tables = m;
    m->handles++;
    return &h->base;
}

pawl_store *pawl_memory_store(void)
{
    struct memory *m = copy_alloc(sizeof(*m));
    m->ids_end = 1;
    map_init(&m->by_name);
    memory_queues_init(&m->queues);
    memory_objects_init(&m->objects);
    assert_that(pthread_mutex_init(&m->lock, NULL) == 0);
    return new_handle(m);
}

pawl_store *memory_another(pawl_store *s, pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    pawl_store *another = new_handle(m);
    memory_unlock(m);
    return another;
}

struct memory *memory_lock(pawl_store *s)
{
    assert_that(s->ops == &memory_ops);
    struct memory *m = ((struct memory_handle *)s)->tables;
    pthread_mutex_lock(&m->lock);
    return m;
}

void memory_unlock(struct memory *m)
{
    pthread_mutex_unlock(&m->lock);
}

struct memory_instance *memory_instance(const struct memory *m, uint64_t uid)
{
    struct order_node *n = order_find(&m->by_uid, 0, uid);
    return n ? CONTAINER_OF(n, struct memory_instance, by_uid) : NULL;
}

struct memory_message *memory_message(const struct memory *m, uint64_t id)
{
    struct order_node *n = order_find(&m->messages_by_id, 0, id);
    return n ? CONTAINER_OF(n, struct memory_message, by_id) : NULL;
}

struct memory_work *memory_work(const struct memory *m, uint64_t id)
{
    struct order_node *n = order_find(&m->work_by_id, 0, id);
    return n ? CONTAINER_OF(n, struct memory_work, by_id) : NULL;
}

struct memory_event *memory_event(const struct memory *m, uint64_t rid)
{
    struct order_node *n = order_find(&m->by_rid, 0, rid);
    return n ? CONTAINER_OF(n, struct memory_event, by_rid) : NULL;
}

struct memory_execution *memory_execution(const struct memory_instance *i, uint64_t execution)
{
    for (size_t n = i->executions.count; n > 0; n--) {
        if (i->executions.items[n - 1]->closed.execution == execution)
            return i->executions.items[n - 1];
    }
    return NULL;
}

void memory_place_message(struct memory *m, struct memory_message *msg)
{
    order_remove(&msg->ready);
    if (!msg->taken && !msg->message.mailbox)
        order_add(&m->messages_ready, &msg->ready, msg->message.visible_ms, msg->message.id);
}

void memory_place_work(struct memory *m, struct memory_work *w)
{
    const pawl_work *row = &w->work;
    order_remove(&w->free);
    order_remove(&w->by_visible);
    order_remove(&w->by_deadline);
    order_add(&m->work_by_visible, &w->by_visible, row->visible_ms, row->id);
    if (row->deadline_ms > 0)
        order_add(&m->work_by_deadline, &w->by_deadline, row->deadline_ms, row->id);
    if (w->taken)
        return;
    bool leased = row->lock_token.len > 0 && row->lock_until_ms > row->visible_ms;
    order_add(&m->work_later, &w->free, leased ? row->lock_until_ms : row->visible_ms, row->id);
}

void memory_delete_message(struct memory_message *msg)
{
    order_remove(&msg->by_id);
    order_remove(&msg->by_owner);
    order_remove(&msg->ready);
    free_message(msg);
}

void memory_delete_work(struct memory_work *w)
{
    order_remove(&w->by_id);
    order_remove(&w->by_owner);
    order_remove(&w->by_visible);
    order_remove(&w->by_deadline);
    order_remove(&w->free);
    free_work(w);
}

void memory_delete_event(struct memory_event *e)
{
    order_remove(&e->by_rid);
    copy_drop(&shape_event, &e->event);
    free(e);
}

void memory_delete_execution(struct memory_execution *x)
{
    for (size_t i = 0; i < x->events.count; i++)
        memory_delete_event(x->events.items[i]);
    vec_deinit(&x->events);
    copy_drop(&shape_row, &x->closed);
    free(x);
}

void memory_delete_instance(struct memory_instance *i)
{
    pawl_str *key;
    for (size_t cursor = 0; (key = map_next(&i->keys, &cursor));) {
        copy_set(key, (pawl_str){0});
        free(key);
    }
    map_deinit(&i->keys);
    for (size_t n = 0; n < i->executions.count; n++)
        memory_delete_execution(i->executions.items[n]);
    vec_deinit(&i->executions);
    copy_drop(&shape_row, &i->row);
    free(i);
}

void memory_quarantine(struct memory *m, struct memory_message *msg, pawl_str reason)
{
    struct buf text;
    buf_init(&text, REASON_BYTES_MAX);
    buf_puts(&text, "{\"reason\":");
    json_quote(&text, reason);
    buf_putc(&text, '}');
    order_remove(&msg->by_id);
    order_remove(&msg->by_owner);
    order_remove(&msg->ready);
    copy_set(&msg->message.attrs, buf_slice(&text));
    buf_deinit(&text);

    struct memory_message **slot = vec_push(&m->quarantine);
    need_memory(slot != NULL);
    *slot = msg;
}

bool memory_damage_message(pawl_store *s, uint64_t id)
{
    struct memory *m = memory_lock(s);
    struct memory_message *msg = memory_message(m, id);
    if (msg)
        msg->damaged = true;
    memory_unlock(m);
    return msg != NULL;
}

bool memory_damage_event(pawl_store *s, uint64_t rid)
{
    struct memory *m = memory_lock(s);
    struct memory_event *e = memory_event(m, rid);
    if (e)
        e->event.seq += 1000;
    memory_unlock(m);
    return e != NULL;
}

void memory_check(pawl_store *s)
{
    struct memory *m = memory_lock(s);
    order_check(&m->messages_ready);
    order_check(&m->work_ready);
    order_check(&m->work_later);
    assert_that(m->by_uid.count == m->by_name.count);
    memory_queue_check(&m->queues);
    memory_lanes_check(m);
    for (struct order_node *n = order_first(&m->messages_by_id); n; n = order_next(n)) {
        struct memory_message *msg = CONTAINER_OF(n, struct memory_message, by_id);
        assert_that((msg->ready.in != NULL) == (!msg->taken && !msg->message.mailbox));
    }
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n)) {
        struct memory_work *w = CONTAINER_OF(n, struct memory_work, by_id);
        assert_that((w->free.in != NULL) == !w->taken);
    }
    for (struct order_node *n = order_first(&m->by_uid); n; n = order_next(n)) {
        struct memory_instance *i = CONTAINER_OF(n, struct memory_instance, by_uid);
        assert_that(map_gets(&m->by_name, i->row.id) == i);
        struct memory_execution *x = memory_execution(i, i->row.execution);
        assert_that(x && x->events.count == i->row.last_seq);
    }
    memory_unlock(m);
}
