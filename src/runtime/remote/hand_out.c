/* SPDX-License-Identifier: MIT */
/* runtime/remote/hand_out.c -- see hand_out.h. */
#include "runtime/remote/hand_out.h"

#include "runtime/remote/exchange.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/worker_session.h"
#include "store/store.h"

#include <string.h>

#define EVENTS_BYTES ((size_t)1 << 20) /* of one turn or page; one event may be larger */
#define EVENTS_FIRST 8                 /* read at first: their size says how many more */

static size_t bytes_of(const pawl_event *e)
{
    return e->name.len + e->data.len + e->attrs.len + 64;
}

static pawl_event copy_event(pawl_mem *mem, const pawl_event *e)
{
    pawl_event copy = *e;

    copy.name = arena_dup(mem, e->name);
    copy.data = arena_dup(mem, e->data);
    copy.attrs = arena_dup(mem, e->attrs);
    return copy;
}

/* How many to read next, by the size of those before: no more bytes than are asked for, by the look
 * of it.  0: there are enough. */
static size_t next_page(size_t count, size_t bytes)
{
    if (count >= PAWL_TURNS_EVENTS || bytes >= EVENTS_BYTES)
        return 0;
    size_t fit = (EVENTS_BYTES - bytes) / (bytes / count) + 1, left = PAWL_TURNS_EVENTS - count;

    return fit < left ? fit : left;
}

pawl_status hand_out_events(pawl_store *store, uint64_t uid, uint64_t run, uint64_t after,
                            pawl_mem *mem, const pawl_event **ret, size_t *retcount,
                            pawl_error *err)
{
    LIST(pawl_event) all = {0};
    size_t bytes = 0, page = EVENTS_FIRST;
    pawl_status rc = PAWL_OK;

    while (page && rc == PAWL_OK) {
        pawl_event_list list = {0};
        uint64_t from = all.count ? all.items[all.count - 1].seq : after;
        rc = store_read_history(store, uid, run, from, (uint32_t)page, mem, &list, err);
        for (size_t i = 0; rc == PAWL_OK && i < list.count && (!bytes || bytes < EVENTS_BYTES);
             i++) {
            *list_add(mem, &all) = list.items[i];
            bytes += bytes_of(&list.items[i]);
        }
        page = rc == PAWL_OK && list.count == page ? next_page(all.count, bytes) : 0;
    }
    *ret = all.items;
    *retcount = all.count;
    return rc;
}

/* What the code behind a new execution finds published. */
static void put_carried(struct exchange *ex, const struct hand_out *h, pawl_turn *t)
{
    size_t cursor = 0, n = 0;
    pawl_str key, value;

    while (h->x && execution_next_state(h->x, &cursor, &key, &value))
        n++;
    if (!n)
        return;
    pawl_event *list = arena_array(&ex->mem, pawl_event, n);
    for (cursor = 0; execution_next_state(h->x, &cursor, &key, &value);)
        list[t->carried_count++] = (pawl_event){.kind = PAWL_EV_STATE_CARRIED,
                                                .name = arena_dup(&ex->mem, key),
                                                .data = arena_dup(&ex->mem, value),
                                                .at_ms = h->at_ms};
    t->carried = list;
}

static void put_message(struct exchange *ex, pawl_turn *t, const pawl_event *message, int64_t at_ms)
{
    pawl_event *list = (pawl_event *)(uintptr_t)t->messages; /* it is this file's */

    list[t->message_count] = copy_event(&ex->mem, message);
    list[t->message_count++].at_ms = at_ms;
    ex->turn_bytes += bytes_of(message);
}

static void fill(pawl_runtime *rt, struct exchange *ex, const struct hand_out *h,
                 struct remote_run *run, pawl_turn *t)
{
    pawl_mem *mem = &ex->mem;

    t->token = turn_token_make(rt, mem,
                               &(struct turn_token){h->uid, h->execution, h->seq, run_serial(run),
                                                    session_tag(ex->session)});
    t->run = pawl_mem_printf(mem, "%llu.%llu", (unsigned long long)h->uid,
                             (unsigned long long)h->execution);
    t->instance = arena_dup(mem, h->instance);
    t->execution = h->execution;
    t->orchestration = pawl_s(h->code->name);
    t->version = pawl_s(h->code->version);
    t->seq = h->seq;
    t->until_ms = run_until(rt, run);
}

bool hand_out_turn(pawl_runtime *rt, struct exchange *ex, const struct hand_out *h,
                   const pawl_event *message, struct letter *l)
{
    const struct remote_run *before = run_find(rt, h->uid);
    bool knows = before && before->session == ex->session;
    uint64_t after = knows ? run_known(before, h->execution) : 0;
    const pawl_event *events = NULL;
    size_t count = 0;
    pawl_error err;

    if (after > h->seq)
        after = 0;
    if (after < h->seq && hand_out_events(rt->store, h->uid, h->execution, after, &ex->mem, &events,
                                          &count, &err) != PAWL_OK)
        return false;
    pawl_turn *t = exchange_add_turn(rt, ex);
    if (!t)
        return false;
    struct remote_run *run = run_give(rt, ex, h->uid, h->code,
                                      &(struct turn_token){h->uid, h->execution, h->seq, 0, 0}, l);
    run_set_start(run, h->start_attrs, h->at_ms);
    fill(rt, ex, h, run, t);
    t->after = after;
    t->events = events;
    t->event_count = count;
    for (size_t i = 0; i < count; i++)
        ex->turn_bytes += bytes_of(&events[i]);
    t->more = after + count < h->seq;
    t->messages = arena_array(&ex->mem, pawl_event, RUN_BATCH_MAX);
    if (message)
        put_message(ex, t, message, h->at_ms);
    if (h->start_attrs.len)
        put_carried(ex, h, t);
    return true;
}

/* The turn of this run among those that are being put together. */
static pawl_turn *turn_of(pawl_runtime *rt, const struct remote_run *run, struct exchange **retex)
{
    for (struct exchange *ex = rt->hands.remotes->waiting; ex; ex = ex->next)
        for (size_t i = 0; i < ex->turn_count && ex->session == run->session; i++) {
            struct turn_token t;
            if (turn_token_read(rt, ex->turns[i].token, &t) && t.uid == run->uid &&
                t.serial == run->serial) {
                *retex = ex;
                return &ex->turns[i];
            }
        }
    return NULL;
}

static void put_lease(struct exchange *ex, pawl_turn *t, const pawl_turn_lease *lease)
{
    if (!t->leases)
        t->leases = arena_array(&ex->mem, pawl_turn_lease, RUN_BATCH_MAX);
    pawl_turn_lease *to = (pawl_turn_lease *)(uintptr_t)&t->leases[t->lease_count++];

    *to = *lease;
    to->lease = arena_dup(&ex->mem, lease->lease);
    to->key = arena_dup(&ex->mem, lease->key);
    ex->after_commit = true;
}

bool hand_out_lease(pawl_runtime *rt, struct exchange *ex, const struct hand_out *h,
                    const pawl_turn_lease *lease)
{
    struct remote_run *run = run_find(rt, h->uid);
    pawl_turn *t = NULL;

    if (run_is_out(run))
        t = run->unsent ? turn_of(rt, run, &ex) : NULL;
    else if (hand_out_turn(rt, ex, h, NULL, NULL))
        t = &ex->turns[ex->turn_count - 1];
    if (!t || t->lease_count >= RUN_BATCH_MAX)
        return false;
    put_lease(ex, t, lease);
    return true;
}

bool hand_out_more(pawl_runtime *rt, struct remote_run *run, const pawl_event *message,
                   struct letter *l)
{
    struct exchange *ex = NULL;
    pawl_turn *t = run->unsent ? turn_of(rt, run, &ex) : NULL;

    if (!t || exchange_is_full(ex) || !run_add(rt, run, l))
        return false;
    put_message(ex, t, message, run->at_ms);
    return true;
}
