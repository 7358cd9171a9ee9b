/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/activity.c -- pawl/activity.h: what an activity sees of its job.
 * [worker thread]
 *
 * A pawl_activity lives on the worker's stack for one attempt.  The result is copied out of the
 * author's memory before that memory is reset for the next attempt on this thread.
 */
#include "runtime/work/activity.h"

#include "base/limits.h"
#include "base/misuse.h"
#include "base/rand.h"
#include "runtime/core/figures.h"
#include "runtime/core/inbox.h"
#include "runtime/core/token.h"
#include "runtime/work/cancel.h"
#include "runtime/work/details.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pawl_activity {
    struct job *job;
    pawl_runtime *rt;
    pawl_mem mem;
    enum job_verdict verdict; /* of the last pawl_ok(), pawl_err() … */
    char key[ACTIVITY_KEY_BYTES];
};

static void keep_result(struct job *job, enum job_verdict verdict, pawl_str text)
{
    job->result = malloc(text.len + 1);
    if (!job->result) { /* nothing to record it with: as if it had not run */
        job->verdict = JOB_SKIPPED;
        job->result_len = 0;
        return;
    }
    if (text.len)
        memcpy(job->result, text.ptr, text.len);
    job->result[text.len] = 0;
    job->result_len = text.len;
    job->verdict = verdict;
}

static void keep_checked(pawl_runtime *rt, struct job *job, enum job_verdict verdict,
                         pawl_str value)
{
    if (is_odd(value)) {
        keep_result(job, JOB_ERR_FINAL, pawl_s("result has a length and no bytes"));
        return;
    }
    if (value.len > rt->opts.max_payload) {
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "result of %zu bytes is over the limit of %zu (--max-payload)", value.len,
                       rt->opts.max_payload);
        keep_result(job, JOB_ERR_FINAL, pawl_s(text));
        return;
    }
    keep_result(job, verdict, value);
}

/* What the author returned rules over which call made it. */
static enum job_verdict verdict_of(const struct pawl_activity *act, bool ok)
{
    if (act->verdict == JOB_PENDING || act->verdict == JOB_SKIPPED ||
        (!ok && act->verdict == JOB_ERR_FINAL))
        return act->verdict;
    return ok ? JOB_OK : JOB_ERR;
}

/* When it began, for the history and for people who look now. */
static void set_started(struct job *job, int64_t now_ms)
{
    atomic_store_explicit(&job->started_ms, now_ms, memory_order_relaxed);
    if (!job->running)
        return;
    atomic_store_explicit(&job->running->started_ms, now_ms, memory_order_relaxed);
    atomic_store_explicit(&job->running->work_id, job->work.id, memory_order_release);
}

/* The memory of the attempt before it on this thread.  An activity that steps the runtime may run
 * another inside itself: that one finds none, and the first to end leaves its own. */
static pawl_mem take_memory(struct running *r)
{
    pawl_mem mem = r->spare;
    arena_init(&r->spare);
    return mem;
}

static void leave_memory(struct running *r, pawl_mem *mem)
{
    arena_reset(mem);
    if (r->spare.head)
        arena_deinit(mem);
    else
        r->spare = *mem;
}

bool activity_run(pawl_runtime *rt, struct job *job)
{
    struct running *running = job->running; /* the job may be gone before the end */
    struct pawl_activity act = {
        .job = job, .rt = rt, .mem = take_memory(running), .verdict = JOB_OK};
    int64_t now = rt_mono(rt), now_ms = rt_now(rt);
    set_started(job, now_ms);
    atomic_store(&job->beat_ms, now);
    atomic_store(&job->began_ms, now > 0 ? now : 1);
    job_began(rt, &job->work, job->unfused, now_ms);
    pawl_result result = job->activity->fn(&act, job->work.input);
    bool back = act.verdict != JOB_AWAY; /* else it may be answered and gone by now */
    if (back) {
        cancel_forget(job);
        keep_checked(rt, job, verdict_of(&act, result.ok), result.value);
    }
    leave_memory(running, &act.mem);
    return back;
}

/* ---- Activities of the runtime ---------------------------------------------------- */

struct job *activity_job(pawl_activity *act)
{
    return act->job;
}

pawl_result activity_away(pawl_activity *act)
{
    act->verdict = JOB_AWAY;
    return (pawl_result){0};
}

pawl_result activity_skip(pawl_activity *act)
{
    act->verdict = JOB_SKIPPED;
    return (pawl_result){0};
}

void activity_answer(pawl_runtime *rt, struct job *job, enum job_verdict verdict, pawl_str value)
{
    keep_checked(rt, job, verdict, value);
    (void)inbox_post(rt, &job->item);
}

/* ---- Returning ------------------------------------------------------------------ */

static pawl_result returning(pawl_activity *act, enum job_verdict verdict, pawl_str value)
{
    act->verdict = verdict;
    return (pawl_result){.ok = verdict == JOB_OK,
                         .kind = verdict == JOB_OK ? PAWL_RESULT_OK : PAWL_RESULT_FAILED,
                         .value = value};
}

pawl_result pawl_ok(pawl_activity *act, const char *result)
{
    MUST_HAVE("an activity", act);
    return returning(act, JOB_OK, arena_dup(&act->mem, pawl_s(result)));
}

pawl_result pawl_ok_str(pawl_activity *act, pawl_str result)
{
    MUST_HAVE("an activity", act);
    if (is_odd(result))
        return pawl_err_final(act, "result has a length and no bytes");
    return returning(act, JOB_OK, arena_dup(&act->mem, result));
}

pawl_result pawl_okf(pawl_activity *act, const char *format, ...)
{
    MUST_HAVE("an activity", act);
    va_list args;
    va_start(args, format);
    pawl_str text = arena_vprintf(&act->mem, format, args);
    va_end(args);
    return returning(act, JOB_OK, text);
}

pawl_result pawl_err(pawl_activity *act, const char *error)
{
    MUST_HAVE("an activity", act);
    return returning(act, JOB_ERR, arena_dup(&act->mem, pawl_s(error)));
}

pawl_result pawl_errf(pawl_activity *act, const char *format, ...)
{
    MUST_HAVE("an activity", act);
    va_list args;
    va_start(args, format);
    pawl_str text = arena_vprintf(&act->mem, format, args);
    va_end(args);
    return returning(act, JOB_ERR, text);
}

pawl_result pawl_err_final(pawl_activity *act, const char *error)
{
    MUST_HAVE("an activity", act);
    return returning(act, JOB_ERR_FINAL, arena_dup(&act->mem, pawl_s(error)));
}

pawl_result pawl_err_finalf(pawl_activity *act, const char *format, ...)
{
    MUST_HAVE("an activity", act);
    va_list args;
    va_start(args, format);
    pawl_str text = arena_vprintf(&act->mem, format, args);
    va_end(args);
    return returning(act, JOB_ERR_FINAL, text);
}

pawl_result pawl_pending(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    (void)pawl_activity_token(act);
    return returning(act, JOB_PENDING, (pawl_str){0});
}

/* ---- Identity ---------------------------------------------------------------------- */

const char *activity_key(const pawl_work *w, char out[ACTIVITY_KEY_BYTES])
{
    static const uint64_t salt[2] = {UINT64_C(0x7061776c6b657931), UINT64_C(0x6964656d706f7431)};
    uint64_t name = siphash24(salt, w->instance.ptr, w->instance.len);
    (void)snprintf(out, ACTIVITY_KEY_BYTES, "%016llx-%llx-%llx-%llu-%llu", (unsigned long long)name,
                   (unsigned long long)w->scheduled_ms, (unsigned long long)w->uid,
                   (unsigned long long)w->execution, (unsigned long long)w->ref);
    return out;
}

const char *pawl_activity_key(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return activity_key(&act->job->work, act->key);
}

const char *pawl_activity_token(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    struct job *job = act->job;
    if (!atomic_load(&job->has_token)) {
        int64_t ago = rt_mono(act->rt) - atomic_load(&job->began_ms);
        token_make(act->rt, &job->work, rt_now(act->rt) - ago, job->token);
        atomic_store(&job->has_token, true);
    }
    return job->token;
}

pawl_str pawl_activity_instance(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return act->job->work.instance;
}

uint64_t pawl_activity_execution(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return act->job->work.execution;
}

uint64_t pawl_activity_id(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return act->job->work.ref;
}

pawl_str pawl_activity_name(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return act->job->work.name;
}

uint32_t pawl_activity_attempt(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return act->job->work.attempt + 1;
}

void *pawl_activity_user(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return act->job->activity->user;
}

const struct call_policy *activity_policy(const pawl_activity *act)
{
    return &act->job->policy;
}

pawl_client *pawl_activity_client(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return &act->rt->client;
}

pawl_mem *pawl_activity_mem(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return &act->mem;
}

/* ---- Cancellation -------------------------------------------------------------------- */

bool pawl_activity_heartbeat(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    atomic_store(&act->job->beat_ms, rt_mono(act->rt));
    return !atomic_load(&act->job->cancelled);
}

bool pawl_activity_beat(pawl_activity *act, pawl_str details)
{
    MUST_HAVE("an activity", act);
    const pawl_work *w = &act->job->work;
    if (is_odd(details) || details.len > LIMIT_DETAILS_BYTES)
        log_warn(&act->rt->log, "work", "details of a heartbeat refused; those before stand",
                 "instance=%.*s activity=%.*s bytes=%llu limit=%d", PAWL_FMT(w->instance),
                 PAWL_FMT(w->name), (unsigned long long)details.len, LIMIT_DETAILS_BYTES);
    else if (!details_note(act->rt, act->job, details))
        log_warn(&act->rt->log, "work", "no memory for details of a heartbeat",
                 "instance=%.*s activity=%.*s", PAWL_FMT(w->instance), PAWL_FMT(w->name));
    return pawl_activity_heartbeat(act);
}

bool pawl_activity_resume(pawl_activity *act, pawl_str *ret)
{
    MUST_HAVE("an activity", act);
    pawl_str none;
    return details_resume(act->job, ret ? ret : &none);
}

bool pawl_activity_cancelled(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    return atomic_load(&act->job->cancelled);
}

void pawl_activity_on_cancel(pawl_activity *act, void (*fn)(void *arg), void *arg)
{
    MUST_HAVE("an activity", act);
    cancel_set(act->job, fn, arg);
}
