/* SPDX-License-Identifier: MIT */
/* tests/sim/queue_calls.c -- clients of queues: random calls, and what the answers promise. */
#include "memory.h"
#include "queues.h"

#include "runtime/core/runtime.h"

#include <stdlib.h>
#include <string.h>

/* ---- What is known ------------------------------------------------------------------------ */

struct queues *queues_create(void)
{
    struct queues *q = calloc(1, sizeof(*q));
    assert_that(q);
    return q;
}

void queues_free(struct queues *q)
{
    for (size_t i = 0; i < q->item_count; i++)
        free(q->items[i]);
    for (size_t i = 0; i < q->op_count; i++)
        free(q->ops[i]);
    free(q->tokens);
    free(q->items);
    free(q->locks);
    free(q->ops);
    free(q->pushes);
    free(q->acks);
    free(q);
}

void queue_short(pawl_str data, char to[ITEM_CHARS])
{
    if (data.len < ITEM_CHARS) {
        (void)snprintf(to, ITEM_CHARS, "%.*s", PAWL_FMT(data));
        return;
    }
    uint64_t h = 0;
    for (size_t at = data.len - 1; at < data.len; at -= 997)
        h = hash_number(h, (unsigned char)data.ptr[at]);
    (void)snprintf(to, ITEM_CHARS, "%.40s… %zu bytes, %016llx", data.ptr, data.len,
                   (unsigned long long)h);
}

bool queue_same(pawl_str data, const char *in_short)
{
    char own[ITEM_CHARS];
    queue_short(data, own);
    return strcmp(own, in_short) == 0;
}

struct qitem *queue_item(struct queues *q, uint64_t id)
{
    for (size_t i = q->item_count; i-- > 0;)
        if (q->items[i]->id == id)
            return q->items[i];
    return NULL;
}

struct qitem *queue_item_new(struct queues *q, uint64_t id)
{
    struct qitem *m = calloc(1, sizeof(*m));
    assert_that(m);
    m->id = m->place = id;
    *(struct qitem **)sim_grow(&q->items, &q->item_count, &q->item_cap, sizeof(m)) = m;
    return m;
}

struct qlock *queue_lock_by_id(struct queues *q, pawl_str id)
{
    const char *dot = id.len ? memchr(id.ptr, '.', id.len) : NULL;
    if (dot)
        id.len = (size_t)(dot - id.ptr);
    for (size_t i = q->lock_count; i-- > 0;)
        if (pawl_str_is(id, q->locks[i].id))
            return &q->locks[i];
    return NULL;
}

bool queue_under_way(const struct sim *s, pawl_queue_op op, const char *queue)
{
    for (size_t i = 0; i < s->queues->op_count; i++) {
        const struct qop *o = s->queues->ops[i];
        if (o->op == op && o->result == OP_WAITING && !o->node->old && strcmp(o->queue, queue) == 0)
            return true;
    }
    return false;
}

bool queue_plain_pop(const struct sim *s, const char *queue, enum op_result result)
{
    for (size_t i = 0; i < s->queues->op_count; i++) {
        const struct qop *o = s->queues->ops[i];
        bool lost = result == OP_LOST && o->result == OP_WAITING && o->node->old; /* it will be */
        if (o->op == PAWL_QUEUE_POP && !o->locked && (o->result == result || lost) &&
            strcmp(o->queue, queue) == 0)
            return true;
    }
    return false;
}

bool queues_open(const struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->queues->op_count; i++)
        if (s->queues->ops[i]->result == OP_WAITING && (!n || s->queues->ops[i]->node == n))
            return true;
    return false;
}

/* ---- Answers ------------------------------------------------------------------------------ */

static void push_acked(struct sim *s, const struct qop *op, const pawl_queue_reply *reply)
{
    if (reply->pushed_count != (size_t)op->count)
        sim_fail(s, "I15", "push of %d items answered with %zu", op->count, reply->pushed_count);
    for (int i = 0; i < op->count; i++) {
        struct qtoken *t = &s->queues->tokens[op->tokens[i]];
        const pawl_queue_pushed *p = &reply->pushed[i];
        struct qitem *m = queue_item(s->queues, p->id);
        CHECKED(s, I15);
        t->acked = true;
        if (p->duplicate && !t->dedup)
            sim_fail(s, "I16", "item C%d has no dedup id, but is called a duplicate",
                     op->tokens[i]);
        if (!m) { /* came and went in one commit: a pop's answer has to name it */
            m = queue_item_new(s->queues, p->id);
            (void)snprintf(m->queue, sizeof(m->queue), "%s", op->queue);
            (void)snprintf(m->data, sizeof(m->data), "%s", t->data);
            queue_made(s, m);
            m->owed = true;
        }
    }
}

/* It was ready all the time and comes before: then it had to be taken first. */
static void check_order(struct sim *s, const struct qop *op, const struct qitem *m)
{
    CHECKED(s, order);
    for (size_t i = 0; i < s->queues->item_count; i++) {
        const struct qitem *other = s->queues->items[i];
        bool before = other->priority < m->priority ||
                      (other->priority == m->priority && other->place < m->place);
        if (before && other->there && !line_waits(s, other) && other->state == PAWL_QUEUE_READY &&
            other->ready_before && strcmp(other->queue, op->queue) == 0)
            sim_fail(s, "I16", "%s: item %llu was given out while %llu was first in line",
                     op->queue, (unsigned long long)m->id, (unsigned long long)other->id);
    }
}

static void popped(struct sim *s, const struct qop *op, const pawl_queue_message *got)
{
    struct qitem *m = queue_item(s->queues, got->id);
    CHECKED(s, I16);
    if (!m) {
        m = queue_item_new(s->queues, got->id);
        (void)snprintf(m->queue, sizeof(m->queue), "%s", op->queue);
        queue_short(got->data, m->data);
        m->priority = got->priority;
        m->enqueued_ms = got->enqueued_ms;
        queue_made(s, m);
    }
    if (!queue_same(got->data, m->data))
        sim_fail(s, "I18", "item %llu is '%.40s' (%zu bytes), it was '%s'",
                 (unsigned long long)m->id, got->data.ptr, got->data.len, m->data);
    if (m->gone && !m->soft)
        sim_fail(s, "I16", "item %llu (%s) was given out after it had gone",
                 (unsigned long long)m->id, m->data);
    if (!op->locked && m->there)
        sim_fail(s, "I16", "item %llu was given out for good and is still there",
                 (unsigned long long)m->id);
    if (op->locked && (!m->there || m->state != PAWL_QUEUE_LOCKED))
        sim_fail(s, "I16", "item %llu was given out under a lock it does not have",
                 (unsigned long long)m->id);
    if (op->locked && got->delivery_count != m->deliveries)
        sim_fail(s, "I16", "item %llu: delivery %u, the store has %u", (unsigned long long)m->id,
                 got->delivery_count, m->deliveries);
    check_order(s, op, m);
    line_popped(s, op, m);
    if (!pawl_str_is(got->group, line_group(s, m)))
        sim_fail(s, "I38", "item %llu was given out with the group '%.*s', it has '%s'",
                 (unsigned long long)m->id, PAWL_FMT(got->group), line_group(s, m));
    if (!op->locked) {
        m->gone = true;
        m->owed = m->soft = false;
    }
}

static void pop_acked(struct sim *s, const struct qop *op, const pawl_queue_reply *reply)
{
    for (size_t i = 0; i < reply->message_count; i++)
        popped(s, op, &reply->messages[i]);
    if (!op->locked || !reply->message_count)
        return;
    struct qlock *l = queue_lock_by_id(s->queues, reply->lock_id);
    if (!l || !l->there || l->until_ms != reply->locked_until_ms)
        sim_fail(s, "I16", "%s: lock %.*s was given out; the store does not have it", op->queue,
                 PAWL_FMT(reply->lock_id));
    l->known = true;
}

/* Another call on the same lock, perhaps in the same commit. */
static bool is_settled(const struct sim *s, const struct qop *op)
{
    for (size_t i = 0; i < s->queues->op_count; i++) {
        const struct qop *o = s->queues->ops[i];
        if (o != op && o->op != PAWL_QUEUE_EXTEND &&
            strncmp(o->lock, op->lock, strlen(op->lock)) == 0)
            return true;
    }
    for (size_t i = 0; i < s->queues->ack_count; i++)
        if (strcmp(s->queues->acks[i], op->lock) == 0)
            return true;
    return false;
}

static void settle_answered(struct sim *s, const struct qop *op, pawl_status status)
{
    const struct qlock *l = queue_lock_by_id(s->queues, pawl_s(op->lock));
    bool whole = !strchr(op->lock, '.');
    CHECKED(s, I16);
    if (!l || !whole)
        return;
    if (status == PAWL_OK && l->until_ms <= op->node->rt->now_ms)
        sim_fail(s, "I16", "%s: lock %s was settled after its end", op->queue, op->lock);
    if (status == PAWL_OK && op->op != PAWL_QUEUE_EXTEND && l->there)
        sim_fail(s, "I16", "%s: lock %s was settled and is still there", op->queue, op->lock);
    if (status == PAWL_OK && op->op == PAWL_QUEUE_EXTEND && !l->there && !is_settled(s, op))
        sim_fail(s, "I16", "%s: lock %s was extended and is gone", op->queue, op->lock);
    bool denied = status == PAWL_LOST || status == PAWL_INVALID || status == PAWL_NOT_FOUND;
    if (denied && l->there)
        sim_fail(s, "I16", "%s: lock %s is live, the answer says %s", op->queue, op->lock,
                 pawl_status_code(status));
}

static void check_refusal(struct sim *s, const struct qop *op, pawl_status status)
{
    bool locked = false;
    CHECKED(s, I15);
    switch (status) {
    case PAWL_CONFLICT:
        for (size_t i = 0; i < s->queues->lock_count; i++) {
            const struct qlock *l = &s->queues->locks[i];
            locked |= (l->there || l->ended_now) && !l->rests && strcmp(l->queue, op->queue) == 0;
        }
        if (op->op == PAWL_QUEUE_POP && !locked)
            sim_fail(s, "I16", "%s: a pop is told of a lock that does not exist", op->queue);
        break;
    case PAWL_LOST:
    case PAWL_INVALID:
    case PAWL_NOT_FOUND:
    case PAWL_BUSY:
    case PAWL_NO_MEMORY:
    case PAWL_SHUTDOWN:
        break;
    case PAWL_UNAVAILABLE:
    case PAWL_DISK_FULL:
        if (!s->healing)
            break;
        __attribute__((fallthrough));
    case PAWL_OK:
    case PAWL_EMPTY:
    case PAWL_EXISTS:
    case PAWL_LIMIT:
    case PAWL_FENCED:
    case PAWL_UNKNOWN:
    case PAWL_CORRUPT:
    case PAWL_UNSUPPORTED:
    case PAWL_MISUSE:
    case PAWL_TIMEOUT:
        sim_fail(s, "I15", "call %d on %s answered %s", (int)op->op, op->queue,
                 pawl_status_code(status));
    }
}

static void push_over(struct qop *op)
{
    for (int i = 0; i < op->count; i++) {
        struct qtoken *t = &op->sim->queues->tokens[op->tokens[i]];
        t->under_way--;
        t->lost += op->result == OP_LOST;
        t->refused |= op->result == OP_REFUSED;
    }
}

static void take_answer(struct qop *op, const pawl_queue_reply *reply)
{
    struct sim *s = op->sim;
    if (op->result != OP_WAITING)
        sim_fail(s, "I15", "call %d on %s answered twice", (int)op->op, op->queue);
    if (op->node->frozen || op->node->old || reply->status == PAWL_UNKNOWN) {
        op->result = OP_LOST;
        push_over(op);
        return;
    }
    sim_trace(s, "answer: %s op %d: %s, %llu items %s", op->queue, (int)op->op,
              pawl_status_code(reply->status), (unsigned long long)reply->count, reply->error.text);
    op->result = reply->status == PAWL_OK ? OP_ACKED : OP_REFUSED;
    push_over(op);
    bool settles = op->op == PAWL_QUEUE_ACK || op->op == PAWL_QUEUE_EXTEND ||
                   op->op == PAWL_QUEUE_RELEASE || op->op == PAWL_QUEUE_DEADLETTER;
    if (settles)
        settle_answered(s, op, reply->status);
    if (reply->status != PAWL_OK) {
        check_refusal(s, op, reply->status);
        return;
    }
    s->n->acked++;
    if (op->op == PAWL_QUEUE_PUSH)
        push_acked(s, op, reply);
    else if (op->op == PAWL_QUEUE_POP)
        pop_acked(s, op, reply);
}

static void answered(void *arg, const pawl_queue_reply *reply)
{
    memory_pause();
    take_answer(arg, reply);
    memory_resume();
}

void queues_lost(struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->queues->op_count; i++) {
        struct qop *op = s->queues->ops[i];
        if (op->node != n || op->result != OP_WAITING)
            continue;
        op->result = OP_LOST;
        push_over(op);
    }
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static struct qop *new_op(struct sim *s, pawl_queue_op kind, const char *queue)
{
    struct qop *op = calloc(1, sizeof(*op));
    assert_that(op);
    *op = (struct qop){.sim = s, .op = kind, .node = s->node};
    (void)snprintf(op->queue, sizeof(op->queue), "%s", queue);
    *(struct qop **)sim_grow(&s->queues->ops, &s->queues->op_count, &s->queues->op_cap,
                             sizeof(op)) = op;
    return op;
}

static void submit(struct sim *s, struct qop *op, const pawl_queue_request *request)
{
    pawl_error err = {0};
    if (s->mute) {
        op->result = OP_REFUSED;
        return;
    }
    s->n->fired[SITE_queue]++;
    for (size_t i = 0; i < OLD_NODES && !s->healing; i++)
        if (s->old[i] && prng_chance(&s->more, 150))
            op->node = s->old[i];
    sim_trace(s, "queue %s op %d locked=%d lock=%s", op->queue, (int)op->op, op->locked, op->lock);
    for (int i = 0; i < op->count; i++)
        s->queues->tokens[op->tokens[i]].under_way++;
    if (pawl_queue_submit(pawl_runtime_client(op->node->rt), request, answered, op, &err) ==
        PAWL_OK)
        return;
    op->result = OP_REFUSED;
    push_over(op);
    if (!op->node->old)
        sim_fail(s, "I15", "call %d on %s refused: %s", (int)op->op, op->queue, err.text);
}

static size_t choose_bytes(struct sim *s)
{
    static const size_t sizes[] = {200, 5000, 100000, 700000, PAWL_QUEUE_ITEM_BYTES};
    if (!s->plan.rate[SITE_large] || !prng_chance(&s->more, s->plan.rate[SITE_large]))
        return 0;
    s->n->fired[SITE_large]++;
    return sizes[prng_below(&s->more, COUNT_OF(sizes))];
}

/* The data of a token; freed with the call. */
static pawl_str token_data(struct sim *s, int n, char room[24])
{
    struct qtoken *t = &s->queues->tokens[n];
    int len = snprintf(room, 24, "C%d", n);
    pawl_str data = {room, (size_t)len};
    if (t->bytes) {
        char *text = pawl_mem_alloc(s->large, t->bytes);
        (void)memset(text, 'a' + n % 26, t->bytes);
        (void)memcpy(text, room, data.len);
        text[data.len] = ' ';
        data = (pawl_str){text, t->bytes};
    }
    queue_short(data, t->data);
    return data;
}

static int choose_token(struct sim *s, const char *queue, bool dedup)
{
    struct queues *q = s->queues;
    for (size_t i = q->token_count; dedup && i-- > 0;) /* the same item once more */
        if (q->tokens[i].dedup && strcmp(q->tokens[i].queue, queue) == 0 &&
            prng_chance(&s->more, 500))
            return (int)i;
    struct qtoken *t = sim_grow(&q->tokens, &q->token_count, &q->token_cap, sizeof(*t));
    t->dedup = dedup;
    t->bytes = choose_bytes(s);
    if (s->plan.rate[SITE_group] && prng_chance(&s->more, 700))
        (void)snprintf(t->group, sizeof(t->group), "g%d", (int)prng_below(&s->more, 3));
    if (t->group[0] && t->bytes == PAWL_QUEUE_ITEM_BYTES) /* its group counts, too */
        t->bytes -= 100;
    (void)snprintf(t->queue, sizeof(t->queue), "%s", queue);
    return (int)q->token_count - 1;
}

static void push(struct sim *s, const char *queue)
{
    static const int64_t delays[] = {1, 300, 5000};
    struct qop *op = new_op(s, PAWL_QUEUE_PUSH, queue);
    pawl_queue_item items[PUSH_MOST] = {0};
    char data[PUSH_MOST][24], keys[PUSH_MOST][16], groups[PUSH_MOST][4];
    op->count = (int)prng_between(&s->more, 1, s->plan.rate[SITE_large] ? PUSH_MOST : 3);
    for (int i = 0; i < op->count; i++) {
        bool dedup = prng_chance(&s->more, 300);
        op->tokens[i] = choose_token(s, queue, dedup);
        for (int k = 0; k < i; k++) /* once in one call */
            if (op->tokens[k] == op->tokens[i])
                op->tokens[i] = choose_token(s, queue, false);
        dedup = s->queues->tokens[op->tokens[i]].dedup;
        (void)snprintf(keys[i], sizeof(keys[i]), "d%d", op->tokens[i]);
        (void)snprintf(groups[i], sizeof(groups[i]), "%s", s->queues->tokens[op->tokens[i]].group);
        items[i] = (pawl_queue_item){.data = token_data(s, op->tokens[i], data[i]),
                                     .dedup_id = pawl_s(dedup ? keys[i] : ""),
                                     .group = pawl_s(groups[i]),
                                     .priority = (int64_t)prng_below(&s->more, 3)};
        if (prng_chance(&s->more, 200))
            items[i].delay_ms = delays[prng_below(&s->more, COUNT_OF(delays))];
        if (prng_chance(&s->more, 100))
            items[i].expires_in_ms = prng_between(&s->more, 1000, 20000);
    }
    submit(s, op,
           PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = queue, .items = items,
                              .item_count = (size_t)op->count));
    pawl_mem_reset(s->large);
}

static void pop(struct sim *s, const char *queue)
{
    static const int64_t waits[] = {0, 0, 400, 30000};
    struct qop *op = new_op(s, PAWL_QUEUE_POP, queue);
    op->locked = prng_chance(&s->more, 600);
    bool many = s->plan.rate[SITE_large] && prng_chance(&s->more, 300);
    submit(s, op,
           PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue, .require_ack = op->locked,
                              .count = (uint32_t)prng_between(&s->more, 1, many ? 100 : 3),
                              .ttl_ms = prng_between(&s->more, 1000, 20000),
                              .has_priority = prng_chance(&s->more, 100), .priority = 1,
                              .wait_ms = waits[prng_below(&s->more, COUNT_OF(waits))]));
}

/* A lock some client was told of, live or not; NULL: none yet. */
static const struct qlock *choose_lock(struct sim *s)
{
    const struct queues *q = s->queues;
    for (int tries = 0; tries < 6 && q->lock_count; tries++) {
        const struct qlock *l = &q->locks[prng_below(&s->more, q->lock_count)];
        if (l->known && (l->there || tries > 3))
            return l;
    }
    return NULL;
}

static void settle(struct sim *s, pawl_queue_op kind)
{
    const struct qlock *l = choose_lock(s);
    if (!l)
        return;
    struct qop *op = new_op(s, kind, l->queue);
    (void)snprintf(op->lock, sizeof(op->lock), "%s", l->id);
    for (size_t i = 0; i < s->queues->item_count; i++) /* one item of it */
        if (s->queues->items[i]->lock == l->number && prng_chance(&s->more, 80))
            (void)snprintf(op->lock, sizeof(op->lock), "%s.%llu", l->id,
                           (unsigned long long)s->queues->items[i]->id);
    const char *ids[] = {op->lock};
    submit(s, op,
           PAWL_QUEUE_REQUEST(.op = kind, .queue = op->queue, .lock_ids = ids, .lock_count = 1,
                              .reason = "because", .ttl_ms = prng_between(&s->more, 1000, 30000),
                              .delay_ms = prng_chance(&s->more, 300) ? 900 : 0));
}

static void configure(struct sim *s, const char *queue)
{
    int at = queue[1] - '0';
    static const int64_t backoff[] = {50, 2000};
    pawl_queue_config c = pawl_queue_config_default();
    c.max_locks = (uint32_t)prng_below(&s->more, 4);
    c.max_deliveries = prng_chance(&s->more, 400) ? (uint32_t)prng_between(&s->more, 1, 3) : 0;
    c.expire_to_back = prng_chance(&s->more, 200);
    if (prng_chance(&s->more, 300)) {
        c.retry_backoff = backoff;
        c.retry_backoff_count = 2;
    }
    c.message_ttl_ms = prng_chance(&s->more, 200) ? 9000 : 0;
    c.dead_letter_expired = prng_chance(&s->more, 300);
    c.groups = s->plan.rate[SITE_group] && prng_chance(&s->more, 800);
    s->n->fired[SITE_group] += c.groups;
    c.max_length = prng_chance(&s->more, 200) ? 4 : 0;
    s->queues->to_back[at] |= c.expire_to_back;
    s->queues->buries[at] |= c.max_deliveries || c.dead_letter_expired;
    submit(s, new_op(s, PAWL_QUEUE_CONFIGURE, queue),
           PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = queue, .config = &c));
}

static void delete_one(struct sim *s)
{
    const struct queues *q = s->queues;
    if (!q->item_count)
        return;
    const struct qitem *m = q->items[prng_below(&s->more, q->item_count)];
    struct qop *op = new_op(s, PAWL_QUEUE_DELETE, m->queue);
    op->message = m->id;
    submit(s, op,
           PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_DELETE, .queue = op->queue, .message = m->id));
}

static void plain_call(struct sim *s, pawl_queue_op kind, const char *queue)
{
    submit(s, new_op(s, kind, queue), PAWL_QUEUE_REQUEST(.op = kind, .queue = queue));
}

static void bind_queue(struct sim *s)
{
    s->queues->bound = true;
    submit(s, new_op(s, PAWL_QUEUE_BIND, "q2"),
           PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "q2",
                              .orchestration = prng_chance(&s->more, 650) ? "Prog" : NULL));
}

void queues_act(struct sim *s)
{
    char queue[QUEUE_CHARS], dead[QUEUE_CHARS + 16];
    uint64_t n = prng_below(&s->more, 100);
    (void)snprintf(queue, sizeof(queue), "q%d", (int)prng_below(&s->more, QUEUE_COUNT));
    (void)snprintf(dead, sizeof(dead), "%s-deadletter", queue);
    if (n < 36)
        push(s, queue);
    else if (n < 62)
        pop(s, queue);
    else if (n < 75)
        settle(s, PAWL_QUEUE_ACK);
    else if (n < 79)
        settle(s, PAWL_QUEUE_EXTEND);
    else if (n < 83)
        settle(s, PAWL_QUEUE_RELEASE);
    else if (n < 86)
        settle(s, PAWL_QUEUE_DEADLETTER);
    else if (n < 88)
        plain_call(s, PAWL_QUEUE_REDRIVE, dead);
    else if (n < 89)
        plain_call(s, PAWL_QUEUE_PURGE, queue);
    else if (n < 91)
        plain_call(s, PAWL_QUEUE_PAUSE, queue);
    else if (n < 94)
        plain_call(s, PAWL_QUEUE_RESUME, queue);
    else if (n < 96 || (s->plan.rate[SITE_group] && prng_chance(&s->more, 80)))
        configure(s, queue);
    else if (n < 98)
        delete_one(s);
    else
        bind_queue(s);
}

/* ---- Healing ---------------------------------------------------------------------------------- */

/* Empty them; false: there is nothing to do, or only time will tell. */
bool queues_help(struct sim *s)
{
    pawl_queue_row_list list;
    pawl_error err;
    bool helped = false;
    if (!s->plan.rate[SITE_queue])
        return false;
    pawl_mem *mem = pawl_mem_new();
    if (s->inner->ops->queues->list_queues(s->inner, (pawl_str){0}, (pawl_str){0}, 20, mem, &list,
                                           &err) != PAWL_OK)
        sim_fail(s, "Q5", "queues not readable: %s", err.text);
    for (size_t i = 0; i < list.count; i++) {
        const pawl_queue_row *row = &list.items[i];
        bool bound = pawl_json_text(mem, row->config, "/orchestration", "").len > 0;
        if (row->paused) {
            plain_call(s, PAWL_QUEUE_RESUME, row->name.ptr);
            helped = true;
        } else if (row->ready && !row->locks && !bound) {
            submit(s, new_op(s, PAWL_QUEUE_POP, row->name.ptr),
                   PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = row->name.ptr, .count = 100));
            helped = true;
        }
    }
    pawl_mem_free(mem);
    return helped;
}

/* ---- Ids of bound queues ---------------------------------------------------------------------- */

/* Somebody else has the id that a message of q2 would start; or its start comes once more. */
void queues_take_id(struct sim *s)
{
    const struct queues *q = s->queues;
    if (!q->item_count || !faults_fires(s, SITE_taken))
        return;
    const struct qitem *m = q->items[prng_below(&s->more, q->item_count)];
    const struct seen *i = queue_started(s, m);
    bool again = m->starts && i && i->first_input && !i->removed &&
                 queue_same(pawl_s(i->first_input), m->data);
    if (strcmp(m->queue, "q2") != 0 || (!again && (i || m->starts || !m->there)))
        return;
    char id[QUEUE_CHARS + 24];
    (void)snprintf(id, sizeof(id), "queue~q2~%llu", (unsigned long long)m->id);
    faults_inject(s, &(pawl_message){.instance = pawl_s(id),
                                     .kind = PAWL_MSG_START,
                                     .execution = 1,
                                     .name = pawl_s("Prog"),
                                     .data = pawl_s(again ? i->first_input : "(ao0)"),
                                     .attrs = pawl_s(again ? "{\"queue\":\"q2\"}" : ""),
                                     .created_ms = s->wall_ms});
}
