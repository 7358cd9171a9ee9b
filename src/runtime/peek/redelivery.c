/* SPDX-License-Identifier: MIT */
/* runtime/peek/redelivery.c -- see redelivery.h. */
#include "runtime/peek/redelivery.h"

#include "runtime/core/stage.h"
#include "runtime/peek/peek_mode.h"
#include "store/store.h"

uint64_t redelivery_message_of(const pawl_event *e)
{
    return (uint64_t)pawl_json_int(e->attrs, "/message", 0);
}

uint64_t redelivery_was_of(const pawl_event *e)
{
    return (uint64_t)pawl_json_int(e->attrs, "/was", (int64_t)redelivery_message_of(e));
}

void redelivery_adopted(pawl_runtime *rt, struct stage *s, pawl_message *mail, uint64_t was)
{
    if (!peek_lacks_rounds(rt))
        return;
    mail->attrs = stage_was_attrs(rt, was);
    *list_add(&rt->group_mem, &s->adoptions) = (struct adoption){mail->id, was};
}

/* Note that a raise was taken, or returned by the wait that took it.  `by_ref`: what each wait
 * took. */
static void note_taken(struct resident *r, struct map *by_ref, const pawl_event *e)
{
    const pawl_event *took;
    if (e->kind == PAWL_EV_EXTERNAL_EVENT || e->kind == PAWL_EV_UPDATE_ACCEPTED) {
        need_memory(map_put(&r->taken, redelivery_message_of(e), r) &&
                    map_put(&r->taken, redelivery_was_of(e), r) &&
                    map_put(by_ref, e->ref, (void *)(uintptr_t)e));
    } else if ((e->kind == PAWL_EV_EXTERNAL_CANCELLED ||
                e->kind == PAWL_EV_UPDATE_WAIT_CANCELLED) &&
               (took = map_get(by_ref, e->ref))) {
        (void)map_remove(&r->taken, redelivery_message_of(took));
        (void)map_remove(&r->taken, redelivery_was_of(took));
    }
}

/* Raises taken by the present execution and the one before it. */
static pawl_status load_taken(pawl_runtime *rt, struct resident *r)
{
    uint64_t from = r->row.execution > 1 ? r->row.execution - 1 : 1;
    map_deinit(&r->taken); /* an earlier try may have read some */
    map_init(&r->taken);
    for (uint64_t n = from; n <= r->row.execution; n++) {
        pawl_event_list list;
        pawl_error err;
        pawl_status rc =
            store_read_history(rt->store, r->row.uid, n, 0, 0, &rt->group_mem, &list, &err);
        if (rc != PAWL_OK)
            return rc;
        struct map by_ref;
        map_init(&by_ref);
        for (size_t i = 0; i < list.count; i++)
            note_taken(r, &by_ref, &list.items[i]);
        map_deinit(&by_ref);
    }
    return PAWL_OK;
}

/* OK when this raise, sent by name, was adopted although its row was not dropped, EMPTY when not.
 * The copy has its id or its key. */
static pawl_status find_copy(pawl_runtime *rt, const struct resident *r, const struct letter *l)
{
    pawl_message_list list = {0};
    pawl_error err;
    if (l->uid || !l->stored)
        return PAWL_EMPTY;
    pawl_status rc =
        store_read_messages(rt->store, r->row.uid, (pawl_str){0}, &rt->group_mem, &list, &err);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++)
        if ((uint64_t)pawl_json_int(list.items[i].attrs, "/was", 0) == l->mail.id ||
            (list.items[i].kind == l->mail.kind && l->mail.attrs.len &&
             pawl_str_eq(list.items[i].attrs, l->mail.attrs)))
            return PAWL_OK;
    return rc == PAWL_OK || rc == PAWL_CORRUPT ? PAWL_EMPTY : rc;
}

pawl_status redelivery_find_taken(pawl_runtime *rt, struct resident *r, const struct letter *l)
{
    if (!l->mail.id || !peek_lacks_rounds(rt))
        return PAWL_EMPTY;
    pawl_status rc = r->taken_known ? PAWL_OK : load_taken(rt, r);
    r->taken_known = rc == PAWL_OK;
    if (rc != PAWL_OK && rc != PAWL_CORRUPT)
        return rc;
    return map_get(&r->taken, l->mail.id) ? PAWL_OK : find_copy(rt, r, l);
}

void redelivery_child(pawl_runtime *rt, struct stage *s, const pawl_row *row)
{
    if (!peek_lacks_rounds(rt) || !pawl_state_is_terminal(row->state))
        return;
    bool ok = row->state == PAWL_COMPLETED;
    pawl_message *m = stage_send(rt, s, ok ? PAWL_MSG_CHILD_COMPLETED : PAWL_MSG_CHILD_FAILED,
                                 row->parent_uid, (pawl_str){0});
    pawl_row full;
    pawl_error err;
    m->execution = row->parent_execution;
    m->ref = row->parent_ref;
    if (store_find_uid(rt->store, row->uid, &rt->group_mem, &full, &err) == PAWL_OK)
        m->data = full.output;
    if (row->state == PAWL_CANCELLED)
        m->attrs = pawl_s("{\"kind\":\"cancelled\"}");
}
