/* SPDX-License-Identifier: MIT */
/*
 * trial/traffic.c -- see traffic.h: calls into the world by their time, events out of it
 * by their order, and words for what waits.
 *
 * The agenda is a list by time.  An item leaves it when its call was answered by a
 * process that was alive; `sent` says that it is with one now.
 */
#include "trial/traffic.h"

#include "base/attr.h"
#include "base/limits.h"
#include "runtime/core/runtime.h"
#include "runtime/work/activity.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define ROWS_AT_ONCE 1000
#define TRIES        2 /* a call that saw more deaths than that is let through */

/* ---- Calls -------------------------------------------------------------------------------- */

static const char *keep(struct world *w, const char *text)
{
    return text ? arena_dup(&w->mem, pawl_s(text)).ptr : NULL;
}

static void insert(struct world *w, struct world_item *item)
{
    struct world_item **at = &w->agenda;
    while (*at && (*at)->at_ms <= item->at_ms)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
}

static void take_out(struct world *w, const struct world_item *item)
{
    struct world_item **at = &w->agenda;
    while (*at && *at != item)
        at = &(*at)->next;
    if (*at)
        *at = item->next;
}

static struct world_item *new_item(struct world *w, int64_t in_ms)
{
    struct world_item *item = arena_new(&w->mem, struct world_item);
    item->world = w;
    item->at_ms = w->mono_ms + (in_ms > 0 ? in_ms : 0);
    return item;
}

void world_call(struct world *w, int64_t in_ms, const pawl_request *q)
{
    struct world_item *item = new_item(w, in_ms);
    item->request = *q;
    item->request.size = sizeof(*q);
    item->request.instance = keep(w, q->instance);
    item->request.name = keep(w, q->name);
    item->request.version = keep(w, q->version);
    item->request.reason = keep(w, q->reason);
    item->request.idempotency_key = keep(w, q->idempotency_key);
    item->request.data = arena_dup(&w->mem, q->data);
    if ((q->op == PAWL_OP_RAISE || q->op == PAWL_OP_UPDATE) && !q->idempotency_key)
        item->request.idempotency_key =
            pawl_mem_printf(&w->mem, "call-%llu", (unsigned long long)++w->keys).ptr;
    insert(w, item);
}

void world_call_fn(struct world *w, int64_t in_ms, void (*fn)(void *arg), void *arg)
{
    struct world_item *item = new_item(w, in_ms);
    item->fn = fn;
    item->arg = arg;
    insert(w, item);
}

static void answered(void *arg, const pawl_reply *reply)
{
    struct world_item *item = arg;
    struct world *w = item->world;
    if (w->frozen)
        return; /* the call was lost */
    take_out(w, item);
    if (reply->status != PAWL_OK && item->request.op == PAWL_OP_START)
        w->trouble = reply->error;
}

static struct world_item *next_due(struct world *w)
{
    struct world_item *item = w->agenda;
    while (item && item->at_ms <= w->mono_ms && item->sent)
        item = item->next;
    return item && item->at_ms <= w->mono_ms ? item : NULL;
}

bool traffic_send(struct world *w)
{
    struct world_item *item;
    bool any = false;
    while ((item = next_due(w))) {
        any = true;
        item->sent = true;
        item->tries++;
        if (item->fn) {
            take_out(w, item);
            item->fn(item->arg);
            continue;
        }
        pawl_error err = {0};
        pawl_status rc =
            pawl_client_submit(pawl_runtime_client(w->rt), &item->request, answered, item, &err);
        if (rc != PAWL_OK) {
            take_out(w, item);
            if (item->request.op == PAWL_OP_START)
                w->trouble = err;
        }
    }
    return any;
}

bool traffic_starves(const struct world *w)
{
    for (const struct world_item *item = w->agenda; item; item = item->next)
        if (item->sent && item->tries > TRIES)
            return true;
    return false;
}

void traffic_again(struct world *w)
{
    for (struct world_item *item = w->agenda; item; item = item->next)
        item->sent = false;
}

bool world_inject(struct world *w, const pawl_message *message)
{
    pawl_message m = *message;
    m.id = w->rt->fence.next_id++;
    m.shard = w->rt->caps.shared ? PAWL_SHARD_LOOK : 0;
    m.created_ms = w->wall_ms;
    pawl_round round = {.messages = &m, .message_count = 1};
    pawl_error err;
    if (store_commit(w->inner, &w->rt->fence, &round, 1, w->wall_ms, &err) != PAWL_OK ||
        round.result != PAWL_OK)
        return false;
    store_abandon_messages(w->inner, &m.id, 1);
    w->rt->due.fetch_messages = true;
    w->rt->due.ask = true;
    return true;
}

/* ---- Activities --------------------------------------------------------------------------- */

pawl_result world_answer_later(struct world *w, pawl_activity *act, int64_t in_ms,
                               pawl_result result)
{
    if (in_ms >= 0)
        world_call(w, in_ms,
                   PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = pawl_activity_token(act),
                                .data = result.value, .failed = !result.ok));
    return pawl_pending(act);
}

bool world_can_time_out(pawl_activity *act)
{
    const struct call_policy *p = activity_policy(act);
    return p->start_to_close_ms || p->heartbeat_ms || p->schedule_to_close_ms;
}

/* ---- Events --------------------------------------------------------------------------------- */

static struct world_seen *seen_of(struct world *w, const pawl_row *row)
{
    struct world_seen *s = w->seen;
    while (s && s->uid != row->uid)
        s = s->next;
    if (!s) {
        s = arena_new(&w->mem, struct world_seen);
        *s = (struct world_seen){
            .next = w->seen, .uid = row->uid, .execution = 1, .id = arena_dup(&w->mem, row->id)};
        w->seen = s;
    }
    return s;
}

/* Events of one execution that are new; how many. */
static size_t look_at_execution(struct world *w, const pawl_row *row, struct world_seen *s,
                                pawl_mem *mem)
{
    pawl_event_list list = {0};
    pawl_error err;
    if (store_read_history(w->inner, row->uid, s->execution, s->seq, 0, mem, &list, &err) !=
        PAWL_OK)
        return 0;
    for (size_t i = 0; i < list.count; i++) {
        const pawl_event *e = &list.items[i];
        s->seq = e->seq;
        if (e->kind == PAWL_EV_ACTIVITY_SCHEDULED && w->app)
            world_serve(w, e->name, NULL);
        if (w->hooks.event)
            w->hooks.event(w->hooks.user, row, e);
    }
    return list.count;
}

static void look_at_row(struct world *w, const pawl_row *row, pawl_mem *mem)
{
    struct world_seen *s = seen_of(w, row);
    size_t news = 0;
    for (;; s->execution++, s->seq = 0) {
        if (s->execution < row->execution || s->seq < row->last_seq)
            news += look_at_execution(w, row, s, mem);
        if (s->execution >= row->execution)
            break;
    }
    if (news && w->hooks.changed)
        w->hooks.changed(w->hooks.user, row);
}

/* All instances, oldest first: parents before their children. */
static void each_row(struct world *w, void (*fn)(struct world *w, const pawl_row *row, pawl_mem *))
{
    pawl_mem *mem = pawl_mem_new();
    pawl_row_query query = {.limit = ROWS_AT_ONCE};
    pawl_row_list list;
    pawl_error err;
    do {
        if (store_list(w->inner, &query, mem, &list, &err) != PAWL_OK)
            break;
        for (size_t i = list.count; i-- > 0;)
            fn(w, &list.items[i], mem);
        query.before_uid = list.next_uid;
    } while (list.next_uid);
    pawl_mem_free(mem);
}

void traffic_look(struct world *w)
{
    w->changes = false;
    each_row(w, look_at_row);
}

static void serve_row(struct world *w, const pawl_row *row, pawl_mem *mem)
{
    pawl_event_list list = {0};
    pawl_error err;
    if (pawl_state_is_terminal(row->state) ||
        store_read_history(w->inner, row->uid, row->execution, 0, 0, mem, &list, &err) != PAWL_OK)
        return;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == PAWL_EV_ACTIVITY_SCHEDULED)
            world_serve(w, list.items[i].name, NULL);
}

void traffic_serve_open(struct world *w)
{
    each_row(w, serve_row);
}

/* ---- Questions ------------------------------------------------------------------------------ */

bool world_find(struct world *w, const char *id, pawl_mem *mem, pawl_row *ret)
{
    pawl_error err;
    return store_find(w->inner, pawl_s(id), mem, ret, &err) == PAWL_OK;
}

static pawl_str say_wait(pawl_mem *mem, const pawl_waiting *t)
{
    if (strcmp(t->kind, "event") == 0)
        return pawl_mem_printf(mem, "event '%.*s', which nothing raises", PAWL_FMT(t->name));
    if (strcmp(t->kind, "activity") == 0)
        return pawl_mem_printf(mem,
                               t->running ? "activity '%.*s', which never answers (the call has no "
                                            "time-out)"
                                          : "activity '%.*s', which no worker runs",
                               PAWL_FMT(t->name));
    if (strcmp(t->kind, "child") == 0)
        return pawl_mem_printf(mem, "child '%.*s' (%.*s)", PAWL_FMT(t->instance),
                               PAWL_FMT(t->name));
    if (strcmp(t->kind, "timer") == 0)
        return pawl_s("a timer");
    return pawl_mem_printf(mem, "%s '%.*s'", t->kind, PAWL_FMT(t->name));
}

pawl_str world_why(struct world *w, const char *id, pawl_mem *mem)
{
    pawl_info info;
    pawl_error err;
    if (!w->rt || pawl_client_get(pawl_runtime_client(w->rt), id, 0, mem, &info, &err) != PAWL_OK)
        return pawl_mem_printf(mem, "instance '%s' does not exist", id);
    if (info.state == PAWL_BLOCKED)
        return info.finding;
    if (pawl_state_is_terminal(info.state) || info.state == PAWL_SUSPENDED)
        return pawl_mem_printf(mem, "it is %s", pawl_state_name(info.state));
    if (info.finding.len)
        return info.finding;
    if (!info.waiting_count)
        return pawl_s("it waits for nothing that could come");
    const char *text = "it waits for ";
    for (size_t i = 0; i < info.waiting_count && i < 4; i++)
        text = pawl_mem_printf(mem, "%s%s%s", text, i ? "; for " : "",
                               say_wait(mem, &info.waiting[i]).ptr)
                   .ptr;
    return pawl_s(text);
}
