/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/query.c -- pawl/client.h: the reading calls, from any thread.
 *
 * Each read is a snapshot of the store on its own connection and never waits for the
 * engine.  What an instance waits for follows from its history, which is replayed into
 * tables without running code.
 */
#include "runtime/api/query.h"
#include "base/attributes.h"
#include "base/deadline.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/core/audience.h"
#include "runtime/core/gate.h"
#include "runtime/core/here.h"
#include "runtime/core/info.h"
#include "runtime/core/site.h"
#include "runtime/core/slots.h"
#include "runtime/core/store_clock.h"
#include "runtime/core/token.h"
#include "runtime/instance/asked.h"
#include "runtime/instance/kept_tables.h"
#include "runtime/instance/published.h"
#include "runtime/instance/turn.h"
#include "runtime/life/env.h"
#include "runtime/work/attempt.h"
#include "runtime/work/crew.h"
#include "runtime/work/details.h"
#include "runtime/work/limit_view.h"
#include "runtime/work/tries.h"
#include "runtime/work/worker.h"
#include "store/store.h"
#include "tables/awaitables.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STORE(c) ((c)->rt->store)
#define NEEDS    "memory and room for the answer"

/* ---- One instance --------------------------------------------------------------- */

/* Does a thread run it?  The slots of the owner say so; locks in rows outlive their process. */
static bool is_running(pawl_client *c, uint64_t work_id)
{
    pawl_runtime *rt = c->rt;
    return rt->opts.read_only ? slots_ran(rt->data.path, work_id) : slots_runs(rt->slots, work_id);
}

/* What is damaged, or gone meanwhile, is shown without; a store that does not answer is told. */
static pawl_status unless_damaged(pawl_status rc)
{
    return rc == PAWL_CORRUPT || rc == PAWL_NOT_FOUND ? PAWL_OK : rc;
}

/* Add what the work row says about an open activity. */
static pawl_status add_work(pawl_client *c, pawl_mem *mem, uint64_t rid, pawl_waiting *w,
                            pawl_error *err)
{
    pawl_work_list list = {0};
    pawl_status rc = store_read_work(STORE(c), &rid, 1, mem, &list, err);
    if (rc != PAWL_OK || !list.count)
        return unless_damaged(rc);
    w->attempt = list.items[0].attempt + 1;
    w->last_error = list.items[0].last_error;
    w->due_ms = list.items[0].visible_ms;
    w->leased = list.items[0].lock_token.len && list.items[0].lock_until_ms > rt_now(c->rt);
    w->running = w->leased || is_running(c, rid);
    if (w->leased && list.items[0].lock_until_ms - rt_now(c->rt) < ATTEMPT_LEASE_MS / 2)
        w->leased_ms = list.items[0].lock_until_ms;
    if (w->leased)
        w->worker = crew_holder(c->rt, rid, mem);
    else if (!w->running)
        w->unknown = crew_lacks(c->rt, w->name, mem, &w->meant);
    if (!w->running)
        limit_tell(c->rt, &list.items[0], mem, w);
    struct call_policy policy = policy_parse(list.items[0].attrs, mem);
    w->crashes = list.items[0].crashes;
    w->started_ms = w->leased    ? token_began(list.items[0].lock_token, 0)
                    : w->running ? worker_started(c->rt, rid)
                                 : 0;
    w->tries = tries_text(c->rt, rid, mem);
    w->max_crashes = attempt_crash_limit(c->rt, &policy);
    return unless_damaged(details_show(c->rt, rid, mem, &w->details, err));
}

/* Replay tables only, up to the newest event.  Events that an earlier call replayed are not read
 * again.  PAWL_OK without tables: the history is damaged. */
static pawl_status replay_tables(pawl_client *c, const pawl_row *row, pawl_mem *mem,
                                 struct kept_table *t, pawl_error *err)
{
    pawl_event_list events;
    pawl_status rc =
        store_read_history(STORE(c), row->uid, row->execution, t->seq, 0, mem, &events, err);
    struct execution_spec spec = {
        .instance = row->id,
        .uid = row->uid,
        .execution = row->execution,
        .rules = {.payload_max = SIZE_MAX, .history_max = UINT32_MAX}
    };
    struct engine_finding finding;
    enum engine_outcome outcome = ENGINE_NO_MEMORY;
    if (rc == PAWL_OK && (t->x || (t->x = execution_create(&spec))))
        outcome = execution_replay(t->x, events.items, events.count, &finding);
    if (rc == PAWL_OK && outcome == ENGINE_NO_MEMORY)
        rc = PAWL_NO_MEMORY;
    for (size_t i = 0; rc == PAWL_OK && i < events.count; i++) {
        t->seq = events.items[i].seq;
        if (events.items[i].kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED)
            t->cancel_ms = events.items[i].at_ms;
    }
    if (outcome != ENGINE_WAITING)
        t->seq = 0; /* it cannot be continued, so it is not kept */
    if (rc == PAWL_OK)
        return rc;
    execution_destroy(t->x);
    t->x = NULL;
    return rc == PAWL_CORRUPT ? PAWL_OK : rc; /* a damaged history: show the instance without it */
}

/* The open tasks of the tables. */
static pawl_status list_waiting(pawl_client *c, execution *x, pawl_mem *mem, pawl_info *ret,
                                pawl_error *err)
{
    size_t n = 0, at = 0;
    pawl_status rc = PAWL_OK;
    struct open_task task;
    for (uint64_t cursor = 0; execution_next_open(x, &cursor, &task);)
        n++;
    pawl_waiting *list = arena_array(mem, pawl_waiting, n + 1);
    for (uint64_t cursor = 0; execution_next_open(x, &cursor, &task); at++) {
        bool asks = task.kind == PAWL_EV_EXTERNAL_SUBSCRIBED;
        list[at] = (pawl_waiting){.id = task.id,
                                  .kind = awaitable_word(task.kind),
                                  .name = arena_dup(mem, task.name),
                                  .instance = !asks ? arena_dup(mem, task.child) : (pawl_str){0},
                                  .ask = asks ? arena_dup(mem, task.child) : (pawl_str){0},
                                  .since_ms = task.at_ms,
                                  .due_ms = task.fire_at_ms};
        if (task.kind == PAWL_EV_ACTIVITY_SCHEDULED && rc == PAWL_OK)
            rc = add_work(c, mem, task.rid, &list[at], err);
    }
    ret->waiting = list;
    ret->waiting_count = at;
    return rc;
}

static pawl_status add_waiting(pawl_client *c, const pawl_row *row, pawl_mem *mem, pawl_info *ret,
                               pawl_error *err)
{
    struct kept_table t = kept_tables_take(c->tables, row->uid, row->execution);
    pawl_status rc = replay_tables(c, row, mem, &t, err);
    if (rc != PAWL_OK || !t.x)
        return rc;
    ret->cancel_ms = t.cancel_ms;
    if (ret->cancel_ms) /* it waits inside a shield, which no time-out ends */
        ret->cancel_left_ms = c->rt->opts.cancel_grace_ms ? c->rt->opts.cancel_grace_ms : -1;
    rc = list_waiting(c, t.x, mem, ret, err);
    kept_tables_put(c->tables, t);
    return rc;
}

static pawl_status add_mailbox(pawl_client *c, const pawl_row *row, pawl_mem *mem, pawl_info *ret,
                               pawl_error *err)
{
    pawl_message_list list;
    pawl_status rc = store_read_messages(STORE(c), row->uid, (pawl_str){0}, mem, &list, err);
    if (rc != PAWL_OK)
        return unless_damaged(rc);
    ret->max_crashes = c->rt->opts.max_attempts;
    for (size_t i = 0; i < list.count; i++) {
        uint32_t crashes = turn_crashes_of(list.items[i].attempt);
        if (!list.items[i].mailbox && crashes > ret->turn_crashes)
            ret->turn_crashes = crashes;
        /* In the mailbox, or raised while its code was not registered here. */
        ret->mailbox_count += list.items[i].kind == PAWL_MSG_EXTERNAL_RAISED;
        ret->update_count += list.items[i].kind == PAWL_MSG_UPDATE;
        if (list.items[i].kind == PAWL_MSG_START && !ret->input.len)
            ret->input = list.items[i].data;
        if (list.items[i].kind == PAWL_MSG_START && list.items[i].visible_ms > rt_now(c->rt))
            ret->start_ms = list.items[i].visible_ms;
        if (list.items[i].kind == PAWL_MSG_CANCEL && list.items[i].visible_ms)
            ret->deadline_ms = list.items[i].visible_ms;
    }
    return PAWL_OK;
}

static pawl_status find(pawl_client *c, const char *instance, uint64_t execution_no, pawl_mem *mem,
                        pawl_row *row, pawl_error *err)
{
    if (!gate_pass(c, GATE_READS, err))
        return PAWL_MISUSE;
    if (!check_instance_id(pawl_s(instance), LIMIT_CHILD_ID_BYTES, err))
        return err->status;
    pawl_status rc = store_find(STORE(c), pawl_s(instance), mem, row, err);
    if (rc == PAWL_NOT_FOUND) {
        error_set(err, rc, "instance '%s' does not exist", instance);
        return rc;
    }
    if (rc == PAWL_OK && execution_no && execution_no != row->execution) {
        pawl_row closed = {0};
        rc = store_find_execution(STORE(c), row->uid, execution_no, mem, &closed, err);
        if (rc == PAWL_NOT_FOUND)
            error_set(err, rc, "instance '%s' has no execution %llu", instance,
                      (unsigned long long)execution_no);
        *row = closed;
    }
    return rc;
}

/* How an earlier execution ended: it continued as new, or it ended and the instance ran again. */
static pawl_status tell_end(pawl_client *c, pawl_row *row, pawl_mem *mem, pawl_error *err)
{
    pawl_event end;
    pawl_status rc =
        row->last_rid ? store_read_event(STORE(c), row->last_rid, mem, &end, err) : PAWL_NOT_FOUND;
    if (rc != PAWL_OK || end.kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW)
        return unless_damaged(rc);
    row->state = end.kind == PAWL_EV_ORCHESTRATION_COMPLETED ? PAWL_COMPLETED
                 : end.kind == PAWL_EV_ORCHESTRATION_FAILED  ? PAWL_FAILED
                                                             : PAWL_CANCELLED;
    row->output = end.data;
    return PAWL_OK;
}

/* Fill in the start from the first event; leave it out when that is damaged or gone. */
static pawl_status add_start(pawl_client *c, const pawl_row *row, pawl_mem *mem, pawl_info *ret,
                             pawl_error *err)
{
    pawl_event started;
    pawl_status rc = store_read_event(STORE(c), row->first_rid, mem, &started, err);
    if (rc != PAWL_OK)
        return unless_damaged(rc);
    ret->input = started.data;
    ret->began_ms = started.at_ms;
    return PAWL_OK;
}

int64_t pawl_client_now(pawl_client *c)
{
    MUST_HAVE("a client", c);
    return rt_now(c->rt);
}

pawl_status pawl_client_get(pawl_client *c, const char *instance, uint64_t execution_no,
                            pawl_mem *mem, pawl_info *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_row row = {0};
    if (!IS_THERE(mem && ret, NEEDS, err))
        return err->status;
    pawl_status rc = find(c, instance, execution_no, mem, &row, err);
    if (rc != PAWL_OK)
        return rc;
    if (row.state == PAWL_CONTINUED_AS_NEW)
        rc = tell_end(c, &row, mem, err);
    if (rc != PAWL_OK)
        return rc;
    info_of_row(ret, &row);
    int64_t said_ms =
        env_has_real_clock(c->rt) ? store_clock_here(c->rt, row.updated_ms) : INT64_MAX;
    ret->finding = site_name(mem, ret->finding, said_ms);
    ret->error = site_name(mem, ret->error, said_ms);
    rc = row.first_rid ? add_start(c, &row, mem, ret, err) : PAWL_OK;
    if (rc != PAWL_OK)
        return rc;
    if (pawl_state_is_terminal(row.state))
        return PAWL_OK;
    rc = add_mailbox(c, &row, mem, ret, err);
    return rc == PAWL_OK && row.last_seq ? add_waiting(c, &row, mem, ret, err) : rc;
}

pawl_status pawl_client_state(pawl_client *c, const char *instance, pawl_mem *mem, pawl_state *ret,
                              pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_row row = {0};
    if (!IS_THERE(mem && ret, NEEDS, reterr))
        return PAWL_MISUSE;
    pawl_status rc = find(c, instance, 0, mem, &row, reterr ? reterr : &local);
    if (rc == PAWL_OK)
        *ret = row.state;
    return rc;
}

pawl_status pawl_client_published(pawl_client *c, const char *instance, const char *key,
                                  pawl_published_fn *fn, void *arg, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_row row = {0};
    if (!IS_THERE(fn, "a function", reterr))
        return PAWL_MISUSE;
    pawl_mem *mem = pawl_mem_new();
    if (!mem)
        return gate_no_memory(err);
    pawl_status rc = find(c, instance, 0, mem, &row, err);
    if (rc == PAWL_OK)
        rc = published_read(c->rt, row.uid, key, mem, fn, arg, err);
    pawl_mem_free(mem);
    return rc;
}

pawl_status pawl_client_asks(pawl_client *c, const pawl_ask_filter *filter, pawl_mem *mem,
                             pawl_str *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_ask_filter f;
    if (!gate_pass(c, GATE_READS, err) || !IS_THERE(mem && ret, NEEDS, err) ||
        !OPTIONS_TAKE(&f, filter, "pawl_ask_filter", err))
        return err->status;
    if (f.limit > 1000) {
        error_set(err, PAWL_INVALID, "limit is %u; give 1 to 1000", f.limit);
        return PAWL_INVALID;
    }
    if (!c->rt->caps.objects) {
        error_set(err, PAWL_UNSUPPORTED, "this store keeps no list of asks; look at instances");
        return PAWL_UNSUPPORTED;
    }
    return asks_list(c->rt, &f, mem, ret, err);
}

/* ---- Waiting ------------------------------------------------------------------------ */

/* Closed by ContinueAsNew: an empty success (SEMANTICS 24). */
static void as_waited(pawl_info *info)
{
    if (info->state == PAWL_CONTINUED_AS_NEW) {
        info->state = PAWL_COMPLETED;
        info->output = (pawl_str){0};
    }
}

/* Wait a moment.  False: the time is over. */
static bool wait_a_bit(pawl_runtime *rt, struct wait_node *w, int64_t timeout_ms,
                       const struct timespec *until, int64_t end_ms)
{
    if (!rt->opts.read_only && !here_steps(rt))
        return audience_wait(rt, w, timeout_ms < 0 ? NULL : until);
    if (rt->opts.read_only) { /* the owner is another process: poll */
        struct timespec nap = {.tv_nsec = 20000000};
        nanosleep(&nap, NULL);
    } else {
        int64_t left = timeout_ms < 0 ? 1000 : end_ms - rt_mono(rt);
        if (pawl_runtime_step(rt, left > 1000 ? 1000 : left) < 0)
            return false;
    }
    return timeout_ms < 0 || rt_mono(rt) < end_ms;
}

static pawl_status wait_in(pawl_client *c, struct wait_node *w, const char *instance,
                           uint64_t execution_no, int64_t timeout_ms, pawl_mem *mem, pawl_info *ret,
                           pawl_error *err)
{
    pawl_runtime *rt = c->rt;
    if (timeout_ms > LIMIT_DELAY_MS)
        timeout_ms = LIMIT_DELAY_MS;
    struct timespec until = deadline_in(timeout_ms < 0 ? 0 : timeout_ms);
    int64_t end_ms = rt_mono(rt) + (timeout_ms < 0 ? 0 : timeout_ms);
    for (bool more = true;; more = wait_a_bit(rt, w, timeout_ms, &until, end_ms)) {
        struct arena_mark mark = arena_mark(mem);
        pawl_row row = {0};
        pawl_status rc = find(c, instance, execution_no, mem, &row, err);
        bool over = rc == PAWL_OK && pawl_state_is_terminal(row.state);
        if (rc != PAWL_OK)
            return rc;
        arena_rewind(mem, mark);
        if (!over && more)
            continue;
        rc = pawl_client_get(c, instance, execution_no, mem, ret, err);
        as_waited(ret);
        if (rc != PAWL_OK || pawl_state_is_terminal(ret->state))
            return rc;
        error_set(err, PAWL_TIMEOUT, "instance '%s' is still %s", instance,
                  pawl_state_name(ret->state));
        return PAWL_TIMEOUT;
    }
}

pawl_status pawl_client_wait(pawl_client *c, const char *instance, uint64_t execution_no,
                             int64_t timeout_ms, pawl_mem *mem, pawl_info *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    struct wait_node node;
    if (!IS_THERE(c && mem && ret, "a client, memory and room for the answer", err) ||
        !gate_may_wait(c, err))
        return err->status;
    audience_enter(c->rt, &node, pawl_s(instance));
    pawl_status rc = wait_in(c, &node, instance, execution_no, timeout_ms, mem, ret, err);
    audience_leave(c->rt, &node);
    return rc;
}

/* ---- Lists and histories --------------------------------------------------------------- */

static bool check_where(const pawl_filter *f, pawl_error *err)
{
    if (f->where_count > PAWL_WHERE_MAX) {
        error_set(err, PAWL_LIMIT, "%zu conditions on attributes are over %d; leave some out",
                  f->where_count, PAWL_WHERE_MAX);
        return false;
    }
    for (size_t i = 0; i < f->where_count; i++)
        if (!where_check(&f->where[i], err))
            return false;
    return true;
}

bool filter_search(pawl_client *c, const pawl_filter *f, pawl_mem *mem, pawl_search *s,
                   pawl_error *err)
{
    pawl_row_query *q = &s->query;
    if (f->limit > 1000) {
        error_set(err, PAWL_LIMIT, "limit %u is over 1,000", f->limit);
        return false;
    }
    if (!check_where(f, err))
        return false;
    *s = (pawl_search){.size = sizeof(*s),
                       .states = f->states,
                       .roots = f->roots,
                       .text = pawl_s(f->text),
                       .where = f->where,
                       .where_count = f->where_count,
                       .created_before_ms = f->created_before_ms,
                       .ended_after_ms = f->ended_after_ms,
                       .error = pawl_s(f->error)};
    *q = (pawl_row_query){.limit = f->limit ? f->limit : 100,
                          .state = f->state,
                          .orchestration = pawl_s(f->orchestration),
                          .prefix = pawl_s(f->prefix),
                          .created_after_ms = f->created_after_ms,
                          .ended_before_ms = f->ended_before_ms};
    if (f->after && f->after[0]) {
        size_t n = strspn(f->after, "0123456789abcdef"); /* as we write it, and not "-1" */
        q->before_uid = n <= 16 ? strtoull(f->after, NULL, 16) : 0;
        if (f->after[n] || !q->before_uid) {
            error_set(err, PAWL_INVALID, "'%s' is no cursor; hand in `next` of the page before",
                      f->after);
            return false;
        }
    }
    if (f->parent && f->parent[0]) {
        pawl_row parent = {0};
        if (find(c, f->parent, 0, mem, &parent, err) != PAWL_OK)
            return false;
        q->parent_uid = parent.uid;
    }
    return true;
}

pawl_status pawl_client_list(pawl_client *c, const pawl_filter *filter, pawl_mem *mem,
                             pawl_page *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_search search;
    pawl_filter room;
    if (!gate_pass(c, GATE_READS, err) || !IS_THERE(mem && ret, NEEDS, err) ||
        !(filter = OPTIONS_OF(&room, filter, "pawl_filter", err)) ||
        !filter_search(c, filter, mem, &search, err))
        return err->status;
    pawl_found found;
    pawl_status rc = store_search(STORE(c), &search, mem, &found, err);
    if (rc != PAWL_OK)
        return rc;
    const pawl_row_list *rows = &found.rows;
    pawl_info *items = arena_array(mem, pawl_info, rows->count + 1);
    for (size_t i = 0; i < rows->count; i++)
        info_of_row(&items[i], &rows->items[i]);
    *ret = (pawl_page){.items = items, .count = rows->count, .examined = found.examined};
    if (rows->next_uid)
        ret->next = pawl_mem_printf(mem, "%llx", (unsigned long long)rows->next_uid);
    return PAWL_OK;
}

void pawl_client_retries(pawl_client *c, pawl_retry_fn *fn, void *arg)
{
    if (fn && gate_pass(c, GATE_READS, NULL))
        tries_each(c->rt, fn, arg);
}

pawl_status pawl_client_history(pawl_client *c, const char *instance, uint64_t execution_no,
                                uint64_t after_seq, uint32_t limit, pawl_mem *mem,
                                pawl_history *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_row row = {0};
    pawl_event_list list = {0};
    if (!IS_THERE(mem && ret, NEEDS, err))
        return err->status;
    pawl_status rc = find(c, instance, execution_no, mem, &row, err);
    if (!limit)
        limit = 1000;
    if (rc == PAWL_OK)
        rc =
            store_read_history(STORE(c), row.uid, row.execution, after_seq, limit, mem, &list, err);
    if (rc != PAWL_OK)
        return rc;
    pawl_history_event *events = arena_array(mem, pawl_history_event, list.count + 1);
    for (size_t i = 0; i < list.count; i++) {
        const pawl_event *e = &list.items[i];
        const char *kind = pawl_event_kind_name(e->kind);
        events[i] = (pawl_history_event){.seq = e->seq,
                                         .kind = kind ? kind : "Unknown",
                                         .ref = e->ref,
                                         .name = e->name,
                                         .data = e->data,
                                         .attrs = e->attrs,
                                         .at_ms = e->at_ms};
    }
    *ret = (pawl_history){.execution = row.execution, .events = events, .count = list.count};
    if (list.count && list.items[list.count - 1].seq < row.last_seq)
        ret->next = list.items[list.count - 1].seq;
    return PAWL_OK;
}
