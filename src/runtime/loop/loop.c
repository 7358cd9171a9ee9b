/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/loop.c -- see loop.h.  The same pass serves the engine thread, callers
 * of pawl_runtime_step() and the simulator.
 *
 * The loop does not poll: between passes it sleeps until something arrives or until the
 * earliest due time, which it reads from the store once, when it becomes idle.
 */
#include "runtime/loop/loop.h"

#include "fiber/fiber.h"
#include "runtime/core/coming.h"
#include "runtime/core/doubt.h"
#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/core/owed.h"
#include "runtime/core/peek.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/core/store_clock.h"
#include "runtime/core/timers.h"
#include "runtime/instance/ahead.h"
#include "runtime/instance/elsewhere.h"
#include "runtime/instance/first_turn.h"
#include "runtime/instance/paranoid.h"
#include "runtime/instance/park.h"
#include "runtime/instance/turn.h"
#include "runtime/instance/updates.h"
#include "runtime/loop/gather.h"
#include "runtime/loop/group.h"
#include "runtime/loop/refuse.h"
#include "runtime/loop/watchdog.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_handle.h"
#include "runtime/queue/queue_pass.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/playing.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/room_check.h"
#include "runtime/request/felling.h"
#include "runtime/request/remove.h"
#include "runtime/request/request.h"
#include "runtime/request/retain.h"
#include "runtime/request/turns_answer.h"
#include "runtime/request/withdraw.h"
#include "runtime/schedule/schedule_zones.h"
#include "runtime/work/deal.h"
#include "runtime/work/handout.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/once.h"
#include "runtime/work/overdue.h"
#include "runtime/work/timers_due.h"
#include "runtime/work/worker.h"
#include "store/store.h"
#include "store/store_shared.h"

#define FETCH_AT_ONCE 1000
#define FETCH_PASSES  8   /* passes without a fetch, at most, however many letters are in memory */
#define UNREAD_MS     100 /* until the next pass, when the store did not answer */
#define ALONE_MS      50  /* until the next try, when memory or the store failed in a turn */
#define GROUP_BYTES   (16 << 20)  /* strings staged in one commit */
#define GROUP_KEPT    (512 << 10) /* bytes of that memory that the next group uses again */

/* Due messages of the store become letters.  False: they are still in the store, and newer ones
 * must not overtake them. */
static bool fetch_messages(pawl_runtime *rt)
{
    pawl_message_list list;
    pawl_error err;
    rt->due.passes_unfetched = 0;
    arena_reset(&rt->load_mem);
    pawl_status rc =
        store_fetch_messages(rt->store, rt->now_ms, FETCH_AT_ONCE, &rt->load_mem, &list, &err);
    if (rc != PAWL_OK) {
        health_unread(rt, &err);
        return rc == PAWL_CORRUPT; /* damage is permanent: waiting would stop everything */
    }
    rt->due.fetch_messages = list.count == FETCH_AT_ONCE;
    bool lay = rt->due.mail_lies;
    rt->due.mail_lies = rt->due.mail_lies && rt->due.fetch_messages;
    for (size_t i = 0; i < list.count; i++) {
        struct letter *l = letter_of_row(rt, &list.items[i]);
        if (l && !timers_put_early_letter(rt, l, list.items[i].visible_ms))
            letter_todo(rt, l);
    }
    if (lay && !rt->due.mail_lies)
        coming_fetched(rt);
    return true;
}

/* Look for rows of the store that have become due.  False: the store did not answer. */
static bool look_at_clock(pawl_runtime *rt)
{
    if (rt->now_ms < rt->due.looked_ms) { /* the clock was set back: look at everything again */
        rt->due.looked_ms = rt->now_ms;
        rt->due.ask = true;
    }
    if (rt->now_ms >= rt->due.next_ms) {
        rt->due.fetch_messages = rt->due.look_deadlines = true;
        jobs_lie(rt);
        lease_may_find(rt);
        rt->due.next_ms = INT64_MAX;
        rt->due.looked_ms = rt->now_ms;
        rt->due.ask = true;
        if (rt->queue_cache)
            rt->queue_cache->look_due = true;
    }
    bool fetched = true;
    if (rt->due.fetch_messages &&
        (letter_count(rt) < FETCH_AT_ONCE || ++rt->due.passes_unfetched >= FETCH_PASSES))
        fetched = fetch_messages(rt);
    timers_due_look(rt);
    if (rt->due.look_deadlines)
        overdue_look(rt);
    job_look_limits(rt);
    job_fetch(rt);
    if (UNLIKELY(once_waits(rt)))
        once_look(rt);
    lease_look(rt);
    return fetched;
}

/* ---- Delivering ------------------------------------------------------------------- */

/* Carry out the verdict on a letter.  True: nothing more may enter this group. */
static bool carry_out(pawl_runtime *rt, struct delivered v)
{
    switch (v.kind) {
    case VERDICT_DONE:
        return false;
    case VERDICT_DAMAGED:
        letter_drop(rt, v.letters, PAWL_CORRUPT,
                    "stored rows of this instance are damaged; run pawl doctor, restore a backup");
        return false;
    case VERDICT_LATER:
        letter_later(rt, v.letters);
        return false;
    case VERDICT_FIRST:
        break;
    case VERDICT_UNREAD:
        health_wait(rt, UNREAD_MS);
        break;
    case VERDICT_ALONE:
        health_wait(rt, ALONE_MS);
        break;
    }
    for (struct letter *l = v.letters, *next; l; l = next) {
        next = l->next;
        if (v.kind == VERDICT_ALONE && !l->tries)
            l->tries = 1; /* delivered alone from now on; only refusals count as tries */
        letter_later(rt, l);
    }
    return true;
}

/* A message of a client joins the letters; any other call is acted on now. */
static enum verdict_kind take_call(pawl_runtime *rt, struct letter *l)
{
    if (!letter_is_mail(l))
        return request_act(rt, l);
    if (request_admit(rt, l))
        letter_todo(rt, l);
    return VERDICT_DONE;
}

static enum verdict_kind act(pawl_runtime *rt, struct item *item)
{
    switch (item->kind) {
    case ITEM_REQUEST:
        owed_take(rt, item);
        return take_call(rt, letter_of_item(item));
    case ITEM_JOB:
        return job_done(rt, (struct job *)(void *)item);
    case ITEM_LEASE:
        return lease_handle(rt, item);
    case ITEM_QUEUE:
        owed_take(rt, item);
        queue_handle(rt, (struct queue_req *)(void *)item);
        break;
    case ITEM_WITHDRAWAL:
        withdraw_handle(rt, item);
        break;
    case ITEM_TURNS:
        return turns_handle(rt, item);
    }
    return VERDICT_DONE;
}

/* Act on the next item.  True: the group is closed, and the item is the first of the next one. */
static bool take_item(pawl_runtime *rt, struct item *item)
{
    enum verdict_kind kind = act(rt, item);
    if (kind == VERDICT_DONE)
        return false;
    assert_that(kind == VERDICT_FIRST);
    items_put_off(rt, item);
    return true;
}

static bool is_full(const pawl_runtime *rt)
{
    return stage_count(rt) >= rt->opts.group_limit || arena_bytes(&rt->group_mem) >= GROUP_BYTES ||
           queue_is_full(rt);
}

/* Must this call stay behind a letter?  Yes when the letter is an older request, or goes to the same
 * instance by name: it may be its start. */
static bool is_behind(const pawl_runtime *rt, const struct letter *call)
{
    pawl_str instance = call->instance;
    for (const struct letter *l = letter_first(rt); l; l = l->next)
        if (l->asked || (!l->uid && instance.len && pawl_str_eq(l->instance, instance)))
            return true;
    return false;
}

/* Busy instances have letters in every pass.  Behind them the items that the last pass left over,
 * and all requests behind those, would wait for ever: so left-over items go first.  One that becomes
 * a letter joins the end of the letters; any other acts before them. */
static void take_left_over(pawl_runtime *rt)
{
    if (!rt->items.left_over)
        return;
    for (bool closed = false; rt->items.first && !closed && !is_full(rt);) {
        const struct letter *call = letter_of_item(rt->items.first);
        bool at_once = rt->items.first->kind == ITEM_REQUEST && !letter_is_mail(call);
        if (at_once && is_behind(rt, call))
            break;
        closed = take_item(rt, items_next(rt)); /* closed for these: it waits for a letter */
    }
}

/* Deliver letters, and items as they came, until the group is full or closed. */
static void fill_group(pawl_runtime *rt, bool closed)
{
    if (!closed)
        take_left_over(rt);
    while (!closed && !is_full(rt)) {
        struct letter *l = letter_next(rt);
        struct item *item = l ? NULL : items_next(rt);
        if (l)
            closed = carry_out(rt, turn_deliver(rt, l));
        else if (item)
            closed = take_item(rt, item);
        else
            break;
    }
    rt->items.left_over = rt->items.first != NULL;
    if (UNLIKELY(rt->opts.paranoid))
        (void)carry_out(rt, paranoid_look(rt));
    letter_back_later(rt);
    letter_pass_done(rt);
}

/* The group is a start that a worker decides now: see first_turn.h. */
static void await_first_turn(pawl_runtime *rt)
{
    int64_t end = rt_mono(rt) + run_first_ms(rt);
    while (first_turn_waits(rt) && !rt->items.first && !letter_first(rt) && !queue_has_work(rt) &&
           !exchange_is_owed(rt) && !inbox_stops(rt) && rt_mono(rt) < end) {
        inbox_wait(rt, end);
        inbox_take(rt);
        fill_group(rt, false);
        exchange_serve(rt, false);
    }
    run_first_ended(rt, !first_turn_waits(rt));
}

/* Are there ids for a pass?  A lane is given them in blocks, and asks with half of one left: a pass
 * uses few, so the store may be away for a while. */
static bool has_ids(pawl_runtime *rt)
{
    pawl_error err;
    if (LIKELY(!store_wants_ids(&rt->fence)))
        return true;
    pawl_status rc = store_new_ids(rt->store, &rt->fence, &err);
    if (rc == PAWL_OK)
        return true;
    if (rc == PAWL_FENCED)
        health_stop_dead(rt, rc, err.text);
    else
        health_unread(rt, &err);
    return rc != PAWL_FENCED && rt->fence.end_id - rt->fence.next_id >= PAWL_ID_BLOCK / 4;
}

static int pass(pawl_runtime *rt)
{
    if (health_is_dead(rt))
        return -1;
    inbox_take(rt);
    if (UNLIKELY(health_is_gone(rt))) {
        refuse_calls(rt);
        return 0;
    }
    if (health_retry_at(rt) && rt_mono(rt) < health_retry_at(rt))
        return 0;
    if (doubt_is(rt))
        return group_resolve(rt);
    gather_more(rt, &rt->lending.patience);
    arena_recycle(&rt->group_mem, GROUP_KEPT);
    coming_pass(rt);
    store_clock_look(rt);
    rt->now_ms = rt_now(rt);
    if (UNLIKELY(!has_ids(rt))) {
        health_wait(rt, UNREAD_MS);
        return health_is_dead(rt) ? -1 : 0;
    }
    park_look(rt);
    if (park_has_piled(rt)) { /* mail that could not be read: newer mail must not overtake it */
        health_wait(rt, UNREAD_MS);
        return 0;
    }
    worker_look(rt);
    if (UNLIKELY(health_is_full(rt)))
        (void)health_no_room(rt);
    bool unread = false, repaired = peek_repair(rt, &unread);
    if (unread)
        health_wait(rt, UNREAD_MS);
    if (!repaired) { /* half-done rounds are repaired before anything is acked */
        bool fetched = look_at_clock(rt);
        elsewhere_look(rt);
        queue_look(rt);
        updates_look(rt);
        felling_look(rt);
        zones_look(rt);
        if (fetched)
            ahead_look(rt);
        fill_group(rt, !fetched);
        exchange_serve(rt, false);
        if (UNLIKELY(run_any_session(rt)) && first_turn_waits(rt))
            await_first_turn(rt);
        if (stage_count(rt) < rt->opts.group_limit)
            retain_look(rt);
        deal_look(rt);
        queue_seal(rt);
    }
    COUNT_IS(rt, todo, letter_count(rt));
    int done = group_commit(rt);
    if (!doubt_is(rt))
        exchange_serve(rt, true);
    if (done == 0 && !doubt_is(rt) && rt->due.purge_left && !letter_first(rt) &&
        rt_mono(rt) >= rt->due.purge_at_ms)
        remove_purge(rt);
    health_look(rt);
    resident_trim(rt, false, NULL);
    health_pass_done(rt);
    return done == 0 && repaired ? 1 : done;
}

int loop_once(pawl_runtime *rt)
{
    const pawl_store *before = store_engine_set(rt->store);
    const pawl_runtime *outer = here_enter(rt);
    int done = pass(rt);
    owed_tell(rt);
    worker_flush(rt);
#ifdef PAWL_CHECKED
    if (done > 0) /* still the owner: otherwise the uids may be those of the next owner */
        resident_check(rt);
    if (done > 0)
        handout_check(rt);
    if (done > 0)
        remote_check(rt);
#endif
    here_leave(outer);
    (void)store_engine_set(before);
    return done;
}

/* The store is asked once: the answer holds until a commit or a due time changes it. */
static int64_t next_due(pawl_runtime *rt)
{
    if (rt->due.ask) {
        pawl_error err;
        int64_t due = INT64_MAX;
        if (store_next_due(rt->store, rt->due.looked_ms, &due, &err) != PAWL_OK)
            due = rt->now_ms + 1000;
        else
            rt->due.ask = false;
        if (due < rt->due.next_ms)
            rt->due.next_ms = due;
    }
    return rt->due.next_ms;
}

bool loop_has_work(const pawl_runtime *rt)
{
    return doubt_is(rt) || rt->items.first || letter_first(rt) || felling_any(rt) ||
           due_has_zones(rt) || rt->due.fetch_messages || rt->due.look_deadlines ||
           park_has_piled(rt) || peek_waits(rt) || queue_has_work(rt) || jobs_may_fetch(rt) ||
           lease_may_serve(rt) || handout_looks(rt) || exchange_may_serve(rt);
}

/* By the monotonic clock. */
static int64_t idle_mono(pawl_runtime *rt, int64_t mono)
{
    int64_t until = job_next_limit(rt);
    if (health_is_threadless(rt) && mono + 250 < until)
        until = mono + 250;
    if (queue_next_wait(rt) < until)
        until = queue_next_wait(rt);
    if (updates_next(rt) < until)
        until = updates_next(rt);
    if (lease_next(rt) < until)
        until = lease_next(rt);
    if (remote_next(rt) < until)
        until = remote_next(rt);
    if (rt->due.purge_left && rt->due.purge_at_ms < until)
        until = rt->due.purge_at_ms;
    if (retain_next(rt) < until)
        until = retain_next(rt);
    if (health_next_look(rt) < until)
        until = health_next_look(rt);
    return until;
}

/* The times until which there is nothing to do, unless something arrives. */
static struct idle_until idle_until(pawl_runtime *rt)
{
    int64_t mono = rt_mono(rt);
    if (UNLIKELY(health_is_gone(rt)))
        return (struct idle_until){health_must_refuse(rt) ? mono : INT64_MAX, INT64_MAX};
    if (health_retry_at(rt) > mono)
        return (struct idle_until){health_retry_at(rt), INT64_MAX};
    if (loop_has_work(rt))
        return (struct idle_until){mono, INT64_MAX};
    struct idle_until at = {idle_mono(rt, mono), next_due(rt)};
    if (timers_next(rt) < at.due_ms)
        at.due_ms = timers_next(rt);
    if (handout_next_ms(rt) < at.due_ms)
        at.due_ms = handout_next_ms(rt);
    return at;
}

/* The earlier of the two, on the monotonic clock. */
static int64_t earliest(pawl_runtime *rt, const struct idle_until *at)
{
    if (at->due_ms == INT64_MAX)
        return at->mono_ms;
    int64_t wait = at->due_ms - rt_now(rt);
    if (wait < 0)
        wait = 0;
    if (wait > 3600000) /* look at the wall clock once an hour: it may have jumped */
        wait = 3600000;
    int64_t due = rt_mono(rt) + wait;
    return due < at->mono_ms ? due : at->mono_ms;
}

void loop_queues(pawl_runtime *rt, struct idle_until *retnext)
{
    const pawl_store *before = store_engine_set(rt->store);
    const pawl_runtime *outer = here_enter(rt);
    assert_that(!letter_first(rt) && !stage_first(rt) && !park_has_piled(rt) && !peek_waits(rt));
    arena_recycle(&rt->group_mem, GROUP_KEPT);
    store_clock_look(rt);
    rt->now_ms = rt_now(rt);
    queue_look(rt);
    updates_look(rt);
    fill_group(rt, false);
    queue_seal(rt);
    (void)group_commit(rt);
    health_look(rt);
    COUNT_IS(rt, todo, letter_count(rt));
    owed_tell(rt);
    *retnext = idle_until(rt);
    here_leave(outer);
    (void)store_engine_set(before);
}

int64_t loop_idle_until(pawl_runtime *rt)
{
    struct idle_until at = idle_until(rt);
    if (inbox_count(rt) && health_retry_at(rt) < at.mono_ms)
        return rt_mono(rt);
    return earliest(rt, &at);
}

/* Are there results or requests that are not stored yet? */
static bool holds_unstored(const pawl_runtime *rt)
{
    if (rt->items.first || inbox_count(rt) || queue_has_work(rt))
        return true;
    for (const struct letter *l = letter_first(rt); l; l = l->next)
        if (!l->stored)
            return true;
    return false;
}

void loop_finish(pawl_runtime *rt)
{
    if (doubt_is(rt))
        (void)health_try_now(rt); /* the last chance to learn the outcome */
    while (loop_once(rt) > 0 && holds_unstored(rt))
        ;
    group_give_up(rt);
}

/* Where a commit is a round trip, a borrower would wait for it instead of collecting the requests
 * of the next one (decision 0031). */
bool loop_is_plain(const pawl_runtime *rt)
{
    return health_is_good(rt) && !rt->opts.paranoid && !rt->lending.slow_commits && !rt->caps.far;
}

bool loop_may_lend(pawl_runtime *rt)
{
    if (jobs_backlog(rt) || !loop_is_plain(rt)) /* results of jobs wake the engine anyway */
        return false;
    return inbox_may_be_lent(rt);
}

void *loop_main(void *arg)
{
    pawl_runtime *rt = arg;
    if (!rt->opts.no_signals)
        fiber_guard_thread();
    while (!inbox_stops(rt)) {
        watchdog_wake(rt);
        int done = loop_once(rt);
        if (done < 0)
            break;
        if ((done > 0 || inbox_count(rt)) && !loop_may_lend(rt))
            continue;
        rt->lending.sleeps = idle_until(rt);
        int64_t until = earliest(rt, &rt->lending.sleeps);
        if (until > rt_mono(rt)) {
            watchdog_rest(rt);
            inbox_wait(rt, until);
        }
    }
    loop_finish(rt); /* here: a fiber never changes thread */
    return NULL;
}
