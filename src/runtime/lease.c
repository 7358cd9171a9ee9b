/* SPDX-License-Identifier: MIT */
/*
 * runtime/lease.c -- see lease.h, and pawl/worker.h for the contract: rows, polls, answers.
 *
 * Every call is answered once: with the commit of the stage it is on, or at once when it
 * changes nothing.  Called by loop.c, group.c, close.c, job.c and retry.c.
 */
#include "runtime/lease.h"
#include "store/store.h"

#include "base/limits.h"
#include "runtime/activity.h"
#include "runtime/hold.h"
#include "runtime/job.h"
#include "runtime/loop.h"
#include "runtime/retry.h"
#include "runtime/stage.h"

#include <stdlib.h>

#define FETCH_TAGGED 32 /* more rows than asked for: some have tags of others */

/* ---- Answers -------------------------------------------------------------------- */

static void answer(struct lease_call *q, const pawl_worker_reply *reply)
{
    q->fn(q->arg, reply);
    arena_deinit(&q->mem);
    free(q);
}

static void refuse(struct lease_call *q, pawl_status status, const char *text)
{
    pawl_worker_reply reply = {.status = status};
    error_set(&reply.error, status, "%s", text);
    answer(q, &reply);
}

void lease_refuse(pawl_runtime *rt, struct item *item)
{
    const char *text;
    pawl_status status = runtime_ending(rt, &text);
    refuse((struct lease_call *)(void *)item, status, text);
}

void lease_stop(pawl_runtime *rt)
{
    while (rt->polls) {
        struct lease_call *q = rt->polls;
        rt->polls = q->next;
        lease_refuse(rt, &q->item);
    }
    rt->polls_end = &rt->polls;
}

void lease_committed(pawl_runtime *rt, struct stage *s)
{
    struct lease_call *q = s->lease;
    s->lease = NULL;
    if (!q)
        return;
    COUNT_BY(rt, activities_started, q->reply.count);
    answer(q, &q->reply);
}

struct item *lease_back(struct stage *s)
{
    struct lease_call *q = s->lease;
    s->lease = NULL;
    return q ? &q->item : NULL;
}

/* ---- The row ---------------------------------------------------------------------- */

int64_t lease_deadline(const struct call_policy *p, const pawl_work *w, int64_t now_ms,
                       int64_t until_ms)
{
    int64_t at = retry_lease_deadline(p, w, now_ms);
    bool for_ever = until_ms - now_ms > RETRY_LEASE_MS / 2; /* pawl_pending() */
    return for_ever || (at && at < until_ms) ? at : until_ms;
}

/* The row with this lease state, in a stage of its own (or `s`). */
static struct stage *put_row(pawl_runtime *rt, struct stage *s, const pawl_work *w,
                             const char *token, int64_t until_ms)
{
    struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
    if (!s)
        s = stage_bare(rt);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u =
        (pawl_work_update){.id = w->id,
                           .attempt = w->attempt,
                           .crashes = w->crashes,
                           .visible_ms = w->visible_ms,
                           .deadline_ms = token ? lease_deadline(&p, w, rt->now_ms, until_ms)
                                                : job_deadline(&p, w->scheduled_ms, w->attempt > 0),
                           .last_error = arena_dup(&rt->group_mem, w->last_error)};
    if (token) {
        u->lock_token = arena_dup(&rt->group_mem, pawl_s(token));
        u->lock_until_ms = until_ms;
    }
    return s;
}

/* A worker went silent: the attempt is over, as if it had crashed. */
static void count_loss(pawl_work *w)
{
    w->attempt++;
    w->crashes++;
    w->last_error = pawl_s("the worker's lease ran out");
    w->lock_token = (pawl_str){0};
}

void lease_expired(pawl_runtime *rt, const pawl_work *row, const struct call_policy *p)
{
    pawl_work w = *row;
    count_loss(&w);
    if (w.crashes < rt->opts.max_attempts) {
        COUNT(rt, activities_retried);
        (void)put_row(rt, NULL, &w, NULL, 0);
        return;
    }
    pawl_str why =
        pawl_mem_printf(&rt->group_mem, "poison: activity '%.*s' lost its lease %u times",
                        PAWL_FMT(w.name), w.crashes);
    (void)retry_failed(rt, row, p, why, RETRY_FINAL, false, NULL);
}

/* The leased row a token speaks of.  NOT_FOUND: decided or withdrawn; LOST: another's. */
static pawl_status row_of(pawl_runtime *rt, const char *token, pawl_work *ret, pawl_error *reterr)
{
    uint64_t id = token[0] == 'w' ? strtoull(token + 1, NULL, 10) : 0;
    pawl_work_list list = {0};
    if (!id)
        return PAWL_LOST; /* never was a token */
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_work(rt->store, &id, 1, &rt->load_mem, &list, reterr);
    if (rc != PAWL_OK)
        return rc;
    if (list.count == 0)
        return PAWL_NOT_FOUND;
    *ret = list.items[0];
    return pawl_str_is(ret->lock_token, token) && ret->lock_until_ms > rt->now_ms ? PAWL_OK
                                                                                  : PAWL_LOST;
}

static bool is_on_the_way(const struct letter *l, uint64_t id)
{
    while (l && l->work_id != id)
        l = l->next;
    return l != NULL;
}

bool lease_is_staged(const pawl_runtime *rt, uint64_t id)
{
    for (const struct stage *s = rt->stages; s; s = s->next) {
        for (size_t i = 0; i < s->work_updates.count; i++)
            if (s->work_updates.items[i].id == id)
                return true;
        for (size_t i = 0; i < s->need_work.count; i++)
            if (s->need_work.items[i] == id)
                return true;
    }
    return is_on_the_way(rt->todo, id) || is_on_the_way(rt->later, id); /* later: put off */
}

static void change_row(pawl_runtime *rt, struct lease_call *q)
{
    pawl_work w;
    pawl_error err = {0};
    pawl_status rc = row_of(rt, q->token, &w, &err);
    if (rc == PAWL_NOT_FOUND && q->op == LEASE_EXTEND) {
        answer(q, &(pawl_worker_reply){.status = PAWL_OK, .cancelled = true});
        return;
    }
    if (rc == PAWL_LOST || rc == PAWL_NOT_FOUND) {
        refuse(q, PAWL_LOST,
               "the lease was lost: the work was completed, cancelled, timed out, or given to "
               "another worker");
        return;
    }
    if (rc != PAWL_OK) {
        refuse(q, rc, err.text);
        return;
    }
    if (lease_is_staged(rt, w.id)) {
        loop_put_off(rt, &q->item);
        return;
    }
    struct stage *s;
    q->reply = (pawl_worker_reply){.status = PAWL_OK};
    if (q->op == LEASE_EXTEND) {
        q->reply.locked_until_ms = rt->now_ms + q->lock_ms;
        s = put_row(rt, NULL, &w, q->token, q->reply.locked_until_ms);
    } else {
        w.visible_ms = q->delay_ms ? rt->now_ms + q->delay_ms : 0;
        s = put_row(rt, NULL, &w, NULL, 0);
    }
    s->lease = q;
}

/* ---- Polls -------------------------------------------------------------------------- */

static bool is_for(const struct lease_call *q, pawl_str tag)
{
    for (size_t i = 0; i < q->tag_count; i++)
        if (pawl_str_eq(q->tags[i], tag))
            return true;
    return tag.len == 0;
}

/* May the row be leased to this poll now? */
static bool accept_row(pawl_runtime *rt, struct lease_call *q, pawl_work *w)
{
    if (w->visible_ms > rt->now_ms) { /* no delayed visibility */
        hold_work(rt, w->id, w->visible_ms);
        return false;
    }
    if (map_get(&rt->jobs, w->id))
        return false;
    if (lease_is_staged(rt, w->id)) { /* its result came in time and is about to be recorded */
        rt->store->ops->abandon_work(rt->store, &w->id, 1);
        return false;
    }
    struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
    if (q->reply.count >= q->max || !is_for(q, p.tag)) {
        rt->store->ops->abandon_work(rt->store, &w->id, 1);
        return false;
    }
    if (w->lock_token.len) { /* its lease ran out a moment ago */
        if (w->crashes + 1 >= rt->opts.max_attempts) {
            lease_expired(rt, w, &p);
            return false;
        }
        count_loss(w);
    }
    return true;
}

static void lease_row(pawl_runtime *rt, struct lease_call *q, struct stage **s, const pawl_work *w,
                      pawl_lease *to)
{
    pawl_mem *mem = &rt->group_mem;
    uint64_t bits[2];
    char key[ACTIVITY_KEY_BYTES];
    rt->env.random(rt->env.user, bits, sizeof(bits));
    pawl_str token = pawl_mem_printf(mem, "w%llu.%016llx%016llx", (unsigned long long)w->id,
                                     (unsigned long long)bits[0], (unsigned long long)bits[1]);
    *to = (pawl_lease){.token = token,
                       .instance = arena_dup(mem, w->instance),
                       .execution = w->execution,
                       .id = w->ref,
                       .activity = arena_dup(mem, w->name),
                       .input = arena_dup(mem, w->input),
                       .key = arena_dup(mem, pawl_s(activity_key(w, key))),
                       .attempt = w->attempt + 1,
                       .locked_until_ms = rt->now_ms + q->lock_ms};
    *s = put_row(rt, *s, w, token.ptr, to->locked_until_ms);
    job_began(rt, w, rt->now_ms);
}

/* True: answered, refused, or answered with the commit of its stage. */
static bool try_poll(pawl_runtime *rt, struct lease_call *q)
{
    pawl_work_list list;
    pawl_error err;
    uint32_t limit = q->max + FETCH_TAGGED;
    pawl_mem mem;
    arena_init(&mem);
    struct stage *s = NULL;
    pawl_status rc =
        store_fetch_work(rt->store, rt->now_ms, q->names, q->name_count, limit, &mem, &list, &err);
    if (rc != PAWL_OK) {
        loop_unread(rt, &err);
        rt->lease_look = true;
        arena_deinit(&mem);
        return false;
    }
    q->reply = (pawl_worker_reply){.status = PAWL_OK};
    pawl_lease *leases = arena_array(&rt->group_mem, pawl_lease, q->max);
    for (size_t i = 0; i < list.count; i++) {
        pawl_work w = list.items[i];
        if (accept_row(rt, q, &w))
            lease_row(rt, q, &s, &w, &leases[q->reply.count++]);
    }
    q->reply.leases = leases;
    if (s)
        s->lease = q;
    arena_deinit(&mem);
    return s != NULL;
}

static void poll_wait(pawl_runtime *rt, struct lease_call *q)
{
    if (!q->until_mono_ms)
        q->until_mono_ms = rt_mono(rt) + q->wait_ms;
    q->next = NULL;
    *rt->polls_end = q;
    rt->polls_end = &q->next;
}

void lease_handle(pawl_runtime *rt, struct item *item)
{
    struct lease_call *q = (struct lease_call *)(void *)item;
    if (q->op != LEASE_POLL)
        change_row(rt, q);
    else if (!try_poll(rt, q))
        poll_wait(rt, q);
}

void lease_look(pawl_runtime *rt)
{
    struct lease_call *q = rt->polls;
    if (!q || (!rt->lease_look && rt_mono(rt) < lease_next(rt)))
        return;
    bool look = rt->lease_look;
    rt->lease_look = false;
    rt->polls = NULL;
    rt->polls_end = &rt->polls;
    int64_t mono = rt_mono(rt);
    for (struct lease_call *next; q; q = next) {
        next = q->next;
        if (look && try_poll(rt, q))
            continue;
        if (mono >= q->until_mono_ms)
            answer(q, &(pawl_worker_reply){.status = PAWL_OK});
        else
            poll_wait(rt, q);
    }
}

void lease_end_wait(pawl_runtime *rt, const void *arg)
{
    for (struct lease_call **at = &rt->polls; *at; at = &(*at)->next) {
        struct lease_call *q = *at;
        if (q->arg != arg)
            continue;
        *at = q->next;
        if (!*at)
            rt->polls_end = at;
        answer(q, &(pawl_worker_reply){.status = PAWL_OK});
        return;
    }
}

int64_t lease_next(const pawl_runtime *rt)
{
    int64_t at = INT64_MAX;
    for (const struct lease_call *q = rt->polls; q; q = q->next)
        if (q->until_mono_ms < at)
            at = q->until_mono_ms;
    return at;
}
