/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/seal.c -- number a stage's events and derive the rows they mean.
 * [engine]
 *
 * Invariants: the work row of an ActivityScheduled and the timer message of a
 * TimerCreated have the event's rid as id, so withdrawing them needs no look-up; so do the
 * messages of EventSent and QueuePushed, so a repair that inserts them again makes no second one;
 * what is scheduled and withdrawn in one stage leaves no row at all.
 */
#include "runtime/instance/seal.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/rand.h"
#include "runtime/core/letter.h"
#include "runtime/core/peek.h"
#include "runtime/core/registry.h"
#include "runtime/core/stage.h"
#include "runtime/core/tray.h"
#include "runtime/instance/asked.h"
#include "runtime/instance/attribute_set.h"
#include "runtime/instance/published.h"
#include "runtime/instance/sent.h"
#include "runtime/remote/exchange.h"
#include "runtime/schedule/schedule_mail.h"
#include "runtime/work/crew.h"
#include "runtime/work/details.h"
#include "runtime/work/handout.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "tables/awaitables.h"

static uint64_t ref_key(const pawl_event *e)
{
    return (e->execution << 40) ^ e->ref;
}

/* Mark both steps of every pair scheduled and withdrawn here. */
static void find_withdrawn(struct stage *s, bool *gone)
{
    size_t cancels = 0;
    for (size_t i = 0; i < s->turn.count; i++)
        cancels +=
            awaitable_withdraws_row(s->turn.steps[i].event.kind) && !s->turn.steps[i].target_rid;
    if (!cancels)
        return;
    struct map seen;
    map_init(&seen);
    for (size_t i = 0; i < s->turn.count; i++) {
        const pawl_event *e = &s->turn.steps[i].event;
        if (awaitable_opens_row(e->kind)) {
            need_memory(map_put(&seen, ref_key(e), (void *)(uintptr_t)(i + 1)));
        } else if (awaitable_withdraws_row(e->kind) && !s->turn.steps[i].target_rid) {
            uintptr_t at = (uintptr_t)map_get(&seen, ref_key(e));
            if (at)
                gone[at - 1] = gone[i] = true;
        }
    }
    map_deinit(&seen);
}

/* A moment, and how long that is; left out when there is none. */
static void put_deadline(pawl_json *w, int64_t deadline_ms, int64_t limit_ms)
{
    if (deadline_ms) {
        pawl_json_key(w, "deadline_ms");
        pawl_json_num(w, deadline_ms);
    }
    if (limit_ms) {
        pawl_json_key(w, "limit_ms");
        pawl_json_num(w, limit_ms);
    }
}

pawl_str start_attrs(pawl_runtime *rt, pawl_str version, const pawl_row *row, int64_t deadline_ms,
                     struct scheduled scheduled, bool rerun)
{
    /* Different for every execution, and cannot be guessed without the key. */
    uint64_t what[2] = {row->uid, rt->staging.seed_count++};
    pawl_json *w = pawl_json_new(&rt->group_mem);
    char hex[17];
    hex_write_u64(hex, siphash24(rt->staging.seed_key, what, sizeof(what)));
    pawl_json_object(w);
    pawl_json_key(w, "version");
    pawl_json_str(w, version);
    pawl_json_key(w, "seed");
    pawl_json_cstr(w, hex);
    if (row->parent_uid) {
        pawl_json_key(w, "parent");
        pawl_json_str(w, row->parent_id);
        pawl_json_key(w, "parent_uid");
        pawl_json_num(w, (int64_t)row->parent_uid);
        pawl_json_key(w, "parent_execution");
        pawl_json_num(w, (int64_t)row->parent_execution);
        pawl_json_key(w, "parent_ref");
        pawl_json_num(w, (int64_t)row->parent_ref);
    }
    put_deadline(w, deadline_ms, 0);
    if (UNLIKELY(row->attributes.len)) {
        pawl_json_key(w, "attributes");
        pawl_json_raw(w, row->attributes);
    }
    if (UNLIKELY(scheduled.at_ms)) {
        pawl_json_key(w, "schedule");
        pawl_json_str(w, scheduled.schedule);
        pawl_json_key(w, "scheduled_at");
        pawl_json_num(w, scheduled.at_ms);
    }
    if (rerun) {
        pawl_json_key(w, "rerun");
        pawl_json_truth(w, true);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* attrs of a START message: wanted version, and the parent when it is a child. */
static pawl_str child_attrs(pawl_runtime *rt, const struct stage *s, const struct step *step,
                            bool child)
{
    if (!child && !step->version.len && !step->deadline_ms && !step->inherit)
        return (pawl_str){0};
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    if (step->version.len) {
        pawl_json_key(w, "version");
        pawl_json_str(w, step->version);
    }
    if (child) {
        pawl_json_key(w, "parent");
        pawl_json_str(w, s->row.id);
        pawl_json_key(w, "parent_uid");
        pawl_json_num(w, (int64_t)s->row.uid);
        pawl_json_key(w, "parent_execution");
        pawl_json_num(w, (int64_t)step->event.execution);
        pawl_json_key(w, "parent_ref");
        pawl_json_num(w, (int64_t)step->event.ref);
    }
    put_deadline(w, step->deadline_ms, step->limit_ms);
    if (step->inherit && s->row.attributes.len) {
        pawl_json_key(w, "attributes");
        pawl_json_raw(w, s->row.attributes);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

static void derive_work(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    const pawl_event *e = &step->event;
    pawl_work *w = list_add(&rt->group_mem, &s->work);
    *w = (pawl_work){.id = e->rid,
                     .uid = s->row.uid,
                     .shard = s->row.shard,
                     .execution = e->execution,
                     .ref = e->ref,
                     .instance = s->row.id,
                     .name = e->name,
                     .input = e->data,
                     .attrs = e->attrs,
                     .scheduled_ms = e->at_ms};
    if (s->now_ms < w->scheduled_ms) /* the clock was set back, and events never go back */
        w->scheduled_ms = s->now_ms;
    if (step->policy) {
        w->deadline_ms = job_deadline(step->policy, w->scheduled_ms, false);
        if (tray_counts(rt))
            w->name = rt->hands.handout ? tray_of_call(&rt->group_mem, e->name, step->policy)
                                        : tray_of(&rt->group_mem, e->name, step->policy->tag);
    }
    if (UNLIKELY(step->lease)) {
        lease_inline(rt, w, exchange_lease_ms(s->exchange));
        return;
    }
    bool by_turn = handout_has(rt, w);
    if (by_turn ? handout_admit(rt, w) : job_admit(rt, w))
        w->lock_epoch = rt->fence.epoch;
    if ((by_turn || !w->lock_epoch) && !registry_activity(rt->app, e->name))
        crew_look_at(rt, e->name);
}

static void derive_start(pawl_runtime *rt, struct stage *s, const struct step *step, bool child)
{
    pawl_message *m = stage_send(rt, s, PAWL_MSG_START, 0, step->child);
    m->shard = child ? s->row.shard : rt_shard_of(rt, step->child); /* a tree lies in one shard */
    m->execution = step->event.execution; /* with ref: the key of a repeated insert */
    m->ref = step->event.ref;
    m->name = step->event.name;
    m->data = step->event.data;
    m->attrs = child_attrs(rt, s, step, child);
}

static void derive_child_cancel(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    pawl_message *m = stage_send(rt, s, PAWL_MSG_CANCEL, 0, step->child);
    m->shard = s->row.shard;
    m->execution = step->event.execution;
    m->ref = step->event.ref;
    m->data = pawl_s("parent cancelled it");
    m->attrs = child_attrs(rt, s, step, true);
}

/* Tell the parent how its child ended. */
static void derive_parent(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    if (!s->row.parent_uid)
        return;
    bool ok = e->kind == PAWL_EV_ORCHESTRATION_COMPLETED;
    pawl_message *m = stage_send(rt, s, ok ? PAWL_MSG_CHILD_COMPLETED : PAWL_MSG_CHILD_FAILED,
                                 s->row.parent_uid, (pawl_str){0});
    m->shard = s->row.shard;
    m->execution = s->row.parent_execution;
    m->ref = s->row.parent_ref;
    m->data = e->data;
    if (e->kind == PAWL_EV_ORCHESTRATION_CANCELLED)
        m->data = pawl_mem_printf(&rt->group_mem, "cancelled: %.*s", PAWL_FMT(e->data));
    else if (e->kind == PAWL_EV_ORCHESTRATION_TERMINATED)
        m->data = pawl_mem_printf(&rt->group_mem, "terminated: %.*s", PAWL_FMT(e->data));
    if (!ok && e->kind != PAWL_EV_ORCHESTRATION_FAILED)
        m->attrs = pawl_s("{\"kind\":\"cancelled\"}");
}

static void derive_end(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    static const struct {
        int kind;
        pawl_state state;
    } ends[] = {
        {PAWL_EV_ORCHESTRATION_COMPLETED,  PAWL_COMPLETED},
        {PAWL_EV_ORCHESTRATION_FAILED,     PAWL_FAILED   },
        {PAWL_EV_ORCHESTRATION_CANCELLED,  PAWL_CANCELLED},
        {PAWL_EV_ORCHESTRATION_TERMINATED, PAWL_CANCELLED},
    };
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (ends[i].kind != e->kind)
            continue;
        derive_parent(rt, s, e);
        if (e->execution != s->row.execution) /* another one was begun */
            return;
        s->row.state = ends[i].state;
        s->row.output = e->data;
        if (e->kind == PAWL_EV_ORCHESTRATION_TERMINATED)
            s->row.output = pawl_mem_printf(&rt->group_mem, "terminated: %.*s", PAWL_FMT(e->data));
        s->row.finding = (pawl_str){0};
        s->ended = true;
        s->change = s->change == PAWL_ROW_INSERT ? s->change : PAWL_ROW_ALL;
        schedule_run_ended(rt, s, s->row.id, pawl_state_name(ends[i].state));
    }
}

static void derive_timer(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    if (peek_timer(rt, s, step))
        return;
    pawl_message *m = list_add(&rt->group_mem, &s->messages);
    *m = (pawl_message){.id = step->event.rid,
                        .uid = s->row.uid,
                        .kind = PAWL_MSG_TIMER_FIRED,
                        .shard = s->row.shard,
                        .execution = step->event.execution,
                        .ref = step->event.ref,
                        .visible_ms = step->fire_at_ms > 0 ? step->fire_at_ms : 1,
                        .created_ms = s->now_ms};
}

/* The push travels as a message: the queue takes it in the next group, once. */
static void derive_push(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    pawl_message *m = list_add(&rt->group_mem, &s->messages);
    *m = (pawl_message){.id = e->rid,
                        .instance = pawl_s(QUEUE_MAIL),
                        .kind = PAWL_MSG_QUEUE_PUSH,
                        .shard = rt_shard_of_queue(rt, e->name),
                        .name = e->name,
                        .data = e->data,
                        .attrs = e->attrs,
                        .created_ms = s->now_ms};
}

/* Rows follow from decisions and ends.  What only happened to the instance makes none. */
#define NO_ROW(name, number, text, klass) NO_ROW_##klass(name)
#define NO_ROW_START(name)                case PAWL_EV_##name:
#define NO_ROW_MESSAGE(name)              case PAWL_EV_##name:
#define NO_ROW_MARK(name)                 case PAWL_EV_##name:
#define NO_ROW_DECISION(name)
#define NO_ROW_END(name)

/* The rows one step means; `gone`: scheduled and withdrawn in this stage. */
static void derive(pawl_runtime *rt, struct stage *s, const struct step *step, bool gone)
{
    const pawl_event *e = &step->event;
    if (step->refused && e->kind == PAWL_EV_CUSTOM_STATUS_UPDATED) /* no result tells the code */
        log_warn(&rt->log, "turn", "custom status refused; the one before stands",
                 "instance=%.*s attrs=\"%.*s\"", PAWL_FMT(s->row.id), PAWL_FMT(e->attrs));
    if (gone || step->refused)
        return;
    if (UNLIKELY(step->asks))
        asks_close_one(rt, s, e);
    switch ((pawl_event_kind)e->kind) {
    case PAWL_EV_ACTIVITY_SCHEDULED:
        derive_work(rt, s, step);
        break;
    case PAWL_EV_ACTIVITY_CANCEL_REQUESTED:
        *list_add(&rt->group_mem, &s->drop_work) = step->target_rid;
        break;
    case PAWL_EV_TIMER_CREATED:
        derive_timer(rt, s, step);
        break;
    case PAWL_EV_TIMER_CANCELLED:
        *list_add(&rt->group_mem, &s->drop_messages) = step->target_rid;
        break;
    case PAWL_EV_SUB_ORCHESTRATION_SCHEDULED:
        derive_start(rt, s, step, true);
        break;
    case PAWL_EV_SUB_ORCHESTRATION_CANCEL_REQUESTED:
        derive_child_cancel(rt, s, step);
        break;
    case PAWL_EV_ORCHESTRATION_CHAINED:
        derive_start(rt, s, step, false);
        break;
    case PAWL_EV_CUSTOM_STATUS_UPDATED:
        s->row.custom_status = e->data;
        s->change = s->change == PAWL_ROW_INSERT ? s->change : PAWL_ROW_ALL;
        break;
    case PAWL_EV_ORCHESTRATION_COMPLETED:
    case PAWL_EV_ORCHESTRATION_FAILED:
    case PAWL_EV_ORCHESTRATION_CANCELLED:
    case PAWL_EV_ORCHESTRATION_TERMINATED:
        derive_end(rt, s, e);
        break;
    case PAWL_EV_EXTERNAL_SUBSCRIBED:
        asks_open_one(rt, s, e);
        break;
    case PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW:
    case PAWL_EV_EXTERNAL_CANCELLED:
    case PAWL_EV_UPDATE_WAITED:
    case PAWL_EV_UPDATE_WAIT_CANCELLED:
        PAWL_EVENT_KINDS(NO_ROW)
        break;
    case PAWL_EV_UPDATE_ANSWERED:
        s->answers = true;
        break;
    case PAWL_EV_EVENT_SENT:
        sent_derive(rt, s, step);
        break;
    case PAWL_EV_QUEUE_PUSHED:
        derive_push(rt, s, e);
        break;
    case PAWL_EV_STATE_CHANGED:
        published_derive(rt, s, e);
        break;
    case PAWL_EV_ATTRIBUTES_SET:
        attributes_derive(rt, s, e);
        break;
    }
}

void seal_derive(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    derive(rt, s, step, false);
}

/* The message an ExternalEvent took, and the row that it was adopted from if that is needed. */
static pawl_str message_attrs(pawl_runtime *rt, const struct stage *s, uint64_t id)
{
    unsigned long long number = id;
    for (size_t i = 0; i < s->adoptions.count; i++)
        if (s->adoptions.items[i].id == id)
            return pawl_mem_printf(&rt->group_mem, "{\"message\":%llu,\"was\":%llu}", number,
                                   (unsigned long long)s->adoptions.items[i].was);
    return pawl_mem_printf(&rt->group_mem, "{\"message\":%llu}", number);
}

/* Number the steps and put them into s->events. */
static void number_events(pawl_runtime *rt, struct stage *s)
{
    if (!s->turn.count)
        return;
    for (size_t i = 0; i < s->turn.count; i++) {
        pawl_event *e = &s->turn.steps[i].event;
        e->rid = rt_new_id(rt);
        if (e->kind == PAWL_EV_EXTERNAL_EVENT)
            e->attrs = message_attrs(rt, s, s->turn.steps[i].message);
        if (e->kind == PAWL_EV_UPDATE_ACCEPTED) /* {"update":"ID"} and where it was */
            e->attrs =
                pawl_mem_printf(&rt->group_mem, "{\"message\":%llu,%s",
                                (unsigned long long)s->turn.steps[i].message, e->attrs.ptr + 1);
        if (e->kind == PAWL_EV_ORCHESTRATION_STARTED)
            s->row.first_rid = e->rid;
        *list_add(&rt->group_mem, &s->events) = *e;
    }
    const pawl_event *last = &s->events.items[s->events.count - 1];
    assert_that(s->row.execution == last->execution);
    s->row.last_seq = last->seq;
    s->row.last_rid = last->rid;
    s->row.updated_ms = s->now_ms;
    if (s->change == PAWL_ROW_NONE)
        s->change = PAWL_ROW_LAST;
}

static const pawl_round_extra *extra_of(pawl_runtime *rt, struct stage *s)
{
    size_t entries;
    if (UNLIKELY(details_any(rt)))
        details_leave(rt, s);
    bool head = s->change == PAWL_ROW_NONE || s->change == PAWL_ROW_LAST; /* attributes stay */
    if (head && !s->objects.count)
        return NULL;
    const pawl_attribute_entry *changed = attributes_entries(rt, s, &entries);
    if (!s->objects.count && !entries)
        return NULL;
    published_settle(rt, s);
    pawl_round_extra *extra = arena_new(&rt->group_mem, pawl_round_extra);
    *extra = (pawl_round_extra){.size = sizeof(*extra),
                                .objects = s->objects.items,
                                .object_count = s->objects.count,
                                .entries = changed,
                                .entry_count = entries};
    return extra;
}

static void fill_round(pawl_runtime *rt, struct stage *s, pawl_round *r)
{
    *r = (pawl_round){
        .uid = s->r ? s->row.uid : 0,
        .execution = s->base_execution,
        .base_seq = s->base_seq,
        .base_rid = s->base_rid,
        .change = s->change,
        .row = &s->row,
        .events = s->events.items,
        .event_count = s->events.count,
        .drop_messages = s->drop_messages.items,
        .drop_message_count = s->drop_messages.count,
        .messages = s->messages.items,
        .message_count = s->messages.count,
        .message_updates = s->message_updates.items,
        .message_update_count = s->message_updates.count,
        .quarantine = s->quarantine.items,
        .quarantine_count = s->quarantine.count,
        .need_work = s->need_work.items,
        .need_work_count = s->need_work.count,
        .drop_work = s->drop_work.items,
        .drop_work_count = s->drop_work.count,
        .work = s->work.items,
        .work_count = s->work.count,
        .work_updates = s->work_updates.items,
        .work_update_count = s->work_updates.count,
        .keys = s->keys.items,
        .key_count = s->keys.count,
        .queue = s->queue,
        .extra = extra_of(rt, s),
    };
}

static bool is_as_it_ended(const struct stage *s)
{
    return pawl_state_is_terminal(s->row.state) && !s->events.count;
}

void stage_seal(pawl_runtime *rt, struct stage *s, pawl_round *ret)
{
    if (s->r) {
        bool *gone = arena_array(&rt->group_mem, bool, s->turn.count + 1);
        number_events(rt, s);
        find_withdrawn(s, gone);
        for (size_t i = 0; i < s->turn.count; i++)
            derive(rt, s, &s->turn.steps[i], gone[i]);
        if (s->change == PAWL_ROW_INSERT || (s->change == PAWL_ROW_ALL && !is_as_it_ended(s)))
            s->row.updated_ms = s->now_ms;
    }
    fill_round(rt, s, ret);
}
