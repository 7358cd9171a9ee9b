/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/repair_events.c -- which rows the events of one execution require, and which of
 * them are missing. [engine]
 *
 * Each event is looked at by itself: do the rows that follow from it exist?  Events of rounds
 * that were applied to the end (below `whole_id`) require only their timers in memory.  The
 * missing rows go to the stage, and the store skips those it has.
 *
 * Called by repair.c.
 */
#include "runtime/peek/repair_events.h"
#include "runtime/peek/peek_mode.h"
#include "runtime/peek/redelivery.h"

#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/core/timers.h"
#include "runtime/instance/asked.h"
#include "runtime/instance/attribute_set.h"
#include "runtime/instance/end_by.h"
#include "runtime/instance/seal.h"
#include "runtime/work/jobs.h"
#include "store/store.h"
#include "tables/awaitables.h"

bool repair_was_read(struct repair *m, pawl_status rc, const pawl_error *err)
{
    if (rc == PAWL_CORRUPT && !m->damaged)
        m->error = *err;
    m->damaged = m->damaged || rc == PAWL_CORRUPT;
    m->trouble = m->trouble || (rc != PAWL_OK && rc != PAWL_CORRUPT);
    return rc == PAWL_OK;
}

static bool is_refused(const pawl_event *e)
{
    return e->attrs.len && pawl_json_get(e->attrs, "/refused").len;
}

static bool find_open(struct repair *m)
{
    bool ok = true;
    m->suspended = false;
    for (size_t i = 0; ok && i < m->events.count; i++) {
        const pawl_event *e = &m->events.items[i];
        if (awaitable_opens_row(e->kind) && !is_refused(e))
            ok = map_put(&m->open, e->ref, (void *)(uintptr_t)(i + 1));
        else if (awaitable_closes_row(e->kind))
            (void)map_remove(&m->open, e->ref);
        else if (e->kind == PAWL_EV_ORCHESTRATION_SUSPENDED)
            m->suspended = true;
        else if (e->kind == PAWL_EV_ORCHESTRATION_RESUMED)
            m->suspended = false;
    }
    return ok;
}

/* The step that recorded this event, with the fields that rows are derived from. */
static struct step step_of(pawl_runtime *rt, const pawl_event *e)
{
    struct step step = {.event = *e};
    struct call_policy *policy;
    if (e->kind == PAWL_EV_ACTIVITY_SCHEDULED && e->attrs.len) {
        policy = arena_new(&rt->group_mem, struct call_policy);
        *policy = policy_parse(e->attrs, &rt->group_mem);
        step.policy = policy;
    } else if (e->kind == PAWL_EV_TIMER_CREATED) {
        step.fire_at_ms = pawl_json_int(e->attrs, "/fire_at_ms", e->at_ms);
    } else {
        step.child = pawl_json_text(&rt->group_mem, e->attrs, "/instance", "");
        step.version = pawl_json_text(&rt->group_mem, e->attrs, "/version", "");
        step.inherit = pawl_json_bool(e->attrs, "/inherit", false);
        step.await_start = pawl_json_bool(e->attrs, "/await_start", false);
        step.deadline_ms = pawl_json_int(e->attrs, "/deadline_ms", 0);
        step.limit_ms = pawl_json_int(e->attrs, "/limit_ms", 0);
    }
    return step;
}

/* The event that scheduled task `ref`, or NULL. */
static const pawl_event *schedule_of(const struct repair *m, uint64_t ref)
{
    for (size_t i = 0; i < m->events.count; i++)
        if (m->events.items[i].ref == ref && awaitable_opens_row(m->events.items[i].kind))
            return &m->events.items[i];
    return NULL;
}

static bool has_work(struct repair *m, uint64_t id)
{
    pawl_work_list list = {0};
    pawl_error err;
    if (job_find(m->rt, id))
        return true;
    pawl_status rc = store_read_work(m->rt->store, &id, 1, &m->rt->group_mem, &list, &err);
    return repair_was_read(m, rc, &err) && list.count > 0;
}

/* Does the child exist?  An ended child of this instance is started again: the refusal tells the
 * parent how it ended (redelivery_child). */
static bool has_child(struct repair *m, pawl_str id, const pawl_event *e)
{
    pawl_row row;
    pawl_error err;
    pawl_status rc = store_find(m->rt->store, id, &m->rt->group_mem, &row, &err);
    if (rc == PAWL_CORRUPT) /* a damaged child exists */
        return true;
    if (rc != PAWL_NOT_FOUND)
        (void)repair_was_read(m, rc, &err);
    if (rc != PAWL_OK || e->kind == PAWL_EV_ORCHESTRATION_CHAINED)
        return rc == PAWL_OK;
    bool ours = row.parent_uid == m->s->row.uid && row.parent_execution == e->execution &&
                row.parent_ref == e->ref;
    return ours && !pawl_state_is_terminal(row.state);
}

/* A task that is still open has its row, a timer its place in the heap. */
static void repair_schedule(struct repair *m, const pawl_event *e)
{
    struct step step = step_of(m->rt, e);
    bool fresh = e->rid >= m->whole_id;
    if (is_refused(e) || (e->kind != PAWL_EV_ORCHESTRATION_CHAINED && !map_get(&m->open, e->ref)))
        return;
    if (e->kind == PAWL_EV_TIMER_CREATED && peek_lacks_delay(m->rt))
        timers_put(m->rt, PAWL_MSG_TIMER_FIRED, m->s->row.uid, e->execution, e->ref,
                   step.fire_at_ms);
    else if (!fresh || (e->kind == PAWL_EV_ACTIVITY_SCHEDULED && has_work(m, e->rid)))
        return;
    else if ((e->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED ||
              e->kind == PAWL_EV_ORCHESTRATION_CHAINED) &&
             has_child(m, step.child, e))
        return;
    else
        seal_derive(m->rt, m->s, &step);
}

/* A withdrawn or completed activity has no work row, a timer no message; a withdrawn
 * child is told. */
static void repair_closed(struct repair *m, const pawl_event *e)
{
    const pawl_event *schedule = schedule_of(m, e->ref);
    if (!schedule)
        return;
    if (schedule->kind == PAWL_EV_ACTIVITY_SCHEDULED) {
        *list_add(&m->rt->group_mem, &m->s->drop_work) = schedule->rid;
    } else if (schedule->kind == PAWL_EV_TIMER_CREATED) {
        *list_add(&m->rt->group_mem, &m->s->drop_messages) = schedule->rid;
    } else if (e->kind == PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED) {
        struct step step = step_of(m->rt, schedule);
        step.event = *e;
        seal_derive(m->rt, m->s, &step);
    }
}

/* The last round ended the instance: set state and output, tell the parent, drop what waits. */
static void repair_end(struct repair *m, const pawl_event *e)
{
    pawl_message_list list = {0};
    pawl_error err;
    seal_derive(m->rt, m->s, &(struct step){.event = *e});
    if (e->execution != m->s->row.execution) /* it runs again: the waiting rows are of that run */
        return;
    pawl_status rc = store_read_messages(m->rt->store, m->s->row.uid, (pawl_str){0},
                                         &m->rt->group_mem, &list, &err);
    for (size_t i = 0; repair_was_read(m, rc, &err) && i < list.count; i++)
        *list_add(&m->rt->group_mem, &m->s->drop_messages) = list.items[i].id;
}

/* The execution was closed and its successor is missing: a WAKE opens it. */
static void repair_continue(struct repair *m, const pawl_event *e)
{
    if (e->execution != m->s->row.execution)
        return;
    struct letter *l = letter_create(&(struct mail){.kind = PAWL_MSG_WAKE}, m->s->row.uid,
                                     (pawl_str){0}, (pawl_str){0});
    need_memory(l);
    letter_todo(m->rt, l);
}

/* The instance runs again: its row says how the run before ended. */
static void repair_rerun(struct repair *m, const pawl_event *e)
{
    pawl_row *row = &m->s->row;
    if (e->execution != row->execution || !pawl_json_bool(e->attrs, "/rerun", false))
        return;
    row->orchestration = e->name;
    row->state = PAWL_RUNNING;
    row->output = row->custom_status = row->finding = (pawl_str){0};
    m->s->change = PAWL_ROW_ALL;
}

static void repair_started(struct repair *m, const pawl_event *e)
{
    repair_rerun(m, e);
    attributes_repair(m->rt, m->s, e);
    if (!pawl_state_is_terminal(m->s->row.state))
        deadline_again(m->rt, m->s, pawl_json_int(e->attrs, "/deadline_ms", 0));
    pawl_str version = pawl_json_text(&m->rt->group_mem, e->attrs, "/version", "");
    if (e->execution != m->s->row.execution || pawl_str_eq(version, m->s->row.version))
        return;
    m->s->row.version = version;
    m->s->change = PAWL_ROW_ALL;
}

/* Did a wait take mail with it: an event or an update? */
static bool is_mail(const pawl_event *e)
{
    return e->kind == PAWL_EV_EXTERNAL_EVENT || e->kind == PAWL_EV_UPDATE_ACCEPTED;
}

/* The event that the wait `ref` took before `end`, or NULL. */
static const pawl_event *taken_by(const struct repair *m, uint64_t ref, const pawl_event *end)
{
    for (const pawl_event *e = m->events.items; e < end; e++)
        if (is_mail(e) && e->ref == ref)
            return e;
    return NULL;
}

/* Was it taken again, or is its mailbox gone because the instance ended? */
static bool is_gone_again(const struct repair *m, uint64_t message, const pawl_event *since)
{
    const pawl_event *end = m->events.items + m->events.count;
    for (const pawl_event *e = since; e < end; e++)
        if (is_mail(e) && redelivery_message_of(e) == message)
            return true;
    return pawl_state_is_terminal(m->s->row.state) ||
           end[-1].kind == PAWL_EV_ORCHESTRATION_COMPLETED ||
           end[-1].kind == PAWL_EV_ORCHESTRATION_FAILED ||
           end[-1].kind == PAWL_EV_ORCHESTRATION_CANCELLED ||
           end[-1].kind == PAWL_EV_ORCHESTRATION_TERMINATED;
}

/* Is it in the mailbox, under its own id or as the copy made by an adoption? */
static bool has_mail(struct repair *m, const pawl_event *took)
{
    pawl_message_list list = {0};
    pawl_error err;
    pawl_status rc = store_read_messages(m->rt->store, m->s->row.uid, (pawl_str){0},
                                         &m->rt->group_mem, &list, &err);
    for (size_t i = 0; repair_was_read(m, rc, &err) && i < list.count; i++)
        if (list.items[i].id == redelivery_message_of(took) ||
            (uint64_t)pawl_json_int(list.items[i].attrs, "/was", 0) == redelivery_was_of(took))
            return true;
    return false;
}

/* {"update":"ID"}, as it came. */
static pawl_str update_mail_attrs(pawl_runtime *rt, const pawl_event *took)
{
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    pawl_json_key(w, "update");
    pawl_json_str(w, pawl_json_text(&rt->group_mem, took->attrs, "/update", ""));
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* A withdrawn wait had taken an event that the code never got: put it back into the mailbox. */
static void repair_returned(struct repair *m, const pawl_event *e)
{
    const pawl_event *took = taken_by(m, e->ref, e);
    uint64_t message = took ? redelivery_message_of(took) : 0;
    if (!message || is_gone_again(m, message, e))
        return;
    stage_forget_drop(m->s, message);
    if (has_mail(m, took))
        return;
    bool update = took->kind == PAWL_EV_UPDATE_ACCEPTED;
    pawl_message *mail =
        stage_send(m->rt, m->s, update ? PAWL_MSG_UPDATE : PAWL_MSG_EXTERNAL_RAISED, m->s->row.uid,
                   (pawl_str){0});
    mail->id = message;
    if (update)
        mail->attrs = update_mail_attrs(m->rt, took);
    else if (redelivery_was_of(took) != message)
        mail->attrs = stage_was_attrs(m->rt, redelivery_was_of(took));
    mail->name = took->name;
    mail->data = took->data;
    mail->mailbox = true;
}

/* The rows that only an event of a round that may be half done requires. */
static void repair_fresh(struct repair *m, const pawl_event *e)
{
    if (awaitable_closes_row(e->kind)) {
        repair_closed(m, e);
        return;
    }
    switch (e->kind) {
    case PAWL_EV_ORCHESTRATION_STARTED:
        repair_started(m, e);
        break;
    case PAWL_EV_EXTERNAL_SUBSCRIBED:
        if (!is_refused(e))
            asks_repair(m->rt, m->s, e);
        break;
    case PAWL_EV_EXTERNAL_EVENT:
    case PAWL_EV_UPDATE_ACCEPTED:
        asks_repair(m->rt, m->s, e);
        if (redelivery_message_of(e)) {
            *list_add(&m->rt->group_mem, &m->s->drop_messages) = redelivery_message_of(e);
            *list_add(&m->rt->group_mem, &m->s->drop_messages) = redelivery_was_of(e);
        }
        break;
    case PAWL_EV_EXTERNAL_CANCELLED:
    case PAWL_EV_UPDATE_WAIT_CANCELLED:
        asks_repair(m->rt, m->s, e);
        repair_returned(m, e);
        break;
    case PAWL_EV_CUSTOM_STATUS_UPDATED:
    case PAWL_EV_STATE_CHANGED:
    case PAWL_EV_ATTRIBUTES_SET:
        seal_derive(m->rt, m->s, &(struct step){.event = *e});
        break;
    case PAWL_EV_ORCHESTRATION_COMPLETED:
    case PAWL_EV_ORCHESTRATION_FAILED:
    case PAWL_EV_ORCHESTRATION_CANCELLED:
    case PAWL_EV_ORCHESTRATION_TERMINATED:
        repair_end(m, e);
        break;
    case PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW:
        repair_continue(m, e);
        break;
    default:
        break;
    }
}

/* Nothing is delivered before the repair, so the message is still there, or it was never inserted.
 * The store skips a message that is there (K2). */
static void repair_sent(struct repair *m, const pawl_event *e)
{
    struct step step = step_of(m->rt, e);
    seal_derive(m->rt, m->s, &step);
}

static void repair_event(struct repair *m, const pawl_event *e)
{
    if (awaitable_opens_row(e->kind) || e->kind == PAWL_EV_ORCHESTRATION_CHAINED)
        repair_schedule(m, e);
    else if (e->kind == PAWL_EV_EVENT_SENT && e->rid >= m->whole_id && !is_refused(e))
        repair_sent(m, e);
    else if (e->rid >= m->whole_id)
        repair_fresh(m, e);
    else if (e->kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW) /* its WAKE was only in memory */
        repair_continue(m, e);
}

bool repair_execution(struct repair *m, uint64_t number)
{
    pawl_error err;
    pawl_status rc = store_read_history(m->rt->store, m->s->row.uid, number, 0, 0,
                                        &m->rt->group_mem, &m->events, &err);
    if (!repair_was_read(m, rc, &err))
        return false;
    map_init(&m->open);
    bool ok = find_open(m);
    for (size_t i = 0; ok && i < m->events.count; i++)
        repair_event(m, &m->events.items[i]);
    map_deinit(&m->open);
    return ok && !m->trouble && !m->damaged;
}
