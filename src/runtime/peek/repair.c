/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/repair.c -- see repair.h.  Repairs instances one at a time. [engine]
 *
 * repair_events.c repairs what the events of an execution ask for; this file what needs the
 * row and the mail: state, adoption, an instance whose start was lost, damage.
 *
 * Called by recover.c, loop.c and group.c.
 */
#include "runtime/peek/repair.h"

#include "runtime/core/due.h"
#include "runtime/core/stage.h"
#include "runtime/core/timers.h"
#include "runtime/instance/load.h"
#include "runtime/instance/park.h"
#include "runtime/peek/peek_mode.h"
#include "runtime/peek/redelivery.h"
#include "runtime/peek/repair_events.h"
#include "runtime/work/jobs.h"
#include "store/store.h"

void repair_later(pawl_runtime *rt, uint64_t uid)
{
    if (!uid)
        return;
    need_memory(idset_add(&rt->peek.repair, uid));
    rt->fence.mending = true; /* until the last of them is repaired */
}

pawl_status repair_all_later(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_row_query query = {.limit = 1000};
    pawl_row_list list;
    do {
        arena_reset(&rt->load_mem);
        pawl_status rc = store_list(rt->store, &query, &rt->load_mem, &list, reterr);
        if (rc != PAWL_OK)
            return rc;
        for (size_t i = 0; i < list.count; i++)
            repair_later(rt, list.items[i].uid);
        query.before_uid = list.next_uid;
    } while (list.next_uid);
    return PAWL_OK;
}

void repair_failed(pawl_runtime *rt, const struct stage *s)
{
    if (s->r)
        repair_later(rt, s->row.uid);
    for (size_t i = 0; i < s->messages.count; i++)
        store_abandon_messages(rt->store, &s->messages.items[i].id, 1);
    for (size_t i = 0; i < s->work.count; i++)
        store_abandon_work(rt->store, &s->work.items[i].id, 1);
    if (s->messages.count)
        due_fetch(rt);
    if (s->work.count)
        jobs_lie(rt);
}

/* ---- One instance ---------------------------------------------------------------- */

/* The state follows from the events, unless the instance is parked. */
static void repair_state(struct repair *m)
{
    struct stage *s = m->s;
    if (pawl_state_is_terminal(s->row.state) || s->row.state == PAWL_BLOCKED || !s->row.last_seq)
        return;
    pawl_state state = m->suspended ? PAWL_SUSPENDED : PAWL_RUNNING;
    if (s->row.state == state)
        return;
    s->row.state = state;
    s->row.finding = (pawl_str){0};
    s->unpile = state == PAWL_RUNNING;
    s->change = PAWL_ROW_ALL;
}

/* Does the instance have the kept row `id` already, as mail or as an event? */
static bool is_adopted(struct repair *m, const pawl_message_list *own, uint64_t id)
{
    for (size_t i = 0; i < own->count; i++)
        if ((uint64_t)pawl_json_int(own->items[i].attrs, "/was", 0) == id)
            return true;
    for (size_t i = 0; i < m->events.count; i++)
        if (m->events.items[i].kind == PAWL_EV_EXTERNAL_EVENT &&
            redelivery_was_of(&m->events.items[i]) == id)
            return true;
    return false;
}

/* A start adopted the mail kept for its name: finish the adoption. */
static void repair_adoption(struct repair *m)
{
    pawl_runtime *rt = m->rt;
    pawl_message_list kept = {0}, own = {0};
    pawl_error err;
    pawl_status rc = store_read_messages(rt->store, 0, m->s->row.id, &rt->group_mem, &kept, &err);
    if (rc == PAWL_CORRUPT) /* damaged mail stays in the store, as in a start */
        return;
    bool read = repair_was_read(m, rc, &err) &&
                repair_was_read(m,
                                store_read_messages(rt->store, m->s->row.uid, (pawl_str){0},
                                                    &rt->group_mem, &own, &err),
                                &err);
    for (size_t i = 0; read && i < kept.count; i++) {
        const pawl_message *old = &kept.items[i];
        if (old->kind != PAWL_MSG_EXTERNAL_RAISED || !old->mailbox)
            continue;
        if (!is_adopted(m, &own, old->id)) {
            pawl_message *mail = stage_send(rt, m->s, old->kind, m->s->row.uid, (pawl_str){0});
            mail->name = old->name;
            mail->data = old->data;
            mail->attrs = stage_was_attrs(rt, old->id);
            mail->mailbox = true;
        }
        pawl_str key = pawl_json_text(&rt->group_mem, old->attrs, "/key", "");
        if (key.len)
            *list_add(&rt->group_mem, &m->s->keys) = key;
        *list_add(&rt->group_mem, &m->s->drop_messages) = old->id;
        m->s->adopted = true;
    }
}

/* A row without a durable start: the caller was not told that it was accepted.  True: it goes, and
 * mail kept for its name stays for the next start. */
static bool repair_unborn(struct repair *m)
{
    pawl_message_list list = {0};
    pawl_error err;
    pawl_status rc = store_read_messages(m->rt->store, m->s->row.uid, (pawl_str){0},
                                         &m->rt->group_mem, &list, &err);
    if (!repair_was_read(m, rc, &err))
        return true; /* not now */
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == PAWL_MSG_START)
            return false;
    m->s->change = PAWL_ROW_REMOVE;
    m->s->removed = true;
    due_purge(m->rt);
    return true;
}

static bool is_empty(const struct stage *s)
{
    return s->change == PAWL_ROW_NONE && !s->messages.count && !s->work.count &&
           !s->drop_messages.count && !s->drop_work.count && !s->keys.count && !s->timers.count &&
           !s->objects.count;
}

/* Its stored rows are unreadable.  Block it for an operator; do not hold up the others. */
static void block(pawl_runtime *rt, struct resident *r, const pawl_error *err)
{
    if (pawl_state_is_terminal(r->row.state) || r->row.state == PAWL_BLOCKED)
        return;
    struct stage *s = stage_of(rt, r);
    s->row.state = PAWL_BLOCKED;
    s->row.finding = pawl_mem_printf(&rt->group_mem, "stored rows are damaged: %.300s", err->text);
    s->change = PAWL_ROW_ALL;
    r->doomed = true;
    log_error(&rt->log, "mend", "instance is blocked: it is damaged", "instance=%.*s why=\"%s\"",
              PAWL_FMT(r->row.id), err->text);
}

/* False: a read failed; try again. */
static bool repair_one(pawl_runtime *rt, uint64_t uid)
{
    struct resident *r = NULL;
    enum load_result found = load_row(rt, uid, (pawl_str){0}, &r);
    if (found != LOAD_OK) /* skip a damaged row: trying again would hold up all others */
        return found != LOAD_TROUBLE;
    if (r->row.state == PAWL_RUNNING || r->row.state == PAWL_PENDING)
        turn_unpile(rt, uid); /* a resume or retry may have happened without a record */
    bool fresh = r->row.last_rid >= rt->fence.whole_id || uid >= rt->fence.whole_id;
    if (!fresh && (pawl_state_is_terminal(r->row.state) || !peek_lacks_delay(rt)))
        return true;
    struct repair m = {.rt = rt, .s = stage_of(rt, r), .whole_id = rt->fence.whole_id};
    bool closed = r->row.execution > 1 && r->row.first_rid >= m.whole_id;
    bool ok = (!closed || repair_execution(&m, r->row.execution - 1)) &&
              repair_execution(&m, r->row.execution);
    if (ok && fresh)
        repair_state(&m);
    bool unborn = ok && uid >= m.whole_id && !r->row.last_seq && repair_unborn(&m);
    if (ok && !unborn && uid >= m.whole_id && !pawl_state_is_terminal(m.s->row.state))
        repair_adoption(&m);
    ok = ok && !m.trouble && !m.damaged;
    if (!ok || is_empty(m.s))
        assert_that(!stage_abort(rt, m.s)); /* it has no letters */
    if (m.damaged && !m.trouble) {
        block(rt, r, &m.error);
        return true;
    }
    return ok;
}

bool repair_look(pawl_runtime *rt, bool *retunread)
{
    size_t n = rt->peek.repair.count;
    if (!n)
        return false;
    uint64_t *uids = arena_array(&rt->group_mem, uint64_t, n);
    idset_list(&rt->peek.repair, uids);
    for (size_t i = 0; i < n && stage_count(rt) < rt->opts.group_limit; i++) {
        if (!repair_one(rt, uids[i])) {
            *retunread = true;
            break;
        }
        idset_remove(&rt->peek.repair, uids[i]);
    }
    rt->fence.mending = rt->peek.repair.count != 0; /* the rest is in this commit */
    return true;
}

void repair_open(pawl_runtime *rt)
{
    idset_init(&rt->peek.repair);
}

void repair_close(pawl_runtime *rt)
{
    idset_deinit(&rt->peek.repair);
}
