/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/turned.c -- orchestrations in workers, over pawl_turns_exchange(): honest, lying, slow
 * and dying ones (I36).
 *
 * Instances u0, u1 … run "Turned", which no node has: a worker here runs it.  What the code decides
 * on a message is a function of the run and of that message, so every recorded history can be
 * compared with the code from its beginning.
 *
 *   I36  behind each recorded message stands what the code decided on it, whole, and nothing else;
 *        an answer against the protocol, or with a token that was used, never stands; an honest
 *        answer is never refused
 *
 * A worker loses turns, answers late, twice, a part of the messages, lies, forgets its cache, and
 * dies (another session).  All other invariants hold for these instances as for all.
 *
 * Called by driver.c, world.c, node.c and rows.c.
 */
#include "memory.h"

#include "engine/engine_private.h"
#include "pawl/turns.h"

#include <stdlib.h>
#include <string.h>

#define TASKS    32 /* of one execution, at most */
#define MADE     6  /* decisions on one message, at most */
#define MESSAGES 4  /* of one turn that are answered; the rest comes again */
#define HELD     6  /* turns in hand */
#define KNOWN    8  /* runs in the cache */

/* One execution as the code sees it. */
struct coded {
    uint64_t uid, execution, seq; /* seq: of its last event; uid 0: nothing */
    char instance[16];
    uint32_t count;     /* tasks */
    bool open[TASKS];   /* id - 1 */
    bool wanted[TASKS]; /* of those that it waits for to settle */
    bool settles;       /* it waits for all of these; else for any that is open */
    bool ended, cancelled;
};

/* What the code did on one message. */
struct made {
    pawl_decision list[MADE];
    char text[MADE][24];
    size_t count;
};

struct held {
    char token[PAWL_TURNS_TOKEN_BYTES];
    uint64_t uid;
    bool release; /* it does not know the run any more */
    bool used;    /* it was answered: again is too late */
    size_t steps;
    uint32_t message[MESSAGES];
    uint64_t seq[MESSAGES];
    struct made made[MESSAGES];
    struct coded after;
};

enum lie { HONEST, LIE_REF, LIE_SEQ, LIE_STEP, LIE_WAIT, LIE_TOKEN, LIE_END, LIES };

struct turned_op {
    struct sim *sim;
    struct node *node;
    bool waiting, answers;
    enum lie lie;
    struct held held;
    char session[24];
};

struct turned {
    char session[24];
    uint64_t sessions;
    bool told;
    struct held held[HELD];
    size_t held_count;
    struct coded known[KNOWN];
    struct turned_op **ops;
    size_t op_count, op_cap;
    uint64_t asked_at; /* heal: looks and time when it asked last, and got nothing */
    int64_t asked_ms;
};

struct turned *turned_create(void)
{
    struct turned *all = calloc(1, sizeof(*all));
    assert_that(all);
    return all;
}

void turned_free(struct turned *all)
{
    for (size_t i = 0; i < all->op_count; i++)
        free(all->ops[i]);
    free(all->ops);
    free(all);
}

bool turned_is(const struct seen *i)
{
    return i->id[0] == 'u';
}

bool turned_open(const struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->turned->op_count; i++)
        if (s->turned->ops[i]->waiting && (!n || s->turned->ops[i]->node == n))
            return true;
    return false;
}

void turned_lost(struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->turned->op_count; i++)
        if (s->turned->ops[i]->node == n)
            s->turned->ops[i]->waiting = false;
}

/* ---- The code ----------------------------------------------------------------------------- */

static pawl_decision *add(struct made *m, pawl_deed deed)
{
    pawl_decision *d = &m->list[m->count++];
    *d = (pawl_decision){.deed = deed};
    return d;
}

static void open_task(struct coded *c, struct made *m, uint64_t h)
{
    static const pawl_deed deeds[] = {PAWL_DEED_CALL, PAWL_DEED_CALL, PAWL_DEED_TIMER,
                                      PAWL_DEED_EVENT};
    char *text = m->text[m->count];
    pawl_decision *d = add(m, deeds[h % COUNT_OF(deeds)]);
    c->open[c->count++] = true;
    d->ref = c->count;
    if (d->deed == PAWL_DEED_TIMER) {
        d->delay_ms = (int64_t)(h / 4 % 400);
    } else if (d->deed == PAWL_DEED_CALL) {
        (void)snprintf(text, 24, "o0:%016llx", (unsigned long long)h);
    } else {
        (void)snprintf(text, 24, "E%d", (int)(h / 4 % 3));
    }
}

/* The texts of decisions are in the struct, which may have been copied. */
static void point_to_texts(struct made *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->list[i].deed == PAWL_DEED_CALL) {
            m->list[i].name = pawl_s("Act");
            m->list[i].data = pawl_s(m->text[i]);
        } else if (m->list[i].deed == PAWL_DEED_EVENT) {
            m->list[i].name = pawl_s(m->text[i]);
        }
}

static void end_run(struct coded *c, struct made *m, uint64_t h)
{
    pawl_decision *d = add(m, PAWL_DEED_FINISH);
    bool on = !c->cancelled && c->execution < 3 && h / 8 % 3 == 0;
    d->end = c->cancelled ? PAWL_DEED_CANCELLED : on ? PAWL_DEED_CONTINUE : PAWL_DEED_COMPLETED;
    d->data = c->cancelled ? (pawl_str){0} : pawl_s("t");
    c->ended = true;
}

static bool waits_on(const struct coded *c)
{
    for (uint32_t i = 0; c->settles && i < c->count; i++)
        if (c->open[i] && c->wanted[i])
            return true;
    return false;
}

/* One message, and the code until it is quiet.  `seq` is the number of the message. */
static void code_runs(struct coded *c, const pawl_event *e, uint64_t seq, struct made *m)
{
    m->count = 0;
    c->seq = seq;
    if (e->ref && e->ref <= c->count)
        c->open[e->ref - 1] = false;
    c->cancelled |= e->kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED;
    if (!c->cancelled && waits_on(c))
        return;
    uint64_t h = hash_number(hash_number(hash_str(c->execution, pawl_s(c->instance)), seq), e->ref);
    if (c->cancelled || c->count + 3 > TASKS || (seq > 8 && h % 6 == 0)) {
        end_run(c, m, h);
    } else {
        for (uint32_t i = 0; i < c->count && h % 5 == 1; i++)
            if (c->open[i]) {
                pawl_decision *d = add(m, PAWL_DEED_CANCEL);
                d->ref = i + 1;
                d->reason = pawl_s("enough");
                c->open[i] = false;
                break;
            }
        open_task(c, m, h / 64);
        if (h % 7 < 3)
            open_task(c, m, h / 4096);
        c->settles = h % 4 == 2;
        memcpy(c->wanted, c->open, sizeof(c->wanted));
    }
    c->seq += m->count;
    point_to_texts(m);
}

/* Does the code see this event? */
static bool is_message(const pawl_event *e)
{
    enum event_class class = event_class(e->kind);
    return (class == CLASS_START || class == CLASS_MESSAGE) &&
           e->kind != PAWL_EV_ORCHESTRATION_SUSPENDED && e->kind != PAWL_EV_ORCHESTRATION_RESUMED;
}

/* ---- Histories ------------------------------------------------------------------------------ */

static bool is_recorded_as(const pawl_decision *d, const pawl_event *e)
{
    bool opens = e->ref == d->ref && pawl_str_eq(e->name, d->name);
    if (d->deed == PAWL_DEED_CALL)
        return opens && e->kind == PAWL_EV_ACTIVITY_SCHEDULED && pawl_str_eq(e->data, d->data);
    if (d->deed == PAWL_DEED_TIMER)
        return opens && e->kind == PAWL_EV_TIMER_CREATED &&
               pawl_json_int(e->attrs, "/delay_ms", -1) == d->delay_ms;
    if (d->deed == PAWL_DEED_EVENT)
        return opens && e->kind == PAWL_EV_EXTERNAL_SUBSCRIBED;
    if (d->deed == PAWL_DEED_CANCEL)
        return event_class(e->kind) == CLASS_DECISION && kind_schedule_of(e->kind) &&
               e->ref == d->ref && pawl_str_eq(e->data, d->reason);
    return e->kind == (d->end == PAWL_DEED_CANCELLED  ? PAWL_EV_ORCHESTRATION_CANCELLED
                       : d->end == PAWL_DEED_CONTINUE ? PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW
                                                      : PAWL_EV_ORCHESTRATION_COMPLETED);
}

void turned_replay(struct sim *s, const struct seen *i, uint64_t number,
                   const pawl_event_list *list)
{
    struct coded c = {.uid = i->uid, .execution = number};
    struct made made = {.count = 0};
    size_t met = 0;
    (void)snprintf(c.instance, sizeof(c.instance), "%s", i->id);
    CHECKED(s, I36);
    for (size_t k = 0; k < list->count; k++) {
        const pawl_event *e = &list->items[k];
        bool ends = met < made.count && made.list[met].deed == PAWL_DEED_FINISH;
        if (pawl_json_bool(e->attrs, "/forced", false))
            return;
        if (is_message(e) && met == made.count) {
            code_runs(&c, e, e->seq, &made);
            met = 0;
        } else if (met < made.count && is_recorded_as(&made.list[met], e)) {
            met++;
        } else if (event_class(e->kind) == CLASS_DECISION && kind_schedule_of(e->kind) &&
                   (ends || (k + 1 <= list->count && i->forced))) {
            continue; /* the end withdraws what is open */
        } else if (is_message(e) || event_class(e->kind) != CLASS_MESSAGE) {
            sim_fail(s, "I36", "%s execution %llu: event %llu %s is not what the code decided",
                     i->id, (unsigned long long)number, (unsigned long long)e->seq,
                     pawl_event_kind_name(e->kind));
        }
    }
    if (met < made.count)
        sim_fail(s, "I36", "%s execution %llu: %zu decisions of the code, %zu are recorded", i->id,
                 (unsigned long long)number, made.count, met);
}

/* ---- The worker -------------------------------------------------------------------------------- */

static struct coded *known(struct turned *all, uint64_t uid)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (all->known[i].uid == uid)
            return &all->known[i];
    return NULL;
}

static void forget(struct turned *all, uint64_t uid)
{
    struct coded *c = uid ? known(all, uid) : NULL;
    if (c)
        c->uid = 0;
}

static void keep(struct turned *all, const struct coded *c)
{
    forget(all, c->uid);
    struct coded *room = known(all, 0);
    *(room ? room : &all->known[c->uid % KNOWN]) = *c;
}

static bool know_run(struct turned *all, const pawl_turn *t, uint64_t uid, struct coded *ret)
{
    const struct coded *c = known(all, uid);
    struct made unused;
    *ret = (struct coded){.uid = uid, .execution = t->execution};
    (void)snprintf(ret->instance, sizeof(ret->instance), "%.*s", PAWL_FMT(t->instance));
    if (c && c->execution == t->execution && t->after <= c->seq && c->seq <= t->seq)
        *ret = *c;
    else if (t->after)
        return false;
    for (size_t i = 0; i < t->event_count; i++)
        if (t->events[i].seq > ret->seq && is_message(&t->events[i]))
            code_runs(ret, &t->events[i], t->events[i].seq, &unused);
    ret->seq = t->seq;
    return !t->more;
}

/* Run the code on the messages of a turn: the answer, to be sent now or later. */
static void take_turn(struct sim *s, const pawl_turn *t)
{
    struct turned *all = s->turned;
    uint64_t uid = strtoull(t->run.ptr, NULL, 10);
    if (all->held_count == HELD || (!s->healing && prng_chance(&s->more, 150)))
        return; /* the worker dies with it */
    struct held *h = &all->held[all->held_count++];
    *h = (struct held){.uid = uid};
    (void)snprintf(h->token, sizeof(h->token), "%.*s", PAWL_FMT(t->token));
    h->release = !know_run(all, t, uid, &h->after);
    size_t most = s->healing || prng_chance(&s->more, 700) ? MESSAGES : 1;
    for (size_t i = 0; !h->release && i < t->message_count && h->steps < most; i++) {
        const pawl_event *e = &t->messages[i];
        if (h->after.ended || (i && e->ref && !h->after.open[e->ref - 1]))
            continue; /* an earlier step closed it */
        h->message[h->steps] = (uint32_t)i + 1;
        h->seq[h->steps] = h->after.seq + 1;
        code_runs(&h->after, e, h->after.seq + 1, &h->made[h->steps]);
        h->steps++;
    }
    sim_trace(s, "worker has turn %s of %.*s, %zu messages", h->token, PAWL_FMT(t->instance),
              t->message_count);
}

static void check_status(struct sim *s, struct turned_op *op, const pawl_turn_answered *a)
{
    const struct held *h = &op->held;
    CHECKED(s, I36);
    sim_trace(s, "answer to %s (lie %d%s): %d %.*s", h->token, (int)op->lie,
              h->used ? ", again" : "", (int)a->status, PAWL_FMT(a->message));
    if (h->used && a->status != PAWL_TURN_LOST)
        sim_fail(s, "I36", "token %s was used, and is answered %d", h->token, (int)a->status);
    if (op->lie && a->status != PAWL_TURN_LOST &&
        (a->status != PAWL_TURN_REFUSED || op->lie == LIE_TOKEN))
        sim_fail(s, "I36", "lie %d with %s is answered %d", (int)op->lie, h->token, (int)a->status);
    if (!op->lie && a->status == PAWL_TURN_REFUSED)
        sim_fail(s, "I36", "an honest answer to %s is refused: %.*s", h->token,
                 PAWL_FMT(a->message));
    if (!op->lie && a->status == PAWL_TURN_BLOCKED && !s->plan.max_history)
        sim_fail(s, "I36", "an honest answer to %s blocks: %.*s", h->token, PAWL_FMT(a->message));
    if (a->status == PAWL_TURN_OK && a->seq != h->after.seq && a->next.len)
        sim_fail(s, "I36", "%s stands at event %llu, the code at %llu", h->token,
                 (unsigned long long)a->seq, (unsigned long long)h->after.seq);
}

static void put_back(struct sim *s, struct held *h)
{
    if (s->turned->held_count < HELD)
        s->turned->held[s->turned->held_count++] = *h;
}

static void take_answered(struct sim *s, struct turned_op *op, const pawl_turn_answered *a)
{
    struct turned *all = s->turned;
    struct held *h = &op->held;
    check_status(s, op, a);
    if (a->status == PAWL_TURN_OK && a->next.len)
        keep(all, &h->after);
    else if (!op->lie && !h->used)
        forget(all, h->uid);
    bool again = op->lie || (!s->healing && !h->used && prng_chance(&s->more, 200));
    h->used |= a->status == PAWL_TURN_OK;
    if (again)
        put_back(s, h);
}

static void take_reply(struct turned_op *op, const pawl_turns_reply *reply)
{
    struct sim *s = op->sim;
    bool mine = strcmp(op->session, s->turned->session) == 0;
    if (!op->waiting && !op->node->frozen && !op->node->old)
        sim_fail(s, "I36", "an exchange was answered twice");
    op->waiting = false;
    if (op->node->frozen || op->node->old || !mine) {
        forget(s->turned, op->held.uid); /* nobody knows */
        return;
    }
    if (reply->status != PAWL_OK) { /* unknown session, mostly */
        s->turned->told = false;
        s->turned->asked_at = 0;
        return;
    }
    if (op->answers)
        take_answered(s, op, &reply->answered[0]);
    for (size_t i = 0; i < reply->turn_count; i++)
        take_turn(s, &reply->turns[i]);
    if (reply->turn_count)
        s->turned->asked_at = 0;
}

static void replied(void *arg, const pawl_turns_reply *reply)
{
    memory_pause();
    take_reply(arg, reply);
    memory_resume();
}

/* ---- Calls -------------------------------------------------------------------------------------- */

static void new_session(struct sim *s)
{
    struct turned *all = s->turned;
    (void)snprintf(all->session, sizeof(all->session), "session-%014llu",
                   (unsigned long long)++all->sessions);
    all->told = false;
    all->held_count = 0;
    memset(all->known, 0, sizeof(all->known));
}

/* The answer with its lie, if it has one; `steps` and `refs` are the caller's. */
static pawl_turn_answer answer_of(struct turned_op *op, pawl_turn_step *steps, uint64_t *refs)
{
    struct held *h = &op->held;
    pawl_turn_answer a = {.token = pawl_s(h->token), .form = PAWL_TURN_STEPS, .steps = steps};
    for (size_t i = 0; i < h->steps; i++)
        point_to_texts(&h->made[i]);
    for (; a.step_count < h->steps; a.step_count++)
        steps[a.step_count] = (pawl_turn_step){.message = h->message[a.step_count],
                                               .seq = h->seq[a.step_count],
                                               .decisions = h->made[a.step_count].list,
                                               .count = h->made[a.step_count].count};
    for (uint32_t i = 0; i < h->after.count && !h->after.ended; i++)
        if (h->after.open[i] && (!h->after.settles || h->after.wanted[i]))
            refs[a.ref_count++] = i + 1;
    a.refs = refs;
    if (!h->after.ended)
        a.wait = h->after.settles && a.ref_count > 1 ? PAWL_TURN_WAIT_SETTLED : PAWL_TURN_WAIT_ANY;
    if (h->release)
        a.form = PAWL_TURN_RELEASE;
    return a;
}

static void lie_in(struct turned_op *op, pawl_turn_answer *a, pawl_turn_step *steps, uint64_t *refs)
{
    static const pawl_decision odd = {.deed = PAWL_DEED_CANCEL, .ref = 9999};
    static const pawl_decision none = {.deed = PAWL_DEED_FINISH}; /* ends, and does not say how */
    static char token[PAWL_TURNS_TOKEN_BYTES];
    if (op->lie == LIE_REF || op->lie == LIE_END) {
        steps[0].decisions = op->lie == LIE_REF ? &odd : &none;
        steps[0].count = 1;
    }
    if (op->lie == LIE_END) {
        a->wait = PAWL_TURN_WAIT_NONE;
        a->step_count = 1;
        a->ref_count = 0;
    }
    if (op->lie == LIE_SEQ)
        steps[0].seq++;
    if (op->lie == LIE_STEP)
        steps[a->step_count++] = (pawl_turn_step){.message = 99, .seq = op->held.after.seq + 1};
    if (op->lie == LIE_WAIT) {
        a->wait = PAWL_TURN_WAIT_ANY;
        refs[a->ref_count++] = 9999;
    }
    if (op->lie == LIE_TOKEN) {
        (void)snprintf(token, sizeof(token), "%s", op->held.token);
        token[strlen(token) - 1] ^= 1;
        a->token = pawl_s(token);
    }
}

static struct turned_op *new_op(struct sim *s)
{
    struct turned *all = s->turned;
    struct turned_op *op = calloc(1, sizeof(*op));
    assert_that(op);
    *op = (struct turned_op){.sim = s, .node = s->node};
    (void)snprintf(op->session, sizeof(op->session), "%s", all->session);
    *(struct turned_op **)sim_grow(&all->ops, &all->op_count, &all->op_cap, sizeof(op)) = op;
    return op;
}

/* One call: the answer to a turn in hand, if there is one, and more turns. */
static void exchange(struct sim *s, bool answers, uint32_t max, int64_t wait_ms)
{
    static const pawl_turn_code code = {
        {"Turned", 6},
        {"1.0.0",  5}
    };
    struct turned *all = s->turned;
    struct turned_op *op = new_op(s);
    pawl_turn_step steps[MESSAGES + 1];
    uint64_t refs[TASKS + 1];
    pawl_turn_answer a = {0};
    pawl_str beat;
    pawl_error err = {0};
    if (answers && all->held_count) {
        size_t at = s->healing ? 0 : prng_below(&s->more, all->held_count);
        op->answers = true;
        op->held = all->held[at];
        all->held[at] = all->held[--all->held_count];
        if (!s->healing && !op->held.release && !op->held.used && op->held.steps)
            op->lie =
                prng_chance(&s->more, 250) ? 1 + (enum lie)prng_below(&s->more, LIES - 1) : HONEST;
        a = answer_of(op, steps, refs);
        lie_in(op, &a, steps, refs);
    }
    beat = all->held_count ? pawl_s(all->held[0].token) : (pawl_str){0};
    pawl_turns q = {.protocol = PAWL_TURNS_PROTOCOL,
                    .session = pawl_s(all->session),
                    .worker = pawl_s("sim"),
                    .code = &code,
                    .code_count = all->told ? 0 : 1,
                    .has_code = !all->told,
                    .answers = &a,
                    .answer_count = op->answers,
                    .beats = &beat,
                    .beat_count = beat.len && prng_chance(&s->more, 500),
                    .max = max,
                    .wait_ms = wait_ms};
    op->waiting = true;
    all->told = true;
    s->n->fired[SITE_turns]++;
    if (pawl_turns_exchange(pawl_runtime_client(op->node->rt), &q, replied, op, &err) == PAWL_OK)
        return;
    op->waiting = false;
    all->told = false;
    if (err.status == PAWL_MISUSE || err.status == PAWL_INVALID)
        sim_fail(s, "I36", "an exchange is refused: %s", err.text);
}

void turned_act(struct sim *s)
{
    static const int64_t waits[] = {0, 0, 500, 20000};
    char id[8];
    if (!s->turned->session[0] || prng_chance(&s->more, 60))
        new_session(s);
    if (prng_chance(&s->more, 150)) {
        (void)snprintf(id, sizeof(id), "u%d", (int)prng_below(&s->more, 4));
        driver_start_turned(s, id);
        return;
    }
    if (s->mute)
        return;
    exchange(s, prng_chance(&s->more, 750), (uint32_t)prng_below(&s->more, 4),
             waits[prng_below(&s->more, COUNT_OF(waits))]);
}

/* Heal: answer what is in hand, and ask for more while that brings something. */
bool turned_help(struct sim *s)
{
    struct turned *all = s->turned;
    bool open = false;
    for (size_t i = 0; i < s->seen_count; i++)
        open |= turned_is(s->seen[i]) && !s->seen[i]->removed &&
                !pawl_state_is_terminal(s->seen[i]->state);
    if (!open || turned_open(s, NULL))
        return false;
    if (!all->session[0])
        new_session(s);
    if (!all->held_count && all->asked_at == s->n->looks + 1 && all->asked_ms == s->mono_ms)
        return false;
    all->asked_at = s->n->looks + 1;
    all->asked_ms = s->mono_ms;
    exchange(s, true, 3, 0);
    return true;
}
