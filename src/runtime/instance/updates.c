/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/updates.c -- see updates.h.
 *
 * The calls of one instance hang in a list, oldest first: code that serves a name answers in that
 * order, so the one that is looked for is near the head.
 */
#include "runtime/instance/updates.h"

#include "base/rand.h"
#include "runtime/core/letter.h"
#include "runtime/core/owed.h"

#include <stdlib.h>
#include <string.h>

/* A call that hangs. */
struct update_call {
    struct heap_node limit; /* first; mono */
    struct update_call *prev, *next;
    struct update_box *box;
    struct letter *letter;
    pawl_str id; /* behind this */
    char room[];
};

/* Those of one instance. */
struct update_box {
    uint64_t uid;
    struct update_call *head, *tail;
};

static pawl_str id_of(pawl_mem *mem, const struct letter *l)
{
    return pawl_json_text(mem, l->mail.attrs, "/update", "");
}

void updates_name(pawl_runtime *rt, struct letter *l)
{
    const size_t prefix = sizeof(UPDATE_KEY) - 1;
    char made[37];
    pawl_str id = l->key.len ? (pawl_str){l->key.ptr + prefix, l->key.len - prefix}
                             : (pawl_str){made, sizeof(made) - 1};
    if (l->attrs) /* it comes again */
        return;
    if (!l->key.len) {
        uint8_t bits[10];
        rt->env.random(rt->env.user, bits, sizeof(bits));
        uuid7_format(made, rt->now_ms, bits);
    }
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    pawl_json_key(w, "update");
    pawl_json_str(w, id);
    pawl_json_end(w);
    letter_set_attrs(l, pawl_json_done(w));
}

static struct update_box *box_of(pawl_runtime *rt, uint64_t uid)
{
    struct update_box *box = map_get(&rt->mail.updates.by_uid, uid);
    if (box)
        return box;
    box = calloc(1, sizeof(*box));
    need_memory(box && map_put(&rt->mail.updates.by_uid, uid, box));
    box->uid = uid;
    return box;
}

/* The update is a row or an event now: of the letter only who is to be told is needed. */
static struct letter *without_mail(struct letter *l)
{
    free(l->attrs);
    l->attrs = NULL;
    l->mail = (struct mail){.kind = PAWL_MSG_UPDATE};
    l->key = l->instance = (pawl_str){0};
    struct letter *small = realloc(l, sizeof(*l));
    if (small)
        return small;
    return l;
}

void updates_hang(pawl_runtime *rt, struct stage *s, struct letter *l)
{
    pawl_str id = id_of(&rt->group_mem, l);
    struct update_call *c = calloc(1, sizeof(*c) + id.len + 1);
    need_memory(c);
    memcpy(c->room, id.ptr, id.len);
    c->id = (pawl_str){c->room, id.len};
    owed_done(&l->item); /* what is owed now, its code owes */
    c->letter = without_mail(l);
    c->box = box_of(rt, s->row.uid);
    c->prev = c->box->tail;
    *(c->prev ? &c->prev->next : &c->box->head) = c;
    c->box->tail = c;
    int64_t now = rt_mono(rt);
    int64_t wait_ms = c->letter->ask.wait_ms;
    c->limit.key = wait_ms < INT64_MAX - now ? now + wait_ms : INT64_MAX;
    need_memory(heap_push(&rt->mail.updates.limits, &c->limit));
}

/* Answer it and forget it. */
static void end_call(pawl_runtime *rt, struct update_call *c, pawl_reply *reply)
{
    struct update_box *box = c->box;
    *(c->prev ? &c->prev->next : &box->head) = c->next;
    *(c->next ? &c->next->prev : &box->tail) = c->prev;
    if (!box->head)
        free(map_remove(&rt->mail.updates.by_uid, box->uid));
    heap_remove(&rt->mail.updates.limits, &c->limit);
    reply->update = c->id;
    request_answer(c->letter, reply);
    free(c);
}

static void end_refused(pawl_runtime *rt, struct update_call *c, pawl_status status, pawl_str why)
{
    pawl_reply reply = {.status = status, .error.status = status};
    size_t most = sizeof(reply.error.text) - 1, n = why.len < most ? why.len : most;
    memcpy(reply.error.text, why.ptr, n);
    end_call(rt, c, &reply);
}

/* All calls for this update: its id may have been given by several. */
static void tell_answer(pawl_runtime *rt, const struct stage *s, const pawl_event *e)
{
    struct update_box *box = map_get(&rt->mail.updates.by_uid, s->row.uid);
    if (!box || e->kind != PAWL_EV_UPDATE_ANSWERED)
        return;
    pawl_str id = pawl_json_text(&rt->group_mem, e->attrs, "/update", "");
    for (struct update_call *c = box->head; c; c = c->next)
        if (pawl_str_eq(c->id, id)) {
            end_call(rt, c,
                     &(pawl_reply){.status = PAWL_OK,
                                   .answered = true,
                                   .rejected = pawl_json_bool(e->attrs, "/rejected", false),
                                   .value = e->data});
            return; /* a second call with this id does not hang */
        }
}

static void tell_refused(pawl_runtime *rt, const struct stage *s, const struct refused_update *u)
{
    struct update_box *box = map_get(&rt->mail.updates.by_uid, s->row.uid);
    for (struct update_call *c = box ? box->head : NULL; c; c = c->next)
        if (pawl_str_eq(c->id, u->update)) {
            end_refused(rt, c, PAWL_INVALID, u->why);
            return;
        }
}

void updates_tell(pawl_runtime *rt, const struct stage *s)
{
    if (!rt->mail.updates.by_uid.count || !s->r)
        return;
    for (size_t i = 0; i < s->events.count; i++)
        tell_answer(rt, s, &s->events.items[i]);
    for (size_t i = 0; i < s->turn.refused_count; i++)
        tell_refused(rt, s, &s->turn.refused[i]);
    if (!s->ended && !s->removed && !s->mail_gone)
        return;
    struct update_box *box = map_get(&rt->mail.updates.by_uid, s->row.uid);
    for (struct update_call *c = box ? box->head : NULL, *next; c; c = next) {
        next = c->next;
        end_refused(rt, c, PAWL_LOST,
                    pawl_s(s->removed ? "the instance was removed before it took the update"
                                      : "the instance ended before it took the update"));
    }
}

void updates_answer_repeated(struct letter *l)
{
    const size_t prefix = sizeof(UPDATE_KEY) - 1;
    letter_answer(l, &(pawl_reply){
                         .status = PAWL_OK,
                         .repeated = true,
                         .update = {l->key.ptr + prefix, l->key.len - prefix}
    });
}

void updates_look(pawl_runtime *rt)
{
    struct heap_node *first;
    if (!rt->mail.updates.limits.count)
        return;
    int64_t now = rt_mono(rt);
    while ((first = heap_top(&rt->mail.updates.limits)) && first->key <= now)
        end_call(rt, (struct update_call *)(void *)first, &(pawl_reply){.status = PAWL_OK});
}

int64_t updates_next(const pawl_runtime *rt)
{
    const struct heap_node *first = heap_top(&rt->mail.updates.limits);
    return first ? first->key : INT64_MAX;
}

void updates_stop_waiting(pawl_runtime *rt, const void *arg)
{
    for (size_t i = 0; i < rt->mail.updates.limits.count; i++) {
        struct update_call *c = (struct update_call *)(void *)rt->mail.updates.limits.nodes[i];
        if (c->letter->ask.arg != arg)
            continue;
        end_call(rt, c, &(pawl_reply){.status = PAWL_OK});
        return;
    }
}

void updates_refuse_all(pawl_runtime *rt, pawl_status status, const char *text)
{
    struct heap_node *first;
    while ((first = heap_top(&rt->mail.updates.limits)))
        end_refused(rt, (struct update_call *)(void *)first, status, pawl_s(text));
}

void updates_open(pawl_runtime *rt)
{
    map_init(&rt->mail.updates.by_uid);
    heap_init(&rt->mail.updates.limits);
}

void updates_free(pawl_runtime *rt)
{
    assert_that(!rt->mail.updates.limits.count);
    map_deinit(&rt->mail.updates.by_uid);
    heap_deinit(&rt->mail.updates.limits);
}
