/* SPDX-License-Identifier: MIT */
/* runtime/core/stage.c -- see stage.h.  Collecting; seal.c turns it into rows. */
#include "runtime/core/stage.h"

#include "runtime/core/here.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/slots.h"
#include "runtime/core/user_fault.h"

#include <string.h>

static struct stage *stage_make(pawl_runtime *rt)
{
    struct stage *s = arena_new(&rt->group_mem, struct stage);
    s->letters_end = &s->letters;
    s->turn.mem = &rt->group_mem;
    s->now_ms = rt->now_ms;
    return s;
}

struct stage *stage_bare(pawl_runtime *rt)
{
    struct stage *s = stage_make(rt);
    *rt->staging.end = s;
    rt->staging.end = &s->next;
    rt->staging.count++;
    return s;
}

struct stage *stage_early(pawl_runtime *rt)
{
    struct stage *s = stage_make(rt);
    s->next = *rt->staging.early_end;
    *rt->staging.early_end = s;
    if (rt->staging.end == rt->staging.early_end)
        rt->staging.end = &s->next;
    rt->staging.early_end = &s->next;
    rt->staging.count++;
    return s;
}

struct stage *stage_of(pawl_runtime *rt, struct resident *r)
{
    if (r->stage)
        return r->stage;
    struct stage *s = stage_bare(rt);
    s->r = r;
    s->row = r->row;
    s->base_execution = r->row.execution;
    s->base_seq = r->row.last_seq;
    s->base_rid = r->row.last_rid;
    r->stage = s;
    return s;
}

struct letter *stage_abort(pawl_runtime *rt, struct stage *s)
{
    assert_that(!s->call); /* what a call staged is not shared (retry unpiles, the rest is bare) */
    struct stage **at = &rt->staging.first;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (!s->next)
        rt->staging.end = at;
    rt->staging.count--;
    if (s->r)
        s->r->stage = NULL;
    return s->letters;
}

void stage_row_changed(struct stage *s)
{
    if (s->change != PAWL_ROW_INSERT)
        s->change = PAWL_ROW_ALL;
}

void stage_take(struct stage *s, struct letter *l)
{
    l->next = NULL;
    *s->letters_end = l;
    s->letters_end = &l->next;
}

void stage_answer(struct stage *s, struct letter *call)
{
    assert_that(!s->call && !letter_is_mail(call));
    s->call = call;
}

/* A row inserted by this very round is simply not inserted. */
static bool forget_insert(struct stage *s, uint64_t id)
{
    for (size_t i = 0; i < s->messages.count; i++) {
        if (s->messages.items[i].id != id)
            continue;
        memmove(&s->messages.items[i], &s->messages.items[i + 1],
                (s->messages.count - i - 1) * sizeof(s->messages.items[0]));
        s->messages.count--;
        return true;
    }
    return false;
}

void stage_drop_message(pawl_runtime *rt, struct stage *s, uint64_t id)
{
    if (!id || forget_insert(s, id))
        return;
    for (size_t i = 0; i < s->message_updates.count; i++)
        if (s->message_updates.items[i].id == id)
            s->message_updates.items[i] = s->message_updates.items[--s->message_updates.count];
    *list_add(&rt->group_mem, &s->drop_messages) = id;
}

bool stage_forget_drop(struct stage *s, uint64_t id)
{
    bool found = false;
    for (size_t i = 0; i < s->drop_messages.count; i++)
        while (i < s->drop_messages.count && s->drop_messages.items[i] == id) {
            s->drop_messages.items[i] = s->drop_messages.items[--s->drop_messages.count];
            found = true;
        }
    return found;
}

pawl_str stage_was_attrs(pawl_runtime *rt, uint64_t message_id)
{
    return pawl_mem_printf(&rt->group_mem, "{\"was\":%llu}", (unsigned long long)message_id);
}

void stage_return(pawl_runtime *rt, struct stage *s, const struct mail *mail)
{
    uint64_t id = mail->id;
    if (stage_forget_drop(s, id)) {
        pawl_message_update *u = list_add(&rt->group_mem, &s->message_updates);
        *u = (pawl_message_update){.id = id, .mailbox = true};
        return;
    }
    pawl_message *m = list_add(&rt->group_mem, &s->messages);
    *m = (pawl_message){.id = id,
                        .uid = s->row.uid,
                        .kind = mail->kind,
                        .shard = s->row.shard,
                        .name = arena_dup(&rt->group_mem, mail->name),
                        .data = arena_dup(&rt->group_mem, mail->data),
                        .attrs = arena_dup(&rt->group_mem, mail->attrs),
                        .created_ms = s->now_ms,
                        .mailbox = true};
    for (size_t i = 0; i < s->adoptions.count; i++)
        if (s->adoptions.items[i].id == id)
            m->attrs = stage_was_attrs(rt, s->adoptions.items[i].was);
}

pawl_message *stage_send(pawl_runtime *rt, struct stage *s, int kind, uint64_t uid,
                         pawl_str instance)
{
    pawl_message *m = list_add(&rt->group_mem, &s->messages);
    m->id = rt_new_id(rt);
    m->kind = kind;
    m->shard = uid && uid == s->row.uid ? s->row.shard : rt_shard_look(rt);
    m->uid = uid;
    m->instance = instance;
    m->created_ms = s->now_ms;
    return m;
}

struct timer_note *stage_timer(pawl_runtime *rt, struct stage *s, int kind, uint64_t ref,
                               int64_t due_ms)
{
    struct timer_note *t = list_add(&rt->group_mem, &s->timers);
    *t = (struct timer_note){kind, s->row.execution, ref, due_ms};
    return t;
}

void stage_keep(pawl_runtime *rt, struct stage *s, const struct letter *l, bool mailbox)
{
    if (l->stored) {
        if (!mailbox) /* the row waits as it is */
            return;
        pawl_message_update *u = list_add(&rt->group_mem, &s->message_updates);
        *u = (pawl_message_update){.id = l->mail.id, .attempt = l->attempt, .mailbox = true};
        return;
    }
    pawl_message *m = list_add(&rt->group_mem, &s->messages);
    *m = (pawl_message){.id = l->mail.id ? l->mail.id : rt_new_id(rt),
                        .uid = l->uid,
                        .instance = l->instance,
                        .kind = l->mail.kind,
                        .shard = s->r ? s->row.shard : rt_shard_look(rt),
                        .execution = l->mail.execution,
                        .ref = l->mail.ref,
                        .name = l->mail.name,
                        .data = l->mail.data,
                        .attrs = l->mail.attrs,
                        .created_ms = l->created_ms ? l->created_ms : s->now_ms,
                        .mailbox = mailbox};
    if (s->r && !m->uid) {
        m->uid = s->row.uid;
        m->instance = (pawl_str){0};
    }
}

void turn_clock_start(pawl_runtime *rt, const struct code_entry *code, const pawl_row *row)
{
    atomic_store_explicit(&rt->staging.turn_code, code, memory_order_relaxed);
    if (here_has_threads(rt))
        atomic_store_explicit(&rt->staging.turn_began_ms, rt_mono(rt), memory_order_relaxed);
    slots_turn(rt->slots, row->uid, rt->staging.turn_item);
    fault_turn(code, row);
}

void turn_clock_stop(pawl_runtime *rt)
{
    atomic_store_explicit(&rt->staging.turn_began_ms, 0, memory_order_relaxed);
    slots_turn(rt->slots, 0, 0);
    fault_turn(NULL, NULL);
}

bool stage_has_work(const pawl_runtime *rt, uint64_t id)
{
    for (const struct stage *s = rt->staging.first; s; s = s->next) {
        for (size_t i = 0; i < s->work_updates.count; i++)
            if (s->work_updates.items[i].id == id)
                return true;
        for (size_t i = 0; i < s->need_work.count; i++)
            if (s->need_work.items[i] == id)
                return true;
    }
    return letter_has_work(rt, id);
}

static void give_back(void *arg, const struct mail *m)
{
    struct stage *s = arg;
    stage_return(s->r->rt, s, m);
}

void stage_drop_consumed(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    const uint64_t *ids;
    size_t n = execution_consumed(r->x, &ids);
    for (size_t i = 0; i < n; i++)
        stage_drop_message(rt, s, ids[i]);
    for (size_t i = 0; i < s->turn.discarded_count; i++)
        stage_drop_message(rt, s, s->turn.discarded[i]);
    s->turn.discarded_count = 0;
    execution_returned(r->x, give_back, s);
}

struct stage *stage_all(pawl_runtime *rt)
{
    struct stage *first = rt->staging.first;
    rt->staging.first = NULL;
    rt->staging.end = rt->staging.early_end = &rt->staging.first;
    rt->staging.count = 0;
    return first;
}

void stage_open(pawl_runtime *rt)
{
    rt->staging.end = rt->staging.early_end = &rt->staging.first;
    rt->env.random(rt->env.user, rt->staging.seed_key, sizeof(rt->staging.seed_key));
}
