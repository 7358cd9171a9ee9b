/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/turn.c -- deliver one letter: find the instance, run its code.
 * [engine]
 *
 *     letter ─▶ instance? ─▶ terminal: late, dropped
 *                         ─▶ suspended, blocked, no code: waits as a row
 *                         ─▶ else: apply ─▶ the stage of this group
 *
 * A letter leaves here consumed by a stage (stage_take), dropped, or as it came with the
 * verdict (verdict.h); never lost.  Nothing is durable until the group commits.
 */
#include "runtime/instance/turn.h"

#include "base/limits.h"
#include "runtime/core/letter.h"
#include "runtime/core/peek.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/begin.h"
#include "runtime/instance/elsewhere.h"
#include "runtime/instance/finish.h"
#include "runtime/instance/halt.h"
#include "runtime/instance/load.h"
#include "runtime/instance/mailbox.h"
#include "runtime/instance/park.h"
#include "runtime/instance/sent.h"
#include "runtime/instance/still.h"
#include "runtime/queue/queue_bridge.h"
#include "runtime/schedule/schedule_deliver.h"
#include "runtime/schedule/schedule_mail.h"
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>

#define NOBODY_TRIES    6     /* a message without an instance is looked at this often … */
#define NOBODY_DELAY_MS 10000 /* … this far apart, then put into the quarantine */
#define NOBODY_SHIFT    TURN_LOOKS_SHIFT

/* The letter has done what it could: its row, or the work row it acks, goes. */
static void consume_late(pawl_runtime *rt, struct stage *s, struct letter *l)
{
    if (l->stored)
        stage_drop_message(rt, s, l->mail.id);
    if (l->work_id)
        *list_add(&rt->group_mem, &s->drop_work) = l->work_id;
    stage_take(s, l);
}

static void quarantine(pawl_runtime *rt, struct stage *s, struct letter *l, const char *reason)
{
    log_error(&rt->log, "turn", "message put into the quarantine",
              "message=%llu kind=%d why=\"%s\"", (unsigned long long)l->mail.id, l->mail.kind,
              reason);
    COUNT(rt, quarantined);
    if (l->stored) {
        pawl_quarantine *q = list_add(&rt->group_mem, &s->quarantine);
        q->id = l->mail.id;
        q->reason = arena_dup(&rt->group_mem, pawl_s(reason));
    }
    if (l->work_id)
        *list_add(&rt->group_mem, &s->drop_work) = l->work_id;
    stage_take(s, l);
}

/* The idempotency key of a raise without an instance travels in the row's attrs. */
static pawl_str key_attrs(pawl_runtime *rt, pawl_str key)
{
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    pawl_json_key(w, "key");
    pawl_json_str(w, key);
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* OK when mail with these attrs is kept for that name, in this group or before; EMPTY when
 * not; else the store did not answer. */
static pawl_status find_kept(pawl_runtime *rt, pawl_str instance, pawl_str attrs)
{
    pawl_message_list list = {0};
    pawl_error err;
    for (const struct stage *s = stage_first(rt); s; s = s->next)
        for (size_t i = 0; i < s->messages.count; i++)
            if (s->messages.items[i].mailbox &&
                pawl_str_eq(s->messages.items[i].instance, instance) &&
                pawl_str_eq(s->messages.items[i].attrs, attrs))
                return PAWL_OK;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_messages(rt->store, 0, instance, &rt->load_mem, &list, &err);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].mailbox && pawl_str_eq(list.items[i].attrs, attrs))
            return PAWL_OK;
    return rc == PAWL_OK || rc == PAWL_CORRUPT ? PAWL_EMPTY : rc;
}

/* Is there no room in its mailbox?  Then the letter is answered, or dropped. */
static bool no_room(pawl_runtime *rt, const execution *x, uint64_t uid, struct letter *l)
{
    if (mailbox_refuses(rt, x, uid, l))
        return true;
    if (!is_sent(l) || !mailbox_is_full(rt, x, uid, l))
        return false;
    (void)sent_drop(rt, l, "its mailbox is full");
    return true;
}

/* Keep an event for an instance that is not there yet. */
static struct delivered keep_for_start(pawl_runtime *rt, struct letter *l)
{
    pawl_str attrs = l->key.len ? key_attrs(rt, l->key) : l->mail.attrs;
    pawl_status kept = attrs.len ? find_kept(rt, l->instance, attrs) : PAWL_EMPTY;
    if (kept != PAWL_OK && kept != PAWL_EMPTY)
        return verdict_on(l, VERDICT_UNREAD);
    if (kept != PAWL_OK && no_room(rt, NULL, 0, l))
        return verdict_done();
    struct stage *s = stage_bare(rt);
    if (kept == PAWL_OK) { /* answered like the first one, after this commit */
        consume_late(rt, s, l);
        return verdict_done();
    }
    if (l->stored) {
        sent_keep(rt, s, l);
    } else {
        if (!l->mail.id) /* tried again: the row may be there already */
            l->mail.id = rt_new_id(rt);
        *list_add(&rt->group_mem, &s->quiet) = l->mail.id;
        stage_keep(rt, s, l, true);
        s->messages.items[s->messages.count - 1].attrs = attrs;
    }
    need_memory(adopt_note(rt, l->instance));
    stage_take(s, l);
    return verdict_done();
}

static uint32_t crashes_of(const struct letter *l)
{
    return turn_crashes_of(l->attempt);
}

/* A parent's cancel of its child, by name. */
static bool is_child_cancel(const struct letter *l)
{
    return l->mail.kind == PAWL_MSG_CANCEL && !l->uid && l->mail.attrs.len && l->stored;
}

/* OK when a start for that name is on its way, EMPTY when none is; else the store did not
 * answer.  A start goes before whatever is sent to what it starts. */
static pawl_status find_start(pawl_runtime *rt, pawl_str instance)
{
    pawl_message_list list = {0};
    pawl_error err;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_messages(rt->store, 0, instance, &rt->load_mem, &list, &err);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == PAWL_MSG_START)
            return PAWL_OK;
    return rc == PAWL_OK ? PAWL_EMPTY : rc == PAWL_CORRUPT ? PAWL_OK : rc;
}

/* A letter whose instance does not exist. */
static struct delivered to_nobody(pawl_runtime *rt, struct letter *l)
{
    if (l->asked && !(l->ask.op == PAWL_OP_RAISE && l->ask.await_start)) {
        if (l->work_id) /* a result that met the removal of its instance */
            letter_refuse(l, PAWL_LOST, "the instance of this work was removed");
        else
            letter_refuse(l, PAWL_NOT_FOUND, "instance '%.*s' does not exist",
                          PAWL_FMT(l->instance));
        letter_drop(rt, l, PAWL_OK, "");
        return verdict_done();
    }
    bool asks = is_child_cancel(l) || (is_sent(l) && !sent_awaits_start(l));
    pawl_status coming = asks ? find_start(rt, l->instance) : PAWL_OK;
    if (coming != PAWL_OK && coming != PAWL_EMPTY)
        return verdict_on(l, VERDICT_UNREAD);
    if (is_sent(l) && coming == PAWL_EMPTY)
        return sent_drop(rt, l, "it does not exist");
    if (l->mail.kind == PAWL_MSG_EXTERNAL_RAISED && !l->uid)
        return keep_for_start(rt, l);
    struct stage *s = stage_bare(rt);
    if (l->uid || coming == PAWL_EMPTY) { /* it was removed: its mail goes with it */
        consume_late(rt, s, l);
    } else if (l->attempt >> NOBODY_SHIFT >= NOBODY_TRIES) {
        quarantine(rt, s, l, "addressed to an instance that does not exist");
    } else {
        pawl_message_update *u = list_add(&rt->group_mem, &s->message_updates);
        *u = (pawl_message_update){.id = l->mail.id,
                                   .attempt = l->attempt + (1U << NOBODY_SHIFT),
                                   .visible_ms = rt->now_ms + NOBODY_DELAY_MS};
        stage_take(s, l);
    }
    return verdict_done();
}

/* OK when a raise with this key was made before, EMPTY when not; else trouble. */
static pawl_status find_key(pawl_runtime *rt, struct resident *r, const struct letter *l)
{
    pawl_error err;
    if (!l->key.len)
        return PAWL_EMPTY;
    for (size_t i = 0; r->stage && i < r->stage->keys.count; i++)
        if (pawl_str_eq(r->stage->keys.items[i], l->key))
            return PAWL_OK;
    const struct known *known = letter_known(rt, l);
    if (known && (known->key == PAWL_OK || known->key == PAWL_EMPTY))
        return known->key;
    return store_has_key(rt->store, r->row.uid, l->key, &err);
}

/* A letter for an instance that has ended. */
static struct delivered too_late(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    pawl_status seen = l->asked ? find_key(rt, r, l) : PAWL_EMPTY;
    if (seen != PAWL_OK && seen != PAWL_EMPTY && seen != PAWL_CORRUPT)
        return verdict_on(l, VERDICT_UNREAD);
    if (seen == PAWL_OK) { /* it was taken before the end: the first answer again */
        l->duplicate = l->ask.op == PAWL_OP_UPDATE;
        stage_take(stage_bare(rt), l);
        return verdict_done();
    }
    bool lost = l->work_id || l->mail.kind == PAWL_MSG_UPDATE;
    if (l->asked) /* a result is told the same as when its work row is gone */
        letter_refuse(l, lost ? PAWL_LOST : PAWL_CONFLICT, "instance '%.*s' is already %s",
                      PAWL_FMT(r->row.id), pawl_state_name(resident_row(r)->state));
    if (is_sent(l))
        return sent_drop(rt, l, "it has ended");
    log_debug(&rt->log, "turn", "late message dropped", "instance=%.*s kind=%d",
              PAWL_FMT(r->row.id), l->mail.kind);
    if (l->stored || l->work_id)
        consume_late(rt, stage_bare(rt), l);
    else
        letter_drop(rt, l, PAWL_OK, "");
    return verdict_done();
}

/* What the engine did with the letter, as rows. */
static void settle(pawl_runtime *rt, struct resident *r, struct stage *s, struct letter *l,
                   enum engine_fate fate, const struct engine_finding *finding)
{
    bool stored = l->stored && !is_sent(l); /* the row of that one went when it was taken over */
    switch (fate) {
    case FATE_APPLIED:
        if (stored)
            stage_drop_message(rt, s, l->mail.id);
        if (l->work_id)
            *list_add(&rt->group_mem, &s->need_work) = l->work_id;
        if (l->mail.kind == PAWL_MSG_TIMER_FIRED)
            COUNT(rt, timers_fired);
        break;
    case FATE_IGNORED:
        if (stored)
            stage_drop_message(rt, s, l->mail.id);
        if (l->work_id)
            *list_add(&rt->group_mem, &s->drop_work) = l->work_id;
        break;
    case FATE_KEPT:
        if (!is_sent(l)) /* else it is in the mailbox already */
            stage_keep(rt, s, l, true);
        break;
    case FATE_REFUSED: /* its key may be used again */
        if (stored)
            stage_drop_message(rt, s, l->mail.id);
        stage_take(s, l);
        return;
    case FATE_DROPPED:
        log_warn(&rt->log, "turn", "no wait expects this event; dropped",
                 "instance=%.*s event=%.*s", PAWL_FMT(r->row.id), PAWL_FMT(l->mail.name));
        if (stored)
            stage_drop_message(rt, s, l->mail.id);
        break;
    case FATE_ODD:
        quarantine(rt, s, l, finding->text);
        return;
    }
    if (l->key.len)
        *list_add(&rt->group_mem, &s->keys) = l->key;
    stage_take(s, l);
}

static struct delivered apply(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct stage *s = stage_of(rt, r);
    struct engine_finding finding = {0};
    enum engine_fate fate = FATE_IGNORED;
    if (!l->mail.id &&
        (l->mail.kind == PAWL_MSG_EXTERNAL_RAISED || l->mail.kind == PAWL_MSG_UPDATE))
        l->mail.id = rt_new_id(rt);
    struct mail mail = l->mail;
    if (is_sent(l))
        mail.id = sent_take_over(rt, s, l);
    turn_clock_start(rt, r->code, &r->row);
    RT_POINT(rt, "turn.run");
    enum engine_outcome outcome =
        execution_apply(r->x, &mail, rt->now_ms, &s->turn, &fate, &finding);
    turn_clock_stop(rt);
    COUNT(rt, turns);
    if (outcome != ENGINE_WAITING && outcome != ENGINE_ENDED)
        return turn_outcome(rt, r, l, outcome, &finding);
    if (fate == FATE_ODD && rt->opts.fail_on_mismatch)
        return turn_finish(rt, r, l, PAWL_EV_ORCHESTRATION_FAILED, pawl_s(finding.text));
    settle(rt, r, s, l, fate, &finding);
    if (mail.id != l->mail.id && fate != FATE_KEPT)
        stage_drop_message(rt, s, mail.id); /* taken over, and not to be kept */
    stage_drop_consumed(rt, r, s); /* after settle: a kept letter may be consumed already */
    return turn_outcome(rt, r, NULL, outcome, &finding);
}

/* Alone in its round: after one was refused; and with a key, where rounds are not atomic (K1): a
 * crash could leave the keys of several with the message of one. */
static bool is_alone(const pawl_runtime *rt, const struct letter *l)
{
    return l->tries || (l->key.len && !rt->caps.atomic_rounds);
}

/* One letter at a time: for hostile runs too. */
static bool must_wait_its_turn(pawl_runtime *rt, const struct resident *r, const struct letter *l)
{
    if (!r->stage)
        return false;
    if (r->stage->row.execution != r->stage->base_execution)
        return true; /* one ContinueAsNew in a round */
    return rt->opts.hostile || is_alone(rt, l) || r->stage->ended || r->stage->removed ||
           r->stage->unpile ||  /* older rows first */
           r->stage->adopted || /* its mail gets its numbers with the commit: it is older */
           (r->stage->letters && is_alone(rt, r->stage->letters));
}

/* A child's cancel names its parent's call: another incarnation is left alone. */
static bool is_our_child(const pawl_row *row, const struct letter *l)
{
    if (l->mail.kind != PAWL_MSG_CANCEL || l->uid || !l->mail.attrs.len)
        return true;
    return row->parent_uid == (uint64_t)pawl_json_int(l->mail.attrs, "/parent_uid", 0) &&
           row->parent_execution ==
               (uint64_t)pawl_json_int(l->mail.attrs, "/parent_execution", 0) &&
           row->parent_ref == (uint64_t)pawl_json_int(l->mail.attrs, "/parent_ref", 0);
}

/* It cannot be suspended or resumed as it is. */
PAWL_PRINTF(3, 4)
static void refuse_steer(pawl_runtime *rt, struct letter *l, const char *format, ...)
{
    char text[LIMIT_CHILD_ID_BYTES + 80];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (l->stored)
        consume_late(rt, stage_bare(rt), l);
    else
        letter_drop(rt, l, PAWL_CONFLICT, text);
}

/* Letters that are answered without running code.  False: it is not one of them. */
static bool steer(pawl_runtime *rt, struct resident *r, struct letter *l, struct delivered *ret)
{
    pawl_row *row = resident_row(r);
    bool suspended = row->state == PAWL_SUSPENDED;
    *ret = verdict_done();
    if (l->mail.kind == PAWL_MSG_TERMINATE) {
        *ret = turn_finish(rt, r, l, PAWL_EV_ORCHESTRATION_TERMINATED, l->mail.data);
        return true;
    }
    if (l->mail.kind == PAWL_MSG_CANCEL_DEADLINE) { /* of a version that cut compensations */
        consume_late(rt, stage_bare(rt), l);
        return true;
    }
    if ((l->mail.kind == PAWL_MSG_SUSPEND && suspended) ||
        (l->mail.kind == PAWL_MSG_RESUME && !suspended)) {
        refuse_steer(rt, l, "instance '%.*s' is %s", PAWL_FMT(row->id),
                     pawl_state_name(row->state));
        return true;
    }
    return false;
}

/* It becomes a row, by `how`, if there is room in its mailbox. */
static struct delivered keep(pawl_runtime *rt, struct resident *r, struct letter *l,
                             void (*how)(pawl_runtime *rt, struct resident *r, struct letter *l))
{
    if (!no_room(rt, NULL, resident_row(r)->uid, l))
        how(rt, r, l);
    return verdict_done();
}

/* Its code is in memory, or in workers and its tables are: apply the letter. */
static struct delivered run_ready(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    if (l->mail.kind == PAWL_MSG_CANCEL && turn_is_between(r->x))
        turn_pile(rt, r, l); /* the next execution may have something to undo */
    else if (l->mail.kind == PAWL_MSG_SUSPEND && turn_is_between(r->x))
        refuse_steer(rt, l, "instance '%.*s' has just continued as new; try again",
                     PAWL_FMT(r->row.id));
    else if (!no_room(rt, r->x, r->row.uid, l))
        return UNLIKELY(r->code && r->code->remote) ? elsewhere_deliver(rt, r, l, apply)
                                                    : apply(rt, r, l);
    return verdict_done();
}

/* Bring its code into memory and apply; or let the letter wait. */
static struct delivered run(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    pawl_row *row = resident_row(r);
    bool parked = row->state == PAWL_BLOCKED ||
                  (row->state == PAWL_SUSPENDED && l->mail.kind != PAWL_MSG_RESUME) ||
                  (row->last_seq == 0 && !r->x);
    bool still = l->mail.kind == PAWL_MSG_SUSPEND || l->mail.kind == PAWL_MSG_RESUME;
    if (parked && still)
        return turn_still(rt, r, l);
    if (parked && !(row->state == PAWL_PENDING && l->mail.kind == PAWL_MSG_CANCEL))
        return keep(rt, r, l, turn_pile);
    if (parked) /* cancelled before its code ever ran */
        return turn_finish(rt, r, l, PAWL_EV_ORCHESTRATION_CANCELLED, l->mail.data);
    if (letter_is_stored_first(rt) && l->asked && !l->stored && !l->work_id)
        return keep(rt, r, l, turn_store);
    struct engine_finding finding = {0};
    switch (load_execution(rt, r, &finding)) {
    case READY_OK:
        return run_ready(rt, r, l);
    case READY_CODELESS:
        if (still)
            return turn_still(rt, r, l);
        if (no_room(rt, NULL, row->uid, l))
            return verdict_done();
        return turn_codeless(rt, r, l);
    case READY_BLOCKED:
        return turn_block(rt, r, l, &finding);
    case READY_TROUBLE:
        break;
    }
    return turn_again(rt, r, l);
}

static struct delivered wake(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    switch (elsewhere_wakes(rt, r, l)) {
    case WAKE_TAKES:
        return run_ready(rt, r, l);
    case WAKE_WAITS:
        return verdict_done();
    case WAKE_OPENS:
        break;
    }
    return turn_wake(rt, r, l);
}

/* A letter for an instance that is there and may take it. */
static struct delivered take_in(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct delivered v;
    pawl_status seen = find_key(rt, r, l);
    if (seen == PAWL_OK) {
        l->duplicate = l->asked && l->ask.op == PAWL_OP_UPDATE;
        stage_take(stage_of(rt, r), l); /* answered like the first one, after this commit */
        return verdict_done();
    }
    if (seen != PAWL_EMPTY)
        return verdict_on(l, seen == PAWL_CORRUPT ? VERDICT_DAMAGED : VERDICT_UNREAD);
    if (halt_takes(rt, r, l, &v))
        return v;
    if (l->mail.kind == PAWL_MSG_WAKE)
        return wake(rt, r, l);
    return steer(rt, r, l, &v) ? v : run(rt, r, l);
}

/* A kind of a newer engine, or damage: into the quarantine; nothing waits for it. */
static struct delivered to_quarantine(pawl_runtime *rt, struct letter *l)
{
    char reason[80];
    (void)snprintf(reason, sizeof(reason), "message kind %d is not known to this version",
                   l->mail.kind);
    quarantine(rt, stage_bare(rt), l, reason);
    return verdict_done();
}

/* It ended the process too often. */
static struct delivered block_poison(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct engine_finding why = {0};
    (void)snprintf(why.text, sizeof(why.text),
                   "poison: message %llu ended the process %u times; repair the code, then retry",
                   (unsigned long long)l->mail.id, crashes_of(l));
    return turn_block(rt, r, l, &why);
}

/* Its instance is there. */
static struct delivered deliver_to(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    if (must_wait_its_turn(rt, r, l))
        return verdict_on(l, VERDICT_LATER);
    if (pawl_state_is_terminal(resident_row(r)->state))
        return too_late(rt, r, l);
    if (!is_our_child(resident_row(r), l)) {
        consume_late(rt, stage_bare(rt), l);
        return verdict_done();
    }
    if (crashes_of(l) >= rt->opts.max_attempts && l->stored)
        return block_poison(rt, r, l);
    bool raised = l->mail.kind == PAWL_MSG_EXTERNAL_RAISED || l->mail.kind == PAWL_MSG_UPDATE;
    pawl_status taken = raised ? peek_find_taken(rt, r, l) : PAWL_EMPTY;
    if (taken == PAWL_EMPTY)
        return take_in(rt, r, l);
    if (taken != PAWL_OK)
        return verdict_on(l, VERDICT_UNREAD);
    consume_late(rt, stage_of(rt, r), l);
    return verdict_done();
}

/* A number from a store, not one of our enums. */
static bool is_for_instance(int kind)
{
    enum { INSTANCE, QUEUE, SCHEDULE };
#define TO_INSTANCE(name, number, text, to) || (kind == PAWL_MSG_##name && (to) == INSTANCE)
    return false PAWL_MESSAGE_KINDS(TO_INSTANCE);
#undef TO_INSTANCE
}

struct delivered turn_deliver(pawl_runtime *rt, struct letter *l)
{
    if (l->mail.kind == PAWL_MSG_QUEUE_PUSH && rt->queue_cache)
        return queue_deliver(rt, l);
    if (l->mail.kind == PAWL_MSG_SCHEDULE && schedule_works(rt))
        return schedule_deliver(rt, l);
    if (!is_for_instance(l->mail.kind))
        return to_quarantine(rt, l);
    turn_clock_blame(rt, l->work_id ? l->work_id : l->stored ? l->mail.id : 0);
    if (l->mail.kind == PAWL_MSG_START)
        return begin_deliver(rt, l);
    struct resident *r = NULL;
    switch (load_for(rt, l, &r)) {
    case LOAD_OK:
        return deliver_to(rt, r, l);
    case LOAD_NONE:
        return to_nobody(rt, l);
    case LOAD_DAMAGED:
        return verdict_on(l, VERDICT_DAMAGED);
    case LOAD_TROUBLE:
        break;
    }
    return verdict_on(l, VERDICT_UNREAD);
}
