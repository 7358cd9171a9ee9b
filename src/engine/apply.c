/* SPDX-License-Identifier: MIT */
/*
 * engine/apply.c -- one live message at a time.
 *
 * Record the message, let it act, run the code until it blocks, then hand out
 * mail: as long as an open wait has mail, the oldest such wait takes the oldest
 * kept event of its name, each as a message of its own (SEMANTICS 6, 16).  The walk
 * over open waits goes forward only, and begins again when mail was given back inside it.
 *
 * A message that changes nothing is not recorded: see enum engine_fate.
 *
 * Called by: the runtime for every message; tests.
 */
#include "engine/engine_private.h"

#include "tables/awaitables.h"

static enum engine_fate apply(execution *x, const struct mail *msg);
static enum engine_fate apply_start(execution *x, const struct mail *msg);
static enum engine_fate apply_completion(execution *x, const struct mail *msg);
static enum engine_fate apply_raised(execution *x, const struct mail *msg);
static enum engine_fate apply_operator(execution *x, const struct mail *msg, int kind);
static void take_kept(execution *x, struct task *t, struct kept_event *m);
static void settle(execution *x);
static struct step *record(execution *x, int kind, uint64_t ref, pawl_str name, pawl_str data);

enum engine_outcome execution_apply(execution *x, const struct mail *msg, int64_t now_ms,
                                    struct turn *turn, enum engine_fate *retfate,
                                    struct engine_finding *ret)
{
    if (!execution_enter(x, turn, now_ms, ret))
        return x->outcome;
    *retfate = FATE_IGNORED;
    if (setjmp(x->guard) == 0) {
        x->phase = PHASE_LIVE;
        *retfate = apply(x, msg);
        settle(x);
        if (UNLIKELY(x->step))
            remote_answer(x, *retfate);
    }
    return execution_leave(x);
}

static enum engine_fate apply(execution *x, const struct mail *msg)
{
    if (x->outcome == ENGINE_ENDED) { /* mail goes to the next execution, the rest is late */
        if (msg->kind != PAWL_MSG_EXTERNAL_RAISED && msg->kind != PAWL_MSG_UPDATE)
            return FATE_IGNORED;
        mailbox_put(x, msg);
        return FATE_KEPT;
    }
    switch (msg->kind) {
    case PAWL_MSG_START:
        return apply_start(x, msg);
#define COMPLETION(message, event) case message:
        COMPLETIONS(COMPLETION)
#undef COMPLETION
        return apply_completion(x, msg);
    case PAWL_MSG_EXTERNAL_RAISED:
    case PAWL_MSG_UPDATE:
        return apply_raised(x, msg);
    case PAWL_MSG_WAKE: /* code elsewhere is told of mail that is due, and its step is here */
        return x->step && apply_due_mail(x) ? FATE_APPLIED : FATE_IGNORED;
    default: { /* an operator's; TERMINATE and deadlines are execution_finish() */
        int kind = operator_event(x, msg->kind);
        return kind ? apply_operator(x, msg, kind) : FATE_IGNORED;
    }
    }
}

int operator_event(const execution *x, int message)
{
    switch (message) {
    case PAWL_MSG_CANCEL:
        return x->cancel_requested ? 0 : PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED;
    case PAWL_MSG_SUSPEND:
        return x->suspended ? 0 : PAWL_EV_ORCHESTRATION_SUSPENDED;
    case PAWL_MSG_RESUME:
        return x->suspended ? PAWL_EV_ORCHESTRATION_RESUMED : 0;
    default:
        return 0;
    }
}

bool operator_is_seen(int kind)
{
    return kind != PAWL_EV_ORCHESTRATION_SUSPENDED && kind != PAWL_EV_ORCHESTRATION_RESUMED;
}

static enum engine_fate apply_start(execution *x, const struct mail *msg)
{
    if (x->last_seq > 0)
        return FATE_IGNORED;
    struct step *s = record(x, PAWL_EV_ORCHESTRATION_STARTED, 0, msg->name, msg->data);

    s->event.attrs = msg->attrs;
    execution_open(x, msg->name, msg->data, msg->attrs);
    state_record(x);
    if (!execution_is_tables(x))
        execution_run(x);
    return FATE_APPLIED;
}

static enum engine_fate apply_completion(execution *x, const struct mail *msg)
{
    int kind = kind_of_message(msg->kind);

    if (msg->execution != x->spec.execution)
        return FATE_IGNORED;
    struct task *t = task_find(x, msg->ref);
    if (!t || t->kind != kind_schedule_of(kind)) {
        finding_completion(x, NULL, kind, msg->ref, t);
        return FATE_ODD;
    }
    if (t->state != TASK_OPEN)
        return FATE_IGNORED;
    assert_that(execution_has_code(x)); /* code must see it in its own turn */
    struct step *s = record(x, kind, t->id, (pawl_str){0}, msg->data);
    s->event.attrs = msg->attrs;
    if (kind == PAWL_EV_TIMER_FIRED)
        s->event.attrs =
            pawl_mem_printf(x->turn->mem, "{\"fire_at_ms\":%lld}", (long long)t->fire_at_ms);
    execution_resolve(x, t, kind, msg->data, msg->attrs);
    return FATE_APPLIED;
}

/* The wait takes it; the strings live as long as the turn. */
static void take(execution *x, struct task *t, const struct mail *m)
{
    int kind = m->kind == PAWL_MSG_UPDATE ? PAWL_EV_UPDATE_ACCEPTED : PAWL_EV_EXTERNAL_EVENT;
    struct step *s = record(x, kind, t->id, m->name, m->data);

    s->message = t->message = m->id;
    s->asks = task_asks(t);
    s->event.attrs = m->attrs;
    execution_resolve(x, t, kind, m->data, m->attrs);
}

/* An event or an update. */
static enum engine_fate apply_raised(execution *x, const struct mail *msg)
{
    bool update = msg->kind == PAWL_MSG_UPDATE;
    struct channel *ch = channel_find(x, update, msg->name, false);

    if (ch && ch->wait_head && !ch->mail) {
        assert_that(execution_has_code(x));
        struct task *t = ch->wait_head;
        if (update_refuses(x, t, msg->data, msg->attrs))
            return FATE_REFUSED;
        struct mail m = *msg;
        if (!update) /* those of a raise are of its sender */
            m.attrs = (pawl_str){0};
        take(x, t, &m);
        return FATE_APPLIED;
    }
    if (x->spec.rules.drop_early_events && !update && !(ch && ch->wait_head))
        return FATE_DROPPED;
    mailbox_put(x, msg);
    if (ch && ch->wait_head)
        x->mail_matchable = true; /* older mail first */
    return FATE_KEPT;
}

static enum engine_fate apply_operator(execution *x, const struct mail *msg, int kind)
{
    assert_that(execution_has_code(x) || kind != PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED);
    const pawl_event event = record(x, kind, 0, (pawl_str){0}, msg->data)->event;

    message_act(x, &event);
    return FATE_APPLIED;
}

static void settle(execution *x)
{
    if (!x->mail_matchable || execution_is_tables(x))
        return;
    x->settling = true;
    x->settle_next = x->open_head;
    while (x->settle_next && x->outcome == ENGINE_WAITING) {
        struct task *t = x->settle_next;
        x->settle_next = t->open_next;
        if (t->channel && t->channel->mail)
            take_kept(x, t, t->channel->mail->head);
    }
    x->settling = false;
    x->settle_next = NULL;
    x->mail_matchable = false;
}

bool apply_due_mail(execution *x)
{
    for (struct task *t = x->mail_count ? x->open_head : NULL; t; t = t->open_next)
        if (t->channel && t->channel->mail) {
            take_kept(x, t, t->channel->mail->head);
            return true;
        }
    return false;
}

static void take_kept(execution *x, struct task *t, struct kept_event *m)
{
    pawl_mem *mem = x->turn->mem; /* x may go in this turn, and the kept event before */
    const struct mail mail = {.id = m->id,
                              .kind = t->update ? PAWL_MSG_UPDATE : PAWL_MSG_EXTERNAL_RAISED,
                              .name = arena_dup(mem, t->name),
                              .data = arena_dup(mem, m->data),
                              .attrs = m->attrs.len ? arena_dup(mem, m->attrs) : (pawl_str){0}};

    assert_that(t->channel->wait_head == t);
    if (update_refuses(x, t, m->data, m->attrs)) {
        mailbox_consume(x, m);
        x->settle_next = t; /* the same wait looks at the next one */
        return;
    }
    mailbox_consume(x, m);
    take(x, t, &mail);
}

/* Append a message event; its time never goes back (SEMANTICS 13).  The event has the strings it
 * is given: they outlive the turn. */
static struct step *record(execution *x, int kind, uint64_t ref, pawl_str name, pawl_str data)
{
    int64_t clock_ms = LIKELY(!x->step) ? x->clock_ms : x->step->at_ms;
    int64_t at_ms = clock_ms > x->now_ms ? clock_ms : x->now_ms;

    assert_that(x->last_seq > 0 || kind == PAWL_EV_ORCHESTRATION_STARTED);
    execution_message(x, x->last_seq + 1, at_ms);
    return decide_record(x, kind, ref, name, data);
}
