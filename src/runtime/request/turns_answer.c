/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/turns_answer.c -- see turns_answer.h, and docs/protocol/turns.md.
 *
 * The walk of an answer: its token names a run at one place of its history.  The run's letters, which
 * were handed out, are delivered again one by one, each with the worker's step; the results of inline
 * steps are letters, too.  All of it is one stage: message rows, decisions and what they mean are one
 * round.  The answer is told when that is committed.
 *
 * Refused: the stage is undone, the execution dropped, the letters are the run's again as they
 * were, and the token is still good.  Lost: nothing is touched.
 *
 * Invariants: a run is OUT until its answer was taken; the stage of an answer holds nothing else.
 */
#include "runtime/request/turns_answer.h"

#include "base/utf8.h"
#include "engine/remote_code.h"
#include "runtime/core/coming.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/begin.h"
#include "runtime/instance/first_turn.h"
#include "runtime/instance/load.h"
#include "runtime/instance/park.h"
#include "runtime/instance/turn.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/playing.h"
#include "runtime/remote/ready.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/worker_session.h"
#include "runtime/work/activity.h"
#include "runtime/work/crew.h"
#include "runtime/work/lease.h"

#include <stdarg.h>
#include <stdio.h>

#define AT_AHEAD_MS 1000 /* a worker's clock may be ahead of ours by this */

/* One answer on its way. */
struct answering {
    pawl_runtime *rt;
    struct exchange *ex;
    const pawl_turn_answer *a;
    pawl_turn_answered *ret;
    struct turn_token token;
    struct remote_run *run; /* NULL: an idle token */
    struct resident *r;
    const struct code_entry *code;
    size_t step;             /* the next one */
    struct letter **results; /* letters of inline steps, made here; the stage's when it stands */
    size_t result_count;
    bool first;                    /* its start is in this group (first_turn.h) */
    bool blocked, troubled;        /* the instance is blocked now; memory or the store failed */
    const struct coming *reserved; /* ids, before this answer */
};

PAWL_PRINTF(3, 4)
static void refuse(struct answering *at, const char *code, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    utf8_cut(text);
    at->ret->status = PAWL_TURN_REFUSED;
    at->ret->code = pawl_s(code);
    at->ret->message = arena_dup(&at->ex->mem, pawl_s(text));
}

static bool is_refused(const struct answering *at)
{
    return at->ret->status == PAWL_TURN_REFUSED;
}

/* ---- Whose it is ------------------------------------------------------------------ */

/* Is the instance where the token says, and may it go on? */
static bool fits(const struct answering *at)
{
    const pawl_row *row = &at->r->row;
    const struct turn_token *t = &at->token;
    bool goes = row->state == PAWL_RUNNING || row->state == PAWL_PENDING;
    bool here = row->execution == t->execution && row->last_seq == t->seq;
    bool next = at->run && row->execution + 1 == t->execution && t->seq == 0;

    return goes && (here || next);
}

/* OK: the run, its instance and its code are in memory.  FIRST: it is in this group; else it is lost. */
static pawl_status find(struct answering *at)
{
    pawl_runtime *rt = at->rt;

    at->ret->status = PAWL_TURN_LOST;
    if (!turn_token_read(rt, at->a->token, &at->token) ||
        at->token.session != session_tag(at->ex->session))
        return PAWL_LOST;
    at->run = at->token.serial ? run_answered(rt, at->ex, &at->token) : NULL;
    if (at->token.serial ? !at->run : run_is_out(run_find(rt, at->token.uid)))
        return PAWL_LOST;
    if (load_row(rt, at->token.uid, (pawl_str){0}, &at->r) != LOAD_OK)
        return PAWL_LOST;
    at->first = at->run && at->a->form == PAWL_TURN_STEPS && first_turn_is(rt, at->r);
    if (at->r->stage && !at->first)
        return PAWL_BUSY;
    if (!fits(at))
        return PAWL_LOST;
    if (run_begins(at->run) && !at->first) /* its start was stored, and comes as a letter now */
        return PAWL_BUSY;
    at->code = at->run ? run_code(at->run) : at->r->code;
    return PAWL_OK;
}

/* ---- Steps -------------------------------------------------------------------------- */

static const pawl_turn_step *next_step(const struct answering *at)
{
    return at->step < at->a->step_count ? &at->a->steps[at->step] : NULL;
}

/* Deliver a letter with its step (NULL: without).  False: the answer does not stand. */
static bool deliver(struct answering *at, struct letter *l, const pawl_turn_step *step,
                    int64_t at_ms, pawl_str start_attrs)
{
    pawl_runtime *rt = at->rt;
    struct engine_finding finding = {0};
    struct remote_step play = {0};
    bool refused = false;

    if (step)
        play = (struct remote_step){
            .at_ms = at_ms, .seq = step->seq, .decisions = step->decisions, .count = step->count};
    l->next = NULL;
    remote_play_begin(rt, at->token.uid, at->code, step ? &play : NULL, start_attrs);
    struct delivered v = at->r ? turn_deliver(rt, l) : begin_as(rt, l, at->token.uid);
    bool played = remote_play_end(rt, &refused, &finding);
    if (refused) { /* with a seq: that call of the code is, and the code can be told */
        refuse(at, finding.seq ? "call" : "step", "%s", finding.text);
        at->ret->seq = finding.seq;
        return false;
    }
    at->troubled = v.kind != VERDICT_DONE;
    if (!at->r)
        at->r = resident_by_uid(rt, at->token.uid);
    at->blocked = !at->troubled && at->r->stage && at->r->stage->row.state == PAWL_BLOCKED;
    return played && !at->troubled && !at->blocked;
}

/* Would this message still change something?  Else it is skipped: no step for it. */
static bool is_skipped(struct answering *at, const struct letter *l, uint32_t index)
{
    struct remote_look look;

    if (index == 1 || !at->r->x)
        return false;
    look = execution_look(at->r->x, &l->mail, &at->rt->group_mem);
    return look.fate == FATE_IGNORED;
}

/* Has an earlier step of this answer ended the instance, or begun an execution of C code? */
static bool has_left(const struct answering *at)
{
    const struct stage *s = at->r ? at->r->stage : NULL;

    return s && (s->ended || s->row.execution != at->token.execution);
}

/* The messages that were handed out, in order; those behind the last step stay. */
static bool play_messages(struct answering *at, struct letter **all, uint32_t count,
                          uint32_t *rettaken, pawl_str start_attrs, int64_t at_ms)
{
    *rettaken = 0;
    for (uint32_t i = 1; i <= count; i++) {
        const pawl_turn_step *step = next_step(at);
        bool skipped = is_skipped(at, all[i - 1], i);
        bool is_its = step && step->message == i;
        if (skipped && is_its) {
            refuse(at, "step", "step for message %u, which changes nothing any more", i);
            return false;
        }
        if (!skipped && !is_its && (i == 1 || (step && step->message))) {
            refuse(at, "step", "message %u has no step", i);
            return false;
        }
        if (!skipped && !is_its) /* a prefix was answered */
            break;
        if (has_left(at)) {
            if (is_its)
                refuse(at, "step", "a step after the end");
            return !is_its; /* the rest is late */
        }
        *rettaken = i;
        if (!deliver(at, all[i - 1], skipped ? NULL : step, at_ms, start_attrs))
            return false;
        at->step += !skipped;
    }
    return true;
}

/* The letter of an inline step that is done. */
static struct letter *result_letter(struct answering *at, const pawl_turn_step *step)
{
    pawl_runtime *rt = at->rt;
    int64_t least = at->r->x ? execution_now(at->r->x) : 0, most = rt->now_ms + AT_AHEAD_MS;
    pawl_work w;
    pawl_error err = {0};

    if (step->at_ms < least || step->at_ms > most) {
        refuse(at, "at", "the result's time %lld is not in %lld..%lld: hand it in by its lease",
               (long long)step->at_ms, (long long)least, (long long)most);
        return NULL;
    }
    pawl_status rc = lease_row_of(rt, step->lease, &w, &err);
    if (rc != PAWL_OK || w.uid != at->token.uid || stage_has_work(rt, w.id)) {
        refuse(at, "lease", "the lease of the result is lost, or of another run");
        return NULL;
    }
    struct attempt_how how = lease_how(rt, &w);
    crew_freed(rt, w.id);
    return attempt_completion(rt, &w, step->data, &how);
}

static bool play_results(struct answering *at)
{
    for (const pawl_turn_step *step; (step = next_step(at)); at->step++) {
        if (step->message) {
            refuse(at, "step", "step for message %u, which was not given", step->message);
            return false;
        }
        if (has_left(at) || (at->r->stage && execution_end(at->r->x).kind)) {
            refuse(at, "step", "a step after the end");
            return false;
        }
        struct engine_finding finding;
        if (!at->r->x && load_execution(at->rt, at->r, &finding) != READY_OK) {
            at->troubled = true;
            return false;
        }
        struct letter *l = result_letter(at, step);
        if (!l)
            return false;
        at->results[at->result_count++] = l;
        if (!deliver(at, l, step, step->at_ms, (pawl_str){0}))
            return false;
    }
    return true;
}

/* After the steps: the end, or what it waits for. */
static bool check_wait(struct answering *at)
{
    const pawl_turn_answer *a = at->a;
    bool next = at->r->stage->row.execution != at->token.execution; /* C code went on with it */
    bool ended = next || at->r->stage->ended || execution_end(at->r->x).kind;
    char why[120];

    if (ended && a->wait != PAWL_TURN_WAIT_NONE)
        refuse(at, "wait", "it has ended, and waits");
    else if (!ended && a->wait == PAWL_TURN_WAIT_NONE)
        refuse(at, "wait", "neither an end nor a wait");
    else if (!ended && !a->ref_count)
        refuse(at, "wait", "it waits for nothing: it would never wake");
    else if (!ended &&
             !execution_expect(at->r->x, a->wait, a->refs, a->ref_count, why, sizeof(why)))
        refuse(at, "wait", "%s", why);
    return !is_refused(at);
}

/* ---- What follows ---------------------------------------------------------------------- */

/* Undo the stage.  The letters are the caller's. */
static void undo(struct answering *at)
{
    struct resident *r = resident_by_uid(at->rt, at->token.uid);

    coming_take_back(at->rt, at->reserved);
    if (!r)
        return;
    if (r->stage)
        (void)stage_abort(at->rt, r->stage);
    resident_evict(at->rt, r);
}

static void chain(struct letter **all, uint32_t from, uint32_t count, struct letter **retfirst)
{
    *retfirst = from < count ? all[from] : NULL;
    for (uint32_t i = from; i < count; i++)
        all[i]->next = i + 1 < count ? all[i + 1] : NULL;
}

/* The round is staged: answered when it is committed. */
static void staged(struct answering *at)
{
    struct stage *s = at->r->stage;

    s->exchange = at->ex;
    s->answer = at->ex->at;
    at->ex->pending++;
    at->ret->status = PAWL_TURN_LOST; /* until it is committed */
    if (at->r->x && at->r->code->remote && !execution_end(at->r->x).kind &&
        execution_has_due_mail(at->r->x))
        (void)stage_send(at->rt, s, PAWL_MSG_WAKE, s->row.uid, (pawl_str){0});
    if (run_take_rows(at->rt, at->token.uid))
        s->unpile = true;
}

/* Letters of the turn as an array, in order. */
static struct letter **list_letters(struct answering *at, uint32_t *retcount)
{
    struct letter *l = at->run ? run_letters(at->run, retcount) : NULL;
    struct letter **all = arena_array(&at->rt->group_mem, struct letter *, RUN_BATCH_MAX);

    if (!at->run)
        *retcount = 0;
    for (uint32_t i = 0; l; l = l->next)
        all[i++] = l;
    return all;
}

/* The start of a first turn whose answer was refused: it is staged as it was. */
static void store_first(struct answering *at, struct letter *l)
{
    pawl_runtime *rt = at->rt;

    (void)run_begin_without(rt, at->run);
    struct delivered v = begin_as(rt, l, at->token.uid);
    if (v.kind == VERDICT_DONE)
        return;
    letter_back(rt, v.letters); /* no memory: it begins again, as another */
    run_come_back(rt, at->run);
}

/* It does not stand.  The token stays good, unless the instance is blocked or something failed. */
static void gave_up(struct answering *at, struct letter **all, uint32_t count, uint32_t taken)
{
    pawl_runtime *rt = at->rt;
    struct letter *list;

    if (at->blocked) { /* the letter that did it is a row, and so are those behind it */
        chain(all, taken, count, &list);
        if (at->run)
            (void)run_take_letters(rt, at->run);
        letter_back(rt, list);
        staged(at);
        return;
    }
    undo(at);
    for (size_t i = 0; i < at->result_count; i++) /* no stage has them: their leases stand */
        letter_drop(rt, at->results[i], PAWL_OK, "");
    chain(all, 0, count, &list);
    if (!is_refused(at))
        at->ret->status = PAWL_TURN_LOST;
    if (!at->run)
        return;
    if (!is_refused(at)) { /* trouble: given again, one by one */
        if (count > 1)
            run_set_alone(at->run);
        run_put_letters(rt, at->run, list);
        run_come_back(rt, at->run);
        run_unknown(rt, at->token.uid);
    } else if (at->first) {
        store_first(at, list);
    } else {
        run_put_letters(rt, at->run, list);
    }
}

/* A turn of inline steps alone was taken over: nothing is recorded, the run is idle. */
static void take_over(struct answering *at)
{
    const pawl_turn_answer *a = at->a;
    char why[120];

    if (a->wait == PAWL_TURN_WAIT_NONE || !a->ref_count) {
        refuse(at, "wait", "it has no steps, and waits for nothing");
        return;
    }
    if (!execution_expect(at->r->x, a->wait, a->refs, a->ref_count, why, sizeof(why))) {
        refuse(at, "wait", "%s", why);
        return;
    }
    letter_back(at->rt, run_take_letters(at->rt, at->run));
    if (run_take_rows(at->rt, at->token.uid))
        park_unpile(at->rt, at->token.uid);
    run_knows(at->rt, at->ex, at->token.uid, at->code, at->token.execution, at->token.seq);
    at->ret->status = PAWL_TURN_OK;
    at->ret->seq = at->token.seq;
    at->ret->next = turn_token_make(at->rt, &at->ex->mem,
                                    &(struct turn_token){at->token.uid, at->token.execution,
                                                         at->token.seq, 0, at->token.session});
}

static void take_steps(struct answering *at)
{
    pawl_runtime *rt = at->rt;
    uint32_t count, taken = 0;
    struct letter **all, *rest;
    struct engine_finding finding;
    pawl_str attrs = at->run ? run_start_attrs(at->run) : (pawl_str){0};

    if (at->first) {
        run_begin_with(rt, at->run, first_turn_take(rt, at->r));
        at->r = NULL;
    }
    all = list_letters(at, &count);

    at->results = arena_array(&rt->group_mem, struct letter *, at->a->step_count + 1);
    at->ret->status = 0;
    if (at->r && at->r->row.last_seq && load_execution(rt, at->r, &finding) != READY_OK) {
        at->ret->status = PAWL_TURN_LOST;
        return;
    }
    if (!at->a->step_count && at->run && !count) {
        take_over(at);
        return;
    }
    if (!at->a->step_count)
        refuse(at, "step", "an answer has steps, a mismatch, a bug, or release");
    else if (!at->run && !at->code)
        at->code = at->r->code;
    if (is_refused(at) ||
        !play_messages(at, all, count, &taken, attrs, at->run ? run_at(at->run) : 0) ||
        !play_results(at) || !check_wait(at)) {
        gave_up(at, all, count, taken);
        return;
    }
    chain(all, taken, count, &rest);
    if (at->run)
        (void)run_take_letters(rt, at->run);
    staged(at);
    for (struct letter *l = rest, *next; l; l = next) { /* they are rows, and come again */
        next = l->next;
        letter_drop(rt, l, PAWL_OK, "");
        at->r->stage->unpile = true;
    }
}

/* ---- Other forms --------------------------------------------------------------------------- */

static void take_release(struct answering *at)
{
    at->ret->status = PAWL_TURN_RELEASED;
    if (at->run)
        run_come_back(at->rt, at->run);
    run_unknown(at->rt, at->token.uid);
}

static struct engine_finding finding_of(const struct answering *at)
{
    const pawl_turn_answer *a = at->a;
    struct engine_finding f = {.seq = a->form == PAWL_TURN_MISMATCH ? a->seq : 0};

    (void)snprintf(f.text, sizeof(f.text), "%s%.*s%s%.*s%s%s%s",
                   a->form == PAWL_TURN_BUG ? "bug: " : "", PAWL_FMT(a->text),
                   a->site.len ? " at " : "", PAWL_FMT(a->site), " (worker ",
                   at->ex->session->worker, ")");
    (void)snprintf(f.recorded, sizeof(f.recorded), "%.*s", PAWL_FMT(a->recorded));
    (void)snprintf(f.attempted, sizeof(f.attempted), "%.*s", PAWL_FMT(a->attempted));
    utf8_cut(f.text);
    utf8_cut(f.recorded);
    utf8_cut(f.attempted);
    return f;
}

static void take_block(struct answering *at)
{
    pawl_runtime *rt = at->rt;
    struct engine_finding finding = finding_of(at);
    struct letter *first = at->run ? run_take_letters(rt, at->run) : NULL;
    struct letter *rest = first ? first->next : NULL;

    if (first)
        first->next = NULL;
    struct delivered v = turn_block(rt, at->r, first, &finding);
    at->ret->code = pawl_s(at->a->form == PAWL_TURN_BUG ? "bug" : "mismatch");
    run_unknown(rt, at->token.uid);
    if (v.kind != VERDICT_DONE) {
        letter_back(rt, v.letters);
        at->ret->status = PAWL_TURN_LOST;
    } else {
        at->blocked = true;
        staged(at);
    }
    letter_back(rt, rest);
}

/* ---- The call ------------------------------------------------------------------------------- */

/* FIRST: its instance is in this group. */
static enum verdict_kind answer_one(pawl_runtime *rt, struct exchange *ex)
{
    struct answering at = {.rt = rt,
                           .ex = ex,
                           .a = &ex->request.answers[ex->at],
                           .ret = &ex->answered[ex->at],
                           .reserved = coming_mark(rt)};

    at.ret->token = at.a->token;
    pawl_status found = find(&at);
    if (found == PAWL_BUSY)
        return VERDICT_FIRST;
    if (found != PAWL_OK)
        return VERDICT_DONE;
    switch (at.a->form) {
    case PAWL_TURN_STEPS:
        take_steps(&at);
        break;
    case PAWL_TURN_RELEASE:
        take_release(&at);
        break;
    case PAWL_TURN_UNREADABLE:
        refuse(&at, "shape", "%.*s", PAWL_FMT(at.a->text));
        break;
    case PAWL_TURN_MISMATCH:
    case PAWL_TURN_BUG:
        take_block(&at);
        break;
    }
    return VERDICT_DONE;
}

static void beat(pawl_runtime *rt, struct exchange *ex)
{
    for (size_t i = 0; i < ex->request.beat_count; i++) {
        struct turn_token t;
        struct remote_run *run =
            turn_token_read(rt, ex->request.beats[i], &t) ? run_answered(rt, ex, &t) : NULL;
        if (run)
            run_beat(rt, run);
        else
            *list_add(&ex->mem, &ex->beats_lost) = ex->request.beats[i];
    }
    for (size_t i = 0; i < ex->request.forget_count; i++)
        run_forget(rt, ex, ex->request.forget[i]);
    if (ex->request.leaving)
        ready_drop_session(rt, ex->session);
}

/* False: it was refused. */
static bool begin(pawl_runtime *rt, struct exchange *ex)
{
    pawl_error err = {0};

    if (exchange_may_begin(rt, ex, &err))
        ex->session = session_heard(rt, ex, &err);
    if (!ex->session) {
        exchange_refuse(ex, err.status, "%s", err.text);
        return false;
    }
    ex->begun = true;
    ex->had_answers = ex->request.answer_count > 0;
    ex->answered = arena_array(&ex->mem, pawl_turn_answered, ex->request.answer_count + 1);
    beat(rt, ex);
    return true;
}

enum verdict_kind turns_handle(pawl_runtime *rt, struct item *item)
{
    struct exchange *ex = exchange_of_item(item);

    if (!ex->begun && !begin(rt, ex))
        return VERDICT_DONE;
    for (; ex->at < ex->request.answer_count; ex->at++)
        if (answer_one(rt, ex) == VERDICT_FIRST)
            return VERDICT_FIRST;
    ex->handled = true;
    if (!ex->pending)
        exchange_wait(rt, ex);
    return VERDICT_DONE;
}

static pawl_turn_lease lease_of(pawl_mem *mem, const pawl_work *w)
{
    char key[ACTIVITY_KEY_BYTES];

    return (pawl_turn_lease){.ref = w->ref,
                             .lease = arena_dup(mem, w->lock_token),
                             .key = arena_dup(mem, pawl_s(activity_key(w, key))),
                             .attempt = w->attempt + 1,
                             .until_ms = w->lock_until_ms};
}

/* The inline steps that this round leased to the worker. */
static void put_leases(struct exchange *ex, const struct stage *s, pawl_turn_answered *ret)
{
    pawl_turn_lease *list = arena_array(&ex->mem, pawl_turn_lease, s->work.count + 1);

    for (size_t i = 0; i < s->work.count; i++)
        if (s->work.items[i].lock_token.len)
            list[ret->lease_count++] = lease_of(&ex->mem, &s->work.items[i]);
    ret->leases = list;
}

void turns_committed(pawl_runtime *rt, struct stage *s)
{
    struct exchange *ex = s->exchange;
    pawl_turn_answered *ret = &ex->answered[s->answer];
    struct resident *r = s->r;

    s->exchange = NULL;
    bool blocked = s->row.state == PAWL_BLOCKED || ret->code.len;
    ret->status = blocked ? PAWL_TURN_BLOCKED : PAWL_TURN_OK;
    if (blocked) {
        if (!ret->code.len)
            ret->code = pawl_s("limit");
        ret->message = arena_dup(&ex->mem, s->row.finding);
    } else {
        struct turn_token t = {0};
        (void)turn_token_read(rt, ret->token, &t);
        bool ends =
            s->ended || !r->x || execution_end(r->x).kind || s->row.execution != t.execution;
        ret->seq = s->row.last_seq;
        if (!ends) {
            ret->next =
                turn_token_make(rt, &ex->mem,
                                &(struct turn_token){s->row.uid, s->row.execution, s->row.last_seq,
                                                     0, session_tag(ex->session)});
            run_knows(rt, ex, s->row.uid, r->code, s->row.execution, s->row.last_seq);
        }
        put_leases(ex, s, ret);
    }
    exchange_settled(rt, ex);
}

void turns_taken_back(pawl_runtime *rt, struct stage *s)
{
    struct exchange *ex = s->exchange;

    s->exchange = NULL;
    ex->answered[s->answer].status = PAWL_TURN_LOST;
    exchange_settled(rt, ex);
}
