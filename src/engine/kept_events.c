/* SPDX-License-Identifier: MIT */
/*
 * engine/kept_events.c -- events and updates that came, waits that are open, by name.
 *
 * A channel is one name of an event, or of an update: its open waits and its kept events, both oldest first.
 * Kept events are also on one list in order of arrival; the next execution of a
 * ContinueAsNew takes that list over as it is.  Kept events, and the pile of each name, live
 * in an arena of their own.  It is emptied whenever the mailbox is, and copied when most of it
 * is free, so a long-lived execution does not grow with the events it has taken.
 *
 * An event that a wait took and that the code did not see comes back to its old place:
 * kept events are in the order of their row ids, which is the order of their arrival.
 *
 * Only live messages meet the mailbox: what history says was taken is gone from
 * the store already, so replay never looks here (SEMANTICS 16).
 *
 * Called by: apply.c, task.c, decide.c, the runtime on load and ContinueAsNew.
 */
#include "base/rand.h"
#include "base/vec.h"
#include "engine/engine_private.h"

#include <string.h>

#define BUCKETS_FIRST 8
#define MOVED_WASTE   (256 << 10) /* of kept events that are gone: not worth a copy */

static void grow(execution *x);
static size_t bucket_of(pawl_str name, size_t count);
static struct mail mail_of(const struct kept_event *m);
static void push_consumed(execution *x, uint64_t id);

bool execution_mailbox_add(execution *x, uint64_t message_id, pawl_str name, pawl_str data)
{
    return execution_mailbox_keep(
        x, &(struct mail){
               .id = message_id, .kind = PAWL_MSG_EXTERNAL_RAISED, .name = name, .data = data});
}

bool execution_mailbox_keep(execution *x, const struct mail *mail)
{
    if (!execution_enter(x, NULL, 0, NULL))
        return x->outcome != ENGINE_NO_MEMORY;
    if (setjmp(x->guard) == 0) {
        struct kept_event *m = mailbox_put(x, mail);
        if (m->pile->channel->wait_head)
            x->mail_matchable = true;
    }
    return execution_leave(x) != ENGINE_NO_MEMORY;
}

/* Is most of its memory that of kept events that are gone?  Then it is copied once. */
static bool is_worth_copying(const execution *x)
{
    size_t live = x->mail_bytes + x->mail_count * (sizeof(struct kept_event) + sizeof(struct pile));

    return arena_bytes(&x->mail_mem) > 3 * live + MOVED_WASTE;
}

static bool copy_mail(execution *to, const execution *from)
{
    bool ok = true;

    for (const struct kept_event *m = from->mail_head; m && ok; m = m->next) {
        struct mail mail = mail_of(m);
        ok = execution_mailbox_keep(to, &mail);
    }
    return ok;
}

/* Kept events and piles as they are; only the channels are new. */
static void move_mail(execution *to, execution *from)
{
    to->mail_mem.head = from->mail_mem.head;
    to->mail_mem.at = from->mail_mem.at;
    to->mail_mem.end = from->mail_mem.end;
    to->mail_mem.total = from->mail_mem.total;
    to->mail_head = from->mail_head;
    to->mail_tail = from->mail_tail;
    to->mail_count = from->mail_count;
    to->mail_bytes = from->mail_bytes;
    to->back_count = from->back_count;
    from->mail_mem.head = NULL;
    from->mail_mem.at = from->mail_mem.end = NULL;
    from->mail_mem.total = 0;
    from->mail_head = from->mail_tail = NULL;
    from->mail_count = from->mail_bytes = from->back_count = 0;
    for (size_t i = 0; i < from->bucket_count; i++)
        for (struct channel *ch = from->buckets[i]; ch; ch = ch->next) {
            struct pile *mail = ch->mail;
            ch->mail = NULL;
            if (!mail)
                continue;
            mail->channel = channel_find(to, ch->update, ch->name, true);
            mail->channel->mail = mail;
        }
}

bool execution_mailbox_move(execution *to, execution *from)
{
    assert_that(to->mail_count == 0);
    if (from->mail_count == 0)
        return true;
    if (is_worth_copying(from))
        return copy_mail(to, from);
    arena_deinit(&to->mail_mem);
    if (!execution_enter(to, NULL, 0, NULL))
        return false;
    if (setjmp(to->guard) == 0)
        move_mail(to, from);
    return execution_leave(to) != ENGINE_NO_MEMORY;
}

static struct mail mail_of(const struct kept_event *m)
{
    const struct channel *ch = m->pile->channel;

    return (struct mail){.id = m->id,
                         .kind = ch->update ? PAWL_MSG_UPDATE : PAWL_MSG_EXTERNAL_RAISED,
                         .name = ch->name,
                         .data = m->data,
                         .attrs = m->attrs};
}

void execution_mailbox_each(execution *x, mail_fn *take, void *arg)
{
    for (const struct kept_event *m = x->mail_head; m; m = m->next) {
        struct mail mail = mail_of(m);
        take(arg, &mail);
    }
}

size_t execution_mailbox_count(const execution *x)
{
    return x->mail_count;
}

size_t execution_dropped(const execution *x)
{
    return x->dropped;
}

size_t execution_mailbox_bytes(const execution *x)
{
    return x->mail_bytes;
}

bool execution_waits_for(const execution *x, int message_kind, pawl_str name)
{
    bool update = message_kind == PAWL_MSG_UPDATE;

    if (!x->bucket_count)
        return false;
    const struct channel *ch = x->buckets[bucket_of(name, x->bucket_count)];
    while (ch && (ch->update != update || !pawl_str_eq(ch->name, name)))
        ch = ch->next;
    return ch && ch->wait_head;
}

size_t execution_consumed(execution *x, const uint64_t **retids)
{
    size_t n = x->consumed_taken ? 0 : x->consumed_count;

    *retids = x->consumed;
    x->consumed_taken = true;
    return n;
}

void execution_returned(execution *x, mail_fn *take, void *arg)
{
    for (struct kept_event *m = x->mail_head; m && x->back_count; m = m->next)
        if (m->back) {
            m->back = false;
            x->back_count--;
            struct mail mail = mail_of(m);
            take(arg, &mail);
        }
}

struct channel *channel_find(execution *x, bool update, pawl_str name, bool make)
{
    if (x->bucket_count == 0 || x->channel_count >= x->bucket_count) {
        if (!make && x->bucket_count == 0)
            return NULL;
        grow(x);
    }
    struct channel **at = &x->buckets[bucket_of(name, x->bucket_count)];

    for (struct channel *ch = *at; ch; ch = ch->next)
        if (ch->update == update && pawl_str_eq(ch->name, name))
            return ch;
    if (!make)
        return NULL;
    struct channel *ch = arena_new(&x->mem, struct channel);
    ch->name = arena_dup(&x->mem, name);
    ch->update = update;
    ch->next = *at;
    *at = ch;
    x->channel_count++;
    return ch;
}

void channel_open_wait(execution *x, struct task *t, pawl_str name)
{
    bool update = t->kind == PAWL_EV_UPDATE_WAITED;
    struct channel *ch = channel_find(x, update, name, true);

    if (update)
        t->update = arena_new(&x->mem, struct update);
    t->channel = ch;
    t->scope->waits = true;
    t->name = ch->name;
    t->wait_prev = ch->wait_tail;
    if (ch->wait_tail)
        ch->wait_tail->wait_next = t;
    else
        ch->wait_head = t;
    ch->wait_tail = t;
    if (ch->mail)
        x->mail_matchable = true;
}

void channel_close_wait(struct task *t)
{
    struct channel *ch = t->channel;

    if (t->wait_prev)
        t->wait_prev->wait_next = t->wait_next;
    else
        ch->wait_head = t->wait_next;
    if (t->wait_next)
        t->wait_next->wait_prev = t->wait_prev;
    else
        ch->wait_tail = t->wait_prev;
    t->wait_prev = t->wait_next = NULL;
}

/* Link it in before `later` and before `next_same`, the next of its channel; NULL: at the end. */
static void link_kept(execution *x, struct kept_event *m, struct kept_event *later,
                      struct kept_event *prev_same)
{
    struct pile *pile = m->pile;

    m->next_same = prev_same ? prev_same->next_same : pile->head;
    *(prev_same ? &prev_same->next_same : &pile->head) = m;
    if (!m->next_same)
        pile->tail = m;
    m->next = later;
    m->prev = later ? later->prev : x->mail_tail;
    *(m->prev ? &m->prev->next : &x->mail_head) = m;
    *(later ? &later->prev : &x->mail_tail) = m;
    x->mail_count++;
    x->mail_bytes += m->data.len;
}

static struct kept_event *make_kept(execution *x, uint64_t id, struct channel *ch, pawl_str data,
                                    pawl_str attrs)
{
    struct kept_event *m = arena_new(&x->mail_mem, struct kept_event);

    if (!ch->mail) {
        struct pile *pile = arena_new(&x->mail_mem, struct pile);
        pile->channel = ch;
        ch->mail = pile;
    }
    m->id = id;
    m->pile = ch->mail;
    m->data = arena_dup(&x->mail_mem, data);
    if (ch->update)
        m->attrs = arena_dup(&x->mail_mem, attrs);
    return m;
}

struct kept_event *mailbox_put(execution *x, const struct mail *mail)
{
    struct channel *ch = channel_find(x, mail->kind == PAWL_MSG_UPDATE, mail->name, true);
    struct kept_event *m = make_kept(x, mail->id, ch, mail->data, mail->attrs);

    link_kept(x, m, NULL, m->pile->tail);
    return m;
}

void mailbox_give_back(execution *x, struct task *t)
{
    pawl_str attrs = t->update ? update_attrs(x->turn->mem, t->update->id) : (pawl_str){0};
    struct kept_event *m = make_kept(x, t->message, t->channel, t->value, attrs);
    struct kept_event *later = x->mail_head, *prev_same = NULL;

    for (; later && later->id < m->id; later = later->next)
        if (later->pile == m->pile)
            prev_same = later;
    link_kept(x, m, later, prev_same);
    m->back = true;
    x->back_count++;
    if (t->channel->wait_head)
        x->mail_matchable = true;
    if (x->settling)
        x->settle_next = x->open_head; /* mail has grown: walk the open waits again */
}

void unseen_add(execution *x, struct task *t)
{
    t->unseen = true;
    t->wait_prev = x->unseen_tail;
    *(t->wait_prev ? &t->wait_prev->wait_next : &x->unseen_head) = t;
    x->unseen_tail = t;
}

void unseen_remove(execution *x, struct task *t)
{
    if (!t->unseen)
        return;
    *(t->wait_prev ? &t->wait_prev->wait_next : &x->unseen_head) = t->wait_next;
    *(t->wait_next ? &t->wait_next->wait_prev : &x->unseen_tail) = t->wait_prev;
    t->wait_prev = t->wait_next = NULL;
    t->unseen = false;
}

void mailbox_remove(execution *x, struct kept_event *m)
{
    struct pile *pile = m->pile;

    assert_that(pile->head == m && x->mail_count > 0);
    pile->head = m->next_same;
    if (!pile->head) /* its memory goes with the kept events' */
        pile->channel->mail = NULL;
    if (m->prev)
        m->prev->next = m->next;
    else
        x->mail_head = m->next;
    if (m->next)
        m->next->prev = m->prev;
    else
        x->mail_tail = m->prev;
    x->mail_bytes -= m->data.len;
    x->back_count -= m->back;
    if (--x->mail_count == 0)
        arena_reset(&x->mail_mem);
}

void mailbox_consume(execution *x, struct kept_event *m)
{
    /* One given back since then has no row, or was consumed in this turn before: then it is on the
     * list.  A drop of a row that is not there would hide that the next give-back must insert it. */
    if (!m->back)
        push_consumed(x, m->id);
    mailbox_remove(x, m);
}

void mailbox_discard(execution *x, struct channel *ch)
{
    while (ch->mail) {
        decide_discard(x, ch->mail->head->id);
        mailbox_remove(x, ch->mail->head);
    }
}

static void push_consumed(execution *x, uint64_t id)
{
    if (x->consumed_taken) {
        x->consumed_taken = false;
        x->consumed_count = 0;
    }
    if (x->consumed_count == x->consumed_cap)
        list_grow(&x->mem, &x->consumed, &x->consumed_cap, x->consumed_count, sizeof(*x->consumed));
    x->consumed[x->consumed_count++] = id;
}

static void grow(execution *x)
{
    size_t count = x->bucket_count ? x->bucket_count * 2 : BUCKETS_FIRST;
    struct channel **buckets = arena_array(&x->mem, struct channel *, count);

    for (size_t i = 0; i < x->bucket_count; i++)
        for (struct channel *ch = x->buckets[i], *next; ch; ch = next) {
            next = ch->next;
            size_t b = bucket_of(ch->name, count);
            ch->next = buckets[b];
            buckets[b] = ch;
        }
    x->buckets = buckets;
    x->bucket_count = count;
}

/* Event names come from outside, but one execution holds few: a fixed key is enough. */
static size_t bucket_of(pawl_str name, size_t count)
{
    static const uint64_t key[2] = {0x7061776c2d6d6169, 0x6c626f782d6e616d};

    return (size_t)(siphash24(key, name.ptr, name.len) & (count - 1));
}
