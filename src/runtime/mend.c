/* SPDX-License-Identifier: MIT */
/* runtime/mend.c -- see mend.h. */
#include "runtime/mend.h"

#include "runtime/hold.h"
#include "runtime/letter.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "runtime/turn.h"

void mend_later(pawl_runtime *rt, uint64_t uid)
{
    if (uid)
        (void)map_put(&rt->mend, uid, (void *)(uintptr_t)uid);
}

pawl_status mend_all_later(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_row_query query = {.limit = 1000};
    pawl_row_list list;
    do {
        arena_reset(&rt->load_mem);
        pawl_status rc = rt->store->ops->list(rt->store, &query, &rt->load_mem, &list, reterr);
        if (rc != PAWL_OK)
            return rc;
        for (size_t i = 0; i < list.count; i++)
            mend_later(rt, list.items[i].uid);
        query.before_uid = list.next_uid;
    } while (list.next_uid);
    return PAWL_OK;
}

/* ---- One instance ------------------------------------------------------------- */

struct mending {
    pawl_runtime *rt;
    struct stage *s;
    pawl_event_list events;
    struct map open; /* ref -> 1: scheduled, not completed, not withdrawn */
};

static bool is_refused(const pawl_event *e)
{
    return e->attrs.len && pawl_json_get(e->attrs, "/refused").len;
}

/* The step that recorded this event, as far as rows follow from it. */
static struct step step_of(pawl_runtime *rt, const pawl_event *e)
{
    struct step step = {.event = *e};
    struct call_policy *policy;
    switch (e->kind) {
    case PAWL_EV_ACTIVITY_SCHEDULED:
        if (e->attrs.len) {
            policy = arena_new(&rt->group_mem, struct call_policy);
            *policy = policy_parse(e->attrs, &rt->group_mem);
            step.policy = policy;
        }
        break;
    case PAWL_EV_TIMER_CREATED:
        step.fire_at_ms = pawl_json_int(e->attrs, "/fire_at_ms", e->at_ms);
        break;
    case PAWL_EV_SUB_ORCHESTRATION_SCHEDULED:
    case PAWL_EV_ORCHESTRATION_CHAINED:
        step.child = pawl_json_text(&rt->group_mem, e->attrs, "/instance", "");
        step.version = pawl_json_text(&rt->group_mem, e->attrs, "/version", "");
        break;
    default:
        break;
    }
    return step;
}

/* The rid of the event that scheduled task `ref`. */
static const pawl_event *schedule_of(const struct mending *m, uint64_t ref)
{
    for (size_t i = 0; i < m->events.count; i++) {
        int kind = m->events.items[i].kind;
        if (m->events.items[i].ref == ref &&
            (kind == PAWL_EV_ACTIVITY_SCHEDULED || kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED))
            return &m->events.items[i];
    }
    return NULL;
}

/* A withdrawn or completed activity has no work row; a withdrawn child is told. */
static void mend_closed(struct mending *m, const pawl_event *e)
{
    const pawl_event *schedule = schedule_of(m, e->ref);
    if (!schedule)
        return;
    if (schedule->kind == PAWL_EV_ACTIVITY_SCHEDULED) {
        *list_add(&m->rt->group_mem, &m->s->drop_work) = schedule->rid;
    } else if (e->kind == PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED) {
        struct step step = step_of(m->rt, schedule);
        step.event = *e;
        seal_derive(m->rt, m->s, &step);
    }
}

static void mend_event(struct mending *m, const pawl_event *e)
{
    switch ((pawl_event_kind)e->kind) {
    case PAWL_EV_ACTIVITY_SCHEDULED:
    case PAWL_EV_TIMER_CREATED:
    case PAWL_EV_SUB_ORCHESTRATION_SCHEDULED:
    case PAWL_EV_ORCHESTRATION_CHAINED: {
        bool wanted = e->kind == PAWL_EV_ORCHESTRATION_CHAINED || map_get(&m->open, e->ref);
        struct step step = step_of(m->rt, e);
        if (wanted && !is_refused(e))
            seal_derive(m->rt, m->s, &step);
        break;
    }
    case PAWL_EV_ACTIVITY_COMPLETED:
    case PAWL_EV_ACTIVITY_FAILED:
    case PAWL_EV_ACTIVITY_CANCEL_REQUESTED:
    case PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED:
        mend_closed(m, e);
        break;
    case PAWL_EV_ORCHESTRATION_COMPLETED:
    case PAWL_EV_ORCHESTRATION_FAILED:
    case PAWL_EV_ORCHESTRATION_CANCELLED:
    case PAWL_EV_ORCHESTRATION_TERMINATED:
        seal_derive(m->rt, m->s, &(struct step){.event = *e});
        break;
    case PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW: {
        struct letter *l = letter_create(&(struct mail){.kind = PAWL_MSG_WAKE}, m->s->row.uid,
                                         (pawl_str){0}, (pawl_str){0});
        if (l)
            letter_todo(m->rt, l);
        break;
    }
    case PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED:
        if (!pawl_state_is_terminal(m->s->row.state) && hold_needed(m->rt))
            (void)stage_timer(m->rt, m->s, PAWL_MSG_CANCEL_DEADLINE, 0,
                              e->at_ms + m->rt->opts.cancel_grace_ms);
        break;
    case PAWL_EV_ORCHESTRATION_STARTED:
    case PAWL_EV_ORCHESTRATION_SUSPENDED:
    case PAWL_EV_ORCHESTRATION_RESUMED:
    case PAWL_EV_TIMER_FIRED:
    case PAWL_EV_TIMER_CANCELLED:
    case PAWL_EV_EXTERNAL_SUBSCRIBED:
    case PAWL_EV_EXTERNAL_EVENT:
    case PAWL_EV_EXTERNAL_CANCELLED:
    case PAWL_EV_SUB_ORCHESTRATION_COMPLETED:
    case PAWL_EV_SUB_ORCHESTRATION_FAILED:
    case PAWL_EV_CUSTOM_STATUS_UPDATED:
    case PAWL_EV_PATCH_RECORDED:
    case PAWL_EV_QUEUE_PUSHED:
        break;
    }
}

/* Which tasks are open, by the tables of the history. */
static bool find_open(struct mending *m)
{
    struct execution_spec spec = load_spec(m->rt, &m->s->row, NULL, NULL);
    execution *x = execution_create(&spec);
    struct engine_finding finding;
    bool ok =
        x && execution_replay(x, m->events.items, m->events.count, &finding) != ENGINE_NO_MEMORY;
    struct open_task task;
    for (uint64_t cursor = 0; ok && execution_next_open(x, &cursor, &task);)
        ok = map_put(&m->open, task.id, m);
    execution_destroy(x);
    return ok;
}

/* False: trouble, to be tried again. */
static bool mend_one(pawl_runtime *rt, uint64_t uid)
{
    struct resident *r = NULL;
    enum load_result found = load_row(rt, uid, (pawl_str){0}, &r);
    if (found != LOAD_OK)
        return found != LOAD_TROUBLE;
    struct mending m = {.rt = rt, .s = stage_of(rt, r)};
    pawl_error err;
    pawl_status rc = rt->store->ops->read_history(rt->store, uid, r->row.execution, 0, 0,
                                                  &rt->group_mem, &m.events, &err);
    if (rc != PAWL_OK)
        return rc == PAWL_CORRUPT; /* found out, and shown, when a letter comes */
    map_init(&m.open);
    bool ok = find_open(&m);
    for (size_t i = 0; ok && i < m.events.count; i++)
        mend_event(&m, &m.events.items[i]);
    map_deinit(&m.open);
    return ok;
}

void mend_look(pawl_runtime *rt)
{
    size_t cursor = 0, n = 0;
    if (!rt->mend.count)
        return;
    uint64_t *uids = arena_array(&rt->group_mem, uint64_t, rt->mend.count);
    for (void *uid; (uid = map_next(&rt->mend, &cursor));)
        uids[n++] = (uintptr_t)uid;
    for (size_t i = 0; i < n && rt->stage_count < rt->opts.group_limit; i++) {
        if (!mend_one(rt, uids[i])) {
            rt->hold = true;
            rt->retry_at_ms = rt_mono(rt) + 100;
            return;
        }
        map_remove(&rt->mend, uids[i]);
    }
    rt->hold = rt->hold || rt->mend.count > 0; /* mend all before anything is delivered */
}

/* ---- Redelivery ------------------------------------------------------------------ */

/* Raises taken by the present execution and the one before it. */
static bool load_taken(pawl_runtime *rt, struct resident *r)
{
    uint64_t from = r->row.execution > 1 ? r->row.execution - 1 : 1;
    map_init(&r->taken);
    for (uint64_t n = from; n <= r->row.execution; n++) {
        pawl_event_list list;
        pawl_error err;
        if (rt->store->ops->read_history(rt->store, r->row.uid, n, 0, 0, &rt->group_mem, &list,
                                         &err) != PAWL_OK)
            return false;
        for (size_t i = 0; i < list.count; i++) {
            const pawl_event *e = &list.items[i];
            if (e->kind == PAWL_EV_EXTERNAL_EVENT)
                (void)map_put(&r->taken, (uint64_t)pawl_json_int(e->attrs, "/message", 0), r);
        }
    }
    return true;
}

bool mend_was_taken(pawl_runtime *rt, struct resident *r, uint64_t message_id)
{
    if (!message_id || !mend_needed(rt))
        return false;
    if (!r->taken_known)
        r->taken_known = load_taken(rt, r);
    return map_get(&r->taken, message_id) != NULL;
}

void mend_child(pawl_runtime *rt, struct stage *s, const pawl_row *row)
{
    if (!mend_needed(rt) || !pawl_state_is_terminal(row->state))
        return;
    bool ok = row->state == PAWL_COMPLETED;
    pawl_message *m = stage_send(rt, s, ok ? PAWL_MSG_CHILD_COMPLETED : PAWL_MSG_CHILD_FAILED,
                                 row->parent_uid, (pawl_str){0});
    pawl_row full;
    pawl_error err;
    m->execution = row->parent_execution;
    m->ref = row->parent_ref;
    if (rt->store->ops->find_uid(rt->store, row->uid, &rt->group_mem, &full, &err) == PAWL_OK)
        m->data = full.output;
}
