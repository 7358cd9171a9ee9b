/* SPDX-License-Identifier: MIT */
/* runtime/work/by_token.c -- see by_token.h. */
#include "runtime/work/by_token.h"

#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/core/token.h"
#include "runtime/work/attempt.h"
#include "runtime/work/crew.h"
#include "runtime/work/details.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "store/store.h"

#include <string.h>

/* Does the attempt in memory have this token?  It may be completed before it returns. */
static bool is_token_of(struct job *job, const char *token)
{
    return job && atomic_load(&job->has_token) && strcmp(job->token, token) == 0;
}

/* The work row, in *ret; NOT_FOUND: there is none. */
static pawl_status read_row(pawl_runtime *rt, const struct letter *call, uint64_t id,
                            pawl_work *ret, pawl_error *err)
{
    const struct known *known = letter_known(rt, call);
    if (known && known->work)
        *ret = *known->work;
    if (known)
        return known->work ? PAWL_OK : PAWL_NOT_FOUND;
    pawl_work_list list = {0};
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_work(rt->store, &id, 1, &rt->load_mem, &list, err);
    if (rc == PAWL_OK && list.count)
        *ret = list.items[0];
    return rc == PAWL_OK && !list.count ? PAWL_NOT_FOUND : rc;
}

/* The row a token speaks of; false: the request was answered or refused, or comes again (*retwhy). */
static bool row_of_token(pawl_runtime *rt, struct letter *call, pawl_work *ret,
                         enum verdict_kind *retwhy)
{
    const char *token = call->mail.name.ptr;
    uint64_t id = token_work(token);
    pawl_error err;
    *retwhy = VERDICT_DONE;
    pawl_status rc = read_row(rt, call, id, ret, &err);
    bool found = rc == PAWL_OK;
    if (found && stage_has_work(rt, id)) { /* leased out, given back or failed in this group */
        *retwhy = VERDICT_FIRST;
        return false;
    }
    bool leased = found && pawl_str_is(ret->lock_token, token) && ret->lock_until_ms > rt->now_ms;
    if (leased || (found && is_token_of(job_find(rt, id), token)))
        return true;
    if (rc != PAWL_OK && rc != PAWL_NOT_FOUND)
        request_refuse(call, rc, "%s", err.text);
    else if (call->ask.op == PAWL_OP_COMPLETE &&
             token_is_recorded(rt, token, !call->ask.failed, call->mail.data))
        request_answer(call, &(pawl_reply){.status = PAWL_OK});
    else
        request_refuse(call, PAWL_LOST,
                       "this result is no longer wanted: the work was completed, cancelled or "
                       "timed out");
    return false;
}

enum verdict_kind by_token_complete(pawl_runtime *rt, struct letter *call)
{
    pawl_work w;
    enum verdict_kind why;
    if (!row_of_token(rt, call, &w, &why))
        return why;
    pawl_str token = call->mail.name;
    const struct attempt_how how = {.call = call,
                                    .started_ms = token_began(token, 0),
                                    .worker = crew_holder(rt, w.id, &rt->group_mem)};
    crew_freed(rt, w.id);
    pawl_str result = call->mail.data;
    if (!call->ask.failed) {
        attempt_completed(rt, &w, result, &how);
        return VERDICT_DONE;
    }
    struct call_policy p = policy_parse(w.attrs, &rt->group_mem);
    struct job *job = job_find(rt, w.id);
    struct stage *s =
        attempt_failed(rt, &w, &p, result, call->ask.final ? ATTEMPT_FINAL : ATTEMPT_ERROR, &how);
    if (s && job)
        details_put_of(rt, job);
    return VERDICT_DONE;
}

/* The silence of a worker outside is counted from now. */
static struct stage *move_lease(pawl_runtime *rt, const pawl_work *w)
{
    struct call_policy p = policy_parse(w->attrs, &rt->group_mem);
    int64_t at = lease_deadline(&p, w, w->lock_token, rt->now_ms, w->lock_until_ms);
    return attempt_move_deadline(rt, w, at, 0);
}

enum verdict_kind by_token_heartbeat(pawl_runtime *rt, struct letter *call)
{
    pawl_work w;
    enum verdict_kind why;
    if (!row_of_token(rt, call, &w, &why))
        return why;
    struct job *job = job_find(rt, w.id);
    pawl_str details = call->mail.data;
    if (job)
        atomic_store(&job->beat_ms, rt_mono(rt));
    if (job && !details.len) {
        request_answer(call, &(pawl_reply){.status = PAWL_OK});
        return VERDICT_DONE;
    }
    struct stage *s = job ? stage_bare(rt) : move_lease(rt, &w);
    if (details.len)
        details_put(rt, w.id, details);
    stage_answer(s, call);
    return VERDICT_DONE;
}
