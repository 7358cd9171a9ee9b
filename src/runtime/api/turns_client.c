/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/turns_client.c -- pawl/turns.h, from any thread.
 *
 * What can be refused without the engine is refused here: the shape of the call, its limits, the
 * words of its decisions.  Everything else of an answer is judged where its instance is
 * (request/turns_answer.c, engine/remote.c).  The call is copied once.
 *
 * Called by users with a client; in this tree by server/turns.c.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "pawl/turns.h"
#include "runtime/core/gate.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/hand_out.h"
#include "runtime/remote/turn_token.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* ---- Its shape ------------------------------------------------------------------- */

static bool check_session(pawl_str id, pawl_error *err)
{
    bool ok = id.len >= PAWL_TURNS_SESSION_MIN && id.len <= PAWL_TURNS_SESSION_MAX;

    for (size_t i = 0; ok && i < id.len; i++) {
        char c = id.ptr[i];
        ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '-' || c == '_';
    }
    if (!ok)
        error_set(err, PAWL_INVALID, "session has %d..%d of [A-Za-z0-9_-], random at start",
                  PAWL_TURNS_SESSION_MIN, PAWL_TURNS_SESSION_MAX);
    return ok;
}

static bool check_code(const pawl_turns *q, pawl_error *err)
{
    if (q->has_code && (!q->code_count || q->code_count > PAWL_TURNS_CODE_MAX)) {
        error_set(err, PAWL_INVALID, "code has 1..%d names", PAWL_TURNS_CODE_MAX);
        return false;
    }
    for (size_t i = 0; i < q->code_count; i++)
        if (!check_name("orchestration name", q->code[i].name, err) ||
            !check_version(q->code[i].version, err))
            return false;
    return true;
}

static bool check_limits(const pawl_turns *q, pawl_error *err)
{
    if (q->answer_count > PAWL_TURNS_ANSWERS_MAX || q->beat_count > PAWL_TURNS_ANSWERS_MAX ||
        q->forget_count > PAWL_TURNS_FORGET_MAX || q->max > PAWL_TURNS_MAX) {
        error_set(err, PAWL_INVALID,
                  "a call has at most %d answers, %d beats, %d runs to forget, and asks for at "
                  "most %d turns",
                  PAWL_TURNS_ANSWERS_MAX, PAWL_TURNS_ANSWERS_MAX, PAWL_TURNS_FORGET_MAX,
                  PAWL_TURNS_MAX);
        return false;
    }
    if (q->wait_ms < 0 || q->wait_ms > PAWL_TURNS_WAIT_MAX || q->worker.len > LIMIT_NAME_BYTES) {
        error_set(err, PAWL_INVALID, "wait_ms is 0..%lld, worker at most %d bytes",
                  (long long)PAWL_TURNS_WAIT_MAX, LIMIT_NAME_BYTES);
        return false;
    }
    if (q->lease_ms && (q->lease_ms < PAWL_LEASE_MIN || q->lease_ms > PAWL_LEASE_MAX)) {
        error_set(err, PAWL_INVALID, "lease_ms is %lld..%lld, or 0: as last told",
                  (long long)PAWL_LEASE_MIN, (long long)PAWL_LEASE_MAX);
        return false;
    }
    return true;
}

/* Options of a call have a size: an older program has fewer of them, a newer one is refused. */
static bool check_opts(const pawl_turn_answer *a, pawl_error *err)
{
    pawl_call_opts room;

    for (size_t i = 0; i < a->step_count; i++)
        for (size_t k = 0; k < a->steps[i].count; k++) {
            const pawl_call_opts *opts = a->steps[i].decisions[k].opts;
            if (opts && !OPTIONS_OF(&room, opts, "pawl_call_opts", err))
                return false;
        }
    return true;
}

static bool check_answers(const pawl_turns *q, pawl_error *err)
{
    for (size_t i = 0; i < q->answer_count; i++) {
        size_t decisions = 0;
        for (size_t k = 0; k < q->answers[i].step_count; k++)
            decisions += q->answers[i].steps[k].count;
        if (decisions > PAWL_TURNS_DECISIONS_MAX) {
            error_set(err, PAWL_LIMIT, "answer %zu has %zu decisions, limit %d", i, decisions,
                      PAWL_TURNS_DECISIONS_MAX);
            return false;
        }
        if (!check_opts(&q->answers[i], err))
            return false;
    }
    return true;
}

static bool step_is_there(const pawl_turn_step *step)
{
    bool there = (step->decisions || !step->count) && !is_odd(step->lease) && !is_odd(step->data);

    for (size_t i = 0; there && i < step->count; i++) {
        const pawl_decision *d = &step->decisions[i];
        there = !is_odd(d->name) && !is_odd(d->data) && !is_odd(d->instance) &&
                !is_odd(d->version) && !is_odd(d->reason) && !is_odd(d->refused) && !is_odd(d->ask);
    }
    return there;
}

static bool answer_is_there(const pawl_turn_answer *a)
{
    bool there = (a->steps || !a->step_count) && (a->refs || !a->ref_count) && !is_odd(a->token) &&
                 !is_odd(a->code) && !is_odd(a->text) && !is_odd(a->recorded) &&
                 !is_odd(a->attempted) && !is_odd(a->site) && !is_odd(a->trace);

    for (size_t i = 0; there && i < a->step_count; i++)
        there = step_is_there(&a->steps[i]);
    return there;
}

/* No list and no text has a length and no bytes. */
static bool has_what_it_counts(const pawl_turns *q)
{
    bool there = (q->code || !q->code_count) && (q->answers || !q->answer_count) &&
                 (q->beats || !q->beat_count) && (q->forget || !q->forget_count);

    for (size_t i = 0; there && i < q->code_count; i++)
        there = !is_odd(q->code[i].name) && !is_odd(q->code[i].version);
    for (size_t i = 0; there && i < q->answer_count; i++)
        there = answer_is_there(&q->answers[i]);
    for (size_t i = 0; there && i < q->beat_count; i++)
        there = !is_odd(q->beats[i]);
    for (size_t i = 0; there && i < q->forget_count; i++)
        there = !is_odd(q->forget[i]);
    return there && !is_odd(q->session) && !is_odd(q->worker);
}

static bool check(const pawl_turns *q, pawl_error *err)
{
    if (!IS_THERE(has_what_it_counts(q), "what its lists and texts count", err))
        return false;
    if (q->protocol != PAWL_TURNS_PROTOCOL) {
        error_set(err, PAWL_CONFLICT, "protocol: this server speaks %d, the worker %u",
                  PAWL_TURNS_PROTOCOL, q->protocol);
        return false;
    }
    return check_session(q->session, err) && check_code(q, err) && check_limits(q, err) &&
           check_answers(q, err);
}

/* ---- The copy ---------------------------------------------------------------------- */

static const char *copy_text(pawl_mem *mem, const char *text)
{
    return text ? arena_dup(mem, pawl_s(text)).ptr : NULL;
}

static const pawl_call_opts *copy_opts(pawl_mem *mem, const pawl_call_opts *from)
{
    pawl_call_opts room;
    pawl_error err;
    const pawl_call_opts *opts = from ? OPTIONS_OF(&room, from, "pawl_call_opts", &err) : NULL;
    size_t n = 0;

    if (!opts)
        return NULL;
    pawl_call_opts *copy = arena_new(mem, pawl_call_opts);
    *copy = *opts;
    copy->size = sizeof(*copy);
    copy->tag = copy_text(mem, opts->tag);
    copy->key = copy_text(mem, opts->key);
    while (opts->final_errors && opts->final_errors[n])
        n++;
    if (!n) {
        copy->final_errors = NULL;
        return copy;
    }
    const char **list = arena_array(mem, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = copy_text(mem, opts->final_errors[i]);
    copy->final_errors = list;
    return copy;
}

static void copy_decision(pawl_mem *mem, pawl_decision *to, const pawl_decision *from)
{
    *to = *from;
    to->name = arena_dup(mem, from->name);
    to->data = arena_dup(mem, from->data);
    to->instance = arena_dup(mem, from->instance);
    to->version = arena_dup(mem, from->version);
    to->reason = arena_dup(mem, from->reason);
    to->refused = arena_dup(mem, from->refused);
    to->ask = from->ask.ptr ? arena_dup(mem, from->ask) : (pawl_str){0};
    to->opts = copy_opts(mem, from->opts);
}

static const pawl_turn_step *copy_steps(pawl_mem *mem, const pawl_turn_answer *a)
{
    pawl_turn_step *steps = arena_array(mem, pawl_turn_step, a->step_count + 1);

    for (size_t i = 0; i < a->step_count; i++) {
        const pawl_turn_step *from = &a->steps[i];
        pawl_decision *list = arena_array(mem, pawl_decision, from->count + 1);
        steps[i] = *from;
        steps[i].lease = arena_dup(mem, from->lease);
        steps[i].data = arena_dup(mem, from->data);
        for (size_t k = 0; k < from->count; k++)
            copy_decision(mem, &list[k], &from->decisions[k]);
        steps[i].decisions = list;
    }
    return steps;
}

static void copy_answer(pawl_mem *mem, pawl_turn_answer *to, const pawl_turn_answer *from)
{
    uint64_t *refs = arena_array(mem, uint64_t, from->ref_count + 1);

    *to = *from;
    to->token = arena_dup(mem, from->token);
    to->steps = copy_steps(mem, from);
    if (from->ref_count)
        memcpy(refs, from->refs, from->ref_count * sizeof(*refs));
    to->refs = refs;
    to->code = arena_dup(mem, from->code);
    to->text = arena_dup(mem, from->text);
    to->recorded = arena_dup(mem, from->recorded);
    to->attempted = arena_dup(mem, from->attempted);
    to->site = arena_dup(mem, from->site);
    to->trace = arena_dup(mem, from->trace);
}

static const pawl_str *copy_list(pawl_mem *mem, const pawl_str *list, size_t count)
{
    pawl_str *copy = arena_array(mem, pawl_str, count + 1);

    for (size_t i = 0; i < count; i++)
        copy[i] = arena_dup(mem, list[i]);
    return copy;
}

static void copy(struct exchange *ex, const pawl_turns *q)
{
    pawl_mem *mem = &ex->mem;
    pawl_turn_code *code = arena_array(mem, pawl_turn_code, q->code_count + 1);
    pawl_turn_answer *answers = arena_array(mem, pawl_turn_answer, q->answer_count + 1);

    ex->request = *q;
    ex->request.session = arena_dup(mem, q->session);
    ex->request.worker = arena_dup(mem, q->worker);
    for (size_t i = 0; i < q->code_count; i++)
        code[i] = (pawl_turn_code){.name = arena_dup(mem, q->code[i].name),
                                   .version = arena_dup(mem, q->code[i].version)};
    for (size_t i = 0; i < q->answer_count; i++)
        copy_answer(mem, &answers[i], &q->answers[i]);
    ex->request.code = code;
    ex->request.answers = answers;
    ex->request.beats = copy_list(mem, q->beats, q->beat_count);
    ex->request.forget = copy_list(mem, q->forget, q->forget_count);
}

/* ---- The calls ------------------------------------------------------------------------ */

pawl_status pawl_turns_exchange_sized(pawl_client *c, const pawl_turns *request, pawl_turns_fn *fn,
                                      void *arg, pawl_error *reterr, const size_t sizes[8])
{
    static const size_t ours[8] = PAWL_TURNS_SIZES;
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;

    if (!is_there(request && fn, "pawl_turns_exchange", "a request and a function", err))
        return err->status;
    if (!sizes || memcmp(sizes, ours, sizeof(ours)) != 0) {
        error_set(err, PAWL_MISUSE,
                  "pawl_turns_exchange(): the program was compiled with another pawl/turns.h; "
                  "compile it again");
        return PAWL_MISUSE;
    }
    if (!check(request, err) || !gate_pass(c, GATE_WRITES, err))
        return err->status;
    struct exchange *ex = calloc(1, sizeof(*ex));
    if (!ex)
        return gate_no_memory(err);
    ex->item.kind = ITEM_TURNS;
    ex->fn = fn;
    ex->arg = arg;
    arena_init(&ex->mem);
    copy(ex, request);
    pawl_status rc = gate_post(c, &ex->item, err);
    if (rc == PAWL_OK)
        return rc;
    arena_deinit(&ex->mem);
    free(ex);
    return rc;
}

pawl_status pawl_turns_exchange(pawl_client *c, const pawl_turns *request, pawl_turns_fn *fn,
                                void *arg, pawl_error *reterr)
{
    static const size_t ours[8] = PAWL_TURNS_SIZES;
    return pawl_turns_exchange_sized(c, request, fn, arg, reterr, ours);
}

pawl_status pawl_turns_history(pawl_client *c, pawl_str token, uint64_t after, pawl_mem *mem,
                               const pawl_event **ret, size_t *retcount, uint64_t *retseq,
                               pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    struct turn_token t;

    if (!IS_THERE(mem && ret && retcount && retseq && !is_odd(token),
                  "memory, a token and room for the events", err) ||
        !gate_pass(c, GATE_READS, err))
        return err->status;
    if (!turn_token_read(c->rt, token, &t)) {
        error_set(err, PAWL_LOST, "this token is none of this server, or not any more");
        return PAWL_LOST;
    }
    pawl_status rc =
        hand_out_events(c->rt->store, t.uid, t.execution, after, mem, ret, retcount, err);
    if (rc != PAWL_OK)
        return rc;
    while (*retcount && (*ret)[*retcount - 1].seq > t.seq) /* what was recorded since */
        --*retcount;
    *retseq = t.seq;
    return PAWL_OK;
}
