/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/queue_look.c -- items and locks in the store, against the look before.
 *
 *   item    nowhere ─push─▶ ready, delayed ─▶ locked ─▶ gone, with a reason
 *   lock    made by a pop; ends by its time, or by a call that names it
 */
#include "queues.h"

#include "base/limits.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#define DEDUP_MS 300000

/* ---- What orchestrations do --------------------------------------------------------------- */

static struct qpush *push_of(struct queues *q, pawl_str queue, pawl_str data)
{
    for (size_t i = 0; i < q->push_count; i++)
        if (pawl_str_is(data, q->pushes[i].data) && pawl_str_is(queue, q->pushes[i].queue))
            return &q->pushes[i];
    return NULL;
}

void queues_pushed(struct sim *s, const pawl_event *e)
{
    struct queues *q = s->queues;
    struct qpush *p = push_of(q, e->name, e->data);
    if (!p) {
        p = sim_grow(&q->pushes, &q->push_count, &q->push_cap, sizeof(*p));
        (void)snprintf(p->queue, sizeof(p->queue), "%.*s", PAWL_FMT(e->name));
        (void)snprintf(p->data, sizeof(p->data), "%.*s", PAWL_FMT(e->data));
    }
    p->events++;
}

void queues_scheduled(struct sim *s, const pawl_event *e)
{
    struct queues *q = s->queues;
    if (pawl_str_is(e->name, ENGINE_QUEUE_POP)) {
        q->code_pops = true;
        return;
    }
    char(*to)[40] = sim_grow(&q->acks, &q->ack_count, &q->ack_cap, sizeof(*to));
    (void)snprintf(*to, sizeof(*to), "%.*s",
                   PAWL_FMT(pawl_json_text(s->mem, e->data, "/lock_id", "")));
}

/* Trouble of the machine is not an answer of the queue. */
void queues_result(struct sim *s, const struct seen *i, const struct seen_task *t,
                   const pawl_event *e)
{
    static const char *const answers[] = {"Lock has expired", "Invalid lock_id",
                                          "No active lock found", "poison: "};
    CHECKED(s, I17);
    if (e->kind == PAWL_EV_ACTIVITY_COMPLETED) {
        struct qlock *l =
            queue_lock_by_id(s->queues, pawl_json_text(s->mem, e->data, "/lock_id", ""));
        if (l)
            l->known = true;
        return;
    }
    for (size_t k = 0; k < COUNT_OF(answers); k++)
        if (e->data.len >= strlen(answers[k]) &&
            memcmp(e->data.ptr, answers[k], strlen(answers[k])) == 0)
            return;
    sim_fail(s, "I17", "%s: %s failed with '%.*s'", i->id, t->name, PAWL_FMT(e->data));
}

const struct seen *queue_started(const struct sim *s, const struct qitem *m)
{
    char id[QUEUE_CHARS + 24];
    (void)snprintf(id, sizeof(id), "queue~%s~%llu", m->queue, (unsigned long long)m->id);
    for (size_t i = s->seen_count; i-- > 0;)
        if (strcmp(s->seen[i]->id, id) == 0)
            return s->seen[i];
    return NULL;
}

/* One that is blocked before its first event has its input in the message that starts it. */
static bool waits_to_start_with(const struct sim *s, const struct seen *i, const char *data)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_message_list list = {0};
    pawl_error err;
    bool same = true;
    if (s->inner->ops->read_messages(s->inner, i->uid, (pawl_str){0}, mem, &list, &err) == PAWL_OK)
        for (size_t k = 0; k < list.count; k++)
            same = same &&
                   (list.items[k].kind != PAWL_MSG_START || queue_same(list.items[k].data, data));
    pawl_mem_free(mem);
    return same;
}

/* An instance that has its id, and its data: not one that somebody else started. */
static bool was_started(const struct sim *s, const struct qitem *m)
{
    const struct seen *i = queue_started(s, m);
    return i && (i->first_input ? queue_same(pawl_s(i->first_input), m->data)
                                : waits_to_start_with(s, i, m->data));
}

/* The message whose start found its id taken, and that this dead letter is; NULL: it is none. */
static struct qitem *start_given_up(const struct sim *s, const struct qitem *m)
{
    struct queues *q = s->queues;
    for (size_t i = 0; i < q->item_count; i++) {
        struct qitem *o = q->items[i];
        if (o != m && o->starts && !o->moved && strcmp(o->data, m->data) == 0 &&
            strncmp(o->queue, m->queue, strlen(o->queue)) == 0 && queue_started(s, o) &&
            !was_started(s, o))
            return o;
    }
    return NULL;
}

void queue_made(struct sim *s, struct qitem *m)
{
    struct queues *q = s->queues;
    struct qitem *given_up = strchr(m->queue, '-') ? start_given_up(s, m) : NULL;
    if (given_up) {
        given_up->moved = true;
        if (m->data[0] == 'C')
            q->tokens[strtol(m->data + 1, NULL, 10)].id = m->id;
        return;
    }
    if (m->data[0] == 'H') {
        struct qpush *p = push_of(q, pawl_s(m->queue), pawl_s(m->data));
        if (!p)
            sim_fail(s, "I16", "item %llu ('%s') is of no push recorded", (unsigned long long)m->id,
                     m->data);
        p->made++;
        return;
    }
    int n = m->data[0] == 'C' ? (int)strtol(m->data + 1, NULL, 10) : -1;
    if (n < 0 || (size_t)n >= q->token_count)
        sim_fail(s, "I18", "item %llu ('%s') was pushed by nobody", (unsigned long long)m->id,
                 m->data);
    struct qtoken *t = &q->tokens[n];
    if (!t->under_way && !t->acked && !t->lost)
        sim_fail(s, "I16", "item %s was refused, and is there", m->data);
    bool twice = t->id && t->id != m->id;
    if (twice && (!t->dedup || s->wall_max_ms < t->enqueued + DEDUP_MS))
        sim_fail(s, "I16", "%s was pushed once and is there as %llu and %llu", m->data,
                 (unsigned long long)t->id, (unsigned long long)m->id);
    t->id = m->id;
    t->enqueued = m->enqueued_ms;
}

/* ---- Items --------------------------------------------------------------------------------- */

static int number_of(const char *queue)
{
    return queue[1] - '0';
}

static void check_moved(struct sim *s, struct qitem *m, const char *queue)
{
    bool buried = strncmp(queue, m->queue, strlen(m->queue)) == 0; /* NAME-deadletter */
    bool meant = buried ? s->queues->buries[number_of(m->queue)] ||
                              queue_under_way(s, PAWL_QUEUE_DEADLETTER, m->queue)
                        : queue_under_way(s, PAWL_QUEUE_REDRIVE, m->queue);
    if (!meant)
        sim_fail(s, "I16", "item %llu moved from %s to %s by itself", (unsigned long long)m->id,
                 m->queue, queue);
}

/* Where it is in line stays, unless the configuration says otherwise. */
static void check_change(struct sim *s, const struct qitem *m, const pawl_queue_entry *e)
{
    unsigned long long id = m->id;
    if (!queue_same(e->data, m->data) || e->priority != m->priority)
        sim_fail(s, "I18", "item %llu changed from '%s' to '%.40s' (%zu bytes)", id, m->data,
                 e->data.ptr, e->data.len);
    if (e->place != m->place && !s->queues->to_back[number_of(m->queue)])
        sim_fail(s, "I16", "item %llu of %s lost its place", id, m->queue);
    bool locked_now = e->state == PAWL_QUEUE_LOCKED && !m->lock;
    if (locked_now ? e->deliveries <= m->deliveries : e->deliveries < m->deliveries)
        sim_fail(s, "I16", "item %llu: %u deliveries after %u", id, e->deliveries, m->deliveries);
    if (m->state == PAWL_QUEUE_DELAYED && e->state != PAWL_QUEUE_DELAYED &&
        m->visible_ms > s->wall_max_ms)
        sim_fail(s, "I13", "item %llu is ready %lld ms before its time", id,
                 (long long)(m->visible_ms - s->wall_max_ms));
}

static void see_item(struct sim *s, const pawl_queue_entry *e, const char *queue)
{
    struct qitem *m = queue_item(s->queues, e->id);
    CHECKED(s, I16);
    if (m && (m->gone || m->owed))
        sim_fail(s, "I16", "item %llu (%s) is back", (unsigned long long)e->id, m->data);
    if (!m) {
        m = queue_item_new(s->queues, e->id);
        (void)snprintf(m->queue, sizeof(m->queue), "%s", queue);
        queue_short(e->data, m->data);
        m->enqueued_ms = e->enqueued_ms;
        queue_made(s, m);
        s->max_id = e->id > s->max_id ? e->id : s->max_id;
    } else if (strcmp(m->queue, queue) != 0) {
        check_moved(s, m, queue);
        (void)snprintf(m->queue, sizeof(m->queue), "%s", queue);
        m->ready_before = false;
    } else {
        check_change(s, m, e);
        m->ready_before = m->there && m->state == PAWL_QUEUE_READY;
    }
    m->listed = m->seen = true;
    m->state = e->state;
    m->priority = e->priority;
    m->place = e->place;
    m->visible_ms = e->visible_ms;
    m->expires_ms = e->expires_ms;
    m->deliveries = e->deliveries;
    m->lock = 0;
}

/* ---- Locks --------------------------------------------------------------------------------- */

static struct qlock *lock_by_number(struct queues *q, uint64_t number)
{
    for (size_t i = q->lock_count; i-- > 0;)
        if (q->locks[i].number == number)
            return &q->locks[i];
    return NULL;
}

/* A lock that we know.  An item that is popped alone gives its own number to the lock, and may
 * be popped again: then that is another lock. */
static struct qlock *known_lock(struct queues *q, const pawl_queue_lock *row)
{
    struct qlock *l = lock_by_number(q, row->number);
    bool anew = l && row->entry_count == 1 && row->entries[0] == row->number &&
                (!l->there || !pawl_str_is(row->id, l->id));
    return anew ? NULL : l;
}

static bool locked_pop_under_way(const struct sim *s, const char *queue)
{
    for (size_t i = 0; i < s->queues->op_count; i++) {
        const struct qop *o = s->queues->ops[i];
        if (o->op == PAWL_QUEUE_POP && o->locked && o->result == OP_WAITING &&
            strcmp(o->queue, queue) == 0)
            return true;
    }
    return s->queues->code_pops;
}

static void see_lock(struct sim *s, const pawl_queue_lock *row, const char *queue)
{
    struct queues *q = s->queues;
    struct qlock *l = known_lock(q, row);
    CHECKED(s, I7);
    if (!l) {
        bool rests = row->id.len && row->id.ptr[0] == '~';
        if (rests ? !s->plan.rate[SITE_group] : !locked_pop_under_way(s, queue))
            sim_fail(s, "I16", "%s: a lock nobody asked for", queue);
        l = sim_grow(&q->locks, &q->lock_count, &q->lock_cap, sizeof(*l));
        l->number = row->number;
        (void)snprintf(l->id, sizeof(l->id), "%.*s", PAWL_FMT(row->id));
        (void)snprintf(l->queue, sizeof(l->queue), "%s", queue);
        l->rests = rests;
    } else if (!l->there || row->until_ms < l->until_ms) {
        sim_fail(s, "I16", "%s: lock %s %s", queue, l->id, l->there ? "became shorter" : "is back");
    }
    l->listed = true;
    l->until_ms = row->until_ms;
    for (size_t i = 0; i < row->entry_count; i++) {
        struct qitem *m = queue_item(q, row->entries[i]);
        if (!m || !m->listed || m->state != PAWL_QUEUE_LOCKED || strcmp(m->queue, queue) != 0)
            sim_fail(s, "I16", "%s: lock %s holds item %llu, which is not locked", queue, l->id,
                     (unsigned long long)row->entries[i]);
        if (m->lock)
            sim_fail(s, "I7", "%s: item %llu is under two locks", queue, (unsigned long long)m->id);
        m->lock = row->number;
    }
}

/* A call that names the lock (and this item of it; 0: any) is under way. */
static bool is_named(const struct sim *s, const struct qlock *l, pawl_queue_op op, uint64_t item)
{
    for (size_t i = 0; i < s->queues->op_count; i++) {
        const struct qop *o = s->queues->ops[i];
        size_t n = strlen(l->id);
        if (o->op != op || o->result != OP_WAITING || strncmp(o->lock, l->id, n) != 0)
            continue;
        if (!o->lock[n] || !item || strtoull(o->lock + n + 1, NULL, 10) == item)
            return true;
    }
    for (size_t i = 0; op == PAWL_QUEUE_ACK && i < s->queues->ack_count; i++)
        if (strcmp(s->queues->acks[i], l->id) == 0)
            return true;
    return false;
}

static void lock_ended(struct sim *s, struct qlock *l)
{
    CHECKED(s, I16);
    /* A pop of an orchestration whose answer was lost gives its lock back and pops again. */
    bool lost = !l->known && s->queues->code_pops;
    if (l->rests && (queue_under_way(s, PAWL_QUEUE_DELETE, l->queue) ||
                     queue_under_way(s, PAWL_QUEUE_PURGE, l->queue)))
        lost = true;
    if (l->until_ms > s->wall_max_ms && !lost && !is_named(s, l, PAWL_QUEUE_ACK, 0) &&
        !is_named(s, l, PAWL_QUEUE_RELEASE, 0) && !is_named(s, l, PAWL_QUEUE_DEADLETTER, 0))
        sim_fail(s, "I16", "%s: lock %s ended %lld ms before its time", l->queue, l->id,
                 (long long)(l->until_ms - s->wall_max_ms));
    l->ended_now = true;
}

/* ---- Who left -------------------------------------------------------------------------------- */

static bool is_deleted(const struct sim *s, const struct qitem *m)
{
    for (size_t i = 0; i < s->queues->op_count; i++)
        if (s->queues->ops[i]->op == PAWL_QUEUE_DELETE && s->queues->ops[i]->result == OP_WAITING &&
            s->queues->ops[i]->message == m->id)
            return true;
    return false;
}

/* A plain pop took it: here, or where it moved in the same commit. */
static bool popped_on(struct sim *s, struct qitem *m)
{
    char other[QUEUE_CHARS + 16];
    char *dash = strchr(m->queue, '-');
    (void)snprintf(other, sizeof(other), dash ? "%.*s" : "%.*s-deadletter",
                   dash ? (int)(dash - m->queue) : QUEUE_CHARS, m->queue);
    bool moves = dash ? queue_under_way(s, PAWL_QUEUE_REDRIVE, m->queue)
                      : s->queues->buries[number_of(m->queue)] ||
                            queue_under_way(s, PAWL_QUEUE_DEADLETTER, m->queue);
    if (queue_plain_pop(s, m->queue, OP_WAITING))
        return true;
    if (!moves || !queue_plain_pop(s, other, OP_WAITING))
        return false;
    (void)snprintf(m->queue, sizeof(m->queue), "%.*s", QUEUE_CHARS - 1, other);
    return true;
}

/* Under a lock that somebody acknowledges; past its time; purged, deleted; or popped. */
static void left(struct sim *s, struct qitem *m, uint64_t lock)
{
    struct qlock *l = lock ? lock_by_number(s->queues, lock) : NULL;
    CHECKED(s, I16);
    m->gone = m->starts || (l && is_named(s, l, PAWL_QUEUE_ACK, m->id)) ||
              (m->expires_ms && m->expires_ms <= s->wall_max_ms) || is_deleted(s, m) ||
              queue_under_way(s, PAWL_QUEUE_PURGE, m->queue);
    m->soft = m->gone && queue_plain_pop(s, m->queue, OP_WAITING);
    if (m->gone)
        return;
    m->owed = popped_on(s, m);
    if (!m->owed)
        sim_fail(s, "I16", "item %llu (%s) of %s is gone, and nobody took it",
                 (unsigned long long)m->id, m->data, m->queue);
}

/* What left with a plain pop was named by its answer, or the answer was lost. */
static void check_owed(struct sim *s)
{
    struct queues *q = s->queues;
    if (s->node && node_in_doubt(s->node)) /* its answers are still to come */
        return;
    for (size_t i = 0; i < q->item_count; i++) {
        struct qitem *m = q->items[i];
        if (!m->owed)
            continue;
        CHECKED(s, I16);
        if (!m->starts && !queue_plain_pop(s, m->queue, OP_LOST))
            sim_fail(s, "I16", "item %llu (%s) of %s was taken out, and no answer has it",
                     (unsigned long long)m->id, m->data, m->queue);
        m->owed = false;
        m->gone = true;
    }
    for (size_t i = 0; i < q->push_count; i++) {
        struct qpush *p = &q->pushes[i];
        if (p->made + p->mails < p->owed) { /* as of that look: more may be recorded since */
            if (!queue_plain_pop(s, p->queue, OP_LOST))
                sim_fail(s, "I16", "push '%s' to %s is lost", p->data, p->queue);
            p->made++;
        }
        p->owed = 0;
    }
}

/* ---- Mail: pushes and starts on their way ------------------------------------------------------ */

static void see_start(struct sim *s, const pawl_message *msg)
{
    pawl_str id = msg->instance;
    bool item = msg->data.len && (msg->data.ptr[0] == 'C' || msg->data.ptr[0] == 'H');
    if (!item || !id_is_of_queue(id))
        return;
    uint64_t number = strtoull(id.ptr + strlen("queue~q2~"), NULL, 10);
    struct qitem *m = queue_item(s->queues, number);
    if (!m) {
        m = queue_item_new(s->queues, number);
        (void)snprintf(m->queue, sizeof(m->queue), "q%c", id.ptr[7]);
        queue_short(msg->data, m->data);
        queue_made(s, m);
        m->gone = true;
    }
    CHECKED(s, I12);
    if (!queue_same(msg->data, m->data) || !s->queues->bound)
        sim_fail(s, "I18", "item %llu starts an instance with '%.40s' (%zu bytes)",
                 (unsigned long long)m->id, msg->data.ptr, msg->data.len);
    (void)snprintf(m->queue, sizeof(m->queue), "q%c", id.ptr[7]); /* redriven meanwhile */
    m->starts = m->listed = true;
}

static void see_mail(struct sim *s)
{
    struct queues *q = s->queues;
    pawl_message_list list;
    pawl_error err;
    for (size_t i = 0; i < q->push_count; i++)
        q->pushes[i].mails = 0;
    if (s->inner->ops->read_messages(s->inner, 0, (pawl_str){0}, s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "R3", "messages by name not readable: %s", err.text);
    for (size_t i = 0; i < list.count; i++) {
        struct qpush *p = list.items[i].kind == PAWL_MSG_QUEUE_PUSH
                              ? push_of(q, list.items[i].name, list.items[i].data)
                              : NULL;
        if (p)
            p->mails++;
        else if (list.items[i].kind == PAWL_MSG_START)
            see_start(s, &list.items[i]);
    }
}

/* A push recorded is a message or an item, as often as it was recorded. */
static void check_pushes(struct sim *s)
{
    for (size_t i = 0; i < s->queues->push_count; i++) {
        struct qpush *p = &s->queues->pushes[i];
        int there = p->made + p->mails;
        CHECKED(s, I12);
        p->owed = there < p->events ? p->events : 0;
        if (there > p->events)
            sim_fail(s, "I16", "push '%s' was recorded %d times and happened %d times", p->data,
                     p->events, there);
        if (p->owed && !queue_plain_pop(s, p->queue, OP_WAITING))
            sim_fail(s, "I16", "push '%s' to %s is recorded, and nowhere", p->data, p->queue);
    }
}

/* ---- The look ------------------------------------------------------------------------------------ */

static void see_queue(struct sim *s, const pawl_queue_row *row)
{
    const pawl_queue_ops *ops = s->inner->ops->queues;
    pawl_entry_query query = {.qid = row->qid, .order = PAWL_ENTRIES_BY_ID, .limit = 1000};
    pawl_entry_list list;
    pawl_lock_list locks;
    pawl_error err;
    uint64_t count[3] = {0}, bytes = 0;
    if (ops->query_entries(s->inner, &query, s->mem, &list, &err) != PAWL_OK ||
        ops->read_locks(s->inner, row->qid, 0, s->mem, &locks, &err) != PAWL_OK || list.more)
        sim_fail(s, "Q7", "%.*s is not readable: %s", PAWL_FMT(row->name), err.text);
    line_config(s, row);
    for (size_t i = 0; i < list.count; i++) {
        see_item(s, &list.items[i], row->name.ptr);
        count[list.items[i].state]++;
        bytes += list.items[i].bytes;
    }
    for (size_t i = 0; i < locks.count; i++)
        see_lock(s, &locks.items[i], row->name.ptr);
    CHECKED(s, I9);
    if (row->ready != count[0] || row->delayed != count[1] || row->locked != count[2] ||
        row->locks != locks.count || row->bytes != bytes)
        sim_fail(s, "I9", "%.*s says %llu/%llu/%llu items, %llu locks; it has %llu/%llu/%llu, %zu",
                 PAWL_FMT(row->name), (unsigned long long)row->ready,
                 (unsigned long long)row->delayed, (unsigned long long)row->locked,
                 (unsigned long long)row->locks, (unsigned long long)count[0],
                 (unsigned long long)count[1], (unsigned long long)count[2], locks.count);
}

static void see_all(struct sim *s)
{
    pawl_queue_row_list list;
    pawl_error err;
    if (s->inner->ops->queues->list_queues(s->inner, (pawl_str){0}, (pawl_str){0}, 20, s->mem,
                                           &list, &err) != PAWL_OK)
        sim_fail(s, "Q5", "queues not readable: %s", err.text);
    for (size_t i = 0; i < list.count; i++)
        see_queue(s, &list.items[i]);
}

void queues_look(struct sim *s)
{
    struct queues *q = s->queues;
    check_owed(s);
    for (size_t i = 0; i < q->item_count; i++)
        q->items[i]->listed = q->items[i]->soft = false;
    for (size_t i = 0; i < q->lock_count; i++)
        q->locks[i].listed = q->locks[i].ended_now = false;
    size_t known = q->item_count;
    uint64_t *locks = pawl_mem_alloc(s->mem, (known + 1) * sizeof(*locks));
    for (size_t i = 0; i < known; i++)
        locks[i] = q->items[i]->lock_before = q->items[i]->lock;
    see_all(s);
    for (size_t i = 0; i < q->item_count; i++)
        q->items[i]->there = q->items[i]->listed;
    for (size_t i = 0; i < q->item_count; i++) /* starts not seen by now have to be instances */
        q->items[i]->listed = false;
    see_mail(s);
    for (size_t i = 0; i < q->item_count; i++) {
        struct qitem *m = q->items[i];
        if (m->seen && !m->there && !m->gone && !m->owed)
            left(s, m, i < known ? locks[i] : 0);
        if (m->starts && !m->listed && !m->moved && !was_started(s, m))
            sim_fail(s, "I6", "item %llu (%s) of %s started no instance, and is no dead letter",
                     (unsigned long long)m->id, m->data, m->queue);
    }
    for (size_t i = 0; i < q->lock_count; i++) {
        if (q->locks[i].there && !q->locks[i].listed)
            lock_ended(s, &q->locks[i]);
        q->locks[i].there = q->locks[i].listed;
    }
    check_pushes(s);
    lines_look(s);
}

void queues_final(struct sim *s)
{
    struct queues *q = s->queues;
    check_owed(s);
    for (size_t i = 0; i < q->item_count; i++) {
        CHECKED(s, L7);
        if (!q->items[i]->gone)
            sim_fail(s, "L7", "item %llu (%s) of %s was never given out",
                     (unsigned long long)q->items[i]->id, q->items[i]->data, q->items[i]->queue);
    }
    for (size_t i = 0; i < q->token_count; i++)
        if (q->tokens[i].acked && !q->tokens[i].id)
            sim_fail(s, "I16", "the push of C%zu was acknowledged, and it never was", i);
}
