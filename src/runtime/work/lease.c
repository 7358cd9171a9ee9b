/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/lease.c -- see lease.h, and pawl/worker.h for the contract: rows, polls, answers.
 *
 * Every call is answered once: with the commit of the stage it is on, or at once when it
 * changes nothing.  Called by loop.c, group.c, refuse.c, close.c, overdue.c
 * and by_token.c.
 */
#include "runtime/work/lease.h"

#include "base/fit.h"
#include "base/limits.h"
#include "runtime/core/audience.h"
#include "runtime/core/figures.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/core/tally.h"
#include "runtime/core/timers.h"
#include "runtime/core/token.h"
#include "runtime/core/tray.h"
#include "runtime/work/activity.h"
#include "runtime/work/attempt.h"
#include "runtime/work/crew.h"
#include "runtime/work/details.h"
#include "runtime/work/handout.h"
#include "runtime/work/handout_load.h"
#include "runtime/work/jobs.h"
#include "runtime/work/once.h"
#include "runtime/work/tries.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Answers -------------------------------------------------------------------- */

/* Laid out for a program whose structs have other sizes than ours. */
static const pawl_worker_reply *fitted(struct lease_call *q, const pawl_worker_reply *reply)
{
    pawl_worker_reply *to = arena_zalloc(&q->mem, sizeof(*to) + q->reply_bytes);
    *to = *reply;
    to->leases = FIT_ITEMS(&q->mem, reply->leases, reply->count, q->lease_bytes);
    return to;
}

static void answer(struct lease_call *q, const pawl_worker_reply *reply)
{
    if (UNLIKELY(q->reply_bytes > sizeof(*reply) || q->lease_bytes != sizeof(pawl_lease)))
        reply = fitted(q, reply);
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
    pawl_status status = health_ending(rt, &text);
    refuse((struct lease_call *)(void *)item, status, text);
}

void lease_stop(pawl_runtime *rt)
{
    while (rt->leases.polls) {
        struct lease_call *q = rt->leases.polls;
        rt->leases.polls = q->next;
        lease_refuse(rt, &q->item);
    }
    rt->leases.polls_end = &rt->leases.polls;
}

void lease_committed(pawl_runtime *rt, struct stage *s)
{
    struct lease_call *q = s->lease;
    s->lease = NULL;
    if (!q)
        return;
    COUNT_BY(rt, activities_started, q->reply.count);
    for (size_t i = 0; i < q->reply.count; i++)
        audience_attempt(rt, resident_by_id(rt, q->reply.leases[i].instance));
    answer(q, &q->reply);
}

struct item *lease_back(struct stage *s)
{
    struct lease_call *q = s->lease;
    s->lease = NULL;
    return q ? &q->item : NULL;
}

/* ---- The row ---------------------------------------------------------------------- */

int64_t lease_deadline(const struct call_policy *p, const pawl_work *w, pawl_str token,
                       int64_t now_ms, int64_t until_ms)
{
    int64_t at = attempt_lease_deadline(p, w, token, now_ms);
    bool for_ever = until_ms - now_ms > ATTEMPT_LEASE_MS / 2; /* pawl_pending() */
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
    *u = (pawl_work_update){.id = w->id,
                            .attempt = w->attempt,
                            .crashes = w->crashes,
                            .visible_ms = w->visible_ms,
                            .deadline_ms =
                                token ? lease_deadline(&p, w, pawl_s(token), rt->now_ms, until_ms)
                                      : job_deadline(&p, w->scheduled_ms, w->attempt > 0),
                            .last_error = arena_dup(&rt->group_mem, w->last_error)};
    if (token) {
        u->lock_token = arena_dup(&rt->group_mem, pawl_s(token));
        u->lock_until_ms = until_ms;
    }
    return s;
}

void lease_inline(pawl_runtime *rt, pawl_work *w, int64_t ms)
{
    struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
    char text[TOKEN_BYTES];
    token_make(rt, w, rt->now_ms, text);
    w->name = pawl_s(ENGINE_INLINE);
    w->lock_token = arena_dup(&rt->group_mem, pawl_s(text));
    w->lock_until_ms = rt->now_ms + ms;
    w->deadline_ms = lease_deadline(&p, w, w->lock_token, rt->now_ms, w->lock_until_ms);
}

struct attempt_how lease_how(pawl_runtime *rt, const pawl_work *w)
{
    struct attempt_how how = {.started_ms = token_began(w->lock_token, 0)};
    if (w->lock_token.len)
        how.worker = crew_holder(rt, w->id, &rt->group_mem);
    return how;
}

/* A worker went silent: the attempt is over, as if it had crashed. */
static void count_loss(pawl_runtime *rt, pawl_work *w)
{
    const struct attempt_how how = lease_how(rt, w);
    tries_note(rt, w, how.started_ms, how.worker, pawl_s("the worker's lease ran out"));
    w->attempt++;
    w->crashes++;
    w->last_error = pawl_s("the worker's lease ran out");
    w->lock_token = (pawl_str){0};
}

void lease_expired(pawl_runtime *rt, const pawl_work *row, const struct call_policy *p)
{
    pawl_work w = *row;
    if (once_is_lost(p, row)) {
        once_lost(rt, row);
        return;
    }
    count_loss(rt, &w);
    if (w.crashes < attempt_crash_limit(rt, p)) {
        COUNT(rt, activities_retried);
        tally_activity(rt, w.name, PAWL_TALLY_RETRIED);
        (void)put_row(rt, NULL, &w, NULL, 0);
        return;
    }
    pawl_str why =
        pawl_mem_printf(&rt->group_mem, "poison: activity '%.*s' lost its lease %u times",
                        PAWL_FMT(tray_activity(w.name)), w.crashes);
    attempt_decided(rt, row, PAWL_RESULT_POISON, row->attempt - row->crashes, why,
                    &(struct attempt_how){0});
}

/* The leased row a token speaks of.  NOT_FOUND: decided or withdrawn; LOST: another's. */
static pawl_status row_of(pawl_runtime *rt, const struct lease_call *q, pawl_work *ret,
                          pawl_error *reterr)
{
    const char *token = q->token;
    uint64_t id = token_work(token);
    const struct known *known = known_now(rt, &q->known);
    pawl_work_list list = {0};
    if (!id)
        return PAWL_LOST; /* never was a token */
    arena_reset(&rt->load_mem);
    pawl_status rc =
        known ? PAWL_OK : store_read_work(rt->store, &id, 1, &rt->load_mem, &list, reterr);
    if (rc != PAWL_OK)
        return rc;
    const pawl_work *row = known ? known->work : list.count ? &list.items[0] : NULL;
    if (!row)
        return PAWL_NOT_FOUND;
    *ret = *row;
    return pawl_str_is(ret->lock_token, token) && ret->lock_until_ms > rt->now_ms ? PAWL_OK
                                                                                  : PAWL_LOST;
}

pawl_status lease_row_of(pawl_runtime *rt, pawl_str token, pawl_work *ret, pawl_error *reterr)
{
    struct lease_call q = {0};
    (void)snprintf(q.token, sizeof(q.token), "%.*s", PAWL_FMT(token));
    return row_of(rt, &q, ret, reterr);
}

static enum verdict_kind change_row(pawl_runtime *rt, struct lease_call *q)
{
    pawl_work w;
    pawl_error err = {0};
    pawl_status rc = row_of(rt, q, &w, &err);
    if (rc == PAWL_NOT_FOUND && q->op == LEASE_EXTEND) {
        answer(q, &(pawl_worker_reply){.status = PAWL_OK, .cancelled = true});
        return VERDICT_DONE;
    }
    if (rc == PAWL_LOST || rc == PAWL_NOT_FOUND) {
        refuse(q, PAWL_LOST,
               "the lease was lost: the work was completed, cancelled, timed out, or given to "
               "another worker");
        return VERDICT_DONE;
    }
    if (rc != PAWL_OK) {
        refuse(q, rc, err.text);
        return VERDICT_DONE;
    }
    if (stage_has_work(rt, w.id))
        return VERDICT_FIRST;
    struct stage *s;
    q->reply = (pawl_worker_reply){.status = PAWL_OK};
    if (q->op == LEASE_EXTEND) {
        q->reply.locked_until_ms = rt->now_ms + q->lock_ms;
        s = put_row(rt, NULL, &w, q->token, q->reply.locked_until_ms);
        if (q->details.len)
            details_put(rt, w.id, q->details);
        crew_leased(rt, (pawl_str){0}, &w, q->reply.locked_until_ms);
    } else {
        crew_freed(rt, w.id);
        w.visible_ms = q->delay_ms ? rt->now_ms + q->delay_ms : 0;
        s = put_row(rt, NULL, &w, NULL, 0);
    }
    s->lease = q;
    return VERDICT_DONE;
}

pawl_status lease_fetch_inline(pawl_runtime *rt, uint32_t max, pawl_mem *mem, pawl_work_list *ret,
                               pawl_error *err)
{
    const pawl_str tray = pawl_s(ENGINE_INLINE);
    return store_fetch_work(rt->store, rt->now_ms, &tray, 1, max, mem, ret, err);
}

bool lease_inline_again(pawl_runtime *rt, pawl_work *w, int64_t ms)
{
    struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
    char text[TOKEN_BYTES];
    if (timers_put_early_work(rt, w) || stage_has_work(rt, w->id))
        return false;
    if (w->lock_token.len &&
        (once_is_lost(&p, w) || w->crashes + 1 >= attempt_crash_limit(rt, &p))) {
        lease_expired(rt, w, &p);
        return false;
    }
    if (w->lock_token.len) /* its lease ran out a moment ago */
        count_loss(rt, w);
    token_make(rt, w, rt->now_ms, text);
    w->lock_token = arena_dup(&rt->group_mem, pawl_s(text));
    w->lock_until_ms = rt->now_ms + ms;
    (void)put_row(rt, NULL, w, w->lock_token.ptr, w->lock_until_ms);
    return true;
}

#define POLL_BYTES ((size_t)4 << 20) /* of inputs in one answer; one may be larger */
#define POLL_PIECE 32                /* rows read at once */

/* ---- Polls -------------------------------------------------------------------------- */

/* A poll in progress. */
struct polling {
    struct lease_call *q;
    struct stage *s;             /* with the leases; NULL: none yet */
    LIST(uint64_t) later;        /* taken, but not to be leased in this pass */
    size_t bytes;                /* of the inputs leased */
    struct fair_class **classes; /* whose trays it may have */
    size_t class_count;
    pawl_str details;      /* what an earlier attempt of the row left */
    const pawl_str *plain; /* its trays that are not handed out in turn */
    size_t plain_count;
};

/* May the row be leased now? */
static bool accept_row(pawl_runtime *rt, struct polling *at, pawl_work *w)
{
    if (timers_put_early_work(rt, w) || job_find(rt, w->id))
        return false;
    bool full = at->bytes >= POLL_BYTES;
    at->details = (pawl_str){0};
    if (UNLIKELY(details_has(rt, w->id)) &&
        !details_read(rt, w->id, &rt->group_mem, &at->details)) {
        *list_add(&rt->group_mem, &at->later) = w->id;
        return false;
    }
    if (full || stage_has_work(rt, w->id)) { /* its result came in time: about to be recorded */
        *list_add(&rt->group_mem, &at->later) = w->id;
        return false;
    }
    if (w->lock_token.len) { /* its lease ran out a moment ago */
        struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
        if (once_is_lost(&p, w) || w->crashes + 1 >= attempt_crash_limit(rt, &p)) {
            lease_expired(rt, w, &p);
            return false;
        }
        count_loss(rt, w);
    }
    return true;
}

static void lease_row(pawl_runtime *rt, struct polling *at, const pawl_work *w, pawl_lease *to)
{
    pawl_mem *mem = &rt->group_mem;
    char key[ACTIVITY_KEY_BYTES], text[TOKEN_BYTES];
    token_make(rt, w, rt->now_ms, text);
    pawl_str token = arena_dup(mem, pawl_s(text));
    *to = (pawl_lease){.token = token,
                       .instance = arena_dup(mem, w->instance),
                       .execution = w->execution,
                       .id = w->ref,
                       .activity = arena_dup(mem, tray_activity(w->name)),
                       .input = arena_dup(mem, w->input),
                       .key = arena_dup(mem, pawl_s(activity_key(w, key))),
                       .attempt = w->attempt + 1,
                       .locked_until_ms = rt->now_ms + at->q->lock_ms,
                       .details = at->details};
    at->s = put_row(rt, at->s, w, token.ptr, to->locked_until_ms);
    crew_freed(rt, w->id); /* of the worker that had it before */
    crew_leased(rt, at->q->worker, w, to->locked_until_ms);
    job_began(rt, w, job_is_suspect(rt, w->id), rt->now_ms);
    at->bytes += w->input.len + at->details.len;
}

static uint32_t piece_of(const struct polling *at)
{
    uint32_t left = at->q->max - (uint32_t)at->q->reply.count;
    return left < POLL_PIECE ? left : POLL_PIECE;
}

/* Lease rows whose turn it is, up to `most` leases and this priority. */
static void take_turns(pawl_runtime *rt, struct polling *at, pawl_lease *leases, size_t most,
                       uint32_t ceiling)
{
    pawl_worker_reply *reply = &at->q->reply;
    struct tray *tray;
    while (reply->count < most && at->bytes < POLL_BYTES &&
           (tray = handout_pick(rt, at->classes, at->class_count, ceiling))) {
        struct job *job = handout_next(rt, tray);
        if (!job)
            continue;
        pawl_work w = job->work;
        job_forget(rt, job);
        if (accept_row(rt, at, &w)) {
            handout_out(rt, tray, &w, true);
            lease_row(rt, at, &w, &leases[reply->count++]);
        } else {
            handout_later(rt, tray);
        }
        job_free(job);
    }
}

/* How many of a poll's leases trays of the default priority may have before all other work: half. */
static size_t share_of_turns(pawl_runtime *rt, const struct polling *at)
{
    size_t left = at->q->max - at->q->reply.count;
    rt->hands.handout->plain_next = !rt->hands.handout->plain_next;
    return at->q->reply.count + (left + rt->hands.handout->plain_next) / 2;
}

/* Lease rows of trays without a turn until there are enough of them, or no more. */
static pawl_status take_plain(pawl_runtime *rt, struct polling *at, pawl_lease *leases,
                              pawl_error *err)
{
    pawl_worker_reply *reply = &at->q->reply;
    pawl_work_list list;
    pawl_status rc = PAWL_OK;
    pawl_mem mem;
    if (!at->plain_count)
        return PAWL_OK;
    arena_init(&mem);
    do {
        arena_reset(&mem);
        rc = store_fetch_work(rt->store, rt->now_ms, at->plain, at->plain_count, piece_of(at), &mem,
                              &list, err);
        for (size_t i = 0; rc == PAWL_OK && i < list.count; i++) {
            pawl_work w = list.items[i];
            if (accept_row(rt, at, &w))
                lease_row(rt, at, &w, &leases[reply->count++]);
        }
    } while (rc == PAWL_OK && list.count && piece_of(at) && at->bytes < POLL_BYTES);
    arena_deinit(&mem);
    return rc;
}

/* Lowest priority first; without key and priority a call has the default one. */
static pawl_status take_rows(pawl_runtime *rt, struct polling *at, pawl_lease *leases,
                             pawl_error *err)
{
    const struct lease_call *q = at->q;
    at->plain = q->trays;
    at->plain_count = handout_plain(rt, &rt->group_mem, &at->plain, q->tray_count);
    if (LIKELY(!rt->hands.handout) || !handout_ready(rt))
        return take_plain(rt, at, leases, err);
    at->class_count = handout_classes(rt, q->trays, q->tray_count, &at->classes);
    if (!at->class_count)
        return take_plain(rt, at, leases, err);
    take_turns(rt, at, leases, q->max, LIMIT_PRIORITY_DEFAULT - 1);
    take_turns(rt, at, leases, share_of_turns(rt, at), LIMIT_PRIORITY_DEFAULT);
    pawl_status rc = piece_of(at) ? take_plain(rt, at, leases, err) : PAWL_OK;
    if (rc == PAWL_OK)
        take_turns(rt, at, leases, q->max, LIMIT_PRIORITY);
    return rc;
}

/* True: answered, refused, or answered with the commit of its stage. */
static bool try_poll(pawl_runtime *rt, struct lease_call *q)
{
    struct polling at = {.q = q};
    pawl_error err;
    pawl_lease *leases = arena_array(&rt->group_mem, pawl_lease, q->max);
    q->reply = (pawl_worker_reply){.status = PAWL_OK, .leases = leases};
    if (take_rows(rt, &at, leases, &err) != PAWL_OK) {
        health_unread(rt, &err);
        rt->leases.look = true;
    }
    if (at.later.count)
        store_abandon_work(rt->store, at.later.items, at.later.count);
    if (at.s)
        at.s->lease = q;
    return at.s != NULL;
}

static void poll_wait(pawl_runtime *rt, struct lease_call *q)
{
    if (!q->until_mono_ms)
        q->until_mono_ms = rt_mono(rt) + q->wait_ms;
    q->next = NULL;
    *rt->leases.polls_end = q;
    rt->leases.polls_end = &q->next;
}

enum verdict_kind lease_handle(pawl_runtime *rt, struct item *item)
{
    struct lease_call *q = (struct lease_call *)(void *)item;
    if (q->op != LEASE_POLL)
        return change_row(rt, q);
    crew_polled(rt, q);
    if (!try_poll(rt, q))
        poll_wait(rt, q);
    return VERDICT_DONE;
}

void lease_look(pawl_runtime *rt)
{
    struct lease_call *q = rt->leases.polls;
    if (!q || (!rt->leases.look && rt_mono(rt) < lease_next(rt)))
        return;
    bool look = rt->leases.look;
    rt->leases.look = false;
    rt->leases.polls = NULL;
    rt->leases.polls_end = &rt->leases.polls;
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
    for (struct lease_call **at = &rt->leases.polls; *at; at = &(*at)->next) {
        struct lease_call *q = *at;
        if (q->arg != arg)
            continue;
        *at = q->next;
        if (!*at)
            rt->leases.polls_end = at;
        answer(q, &(pawl_worker_reply){.status = PAWL_OK});
        return;
    }
}

int64_t lease_next(const pawl_runtime *rt)
{
    int64_t at = INT64_MAX;
    for (const struct lease_call *q = rt->leases.polls; q; q = q->next)
        if (q->until_mono_ms < at)
            at = q->until_mono_ms;
    return at;
}

void lease_open(pawl_runtime *rt)
{
    rt->leases.polls_end = &rt->leases.polls;
}
