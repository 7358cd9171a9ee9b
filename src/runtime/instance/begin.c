/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/begin.c -- starts: make an instance, run its first turn. [engine]
 *
 * A start whose code is registered needs no message row: the round that makes the
 * instance also records OrchestrationStarted and what the first turn decided.
 * Without code, or before its time, the instance is pending and its start waits as a row.  Ids are
 * unique: a second start never swaps name, version or input.
 */
#include "runtime/instance/begin.h"

#include "base/limits.h"
#include "runtime/core/coming.h"
#include "runtime/core/letter.h"
#include "runtime/core/peek.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/attribute_set.h"
#include "runtime/instance/elsewhere.h"
#include "runtime/instance/end_by.h"
#include "runtime/instance/finish.h"
#include "runtime/instance/first_turn.h"
#include "runtime/instance/halt.h"
#include "runtime/instance/input.h"
#include "runtime/instance/load.h"
#include "runtime/instance/park.h"
#include "runtime/instance/raises.h"
#include "runtime/instance/seal.h"
#include "runtime/queue/queue_bridge.h"
#include "runtime/remote/playing.h"
#include "runtime/schedule/schedule_mail.h"
#include "store/store.h"

#include <stdio.h>

static pawl_str wanted_version(pawl_runtime *rt, const struct letter *l)
{
    return pawl_json_text(&rt->group_mem, l->mail.attrs, "/version", "");
}

static uint64_t attr(const struct letter *l, const char *pointer)
{
    return (uint64_t)pawl_json_int(l->mail.attrs, pointer, 0);
}

static struct scheduled scheduled_by(pawl_runtime *rt, const struct letter *l)
{
    struct scheduled by = {.at_ms = pawl_json_int(l->mail.attrs, "/scheduled_at", 0)};
    if (UNLIKELY(by.at_ms))
        by.schedule = pawl_json_text(&rt->group_mem, l->mail.attrs, "/schedule", "");
    return by;
}

/* ---- It exists already ------------------------------------------------------- */

/* It is there already. */
static void answer_used(const pawl_row *row, struct letter *l)
{
    pawl_reply reply = {.status = PAWL_OK, .execution = row->execution};
    (void)snprintf(reply.instance, sizeof(reply.instance), "%.*s", PAWL_FMT(row->id));
    letter_answer(l, &reply);
}

static struct delivered answer_existing(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    pawl_row *row = resident_row(r);
    pawl_status known = input_is(rt, r, l->mail.data);
    if (known != PAWL_OK && known != PAWL_EMPTY)
        return verdict_on(l, known == PAWL_CORRUPT ? VERDICT_DAMAGED : VERDICT_UNREAD);
    bool same = pawl_str_eq(row->orchestration, l->mail.name) && known == PAWL_OK;
    if (same && r->stage) { /* its twin is in this very group: answered with it */
        l->duplicate = true;
        stage_take(r->stage, l);
        return verdict_done();
    }
    if (same) {
        answer_used(row, l);
    } else {
        letter_refuse(l, PAWL_EXISTS,
                      "instance '%.*s' exists already with another %s; choose another id",
                      PAWL_FMT(row->id),
                      pawl_str_eq(row->orchestration, l->mail.name) ? "input" : "orchestration");
    }
    letter_drop(rt, l, PAWL_OK, "");
    return verdict_done();
}

/* Nothing begins: its row goes. */
static struct delivered drop_start(pawl_runtime *rt, struct stage *s, struct letter *l)
{
    stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l);
    return verdict_done();
}

/* The parent hears why its child did not start. */
static void tell_parent(pawl_runtime *rt, struct stage *s, const struct letter *l, pawl_str why)
{
    pawl_message *m =
        stage_send(rt, s, PAWL_MSG_CHILD_FAILED, attr(l, "/parent_uid"), (pawl_str){0});
    m->shard = l->shard; /* a tree lies in one shard */
    m->execution = attr(l, "/parent_execution");
    m->ref = attr(l, "/parent_ref");
    m->data = why;
    m->attrs = pawl_s("{\"kind\":\"refused\"}");
}

/* A start by name wants an instance of its own.  One by uid is that of the instance itself: it waited
 * for its code, and something else ended it while this letter was in hand. */
static bool is_of_another(const struct letter *l)
{
    return !l->uid;
}

/* A child or detached start whose id is taken. */
static struct delivered refuse_existing(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct stage *s = stage_bare(rt);
    uint64_t parent = attr(l, "/parent_uid");
    const pawl_row *row = resident_row(r);
    bool twin = parent && row->parent_uid == parent &&
                row->parent_execution == attr(l, "/parent_execution") &&
                row->parent_ref == attr(l, "/parent_ref");
    if (parent && !twin) {
        tell_parent(
            rt, s, l,
            pawl_mem_printf(&rt->group_mem, "instance '%.*s' exists already", PAWL_FMT(row->id)));
    } else if (!parent) { /* it came twice: its id was free when it was decided */
        log_debug(&rt->log, "begin", "start of an id that exists; ignored", "instance=%.*s",
                  PAWL_FMT(row->id));
    }
    if (twin)
        peek_child_again(rt, s, row);
    if (is_of_another(l) && scheduled_by(rt, l).at_ms && pawl_state_is_terminal(row->state))
        schedule_run_ended(rt, s, row->id, "exists"); /* one that runs tells it when it ends */
    return drop_start(rt, s, l);
}

/* ---- Making it ---------------------------------------------------------------- */

static struct delivered begin_later(pawl_runtime *rt, struct resident *r, struct letter *l,
                                    bool codeless);

/* Empty version: the latest; for an answer that begins it, the one that was handed out. */
static const struct code_entry *code_of_start(pawl_runtime *rt, struct resident *r,
                                              const struct letter *l)
{
    const struct code_entry *answers = remote_playing(rt, r->row.uid);
    if (UNLIKELY(answers))
        return answers;
    return registry_code(rt->app, resident_row(r)->orchestration, wanted_version(rt, l));
}

/* Its code is in workers: its start is a row before one is asked, or as first_turn.h says.  False: one
 * has answered. */
static bool begins_elsewhere(pawl_runtime *rt, struct resident *r, struct letter *l,
                             const struct code_entry *code, struct delivered *ret)
{
    bool stored = l->uid && l->stored;
    if (remote_playing(rt, r->row.uid))
        return false;
    if (!stored) {
        *ret = begin_later(rt, r, l, false);
        if (ret->kind != VERDICT_DONE || !first_turn_may(rt, r, l))
            return true;
    }
    pawl_str attrs =
        start_attrs(rt, pawl_s(code->version), &r->row, deadline_of(l), scheduled_by(rt, l), false);
    if (stored)
        return elsewhere_begins(rt, r, l, code, attrs, ret);
    first_turn_offer(rt, r, l, code, attrs);
    return true;
}

/* Record the start of r's execution and run its first turn.  False: no code here. */
static bool begin_execution(pawl_runtime *rt, struct resident *r, struct letter *l,
                            struct delivered *ret)
{
    const struct code_entry *code = code_of_start(rt, r, l);
    if (!code)
        return false;
    if (UNLIKELY(code->remote) && begins_elsewhere(rt, r, l, code, ret))
        return true;
    struct stage *s = stage_of(rt, r);
    s->row.version = pawl_s(code->version);
    s->row.finding = (pawl_str){0};
    s->unpile = l->uid != 0; /* mail came while it was pending */
    if (s->change != PAWL_ROW_INSERT)
        s->change = PAWL_ROW_ALL;
    if (!r->x) {
        struct execution_spec spec = load_spec(rt, &s->row, code, r);
        r->x = execution_create(&spec);
        r->code = code;
    }
    bool damaged; /* what cannot be read stays where it is */
    bool ready = r->x && (!l->uid || load_mailbox(rt, r, &damaged)); /* mail of a pending one */
    if (!ready || !adopt_mail(rt, r, s, l)) {
        *ret = turn_again(rt, r, l);
        return true;
    }
    struct mail start = l->mail;
    start.execution = s->row.execution;
    start.name = s->row.orchestration;
    start.attrs =
        start_attrs(rt, s->row.version, &s->row, deadline_of(l), scheduled_by(rt, l), false);
    if (UNLIKELY(code->remote))
        remote_play(rt, r->x, &start);
    struct engine_finding finding = {0};
    enum engine_fate fate;
    turn_clock_start(rt, code, &s->row);
    RT_POINT(rt, "turn.run");
    enum engine_outcome outcome =
        execution_apply(r->x, &start, rt->now_ms, &s->turn, &fate, &finding);
    turn_clock_stop(rt);
    COUNT(rt, turns);
    if (outcome != ENGINE_WAITING && outcome != ENGINE_ENDED) {
        *ret = turn_outcome(rt, r, l, outcome, &finding);
        return true;
    }
    stage_drop_consumed(rt, r, s);
    if (l->stored)
        stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l);
    *ret = turn_outcome(rt, r, NULL, outcome, &finding);
    return true;
}

/* A client's start whose time has not come. */
static bool is_early(const pawl_runtime *rt, const struct letter *l)
{
    return l->asked && l->ask.start_ms > rt->now_ms;
}

/* Pending: the row now, the start as a message of its own. */
static struct delivered begin_later(pawl_runtime *rt, struct resident *r, struct letter *l,
                                    bool codeless)
{
    struct stage *s = stage_of(rt, r);
    if (!adopt_mail(rt, r, s, l))
        return turn_again(rt, r, l);
    if (l->uid == s->row.uid && l->stored) { /* its row waits already */
        stage_take(s, l);
    } else {
        if (l->stored)
            stage_drop_message(rt, s, l->mail.id);
        pawl_message *m = stage_send(rt, s, PAWL_MSG_START, s->row.uid, (pawl_str){0});
        m->execution = s->row.execution;
        m->name = l->mail.name;
        m->data = l->mail.data;
        m->attrs = l->mail.attrs;
        if (is_early(rt, l))
            m->visible_ms = l->ask.start_ms;
        if (codeless)
            *list_add(&rt->group_mem, &s->quiet) = m->id;
        stage_take(s, l);
    }
    if (!codeless)
        return verdict_done();
    park_codeless(rt, s->row.uid);
    assert_that(s->row.state != PAWL_BLOCKED); /* it keeps saying why: begin_pending */
    s->row.finding = turn_missing(rt, &s->row, wanted_version(rt, l));
    if (s->change != PAWL_ROW_INSERT)
        s->change = PAWL_ROW_ALL;
    r->doomed = true;
    return verdict_done();
}

/* No code for it: it waits, or by option a child is cancelled.  What a client started without code
 * was asked to wait. */
static struct delivered begin_without_code(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct stage *s = stage_of(rt, r);
    if (!rt->opts.cancel_missing_version || l->asked || !s->row.parent_uid)
        return begin_later(rt, r, l, true);
    if (!adopt_mail(rt, r, s, l))
        return turn_again(rt, r, l);
    if (l->stored)
        stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l); /* first: its data is the input */
    return turn_finish(rt, r, NULL, PAWL_EV_ORCHESTRATION_CANCELLED,
                       turn_missing(rt, &s->row, wanted_version(rt, l)));
}

static struct resident *make(pawl_runtime *rt, const struct letter *l, uint64_t uid)
{
    pawl_row row = {.uid = uid,
                    .id = l->instance,
                    .orchestration = l->mail.name,
                    .version = wanted_version(rt, l),
                    .state = PAWL_PENDING,
                    .shard = attr(l, "/parent_uid") ? l->shard : rt_shard_of(rt, l->instance),
                    .execution = 1,
                    .created_ms = rt->now_ms,
                    .updated_ms = rt->now_ms,
                    .parent_uid = attr(l, "/parent_uid"),
                    .parent_execution = attr(l, "/parent_execution"),
                    .parent_ref = attr(l, "/parent_ref"),
                    .parent_id = pawl_json_text(&rt->group_mem, l->mail.attrs, "/parent", ""),
                    .attributes = attributes_at_start(rt, l)};
    struct resident *r = resident_add(rt, &row);
    if (!r)
        return NULL;
    stage_of(rt, r)->change = PAWL_ROW_INSERT;
    deadline_set(rt, stage_of(rt, r), l);
    return r;
}

static struct delivered block_start(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct engine_finding why = {0};
    (void)snprintf(why.text, sizeof(why.text),
                   "poison: its start ended the process %u times; repair the code, then retry",
                   l->attempt);
    return turn_block(rt, r, l, &why);
}

/* OK when it has no parent, or one that is still there; NONE: the parent was removed. */
static enum load_result look_at_parent(pawl_runtime *rt, const struct letter *l)
{
    struct resident *parent = NULL;
    uint64_t uid = attr(l, "/parent_uid");
    enum load_result found = uid ? load_row(rt, uid, (pawl_str){0}, &parent) : LOAD_OK;
    return parent && parent->stage && parent->stage->removed ? LOAD_NONE : found;
}

/* OK when it may be made; NONE: it has too many ancestors.  Counted only where there are some;
 * one that was removed has none above it. */
static enum load_result look_at_depth(pawl_runtime *rt, const struct letter *l)
{
    uint64_t uid = attr(l, "/parent_uid");
    for (uint32_t depth = 1; uid; depth++) {
        struct resident *r = NULL;
        if (depth >= rt->opts.max_depth)
            return LOAD_NONE;
        enum load_result found = load_row(rt, uid, (pawl_str){0}, &r);
        if (found == LOAD_TROUBLE)
            return found;
        uid = found == LOAD_OK ? r->row.parent_uid : 0;
    }
    return LOAD_OK;
}

/* A chain of children that has no end would fill the store. */
static struct delivered refuse_depth(pawl_runtime *rt, struct letter *l)
{
    struct stage *s = stage_bare(rt);
    log_warn(&rt->log, "begin", "child not started: too deep", "instance=%.*s limit=%u",
             PAWL_FMT(l->instance), rt->opts.max_depth);
    tell_parent(rt, s, l,
                pawl_mem_printf(&rt->group_mem,
                                "child '%.*s' was not started: %u instances deep is the limit "
                                "(--max-depth)",
                                PAWL_FMT(l->instance), rt->opts.max_depth));
    return drop_start(rt, s, l);
}

/* Its first turn, or it waits for its code. */
static struct delivered begin_now(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct delivered v;
    return begin_execution(rt, r, l, &v) ? v : begin_without_code(rt, r, l);
}

/* Its id is free and its parent is there: make it. */
static struct delivered begin_made(pawl_runtime *rt, struct letter *l, uint64_t uid)
{
    struct resident *r = make(rt, l, uid);
    if (!r)
        return verdict_on(l, VERDICT_UNREAD);
    if (l->attempt >= rt->opts.max_attempts)
        return block_start(rt, r, l);
    if (is_early(rt, l) || (letter_is_stored_first(rt) && !l->stored))
        return begin_later(rt, r, l, false);
    return begin_now(rt, r, l);
}

/* Start an instance that is not known yet. */
static struct delivered begin_new(pawl_runtime *rt, struct letter *l)
{
    struct delivered v;
    enum load_result found = look_at_parent(rt, l);
    if (found == LOAD_TROUBLE)
        return verdict_on(l, VERDICT_UNREAD);
    if (found == LOAD_NONE) /* removed before this one began */
        return drop_start(rt, stage_bare(rt), l);
    if (halt_takes_start(rt, attr(l, "/parent_uid"), l, &v))
        return v;
    found = look_at_depth(rt, l);
    if (found == LOAD_TROUBLE)
        return verdict_on(l, VERDICT_UNREAD);
    if (found == LOAD_NONE)
        return refuse_depth(rt, l);
    if (adopt_is_kept_now(rt, l->instance)) /* mail that this group keeps for it is older */
        return verdict_on(l, VERDICT_FIRST);
    return begin_made(rt, l, rt_new_id(rt));
}

struct delivered begin_as(pawl_runtime *rt, struct letter *l, uint64_t uid)
{
    return begin_made(rt, l, uid);
}

/* The start of a pending instance, its row in hand. */
static struct delivered begin_pending(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct delivered v;
    if (r->stage)
        return verdict_on(l, VERDICT_LATER);
    if (l->attempt >= rt->opts.max_attempts)
        return block_start(rt, r, l);
    if (r->row.state == PAWL_BLOCKED || r->row.state == PAWL_SUSPENDED) {
        turn_pile(rt, r, l);
        return verdict_done();
    }
    return halt_takes(rt, r, l, &v) ? v : begin_now(rt, r, l);
}

/* The id that a bound queue chose exists: is it the instance that this very message started? */
static struct delivered start_taken(pawl_runtime *rt, const struct resident *r, struct letter *l)
{
    pawl_status rc = input_is(rt, r, l->mail.data);
    bool twin = rc == PAWL_OK && pawl_str_eq(r->row.orchestration, l->mail.name);
    if (rc == PAWL_CORRUPT)
        return verdict_on(l, VERDICT_DAMAGED);
    if (rc != PAWL_OK && rc != PAWL_EMPTY)
        return verdict_on(l, VERDICT_UNREAD);
    return queue_start_taken(rt, l, twin);
}

static struct delivered refuse(pawl_runtime *rt, struct letter *l, pawl_status status,
                               const char *text)
{
    letter_drop(rt, l, status, text);
    return verdict_done();
}

/* A start that says what to do with an instance that exists. */
static struct delivered begin_again(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    const pawl_row *row = resident_row(r);
    bool ended = pawl_state_is_terminal(row->state);
    char text[LIMIT_CHILD_ID_BYTES + 120];
    if (r->stage) /* answered with what this group does to it */
        return verdict_on(l, VERDICT_LATER);
    pawl_status known = raises_look(rt, r, l);
    if (known != PAWL_OK)
        return verdict_on(l, known == PAWL_CORRUPT ? VERDICT_DAMAGED : VERDICT_UNREAD);
    if (l->ask.if_exists == PAWL_IF_EXISTS_USE && raises_any(l))
        return raises_use(rt, r, l);
    if (l->ask.if_exists == PAWL_IF_EXISTS_USE) {
        answer_used(row, l);
        letter_drop(rt, l, PAWL_OK, "");
        return verdict_done();
    }
    if (!ended && l->ask.if_exists == PAWL_IF_EXISTS_RERUN) {
        (void)snprintf(text, sizeof(text),
                       "instance '%.*s' is %s; only one that has ended can run again",
                       PAWL_FMT(row->id), pawl_state_name(row->state));
        return refuse(rt, l, PAWL_CONFLICT, text);
    }
    if (is_early(rt, l))
        return refuse(rt, l, PAWL_INVALID,
                      "a rerun starts at once; leave out start_at and delay_ms");
    const struct code_entry *code = registry_code(
        rt->app, l->mail.name.len ? l->mail.name : row->orchestration, wanted_version(rt, l));
    if (!code)
        return refuse(rt, l, PAWL_NOT_FOUND,
                      "the code to run it again is not registered here; load its module");
    if (code->remote) /* its first turn is no part of this round */
        return refuse(rt, l, PAWL_CONFLICT,
                      "the code to run it again is in workers; start it under another id");
    return turn_rerun(rt, r, l, code);
}

/* Its id exists. */
static struct delivered begin_existing(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    const pawl_row *row = resident_row(r);
    if (l->uid && row->last_seq == 0 && l->mail.execution == row->execution)
        return begin_pending(rt, r, l);
    if (r->stage && r->stage->removed) /* the id is free after this commit */
        return verdict_on(l, VERDICT_LATER);
    if (l->asked && l->ask.if_exists)
        return begin_again(rt, r, l);
    if (l->asked)
        return answer_existing(rt, r, l);
    if (queue_sent(rt, l))
        return start_taken(rt, r, l);
    return refuse_existing(rt, r, l);
}

struct delivered begin_deliver(pawl_runtime *rt, struct letter *l)
{
    struct resident *r = NULL;
    if (!l->uid && coming_before(rt, l))
        return verdict_on(l, VERDICT_LATER);
    enum load_result found = load_for(rt, l, &r);
    switch (found) {
    case LOAD_OK:
        return begin_existing(rt, r, l);
    case LOAD_NONE: /* with a uid: it was removed before it began */
        if (l->asked && l->ask.op == PAWL_OP_RERUN)
            return refuse(rt, l, PAWL_NOT_FOUND, "there is no such instance to run again");
        return l->uid ? drop_start(rt, stage_bare(rt), l) : begin_new(rt, l);
    case LOAD_DAMAGED:
        return verdict_on(l, VERDICT_DAMAGED);
    case LOAD_TROUBLE:
        break;
    }
    return verdict_on(l, VERDICT_UNREAD);
}
