/* SPDX-License-Identifier: MIT */
/* runtime/instance/ahead.c -- see ahead.h.  Called by loop.c. */
#include "runtime/instance/ahead.h"

#include "runtime/core/coming.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/token.h"
#include "runtime/work/lease.h"
#include "store/store.h"

#define AHEAD_MAX    1024 /* questions at once; what a pass delivers beyond them is read singly */
#define AHEAD_BYTES  ((size_t)4 << 20)   /* of answers to one call, likewise */
#define AHEAD_EVENTS 16384               /* of all histories, likewise */
#define AHEAD_KEPT   ((size_t)256 << 10) /* of that memory, for the next pass */

/* ---- Rows, keys, work ------------------------------------------------------------------ */

struct questions {
    LIST(pawl_wanted) wanted;
    LIST(struct known *) known; /* where the answer is noted; NULL: a resident is enough */
    size_t most;
    bool far; /* a single read is a round trip */
};

static void ask(pawl_runtime *rt, struct questions *q, struct known *to, pawl_wanted wanted)
{
    *list_add(letter_known_mem(rt), &q->wanted) = wanted;
    *list_add(letter_known_mem(rt), &q->known) = to;
}

/* The work row that a token names. */
static void ask_for_token(pawl_runtime *rt, struct questions *q, struct known *to,
                          const char *token)
{
    uint64_t id = token_work(token);
    if (id)
        ask(rt, q, to, (pawl_wanted){.work = id});
}

/* A result or a heartbeat by token: its work row.  Other calls read more than one row. */
static void ask_for_call(pawl_runtime *rt, struct questions *q, struct letter *call)
{
    if (call->ask.op == PAWL_OP_COMPLETE || call->ask.op == PAWL_OP_HEARTBEAT)
        ask_for_token(rt, q, &call->known, call->mail.name.ptr);
}

static struct resident *resident_of(pawl_runtime *rt, const struct letter *l)
{
    return l->uid ? resident_by_uid(rt, l->uid) : resident_by_id(rt, l->instance);
}

/* Its instance, unless that is in memory, and its key. */
static void ask_for_mail(pawl_runtime *rt, struct questions *q, struct letter *l)
{
    if (l->mail.kind == PAWL_MSG_QUEUE_PUSH || l->mail.kind == PAWL_MSG_SCHEDULE ||
        (!l->uid && !l->instance.len))
        return;
    const struct resident *r = resident_of(rt, l);
    if (!r && coming_is_bold(rt, l))
        return;
    if (!r)
        coming_looked(rt, l);
    if (!r)
        ask(rt, q, &l->known, (pawl_wanted){.uid = l->uid, .id = l->instance, .key = l->key});
    else if (l->key.len)
        ask(rt, q, &l->known, (pawl_wanted){.uid = r->row.uid, .key = l->key, .key_only = true});
}

static void ask_for_job(pawl_runtime *rt, struct questions *q, const struct job *job)
{
    if (!resident_by_uid(rt, job->work.uid))
        ask(rt, q, NULL, (pawl_wanted){.uid = job->work.uid});
}

static void ask_for_item(pawl_runtime *rt, struct questions *q, struct item *item)
{
    if (item->kind == ITEM_REQUEST) {
        struct letter *l = letter_of_item(item);
        if (letter_is_mail(l))
            ask_for_mail(rt, q, l);
        else
            ask_for_call(rt, q, l);
    } else if (q->far && item->kind == ITEM_JOB) {
        ask_for_job(rt, q, (struct job *)(void *)item);
    } else if (q->far && item->kind == ITEM_LEASE) {
        struct lease_call *call = (struct lease_call *)(void *)item;
        ask_for_token(rt, q, &call->known, call->token);
    }
}

/* Trouble is not noted: the letter that needs the answer asks again, and says what is wrong. */
static void note(pawl_runtime *rt, struct known *to, const pawl_wanted *w)
{
    if (w->status == PAWL_OK && w->row && !resident_by_uid(rt, w->row->uid) &&
        !resident_add(rt, w->row))
        return;
    if (!to || (w->status != PAWL_OK && w->status != PAWL_NOT_FOUND))
        return;
    bool keyed = w->status == PAWL_OK && w->key.len;
    *to = (struct known){.pass = letter_pass(rt),
                         .absent = w->status == PAWL_NOT_FOUND,
                         .key = keyed ? w->key_status : PAWL_UNAVAILABLE,
                         .work = w->work && w->status == PAWL_OK ? w->item : NULL};
}

static void look_for_rows(pawl_runtime *rt, struct questions *q)
{
    pawl_error err;
    for (struct letter *l = letter_first(rt); l && q->wanted.count < q->most; l = l->next)
        ask_for_mail(rt, q, l);
    for (struct item *i = items_first(rt); i && q->wanted.count < q->most; i = i->next)
        ask_for_item(rt, q, i);
    if (!q->wanted.count || store_load(rt->store, q->wanted.items, q->wanted.count, AHEAD_BYTES,
                                       letter_known_mem(rt), &err) != PAWL_OK)
        return;
    for (size_t i = 0; i < q->wanted.count; i++)
        note(rt, q->known.items[i], &q->wanted.items[i]);
}

/* ---- Histories and messages ------------------------------------------------------------ */

struct histories {
    LIST(pawl_wanted_history) wanted;
    LIST(struct resident *) residents;
    uint64_t events;
};

/* Will this message make it run (turn.c: run)? */
static bool will_run(pawl_runtime *rt, const struct resident *r, int kind)
{
    const pawl_row *row = &r->row;
    return !r->x && !r->stage && row->last_seq && kind != PAWL_MSG_START &&
           !pawl_state_is_terminal(row->state) && row->state != PAWL_BLOCKED &&
           (row->state != PAWL_SUSPENDED || kind == PAWL_MSG_RESUME) &&
           registry_code(rt->app, row->orchestration, row->version);
}

static void want(pawl_runtime *rt, struct histories *h, struct resident *r, int kind)
{
    if (!r || r->ahead_pass == letter_pass(rt) || !will_run(rt, r, kind) ||
        h->events + r->row.last_seq > AHEAD_EVENTS)
        return;
    r->ahead = NULL;
    r->ahead_pass = letter_pass(rt); /* it is wanted once */
    h->events += r->row.last_seq;
    *list_add(letter_known_mem(rt), &h->wanted) =
        (pawl_wanted_history){.uid = r->row.uid, .execution = r->row.execution};
    *list_add(letter_known_mem(rt), &h->residents) = r;
}

static void want_item(pawl_runtime *rt, struct histories *h, struct item *item)
{
    if (item->kind == ITEM_JOB) {
        uint64_t uid = ((struct job *)(void *)item)->work.uid;
        want(rt, h, resident_by_uid(rt, uid), PAWL_MSG_ACTIVITY_COMPLETED);
    } else if (item->kind == ITEM_REQUEST && letter_is_mail(letter_of_item(item))) {
        const struct letter *l = letter_of_item(item);
        want(rt, h, resident_of(rt, l), l->mail.kind);
    }
}

static void look_for_histories(pawl_runtime *rt, size_t most)
{
    struct histories h = {0};
    pawl_error err;
    for (struct letter *l = letter_first(rt); l && h.wanted.count < most; l = l->next)
        want(rt, &h, resident_of(rt, l), l->mail.kind);
    for (struct item *i = items_first(rt); i && h.wanted.count < most; i = i->next)
        want_item(rt, &h, i);
    if (!h.wanted.count || store_load_histories(rt->store, h.wanted.items, h.wanted.count,
                                                AHEAD_BYTES, letter_known_mem(rt), &err) != PAWL_OK)
        return;
    for (size_t i = 0; i < h.wanted.count; i++)
        if (h.wanted.items[i].status == PAWL_OK)
            h.residents.items[i]->ahead = &h.wanted.items[i];
}

void ahead_look(pawl_runtime *rt)
{
    struct questions q = {
        .most = rt->opts.group_limit < AHEAD_MAX ? rt->opts.group_limit : AHEAD_MAX,
        .far = store_has_load_histories(rt->store),
    };
    arena_recycle(letter_known_mem(rt), AHEAD_KEPT);
    look_for_rows(rt, &q);
    if (q.far)
        look_for_histories(rt, q.most);
}
