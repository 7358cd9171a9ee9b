/* SPDX-License-Identifier: MIT */
/* runtime/remote/remote_run.c -- see remote_run.h. */
#include "runtime/remote/remote_run.h"

#include "runtime/core/letter.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/worker_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX 4096 /* runs that one session is remembered for */

#define RUN_OF(node)                                                                               \
    ((struct remote_run *)(void *)((char *)(node)-offsetof(struct remote_run, until)))

/* ---- Tables ---------------------------------------------------------------- */

struct remote_run *run_find(const pawl_runtime *rt, uint64_t uid)
{
    return rt->hands.remotes->runs.count ? map_get(&rt->hands.remotes->runs, uid) : NULL;
}

bool run_is_out(const struct remote_run *run)
{
    return run && run->state == RUN_OUT;
}

bool run_is_ready(const struct remote_run *run)
{
    return run && run->state == RUN_READY;
}

static struct remote_run *make(pawl_runtime *rt, uint64_t uid, const struct code_entry *entry)
{
    struct remote_run *run = map_get(&rt->hands.remotes->runs, uid);

    if (!run) {
        run = calloc(1, sizeof(*run));
        need_memory(run);
        run->uid = uid;
        run->letters_end = &run->letters;
        need_memory(map_put(&rt->hands.remotes->runs, uid, run));
    }
    run->code = remote_code_of(rt, entry);
    return run;
}

static struct run_list *list_of(struct remote_run *run)
{
    return run->in_session ? &run->session->ready : &run->code->ready;
}

static void unready(struct remote_run *run)
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

static void ready_in(struct remote_run *run, bool in_session)
{
    run->in_session = in_session;
    run->state = RUN_READY;
    struct run_list *list = list_of(run);
    run->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = run;
    list->last = run;
    run->code->ready_count++;
}

static void leave_session(struct remote_run *run)
{
    if (!run->session)
        return;
    run->session->known--;
    run->session = NULL;
    run->known_seq = run->known_execution = 0;
}

static void join_session(struct remote_run *run, struct worker_session *s)
{
    if (run->session == s)
        return;
    leave_session(run);
    run->session = s;
    s->known++;
}

static void end_lease(pawl_runtime *rt, struct remote_run *run)
{
    assert_that(run->state == RUN_OUT);
    heap_remove(&rt->hands.remotes->leases, &run->until);
    run->session->out--;
    rt->hands.remotes->out_count--;
    run->state = RUN_IDLE;
    run->unsent = false;
    run->serial = 0;
    free(run->start_attrs);
    run->start_attrs = NULL;
}

static void forget(pawl_runtime *rt, struct remote_run *run)
{
    assert_that(run->state == RUN_IDLE && !run->letters);
    leave_session(run);
    map_remove(&rt->hands.remotes->runs, run->uid);
    free(run);
}

/* ---- Waiting for a worker ------------------------------------------------- */

void run_has_rows(pawl_runtime *rt, uint64_t uid, const struct code_entry *code)
{
    make(rt, uid, code)->rows = true;
}

bool run_take_rows(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);
    bool rows = run && run->rows;

    if (rows)
        run->rows = false;
    return rows;
}

void run_wait(pawl_runtime *rt, uint64_t uid, const struct code_entry *code)
{
    struct remote_run *run = make(rt, uid, code);

    assert_that(run->state != RUN_OUT);
    run->rows = true;
    if (run->state == RUN_READY)
        return;
    run->ready_ms = rt_mono(rt);
    ready_in(run, run->session && session_is_alive(rt, run->session) &&
                      session_has(run->session, run->code));
}

static bool has_room(const struct exchange *ex)
{
    return !ex->request.leaving && ex->turn_count < ex->request.max && !exchange_is_full(ex);
}

static bool may_have(const struct exchange *ex, const struct remote_code *code)
{
    return has_room(ex) && session_has(ex->session, code) &&
           (!ex->request.may || ex->request.may(ex->request.may_arg, pawl_s(code->entry->name)));
}

struct exchange *run_taker(pawl_runtime *rt, uint64_t uid, const struct code_entry *entry)
{
    const struct remote_run *run = run_find(rt, uid);
    const struct remote_code *code = remote_code_of(rt, entry);
    const struct worker_session *sticky = run ? run->session : NULL;
    struct exchange *any = NULL;

    for (struct exchange *ex = rt->hands.remotes->waiting; ex; ex = ex->next) {
        if (!may_have(ex, code))
            continue;
        if (ex->session == sticky)
            return ex;
        if (!any)
            any = ex;
    }
    if (any && sticky && session_is_alive(rt, sticky) && session_has(sticky, code))
        return NULL; /* it will call again */
    return any;
}

/* Its letters are to be read again: the first that asks goes to a call that waits. */
static void bring(pawl_runtime *rt, struct remote_run *run)
{
    uint64_t *uid = vec_push(&rt->hands.remotes->bring);

    need_memory(uid);
    *uid = run->uid;
    unready(run);
    run->rows = false;
}

bool run_brought(pawl_runtime *rt, uint64_t *retuid)
{
    if (!rt->hands.remotes->bring.count)
        return false;
    *retuid = rt->hands.remotes->bring.items[--rt->hands.remotes->bring.count];
    return true;
}

static struct remote_run *oldest_for(const struct exchange *ex)
{
    struct remote_run *best = ex->session->ready.first;
    size_t cursor = 0;

    for (struct remote_code *code; (code = map_next(&ex->session->codes, &cursor));) {
        struct remote_run *run = code->ready.first;
        if (run && (!best || run->ready_ms < best->ready_ms) && may_have(ex, code))
            best = run;
    }
    return best;
}

/* Ready runs for a call that waits. */
static void offer(pawl_runtime *rt, struct exchange *ex)
{
    struct remote_run *run;

    ex->offered = true;
    for (uint32_t n = 0; n < ex->request.max && has_room(ex) && (run = oldest_for(ex)); n++)
        bring(rt, run);
}

/* ---- Out -------------------------------------------------------------------- */

static void start_lease(pawl_runtime *rt, struct remote_run *run)
{
    heap_remove(&rt->hands.remotes->leases, &run->until);
    run->until.key = rt_mono(rt) + rt->opts.turn_lease_ms;
    run->until.tie = run->serial;
    need_memory(heap_push(&rt->hands.remotes->leases, &run->until));
}

struct remote_run *run_give(pawl_runtime *rt, struct exchange *ex, uint64_t uid,
                            const struct code_entry *code, const struct turn_token *place,
                            struct letter *l)
{
    struct remote_run *run = make(rt, uid, code);

    unready(run);
    assert_that(run->state == RUN_IDLE && !run->letters);
    join_session(run, ex->session);
    run->state = RUN_OUT;
    run->unsent = true;
    run->serial = ++rt->hands.remotes->serials;
    run->execution = place->execution;
    run->seq = place->seq;
    run->letter_count = 0;
    if (l)
        (void)run_add(run, l);
    ex->session->out++;
    rt->hands.remotes->out_count++;
    rt->hands.remotes->serve = true;
    start_lease(rt, run);
    return run;
}

void run_set_alone(struct remote_run *run)
{
    run->alone = true;
}

bool run_add(struct remote_run *run, struct letter *l)
{
    if (!run->unsent || run->letter_count >= RUN_BATCH_MAX || (run->alone && run->letter_count))
        return false;
    l->next = NULL;
    *run->letters_end = l;
    run->letters_end = &l->next;
    run->letter_count++;
    return true;
}

uint64_t run_known(const struct remote_run *run, uint64_t of)
{
    return run->known_execution == of ? run->known_seq : 0;
}

void run_set_start(struct remote_run *run, pawl_str attrs, int64_t at_ms)
{
    free(run->start_attrs);
    run->start_attrs = NULL;
    run->at_ms = at_ms;
    if (!attrs.len)
        return;
    run->start_attrs = strndup(attrs.ptr, attrs.len);
    need_memory(run->start_attrs);
}

pawl_str run_start_attrs(const struct remote_run *run)
{
    return pawl_s(run->start_attrs);
}

uint32_t run_losses(const struct remote_run *run)
{
    return run ? run->losses : 0;
}

void run_forgive(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);

    if (run)
        run->losses = 0;
}

int64_t run_at(const struct remote_run *run)
{
    return run->at_ms;
}

uint64_t run_serial(const struct remote_run *run)
{
    return run->serial;
}

int64_t run_until(pawl_runtime *rt, const struct remote_run *run)
{
    return rt->now_ms + (run->until.key - rt_mono(rt));
}

bool run_is_unsent(const struct remote_run *run)
{
    return run_is_out(run) && run->unsent;
}

bool run_inline_waits(const pawl_runtime *rt)
{
    return rt->hands.remotes->inline_waits;
}

void run_set_inline_waits(pawl_runtime *rt, bool waits)
{
    rt->hands.remotes->inline_waits = waits;
}

bool run_any_session(const pawl_runtime *rt)
{
    return rt->hands.remotes->newest != NULL;
}

void run_sent(pawl_runtime *rt, pawl_str token)
{
    struct turn_token t;
    struct remote_run *run = turn_token_read(rt, token, &t) ? run_find(rt, t.uid) : NULL;

    if (run_is_out(run) && run->serial == t.serial)
        run->unsent = false;
}

void run_come_back(pawl_runtime *rt, struct remote_run *run)
{
    letter_back(rt, run_take_letters(rt, run));
    leave_session(run);
    if (run->rows)
        bring(rt, run);
}

void run_look(pawl_runtime *rt)
{
    struct remotes *all = rt->hands.remotes;
    struct heap_node *top;
    int64_t mono;

    if (LIKELY(!all->newest))
        return;
    mono = rt_mono(rt);
    while ((top = heap_top(&all->leases)) && top->key <= mono) {
        struct remote_run *run = RUN_OF(top);
        run->losses++;
        log_warn(&rt->log, "turns", "a turn was not answered in time; it is given again",
                 "uid=%llu worker=%s losses=%u", (unsigned long long)run->uid, run->session->worker,
                 run->losses);
        run_come_back(rt, run);
    }
    for (struct worker_session *s = all->newest; s; s = s->older)
        while (s->ready.first && !session_is_alive(rt, s)) {
            struct remote_run *run = s->ready.first;
            unready(run);
            leave_session(run);
            ready_in(run, false);
            all->serve = true;
        }
    if (all->serve) /* which stays set until exchange_serve() */
        for (struct exchange *ex = all->waiting; ex; ex = ex->next)
            offer(rt, ex);
    session_look(rt);
}

int64_t run_next(const pawl_runtime *rt)
{
    const struct remotes *all = rt->hands.remotes;
    const struct heap_node *top = heap_top(&all->leases);
    int64_t at = top ? top->key : INT64_MAX;

    for (const struct worker_session *s = all->newest; s; s = s->older)
        if (s->ready.first && !s->waiting && s->heard_ms + 2000 < at)
            at = s->heard_ms + 2000;
    return at;
}

/* ---- The answer ---------------------------------------------------------------- */

struct remote_run *run_answered(pawl_runtime *rt, const struct exchange *ex,
                                const struct turn_token *t)
{
    struct remote_run *run = run_find(rt, t->uid);
    bool is = run_is_out(run) && run->serial == t->serial && run->session == ex->session &&
              run->execution == t->execution && run->seq == t->seq;

    return is ? run : NULL;
}

const struct code_entry *run_code(const struct remote_run *run)
{
    return run->code->entry;
}

struct letter *run_letters(const struct remote_run *run, uint32_t *retcount)
{
    *retcount = run->letter_count;
    return run->letters;
}

static struct letter *unhook(struct remote_run *run)
{
    struct letter *list = run->letters;

    run->letters = NULL;
    run->letters_end = &run->letters;
    run->letter_count = 0;
    return list;
}

struct letter *run_take_letters(pawl_runtime *rt, struct remote_run *run)
{
    end_lease(rt, run);
    return unhook(run);
}

void run_put_letters(struct remote_run *run, struct letter *list)
{
    (void)unhook(run);
    for (struct letter *l = list, *next; l; l = next) {
        next = l->next;
        l->next = NULL;
        *run->letters_end = l;
        run->letters_end = &l->next;
        run->letter_count++;
    }
}

void run_beat(pawl_runtime *rt, struct remote_run *run)
{
    start_lease(rt, run);
}

void run_knows(pawl_runtime *rt, struct exchange *ex, uint64_t uid, const struct code_entry *code,
               uint64_t of, uint64_t seq)
{
    struct remote_run *run = make(rt, uid, code);

    run->losses = 0;
    run->alone = false;
    if (run->state == RUN_READY && run->in_session && run->session != ex->session)
        return;
    if (ex->session->known >= KNOWN_MAX && run->session != ex->session)
        return;
    join_session(run, ex->session);
    run->known_execution = of;
    run->known_seq = seq;
}

void run_unknown(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);

    if (!run || run->state == RUN_OUT)
        return;
    if (run->state == RUN_READY && run->in_session) {
        unready(run);
        leave_session(run);
        ready_in(run, false);
    } else {
        leave_session(run);
    }
    if (run->state == RUN_IDLE && !run->rows && !run->alone)
        forget(rt, run);
}

void run_forget(pawl_runtime *rt, const struct exchange *ex, pawl_str name)
{
    char text[48];
    (void)snprintf(text, sizeof(text), "%.*s", PAWL_FMT(name));
    uint64_t uid = strtoull(text, NULL, 10);
    const struct remote_run *run = uid ? run_find(rt, uid) : NULL;

    if (run && run->session == ex->session)
        run_unknown(rt, uid);
}

void run_leave(pawl_runtime *rt, struct exchange *ex)
{
    struct worker_session *s = ex->session;

    for (struct remote_run *run; (run = s->ready.first);) {
        unready(run);
        leave_session(run);
        ready_in(run, false);
    }
    rt->hands.remotes->serve = true;
}

void run_end(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);

    if (!run)
        return;
    if (run->state == RUN_OUT)
        letter_back(rt, run_take_letters(rt, run)); /* late: each is answered or dropped */
    unready(run);
    forget(rt, run);
}
