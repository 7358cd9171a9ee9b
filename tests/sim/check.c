/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/check.c -- the store as it is against the store as it was.
 *
 * After every commit all instance rows are read; what is new in a history is
 * walked event by event and kept as the table of its tasks.  The numbers are
 * those of docs/internals/sim.md (I1 … I20).
 */
#include "sim.h"

#include "engine/engine_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- What was seen ------------------------------------------------------------------------- */

struct seen *seen_by_uid(struct sim *s, uint64_t uid)
{
    for (size_t i = 0; uid && i < s->seen_count; i++)
        if (s->seen[i]->uid == uid)
            return s->seen[i];
    return NULL;
}

struct seen *seen_by_id(struct sim *s, pawl_str id)
{
    for (size_t i = s->seen_count; i-- > 0;)
        if (!s->seen[i]->removed && pawl_str_is(id, s->seen[i]->id))
            return s->seen[i];
    return NULL;
}

struct seen_task *seen_task(struct seen *i, uint64_t ref)
{
    return ref && ref <= i->task_count ? &i->tasks[ref - 1] : NULL;
}

static char *copy(pawl_str text)
{
    char *c = malloc(text.len + 1);
    assert_that(c);
    if (text.len)
        memcpy(c, text.ptr, text.len);
    c[text.len] = 0;
    return c;
}

static void drop_tasks(struct seen *i)
{
    for (size_t k = 0; k < i->task_count; k++) {
        free(i->tasks[k].name);
        free(i->tasks[k].input);
        free(i->tasks[k].child);
    }
    i->task_count = 0;
}

void seen_free(struct sim *s)
{
    for (size_t i = 0; i < s->seen_count; i++) {
        struct seen *at = s->seen[i];
        drop_tasks(at);
        free(at->tasks);
        free(at->executions);
        free(at->id);
        free(at->output);
        free(at->first_input);
        free(at);
    }
    free(s->seen);
    map_deinit(&s->rids);
    map_deinit(&s->messages);
}

/* ---- One event ------------------------------------------------------------------------------- */

static bool begins(pawl_str text, const char *prefix)
{
    size_t n = strlen(prefix);
    return text.len >= n && memcmp(text.ptr, prefix, n) == 0;
}

static void scheduled(struct sim *s, struct seen *i, const pawl_event *e)
{
    CHECKED(s, I3);
    if (e->ref != i->task_count + 1)
        sim_fail(s, "I3", "%s: %s has id %llu, the next is %zu", i->id,
                 pawl_event_kind_name(e->kind), (unsigned long long)e->ref, i->task_count + 1);
    struct seen_task *t = sim_grow(&i->tasks, &i->task_count, &i->task_cap, sizeof(*t));
    *t = (struct seen_task){.kind = e->kind,
                            .rid = e->rid,
                            .name = copy(e->name),
                            .input = copy(e->data),
                            .abandon = pawl_json_bool(e->attrs, "/abandon", false),
                            .fire_at_ms = pawl_json_int(e->attrs, "/fire_at_ms", 0)};
    if (e->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED)
        t->child = copy(pawl_json_text(s->mem, e->attrs, "/instance", ""));
    if (e->kind == PAWL_EV_ORCHESTRATION_CHAINED) {
        t->now = TASK_IS_DONE;
        ledger_chained(s, e);
    }
    if (e->kind == PAWL_EV_EVENT_SENT) {
        t->now = TASK_IS_DONE;
        ledger_sent(s, e);
    }
    if (begins(e->name, "pawl.queue."))
        queues_scheduled(s, e);
}

static void activity_result(struct sim *s, struct seen *i, struct seen_task *t, const pawl_event *e)
{
    CHECKED(s, result);
    if (begins(pawl_s(t->name), "pawl.queue.")) {
        queues_result(s, i, t, e);
        return;
    }
    if (strcmp(t->name, "Remote") == 0)
        workers_result(s, i, e);
    if (e->kind == PAWL_EV_ACTIVITY_COMPLETED) {
        char expected[40];
        interp_result(pawl_s(i->id), i->execution, e->ref, pawl_s(t->input), expected);
        if (strcmp(t->name, "Remote") == 0 && begins(e->data, expected))
            return;
        if (!pawl_str_is(e->data, expected) || !t->returned_ok)
            sim_fail(s, "result", "%s: activity %llu completed with '%.*s', %s '%s'", i->id,
                     (unsigned long long)e->ref, PAWL_FMT(e->data),
                     t->returned_ok ? "it returned" : "it never returned", expected);
    } else if (!begins(e->data, "err ") && !begins(e->data, "timeout: ") &&
               !begins(e->data, "poison: ")) {
        sim_fail(s, "I17", "%s: activity %llu failed with '%.*s', which no activity returned",
                 i->id, (unsigned long long)e->ref, PAWL_FMT(e->data));
    }
}

static void child_result(struct sim *s, struct seen *i, const pawl_event *e)
{
    CHECKED(s, I11);
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct seen *c = s->seen[k];
        if (c->parent_uid != i->uid || c->parent_execution != i->execution ||
            c->parent_ref != e->ref)
            continue;
        if (c->reran) /* this is of an earlier run, which is not kept here */
            return;
        if (e->kind == PAWL_EV_SUB_ORCHESTRATION_COMPLETED &&
            (c->state != PAWL_COMPLETED || !c->output || !pawl_str_is(e->data, c->output)))
            sim_fail(s, "I11", "%s: child %s completed with '%.*s', but it is %s '%s'", i->id,
                     c->id, PAWL_FMT(e->data), pawl_state_name(c->state),
                     c->output ? c->output : "");
        if (e->kind == PAWL_EV_SUB_ORCHESTRATION_FAILED && c->state == PAWL_COMPLETED &&
            !begins(e->data, "the child was removed"))
            sim_fail(s, "I11", "%s: child %s failed with '%.*s', but it is completed", i->id, c->id,
                     PAWL_FMT(e->data));
        return;
    }
    if (e->kind == PAWL_EV_SUB_ORCHESTRATION_COMPLETED)
        sim_fail(s, "I11", "%s: a child that never was completed task %llu", i->id,
                 (unsigned long long)e->ref);
}

/* One of its raises was taken: once, in the order raised. */
static void event_taken(struct sim *s, struct seen *i, const pawl_event *e)
{
    int n;
    CHECKED(s, I18);
    CHECKED(s, I12);
    CHECKED(s, order);
    if (!driver_is_token(s, e->data, &n))
        sim_fail(s, "I18", "%s: an event '%.*s' nobody raised", i->id, PAWL_FMT(e->data));
    struct token *t = &s->tokens[n];
    if (t->consumed_by && t->consumed_by != i->uid) { /* a key is good for one incarnation */
        const struct seen *before = seen_by_uid(s, t->consumed_by);
        if (!before->removed)
            sim_fail(s, "I12", "raise %d was taken by two instances", n);
    } else if (t->consumed_by)
        sim_fail(s, "I12", "%s: raise %d was taken twice", i->id, n);
    if (!pawl_str_is(e->name, t->name) || strcmp(i->id, t->instance) != 0)
        sim_fail(s, "I18", "%s: raise %d was for %s '%s'", i->id, n, t->instance, t->name);
    t->consumed_by = i->uid;
    seen_task(i, e->ref)->token = n;
    for (int k = 0; k < (int)s->token_count; k++) {
        const struct token *other = &s->tokens[k];
        if (other->first_ack && other->uid == i->uid && !other->consumed_by && !other->excused &&
            other->acked < t->submitted && strcmp(other->name, t->name) == 0 && t->name[0] != 'Z' &&
            !s->plan.drop_early)
            sim_fail(s, "order", "%s: raise %d was taken before raise %d, acknowledged earlier",
                     i->id, n, k);
    }
}

static void completed(struct sim *s, struct seen *i, const pawl_event *e)
{
    struct seen_task *t = seen_task(i, e->ref);
    CHECKED(s, I3);
    CHECKED(s, I4);
    if (!t || t->kind != kind_schedule_of(e->kind))
        sim_fail(s, "I3", "%s: %s for no schedule %llu", i->id, pawl_event_kind_name(e->kind),
                 (unsigned long long)e->ref);
    if (t->now == TASK_IS_DONE && e->kind == PAWL_EV_EXTERNAL_CANCELLED) { /* given back */
        t->now = TASK_IS_CANCELLED;
        s->tokens[t->token].consumed_by = 0;
        return;
    }
    if (t->now == TASK_IS_DONE && e->kind == PAWL_EV_UPDATE_WAIT_CANCELLED) {
        t->now = TASK_IS_CANCELLED;
        served_given_back(s, i, t);
        return;
    }
    if (t->now != TASK_IS_OPEN)
        sim_fail(s, "I4", "%s: %s of task %llu, which is %s", i->id, pawl_event_kind_name(e->kind),
                 (unsigned long long)e->ref, t->now == TASK_IS_DONE ? "done" : "cancelled");
    if (event_class(e->kind) == CLASS_DECISION) {
        t->now = TASK_IS_CANCELLED;
        return;
    }
    t->now = TASK_IS_DONE;
    if (t->kind == PAWL_EV_ACTIVITY_SCHEDULED)
        activity_result(s, i, t, e);
    else if (t->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED)
        child_result(s, i, e);
    else if (t->kind == PAWL_EV_EXTERNAL_SUBSCRIBED)
        event_taken(s, i, e);
    else if (t->kind == PAWL_EV_UPDATE_WAITED)
        served_accepted(s, i, e);
    else if (CHECKED(s, I13), t->fire_at_ms > s->wall_max_ms)
        sim_fail(s, "I13", "%s: timer %llu fired at %lld, due at %lld", i->id,
                 (unsigned long long)e->ref, (long long)s->wall_max_ms, (long long)t->fire_at_ms);
}

static void ended(struct sim *s, struct seen *i, const pawl_event *e)
{
    CHECKED(s, S5);
    i->end_kind = e->kind;
    i->forced = pawl_json_bool(e->attrs, "/forced", false);
    for (size_t k = 0; k < i->task_count; k++)
        if (i->tasks[k].now == TASK_IS_OPEN && !i->tasks[k].abandon)
            sim_fail(s, "S5", "%s: ended with task %zu open", i->id, k + 1);
    served_ended(s, i);
}

static void check_time(struct sim *s, struct seen *i, const pawl_event *e)
{
    enum event_class class = event_class(e->kind);
    if (class != CLASS_MESSAGE && class != CLASS_START)
        return;
    CHECKED(s, S13);
    if (e->at_ms < i->message_ms)
        sim_fail(s, "S13", "%s: time goes back at event %llu", i->id, (unsigned long long)e->seq);
    i->message_ms = e->at_ms;
}

/* Code never runs before its time; one that is ended before has a start, and its end behind it. */
static void check_start_time(struct sim *s, struct seen *i, const pawl_event *e)
{
    if (i->execution != 1 || e->seq != 2 || !i->start_ms || s->plan.rate[SITE_skew])
        return;
    CHECKED(s, I26);
    if (s->wall_max_ms < i->start_ms && event_class(e->kind) != CLASS_END)
        sim_fail(s, "I26", "%s: runs at %lld, its time is %lld", i->id, (long long)s->wall_max_ms,
                 (long long)i->start_ms);
}

static void one_event(struct sim *s, struct seen *i, const pawl_event *e)
{
    struct seen_execution *x = &i->executions[i->execution - 1];
    sim_trace(s, "    %s %llu/%llu %s #%llu %.*s '%.*s'", i->id, (unsigned long long)i->execution,
              (unsigned long long)e->seq, pawl_event_kind_name(e->kind), (unsigned long long)e->ref,
              PAWL_FMT(e->name), PAWL_FMT(e->data));
    CHECKED(s, I2);
    CHECKED(s, I17);
    CHECKED(s, ids);
    if (e->seq != i->last_seq + 1 || e->execution != i->execution)
        sim_fail(s, "I2", "%s: event %llu after %llu", i->id, (unsigned long long)e->seq,
                 (unsigned long long)i->last_seq);
    if (i->end_kind)
        sim_fail(s, "I2", "%s: %s after the end", i->id, pawl_event_kind_name(e->kind));
    if ((e->seq == 1) != (e->kind == PAWL_EV_ORCHESTRATION_STARTED))
        sim_fail(s, "I2", "%s: event %llu is %s", i->id, (unsigned long long)e->seq,
                 pawl_event_kind_name(e->kind));
    if (e->rid <= i->last_rid || map_get(&s->rids, e->rid))
        sim_fail(s, "ids", "%s: event %llu has rid %llu, used before", i->id,
                 (unsigned long long)e->seq, (unsigned long long)e->rid);
    (void)map_put(&s->rids, e->rid, i);
    s->max_id = e->rid > s->max_id ? e->rid : s->max_id;
    if (e->data.len && memmem(e->data.ptr, e->data.len, "injected", 8))
        sim_fail(s, "I17", "%s: '%.*s' in the history", i->id, PAWL_FMT(e->data));
    check_time(s, i, e);
    bool end = event_class(e->kind) == CLASS_END;
    CHECKED_TIMES(s, S25, i->suspended);
    CHECKED_TIMES(s, S23, e->kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED);
    if (i->suspended && e->kind != PAWL_EV_ORCHESTRATION_RESUMED && !end &&
        event_class(e->kind) != CLASS_DECISION)
        sim_fail(s, "S25", "%s: %s while suspended", i->id, pawl_event_kind_name(e->kind));
    check_start_time(s, i, e);
    if (e->kind == PAWL_EV_ORCHESTRATION_STARTED)
        i->deadline_ms = pawl_json_int(e->attrs, "/deadline_ms", 0);
    if (e->kind == PAWL_EV_ORCHESTRATION_STARTED && i->execution == 1)
        i->first_input = copy(e->data);
    else if (e->kind == PAWL_EV_ORCHESTRATION_SUSPENDED)
        i->suspended = true;
    else if (e->kind == PAWL_EV_ORCHESTRATION_RESUMED)
        i->suspended = false;
    else if (e->kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED && i->cancel_requested)
        sim_fail(s, "S23", "%s: cancelled twice", i->id);
    else if (e->kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED)
        i->cancel_requested = true;
    else if (end)
        ended(s, i, e);
    else if (e->kind == PAWL_EV_UPDATE_ANSWERED)
        served_answered(s, i, e);
    else if (kind_schedule_of(e->kind))
        completed(s, i, e);
    else if (e->kind == PAWL_EV_QUEUE_PUSHED)
        queues_pushed(s, e);
    else if (event_class(e->kind) == CLASS_DECISION && e->ref)
        scheduled(s, i, e);
    i->last_seq = e->seq;
    i->last_rid = e->rid;
    x->last_seq = e->seq;
    x->hash = hash_number(hash_number(hash_number(x->hash, e->rid), (uint64_t)e->kind), e->ref);
    x->hash = hash_str(hash_str(hash_str(x->hash, e->name), e->data), e->attrs);
    s->n->events++;
}

/* ---- One instance ------------------------------------------------------------------------------ */

static void open_execution(struct seen *i, uint64_t number)
{
    drop_tasks(i);
    i->execution = number;
    i->last_seq = 0;
    i->message_ms = 0;
    i->end_kind = 0;
    i->cancel_requested = i->forced = i->suspended = false;
    (void)sim_grow(&i->executions, &i->execution_count, &i->execution_cap, sizeof(*i->executions));
}

static void read_new(struct sim *s, struct seen *i)
{
    pawl_event_list list;
    pawl_error err;
    if (s->inner->ops->read_history(s->inner, i->uid, i->execution, i->last_seq, 0, s->mem, &list,
                                    &err) != PAWL_OK)
        sim_fail(s, "H1", "%s: history not readable: %s", i->id, err.text);
    for (size_t k = 0; k < list.count; k++)
        one_event(s, i, &list.items[k]);
}

/* It had ended: only a rerun that was asked for opens another execution, and its mail is gone. */
static void run_again(struct sim *s, struct seen *i, const pawl_row *row)
{
    pawl_event_list list;
    pawl_error err;
    CHECKED(s, I26);
    if (s->inner->ops->read_history(s->inner, i->uid, i->execution + 1, 0, 1, s->mem, &list,
                                    &err) != PAWL_OK ||
        !list.count || !pawl_json_bool(list.items[0].attrs, "/rerun", false) ||
        !driver_asked(s, PAWL_OP_RERUN, i->id))
        sim_fail(s, "I26", "%s: execution %llu opened after the end, and nobody asked", i->id,
                 (unsigned long long)row->execution);
    free(i->output);
    i->output = NULL;
    i->reran = true;
    for (size_t k = 0; k < s->token_count; k++)
        if (s->tokens[k].uid == i->uid || strcmp(s->tokens[k].instance, i->id) == 0)
            s->tokens[k].excused = true; /* it went with the run before */
}

static void check_row(struct sim *s, struct seen *i, const pawl_row *row)
{
    bool was_terminal = i->state != PAWL_PENDING && pawl_state_is_terminal(i->state);
    CHECKED(s, I8);
    CHECKED(s, I9);
    CHECKED_TIMES(s, terminal, was_terminal);
    bool again = was_terminal && s->plan.rate[SITE_doors] && row->execution > i->execution;
    if (again)
        run_again(s, i, row);
    if (was_terminal && !again &&
        (row->state != i->state || row->execution != i->execution || row->last_seq != i->last_seq ||
         !pawl_str_is(row->output, i->output ? i->output : "")))
        sim_fail(s, "terminal", "%s: was %s, changed to %s", i->id, pawl_state_name(i->state),
                 pawl_state_name(row->state));
    if (row->execution < i->execution)
        sim_fail(s, "I8", "%s: execution %llu after %llu", i->id,
                 (unsigned long long)row->execution, (unsigned long long)i->execution);
    i->changed =
        i->state != row->state || row->execution != i->execution || row->last_seq != i->last_seq;
    if (!i->execution_count)
        open_execution(i, 1);
    if (row->last_seq != i->last_seq || row->execution != i->execution)
        read_new(s, i);
    while (i->execution < row->execution) {
        if (i->end_kind != PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW &&
            !(i->end_kind && s->plan.rate[SITE_doors]))
            sim_fail(s, "I8", "%s: execution %llu opened after %s", i->id,
                     (unsigned long long)i->execution + 1,
                     i->end_kind ? pawl_event_kind_name(i->end_kind) : "no end");
        open_execution(i, i->execution + 1);
        read_new(s, i);
    }
    if (row->last_seq != i->last_seq || (i->last_seq && row->last_rid != i->last_rid))
        sim_fail(s, "I9", "%s: row says event %llu, history has %llu", i->id,
                 (unsigned long long)row->last_seq, (unsigned long long)i->last_seq);
    i->state = row->state;
    bool ends = i->end_kind && i->end_kind != PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW;
    if (ends != pawl_state_is_terminal(row->state))
        sim_fail(s, "I9", "%s: row says %s, history ends with %s", i->id,
                 pawl_state_name(row->state),
                 i->end_kind ? pawl_event_kind_name(i->end_kind) : "nothing");
    bool greedy = begins(row->finding, "its turn asked for ") && s->plan.rate[SITE_greedy];
    if (row->state == PAWL_BLOCKED && !s->deviated && !s->plan.max_history && !greedy)
        sim_fail(s, "I10", "%s is blocked, and no code changed: %.*s", i->id,
                 PAWL_FMT(row->finding));
    if (i->suspended != (row->state == PAWL_SUSPENDED) && !ends && row->state != PAWL_BLOCKED &&
        row->last_seq) /* before its first event the row alone says it */
        sim_fail(s, "I9", "%s: row says %s, history says %s", i->id, pawl_state_name(row->state),
                 i->suspended ? "suspended" : "not suspended");
    if (ends && !i->output) {
        i->output = copy(row->output);
        s->n->completed += i->last_seq > 1;
    }
}

static struct seen *meet(struct sim *s, const pawl_row *row)
{
    struct seen *i = seen_by_uid(s, row->uid);
    CHECKED(s, I19);
    if (i && (i->removed || !pawl_str_is(row->id, i->id)))
        sim_fail(s, "I19", "uid %llu is back as '%.*s'", (unsigned long long)row->uid,
                 PAWL_FMT(row->id));
    if (i)
        return i;
    const struct seen *other = seen_by_id(s, row->id);
    if (other && other->listed)
        sim_fail(s, "ids", "two instances '%s'", other->id);
    i = calloc(1, sizeof(*i));
    assert_that(i);
    *i = (struct seen){.uid = row->uid,
                       .id = copy(row->id),
                       .met = s->n->looks,
                       .parent_uid = row->parent_uid,
                       .parent_execution = row->parent_execution,
                       .parent_ref = row->parent_ref};
    *(struct seen **)sim_grow(&s->seen, &s->seen_count, &s->seen_cap, sizeof(i)) = i;
    s->max_id = row->uid > s->max_id ? row->uid : s->max_id;
    s->n->instances++;
    return i;
}

void check_ends(struct sim *s)
{
    pawl_row_query query = {.limit = 1000};
    pawl_row_list list;
    pawl_error err;
    pawl_mem_reset(s->mem);
    if (s->inner->ops->list(s->inner, &query, s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "L1", "instances not readable: %s", err.text);
    for (size_t k = 0; k < list.count; k++) {
        struct seen *i = seen_by_uid(s, list.items[k].uid);
        if (i && pawl_state_is_terminal(list.items[k].state))
            i->ended = true;
    }
}

void check_store(struct sim *s)
{
    pawl_row_query query = {.limit = 1000};
    pawl_row_list list;
    pawl_error err;
    s->n->looks++;
    pawl_mem_reset(s->mem);
    if (s->wall_ms > s->wall_max_ms)
        s->wall_max_ms = s->wall_ms;
    for (size_t i = 0; i < s->seen_count; i++)
        s->seen[i]->listed = false;
    if (s->inner->ops->list(s->inner, &query, s->mem, &list, &err) != PAWL_OK || list.next_uid)
        sim_fail(s, "L1", "instances not readable: %s", err.text);
    for (size_t i = 0; i < list.count; i++) { /* who is there, before what they did */
        struct seen *at = meet(s, &list.items[i]);
        at->listed = true;
    }
    for (size_t i = 0; i < s->seen_count; i++)
        if (!s->seen[i]->removed && !s->seen[i]->listed) {
            s->seen[i]->removed = true;
            driver_removed(s, s->seen[i]);
        }
    for (size_t i = 0; i < list.count; i++) /* newest first: children before parents */
        check_row(s, seen_by_uid(s, list.items[i].uid), &list.items[i]);
    check_rows(s);
    if (s->plan.rate[SITE_queue])
        queues_look(s);
    if (s->plan.rate[SITE_schedule])
        schedules_look(s);
    if (s->plan.rate[SITE_limit])
        limited_look(s);
    bool replay = prng_chance(&s->schedule, s->plan.replay_rate);
    for (size_t i = 0; replay && i < s->seen_count; i++)
        if (s->seen[i]->changed && !s->seen[i]->removed)
            check_replay(s, s->seen[i], s->seen[i]->execution);
}
