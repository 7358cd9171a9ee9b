/* SPDX-License-Identifier: MIT */
/* runtime/mend.c -- see mend.h.  What a round meant, read off its events. */
#include "runtime/mend.h"
#include "store/store.h"

#include "runtime/hold.h"
#include "runtime/letter.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "runtime/turn.h"

void mend_later(pawl_runtime *rt, uint64_t uid)
{
    if (uid)
        need_memory(map_put(&rt->mend, uid, (void *)(uintptr_t)uid));
}

pawl_status mend_all_later(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_row_query query = {.limit = 1000};
    pawl_row_list list;
    do {
        arena_reset(&rt->load_mem);
        pawl_status rc = store_list(rt->store, &query, &rt->load_mem, &list, reterr);
        if (rc != PAWL_OK)
            return rc;
        for (size_t i = 0; i < list.count; i++)
            mend_later(rt, list.items[i].uid);
        query.before_uid = list.next_uid;
    } while (list.next_uid);
    return PAWL_OK;
}

void mend_failed(pawl_runtime *rt, const struct stage *s)
{
    if (s->r)
        mend_later(rt, s->row.uid);
    for (size_t i = 0; i < s->messages.count; i++)
        store_abandon_messages(rt->store, &s->messages.items[i].id, 1);
    for (size_t i = 0; i < s->work.count; i++)
        store_abandon_work(rt->store, &s->work.items[i].id, 1);
    rt->fetch_messages = rt->fetch_messages || s->messages.count;
    rt->store_backlog = rt->store_backlog || s->work.count;
}

/* ---- One execution ------------------------------------------------------------- */

struct mending {
    pawl_runtime *rt;
    struct stage *s;
    uint64_t whole_id; /* rounds of events below it were applied to the end */
    pawl_event_list events;
    struct map open; /* ref -> its schedule event: not completed, not withdrawn */
    bool suspended;
    bool trouble;     /* the store did not answer */
    bool damaged;     /* what is stored of this instance cannot be read … */
    pawl_error error; /* … and why */
};

/* What was read is there; else it is noted why not. */
static bool was_read(struct mending *m, pawl_status rc, const pawl_error *err)
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

static bool is_schedule(int kind)
{
    return kind == PAWL_EV_ACTIVITY_SCHEDULED || kind == PAWL_EV_TIMER_CREATED ||
           kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED;
}

static bool closes(int kind)
{
    return kind == PAWL_EV_ACTIVITY_COMPLETED || kind == PAWL_EV_ACTIVITY_FAILED ||
           kind == PAWL_EV_ACTIVITY_CANCEL_REQUESTED || kind == PAWL_EV_TIMER_FIRED ||
           kind == PAWL_EV_TIMER_CANCELLED || kind == PAWL_EV_SUB_ORCHESTRATION_COMPLETED ||
           kind == PAWL_EV_SUB_ORCHESTRATION_FAILED ||
           kind == PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED;
}

static bool find_open(struct mending *m)
{
    bool ok = true;
    m->suspended = false;
    for (size_t i = 0; ok && i < m->events.count; i++) {
        const pawl_event *e = &m->events.items[i];
        if (is_schedule(e->kind) && !is_refused(e))
            ok = map_put(&m->open, e->ref, (void *)(uintptr_t)(i + 1));
        else if (closes(e->kind))
            (void)map_remove(&m->open, e->ref);
        else if (e->kind == PAWL_EV_ORCHESTRATION_SUSPENDED)
            m->suspended = true;
        else if (e->kind == PAWL_EV_ORCHESTRATION_RESUMED)
            m->suspended = false;
    }
    return ok;
}

/* The step that recorded this event, as far as rows follow from it. */
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
    }
    return step;
}

/* The event that scheduled task `ref`, or NULL. */
static const pawl_event *schedule_of(const struct mending *m, uint64_t ref)
{
    for (size_t i = 0; i < m->events.count; i++)
        if (m->events.items[i].ref == ref && is_schedule(m->events.items[i].kind))
            return &m->events.items[i];
    return NULL;
}

static bool has_work(struct mending *m, uint64_t id)
{
    pawl_work_list list = {0};
    pawl_error err;
    if (map_get(&m->rt->jobs, id))
        return true;
    pawl_status rc = store_read_work(m->rt->store, &id, 1, &m->rt->group_mem, &list, &err);
    return was_read(m, rc, &err) && list.count > 0;
}

/* Is the child there?  One of ours that has ended is started again, and refused with the
 * news (mend_child). */
static bool has_child(struct mending *m, pawl_str id, const pawl_event *e)
{
    pawl_row row;
    pawl_error err;
    pawl_status rc = store_find(m->rt->store, id, &m->rt->group_mem, &row, &err);
    if (rc == PAWL_CORRUPT) /* a damaged child is there: its own matter */
        return true;
    if (rc != PAWL_NOT_FOUND)
        (void)was_read(m, rc, &err);
    if (rc != PAWL_OK || e->kind == PAWL_EV_ORCHESTRATION_CHAINED)
        return rc == PAWL_OK;
    bool ours = row.parent_uid == m->s->row.uid && row.parent_execution == e->execution &&
                row.parent_ref == e->ref;
    return ours && !pawl_state_is_terminal(row.state);
}

/* A schedule that is still open has its row; a timer is held. */
static void mend_schedule(struct mending *m, const pawl_event *e)
{
    struct step step = step_of(m->rt, e);
    bool fresh = e->rid >= m->whole_id;
    if (is_refused(e) || (e->kind != PAWL_EV_ORCHESTRATION_CHAINED && !map_get(&m->open, e->ref)))
        return;
    if (e->kind == PAWL_EV_TIMER_CREATED && hold_needed(m->rt))
        hold_timer(m->rt, PAWL_MSG_TIMER_FIRED, m->s->row.uid, e->execution, e->ref,
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
static void mend_closed(struct mending *m, const pawl_event *e)
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

/* Its last round ended it: state, output and the parent follow; whatever waits is late. */
static void mend_end(struct mending *m, const pawl_event *e)
{
    pawl_message_list list = {0};
    pawl_error err;
    seal_derive(m->rt, m->s, &(struct step){.event = *e});
    pawl_status rc = store_read_messages(m->rt->store, m->s->row.uid, (pawl_str){0},
                                         &m->rt->group_mem, &list, &err);
    for (size_t i = 0; was_read(m, rc, &err) && i < list.count; i++)
        *list_add(&m->rt->group_mem, &m->s->drop_messages) = list.items[i].id;
}

/* The execution was closed and its successor is not there: a WAKE opens it. */
static void mend_continue(struct mending *m, const pawl_event *e)
{
    if (e->execution != m->s->row.execution)
        return;
    struct letter *l = letter_create(&(struct mail){.kind = PAWL_MSG_WAKE}, m->s->row.uid,
                                     (pawl_str){0}, (pawl_str){0});
    need_memory(l);
    letter_todo(m->rt, l);
}

static void mend_grace(struct mending *m, const pawl_event *e)
{
    pawl_runtime *rt = m->rt;
    int64_t due_ms = e->at_ms + rt->opts.cancel_grace_ms;
    if (e->execution != m->s->row.execution || pawl_state_is_terminal(m->s->row.state))
        return;
    if (hold_needed(rt)) {
        hold_timer(rt, PAWL_MSG_CANCEL_DEADLINE, m->s->row.uid, e->execution, 0, due_ms);
    } else if (e->rid >= m->whole_id) {
        pawl_message *d =
            stage_send(rt, m->s, PAWL_MSG_CANCEL_DEADLINE, m->s->row.uid, (pawl_str){0});
        d->execution = e->execution;
        d->visible_ms = due_ms;
    }
}

static void mend_started(struct mending *m, const pawl_event *e)
{
    pawl_str version = pawl_json_text(&m->rt->group_mem, e->attrs, "/version", "");
    if (e->execution != m->s->row.execution || pawl_str_eq(version, m->s->row.version))
        return;
    m->s->row.version = version;
    m->s->change = PAWL_ROW_ALL;
}

/* What only an event of a round that may be half done asks for. */
static void mend_fresh(struct mending *m, const pawl_event *e)
{
    uint64_t message;
    if (closes(e->kind)) {
        mend_closed(m, e);
        return;
    }
    switch (e->kind) {
    case PAWL_EV_ORCHESTRATION_STARTED:
        mend_started(m, e);
        break;
    case PAWL_EV_EXTERNAL_EVENT:
        message = (uint64_t)pawl_json_int(e->attrs, "/message", 0);
        if (message)
            *list_add(&m->rt->group_mem, &m->s->drop_messages) = message;
        break;
    case PAWL_EV_CUSTOM_STATUS_UPDATED:
        seal_derive(m->rt, m->s, &(struct step){.event = *e});
        break;
    case PAWL_EV_ORCHESTRATION_COMPLETED:
    case PAWL_EV_ORCHESTRATION_FAILED:
    case PAWL_EV_ORCHESTRATION_CANCELLED:
    case PAWL_EV_ORCHESTRATION_TERMINATED:
        mend_end(m, e);
        break;
    case PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW:
        mend_continue(m, e);
        break;
    default:
        break;
    }
}

static void mend_event(struct mending *m, const pawl_event *e)
{
    if (is_schedule(e->kind) || e->kind == PAWL_EV_ORCHESTRATION_CHAINED)
        mend_schedule(m, e);
    else if (e->kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED)
        mend_grace(m, e);
    else if (e->rid >= m->whole_id)
        mend_fresh(m, e);
}

/* False: trouble, to be tried again, or damage. */
static bool mend_execution(struct mending *m, uint64_t number)
{
    pawl_error err;
    pawl_status rc = store_read_history(m->rt->store, m->s->row.uid, number, 0, 0,
                                        &m->rt->group_mem, &m->events, &err);
    if (!was_read(m, rc, &err))
        return false;
    map_init(&m->open);
    bool ok = find_open(m);
    for (size_t i = 0; ok && i < m->events.count; i++)
        mend_event(m, &m->events.items[i]);
    map_deinit(&m->open);
    return ok && !m->trouble && !m->damaged;
}

/* ---- One instance ---------------------------------------------------------------- */

/* The state follows from the events, unless somebody parked it. */
static void mend_state(struct mending *m)
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

pawl_str mend_was_attrs(pawl_runtime *rt, uint64_t message_id)
{
    return mend_needed(rt)
               ? pawl_mem_printf(&rt->group_mem, "{\"was\":%llu}", (unsigned long long)message_id)
               : (pawl_str){0};
}

/* True when the kept row `id` is with the instance already, as mail or as an event. */
static bool is_adopted(struct mending *m, const pawl_message_list *own, uint64_t id)
{
    for (size_t i = 0; i < own->count; i++)
        if ((uint64_t)pawl_json_int(own->items[i].attrs, "/was", 0) == id)
            return true;
    for (size_t i = 0; i < m->events.count; i++)
        if (m->events.items[i].kind == PAWL_EV_EXTERNAL_EVENT &&
            (uint64_t)pawl_json_int(m->events.items[i].attrs, "/message", 0) == id)
            return true;
    return false;
}

/* A start took over the mail kept for its name: go on with that. */
static void mend_adoption(struct mending *m)
{
    pawl_runtime *rt = m->rt;
    pawl_message_list kept = {0}, own = {0};
    pawl_error err;
    pawl_status rc = store_read_messages(rt->store, 0, m->s->row.id, &rt->group_mem, &kept, &err);
    if (rc == PAWL_CORRUPT) /* damaged mail stays where it is, as in a start */
        return;
    bool read = was_read(m, rc, &err) &&
                was_read(m,
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
            mail->attrs = mend_was_attrs(rt, old->id);
            mail->mailbox = true;
        }
        pawl_str key = pawl_json_text(&rt->group_mem, old->attrs, "/key", "");
        if (key.len)
            *list_add(&rt->group_mem, &m->s->keys) = key;
        *list_add(&rt->group_mem, &m->s->drop_messages) = old->id;
        m->s->adopted = true;
    }
}

/* Accepted, and its start never became durable: nobody was told that it exists. */
static void mend_unborn(struct mending *m)
{
    pawl_message_list list = {0};
    pawl_error err;
    pawl_status rc = store_read_messages(m->rt->store, m->s->row.uid, (pawl_str){0},
                                         &m->rt->group_mem, &list, &err);
    if (!was_read(m, rc, &err))
        return;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == PAWL_MSG_START)
            return;
    m->s->change = PAWL_ROW_REMOVE;
    m->s->removed = true;
    m->rt->purge_left = true;
}

static bool is_empty(const struct stage *s)
{
    return s->change == PAWL_ROW_NONE && !s->messages.count && !s->work.count &&
           !s->drop_messages.count && !s->drop_work.count && !s->keys.count && !s->timers.count;
}

/* What is stored of it cannot be read: it waits for somebody, and nobody waits for it. */
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

/* False: trouble, to be tried again. */
static bool mend_one(pawl_runtime *rt, uint64_t uid)
{
    struct resident *r = NULL;
    enum load_result found = load_row(rt, uid, (pawl_str){0}, &r);
    if (found != LOAD_OK) /* a damaged row stays as it is: trying again would hold up everybody */
        return found != LOAD_TROUBLE;
    if (r->row.state == PAWL_RUNNING || r->row.state == PAWL_PENDING)
        turn_unpile(rt, uid); /* perhaps a resume or retry was done, and nobody knows */
    bool fresh = r->row.last_rid >= rt->fence.whole_id || uid >= rt->fence.whole_id;
    if (!fresh && (pawl_state_is_terminal(r->row.state) || !hold_needed(rt)))
        return true;
    struct mending m = {.rt = rt, .s = stage_of(rt, r), .whole_id = rt->fence.whole_id};
    bool closed = r->row.execution > 1 && r->row.first_rid >= m.whole_id;
    bool ok = (!closed || mend_execution(&m, r->row.execution - 1)) &&
              mend_execution(&m, r->row.execution);
    if (ok && fresh)
        mend_state(&m);
    if (ok && uid >= m.whole_id && !pawl_state_is_terminal(m.s->row.state))
        mend_adoption(&m);
    if (ok && uid >= m.whole_id && !r->row.last_seq)
        mend_unborn(&m);
    ok = ok && !m.trouble && !m.damaged;
    if (!ok || is_empty(m.s))
        assert_that(!stage_abort(rt, m.s)); /* it has no letters */
    if (m.damaged && !m.trouble) {
        block(rt, r, &m.error);
        return true;
    }
    return ok;
}

bool mend_look(pawl_runtime *rt)
{
    size_t cursor = 0, n = 0, count = rt->mend.count;
    if (!count)
        return false;
    uint64_t *uids = arena_array(&rt->group_mem, uint64_t, count);
    for (void *uid; (uid = map_next(&rt->mend, &cursor));)
        uids[n++] = (uintptr_t)uid;
    for (size_t i = 0; i < n && rt->stage_count < rt->opts.group_limit; i++) {
        if (!mend_one(rt, uids[i])) {
            rt->retry_at_ms = rt_mono(rt) + 100;
            break;
        }
        map_remove(&rt->mend, uids[i]);
    }
    return true;
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
        if (store_read_history(rt->store, r->row.uid, n, 0, 0, &rt->group_mem, &list, &err) !=
            PAWL_OK)
            return false;
        for (size_t i = 0; i < list.count; i++) {
            const pawl_event *e = &list.items[i];
            if (e->kind == PAWL_EV_EXTERNAL_EVENT)
                need_memory(
                    map_put(&r->taken, (uint64_t)pawl_json_int(e->attrs, "/message", 0), r));
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
    if (store_find_uid(rt->store, row->uid, &rt->group_mem, &full, &err) == PAWL_OK)
        m->data = full.output;
}
