/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/group.c -- see group.h.
 *
 * Before the commit nothing of a stage is visible.  After it, in this order: residents
 * take over the rows, answers go out, work is handed out, messages are delivered.  A
 * round that was not committed leaves no trace in memory: its resident is evicted, and
 * its letters go back to the head of the list, in order.
 *
 * Storage errors: FULL, BUSY and the like mean "not committed": back off and try
 * again, spend no attempts.  After UNKNOWN the group stays staged and the store is asked
 * (doubt.h).  If it can never tell, stop at once without drain; the next start finds out
 * (exit status 75).
 */
#include "runtime/loop/group.h"

#include "base/clock.h"
#include "runtime/core/audience.h"
#include "runtime/core/coming.h"
#include "runtime/core/doubt.h"
#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/core/peek.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/core/tally.h"
#include "runtime/core/token.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/elsewhere.h"
#include "runtime/instance/park.h"
#include "runtime/instance/seal.h"
#include "runtime/instance/updates.h"
#include "runtime/queue/queue_pass.h"
#include "runtime/request/retain.h"
#include "runtime/request/turns_answer.h"
#include "runtime/work/deal.h"
#include "runtime/work/details.h"
#include "runtime/work/handout.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/once.h"
#include "runtime/work/work_limits.h"
#include "store/store.h"
#include "tables/awaitables.h"

#include <string.h>

#define TRIES_MAX 8    /* a letter that the store refuses this often is dropped with an error */
#define SLOW_US   3000 /* a slower commit must not run on a thread that serves others, */
#define SLOW_FOR  8    /* and neither do this many commits after it */
#define TODO_MAX  2048 /* letters in memory; further messages stay in the store */

/* ---- Committed ------------------------------------------------------------------ */

static void answer(const struct stage *s, struct letter *l)
{
    pawl_reply reply = {.status = PAWL_OK};
    if (l->mail.kind == PAWL_MSG_START) {
        reply.created = !l->duplicate && !l->reruns;
        reply.execution = l->reruns ? s->base_execution + 1 : l->duplicate ? s->row.execution : 1;
        size_t most = sizeof(reply.instance) - 1, n = s->row.id.len;
        memcpy(reply.instance, s->row.id.ptr, n < most ? n : most);
    }
    letter_answer(l, &reply);
}

static void release_letters(pawl_runtime *rt, struct stage *s)
{
    if (s->call)
        request_answer(s->call, s->reply ? s->reply : &(pawl_reply){.status = PAWL_OK});
    s->call = NULL;
    while (s->letters) {
        struct letter *l = s->letters;
        s->letters = l->next;
        if (updates_hangs(l)) { /* it is durable: its client waits for the answer */
            updates_hang(rt, s, l);
            continue;
        }
        if (l->asked && l->ask.op == PAWL_OP_UPDATE)
            updates_answer_repeated(l);
        else if (l->asked)
            answer(s, l);
        letter_drop(rt, l, PAWL_OK, "");
    }
}

static bool is_quiet(const struct stage *s, uint64_t id)
{
    for (size_t i = 0; i < s->quiet.count; i++)
        if (s->quiet.items[i] == id)
            return true;
    return false;
}

/* There are too many letters in memory: this message stays in the store, and so do all later
 * ones, to be fetched in their order. */
static bool lies(pawl_runtime *rt, const pawl_message *m)
{
    if (!due_has_lying_mail(rt) && letter_count(rt) < TODO_MAX)
        return false;
    due_mail_lies(rt);
    if (m->kind == PAWL_MSG_START && !m->uid)
        coming_add(rt, m);
    store_abandon_messages(rt->store, &m->id, 1);
    return true;
}

/* Messages inserted by the round: deliver now, or remember when. */
static void send_on(pawl_runtime *rt, struct stage *s)
{
    for (size_t i = 0; i < s->messages.count; i++) {
        const pawl_message *m = &s->messages.items[i];
        if (m->mailbox || is_quiet(s, m->id))
            continue;
        if (m->visible_ms > rt->now_ms) {
            due_at(rt, m->visible_ms);
            continue;
        }
        struct letter *l = lies(rt, m) ? NULL : letter_of_row(rt, m);
        if (l)
            letter_todo(rt, l);
    }
    for (size_t i = 0; i < s->message_updates.count; i++) {
        const pawl_message_update *u = &s->message_updates.items[i];
        if (!u->mailbox)
            due_at(rt, u->visible_ms);
    }
}

static void row_gone(pawl_runtime *rt, uint64_t work_id)
{
    handout_gone(rt, work_id);
    job_withdraw(rt, work_id);
    if (UNLIKELY(details_any(rt)))
        details_gone(rt, work_id);
}

static void hand_out(pawl_runtime *rt, struct stage *s)
{
    for (size_t i = 0; i < s->work.count; i++) {
        if (s->work.items[i].deadline_ms)
            due_at(rt, s->work.items[i].deadline_ms);
        if (handout_has(rt, &s->work.items[i]))
            handout_added(rt, &s->work.items[i]);
        else if (s->work.items[i].lock_epoch)
            job_take(rt, &s->work.items[i]);
        else
            lease_may_find(rt);
    }
    for (size_t i = 0; i < s->work_updates.count; i++) {
        const pawl_work_update *u = &s->work_updates.items[i];
        if (rt->hands.handout)
            handout_changed(rt, u);
        if (u->deadline_ms)
            due_at(rt, u->deadline_ms);
        if (u->visible_ms > rt->now_ms)
            due_at(rt, u->visible_ms);
        else if (!u->lock_epoch && !u->lock_token.len) {
            jobs_lie(rt);
            lease_may_find(rt);
        }
        if (!u->lock_epoch && !u->lock_token.len) /* failed by its token while it ran */
            job_withdraw(rt, u->id);
    }
    for (size_t i = 0; i < s->need_work.count; i++) /* timed out: they must not begin */
        row_gone(rt, s->need_work.items[i]);
    for (size_t i = 0; i < s->drop_work.count; i++)
        row_gone(rt, s->drop_work.items[i]);
    if (UNLIKELY(s->removed && rt->hands.handout))
        handout_removed(rt, s->row.uid);
    if (UNLIKELY(s->objects.count && rt->hands.handout))
        deal_begin(rt, limits_committed(rt, s));
}

static void tell_execution(struct resident *r, const struct stage *s)
{
    if (!r->x)
        return;
    for (size_t i = 0; i < s->events.count; i++) {
        const pawl_event *e = &s->events.items[i];
        if (e->ref && e->execution == s->row.execution && awaitable_opens(e->kind))
            execution_committed(r->x, e->ref, e->rid);
    }
}

static void warn_of_length(pawl_runtime *rt, const struct stage *s)
{
    uint64_t mark = (uint64_t)rt->opts.max_history * 8 / 10;
    if (s->base_seq < mark && s->row.last_seq >= mark && s->base_execution == s->row.execution)
        log_warn(&rt->log, "turn", "history is long; continue as new before the limit",
                 "instance=%.*s events=%llu limit=%u", PAWL_FMT(s->row.id),
                 (unsigned long long)s->row.last_seq, rt->opts.max_history);
}

/* The resident takes over the row of its round, or leaves memory. */
static void settle_resident(pawl_runtime *rt, struct stage *s)
{
    struct resident *r = s->r;
    r->stage = NULL;
    if (s->removed || s->ended || r->doomed || rt->opts.hostile) {
        resident_evict(rt, r);
        return;
    }
    tell_execution(r, s);
    if (s->change == PAWL_ROW_LAST) {
        r->row.last_seq = s->row.last_seq;
        r->row.last_rid = s->row.last_rid;
        r->row.updated_ms = s->row.updated_ms;
    } else if (s->change != PAWL_ROW_NONE) {
        resident_set_row(r, &s->row);
    }
    resident_weigh(rt, r);
}

/* Tell observers of the instance that an attempt failed and another follows, or that one begins. */
static void tell_attempt(pawl_runtime *rt, const struct stage *s)
{
    if (s->job)
        audience_attempt(rt, resident_by_uid(rt, s->job->work.uid));
    if (s->call && s->call->ask.op == PAWL_OP_COMPLETE)
        audience_attempt(rt, resident_by_uid(rt, token_uid(s->call->mail.name.ptr)));
}

static void stage_committed(pawl_runtime *rt, struct stage *s)
{
    if (s->queue)
        queue_committed(rt);
    COUNT_BY(rt, events, s->events.count);
    if (s->r) {
        warn_of_length(rt, s);
        audience_change(rt, s);
        tally_stage(rt, s);
        if (!s->removed && pawl_state_is_terminal(s->row.state))
            retain_ended(rt);
    }
    tell_attempt(rt, s);
    if (s->adopted)
        adopt_done(rt, s->row.id);
    send_on(rt, s); /* before the letters are freed: its messages may point into them */
    release_letters(rt, s);
    updates_tell(rt, s);
    once_committed(rt, s->job);
    lease_committed(rt, s);
    peek_committed(rt, s);
    RT_POINT(rt, "handout.before");
    hand_out(rt, s);
    uint64_t uid = s->row.uid;
    bool unpile = s->unpile;
    if (UNLIKELY(s->exchange))
        turns_committed(rt, s);
    if (s->r) {
        elsewhere_committed(rt, s);
        settle_resident(rt, s);
    }
    if (unpile)
        turn_unpile(rt, uid);
}

/* ---- Not committed ------------------------------------------------------------------ */

/* Was this refused, fused completion decided before?  Then its work row is gone. */
static bool is_decided(pawl_runtime *rt, const struct stage *s, const struct letter *l,
                       pawl_why why)
{
    pawl_work_list list;
    pawl_error err;
    if (!l->work_id || why == PAWL_WHY_EXISTS)
        return false;
    if (why == PAWL_WHY_WORK_GONE && s->need_work.count == 1)
        return s->need_work.items[0] == l->work_id;
    return store_read_work(rt->store, &l->work_id, 1, &rt->load_mem, &list, &err) == PAWL_OK &&
           list.count == 0;
}

/* The items that are done again, in order. */
struct back {
    struct letter *letters, **letters_end;
    struct item *items, **items_end;
};

static struct back back_none(struct back *b)
{
    return (struct back){.letters_end = &b->letters, .items_end = &b->items};
}

static void back_item(struct back *b, struct item *item)
{
    item->next = NULL;
    *b->items_end = item;
    b->items_end = &item->next;
}

static void back_all(pawl_runtime *rt, struct back *b)
{
    letter_back(rt, b->letters);
    items_back(rt, b->items, b->items_end);
}

/* Act again on the call that this stage would have answered. */
static void call_back(struct stage *s, bool refused, struct back *b)
{
    struct letter *call = s->call;
    s->call = NULL;
    if (!call)
        return;
    call->tries += refused;
    if (call->tries > TRIES_MAX)
        request_refuse(call, PAWL_CONFLICT, "the store refused it again and again");
    else
        back_item(b, &call->item);
}

/* Undo the changes of work rows: decide the attempt again, or free the row. */
static void work_back(pawl_runtime *rt, struct stage *s, struct back *b)
{
    if (!s->work_updates.count)
        return;
    due_deadlines(rt, true);
    if (s->job) {
        job_undecided(rt, s->job);
        back_item(b, &s->job->item);
        s->job = NULL;
        return;
    }
    for (size_t i = 0; i < s->work_updates.count; i++) {
        uint64_t id = s->work_updates.items[i].id;
        bool held = s->work_updates.items[i].lock_epoch == rt->fence.epoch; /* or just done */
        if (!held && !job_find(rt, id))
            store_abandon_work(rt->store, &id, 1);
        if (rt->hands.handout)
            handout_undone(rt, id);
        jobs_lie(rt);
        lease_may_find(rt);
    }
    struct item *lease = lease_back(s);
    if (lease)
        back_item(b, lease);
}

/* Undo a stage in memory. */
static void take_back(pawl_runtime *rt, struct stage *s, bool refused, pawl_why why, struct back *b)
{
    for (struct item *item = s->queue ? queue_undone(rt, refused) : NULL, *next; item;
         item = next) {
        next = item->next;
        back_item(b, item);
    }
    work_back(rt, s, b);
    call_back(s, refused, b);
    if (UNLIKELY(s->exchange))
        turns_taken_back(rt, s);
    while (s->letters) {
        struct letter *l = s->letters;
        s->letters = l->next;
        l->next = NULL;
        l->duplicate = l->reruns = false;
        l->tries += refused;
        if (refused && is_decided(rt, s, l, why)) {
            letter_drop(rt, l, PAWL_LOST, "this result is no longer wanted");
        } else if (l->tries > TRIES_MAX) {
            log_error(&rt->log, "group", "the store refused a message again and again; dropped",
                      "instance=%.*s kind=%d", PAWL_FMT(s->row.id), l->mail.kind);
            letter_drop(rt, l, PAWL_CONFLICT, "the store refused it again and again");
        } else {
            *b->letters_end = l;
            b->letters_end = &l->next;
        }
    }
    if (!refused)
        peek_failed(rt, s);
    if (s->r) {
        s->r->stage = NULL;
        resident_evict(rt, s->r);
    }
}

/* New work is refused while the disk is full; acks and completions go on. */
static void refuse_new_work(pawl_runtime *rt, const char *text)
{
    struct letter *keep = NULL, **end = &keep, *l;
    while ((l = letter_next(rt))) {
        bool new_work =
            l->asked && !l->stored &&
            (l->mail.kind == PAWL_MSG_START || l->mail.kind == PAWL_MSG_EXTERNAL_RAISED ||
             l->mail.kind == PAWL_MSG_UPDATE);
        if (new_work) {
            letter_drop(rt, l, PAWL_DISK_FULL, text);
        } else {
            *end = l;
            end = &l->next;
        }
    }
    letter_back(rt, keep);
}

static void take_all_back(pawl_runtime *rt)
{
    struct back back = back_none(&back);
    for (struct stage *s = stage_first(rt); s; s = s->next)
        take_back(rt, s, false, PAWL_WHY_UNKNOWN, &back);
    back_all(rt, &back);
    (void)stage_all(rt);
}

static void group_failed(pawl_runtime *rt, pawl_status rc, const pawl_error *err)
{
    COUNT(rt, store_errors);
    take_all_back(rt);
    if (rc == PAWL_FENCED || rc == PAWL_UNKNOWN || rc == PAWL_CORRUPT) {
        health_stop_dead(rt, rc, err->text);
        return;
    }
    if (rc == PAWL_NOT_FOUND) {
        health_gone(rt, err->text);
        return;
    }
    health_failed(rt, rc, err); /* first, because a refused caller may ask for the health */
    if (rc == PAWL_DISK_FULL)
        refuse_new_work(rt, err->text);
}

/* ---- The commit ------------------------------------------------------------------------ */

static int group_committed(pawl_runtime *rt, const pawl_round *rounds)
{
    int done = 0;
    struct back back = back_none(&back);
    health_well(rt);
    struct stage *s = stage_all(rt);
    for (struct stage *next; s; s = next) {
        next = s->next;
        const pawl_round *round = &rounds[s->round];
        if (round->result == PAWL_OK) {
            stage_committed(rt, s);
        } else {
            coming_refused(rt, round);
            take_back(rt, s, true, round->why, &back);
        }
        done++; /* also a refused one: the loop must not sleep */
    }
    if (UNLIKELY(rt->hands.limits_changed))
        limits_apply(rt);
    back_all(rt, &back);
    COUNT(rt, commits);
    COUNT_BY(rt, rounds, (unsigned)done);
    return done;
}

static void note_time(pawl_runtime *rt, int64_t took_us)
{
    if (took_us > SLOW_US)
        rt->lending.slow_commits = SLOW_FOR;
    else if (rt->lending.slow_commits)
        rt->lending.slow_commits--;
}

/* Act on the outcome of the commit. */
static int group_ends(pawl_runtime *rt, pawl_status rc, const pawl_round *rounds,
                      const pawl_error *err)
{
    int done = 0;
    if (rc == PAWL_OK)
        done = group_committed(rt, rounds);
    else
        group_failed(rt, rc, err);
    RT_POINT(rt, "handout.after");
    audience_publish(rt);
    return health_is_dead(rt) ? -1 : done;
}

int group_resolve(pawl_runtime *rt)
{
    const pawl_round *rounds;
    pawl_error err = {0};
    pawl_status rc = doubt_ask(rt, &rounds, &err);
    if (rc == PAWL_EMPTY)
        return 0;
    if (rc == PAWL_OK && !rounds) { /* only rows were purged or executions pruned: no call waits */
        health_well(rt);
        return 1;
    }
    return group_ends(rt, rc, rounds, &err);
}

void group_give_up(pawl_runtime *rt)
{
    if (doubt_is(rt))
        take_all_back(rt);
}

int group_commit(pawl_runtime *rt)
{
    if (!stage_first(rt))
        return 0;
    if (doubt_is(rt)) { /* about pruned executions of this pass: do again what was staged */
        take_all_back(rt);
        return 0;
    }
    pawl_round *rounds = arena_array(&rt->group_mem, pawl_round, stage_count(rt));
    size_t n = 0;
    for (struct stage *s = stage_first(rt); s; s = s->next) {
        s->round = n;
        stage_seal(rt, s, &rounds[n++]);
    }
    pawl_error err = {0};
    RT_POINT(rt, "commit.before");
    int64_t began = clock_mono_us();
    health_committing(rt, true);
    pawl_status rc = store_commit(rt->store, &rt->fence, rounds, n, rt->now_ms, &err);
    health_committing(rt, false);
    int64_t took_us = clock_mono_us() - began;
    COUNT_BY(rt, commit_us, (unsigned long long)took_us);
    note_time(rt, took_us);
    RT_POINT(rt, "commit.after");
    jobs_committed(rt);
    if (rc == PAWL_UNKNOWN) {
        doubt_begin(rt, rounds, n, &err);
        return group_resolve(rt);
    }
    return group_ends(rt, rc, rounds, &err);
}
