/* SPDX-License-Identifier: MIT */
/*
 * engine/remote_code.c -- see remote_code.h.  A worker's decisions go the way of C code's calls.
 *
 * The walk of a decision: pawl_decision -> struct decision -> judge.c (the limits) -> decide.c (the
 * event, the task).  What the worker must count itself (the seq of its message, the ids of its
 * tasks) is compared here, so that it drifts nowhere unseen.  A decision over a limit must say so
 * itself (`refused`): its code has been told at the call, and replay will tell it the same.  If it
 * does not, the finding has the seq of that decision and the refusal, so that the worker can.
 *
 * Invariants: a step is played for a message that was recorded in the same call; outside entry
 * calls x->step is NULL; x->blocked says that x->wait is what the worker said it waits for.
 */
#include "engine/remote_code.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "engine/engine_private.h"
#include "pawl/json.h"

#include <stdio.h>

NORETURN static void refuse(execution *x, const char *format, ...) PAWL_PRINTF(2, 3);

static void refuse(execution *x, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (x->finding) {
        *x->finding = (struct engine_finding){0};
        (void)vsnprintf(x->finding->text, sizeof(x->finding->text), format, args);
    }
    va_end(args);
    engine_stop(x, ENGINE_REFUSED);
}

/* ---- Looking ------------------------------------------------------------- */

/* Would this end of a task wake the code?  It said nothing: it is asked. */
static bool wakes(const execution *x, const struct task *t, bool failed)
{
    const struct wait *w = &x->wait;

    if (!x->blocked)
        return true;
    if (t->wait_serial != w->serial)
        return false;
    return w->mode == WAIT_ANY || (w->mode == WAIT_ALL && failed) || w->pending == 1;
}

static void look_at_completion(execution *x, const struct mail *msg, pawl_mem *mem,
                               struct remote_look *ret)
{
    int kind = kind_of_message(msg->kind);
    const struct task *t = task_find(x, msg->ref);

    if (msg->execution != x->spec.execution)
        return;
    if (!t || t->kind != kind_schedule_of(kind)) {
        ret->fate = FATE_ODD;
        return;
    }
    if (t->state != TASK_OPEN)
        return;
    *ret = (struct remote_look){
        .fate = FATE_APPLIED,
        .asks = wakes(x, t, kind_is_failure(kind)),
        .event = {.kind = kind, .ref = t->id, .data = msg->data, .attrs = msg->attrs}
    };
    if (kind == PAWL_EV_TIMER_FIRED)
        ret->event.attrs = pawl_mem_printf(mem, "{\"fire_at_ms\":%lld}", (long long)t->fire_at_ms);
}

static void look_at_taken(const execution *x, const struct task *t, bool update, pawl_str data,
                          pawl_str attrs, struct remote_look *ret)
{
    *ret = (struct remote_look){
        .fate = FATE_APPLIED,
        .asks = wakes(x, t, false),
        .event = {.kind = update ? PAWL_EV_UPDATE_ACCEPTED : PAWL_EV_EXTERNAL_EVENT,
                  .ref = t->id,
                  .name = t->name,
                  .data = data,
                  .attrs = update ? attrs : (pawl_str){0}}
    };
}

static void look_at_raised(execution *x, const struct mail *msg, struct remote_look *ret)
{
    bool update = msg->kind == PAWL_MSG_UPDATE;
    const struct channel *ch = channel_find(x, update, msg->name, false);

    if (ch && ch->wait_head && !ch->mail)
        look_at_taken(x, ch->wait_head, update, msg->data, msg->attrs, ret);
    else if (x->spec.rules.drop_early_events && !update && !(ch && ch->wait_head))
        ret->fate = FATE_DROPPED;
    else
        ret->fate = FATE_KEPT;
}

static struct task *due_wait(const execution *x)
{
    for (struct task *t = x->mail_count ? x->open_head : NULL; t; t = t->open_next)
        if (t->channel && t->channel->mail)
            return t;
    return NULL;
}

bool execution_has_due_mail(const execution *x)
{
    return due_wait(x) != NULL;
}

static void look_at_mail(const execution *x, struct remote_look *ret)
{
    const struct task *t = due_wait(x);

    if (!t)
        return;
    const struct kept_event *m = t->channel->mail->head;
    look_at_taken(x, t, t->update != NULL, m->data, m->attrs, ret);
    ret->asks = true; /* it is applied with its step or not at all */
}

static void look_at_operator(const execution *x, const struct mail *msg, struct remote_look *ret)
{
    int kind = operator_event(x, msg->kind);

    if (kind)
        *ret = (struct remote_look){
            .fate = FATE_APPLIED,
            .asks = operator_is_seen(kind),
            .event = {.kind = kind, .data = msg->data}
        };
}

struct remote_look execution_look(execution *x, const struct mail *msg, pawl_mem *mem)
{
    struct remote_look look = {.fate = FATE_IGNORED};

    if (x->outcome != ENGINE_WAITING) {
        if (msg->kind == PAWL_MSG_EXTERNAL_RAISED || msg->kind == PAWL_MSG_UPDATE)
            look.fate = FATE_KEPT;
        return look;
    }
    switch (msg->kind) {
    case PAWL_MSG_START:
        if (x->last_seq == 0)
            look = (struct remote_look){
                .fate = FATE_APPLIED,
                .asks = true,
                .event = {.kind = PAWL_EV_ORCHESTRATION_STARTED,
                          .name = msg->name,
                          .data = msg->data,
                          .attrs = msg->attrs}
            };
        break;
    case PAWL_MSG_EXTERNAL_RAISED:
    case PAWL_MSG_UPDATE:
        look_at_raised(x, msg, &look);
        break;
    case PAWL_MSG_WAKE:
        look_at_mail(x, &look);
        break;
    default:
        if (kind_of_message(msg->kind))
            look_at_completion(x, msg, mem, &look);
        else
            look_at_operator(x, msg, &look);
        break;
    }
    return look;
}

/* ---- Playing ------------------------------------------------------------- */

void execution_step(execution *x, const struct remote_step *step)
{
    assert_that(x->spec.code.remote && !x->guarded);
    x->step = step;
}

/* The common part of a decision; with its refusal, if the worker sent one. */
static struct decision decision_of(const pawl_decision *p, int kind)
{
    struct decision d = {.kind = kind,
                         .name = p->name,
                         .data = p->data,
                         .delay_ms = p->delay_ms,
                         .child = p->instance,
                         .version = p->version,
                         .opts = p->opts,
                         .inherit = (p->flags & PAWL_DEED_INHERIT) != 0,
                         .abandon = (p->flags & PAWL_DEED_ABANDON) != 0,
                         .await_start = (p->flags & PAWL_DEED_AWAIT_START) != 0,
                         .cleared = (p->flags & PAWL_DEED_CLEARED) != 0,
                         .rejected = (p->flags & PAWL_DEED_REJECTED) != 0,
                         .ask = p->ask,
                         .deadline_ms = p->deadline_ms,
                         .api = "the worker"};

    (void)snprintf(d.refusal, sizeof(d.refusal), "%.*s", PAWL_FMT(p->refused));
    utf8_cut(d.refusal);
    return d;
}

/* The call is refused, and the worker did not say so: only the server knew (an id that is taken, the
 * attributes of the instance), or it looks at another limit.  The worker makes its code see it. */
static void must_fit(execution *x, const pawl_decision *p, const struct decision *d)
{
    if (!d->refusal[0] || p->refused.len)
        return;
    if (x->finding) {
        *x->finding = (struct engine_finding){.seq = x->last_seq + 1};
        (void)snprintf(x->finding->text, sizeof(x->finding->text), "%s", d->refusal);
    }
    engine_stop(x, ENGINE_REFUSED);
}

static struct task *start(execution *x, const pawl_decision *p, struct decision *d)
{
    if (p->ref != x->task_count + 1)
        refuse(x, "a task opens with ref %llu; the next one is %llu", (unsigned long long)p->ref,
               (unsigned long long)x->task_count + 1);
    must_fit(x, p, d);
    struct task *t = decide_start(x, d);
    if (p->flags & PAWL_DEED_LEASE && !p->refused.len)
        x->turn->steps[x->turn->count - 1].lease = true;
    return t;
}

static void play_call(execution *x, const pawl_decision *p)
{
    struct decision d = decision_of(p, PAWL_EV_ACTIVITY_SCHEDULED);

    if (!p->refused.len)
        judge_call(x, &d);
    (void)start(x, p, &d);
}

static void play_timer(execution *x, const pawl_decision *p)
{
    struct decision d = decision_of(p, PAWL_EV_TIMER_CREATED);

    if (!p->refused.len)
        judge_timer(&d);
    (void)start(x, p, &d);
}

static void play_wait(execution *x, const pawl_decision *p)
{
    bool update = p->deed == PAWL_DEED_UPDATE;
    struct decision d =
        decision_of(p, update ? PAWL_EV_UPDATE_WAITED : PAWL_EV_EXTERNAL_SUBSCRIBED);

    if (!p->refused.len && update)
        judge_update(&d);
    else if (!p->refused.len)
        judge_wait(x, &d);
    struct task *t = start(x, p, &d);
    if (p->flags & PAWL_DEED_FRESH && t->channel && t->state == TASK_OPEN)
        mailbox_discard(x, t->channel);
}

static void play_child(execution *x, const pawl_decision *p)
{
    bool detached = p->deed == PAWL_DEED_DETACH;
    struct decision d = decision_of(p, detached ? PAWL_EV_ORCHESTRATION_CHAINED
                                                : PAWL_EV_SUB_ORCHESTRATION_SCHEDULED);
    char made[LIMIT_CHILD_ID_BYTES + 64];

    if (detached)
        d.abandon = false;
    if (p->refused.len) {
        (void)start(x, p, &d);
        return;
    }
    (void)snprintf(made, sizeof(made), "%.*s:%llu:%llu", PAWL_FMT(x->spec.instance),
                   (unsigned long long)x->spec.execution, (unsigned long long)x->task_count + 1);
    bool chosen = !pawl_str_is(d.child, made);
    judge_child(x, &d, chosen);
    if (detached && !d.refusal[0] && execution_is_taken(x, d.child))
        judge_taken(&d);
    must_fit(x, p, &d);
    if (chosen && !detached && x->spec.speaks)
        x->spec.speaks(x->spec.taken_user, d.child);
    (void)start(x, p, &d);
}

static void play_raise(execution *x, const pawl_decision *p)
{
    struct decision d = decision_of(p, PAWL_EV_EVENT_SENT);

    if (!p->refused.len)
        judge_raise(x, &d, 0);
    (void)start(x, p, &d);
}

/* A wait that is done and was not seen gives its mail back: the worker alone knows which. */
static void play_cancel(execution *x, const pawl_decision *p)
{
    struct task *t = task_find(x, p->ref);
    char reason[LIMIT_NAME_BYTES + 1];

    (void)snprintf(reason, sizeof(reason), "%.*s",
                   PAWL_FMT(p->reason.len ? p->reason : pawl_s("cancelled by the orchestration")));
    utf8_cut(reason);
    if (t && t->state == TASK_OPEN && !kind_is_sent(t->kind))
        decide_cancel(x, t, reason, "the worker", NULL);
    else if (t && t->state == TASK_DONE && t->channel && (!t->update || t->update->owed))
        decide_return(x, t, reason, NULL);
    else
        refuse(x, "cancel of task %llu, which is not open", (unsigned long long)p->ref);
}

static void play_answer(execution *x, const pawl_decision *p)
{
    struct decision d = decision_of(p, PAWL_EV_UPDATE_ANSWERED);
    struct task *t = task_find(x, p->ref);

    if (!t || !t->update || !t->update->owed)
        refuse(x, "task %llu is no update that waits for its answer", (unsigned long long)p->ref);
    if (p->refused.len) {
        d.data = pawl_s(d.refusal);
        d.rejected = true;
    } else {
        judge_answer(x, &d);
        must_fit(x, p, &d);
    }
    update_answer(x, t, &d);
}

static void play_state(execution *x, const pawl_decision *p)
{
    struct decision d = decision_of(p, PAWL_EV_STATE_CHANGED);

    if (!p->refused.len)
        judge_state(x, &d, false);
    must_fit(x, p, &d);
    d.name = decide_name(d.name);
    decide_plain(x, &d, pawl_s(d.cleared ? "{\"cleared\":true}" : ""));
    if (d.refusal[0])
        return;
    if (d.cleared)
        state_clear(x, d.name);
    else
        state_set(x, d.name, d.data);
}

static void play_push(execution *x, const pawl_decision *p)
{
    struct decision d = decision_of(p, PAWL_EV_QUEUE_PUSHED);
    const pawl_push_opts opts = {
        .size = sizeof(opts), .priority = p->priority, .delay_ms = p->delay_ms};

    if (!p->refused.len)
        judge_push(x, &d, &opts);
    must_fit(x, p, &d);
    d.name = decide_name(d.name);
    decide_plain(x, &d, push_attrs(x->turn->mem, &opts));
}

static void play_text(execution *x, const pawl_decision *p)
{
    bool status = p->deed == PAWL_DEED_STATUS;
    struct decision d =
        decision_of(p, status ? PAWL_EV_CUSTOM_STATUS_UPDATED : PAWL_EV_ATTRIBUTES_SET);

    d.name = (pawl_str){0};
    if (!p->refused.len && status)
        judge_status(&d);
    else if (!p->refused.len)
        judge_attributes(x, &d);
    must_fit(x, p, &d);
    decide_plain(x, &d, pawl_s(""));
}

static void play_patch(execution *x, const pawl_decision *p)
{
    pawl_str name = decide_name(p->name);

    if (!name.len || name.len != p->name.len)
        refuse(x, "the name of a patch has 1..%d bytes of UTF-8", LIMIT_NAME_BYTES);
    (void)decide_append(x, PAWL_EV_PATCH_RECORDED, 0, name, (pawl_str){0});
}

void remote_end_refusal(const execution *x, char *refusal, size_t n)
{
    const pawl_decision *p = x->step->count ? &x->step->decisions[x->step->count - 1] : NULL;

    if (p && p->deed == PAWL_DEED_FINISH && p->refused.len)
        (void)snprintf(refusal, n, "%.*s", PAWL_FMT(p->refused));
    utf8_cut(refusal);
}

static void play_end(execution *x, const pawl_decision *p)
{
    pawl_error err;

    if (p->end < PAWL_DEED_COMPLETED || p->end > PAWL_DEED_CANCELLED)
        refuse(x, "no end has the number %d", (int)p->end);
    if (p->end == PAWL_DEED_CANCELLED && !x->cancel_requested)
        refuse(x, "it ends as cancelled, and no cancellation was requested");
    x->returned =
        (pawl_result){.ok = p->end == PAWL_DEED_COMPLETED,
                      .kind = p->end == PAWL_DEED_COMPLETED ? PAWL_RESULT_OK : PAWL_RESULT_FAILED,
                      .value = p->data};
    if (p->end == PAWL_DEED_CONTINUE) {
        x->continuing = true;
        x->next_input = p->data;
        x->next_version = p->version;
        if (p->version.len && !check_version(p->version, &err))
            (void)snprintf(x->next_refusal, sizeof(x->next_refusal), "continue as new: %.150s",
                           err.text);
    }
    ending_of_return(x);
}

static void play(execution *x, const pawl_decision *p)
{
    switch (p->deed) {
    case PAWL_DEED_CALL:
        play_call(x, p);
        return;
    case PAWL_DEED_TIMER:
        play_timer(x, p);
        return;
    case PAWL_DEED_EVENT:
    case PAWL_DEED_UPDATE:
        play_wait(x, p);
        return;
    case PAWL_DEED_CHILD:
    case PAWL_DEED_DETACH:
        play_child(x, p);
        return;
    case PAWL_DEED_RAISE:
        play_raise(x, p);
        return;
    case PAWL_DEED_CANCEL:
        play_cancel(x, p);
        return;
    case PAWL_DEED_ANSWER:
        play_answer(x, p);
        return;
    case PAWL_DEED_STATE:
        play_state(x, p);
        return;
    case PAWL_DEED_STATUS:
    case PAWL_DEED_ATTRIBUTES:
        play_text(x, p);
        return;
    case PAWL_DEED_PUSH:
        play_push(x, p);
        return;
    case PAWL_DEED_PATCH:
        play_patch(x, p);
        return;
    case PAWL_DEED_FINISH:
        play_end(x, p);
        return;
    }
    refuse(x, "no decision has the number %d", (int)p->deed);
}

void remote_answer(execution *x, enum engine_fate fate)
{
    const struct remote_step *step = x->step;

    if (fate != FATE_APPLIED)
        refuse(x, "a step for a message that changes nothing");
    if (step->seq != x->message_seq)
        refuse(x, "the step says that its message is event %llu; it is %llu",
               (unsigned long long)step->seq, (unsigned long long)x->message_seq);
    x->blocked = false; /* what it waited for is past */
    for (size_t i = 0; i < step->count; i++) {
        if (x->outcome != ENGINE_WAITING)
            refuse(x, "a decision after the end");
        play(x, &step->decisions[i]);
    }
}

/* ---- Waiting ------------------------------------------------------------- */

static enum wait_mode mode_of(pawl_turn_wait mode)
{
    return mode == PAWL_TURN_WAIT_ALL   ? WAIT_ALL
           : mode == PAWL_TURN_WAIT_ANY ? WAIT_ANY
                                        : WAIT_SETTLED;
}

bool execution_expect(execution *x, pawl_turn_wait mode, const uint64_t *refs, size_t count,
                      char *why, size_t n)
{
    uint64_t serial = x->wait.serial + 1, last = 0;

    for (size_t i = 0; i < count; i++) {
        struct task *t = task_find(x, refs[i]);
        if (!t || t->state != TASK_OPEN || refs[i] <= last) {
            (void)snprintf(why, n, "it waits for task %llu, which is %s",
                           (unsigned long long)refs[i],
                           t && t->state == TASK_OPEN ? "out of order" : "not open");
            x->blocked = false;
            return false;
        }
        last = refs[i];
        t->wait_serial = serial;
    }
    x->wait =
        (struct wait){.mode = mode_of(mode), .count = count, .pending = count, .serial = serial};
    x->blocked = true;
    return true;
}

int64_t execution_now(const execution *x)
{
    return x->now_ms;
}
