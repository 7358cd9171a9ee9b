/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/served.c -- updates: each that was accepted is answered once (I37).
 *
 * Programs serve updates of three names (interp.c): they answer, reject, answer twice, after a
 * step, never, refuse some by a check, and give waits up.  Clients send them with and without a
 * key, wait for the answer or not, and send some again, while everything else goes wrong.
 *
 *   I37  what a wait accepts is an update that was sent to this instance and name, the oldest of
 *        those that were durable, and once, unless it is given back; each acceptance has one answer
 *        in the same execution, with what the code says to this request; an execution that ends
 *        owes none; answers that the end gives (`left`) come in the order of acceptance; a client
 *        is told the recorded answer, and `it ended` only when it has; a durable update is in one
 *        place until it is accepted, refused by its check, or its instance ends
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define NAMES 3 /* U0, U1, U2 */

struct update {
    char instance[80], name[4], key[12];
    uint64_t meant;  /* uid it was first sent to; 0: none */
    int64_t sent;    /* number of its first call */
    int64_t durable; /* number of when it was known to be; 0: not yet */
    uint64_t uid;    /* where it was seen; 0: nowhere yet */
    uint64_t taken;  /* uid that accepted it; 0: none has */
    char id[40];     /* as its attributes have it; "": not seen yet */
    char answer[64]; /* as recorded; "": none yet */
    bool rejected;   /* that answer is a rejection */
    bool excused;    /* it may be gone */
    int rows;        /* in this look */
};

struct update_op {
    struct sim *sim;
    struct node *node;
    int update;
    uint64_t uid; /* who has the name when it is sent; 0: nobody */
    bool again;   /* it was durable there already */
    int ended;    /* looks at which the instance had ended, and the call was open */
    bool over;
};

struct served {
    struct update *items;
    size_t count, cap;
    struct update_op **ops;
    size_t op_count, op_cap;
};

struct served *served_create(void)
{
    struct served *all = calloc(1, sizeof(*all));
    assert_that(all);
    return all;
}

void served_free(struct served *all)
{
    for (size_t i = 0; i < all->op_count; i++)
        free(all->ops[i]);
    free(all->ops);
    free(all->items);
    free(all);
}

/* "Y7" */
static struct update *update_of(struct sim *s, pawl_str data)
{
    if (data.len < 2 || data.ptr[0] != 'Y')
        return NULL;
    long n = strtol(data.ptr + 1, NULL, 10);
    return n >= 0 && (size_t)n < s->served->count ? &s->served->items[n] : NULL;
}

static int number_of(const struct sim *s, const struct update *u)
{
    return (int)(u - s->served->items);
}

bool served_check(const void *arg, pawl_str data, char *why, size_t size)
{
    (void)arg;
    if (data.len && (data.ptr[data.len - 1] - '0') % 2 == 0)
        return true;
    (void)snprintf(why, size, "odd");
    return false;
}

/* ---- Answers to clients ------------------------------------------------------------------- */

static bool has_ended(const struct sim *s, const struct update_op *op)
{
    for (size_t k = 0; k < s->seen_count; k++)
        if (s->seen[k]->uid == op->uid)
            return s->seen[k]->removed || s->seen[k]->reran ||
                   pawl_state_is_terminal(s->seen[k]->state);
    return true;
}

static void told(struct sim *s, const struct update_op *op, const pawl_reply *reply)
{
    struct update *u = &s->served->items[op->update];
    bool known = reply->status == PAWL_OK && !reply->repeated;
    if (known && op->again && !s->prune_asked && !has_ended(s, op))
        sim_fail(s, "I37", "%s: update %d is new to it, although it was durable", u->instance,
                 op->update);
    if (known && !u->durable)
        u->durable = ++s->numbers;
    if (reply->status == PAWL_OK && reply->answered &&
        (!u->answer[0] || !pawl_str_is(reply->value, u->answer) || reply->rejected != u->rejected))
        sim_fail(s, "I37", "%s: update %d is told '%.*s', recorded is '%s'",
                 op->sim ? u->instance : "", op->update, PAWL_FMT(reply->value), u->answer);
    if (known && !reply->answered && !u->rows && !u->taken && !u->excused && !has_ended(s, op))
        sim_fail(s, "I37", "%s: update %d is durable, and nowhere", u->instance, op->update);
    if (known && !reply->answered && op->ended > 1)
        sim_fail(s, "I37", "%s: update %d hung on after the end", u->instance, op->update);
    if (reply->status == PAWL_LOST && !has_ended(s, op))
        sim_fail(s, "I37", "%s: update %d is told that it ended", u->instance, op->update);
    if (reply->status == PAWL_INVALID) {
        if (op->update % 2 == 0)
            sim_fail(s, "I37", "%s: update %d is refused: %s", u->instance, op->update,
                     reply->error.text);
        u->excused = true;
    }
}

static void answered(void *arg, const pawl_reply *reply)
{
    struct update_op *op = arg;
    struct sim *s = op->sim;
    memory_pause();
    if (op->over)
        sim_fail(s, "I37", "update %d is answered twice", op->update);
    op->over = true;
    CHECKED(s, I37);
    if (!op->node->frozen && !op->node->old && reply->status != PAWL_UNKNOWN) {
        faults_look(s);
        sim_trace(s, "answer: update %d: %s %d '%.*s' %s", op->update,
                  pawl_status_code(reply->status), reply->answered, PAWL_FMT(reply->value),
                  reply->error.text);
        told(s, op, reply);
    }
    memory_resume();
}

void served_lost(struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->served->op_count; i++)
        s->served->ops[i]->over |= s->served->ops[i]->node == n;
}

bool served_open(const struct sim *s)
{
    for (size_t i = 0; i < s->served->op_count; i++)
        if (!s->served->ops[i]->over)
            return true;
    return false;
}

/* ---- Calls ------------------------------------------------------------------------------ */

static void send(struct sim *s, int update, int64_t wait_ms)
{
    struct update *u = &s->served->items[update];
    struct update_op *op = calloc(1, sizeof(*op));
    const struct seen *i = seen_by_id(s, pawl_s(u->instance));
    pawl_error err = {0};
    char data[16];
    assert_that(op);
    (void)snprintf(data, sizeof(data), "Y%d", update);
    *op = (struct update_op){.sim = s, .node = s->node, .update = update, .uid = i ? i->uid : 0};
    op->again = u->durable && i && u->uid == i->uid;
    *(struct update_op **)sim_grow(&s->served->ops, &s->served->op_count, &s->served->op_cap,
                                   sizeof(op)) = op;
    for (size_t k = 0; k < OLD_NODES && !s->healing; k++)
        if (s->old[k] && prng_chance(&s->more, 150))
            op->node = s->old[k];
    s->n->fired[SITE_update]++;
    sim_trace(s, "update %d of %s %s, key '%s'", update, u->instance, u->name, u->key);
    pawl_request q = {.size = sizeof(q),
                      .op = PAWL_OP_UPDATE,
                      .instance = u->instance,
                      .name = u->name,
                      .data = pawl_s(data),
                      .idempotency_key = u->key[0] ? u->key : NULL,
                      .wait_ms = wait_ms};
    if (pawl_client_submit(pawl_runtime_client(op->node->rt), &q, answered, op, &err) == PAWL_OK)
        return;
    op->over = true;
    if (!op->node->old)
        sim_fail(s, "I37", "update %d is refused: %s", update, err.text);
}

static int make(struct sim *s, const char *instance, const char *name, bool keyed)
{
    const struct seen *i = seen_by_id(s, pawl_s(instance));
    struct update *u = sim_grow(&s->served->items, &s->served->count, &s->served->cap, sizeof(*u));
    (void)snprintf(u->instance, sizeof(u->instance), "%s", instance);
    (void)snprintf(u->name, sizeof(u->name), "%s", name);
    if (keyed)
        (void)snprintf(u->key, sizeof(u->key), "y%d", number_of(s, u));
    u->meant = i ? i->uid : 0;
    u->sent = ++s->numbers;
    return number_of(s, u);
}

/* One with a key, sent before to the instance that has the name now; -1: there is none. */
static int choose_again(struct sim *s)
{
    if (!s->served->count || !prng_chance(&s->more, 250))
        return -1;
    int n = (int)prng_below(&s->more, s->served->count);
    const struct update *u = &s->served->items[n];
    const struct seen *i = seen_by_id(s, pawl_s(u->instance));
    return u->key[0] && i && i->uid == u->meant && !i->reran ? n : -1;
}

void served_act(struct sim *s)
{
    static const int64_t waits[] = {0, 0, 50, 4000, 60000};
    char id[8], name[4];
    struct prng *r = &s->more;
    int n = choose_again(s);
    bool kid = prng_chance(r, 150), keyed = prng_chance(r, 500);
    uint64_t which = prng_below(r, kid ? 3 : (uint64_t)s->plan.instances);
    int64_t wait_ms = waits[prng_below(r, COUNT_OF(waits))];
    (void)snprintf(id, sizeof(id), "%c%d", kid ? 'k' : 'i', (int)which);
    (void)snprintf(name, sizeof(name), "U%d", (int)prng_below(r, NAMES));
    if (s->mute)
        return;
    send(s, n >= 0 ? n : make(s, id, name, keyed), wait_ms);
}

/* Heal: every wait gets one that no check refuses. */
bool served_help(struct sim *s)
{
    bool helped = false;
    for (size_t k = 0, n = s->seen_count; s->plan.rate[SITE_update] && k < n; k++) {
        const struct seen *i = s->seen[k];
        if (i->removed || i->state != PAWL_RUNNING || i->end_kind)
            continue;
        for (size_t t = 0; t < i->task_count; t++)
            if (i->tasks[t].kind == PAWL_EV_UPDATE_WAITED && i->tasks[t].now == TASK_IS_OPEN) {
                int u = make(s, i->id, i->tasks[t].name, false);
                send(s, u % 2 ? make(s, i->id, i->tasks[t].name, false) : u, 1000);
                helped = true;
                break;
            }
    }
    return helped;
}

/* ---- Histories ---------------------------------------------------------------------------- */

/* One id from its first row to its answer; the key is it. */
static void check_id(struct sim *s, struct update *u, pawl_str attrs)
{
    pawl_str id = pawl_json_text(s->mem, attrs, "/update", "");
    if (!u->id[0])
        (void)snprintf(u->id, sizeof(u->id), "%.*s", PAWL_FMT(id));
    if (!id.len || !pawl_str_is(id, u->id) || (u->key[0] && strcmp(u->key, u->id) != 0))
        sim_fail(s, "I37", "update %d has the id '%.*s', it was '%s'", number_of(s, u),
                 PAWL_FMT(id), u->key[0] ? u->key : u->id);
}

/* Nothing of the same name that was durable before this was sent waits behind it.  (An odd one may
 * have been refused by the check of a wait that accepts an even one.) */
static void check_order(struct sim *s, const struct seen *i, const struct update *u)
{
    for (size_t k = 0; k < s->served->count; k++) {
        const struct update *o = &s->served->items[k];
        if (o != u && o->durable && o->uid == i->uid && !o->taken && !o->excused && o->rows &&
            o->durable < u->sent && strcmp(o->name, u->name) == 0 &&
            (k % 2 == 0 || number_of(s, u) % 2))
            sim_fail(s, "I37", "%s: update %d is accepted before update %zu, which was durable",
                     i->id, number_of(s, u), k);
    }
}

void served_accepted(struct sim *s, struct seen *i, const pawl_event *e)
{
    struct update *u = update_of(s, e->data);
    CHECKED(s, I37);
    if (!u || strcmp(u->instance, i->id) != 0 || !pawl_str_is(e->name, u->name))
        sim_fail(s, "I37", "%s: an update '%.*s' (%.*s) that nobody sent", i->id, PAWL_FMT(e->data),
                 PAWL_FMT(e->name));
    const struct seen *before = u->taken ? seen_by_uid(s, u->taken) : NULL;
    if (before && !before->removed && !before->reran && !s->prune_asked)
        sim_fail(s, "I37", "%s: update %d is accepted twice", i->id, number_of(s, u));
    check_id(s, u, e->attrs);
    u->taken = i->uid;
    u->answer[0] = 0;
    check_order(s, i, u);
    struct seen_task *t = seen_task(i, e->ref);
    t->token = number_of(s, u);
    t->owed = true;
}

void served_given_back(struct sim *s, struct seen *i, struct seen_task *t)
{
    struct update *u = &s->served->items[t->token];
    if (!t->owed)
        sim_fail(s, "I37", "%s: update %d is given back after its answer", i->id, t->token);
    t->owed = false;
    u->taken = 0;
}

/* What code says to this request, or what the end says. */
static void check_answer(struct sim *s, const struct seen *i, const struct seen_task *t,
                         const pawl_event *e, bool rejected)
{
    char want[24];
    (void)snprintf(want, sizeof(want), "%cY%d", rejected ? 'N' : 'A', t->token);
    if (!pawl_str_is(e->data, want))
        sim_fail(s, "I37", "%s: update %d is answered with '%.*s', its code says '%s'", i->id,
                 t->token, PAWL_FMT(e->data), want);
}

void served_answered(struct sim *s, struct seen *i, const pawl_event *e)
{
    struct seen_task *t = seen_task(i, e->ref);
    bool rejected = pawl_json_bool(e->attrs, "/rejected", false);
    bool left = pawl_json_bool(e->attrs, "/left", false);
    CHECKED(s, I37);
    if (!t || t->kind != PAWL_EV_UPDATE_WAITED || !t->owed)
        sim_fail(s, "I37", "%s: task %llu is answered, and %s", i->id, (unsigned long long)e->ref,
                 t && t->kind == PAWL_EV_UPDATE_WAITED ? "owes nothing" : "is no update");
    t->owed = false;
    struct update *u = &s->served->items[t->token];
    check_id(s, u, e->attrs);
    if (!left)
        check_answer(s, i, t, e, rejected);
    for (struct seen_task *before = i->tasks; left && before < t; before++)
        if (before->kind == PAWL_EV_UPDATE_WAITED && before->owed)
            sim_fail(s, "I37", "%s: the end answers update %d before update %d", i->id, t->token,
                     before->token);
    (void)snprintf(u->answer, sizeof(u->answer), "%.*s", PAWL_FMT(e->data));
    u->rejected = rejected;
}

void served_ended(struct sim *s, const struct seen *i)
{
    for (size_t k = 0; k < i->task_count; k++)
        if (i->tasks[k].kind == PAWL_EV_UPDATE_WAITED && i->tasks[k].owed)
            sim_fail(s, "I37", "%s: ended, and update %d is accepted and not answered", i->id,
                     i->tasks[k].token);
}

/* ---- Mail ----------------------------------------------------------------------------------- */

void served_begin(struct sim *s)
{
    for (size_t k = 0; k < s->served->count; k++)
        s->served->items[k].rows = 0;
}

void served_row(struct sim *s, const struct seen *i, const pawl_message *m)
{
    struct update *u = m->kind == PAWL_MSG_UPDATE ? update_of(s, m->data) : NULL;
    if (m->kind != PAWL_MSG_UPDATE)
        return;
    CHECKED(s, I37);
    if (!u || strcmp(u->instance, i->id) != 0)
        sim_fail(s, "I37", "%s: an update '%.*s' in its mail that nobody sent", i->id,
                 PAWL_FMT(m->data));
    if (u->taken == i->uid)
        sim_fail(s, "I37", "%s: update %d was accepted, and is in the mail", i->id,
                 number_of(s, u));
    if (++u->rows > 1)
        sim_fail(s, "I37", "%s: update %d is there twice", i->id, number_of(s, u));
    check_id(s, u, m->attrs);
    u->uid = i->uid;
    if (!u->durable)
        u->durable = ++s->numbers;
}

/* What is durable is somewhere as long as somebody may take it.  Mail that a check refuses goes. */
void served_look(struct sim *s)
{
    for (size_t k = 0; k < s->served->op_count; k++) {
        struct update_op *op = s->served->ops[k];
        const struct seen *i = op->uid && !op->over ? seen_by_uid(s, op->uid) : NULL;
        op->ended += i && (i->removed || pawl_state_is_terminal(i->state));
    }
    for (size_t k = 0; k < s->served->count; k++) {
        struct update *u = &s->served->items[k];
        const struct seen *i = u->uid ? seen_by_uid(s, u->uid) : NULL;
        if (!i || u->rows || u->taken || u->excused)
            continue;
        CHECKED(s, I37);
        u->excused =
            i->removed || i->reran || i->end_kind || pawl_state_is_terminal(i->state) || k % 2;
        if (!u->excused)
            sim_fail(s, "I37", "%s: update %zu was durable, and is lost", i->id, k);
    }
}
