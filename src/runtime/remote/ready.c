/* SPDX-License-Identifier: MIT */
/* runtime/remote/ready.c -- see ready.h. */
#include "runtime/remote/ready.h"

#include "runtime/remote/exchange.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/worker_session.h"

#include <stddef.h>

#define OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* ---- Lists ------------------------------------------------------------------- */

static struct run_list *list_of(struct remote_run *run)
{
    return run->in_session ? &run->session->ready : &run->code->ready;
}

void ready_take(struct remote_run *run)
{
    if (run->state != RUN_READY)
        return;
    struct run_list *list = list_of(run);
    *(run->prev ? &run->prev->next : &list->first) = run->next;
    *(run->next ? &run->next->prev : &list->last) = run->prev;
    run->next = run->prev = NULL;
    run->code->ready_count--;
    run->state = RUN_IDLE;
}

static void put_in(struct remote_run *run, bool in_session)
{
    run->in_session = in_session;
    run->state = RUN_READY;
    struct run_list *list = list_of(run);
    run->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = run;
    list->last = run;
    run->code->ready_count++;
}

/* Look at it again when it may have become silent. */
static void watch(pawl_runtime *rt, struct worker_session *s, int64_t at_ms)
{
    heap_remove(&rt->hands.remotes->silent, &s->silent);
    s->silent.key = at_ms;
    need_memory(heap_push(&rt->hands.remotes->silent, &s->silent));
}

void ready_put(pawl_runtime *rt, struct remote_run *run)
{
    struct worker_session *s = run->session;

    run->ready_ms = rt_mono(rt);
    put_in(run, s && session_is_alive(rt, s) && session_has(s, run->code));
    if (run->in_session && !s->silent.place)
        watch(rt, s, s->heard_ms + SESSION_STICKY_MS);
}

void ready_for_all(pawl_runtime *rt, struct remote_run *run)
{
    ready_take(run);
    ready_leave(rt, run);
    put_in(run, false);
    rt->hands.remotes->moved = true;
}

void ready_bring(pawl_runtime *rt, struct remote_run *run)
{
    uint64_t *uid = vec_push(&rt->hands.remotes->bring);

    need_memory(uid);
    *uid = run->uid;
    ready_take(run);
    run->rows = false;
}

/* ---- Sticky --------------------------------------------------------------------- */

static void unlink_known(struct remote_run *run)
{
    struct worker_session *s = run->session;

    *(run->staler ? &run->staler->fresher : &s->stalest) = run->fresher;
    *(run->fresher ? &run->fresher->staler : &s->freshest) = run->staler;
    run->staler = run->fresher = NULL;
}

static void link_known(struct remote_run *run)
{
    struct worker_session *s = run->session;

    run->staler = s->freshest;
    *(s->freshest ? &s->freshest->fresher : &s->stalest) = run;
    s->freshest = run;
}

void ready_leave(pawl_runtime *rt, struct remote_run *run)
{
    if (!run->session)
        return;
    assert_that(run->state != RUN_OUT && !(run->state == RUN_READY && run->in_session));
    unlink_known(run);
    run->session->known--;
    rt->hands.remotes->known_count--;
    run->session = NULL;
    run->known_seq = run->known_execution = 0;
}

/* The runs that its session used longest ago go, if they are not in use. */
static void trim(pawl_runtime *rt, const struct worker_session *s)
{
    while ((s->known > PAWL_TURNS_KNOWN_MAX ||
            rt->hands.remotes->known_count > PAWL_TURNS_ALL_KNOWN_MAX) &&
           s->stalest != s->freshest && s->stalest->state == RUN_IDLE)
        run_unknown(rt, s->stalest->uid);
}

void ready_join(pawl_runtime *rt, struct remote_run *run, struct worker_session *s)
{
    if (run->session == s) {
        unlink_known(run);
        link_known(run);
        return;
    }
    ready_leave(rt, run);
    run->session = s;
    link_known(run);
    s->known++;
    rt->hands.remotes->known_count++;
    trim(rt, s);
}

void ready_drop_session(pawl_runtime *rt, struct worker_session *s)
{
    for (struct remote_run *run = s->stalest, *fresher; run; run = fresher) {
        fresher = run->fresher;
        if (run->state != RUN_OUT)
            run_unknown(rt, run->uid);
    }
    heap_remove(&rt->hands.remotes->silent, &s->silent);
}

/* ---- Calls that wait -------------------------------------------------------------- */

/* As many turns as one session and the server may have out. */
static bool is_at_limit(const struct remotes *all, const struct worker_session *s)
{
    return s->out >= PAWL_TURNS_SESSION_OUT_MAX || all->out_count >= all->most_out ||
           all->out_bytes >= all->most_bytes;
}

static bool has_room(pawl_runtime *rt, const struct exchange *ex)
{
    if (ex->request.leaving || ex->turn_count >= ex->request.max || exchange_is_full(ex))
        return false;
    if (!is_at_limit(rt->hands.remotes, ex->session))
        return true;
    rt->hands.remotes->held_back = true; /* looked at again when a turn comes in */
    return false;
}

bool ready_may_have(pawl_runtime *rt, const struct exchange *ex, const struct remote_code *code)
{
    return session_has(ex->session, code) && has_room(rt, ex) &&
           (!ex->request.may || ex->request.may(ex->request.may_arg, pawl_s(code->entry->name)));
}

static struct remote_run *oldest_for(pawl_runtime *rt, const struct exchange *ex)
{
    struct remote_run *best = ex->session->ready.first;
    size_t cursor = 0;

    for (struct remote_code *code; (code = map_next(&ex->session->codes, &cursor));) {
        struct remote_run *run = code->ready.first;
        if (run && (!best || run->ready_ms < best->ready_ms) && ready_may_have(rt, ex, code))
            best = run;
    }
    return best;
}

/* Ready runs for a call that waits. */
static void offer(pawl_runtime *rt, struct exchange *ex)
{
    struct remote_run *run;

    for (uint32_t n = 0; n < ex->request.max && has_room(rt, ex) && (run = oldest_for(rt, ex)); n++)
        ready_bring(rt, run);
}

/* ---- What is due --------------------------------------------------------------------- */

static void end_leases(pawl_runtime *rt, int64_t mono)
{
    struct heap_node *top;

    while ((top = heap_top(&rt->hands.remotes->leases)) && top->key <= mono)
        run_lost(rt, OWNER(top, struct remote_run, until));
}

static void look_silent(pawl_runtime *rt, int64_t mono)
{
    struct heap_node *top;

    while ((top = heap_top(&rt->hands.remotes->silent)) && top->key <= mono) {
        struct worker_session *s = OWNER(top, struct worker_session, silent);
        if (session_is_alive(rt, s) && s->ready.first) {
            watch(rt, s, (s->waiting ? mono : s->heard_ms) + SESSION_STICKY_MS);
            continue;
        }
        heap_remove(&rt->hands.remotes->silent, top);
        while (s->ready.first)
            ready_for_all(rt, s->ready.first);
    }
}

void ready_look(pawl_runtime *rt)
{
    struct remotes *all = rt->hands.remotes;
    int64_t mono;

    if (LIKELY(!all->newest))
        return;
    mono = rt_mono(rt);
    end_leases(rt, mono);
    look_silent(rt, mono);
    for (struct exchange *ex = all->moved ? all->waiting : all->fresh; ex; ex = ex->next)
        offer(rt, ex);
    all->moved = false;
    exchange_offered(rt);
    session_look(rt);
}

static int64_t top_of(const struct heap *h)
{
    const struct heap_node *top = heap_top(h);

    return top ? top->key : INT64_MAX;
}

int64_t ready_next(const pawl_runtime *rt)
{
    const struct remotes *all = rt->hands.remotes;
    int64_t lease = top_of(&all->leases), silent = top_of(&all->silent), end = session_next(rt);
    int64_t first = lease < silent ? lease : silent;

    return first < end ? first : end;
}
