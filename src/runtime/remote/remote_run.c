/* SPDX-License-Identifier: MIT */
/* runtime/remote/remote_run.c -- see remote_run.h. */
#include "runtime/remote/remote_run.h"

#include "runtime/core/letter.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/ready.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/worker_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TRY_AGAIN 8 /* wait for the answer to one start of this many, after a wait in vain */

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

/* Its list may be that of its code. */
static void set_code(pawl_runtime *rt, struct remote_run *run, struct remote_code *code)
{
    bool ready = run->state == RUN_READY;

    if (run->code == code)
        return;
    ready_take(run);
    run->code = code;
    if (ready)
        ready_put(rt, run);
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
    set_code(rt, run, remote_code_of(rt, entry));
    return run;
}

static void end_lease(pawl_runtime *rt, struct remote_run *run)
{
    assert_that(run->state == RUN_OUT);
    heap_remove(&rt->hands.remotes->leases, &run->until);
    run->session->out--;
    rt->hands.remotes->out_count--;
    if (rt->hands.remotes->held_back) /* there is room for one now */
        rt->hands.remotes->moved = true;
    rt->hands.remotes->held_back = false;
    run->state = RUN_IDLE;
    run->unsent = run->begins = false;
    run->serial = 0;
    free(run->start_attrs);
    run->start_attrs = NULL;
}

static void forget(pawl_runtime *rt, struct remote_run *run)
{
    assert_that(run->state == RUN_IDLE && !run->letters);
    ready_leave(rt, run);
    map_remove(&rt->hands.remotes->runs, run->uid);
    free(run);
}

/* ---- Waiting for a worker ------------------------------------------------- */

void run_has_rows(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);

    /* IDLE: its instance stands, and the letter that lets it go on reads its rows */
    if (run && run->state != RUN_IDLE)
        run->rows = true;
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
    if (run->state != RUN_READY)
        ready_put(rt, run);
}

struct exchange *run_taker(pawl_runtime *rt, uint64_t uid, const struct code_entry *entry)
{
    const struct remote_run *run = run_find(rt, uid);
    const struct remote_code *code = remote_code_of(rt, entry);
    const struct worker_session *sticky = run ? run->session : NULL;
    struct exchange *any = NULL;

    for (struct exchange *ex = rt->hands.remotes->waiting; ex; ex = ex->next) {
        if (!ready_may_have(rt, ex, code))
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

bool run_brought(pawl_runtime *rt, uint64_t *retuid)
{
    if (!rt->hands.remotes->bring.count)
        return false;
    *retuid = rt->hands.remotes->bring.items[--rt->hands.remotes->bring.count];
    return true;
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

    ready_take(run);
    assert_that(run->state == RUN_IDLE && !run->letters);
    ready_join(rt, run, ex->session);
    run->state = RUN_OUT;
    run->unsent = true;
    run->serial = ++rt->hands.remotes->serials;
    run->execution = place->execution;
    run->seq = place->seq;
    run->letter_count = 0;
    if (l)
        (void)run_add(rt, run, l);
    ex->session->out++;
    rt->hands.remotes->out_count++;
    start_lease(rt, run);
    return run;
}

void run_set_alone(struct remote_run *run)
{
    run->alone = true;
}

static void hook(pawl_runtime *rt, struct remote_run *run, struct letter *l)
{
    size_t bytes = sizeof(*l) + l->mail.name.len + l->mail.data.len + l->mail.attrs.len;

    l->next = NULL;
    *run->letters_end = l;
    run->letters_end = &l->next;
    run->letter_count++;
    run->bytes += bytes;
    rt->hands.remotes->out_bytes += bytes;
}

/* They may be others' already: none is looked at. */
static struct letter *unhook(pawl_runtime *rt, struct remote_run *run)
{
    struct letter *list = run->letters;

    rt->hands.remotes->out_bytes -= run->bytes;
    run->bytes = 0;
    run->letters = NULL;
    run->letters_end = &run->letters;
    run->letter_count = 0;
    return list;
}

bool run_add(pawl_runtime *rt, struct remote_run *run, struct letter *l)
{
    if (!run->unsent || run->letter_count >= RUN_BATCH_MAX || (run->alone && run->letter_count))
        return false;
    hook(rt, run, l);
    return true;
}

/* ---- Starts before their commit --------------------------------------------- */

void run_set_begins(struct remote_run *run)
{
    run->begins = true;
}

bool run_begins(const struct remote_run *run)
{
    return run && run->begins;
}

void run_begin_with(pawl_runtime *rt, struct remote_run *run, struct letter *l)
{
    assert_that(run->state == RUN_OUT && run->begins && !run->letters);
    run->begins = false;
    hook(rt, run, l);
}

struct letter *run_begin_without(pawl_runtime *rt, struct remote_run *run)
{
    run->begins = true;
    return unhook(rt, run);
}

int64_t run_first_ms(const pawl_runtime *rt)
{
    return rt->hands.remotes->first_ms;
}

bool run_first_hopes(const pawl_runtime *rt)
{
    return rt->hands.remotes->first_misses % FIRST_TRY_AGAIN == 0;
}

void run_first_ended(pawl_runtime *rt, bool answered)
{
    rt->hands.remotes->first_misses = answered ? 0 : rt->hands.remotes->first_misses + 1;
}

/* ---- What is told of a turn --------------------------------------------------- */

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

int64_t run_lease_ms(const struct remote_run *run)
{
    return run->session->lease_ms;
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
    bool never = run->begins; /* its start was not stored, and never will be */
    letter_back(rt, run_take_letters(rt, run));
    ready_leave(rt, run);
    if (run->rows)
        ready_bring(rt, run);
    else if (never)
        forget(rt, run);
}

void run_lost(pawl_runtime *rt, struct remote_run *run)
{
    run->losses++;
    log_warn(&rt->log, "turns", "a turn was not answered in time; it is given again",
             "uid=%llu worker=%s losses=%u", (unsigned long long)run->uid, run->session->worker,
             run->losses);
    run_come_back(rt, run);
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

struct letter *run_take_letters(pawl_runtime *rt, struct remote_run *run)
{
    end_lease(rt, run);
    return unhook(rt, run);
}

void run_put_letters(pawl_runtime *rt, struct remote_run *run, struct letter *list)
{
    (void)unhook(rt, run);
    for (struct letter *l = list, *next; l; l = next) {
        next = l->next;
        hook(rt, run, l);
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
    ready_join(rt, run, ex->session);
    run->known_execution = of;
    run->known_seq = seq;
}

void run_unknown(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);

    if (!run || run->state == RUN_OUT)
        return;
    if (run->state == RUN_READY && run->in_session)
        ready_for_all(rt, run);
    else
        ready_leave(rt, run);
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

void run_end(pawl_runtime *rt, uint64_t uid)
{
    struct remote_run *run = run_find(rt, uid);

    if (!run)
        return;
    if (run->state == RUN_OUT)
        letter_back(rt, run_take_letters(rt, run)); /* late: each is answered or dropped */
    ready_take(run);
    forget(rt, run);
}
