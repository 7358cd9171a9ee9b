/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/driver.c -- the clients: random calls, and what they were promised.
 *
 * An answer that comes while the node is frozen was never sent: the call may or
 * may not have happened (OP_LOST).  Everything else binds the store from the
 * moment of the answer (I15).
 */
#include "base/limits.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- Tokens: every raised event has data of its own ------------------------------------- */

bool driver_is_token(struct sim *s, pawl_str data, int *ret)
{
    if (data.len && data.ptr[0] == 'V')
        for (size_t k = 0; k < s->token_count; k++)
            if (s->tokens[k].sent && pawl_str_is(data, s->tokens[k].sent)) {
                *ret = (int)k;
                return true;
            }
    if (data.len < 2 || data.ptr[0] != 'R')
        return false;
    *ret = (int)strtol(data.ptr + 1, NULL, 10);
    return *ret >= 0 && (size_t)*ret < s->token_count;
}

/* ---- Answers -------------------------------------------------------------------------------- */

static bool removal_under_way(const struct sim *s, const char *id)
{
    if (s->prune_asked)
        return true;
    for (size_t i = 0; i < s->op_count; i++) {
        const struct op *op = s->ops[i];
        if (op->kind == PAWL_OP_REMOVE && op->result != OP_REFUSED &&
            strncmp(op->instance, id, strlen(op->instance)) == 0)
            return true;
    }
    return false;
}

static bool start_under_way(const struct sim *s, const char *id)
{
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i]->kind == PAWL_OP_START && s->ops[i]->result == OP_WAITING &&
            strcmp(s->ops[i]->instance, id) == 0)
            return true;
    return id[0] == 'k' || strchr(id, ':'); /* children come and go */
}

static void start_acked(struct sim *s, const struct op *op, const pawl_reply *reply)
{
    const struct seen *i = seen_by_id(s, pawl_s(op->instance));
    CHECKED(s, I15);
    if (id_is_of_queue(pawl_s(op->instance)))
        sim_fail(s, "I16", "a client could choose the id %s", op->instance);
    if (!i && !removal_under_way(s, op->instance))
        sim_fail(s, "I15", "start of %s acknowledged, but there is no such instance", op->instance);
    if (!i) {
        for (size_t k = 0; k < s->op_count; k++) /* removed in the same commit? */
            if (s->ops[k]->kind == PAWL_OP_REMOVE && s->ops[k]->number > op->number)
                return;
        sim_fail(s, "I15", "start of %s acknowledged after the remove before it, but it is gone",
                 op->instance);
    }
    if (!op->uses && i->first_input && strcmp(i->first_input, op->input) != 0 &&
        i->execution == 1 && !removal_under_way(s, op->instance))
        sim_fail(s, "I15", "start of %s with another input acknowledged (created=%d)", op->instance,
                 reply->created);
}

void driver_token_acked(struct sim *s, struct op *op, int token)
{
    struct token *t = &s->tokens[token];
    const struct seen *i = seen_by_id(s, pawl_s(op->instance));
    CHECKED(s, I12);
    if (t->first_ack)
        return;
    t->first_ack = op;
    t->acked = op->answer;
    t->uid = i ? i->uid : 0;
    if (!i && removal_under_way(s, op->instance))
        t->excused = true;
    if (!t->consumed_by && !t->excused && t->rows == 0 && i && !pawl_state_is_terminal(i->state) &&
        !s->plan.drop_early && t->name[0] != 'Z')
        sim_fail(s, "I12", "raise %d to %s acknowledged, but it is nowhere", token, op->instance);
}

static void steer_acked(struct sim *s, const struct op *op)
{
    const struct seen *i = seen_by_id(s, pawl_s(op->instance));
    CHECKED(s, I15);
    if (!i || i->end_kind)
        return;
    if (op->kind == PAWL_OP_TERMINATE)
        sim_fail(s, "I15", "terminate of %s acknowledged; it is %s", op->instance,
                 pawl_state_name(i->state));
}

static void refused(struct sim *s, const struct op *op, pawl_status status)
{
    CHECKED(s, I15);
    switch (status) {
    case PAWL_NOT_FOUND: {
        const struct seen *i = seen_by_id(s, pawl_s(op->instance));
        if (i && op->kind != PAWL_OP_START && op->kind != PAWL_OP_RERUN && /* or its code */
            !removal_under_way(s, op->instance) && !start_under_way(s, op->instance))
            sim_fail(s, "I15", "call %d to %s answered 'does not exist'; it is %s", (int)op->kind,
                     op->instance, pawl_state_name(i->state));
        break;
    }
    case PAWL_OK:
    case PAWL_EMPTY:
    case PAWL_INVALID:
    case PAWL_LIMIT:
    case PAWL_FENCED:
    case PAWL_UNKNOWN:
    case PAWL_CORRUPT:
    case PAWL_UNSUPPORTED:
    case PAWL_MISUSE:
    case PAWL_TIMEOUT:
        sim_fail(s, "I15", "call %d to %s answered %s", (int)op->kind, op->instance,
                 pawl_status_code(status));
    case PAWL_EXISTS:
    case PAWL_CONFLICT:
    case PAWL_BUSY:
    case PAWL_UNAVAILABLE:
    case PAWL_DISK_FULL:
    case PAWL_NO_MEMORY:
    case PAWL_SHUTDOWN:
    case PAWL_LOST:
        if (s->healing && (status == PAWL_UNAVAILABLE || status == PAWL_DISK_FULL))
            sim_fail(s, "I15", "call %d to %s answered %s on a healthy store", (int)op->kind,
                     op->instance, pawl_status_code(status));
        break;
    }
}

/* Told, or told that nobody waits: the token is used up. */
static void complete_answered(struct sim *s, const struct op *op)
{
    bool over = op->result == OP_ACKED || (op->result == OP_REFUSED && op->status == PAWL_LOST);
    for (size_t i = 0; i < s->pending_count; i++) {
        if (strcmp(s->pending[i].token, op->input) != 0)
            continue;
        s->pending[i].sent = false;
        if (over) {
            free(s->pending[i].value);
            s->pending[i] = s->pending[--s->pending_count];
        }
        return;
    }
}

static void take_answer(struct op *op, const pawl_reply *reply)
{
    struct sim *s = op->sim;
    op->answer = ++s->numbers;
    op->status = reply->status;
    if (op->result != OP_WAITING)
        sim_fail(s, "I15", "call %d to %s answered twice", (int)op->kind, op->instance);
    /* What a node says that lost the store has no commit behind it: it promises nothing. */
    if (op->node->frozen || op->node->old || reply->status == PAWL_UNKNOWN) {
        op->result = OP_LOST;
        if (op->kind == PAWL_OP_COMPLETE)
            complete_answered(s, op);
        return;
    }
    faults_look(s);
    sim_trace(s, "answer: call %d to %s: %s %s", (int)op->kind, op->instance,
              pawl_status_code(reply->status), reply->error.text);
    op->result = reply->status == PAWL_OK ? OP_ACKED : OP_REFUSED;
    if (op->kind == PAWL_OP_COMPLETE)
        complete_answered(s, op);
    if (op->result == OP_REFUSED) {
        refused(s, op, reply->status);
        return;
    }
    s->n->acked++;
    if (op->kind == PAWL_OP_START)
        start_acked(s, op, reply), brought_acked(s, op, reply);
    else if (op->kind == PAWL_OP_RAISE)
        driver_token_acked(s, op, op->token);
    else if (op->kind == PAWL_OP_TERMINATE)
        steer_acked(s, op);
}

static void answered(void *arg, const pawl_reply *reply)
{
    struct op *op = arg;
    struct sim *s = op->sim;
    memory_pause();
    take_answer(op, reply);
    if (s->plan.rate[SITE_rude] && op->result == OP_ACKED &&
        prng_chance(&s->more, s->plan.rate[SITE_rude]))
        rude_try(s, op->node);
    memory_resume();
}

void driver_lost(struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->op_count; i++) {
        struct op *op = s->ops[i];
        if (op->node != n || op->result != OP_WAITING)
            continue;
        op->result = OP_LOST;
        if (op->kind == PAWL_OP_COMPLETE)
            complete_answered(s, op);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static struct op *new_op(struct sim *s, pawl_op kind, const char *instance)
{
    struct op *op = calloc(1, sizeof(*op));
    assert_that(op);
    op->kind = kind;
    op->sim = s;
    op->node = s->node;
    op->number = ++s->numbers;
    (void)snprintf(op->instance, sizeof(op->instance), "%s", instance);
    *(struct op **)sim_grow(&s->ops, &s->op_count, &s->op_cap, sizeof(op)) = op;
    return op;
}

static bool submit(struct sim *s, struct op *op, const pawl_request *q)
{
    pawl_error err = {0};
    if (s->mute) {
        op->result = OP_REFUSED;
        return false;
    }
    sim_trace(s, "call %d to %s %s %.*s", (int)op->kind, op->instance, op->name, PAWL_FMT(q->data));
    op->node = s->node;
    for (size_t i = 0; i < OLD_NODES && !s->healing; i++)
        if (s->old[i] && prng_chance(&s->more, 150))
            op->node = s->old[i];
    pawl_status rc = pawl_client_submit(pawl_runtime_client(op->node->rt), q, answered, op, &err);
    if (rc == PAWL_OK)
        return true;
    op->result = OP_REFUSED;
    if (op->kind == PAWL_OP_START && id_is_of_queue(pawl_s(op->instance)) && rc == PAWL_INVALID)
        return false;
    if (rc != PAWL_NOT_FOUND && !(op->node->old && rc == PAWL_FENCED))
        sim_fail(s, "I15", "call %d refused: %s", (int)op->kind, err.text);
    return false;
}

/* Now and then a time, up to `most`. */
static int64_t door(struct sim *s, uint64_t most)
{
    if (!s->plan.rate[SITE_doors] || s->healing || !prng_chance(&s->more, s->plan.rate[SITE_doors]))
        return 0;
    return 1 + (int64_t)prng_below(&s->more, most);
}

bool driver_start(struct sim *s, const char *instance, const char *program, const char *version)
{
    struct op *op = new_op(s, PAWL_OP_START, instance);
    op->input = strdup(program);
    const pawl_raise_item *brings = brought_choose(s, op);
    return submit(s, op,
                  PAWL_REQUEST(.op = PAWL_OP_START, .instance = op->instance, .name = "Prog",
                               .version = version, .data = pawl_s(program),
                               .allow_unregistered = prng_chance(&s->work, 700),
                               .delay_ms = door(s, 5000), .deadline_ms = door(s, 20000),
                               .if_exists = op->uses ? PAWL_IF_EXISTS_USE : PAWL_IF_EXISTS_SAME,
                               .raises = brings, .raise_count = (size_t)op->brings));
}

void driver_start_turned(struct sim *s, const char *instance)
{
    struct op *op = new_op(s, PAWL_OP_START, instance);
    op->input = strdup("t");
    (void)submit(s, op,
                 PAWL_REQUEST(.op = PAWL_OP_START, .instance = op->instance, .name = "Turned",
                              .version = "1.0.0", .data = pawl_s("t"), .allow_unregistered = true,
                              .if_exists = PAWL_IF_EXISTS_SAME));
}

void driver_raise(struct sim *s, const char *instance, const char *event, bool keyed, bool early)
{
    struct op *op = new_op(s, PAWL_OP_RAISE, instance);
    struct token *t = NULL;
    const struct seen *now = seen_by_id(s, pawl_s(instance));
    if (keyed && prng_chance(&s->work, 500)) /* the same call once more */
        for (size_t i = s->op_count - 1; i-- > 0 && !t;)
            if (s->ops[i]->key[0] && strcmp(s->ops[i]->instance, instance) == 0 && now &&
                s->tokens[s->ops[i]->token].meant == now->uid) {
                op->token = s->ops[i]->token;
                t = &s->tokens[op->token];
            }
    if (!t) {
        op->token = (int)s->token_count;
        t = sim_grow(&s->tokens, &s->token_count, &s->token_cap, sizeof(*t));
        (void)snprintf(t->instance, sizeof(t->instance), "%s", instance);
        (void)snprintf(t->name, sizeof(t->name), "%s", event);
        t->submitted = op->number;
        t->meant = now ? now->uid : 0;
    }
    char data[16];
    (void)snprintf(data, sizeof(data), "R%d", op->token);
    (void)snprintf(op->name, sizeof(op->name), "%s", t->name);
    if (keyed)
        (void)snprintf(op->key, sizeof(op->key), "key%d", op->token);
    (void)submit(s, op,
                 PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = op->instance, .name = op->name,
                              .data = pawl_s(data), .idempotency_key = keyed ? op->key : NULL,
                              .await_start = early));
}

static void complete(struct sim *s, size_t at)
{
    struct pending *p = &s->pending[at];
    if (p->sent || s->mute)
        return;
    struct op *op = new_op(s, PAWL_OP_COMPLETE, "");
    struct seen *i = seen_by_uid(s, p->uid);
    struct seen_task *t = i && i->execution == p->execution ? seen_task(i, p->ref) : NULL;
    if (t)
        t->returned_ok = true;
    op->input = strdup(p->token);
    p->sent = submit(
        s, op, PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = p->token, .data = pawl_s(p->value)));
}

static void choose_id(struct sim *s, char out[80])
{
    uint64_t n = prng_below(&s->work, 10);
    const struct seen *i = s->seen_count ? s->seen[prng_below(&s->work, s->seen_count)] : NULL;
    if (i && n < 4)
        (void)snprintf(out, 80, "%s", i->id);
    else if (n == 9)
        (void)snprintf(out, 80, "k%d", (int)prng_below(&s->work, 3));
    else
        (void)snprintf(out, 80, "i%d", (int)prng_below(&s->work, (uint64_t)s->plan.instances));
}

static void start_something(struct sim *s)
{
    char id[80], program[PROGRAM_BYTES];
    choose_id(s, id);
    if (s->plan.rate[SITE_taken] && prng_chance(&s->more, 200))
        (void)snprintf(id, sizeof(id), "%s%llu", prng_chance(&s->more, 500) ? "queue~q2~" : "q2-",
                       (unsigned long long)(s->max_id + prng_below(&s->more, 20)));
    if (id[0] == 'u') /* these are for turned.c */
        (void)snprintf(id, sizeof(id), "i0");
    const char *version = prng_chance(&s->work, 150) ? "1.0.0" : NULL;
    program_make(&s->work, &s->plan, program);
    if (prng_chance(&s->work, 250)) /* the same start once more */
        for (size_t i = s->op_count; i-- > 0;)
            if (s->ops[i]->kind == PAWL_OP_START && s->ops[i]->instance[0] != 'u') {
                (void)driver_start(s, s->ops[i]->instance, s->ops[i]->input, NULL);
                return;
            }
    (void)driver_start(s, id, program, version);
}

static void steer(struct sim *s, pawl_op kind)
{
    char id[80];
    choose_id(s, id);
    (void)submit(s, new_op(s, kind, id),
                 PAWL_REQUEST(.op = kind, .instance = id, .reason = "asked",
                              .force = prng_chance(&s->work, 500)));
}

const struct op *driver_steer(struct sim *s, pawl_op kind, const char *id, bool force)
{
    struct op *op = new_op(s, kind, id);
    bool sent =
        submit(s, op, PAWL_REQUEST(.op = kind, .instance = id, .reason = "asked", .force = force));
    return sent ? op : NULL;
}

bool driver_asked(const struct sim *s, pawl_op kind, const char *id)
{
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i]->kind == kind && strcmp(s->ops[i]->instance, id) == 0)
            return true;
    return false;
}

static void rerun(struct sim *s)
{
    char id[80];
    choose_id(s, id);
    (void)submit(s, new_op(s, PAWL_OP_RERUN, id),
                 PAWL_REQUEST(.op = PAWL_OP_RERUN, .instance = id,
                              .deadline_ms = (int64_t)prng_below(&s->more, 3) * 700));
}

static void prune(struct sim *s)
{
    s->prune_asked = true;
    (void)submit(s, new_op(s, PAWL_OP_PRUNE, ""),
                 PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = s->wall_ms));
}

static void client_act(struct sim *s)
{
    uint64_t n = prng_below(&s->work, 100);
    if (s->op_count == 0 || n < 32) {
        start_something(s);
    } else if (n < 64) {
        char id[80], event[3] = {'E', 0, 0};
        choose_id(s, id);
        event[0] = prng_chance(&s->work, 100) ? 'Z' : 'E';
        event[1] = (char)('0' + prng_below(&s->work, EVENT_NAMES));
        bool keyed = prng_chance(&s->work, 300);
        driver_raise(s, id, event, keyed, prng_chance(&s->work, 200));
    } else if (n < 72) {
        steer(s, PAWL_OP_CANCEL);
    } else if (n < 76) {
        steer(s, PAWL_OP_TERMINATE);
    } else if (n < 82) {
        steer(s, PAWL_OP_SUSPEND);
    } else if (n < 88) {
        steer(s, PAWL_OP_RESUME);
    } else if (n < 90) {
        steer(s, PAWL_OP_RETRY);
    } else if (n < 93) {
        steer(s, PAWL_OP_REMOVE);
    } else if (n < 95) {
        prune(s);
    } else if (s->pending_count) {
        complete(s, prng_below(&s->work, s->pending_count));
    }
}

void driver_act(struct sim *s)
{
    s->mute = s->acts < 64 && s->plan.drop >> s->acts & 1;
    s->acts++;
    if (s->plan.rate[SITE_queue] && prng_chance(&s->more, s->plan.rate[SITE_queue]))
        queues_act(s);
    else if (s->plan.rate[SITE_worker] && prng_chance(&s->more, s->plan.rate[SITE_worker]))
        workers_act(s);
    else if (s->plan.rate[SITE_schedule] && prng_chance(&s->more, s->plan.rate[SITE_schedule]))
        schedules_act(s);
    else if (s->plan.rate[SITE_busy] && prng_chance(&s->more, s->plan.rate[SITE_busy]))
        busy_act(s);
    else if (s->plan.rate[SITE_limit] && prng_chance(&s->more, s->plan.rate[SITE_limit]))
        limited_act(s);
    else if (s->plan.rate[SITE_turns] && prng_chance(&s->more, s->plan.rate[SITE_turns]))
        turned_act(s);
    else if (s->plan.rate[SITE_update] && prng_chance(&s->more, s->plan.rate[SITE_update]))
        served_act(s);
    else if (s->plan.rate[SITE_doors] && s->op_count && prng_chance(&s->more, 60))
        rerun(s);
    else
        client_act(s);
    s->mute = false;
}

/* ---- What went -------------------------------------------------------------------------------- */

void driver_removed(struct sim *s, struct seen *i)
{
    CHECKED(s, I19);
    for (size_t k = 0; k < s->token_count; k++)
        if (s->tokens[k].uid == i->uid)
            s->tokens[k].excused = true;
    for (const struct seen *at = i; at; at = seen_by_uid(s, at->parent_uid)) {
        for (size_t k = 0; k < s->op_count; k++)
            if (s->ops[k]->kind == PAWL_OP_REMOVE && s->ops[k]->result != OP_REFUSED &&
                strcmp(s->ops[k]->instance, at->id) == 0)
                return;
        if (s->prune_asked && !at->parent_uid && (at->ended || pawl_state_is_terminal(at->state)))
            return;
    }
    sim_fail(s, "I19", "instance %s is gone and nobody removed it", i->id);
}

/* ---- Healing ----------------------------------------------------------------------------------- */

/* Its wait has mail, and a worker has not looked yet. */
static bool has_mail(const struct sim *s, const struct seen *i, const char *event)
{
    for (size_t k = 0; k < s->token_count && turned_is(i); k++)
        if (s->tokens[k].rows && strcmp(s->tokens[k].instance, i->id) == 0 &&
            strcmp(s->tokens[k].name, event) == 0)
            return true;
    return false;
}

/* Do one thing somebody waits for; false: nobody waits for a client. */
bool driver_help(struct sim *s)
{
    bool helped = s->pending_count > 0;
    for (size_t k = 0; k < s->pending_count; k++)
        complete(s, k);
    for (size_t k = 0, n = s->seen_count; k < n; k++) {
        struct seen *i = s->seen[k];
        if (i->removed || pawl_state_is_terminal(i->state))
            continue;
        if (i->state == PAWL_SUSPENDED || i->state == PAWL_BLOCKED) {
            pawl_op op = i->state == PAWL_BLOCKED ? PAWL_OP_RETRY : PAWL_OP_RESUME;
            (void)submit(s, new_op(s, op, i->id), PAWL_REQUEST(.op = op, .instance = i->id));
            helped = true;
            continue;
        }
        for (size_t t = 0; t < i->task_count && !i->end_kind; t++)
            if (i->tasks[t].kind == PAWL_EV_EXTERNAL_SUBSCRIBED &&
                i->tasks[t].now == TASK_IS_OPEN && !has_mail(s, i, i->tasks[t].name)) {
                driver_raise(s, i->id, i->tasks[t].name, false, false);
                helped = true;
                break;
            }
    }
    return helped;
}

void driver_free(struct sim *s)
{
    for (size_t i = 0; i < s->op_count; i++) {
        free(s->ops[i]->input);
        free(s->ops[i]);
    }
    for (size_t i = 0; i < s->pending_count; i++)
        free(s->pending[i].value);
    free(s->ops);
    for (size_t k = 0; k < s->token_count; k++)
        free(s->tokens[k].sent);
    free(s->tokens);
    free(s->pending);
}
