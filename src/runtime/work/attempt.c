/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/attempt.c -- see attempt.h.
 *
 * Invariants: a call is decided once, because the round that records it deletes
 * the work row it needs; a retry is one update of that row, so neither attempt
 * nor delay can be lost; crashes are not counted against the author's attempts.
 */
#include "runtime/work/attempt.h"

#include "base/digits.h"
#include "base/json.h"
#include "base/result.h"
#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/core/tally.h"
#include "runtime/core/token.h"
#include "runtime/work/jobs.h"
#include "runtime/work/tries.h"
#include "store/store.h"

#include <string.h>

static void put_number(pawl_json *j, const char *key, int64_t n)
{
    pawl_json_key(j, key);
    pawl_json_num(j, n);
}

static void put_text(pawl_json *j, const char *key, pawl_str text)
{
    if (!text.len)
        return;
    pawl_json_key(j, key);
    pawl_json_str(j, text);
}

/* It began later than the call was made, and people can see it.  Every step would have 28
 * bytes and 1.5 % more instructions if the hand-over of the common one were recorded. */
static bool began_late(const pawl_work *w, const struct attempt_how *how)
{
    return how->started_ms >= w->scheduled_ms + ATTEMPT_AT_ONCE_MS;
}

/* The attrs of a first attempt here that waited: the common ones, written without more ado. */
static pawl_str started_attrs(pawl_runtime *rt, int64_t started_ms)
{
    size_t most = sizeof(RESULT_STARTED) + 20 + 1;
    char *text = pawl_mem_alloc(&rt->group_mem, most), *end = text + most - 2;
    char *first = digits_before(end, (uint64_t)started_ms) - (sizeof(RESULT_STARTED) - 1);
    memcpy(first, RESULT_STARTED, sizeof(RESULT_STARTED) - 1);
    end[0] = '}';
    end[1] = 0;
    return (pawl_str){first, (size_t)(end + 1 - first)};
}

static void put_tries(pawl_runtime *rt, pawl_json *j, const pawl_work *w)
{
    pawl_str tries = w->attempt ? tries_text(rt, w->id, &rt->group_mem) : (pawl_str){0};
    if (!tries.len)
        return;
    pawl_json_key(j, "tries");
    json_put(j, tries);
}

/* What else is known of the completion (pawl/event.h): nothing of a first attempt here that began
 * at once.  Attempts that a crash ended are counted apart: a kill must not change what code sees. */
static pawl_str completion_attrs(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind,
                                 uint32_t attempts, const struct attempt_how *how)
{
    bool plain = kind == PAWL_RESULT_OK || kind == PAWL_RESULT_FAILED;
    pawl_str lease = how->call ? token_mark(how->call->mail.name.ptr) : (pawl_str){0};
    if (plain && attempts == 1 && !w->crashes && !w->last_error.len && !lease.len)
        return began_late(w, how) ? started_attrs(rt, how->started_ms) : (pawl_str){0};
    pawl_json *j = pawl_json_new(&rt->group_mem);
    pawl_json_object(j);
    if (!plain)
        put_text(j, "kind", pawl_s(pawl_result_kind_name((int)kind)));
    if (attempts != 1)
        put_number(j, "attempts", attempts);
    if (w->crashes)
        put_number(j, "crashes", w->crashes);
    put_text(j, "last_error", w->last_error);
    put_text(j, "lease", lease);
    if (how->started_ms)
        put_number(j, "started_ms", how->started_ms);
    put_text(j, "worker", how->worker);
    put_tries(rt, j, w);
    pawl_json_end(j);
    return pawl_json_done(j);
}

/* The call is decided: its completion, with the work row to ack. */
static struct letter *completion(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind,
                                 uint32_t attempts, pawl_str result, const struct attempt_how *how)
{
    struct mail mail = {.kind = kind == PAWL_RESULT_OK ? PAWL_MSG_ACTIVITY_COMPLETED
                                                       : PAWL_MSG_ACTIVITY_FAILED,
                        .execution = w->execution,
                        .ref = w->ref,
                        .data = result,
                        .attrs = completion_attrs(rt, w, kind, attempts, how)};
    struct letter *l = how->call;
    if (l)
        letter_completes(l, &mail, w->uid);
    else
        l = letter_create(&mail, w->uid, (pawl_str){0}, (pawl_str){0});
    need_memory(l);
    if (w->attempt)
        tries_forget(rt, w->id); /* the letter has them */
    l->work_id = w->id;
    return l;
}

/* Bring it to the turn. */
static void decide(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind, uint32_t attempts,
                   pawl_str result, const struct attempt_how *how)
{
    struct letter *l = completion(rt, w, kind, attempts, result, how);
    if (!how->unfused) {
        letter_todo(rt, l);
        return;
    }
    struct stage *s = stage_bare(rt);
    *list_add(&rt->group_mem, &s->need_work) = w->id;
    l->mail.id = rt_new_id(rt);
    stage_keep(rt, s, l, false);
    stage_take(s, l);
}

void attempt_completed(pawl_runtime *rt, const pawl_work *w, pawl_str result,
                       const struct attempt_how *how)
{
    COUNT(rt, activities_completed);
    tally_activity(rt, w->name, PAWL_TALLY_COMPLETED);
    decide(rt, w, PAWL_RESULT_OK, w->attempt + 1 - w->crashes, result, how);
}

struct letter *attempt_completion(pawl_runtime *rt, const pawl_work *w, pawl_str result,
                                  const struct attempt_how *how)
{
    return completion(rt, w, PAWL_RESULT_OK, w->attempt + 1 - w->crashes, result, how);
}

void attempt_decided(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind, uint32_t attempts,
                     pawl_str error, const struct attempt_how *how)
{
    COUNT(rt, activities_failed);
    tally_activity(rt, w->name, PAWL_TALLY_FAILED);
    decide(rt, w, kind, attempts, error, how);
}

/* May this failed attempt be followed by another, `delay` from now? */
static bool may_retry(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p,
                      pawl_str error, enum attempt_end why, int64_t *retdelay)
{
    uint32_t tries = w->attempt + 1;
    if (why == ATTEMPT_FINAL || policy_is_final(p, error) ||
        (p->attempts != PAWL_UNLIMITED && tries >= (uint64_t)p->attempts + w->crashes))
        return false;
    if ((why == ATTEMPT_START_TO_CLOSE || why == ATTEMPT_HEARTBEAT) &&
        (p->no_retry_on_timeout || p->at_most_once)) /* it may still be at it */
        return false;
    uint64_t bits;
    rt->env.random(rt->env.user, &bits, sizeof(bits));
    *retdelay = policy_delay_ms(p, tries + 1 - w->crashes, bits);
    return !p->schedule_to_close_ms ||
           rt->now_ms + *retdelay < w->scheduled_ms + p->schedule_to_close_ms;
}

static pawl_result_kind kind_of(enum attempt_end why)
{
    return why == ATTEMPT_START_TO_CLOSE ? PAWL_RESULT_START_TO_CLOSE
           : why == ATTEMPT_HEARTBEAT    ? PAWL_RESULT_HEARTBEAT
                                         : PAWL_RESULT_FAILED;
}

struct stage *attempt_failed(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p,
                             pawl_str error, enum attempt_end why, const struct attempt_how *how)
{
    int64_t delay = 0;
    if (!may_retry(rt, w, p, error, why, &delay)) {
        attempt_decided(rt, w, kind_of(why), w->attempt + 1 - w->crashes, error, how);
        return NULL;
    }
    COUNT(rt, activities_retried);
    tally_activity(rt, w->name, PAWL_TALLY_RETRIED);
    tries_note(rt, w, how->started_ms, how->worker, error);
    struct stage *s = stage_bare(rt);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u = (pawl_work_update){.id = w->id,
                            .attempt = w->attempt + 1,
                            .crashes = w->crashes,
                            .visible_ms = rt->now_ms + delay,
                            .deadline_ms = job_deadline(p, w->scheduled_ms, true),
                            .last_error = arena_dup(&rt->group_mem, error)};
    if (how->call)
        stage_answer(s, how->call);
    return s;
}

uint32_t attempt_crash_limit(const pawl_runtime *rt, const struct call_policy *p)
{
    return p->max_crashes ? p->max_crashes : rt->opts.max_attempts;
}

void attempt_poison(pawl_runtime *rt, struct job *job, const char *text)
{
    job_forget(rt, job);
    COUNT(rt, quarantined);
    log_error(&rt->log, "work", "activity given up", "instance=%.*s activity=%.*s why=\"%s\"",
              PAWL_FMT(job->work.instance), PAWL_FMT(job->work.name), text);
    attempt_decided(rt, &job->work, PAWL_RESULT_POISON, job->work.attempt - job->work.crashes,
                    pawl_s(text), &(struct attempt_how){.unfused = true});
    job_free(job);
}

int64_t attempt_lease_deadline(const struct call_policy *p, const pawl_work *w, pawl_str token,
                               int64_t now_ms)
{
    int64_t at = job_deadline(p, w->scheduled_ms, true);
    int64_t close_ms = token_began(token, now_ms) + p->start_to_close_ms;
    if (p->start_to_close_ms && (!at || close_ms < at))
        at = close_ms;
    if (p->heartbeat_ms && (!at || now_ms + p->heartbeat_ms < at))
        at = now_ms + p->heartbeat_ms;
    return at;
}

struct stage *attempt_move_deadline(pawl_runtime *rt, const pawl_work *w, int64_t deadline_ms,
                                    uint64_t lock_epoch)
{
    struct stage *s = stage_bare(rt);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u = (pawl_work_update){.id = w->id,
                            .attempt = w->attempt,
                            .crashes = w->crashes,
                            .visible_ms = w->visible_ms,
                            .deadline_ms = deadline_ms,
                            .last_error = arena_dup(&rt->group_mem, w->last_error),
                            .lock_epoch = lock_epoch,
                            .lock_token = arena_dup(&rt->group_mem, w->lock_token),
                            .lock_until_ms = w->lock_until_ms};
    return s;
}
