/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/attempt.c -- see attempt.h.
 *
 * Invariants: a call is decided once, because the round that records it deletes
 * the work row it needs; a retry is one update of that row, so neither attempt
 * nor delay can be lost; crashes are not counted against the author's attempts.
 */
#include "runtime/work/attempt.h"

#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/core/tally.h"
#include "runtime/core/token.h"
#include "runtime/work/jobs.h"
#include "store/store.h"

static void put_number(pawl_json *j, const char *key, int64_t n)
{
    pawl_json_key(j, key);
    pawl_json_num(j, n);
}

/* What else is known of the completion (pawl/event.h): nothing of the common first attempt here.
 * Attempts that a crash ended are counted apart: a kill must not change what code sees. */
static pawl_str completion_attrs(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind,
                                 uint32_t attempts, const struct letter *call)
{
    bool plain = kind == PAWL_RESULT_OK || kind == PAWL_RESULT_FAILED;
    pawl_str lease = call ? token_mark(call->mail.name.ptr) : (pawl_str){0};
    if (plain && attempts == 1 && !w->crashes && !w->last_error.len && !lease.len)
        return (pawl_str){0};
    pawl_json *j = pawl_json_new(&rt->group_mem);
    pawl_json_object(j);
    if (!plain) {
        pawl_json_key(j, "kind");
        pawl_json_cstr(j, pawl_result_kind_name((int)kind));
    }
    if (attempts != 1)
        put_number(j, "attempts", attempts);
    if (w->crashes)
        put_number(j, "crashes", w->crashes);
    if (w->last_error.len) {
        pawl_json_key(j, "last_error");
        pawl_json_str(j, w->last_error);
    }
    if (lease.len) {
        pawl_json_key(j, "lease");
        pawl_json_str(j, lease);
    }
    pawl_json_end(j);
    return pawl_json_done(j);
}

/* The call is decided: bring it to the turn, with the work row to ack. */
static void decide(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind, uint32_t attempts,
                   pawl_str result, bool unfused, struct letter *call)
{
    struct mail mail = {.kind = kind == PAWL_RESULT_OK ? PAWL_MSG_ACTIVITY_COMPLETED
                                                       : PAWL_MSG_ACTIVITY_FAILED,
                        .execution = w->execution,
                        .ref = w->ref,
                        .data = result,
                        .attrs = completion_attrs(rt, w, kind, attempts, call)};
    struct letter *l = call;
    if (call)
        letter_completes(call, &mail, w->uid);
    else
        l = letter_create(&mail, w->uid, (pawl_str){0}, (pawl_str){0});
    need_memory(l);
    l->work_id = w->id;
    if (!unfused) {
        letter_todo(rt, l);
        return;
    }
    struct stage *s = stage_bare(rt);
    *list_add(&rt->group_mem, &s->need_work) = w->id;
    l->mail.id = rt_new_id(rt);
    stage_keep(rt, s, l, false);
    stage_take(s, l);
}

void attempt_completed(pawl_runtime *rt, const pawl_work *w, pawl_str result, bool unfused,
                       struct letter *call)
{
    COUNT(rt, activities_completed);
    tally_activity(rt, w->name, PAWL_TALLY_COMPLETED);
    decide(rt, w, PAWL_RESULT_OK, w->attempt + 1 - w->crashes, result, unfused, call);
}

void attempt_decided(pawl_runtime *rt, const pawl_work *w, pawl_result_kind kind, uint32_t attempts,
                     pawl_str error, bool unfused, struct letter *call)
{
    COUNT(rt, activities_failed);
    tally_activity(rt, w->name, PAWL_TALLY_FAILED);
    decide(rt, w, kind, attempts, error, unfused, call);
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
                             pawl_str error, enum attempt_end why, bool unfused,
                             struct letter *call)
{
    int64_t delay = 0;
    if (!may_retry(rt, w, p, error, why, &delay)) {
        attempt_decided(rt, w, kind_of(why), w->attempt + 1 - w->crashes, error, unfused, call);
        return NULL;
    }
    COUNT(rt, activities_retried);
    tally_activity(rt, w->name, PAWL_TALLY_RETRIED);
    struct stage *s = stage_bare(rt);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u = (pawl_work_update){.id = w->id,
                            .attempt = w->attempt + 1,
                            .crashes = w->crashes,
                            .visible_ms = rt->now_ms + delay,
                            .deadline_ms = job_deadline(p, w->scheduled_ms, true),
                            .last_error = arena_dup(&rt->group_mem, error)};
    if (call)
        stage_answer(s, call);
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
                    pawl_s(text), true, NULL);
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
