/* SPDX-License-Identifier: MIT */
/* runtime/instance/ahead.c -- see ahead.h.  Called by loop.c. */
#include "runtime/instance/ahead.h"

#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/token.h"
#include "store/store.h"

#define AHEAD_MAX   1024 /* questions at once; what a pass delivers beyond them is read singly */
#define AHEAD_BYTES ((size_t)4 << 20)   /* of answers, likewise */
#define AHEAD_KEPT  ((size_t)256 << 10) /* of that memory, for the next pass */

struct questions {
    LIST(pawl_wanted) wanted;
    LIST(struct letter *) letters; /* whose question it is */
};

static void ask(pawl_runtime *rt, struct questions *q, struct letter *l, pawl_wanted wanted)
{
    *list_add(letter_known_mem(rt), &q->wanted) = wanted;
    *list_add(letter_known_mem(rt), &q->letters) = l;
}

/* A result or a heartbeat by token: its work row.  Other calls read more than one row. */
static void ask_for_call(pawl_runtime *rt, struct questions *q, struct letter *call)
{
    bool by_token = call->ask.op == PAWL_OP_COMPLETE || call->ask.op == PAWL_OP_HEARTBEAT;
    uint64_t id = by_token ? token_work(call->mail.name.ptr) : 0;
    if (id)
        ask(rt, q, call, (pawl_wanted){.work = id});
}

/* Its instance, unless that is in memory, and its key. */
static void ask_for_mail(pawl_runtime *rt, struct questions *q, struct letter *l)
{
    if (l->mail.kind == PAWL_MSG_QUEUE_PUSH || l->mail.kind == PAWL_MSG_SCHEDULE ||
        (!l->uid && !l->instance.len))
        return;
    const struct resident *r =
        l->uid ? resident_by_uid(rt, l->uid) : resident_by_id(rt, l->instance);
    if (!r)
        ask(rt, q, l, (pawl_wanted){.uid = l->uid, .id = l->instance, .key = l->key});
    else if (l->key.len)
        ask(rt, q, l, (pawl_wanted){.uid = r->row.uid, .key = l->key, .key_only = true});
}

static void ask_for_item(pawl_runtime *rt, struct questions *q, struct item *item)
{
    struct letter *l = item->kind == ITEM_REQUEST ? letter_of_item(item) : NULL;
    if (l && letter_is_mail(l))
        ask_for_mail(rt, q, l);
    else if (l)
        ask_for_call(rt, q, l);
}

/* Trouble is not noted: the letter that needs the answer asks again, and says what is wrong. */
static void note(pawl_runtime *rt, struct letter *l, const pawl_wanted *w)
{
    if (w->status == PAWL_OK && w->row && !resident_by_uid(rt, w->row->uid) &&
        !resident_add(rt, w->row))
        return;
    if (w->status != PAWL_OK && w->status != PAWL_NOT_FOUND)
        return;
    bool keyed = w->status == PAWL_OK && w->key.len;
    letter_know(rt, l,
                &(struct known){.absent = w->status == PAWL_NOT_FOUND,
                                .key = keyed ? w->key_status : PAWL_UNAVAILABLE,
                                .work = w->work && w->status == PAWL_OK ? w->item : NULL});
}

void ahead_look(pawl_runtime *rt)
{
    struct questions q = {0};
    pawl_error err;
    size_t most = rt->opts.group_limit < AHEAD_MAX ? rt->opts.group_limit : AHEAD_MAX;
    arena_recycle(letter_known_mem(rt), AHEAD_KEPT);
    for (struct letter *l = letter_first(rt); l && q.wanted.count < most; l = l->next)
        ask_for_mail(rt, &q, l);
    for (struct item *i = items_first(rt); i && q.wanted.count < most; i = i->next)
        ask_for_item(rt, &q, i);
    if (!q.wanted.count || store_load(rt->store, q.wanted.items, q.wanted.count, AHEAD_BYTES,
                                      letter_known_mem(rt), &err) != PAWL_OK)
        return;
    for (size_t i = 0; i < q.wanted.count; i++)
        note(rt, q.letters.items[i], &q.wanted.items[i]);
}
