/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_round.c -- one round: checked and applied to the mirror, and as texts.
 *
 * What is there already is left out (K2), then the mirror decides by C3.  The texts
 * are written later, for all rounds together and phase by phase (jsonl_commit.c).
 * Idempotency keys travel with what makes the raise durable: the turn line, or
 * else the message; a key without its raise, or a raise without its key, would lose
 * or double it.
 */
#include "base/attr.h"
#include "store/jsonl/jsonl.h"

#include <string.h>

void round_batch_init(struct jsonl_batch *b)
{
    memset(b, 0, sizeof(*b));
    buf_init(&b->put_messages, JSONL_BYTES_MAX);
    buf_init(&b->put_work, JSONL_BYTES_MAX);
    buf_init(&b->put_quarantine, JSONL_BYTES_MAX);
    buf_init(&b->drop_messages, JSONL_BYTES_MAX);
    buf_init(&b->drop_work, JSONL_BYTES_MAX);
}

void round_batch_deinit(struct jsonl_batch *b)
{
    for (size_t i = 0; i < b->appends.count; i++)
        buf_deinit(&b->appends.items[i].text);
    vec_deinit(&b->appends);
    vec_deinit(&b->rows);
    vec_deinit(&b->removed);
    vec_deinit(&b->kinds);
    vec_deinit(&b->gone);
    buf_deinit(&b->put_messages);
    buf_deinit(&b->put_work);
    buf_deinit(&b->put_quarantine);
    buf_deinit(&b->drop_messages);
    buf_deinit(&b->drop_work);
}

/* ---- K2: what is there already ------------------------------------------------------ */

/* The ref of a message by name is the sender's; its attrs name the sender. */
static bool same_message(const pawl_message *a, const pawl_message *b)
{
    return a->kind == b->kind && a->execution == b->execution && a->ref == b->ref &&
           (a->uid || (pawl_str_eq(a->instance, b->instance) && pawl_str_eq(a->attrs, b->attrs)));
}

static bool has_message(const struct memory *m, const pawl_message *msg)
{
    if (memory_message(m, msg->id))
        return true;
    if (!msg->ref)
        return false;
    int64_t owner = (int64_t)msg->uid;
    for (struct order_node *n = order_from(&m->messages_by_owner, owner, 0); n && n->key == owner;
         n = order_next(n))
        if (same_message(msg, &CONTAINER_OF(n, struct memory_message, by_owner)->message))
            return true;
    return false;
}

static bool has_work(const struct memory *m, const pawl_work *w)
{
    if (memory_work(m, w->id))
        return true;
    if (!w->ref)
        return false;
    int64_t owner = (int64_t)w->uid;
    for (struct order_node *n = order_from(&m->work_by_owner, owner, 0); n && n->key == owner;
         n = order_next(n)) {
        const pawl_work *there = &CONTAINER_OF(n, struct memory_work, by_owner)->work;
        if (there->execution == w->execution && there->ref == w->ref)
            return true;
    }
    return false;
}

static pawl_round without_known(struct jsonl *j, const pawl_round *r)
{
    const struct memory *m = jsonl_mirror(j);
    pawl_round rest = *r;
    pawl_message *messages = pawl_mem_alloc(j->mem, r->message_count * sizeof(*messages));
    pawl_work *work = pawl_mem_alloc(j->mem, r->work_count * sizeof(*work));
    rest.message_count = rest.work_count = 0;
    for (size_t i = 0; i < r->message_count; i++)
        if (!has_message(m, &r->messages[i]))
            messages[rest.message_count++] = r->messages[i];
    for (size_t i = 0; i < r->work_count; i++)
        if (!has_work(m, &r->work[i]))
            work[rest.work_count++] = r->work[i];
    rest.messages = messages;
    rest.work = work;
    return rest;
}

/* ---- Texts ------------------------------------------------------------------------------ */

static char *keep_path(struct jsonl *j, const char *path)
{
    return (char *)(uintptr_t)pawl_mem_dup(j->mem, pawl_s(path)).ptr;
}

/* A new append to the file of `execution`; `fresh`: the file, perhaps the directory, is new. */
static struct buf *begin_append(struct jsonl *j, struct jsonl_batch *b, const pawl_row *row,
                                uint64_t execution, bool fresh)
{
    char path[JSONL_PATH_MAX], dir[JSONL_PATH_MAX];
    struct jsonl_append *a = vec_push(&b->appends);
    assert_that(a && jsonl_file(j, row, execution, path) && jsonl_dir(j, row, dir));
    a->uid = row->uid;
    a->path = keep_path(j, path);
    a->dir = fresh ? keep_path(j, dir) : NULL;
    buf_init(&a->text, JSONL_BYTES_MAX);
    return &a->text;
}

/* How the execution before `execution` ended; NULL: it is the first, or was pruned. */
static const pawl_row *closed_before(const struct jsonl *j, uint64_t uid, uint64_t execution)
{
    const struct memory_instance *i = memory_instance(jsonl_mirror(j), uid);
    const struct memory_execution *x = i ? memory_execution(i, execution - 1) : NULL;
    return x ? &x->closed : NULL;
}

/* Events [from, to) of one execution: one turn. */
static void put_turn(struct jsonl *j, struct jsonl_batch *b, const pawl_round *r, size_t from,
                     size_t to, bool with_keys)
{
    const pawl_event *first = &r->events[from], *last = &r->events[to - 1];
    bool fresh = first->seq == 1;
    struct buf *text = begin_append(j, b, r->row, first->execution, fresh);
    if (fresh) {
        pawl_row row = *r->row;
        if (last->execution != row.execution)
            row.state = PAWL_RUNNING;
        row.execution = last->execution;
        row.last_seq = last->seq;
        row.last_rid = last->rid;
        row.first_rid = first->rid;
        history_put_header(text, &row, closed_before(j, r->uid, first->execution));
    }
    history_put_turn(text, first, to - from, r->row->updated_ms, r->keys,
                     with_keys ? r->key_count : 0);
}

static void put_events(struct jsonl *j, struct jsonl_batch *b, const pawl_round *r)
{
    size_t from = 0;
    for (size_t i = 1; i <= r->event_count; i++) {
        if (i < r->event_count && r->events[i].execution == r->events[from].execution)
            continue;
        put_turn(j, b, r, from, i, from == 0);
        from = i;
    }
    bool has_row = r->change == PAWL_ROW_INSERT || r->change == PAWL_ROW_ALL;
    bool moved = has_row && r->row->execution == r->execution + 1;
    if (moved && (!r->event_count || r->events[r->event_count - 1].execution == r->execution))
        history_put_header(begin_append(j, b, r->row, r->row->execution, true), r->row,
                           closed_before(j, r->uid, r->row->execution));
}

/* A message that is there, or that this very round inserts. */
static const pawl_message *find_message(const struct jsonl *j, const pawl_round *r, uint64_t id)
{
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].id == id)
            return &r->messages[i];
    const struct memory_message *m = memory_message(jsonl_mirror(j), id);
    return m ? &m->message : NULL;
}

static void put_inserts(struct jsonl *j, struct jsonl_batch *b, const pawl_round *r)
{
    bool keys = r->key_count && !r->event_count;
    for (size_t i = 0; i < r->message_count; i++)
        queue_put_message(&b->put_messages, &r->messages[i], r->uid, r->keys,
                          keys && i == 0 ? r->key_count : 0);
    for (size_t i = 0; keys && !r->message_count && i < r->key_count; i++)
        queue_put_key(&b->put_messages, r->uid, r->keys[i]);
    for (size_t i = 0; i < r->message_update_count; i++)
        queue_put_message_update(&b->put_messages, &r->message_updates[i]);
    for (size_t i = 0; i < r->work_count; i++)
        queue_put_work(&b->put_work, &r->work[i]);
    for (size_t i = 0; i < r->work_update_count; i++)
        queue_put_work_update(&b->put_work, &r->work_updates[i]);
    for (size_t i = 0; i < r->quarantine_count; i++) {
        const pawl_message *m = find_message(j, r, r->quarantine[i].id);
        if (!m)
            continue;
        queue_put_aside(&b->put_quarantine, m, r->quarantine[i].reason);
        queue_put_ack(&b->drop_messages, m->id);
    }
}

static void put_drops(struct jsonl_batch *b, const pawl_round *r)
{
    for (size_t i = 0; i < r->drop_message_count; i++)
        queue_put_ack(&b->drop_messages, r->drop_messages[i]);
    for (size_t i = 0; i < r->need_work_count; i++)
        queue_put_ack(&b->drop_work, r->need_work[i]);
    for (size_t i = 0; i < r->drop_work_count; i++)
        queue_put_ack(&b->drop_work, r->drop_work[i]);
}

static void note_row(struct jsonl *j, struct jsonl_batch *b, const pawl_round *r,
                     const pawl_row *before)
{
    if (r->change == PAWL_ROW_INSERT || r->change == PAWL_ROW_ALL) {
        for (size_t i = 0; i < b->rows.count; i++)
            if (b->rows.items[i] == r->uid)
                return;
        uint64_t *slot = vec_push(&b->rows);
        need_memory(slot);
        *slot = r->uid;
    } else if (r->change == PAWL_ROW_REMOVE) {
        pawl_row *slot = vec_push(&b->removed);
        need_memory(slot);
        *slot = (pawl_row){.uid = before->uid, .id = pawl_mem_dup(j->mem, before->id)};
    }
}

/* ---- Rows that the engine has --------------------------------------------------------- */

static void hold_message(struct jsonl *j, uint64_t id)
{
    const struct memory_message *m = memory_message(jsonl_mirror(j), id);
    uint64_t *slot = m && m->taken ? vec_push(&j->held_messages) : NULL;
    need_memory(slot || !m || !m->taken);
    if (slot)
        *slot = id;
}

static void hold_work(struct jsonl *j, uint64_t id)
{
    const struct memory_work *w = memory_work(jsonl_mirror(j), id);
    uint64_t *slot = w && w->taken ? vec_push(&j->held_work) : NULL;
    need_memory(slot || !w || !w->taken);
    if (slot)
        *slot = id;
}

/* The mirror gives up rows that the round changes or drops.  If the commit fails, the engine has
 * their letters and jobs still, and a fetch must not return them a second time. */
static void note_held(struct jsonl *j, const pawl_round *r)
{
    for (size_t i = 0; i < r->message_update_count; i++)
        hold_message(j, r->message_updates[i].id);
    for (size_t i = 0; i < r->quarantine_count; i++)
        hold_message(j, r->quarantine[i].id);
    for (size_t i = 0; i < r->drop_message_count; i++)
        hold_message(j, r->drop_messages[i]);
    for (size_t i = 0; i < r->work_update_count; i++)
        hold_work(j, r->work_updates[i].id);
    for (size_t i = 0; i < r->need_work_count; i++)
        hold_work(j, r->need_work[i]);
    for (size_t i = 0; i < r->drop_work_count; i++)
        hold_work(j, r->drop_work[i]);
}

void round_stage(struct jsonl *j, struct jsonl_batch *b, pawl_round *r, int64_t now_ms)
{
    pawl_round rest = without_known(j, r);
    const struct memory_instance *i = memory_instance(jsonl_mirror(j), r->uid);
    pawl_row before =
        i ? (pawl_row){.uid = r->uid, .id = pawl_mem_dup(j->mem, i->row.id)} : (pawl_row){0};
    struct buf *inserts[] = {&b->put_messages, &b->put_work, &b->put_quarantine, &b->drop_messages};
    size_t lengths[COUNT_OF(inserts)], gone = b->gone.count;
    for (size_t k = 0; k < COUNT_OF(inserts); k++)
        lengths[k] = inserts[k]->len;
    put_inserts(j, b, &rest); /* before it is applied: what it puts aside is still there */
    objects_note_gone(j, b, &rest);
    note_held(j, &rest);
    load_round(j, &rest, now_ms);
    r->result = rest.result;
    r->why = rest.why;
    if (rest.result != PAWL_OK) {
        for (size_t k = 0; k < COUNT_OF(inserts); k++)
            inserts[k]->len = lengths[k];
        b->gone.count = gone;
        return;
    }
    put_events(j, b, &rest);
    put_drops(b, &rest);
    note_row(j, b, r, &before);
    objects_note(b, r);
}
